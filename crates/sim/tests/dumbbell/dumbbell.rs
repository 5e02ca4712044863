//! Networks that several tests run.

#[path = "varying.rs"]
mod varying;

use narrows_control::registry::{self, Birth, MovedBy, Recipe};
use narrows_control::{Gaps, SlowStart};
use narrows_router::service::Steps;
use narrows_router::{Discipline, Limit};
use narrows_settings::Given;
use narrows_sim::{
    Ahead, Application, Arrivals, Browsing, ControllerMaker, Endpoints, FlowSettings, Gap,
    HostSettings, Jitter, LinkSettings, Loss, Making, Memory, MemorySettings, Network,
    PageSettings, Periods, QuerySettings, RunSettings, Served, Simulation, Sizes, Usage, Varying,
    Watch,
};
use narrows_transport::Transport;
use narrows_transport::congestion::{EcnOfUser, Path, Quantum, Spacing};
use narrows_transport::etcp::EtcpSettings;
use narrows_transport::quic::QuicSettings;
use narrows_transport::tcp::{Habits, RecoveryKind, TcpSettings};
use narrows_units::{Duration, Rate, Stream, Time};
use std::sync::Arc;

/// What each flow sends.
#[derive(Clone, Copy, Debug)]
pub enum Sends {
    Endless,
    Packets(u64),
    Every(Gap),
    Pages,
    /// Answers to a query each so often.
    Queries(Duration),
    /// Transfers at such gaps, over the flows from left to right.
    Arrivals(Duration),
    /// Users with so many connections each.
    PagesOver(u32),
}

/// A dumbbell: nodes 0 and 1 are the routers; each flow has its own hosts and links.
#[derive(Clone, Debug)]
pub struct Dumbbell {
    pub rate: Rate,
    pub rtt: Duration,
    pub rtt_step: Duration,
    pub buffer: u64,
    pub flows: u32,
    pub reverse_flows: u32,
    pub law: &'static str,
    pub parameters: Vec<(&'static str, f64)>,
    pub recovery: RecoveryKind,
    /// Over QUIC instead of TCP or E-TCP.
    pub quic: bool,
    pub habits: Habits,
    pub pacing: Option<Gaps>,
    pub overhead: Duration,
    pub host: HostSettings,
    pub window_limit: f64,
    /// Packets that leave together; as `habits` say if `None`. QUIC's leave one by one then.
    pub quantum: Option<u32>,
    /// Classic ECN, whatever the law.
    pub ecn: bool,
    pub start_spread: Duration,
    /// Start times of the flows, instead of random ones.
    pub starts: Vec<Duration>,
    pub sends: Sends,
    pub queue: Discipline,
    /// The queue of the link back.
    pub queue_back: Option<Discipline>,
    pub loss: Loss,
    pub jitter: Jitter,
    /// What varies of the two links between routers is drawn from this; nothing does if it is 0.
    pub varies: Option<u64>,
    pub sampled: Option<Duration>,
    pub duration: Duration,
    pub warmup: Duration,
    pub seed: u64,
    pub eager: bool,
}

impl Default for Dumbbell {
    fn default() -> Self {
        Self {
            rate: Rate::from_megabits(100),
            rtt: Duration::from_millis(50),
            rtt_step: Duration::ZERO,
            buffer: 20,
            flows: 1,
            reverse_flows: 0,
            law: "reno",
            parameters: Vec::new(),
            recovery: RecoveryKind::Sack,
            quic: false,
            habits: Habits::NS2,
            pacing: None,
            overhead: Duration::ZERO,
            host: HostSettings::default(),
            window_limit: f64::INFINITY,
            quantum: Some(1),
            ecn: false,
            start_spread: Duration::from_millis(100),
            starts: Vec::new(),
            sends: Sends::Endless,
            queue: Discipline::DropTail,
            queue_back: None,
            loss: Loss::None,
            jitter: Jitter::default(),
            varies: None,
            sampled: None,
            duration: Duration::from_millis(20_000),
            warmup: Duration::from_millis(5_000),
            seed: 1,
            eager: true,
        }
    }
}

/// The bottleneck's place among the links.
pub const BOTTLENECK: usize = 0;

impl Dumbbell {
    pub fn settings(&self) -> RunSettings {
        RunSettings {
            seed: self.seed,
            duration: self.duration,
            warmup: self.warmup,
            ahead: if self.eager { Ahead::All } else { Ahead::Nothing },
        }
    }

