//! The kernel's laws beside those of narrows-control: known answers, and random events.

mod host;
#[expect(dead_code, reason = "thresholds are the transport's, here the kernel's")]
#[path = "../../control/tests/known_answers/mod.rs"]
mod known_answers;
#[expect(dead_code, reason = "networks are for laws that run over some")]
#[path = "../../scenario/tests/settings/mod.rs"]
mod settings;

use known_answers::Vectors;
use narrows_control::laws::{bic, highspeed, htcp, ltcp, scalable};
use narrows_control::registry::{self, Birth};
use narrows_control::{Ack, Controller, Idle, Loss, Restart, Rtt, Timeout, WindowLaw};
use narrows_kernel::{KernelLaw, LAWS};
use narrows_settings::{Given, Settings};
use narrows_signal::Reply;
use narrows_units::{Duration, Time};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use settings::values;

#[test]
fn known_answers_hold_for_the_headers() {
    let mut cases = 0;
    for law in LAWS {
        let (vectors, path) = Vectors::of(law);
        for (number, case) in vectors.case.iter().enumerate() {
            // E-TCP's slow start that ends with the RTT's rise is not in the kernel.
            if case.given().pairs().any(|pair| pair == ("start", "delay")) {
                continue;
            }
            let asked =
                KernelLaw::new(law, &case.given()).unwrap_or_else(|error| panic!("{error}"));
            let mut controller =
                host::controller(&asked, case.start.window, case.initial_ssthresh());
            case.events.iter().for_each(|event| event.tell(&mut *controller));
            let (window, known) = (controller.window(), case.window);
            assert!(
                (window / known - 1.0).abs() < 1e-6,
                "{path}, case {number}: {window} not {known}"
            );
            cases += 1;
        }
    }
    assert!(cases > 50, "only {cases}");
}

#[test]
fn logarithms_and_ratios_are_right() {
    for x in [1.0, 1.5, 2.0, 38.0, 1000.25, 83_000.0, 1e6] {
        assert!((host::log2(x) - x.log2()).abs() < 2.0_f64.powi(-26), "log2 {x}");
        let y = x.log2();
        assert!((host::exp2(y.min(19.9)) / x.min(19.9_f64.exp2()) - 1.0).abs() < 1e-7, "exp2 {y}");
    }
    for (a, b) in
        [(1, 3), (1 << 52, 7 << 32), ((1 << 52) + 5, (1 << 52) + 3), (1_000_000 << 32, 1 << 33)]
    {
        let right = (u128::from(a) << 32) / u128::from(b);
        assert_eq!(u128::from(host::ratio(a, b)), right, "{a}/{b}");
    }
}

#[derive(Clone, Debug)]
enum Happening {
    Ack { packets: u8, rtt: u32, limited: bool, recovering: bool },
    Loss { opens_epoch: bool },
    Timeout,
    Pause { ms: u16 },
}

fn happening() -> impl Strategy<Value = Happening> {
    // Multiples of the shortest, in percent.
    let rtt = 100..400u32;
    prop_oneof![
        40 => (1u8..80, rtt, prop::bool::weighted(0.9), prop::bool::weighted(0.1)).prop_map(
            |(packets, rtt, limited, recovering)| {
                Happening::Ack { packets, rtt, limited, recovering }
            }
        ),
        4 => any::<bool>().prop_map(|opens_epoch| Happening::Loss { opens_epoch }),
        1 => Just(Happening::Timeout),
        1 => (1u16..3000).prop_map(|ms| Happening::Pause { ms }),
    ]
}

/// What both laws of a run are told.
struct Story {
    now: Time,
    sent: u64,
    shortest_us: u32,
    least_us: u32,
    rtt: Option<Rtt>,
}

impl Story {
    fn new(shortest_us: u32) -> Self {
        Self { now: Time::ZERO, sent: 0, shortest_us, least_us: u32::MAX, rtt: None }
    }

    fn ack(&mut self, packets: u8, percent: u32, (limited, recovering): (bool, bool)) -> Ack {
        let rtt_us = (u64::from(self.shortest_us) * u64::from(percent) / 100) as u32;
        self.now += Duration::from_micros(u64::from(rtt_us / 10 + 1));
        self.least_us = self.least_us.min(rtt_us);
        let span = |us: u32| Duration::from_micros(u64::from(us));
        let (latest, minimum) = (span(rtt_us), span(self.least_us));
        self.rtt = Some(Rtt { latest, smoothed: latest, minimum, maximum: latest });
        self.sent += u64::from(packets);
        Ack {
            now: self.now,
            packets: f64::from(packets),
            newest: self.sent,
            next: self.sent + 20,
            rtt: self.rtt,
            rtt_is_fresh: true,
            in_flight: 1.0,
            window_limited: limited,
            recovering,
            marked: 0.0,
            reply: Reply::Nothing,
            rate: None,
        }
    }

