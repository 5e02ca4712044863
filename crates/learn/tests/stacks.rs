//! Episodes beside stacks that others wrote, which draw from their thread.

use narrows_learn::{Action, Episode, Laid, Places, Wanted, after};
use narrows_scenario::{Own, Scenario, Stack, StackEnds, Wish};
use narrows_signal::Ecn;
use narrows_sim::{Endpoint, Told, Transmit};
use narrows_units::{Duration, Stream, Time};
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::Arc;

thread_local! {
    /// What a stack asks the system for.
    static SYSTEM: RefCell<Option<Stream>> = const { RefCell::new(None) };
}

/// A stack that sends datagrams at gaps that it draws from the system, and lies at last if it is
/// to.
struct Drawing {
    lies: bool,
}

impl Stack for Drawing {
    fn name(&self) -> &str {
        "drawing"
    }

    fn ends(&self, _wish: &Wish) -> Result<StackEnds, String> {
        let far = Far { bytes: 0, lies: self.lies };
        Ok((Box::new(Near { next: None, due: false }), Box::new(far)))
    }

    fn prepare(&self, seed: u64) {
        SYSTEM.set(Some(Stream::new(seed, 0, 0)));
    }
}

struct Near {
    next: Option<Time>,
    due: bool,
}

impl Endpoint for Near {
    fn handle(&mut self, _now: Time, _datagram: &mut Vec<u8>, _ecn: Ecn) {}

    fn handle_timeout(&mut self, now: Time) {
        self.due = self.next.is_some();
        let gap = SYSTEM.with_borrow_mut(|system| {
            system.as_mut().expect("the thread is prepared").exponential()
        });
        self.next = Some(now + Duration::from_secs(0.003 * gap));
    }

    fn poll_transmit(&mut self, _now: Time, datagram: &mut Vec<u8>) -> Option<Transmit> {
        if !std::mem::take(&mut self.due) {
            return None;
        }
        datagram.resize(1000, 0);
        Some(Transmit::udp(datagram, Ecn::NotCapable))
    }

    fn poll_timeout(&mut self) -> Option<Time> {
        self.next
    }
}

struct Far {
    bytes: u64,
    lies: bool,
}

impl Endpoint for Far {
    fn handle(&mut self, _now: Time, datagram: &mut Vec<u8>, _ecn: Ecn) {
        self.bytes += datagram.len() as u64;
    }

    fn handle_timeout(&mut self, _now: Time) {}

    fn poll_transmit(&mut self, _now: Time, _datagram: &mut Vec<u8>) -> Option<Transmit> {
        None
    }

    fn poll_timeout(&mut self) -> Option<Time> {
        None
    }

    fn tell(&self) -> Told {
        Told { delivered: if self.lies { u64::MAX } else { self.bytes }, ..Told::default() }
    }
}

const STEP: Wanted = Wanted { window: 30.0, rate: 0.0, seconds: 0.05 };

fn begin(seed: u64, duration: &str, lies: bool) -> Episode {
    let text = format!(
        "duration = \"{duration}\"\nwarmup = \"0s\"\n[dumbbell]\nrate = \"5Mbps\"\nrtt = \"40ms\"\n\
         buffer = \"20p\"\n[[flows]]\ncc = \"learner\"\n[[flows]]\nhost = \"drawing\"\n"
    );
    let scenario = Scenario::from_toml(&text).expect("a scenario");
    let own = Own { stacks: vec![Arc::new(Drawing { lies })], ..Own::default() };
    let laid = Laid::new(scenario, seed, own, None).expect("it is right");
    let [Some(place)] = laid.places().expect("it can be built")[..] else { panic!("a place") };
    assert_eq!(place.base_rtt.seconds(), 0.04);
    let until = after(Time::ZERO, STEP.seconds);
    laid.begin(vec![Action { window: STEP.window, rate: STEP.rate, until }]).expect("it begins")
}

fn windows(step: u32) -> [Wanted; 1] {
    [Wanted { window: f64::from(10 + step % 20), ..STEP }]
}

/// The run of one episode after `steps`, beside `neighbours` others, by so many threads.
fn stepped(places: &mut Places, neighbours: usize, steps: u32) {
    let all: Vec<usize> = (0..neighbours).collect();
    for place in &all {
        places.put(*place, begin(7 + *place as u64, "600s", false));
    }
    places.step(&all, None, false, &|| ()).expect("the first");
    for step in 0..steps {
        let wanted = windows(step).repeat(neighbours);
        places.step(&all, Some(&wanted), false, &|| ()).expect("a step");
    }
}

#[test]
fn a_stack_draws_the_same_whoever_steps_beside_it_and_when_it_is_run_again() {
    let mut alone = Places::new(1, 1, 1);
    stepped(&mut alone, 1, 100);
    let mut many = Places::new(5, 1, 2);
    stepped(&mut many, 5, 100);
    let [one, other] = [&alone, &many].map(|places| places.get(0).expect("it goes on"));
    assert_eq!(one.row(0), other.row(0));
    assert_eq!(one.counters(0).sent, other.counters(0).sent);
    let different = many.get(1).expect("it goes on");
    assert_ne!(one.row(0), different.row(0), "another seed, another draw");

    let (checked, seed) = one.again(Duration::ZERO).expect("it is right");
    let results = narrows_scenario::run(&checked, seed, None, |_| ControlFlow::Continue(()));
    let results = results.expect("it runs");
    let beside = &results.flows[1].summary;
    assert!(beside.arrived > 1000, "{}", beside.arrived);
    let (sender, known) = (results.flows[0].summary.sender, one.counters(0));
    assert_eq!((sender.sent, sender.lost), (known.sent, known.lost));
    assert_eq!(sender.rtt_sum, known.rtt_sum);
}

#[test]
fn the_truth_counts_a_stacks_flow() {
    let mut places = Places::new(1, 1, 1);
    stepped(&mut places, 1, 20);
    let truth = places.truth(0, 0).expect("a bottleneck");
    assert_eq!(truth.flows, 2);
}

#[test]
fn a_stack_that_lies_ends_the_episode() {
    let mut places = Places::new(1, 1, 1);
    places.put(0, begin(7, "0.12s", true));
    places.step(&[0], None, false, &|| ()).expect("the first");
    places.step(&[0], Some(&[STEP]), false, &|| ()).expect("not over yet");
    let told = places.step(&[0], Some(&[STEP]), false, &|| ());
    assert!(told.expect_err("it lied").to_string().contains("place 0: "));
}