    pub fn network(&self) -> Network {
        let mut network = Network::default();
        let plain = LinkSettings::plain(Rate::from_megabits(100_000), Duration::ZERO);
        let (middle, limit) = (self.rtt.scale(0.4), Limit::Packets(self.buffer));
        let watch = self.sampled.map_or(Watch::Histograms, Watch::Samples);
        let bottleneck = LinkSettings {
            limit,
            queue: self.queue,
            perturbation: 3,
            loss: self.loss,
            jitter: self.jitter,
            watch,
            ..LinkSettings::plain(self.rate, middle)
        };
        let back_limit = if self.reverse_flows > 0 { limit } else { Limit::Unlimited };
        let back = LinkSettings {
            limit: back_limit,
            queue: self.queue_back.unwrap_or(self.queue),
            loss: Loss::None,
            jitter: Jitter::default(),
            ..bottleneck.clone()
        };
        let memory = self.memory();
        for (number, link) in (0..).zip([bottleneck, back]) {
            let varying = self.varies.map(|seed| {
                let memory = memory.as_ref().map(|memory| memory.port(number as usize));
                Arc::new(Varying { memory, ..varying::drawn(&link, seed, number) })
            });
            let link = LinkSettings { varying, ..link };
            network.links.push((number, 1 - number, link.into()));
        }
        let mut starts = Stream::new(self.seed, 9, 0);
        for flow in 0..self.flows + self.reverse_flows {
            let delay = self.rtt.scale(0.05) + self.rtt_step.scale(0.25) * u64::from(flow);
            let access = Arc::new(LinkSettings { delay, ..plain.clone() });
            let (left, right) = (2 + 2 * flow, 3 + 2 * flow);
            for (a, b) in [(left, 0), (0, left), (1, right), (right, 1)] {
                network.links.push((a, b, Arc::clone(&access)));
            }
            let (from, to) = if flow < self.flows { (left, right) } else { (right, left) };
            let random = self.start_spread.scale(starts.uniform());
            let start = Time::ZERO + self.starts.get(flow as usize).copied().unwrap_or(random);
            network.flows.push(self.flow(from, to, start, flow));
        }
        if let Sends::Arrivals(gap) = self.sends {
            network.pools.push(Arrivals {
                gap,
                sizes: Sizes::pareto(20_000.0, 1.35),
                from: Time::ZERO,
                until: Time::NEVER,
                flows: 0..self.flows,
                payload: 960,
            });
        }
        if let Sends::PagesOver(connections) = self.sends {
            let users = (0..self.flows / connections).map(|user| self.user(user, connections));
            network.browsers.extend(users);
        }
        network
    }

    /// A user with so many connections.
    fn user(&self, user: u32, connections: u32) -> Browsing {
        let first = user * connections;
        Browsing {
            page: self.reader(),
            start: Time::ZERO,
            flows: first..first + connections,
            rtts: vec![self.rtt; connections as usize].into(),
        }
    }

    fn is_of_user(&self, flow: u32, connections: u32) -> bool {
        flow < self.flows / connections * connections
    }

    /// What both links share, if much varies and their queues decide on arrival.
    fn memory(&self) -> Option<Memory> {
        let on_arrival = matches!(
            self.queue,
            Discipline::DropTail
                | Discipline::MarkFrom(_)
                | Discipline::Red(_)
                | Discipline::Pie(_)
        );
        let shares = on_arrival && self.varies.is_some_and(|seed| seed % 3 == 1);
        let (bytes, alpha, cell) = (60_000, 0.7, 208);
        let background = Steps::new(0, [(Time::from_secs(1.0), 30_000)], None);
        let settings = MemorySettings { bytes, alpha, cell, background };
        shares.then(|| Memory::new(settings, [0, 5000]).expect("it is large enough"))
    }