    /// A silence of that length, longer than a timeout by turns.
    fn idle(&mut self, length: Duration) -> Idle {
        self.now += length;
        let timeout = Duration::from_millis(1000);
        Idle { now: self.now, length, timeout, restart: Restart::Never, app_limited: false }
    }

    fn loss(&self, opens_epoch: bool) -> Loss {
        Loss {
            now: self.now,
            transmission: self.sent,
            next: self.sent + 1,
            opens_epoch,
            again: false,
            in_flight: 1.0,
            rtt: self.rtt,
            rate: None,
        }
    }
}

/// Fails if two windows are apart by more than `share` of them.
fn alike(ours: f64, header: f64, share: f64) -> Result<(), String> {
    if (header - ours).abs() <= share * ours { Ok(()) } else { Err(format!("{header} not {ours}")) }
}

/// Tells both of a law of two formulas the same, from the same window each time: growth agrees to
/// 1e-3 of it, and all windows to 1e-8.
fn step_by_step(
    mut ours: impl WindowLaw,
    mut header: impl WindowLaw,
    (mut window, shortest_us): (f64, u32),
    events: &[Happening],
) -> Result<(), String> {
    let mut story = Story::new(shortest_us);
    for event in events {
        let before = window;
        let twin = match *event {
            Happening::Ack { packets, rtt, limited, recovering } => {
                let ack = story.ack(packets, rtt, (limited, recovering));
                ours.observe(&ack);
                header.observe(&ack);
                if !limited || recovering {
                    continue;
                }
                window = ours.increase(before, &ack);
                header.increase(before, &ack)
            }
            Happening::Loss { .. } => {
                window = ours.decrease(before, story.now);
                header.decrease(before, story.now)
            }
            Happening::Timeout => {
                ours.forget();
                header.forget();
                continue;
            }
            Happening::Pause { ms } => {
                let idle = story.idle(Duration::from_millis(u64::from(ms)));
                ours.restart(&idle);
                header.restart(&idle);
                continue;
            }
        };
        let most = 1e-3 * (window - before).abs() + 1e-8 * before;
        if (twin - window).abs() > most {
            return Err(format!("{event:?} at {before}: {twin} not {window}"));
        }
        // A window is a multiple of 2^-32 and at least two packets.
        window = ((window * 4294967296.0).floor() / 4294967296.0).clamp(2.0, 1e6);
    }
    Ok(())
}

/// Tells two controllers the same; windows agree to `share`, until one is beyond what the kernel's
/// laws can do.
fn side_by_side(
    mut ours: Box<dyn Controller>,
    mut header: Box<dyn Controller>,
    (share, shortest_us): (f64, u32),
    events: &[Happening],
) -> Result<(), String> {
    let mut story = Story::new(shortest_us);
    for event in events {
        for law in [&mut ours, &mut header] {
            match *event {
                Happening::Loss { opens_epoch } => law.on_loss(&story.loss(opens_epoch)),
                Happening::Timeout => {
                    law.on_timeout(&Timeout { now: story.now, opens_epoch: true, in_flight: 0.0 })
                }
                Happening::Ack { .. } | Happening::Pause { .. } => {}
            }
        }
        match *event {
            Happening::Pause { ms } => story.now += Duration::from_millis(u64::from(ms)),
            Happening::Ack { packets, rtt, limited, recovering } => {
                let ack = story.ack(packets, rtt, (limited, recovering));
                ours.on_ack(&ack);
                header.on_ack(&ack);
            }
            _ => {}
        }
        if ours.window() > 999_999.0 {
            return Ok(());
        }
        alike(ours.window(), header.window(), share).map_err(|why| format!("{event:?}: {why}"))?;
    }
    Ok(())
}

/// Laws with settings that take every path through the headers.
const VARIANTS: [(&str, &[&str]); 18] = [
    ("bic", &[]),
    ("bic", &["beta=0.9", "fast_convergence=false", "delayed_ack=1.9375", "max_increment=32"]),
    ("etcp", &[]),
    ("etcp", &["p0=0.001", "b=100"]),
    ("etcp", &["p0=0", "b=1"]),
    ("etcp-rate", &[]),
    ("etcp-rate", &["p0=0.001", "b=100", "rtt_scale=2"]),
    ("fast", &[]),
    ("fast", &["alpha=20", "gamma=0.9", "mi_threshold=0.01"]),
    ("highspeed", &[]),
    ("highspeed", &["low_window=100", "high_window=10000", "high_p=0.000001", "high_decrease=0.2"]),
    // No simple fractions below: whether something is exactly there is a matter of rounding.
    ("htcp", &["reset=0.2137"]),
    ("htcp", &["adaptive=false", "delta_l=0.1"]),
    ("htcp", &["reset=0.2137", "throughput_ratio=true", "rtt_scaling=true", "convergence=60"]),
    ("ltcp", &[]),
    ("ltcp", &["geometric=true", "alpha=1.6180339", "w_t=5.0123"]),
    ("ltcp", &["by_layer=true", "w_t=1"]),
    ("scalable", &[]),
];

/// Tells the law and its header the same.
fn compare(
    (law, settings): (&str, &[&str]),
    (window, ssthresh): (f64, f64),
    shortest_us: u32,
    events: &[Happening],
) -> Result<(), String> {
    let given = Given::parse(settings.iter().copied()).expect("they are name=value");
    let asked = KernelLaw::new(law, &given).unwrap_or_else(|error| panic!("{law}: {error}"));
    let step = (window.max(2.0), shortest_us);
    macro_rules! steps {
        ($law:ident, $make:expr) => {{
            let params = $law::Params::read(&given).expect("the kernel's law took them");
            step_by_step($make(params), host::window_law(&asked), step, events)
        }};
    }
    match law {
        "bic" => steps!(bic, bic::Bic::new),
        "highspeed" => steps!(highspeed, highspeed::HighSpeed::new),
        "htcp" => steps!(htcp, htcp::Htcp::new),
        "ltcp" if settings.contains(&"geometric=true") => steps!(ltcp, ltcp::Ltcp::alternate),
        "ltcp" => steps!(ltcp, ltcp::Ltcp::new),
        "scalable" => steps!(scalable, scalable::Scalable::new),
        _ => {
            // Rates have 20 bits behind the point, and may be below a packet a second.
            let share = if law == "etcp-rate" { 1e-4 } else { 1e-6 };
            let birth = Birth {
                given,
                initial_window: window,
                initial_ssthresh: ssthresh,
                ..Birth::default()
            };
            let entry = registry::find(law).expect("a law of the kernel is registered");
            let ours = entry.read(&birth).expect("the kernel's law took them").make(1);
            let header = host::controller(&asked, window, ssthresh);
            side_by_side(ours, header, (share, shortest_us), events)
        }
    }
}

/// The windows of a law of the kernel that is told of these events, from that window on.
fn windows(asked: &KernelLaw, (window, shortest_us): (f64, u32), events: &[Happening]) -> Vec<u64> {
    let mut law = host::controller(asked, window, window);
    let mut story = Story::new(shortest_us);
    let tell = |event: &Happening| {
        match *event {
            Happening::Loss { opens_epoch } => law.on_loss(&story.loss(opens_epoch)),
            Happening::Timeout => {
                law.on_timeout(&Timeout { now: story.now, opens_epoch: true, in_flight: 0.0 });
            }
            Happening::Pause { ms } => story.now += Duration::from_millis(u64::from(ms)),
            Happening::Ack { packets, rtt, limited, recovering } => {
                law.on_ack(&story.ack(packets, rtt, (limited, recovering)));
            }
        }
        law.window().to_bits()
    };
    events.iter().map(tell).collect()
}

#[test]
fn each_setting_of_each_law_counts_in_the_kernel_or_is_refused() {
    let mut runner = TestRunner::deterministic();
    let events = prop::collection::vec(happening(), 400).new_tree(&mut runner).expect("no filter");
    let events = events.current();
    let starts = [(20.0, 50_000), (300.0, 100_000), (5000.0, 20_000), (90_000.0, 100_000)];
    let (mut idle, mut tried) = (Vec::new(), 0);
    for law in LAWS {
        let usual = KernelLaw::new(law, &Given::default()).expect("it is a law of the kernel");
        for setting in registry::find(law).expect("it is registered").settings() {
            let given = |value: &str| {
                let given = Given::parse([format!("{}={value}", setting.name).as_str()]).ok()?;
                KernelLaw::new(law, &given).ok()
            };
            let asked: Vec<_> =
                values(&setting.default).iter().filter_map(|value| given(value)).collect();
            let counts = starts.iter().any(|start| {
                let before = windows(&usual, *start, &events);
                asked.iter().any(|asked| windows(asked, *start, &events) != before)
            });
            tried += u32::from(!asked.is_empty());
            if !asked.is_empty() && !counts {
                idle.push(format!("{law} {} ({})", setting.name, setting.default));
            }
        }
    }
    assert!(idle.is_empty(), "accepted, and without effect:\n{}", idle.join("\n"));
    assert!(tried > 20, "only {tried} settings were accepted");
}

fn cases() -> ProptestConfig {
    let cases = std::env::var("NARROWS_CASES").ok().and_then(|text| text.parse().ok());
    ProptestConfig::with_cases(cases.unwrap_or(5000))
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn random_events_move_both_alike(
        variant in 0..VARIANTS.len(),
        digits in 0.3..6.0f64,
        starts in any::<bool>(),
        // From 10 us to 2.5 s, evenly in the logarithm.
        rtt_digits in 1.0..6.4f64,
        events in prop::collection::vec(happening(), 1..200),
    ) {
        let window = 10.0f64.powf(digits);
        let ssthresh = if starts { f64::INFINITY } else { window };
        let shortest_us = 10.0f64.powf(rtt_digits) as u32;
        let compared = compare(VARIANTS[variant], (window, ssthresh), shortest_us, &events);
        prop_assert!(compared.is_ok(), "{:?}: {}", VARIANTS[variant], compared.unwrap_err());
    }
}