    /// What `flow` sends; a new connection has the law that `recipe` makes.
    fn application(&self, flow: u32, recipe: Recipe) -> Application {
        let served = |usage| {
            let served = Served { rtt: self.rtt, packet_bytes: 1000, make: maker(recipe) };
            Application::Requests(usage, served)
        };
        match self.sends {
            Sends::Endless => Application::Endless,
            Sends::Packets(count) => Application::Packets { count, last_bytes: 1000 },
            Sends::Every(gap) => Application::Made(Making {
                periods: Some(Periods {
                    on: Gap::Exponential(Duration::from_millis(300)),
                    off: gap,
                }),
                ..Making::packets(gap)
            }),
            Sends::Pages => served(Usage::Pages(self.reader())),
            Sends::Queries(every) => served(Usage::Queries(QuerySettings {
                every,
                jitter: Duration::from_micros(10),
                bytes: 25_000,
                payload: 960,
            })),
            Sends::PagesOver(connections) if self.is_of_user(flow, connections) => {
                served(Usage::Browses(self.reader(), connections))
            }
            Sends::PagesOver(_) => Application::Endless,
            Sends::Arrivals(_) if flow < self.flows => served(Usage::Arrivals(0)),
            Sends::Arrivals(_) => Application::Endless,
        }
    }

    fn flow(&self, from: u32, to: u32, start: Time, flow: u32) -> FlowSettings {
        let parts = self.parameters.iter().map(|(name, value)| format!("{name}={value}"));
        let parts: Vec<String> = parts.collect();
        let given = Given::parse(parts.iter().map(String::as_str)).expect("they are name=value");
        let birth = Birth {
            given,
            slow_start: SlowStart::Standard,
            initial_window: self.habits.initial_window,
            packet_bytes: 1000,
            receive_window: self.window_limit,
            ..Birth::default()
        };
        let law = registry::find(self.law).expect("a law of the registry");
        let recipe = law.read(&birth).expect("it takes its defaults");
        let controller = recipe.make(self.seed);
        let transport = self.transport(law.moved_by == MovedBy::EachLoss);
        let path = Path::new(Stream::new(self.seed, 8, u64::from(flow)));
        let application = self.application(flow, recipe);
        FlowSettings {
            from,
            to,
            endpoints: Endpoints::Connection {
                transport,
                controller,
                ack_bytes: 40,
                application,
                path,
            },
            start,
            stop: Time::NEVER,
            overhead: self.overhead,
            host: self.host,
            sampled: self.sampled,
        }
    }

    /// The transport of a law that answers each lost packet if `each_loss`.
    fn transport(&self, each_loss: bool) -> Transport {
        if self.quic {
            let pacing = self.pacing.map(Spacing::Window).or(Some(Spacing::Recommended(10)));
            let (window_limit, quantum) = (self.window_limit, self.quantum.unwrap_or(1));
            let ecn = EcnOfUser { asked: self.ecn, on_retransmissions: false };
            let settings = QuicSettings::new(1000);
            Transport::Quic(QuicSettings {
                window_limit,
                pacing,
                quantum,
                ecn,
                each_loss,
                ..settings
            })
        } else if each_loss {
            let (timeouts, pacing) = (self.habits.timeouts, self.pacing.map(Spacing::Window));
            Transport::Etcp(EtcpSettings { pacing, ..EtcpSettings::new(timeouts, 1000) })
        } else {
            let Self { recovery, window_limit, pacing, quantum, ecn, .. } = *self;
            let ecn = EcnOfUser { asked: ecn, on_retransmissions: false };
            let habits = Arc::new(self.habits);
            let quantum = quantum.map_or(habits.quantum, Quantum::Packets);
            let settings = TcpSettings::new(recovery, habits, 1000);
            let pacing = pacing.map(Spacing::Window);
            Transport::Tcp(TcpSettings { window_limit, pacing, quantum, ecn, ..settings })
        }
    }

    /// Settings of a user who thinks briefly, so that a few seconds show something.
    fn reader(&self) -> PageSettings {
        PageSettings {
            think: Duration::from_millis(200),
            size_factor: 5.0,
            persistent: 0.3,
            payload: 960,
        }
    }

    /// Runs the dumbbell to the end.
    pub fn run(&self) -> Simulation {
        let mut simulation =
            Simulation::new(self.network(), self.settings()).expect("every flow has a path");
        let _ = simulation.run(|_| std::ops::ControlFlow::Continue(()));
        simulation
    }
}

fn maker(recipe: Recipe) -> ControllerMaker {
    Box::new(move || recipe.make(1))
}
