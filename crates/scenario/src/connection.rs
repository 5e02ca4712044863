//! What a flow over a connection says of it: the law, the transport, the application.

use crate::ScenarioError;
use crate::application;
use crate::controller_spec::ControllerSpec;
use crate::fields::Fields;
use crate::flow::{Carrier, Headers, PacketSize, Surroundings, habits, why_not};
use crate::hosted;
use crate::law::Law;
use crate::network::{NO_RTT, is_of_bdp};
use crate::scenario::{AckEvery, Flow, Of, PacingName, QuantumField, SlowStartName, TcpName};
use narrows_control::registry::{Birth, MovedBy, Recipe, SlowStartKind, Start};
use narrows_control::slow_start::{HyStart, HyStartPlusPlus, Limited};
use narrows_control::{Controller, Gaps, Need, Needs, Pacing, Restart, SlowStart};
use narrows_signal::Request;
use narrows_sim::Application;
use narrows_transport::congestion::{EcnOfUser, Quantum, Spacing};
use narrows_transport::etcp::coding::LARGEST_BLOCK;
use narrows_transport::etcp::{Delivery, EtcpSettings};
use narrows_transport::quic::{self, QuicSettings};
use narrows_transport::tcp::{
    AckPolicy, Detection, Habits, Metering, RecoveryKind, SendBufferSettings, TcpSettings,
};
use narrows_transport::{Least, Payload, Recovery, Timeouts, Transport};
use narrows_units::{Buffer, Bytes, Duration};
use std::sync::Arc;

/// A connection, checked.
#[derive(Clone)]
pub(crate) struct Connection {
    pub recipe: Recipe,
    /// Whether the law is the program's own.
    pub is_own: bool,
    /// What is odd about a run of the law, and what to do.
    pub oddity: Option<String>,
    /// What the law needs, and what its first packet asks of routers.
    pub needs: Needs,
    pub request: Request,
    /// Whether the law or its transport spaces packets unless told otherwise.
    pub paces_itself: bool,
    /// Whether acknowledgements move the window up and recovery epochs alone move it down.
    pub moves_by_epochs: bool,
    pub overhead: Duration,
    pub application: Application<()>,
    pub transport: Transport,
}

/// Whether the law or the transport spaces packets unless told otherwise.
fn paces(transport: &Transport, controller: &dyn Controller) -> bool {
    let recommended = matches!(transport.pacing(), Some(Spacing::Recommended(_)));
    let is_etcp = matches!(transport, Transport::Etcp(_));
    is_etcp || recommended || controller.pacing() != Pacing::Unpaced
}

/// The `cc` unless given.
pub(crate) const USUAL_LAW: &str = "cubic";
/// The settings of laws that say what a mark does (RFC 8511; RFC 3168 §6.1.2).
const OF_MARKS: [&str; 2] = ["beta_ecn", "mark_stops"];
/// Why Reno's law over ns-2's habits has to name its recovery.
const SAYS_WHICH_RENO: &str = "reno is Linux's, over SACK, unless it names a recovery; over ns-2's \
     habits write reno+reno for Agent/TCP/Reno, which the papers mean, or reno+sack";
const STALLS: &str =
    "missing; beside overhead say whether rate halving stalls as ns-2's does, true or false";
/// The smallest block of an erasure code, in packets: two symbols beyond that are a fifth.
const SMALLEST_BLOCK: u32 = 10;
/// The largest initial window, in packets: it leaves in one event.
const MOST_AT_FIRST: f64 = 100_000.0;
/// The coarsest clock of a retransmission timer; ns-2's and BSD's had 100 and 500 ms.
const LONGEST_TICK: Duration = Duration::from_millis(1000);
/// How long a receiver with generic receive offload waits for more: a common interrupt moderation
/// of network cards (rx-usecs).
const MERGES_FOR: Duration = Duration::from_micros(50);
/// With `ack_every` alone an acknowledgement is delayed by this at most, as in Linux.
const ACK_DELAY: Duration = Duration::from_millis(40);

/// Takes what TCP does beside its law, which may have a recovery of its own.
fn take_tcp_habits(
    given: &mut Fields,
    settings: &mut TcpSettings,
    (spec, own_recovery): (&ControllerSpec, bool),
    overhead: Duration,
) -> Result<(), ScenarioError> {
    let habits = Arc::make_mut(&mut settings.habits);
    if spec.moves_by_epochs() {
        let abc = given.take(|flow| &mut flow.abc);
        habits.counts_packets = abc.unwrap_or(habits.counts_packets);
    }
    if own_recovery {
        return Ok(());
    }
    take_window_habits(given, habits);
    if settings.recovery == RecoveryKind::Sack {
        habits.metering = metering(given, habits.metering, overhead > Duration::ZERO)?;
    }
    Ok(())
}

/// A flow over a connection: its `cc`, its packets of `bytes`, and the rest.
pub(crate) fn check(
    mut given: Fields,
    bytes: Bytes,
    around: &Surroundings,
) -> Result<(String, PacketSize, Carrier), ScenarioError> {
    let cc = given.take(|flow| &mut flow.cc).unwrap_or_else(|| USUAL_LAW.to_owned());
    let spec =
        ControllerSpec::parse(&cc, &around.own.laws).map_err(|error| given.error("cc", error))?;
    let (tcp, mut habits, headers) = own_habits(&mut given, &spec, bytes, around)?;
    let first_window = take_initial_window(&mut given, &mut habits)?;
    let packet = PacketSize::new(&given, bytes, headers)?.acknowledged(&mut given)?;
    let application = application::check(&mut given, packet, around)?;
    let overhead = given.take(|flow| &mut flow.overhead).unwrap_or_default();
    let initial_window = habits.initial_window;
    let mut transport = transport(&mut given, &spec, bytes, habits, around)?;
    let is_ns2 = tcp.is_some_and(TcpName::is_ns2);
    let birth = Birth {
        given: spec.given.clone(),
        slow_start: slow_start(&mut given, spec.start(), tcp, transport.pacing().is_some(), bytes)?,
        initial_window,
        initial_ssthresh: threshold(&mut given, spec.start(), initial_window)?,
        packet_bytes: bytes.count() as u32,
        receive_window: transport.window_limit(),
        as_linux: !is_ns2,
        in_linux: spec.recovery != Recovery::Quic && !is_ns2,
        quantum: transport.quantum().map(f64::from),
    };
    let recipe = spec.law.read(&birth);
    let recipe = recipe.map_err(|error| given.error("cc", format!("\"{cc}\": {error}")))?;
    let controller = recipe.make(0);
    goes_with(&mut given, first_window, &spec, &*controller)?;
    let needs = controller.needs();
    let own_recovery = needs.own_recovery;
    if let Transport::Tcp(settings) = &mut transport {
        take_tcp_habits(&mut given, settings, (&spec, own_recovery), overhead)?;
    }
    given.nothing_left(|field| {
        not_over_quic(field, &spec)
            .unwrap_or_else(|| why_it_does_not_count(field, &spec, own_recovery, around))
    })?;
    let paces_itself = paces(&transport, &*controller);
    let connection = Connection {
        recipe,
        is_own: matches!(spec.law, Law::Own(_)),
        oddity: spec.law.oddity().map(str::to_owned),
        needs,
        request: controller.request(),
        paces_itself,
        // Routers may see to it that nothing is lost.
        moves_by_epochs: spec.moves_by_epochs() && !needs.routers,
        overhead,
        application,
        transport,
    };
    connection.does_not_say_twice(&given, &spec, &*controller)?;
    connection.serves(&given, &spec, &*controller)?;
    connection.hears_marks(&given, &spec)?;
    Ok((cc, packet, Carrier::Connection(connection)))
}

/// The habits of the flow, TCP's by name or QUIC's, and the headers of its packets. A scenario's
/// `tcp` says of a flow over QUIC how large its packets are, and whether its law is as in Linux or
/// as published.
fn own_habits(
    given: &mut Fields,
    spec: &ControllerSpec,
    bytes: Bytes,
    around: &Surroundings,
) -> Result<(Option<TcpName>, Habits, Headers), ScenarioError> {
    if spec.recovery == Recovery::Quic {
        let initial_window = quic::initial_window(bytes.count() as u32);
        let habits = Habits { initial_window, ..Habits::LINUX };
        return Ok((around.scenario.tcp, habits, Headers::Quic));
    }
    let tcp = given.take(|flow| &mut flow.tcp).or(around.scenario.tcp);
    if spec.is_bare_reno && tcp.is_some_and(TcpName::is_ns2) {
        return Err(given.error("cc", SAYS_WHICH_RENO));
    }
    let mut habits = habits(tcp);
    if let Some(timestamps) = given.take(|flow| &mut flow.timestamps) {
        habits.timestamps = timestamps;
        habits.acks.heeds_stamps &= timestamps;
    }
    take_timeouts(given, &mut habits.timeouts)?;
    if !spec.over_etcp() {
        take_clock(given, spec, &mut habits)?;
    }
    Ok((tcp, habits, Headers::Tcp { timestamps: habits.timestamps }))
}

/// Takes the first and the least retransmission timeout.
fn take_timeouts(given: &mut Fields, timeouts: &mut Timeouts) -> Result<(), ScenarioError> {
    let first = given.take(|flow| &mut flow.initial_rto);
    let least = given.take(|flow| &mut flow.min_rto);
    let longest = timeouts.longest;
    for (field, told, habit) in
        [("initial_rto", first, &mut timeouts.initial), ("min_rto", least, &mut timeouts.least)]
    {
        let Some(told) = told else { continue };
        if told == Duration::ZERO || told > longest {
            let message = format!("{told} is not above 0 and at most {longest}; try \"200ms\"");
            return Err(given.error(field, message));
        }
        *habit = told;
    }
    Ok(())
}

/// Takes the clock of RTT samples, a coarse one if it is given. Fails if the law goes by RTTs or
/// rates that such a clock does not show.
fn take_clock(
    given: &mut Fields,
    spec: &ControllerSpec,
    habits: &mut Habits,
) -> Result<(), ScenarioError> {
    let tick = given.take(|flow| &mut flow.tick);
    let (field, law) = (if tick.is_some() { "tick" } else { "tcp" }, spec.law.name());
    let is_coarse = tick.is_some() || habits.timeouts.whole_ticks;
    if is_coarse && spec.law.moved_by() == MovedBy::DeliveryRate {
        let message = format!(
            "{law} samples rates, which needs exact RTTs, and these are whole ticks; leave it out"
        );
        return Err(given.error(field, message));
    }
    if is_coarse && law == "ba" && spec.given.pairs().all(|(name, _)| name != "delay") {
        let message = "ba counts with its smallest RTT, which such a clock rounds; say it in cc, \
                       like ba:delay=40ms, or leave it out";
        return Err(given.error(field, message));
    }
    let Some(tick) = tick else { return Ok(()) };
    let told = given.take(|flow| &mut flow.tick_integers);
    let integers = told.unwrap_or(habits.timeouts.integers);
    if integers && habits.timeouts.least_is == Least::OfVariation {
        let message = "is for a least timeout as in RFC 6298; write tcp = \"ns2\", or leave it out";
        return Err(given.error("tick_integers", message));
    }
    habits.timeouts.integers = integers;
    if tick == Duration::ZERO || tick > LONGEST_TICK {
        let message = format!("{tick} is not above 0 and at most {LONGEST_TICK}; try \"100ms\"");
        return Err(given.error("tick", message));
    }
    habits.timeouts.granularity = tick;
    habits.timeouts.whole_ticks = true;
    Ok(())
}

/// The transport that the law asks for, with these habits as far as they are its own and the flow
/// says nothing else.
fn transport(
    given: &mut Fields,
    spec: &ControllerSpec,
    bytes: Bytes,
    mut habits: Habits,
    around: &Surroundings,
) -> Result<Transport, ScenarioError> {
    let recovery = match spec.recovery {
        Recovery::Quic => {
            let settings = quic_settings(given, spec, bytes, habits.initial_window, around)?;
            return Ok(Transport::Quic(settings));
        }
        Recovery::Tcp(recovery) => recovery,
    };
    let packet_bytes = bytes.count() as u32;
    if spec.over_etcp() {
        given.drop_default(|flow| &mut flow.quantum, QuantumField::Packets(1));
        let payload = payload(given, around)?;
        let delivery = delivery(given)?;
        let law = spec.law.name();
        let whose = || format!("is TCP's, and {law} has a transport of its own; try \"even\"");
        let pacing = window_spacing(given, whose)?;
        let settings = EtcpSettings::new(habits.timeouts, packet_bytes);
        return Ok(Transport::Etcp(EtcpSettings { delivery, payload, pacing, ..settings }));
    }
    habits.acks = acks(given, habits.acks)?;
    take_recovery_habits(given, recovery, &mut habits)?;
    let quantum = match given.take(|flow| &mut flow.quantum) {
        Some(QuantumField::Packets(packets)) => Quantum::Packets(packets),
        Some(QuantumField::Auto) => Quantum::Auto,
        None => habits.quantum,
    };
    let window_limit = receive_window(given, bytes, around)?;
    let send_buffer = send_buffer(given, bytes, &habits)?;
    let mut ecn = ecn(given);
    if ecn.asked {
        let repeats = given.take(|flow| &mut flow.ecn_retransmit);
        ecn.on_retransmissions = repeats.unwrap_or(false);
    }
    let pacing = tcp_spacing(given)?;
    let settings = TcpSettings::new(recovery, Arc::new(habits), packet_bytes);
    let settings = TcpSettings { window_limit, send_buffer, pacing, ..settings };
    Ok(Transport::Tcp(TcpSettings { quantum, ecn, ..settings }))
}

/// What the user asks of ECN.
fn ecn(given: &mut Fields) -> EcnOfUser {
    let asked = given.take(|flow| &mut flow.ecn).unwrap_or(false);
    EcnOfUser { asked, ..EcnOfUser::default() }
}

/// What becomes of E-TCP's lost data.
fn delivery(given: &mut Fields) -> Result<Delivery, ScenarioError> {
    let reliable = given.take(|flow| &mut flow.reliable).unwrap_or(true);
    let Some(block) = given.take(|flow| &mut flow.raptorq) else {
        return Ok(if reliable { Delivery::Retransmission } else { Delivery::Unreliable });
    };
    if !reliable {
        let message = "makes delivery reliable; leave it out, or reliable = false";
        return Err(given.error("raptorq", message));
    }
    if !(SMALLEST_BLOCK..=LARGEST_BLOCK).contains(&block) {
        let message =
            format!("{block} is not from {SMALLEST_BLOCK} to {LARGEST_BLOCK} packets; try 1000");
        return Err(given.error("raptorq", message));
    }
    Ok(Delivery::Coding { block })
}

/// How E-TCP's payload is checked. Fails if no wire could damage it.
fn payload(given: &mut Fields, around: &Surroundings) -> Result<Payload, ScenarioError> {
    if !given.take(|flow| &mut flow.header_checksum).unwrap_or(false) {
        return Ok(Payload::WithHeader);
    }
    if !around.network.links.iter().any(|link| link.loses()) {
        let message = "has no effect, as no wire loses anything; add loss = \"0.1%\" to a link";
        return Err(given.error("header_checksum", message));
    }
    Ok(Payload::Apart)
}

/// QUIC with packets of `bytes`, which recommends bursts of `initial_window` packets.
fn quic_settings(
    given: &mut Fields,
    spec: &ControllerSpec,
    bytes: Bytes,
    initial_window: f64,
    around: &Surroundings,
) -> Result<QuicSettings, ScenarioError> {
    let rule = |field, rule| {
        let message = format!("\"{rule}\" is Linux's TCP; give a number of packets over QUIC");
        Err(given.error(field, message))
    };
    if given.field(|flow| flow.ack_every == Some(AckEvery::Gro)) {
        return rule("ack_every", "gro");
    }
    if given.field(|flow| flow.quantum == Some(QuantumField::Auto)) {
        return rule("quantum", "auto");
    }
    let usual = QuicSettings::new(bytes.count() as u32);
    let acks = quic_acks(given, usual.acks)?;
    let handshake = given.take(|flow| &mut flow.handshake).unwrap_or(usual.handshake);
    let quantum = match given.take(|flow| &mut flow.quantum) {
        Some(QuantumField::Packets(packets)) => packets,
        _ => usual.quantum,
    };
    let window_limit = receive_window(given, bytes, around)?;
    let ecn = ecn(given);
    let each_loss = spec.law.moved_by() == MovedBy::EachLoss;
    let pacing = if given.field(|flow| flow.pacing.is_none()) {
        Some(Spacing::Recommended(initial_window as u32))
    } else {
        window_spacing(given, || "is TCP's; try \"even\"".to_owned())?
    };
    Ok(QuicSettings { handshake, acks, window_limit, pacing, quantum, ecn, each_loss, ..usual })
}

/// When a QUIC receiver acknowledges.
fn quic_acks(given: &mut Fields, usual: quic::AckPolicy) -> Result<quic::AckPolicy, ScenarioError> {
    let quic::AckPolicy { every, delay } = usual;
    let as_tcp = AckPolicy { every, delay, quick: 0, ..Habits::LINUX.acks };
    let delays = given.field(|flow| flow.ack_delay.is_some());
    let acks = acks(given, as_tcp)?;
    let longest = if delays { acks.delay } else { acks.delay.min(usual.delay) };
    Ok(quic::AckPolicy { every: acks.every, delay: longest })
}

impl Connection {
    /// Fails if the flow asks for what the law does in its own way, or for marks that it would not
    /// answer.
    fn does_not_say_twice(
        &self,
        given: &Fields,
        spec: &ControllerSpec,
        controller: &dyn Controller,
    ) -> Result<(), ScenarioError> {
        self.encodes_blocks(given)?;
        let law = spec.law.name();
        let each_loss = spec.law.moved_by() == MovedBy::EachLoss;
        let chosen = self.transport.pacing();
        let chosen = chosen.filter(|spacing| !matches!(spacing, Spacing::Recommended(_)));
        if chosen.is_some() && controller.pacing() != Pacing::Unpaced && !each_loss {
            let message = format!("{law} paces by itself; leave it out");
            return Err(given.error("pacing", message));
        }
        if !self.transport.ecn().asked {
            return Ok(());
        }
        let message = if each_loss || controller.needs().ignores_marks {
            format!("{law} does not answer marks; leave it out")
        } else if controller.needs().ecn.is_capable() {
            format!("{law} asks for marks of its own kind; leave it out")
        } else if !spec.law.hears_marks() {
            format!("{law} is your own law, which does not hear of marks; leave it out")
        } else {
            return Ok(());
        };
        Err(given.error("ecn", message))
    }

    /// Fails if packets are to be encoded that are offered one by one: a block would have to wait
    /// for its packets; or if what is lost is to be the end of a transfer.
    fn encodes_blocks(&self, given: &Fields) -> Result<(), ScenarioError> {
        let codes = |it: &EtcpSettings| matches!(it.delivery, Delivery::Coding { .. });
        let coded = matches!(&self.transport, Transport::Etcp(settings) if codes(settings));
        let loses = self.transport.loses_data();
        if loses && matches!(self.application, Application::Requests(..)) {
            let message = "false loses ends of transfers, which then never end; leave it out";
            return Err(given.error("reliable", message));
        }
        let offers = matches!(self.application, Application::Made(_) | Application::Offered(_));
        if !coded || !offers {
            return Ok(());
        }
        let message = "encodes blocks of packets, and this application offers one at a time; give \
                       a size instead, or leave it out";
        Err(given.error("raptorq", message))
    }

    /// Fails if the law needs what its transport cannot do.
    fn serves(
        &self,
        given: &Fields,
        spec: &ControllerSpec,
        controller: &dyn Controller,
    ) -> Result<(), ScenarioError> {
        let is_missing = |need: &Need| !self.transport.serves(*need);
        let Some(need) = controller.needs().each().find(is_missing) else {
            return Ok(());
        };
        let law = spec.law.name();
        let message = match need {
            Need::RoutersFromSyn => "syn=true has no effect without TCP's handshake; write \
                                     handshake = true beside cc, or leave it out"
                .to_owned(),
            Need::MarkStops => "mark_stops is TCP's (RFC 3168 §6.1.2); leave it out".to_owned(),
            need => format!("{law} {need}, and {} cannot do that", self.transport.name()),
        };
        Err(given.error("cc", message))
    }

    /// Fails if a setting says how to answer marks, and packets cannot be marked.
    fn hears_marks(&self, given: &Fields, spec: &ControllerSpec) -> Result<(), ScenarioError> {
        let mut given_names = spec.given.pairs().map(|(name, _)| name);
        let named = given_names.find(|name| OF_MARKS.contains(name));
        let Some(name) = named else { return Ok(()) };
        let message = if !self.transport.ecn().asked {
            format!(
                "{name} has no effect without marks; write ecn = true beside cc, or leave it out"
            )
        } else {
            return Ok(());
        };
        Err(given.error("cc", message))
    }
}

/// Takes the initial window in packets; `None` if it is not given, and the habit's holds.
fn take_initial_window(
    given: &mut Fields,
    habits: &mut Habits,
) -> Result<Option<f64>, ScenarioError> {
    let Some(packets) = given.take(|flow| &mut flow.initial_window) else { return Ok(None) };
    if !(1.0..=MOST_AT_FIRST).contains(&packets) {
        let message = format!("{packets} is not from 1 to {MOST_AT_FIRST} packets; try 10");
        return Err(given.error("initial_window", message));
    }
    habits.initial_window = packets;
    Ok(Some(packets))
}

/// Fails if the law starts with fewer packets than the flow says, or with what routers say, or if
/// retransmissions are to be ECN-capable as of RFC 2481, and the law has marks of its own.
fn goes_with(
    given: &mut Fields,
    first_window: Option<f64>,
    spec: &ControllerSpec,
    controller: &dyn Controller,
) -> Result<(), ScenarioError> {
    let (law, most) = (spec.law.name(), controller.window());
    let repeats = given.field(|flow| flow.ecn_retransmit.is_some());
    if repeats && controller.needs().ecn.is_capable() {
        let message =
            format!("is for RFC 3168's ECN, and {law} has marks of its own; leave it out");
        return Err(given.error("ecn_retransmit", message));
    }
    let Some(first_window) = first_window else { return Ok(()) };
    let message = if spec.has_no_congestion_window() && controller.needs().routers_from_syn {
        format!("{law} with syn=true and cwnd=false starts with what routers say; leave it out")
    } else if first_window > most {
        format!("{law} starts with at most {most} packets; leave it out")
    } else {
        return Ok(());
    };
    Err(given.error("initial_window", message))
}

/// The spacing that a flow asks for; `None` for none.
fn spacing(given: &mut Fields) -> Option<Spacing> {
    Some(match given.take(|flow| &mut flow.pacing)? {
        PacingName::None => return None,
        PacingName::Even => Spacing::Window(Gaps::Even),
        PacingName::Exponential => Spacing::Window(Gaps::Exponential),
        PacingName::Uniform => Spacing::Window(Gaps::Uniform),
        PacingName::Fq => Spacing::Fq,
        PacingName::Westwood => Spacing::BandwidthShare,
        PacingName::FourHop => Spacing::FourHops,
    })
}

/// The spacing over a transport that spreads windows only; `why` says why another is refused.
fn window_spacing(
    given: &mut Fields,
    why: impl FnOnce() -> String,
) -> Result<Option<Spacing>, ScenarioError> {
    let name = given.field(|flow| flow.pacing);
    let spacing = spacing(given);
    match (name, spacing) {
        (Some(name), Some(Spacing::Fq | Spacing::BandwidthShare | Spacing::FourHops)) => {
            let message = format!("\"{}\" {}", name.as_str(), why());
            Err(given.error("pacing", message))
        }
        _ => Ok(spacing),
    }
}

/// TCP's spacing.
fn tcp_spacing(given: &mut Fields) -> Result<Option<Spacing>, ScenarioError> {
    let spacing = spacing(given);
    let Some(tokens) = given.take(|flow| &mut flow.pacing_bucket) else { return Ok(spacing) };
    if tokens == 0 {
        return Err(given.error("pacing_bucket", "must hold at least 1 token; try 4"));
    }
    if spacing != Some(Spacing::Window(Gaps::Even)) {
        let message = "is for even gaps; write pacing = \"even\", or leave it out";
        return Err(given.error("pacing_bucket", message));
    }
    Ok(Some(Spacing::Bucket(tokens)))
}

/// What becomes of a window that is not used, for laws that leave that to the transport.
fn take_window_habits(given: &mut Fields, habits: &mut Habits) {
    let validates = given.take(|flow| &mut flow.cwnd_validation);
    habits.validates_window = validates.unwrap_or(habits.validates_window);
    if given.take(|flow| &mut flow.slow_start_after_idle) == Some(false) {
        habits.restart = Restart::Never;
    }
}

/// What a TCP does unless told otherwise, and the flow may say.
fn take_recovery_habits(
    given: &mut Fields,
    recovery: RecoveryKind,
    habits: &mut Habits,
) -> Result<(), ScenarioError> {
    let set = |habit: &mut bool, told: Option<bool>| *habit = told.unwrap_or(*habit);
    set(&mut habits.handshake, given.take(|flow| &mut flow.handshake));
    set(&mut habits.paces_acks, given.take(|flow| &mut flow.ack_pacing));
    if habits.paces_acks && !habits.timestamps {
        let message = "needs the RTT at the receiver; write timestamps = true, or leave it out";
        return Err(given.error("ack_pacing", message));
    }
    if recovery == RecoveryKind::Sack {
        set(&mut habits.acks.reports_duplicates, given.take(|flow| &mut flow.dsack));
        set(&mut habits.acks.compresses, given.take(|flow| &mut flow.sack_compression));
    } else {
        habits.acks.compresses = false;
        set(&mut habits.limited_transmit, given.take(|flow| &mut flow.limited_transmit));
        return Ok(());
    }
    let halves = given.field(|flow| flow.rate_halving.is_some());
    match given.take(|flow| &mut flow.rack) {
        Some(true) if halves => {
            let message = "rate halving is of a time before RACK; leave one of them out";
            return Err(given.error("rack", message));
        }
        _ if halves => habits.detection = Detection::ByCount,
        Some(true) => habits.detection = Detection::ByTime,
        Some(false) => habits.detection = Detection::ByCount,
        None => {}
    }
    let by_time = habits.detection == Detection::ByTime;
    for (field, habit, told) in [
        ("tlp", &mut habits.probes, given.take(|flow| &mut flow.tlp)),
        ("frto", &mut habits.frto, given.take(|flow| &mut flow.frto)),
    ] {
        if told == Some(true) && !by_time {
            return Err(given.error(field, "needs rack; write rack = true, or leave it out"));
        }
        set(habit, told);
        *habit &= by_time;
    }
    Ok(())
}

/// The receiver's window in packets of `bytes`; infinite unless given.
fn receive_window(
    given: &mut Fields,
    bytes: Bytes,
    around: &Surroundings,
) -> Result<f64, ScenarioError> {
    let link = &around.network.links[0];
    let flows = around.load.flows;
    let packets = |window: Buffer| window.packets(link.rate, link.base_rtt, flows, bytes) as f64;
    let window = given.take(|flow| &mut flow.max_window);
    if window.is_some_and(is_of_bdp) && around.network.has_nodes() && around.scenario.rtt.is_none()
    {
        return Err(given.error("max_window", NO_RTT));
    }
    Ok(window.map_or(f64::INFINITY, packets))
}

/// The sender's buffer, for packets of `bytes`; none unless given.
fn send_buffer(
    given: &mut Fields,
    bytes: Bytes,
    habits: &Habits,
) -> Result<Option<SendBufferSettings>, ScenarioError> {
    let size = given.take(|flow| &mut flow.send_buffer).map(Bytes::count);
    let writes = given.take(|flow| &mut flow.write_size).map(Bytes::count);
    if size.is_none() && writes.is_some() {
        return Err(given.error("write_size", "needs a send_buffer, like \"4MB\""));
    }
    if size.is_some() && habits.burst_memory == 0 {
        let message = "is Linux's since 5; write tcp = \"linux\", \"linux5\" or \"l4steam\"";
        return Err(given.error("send_buffer", message));
    }
    let packet = bytes.count();
    for (field, size, packets) in [("send_buffer", size, 2), ("write_size", writes, 1)] {
        let least = packets * packet;
        if size.is_some_and(|size| size < least) {
            let message =
                format!("must be at least {least} bytes, {packets} of the packets of {packet}");
            return Err(given.error(field, message));
        }
    }
    Ok(size.map(|bytes| SendBufferSettings { bytes, writes }))
}

/// When the receiver acknowledges.
fn acks(given: &mut Fields, usual: AckPolicy) -> Result<AckPolicy, ScenarioError> {
    let every = given.take(|flow| &mut flow.ack_every);
    let delay = given.take(|flow| &mut flow.ack_delay);
    match (every, delay) {
        (None, None) => Ok(usual),
        (Some(AckEvery::Gro), delay) => {
            let delay = delay.unwrap_or(ACK_DELAY);
            Ok(AckPolicy { every: 2, delay, merges_for: MERGES_FOR, ..usual })
        }
        (Some(AckEvery::Packets(every)), delay) => {
            Ok(AckPolicy { every, delay: delay.unwrap_or(ACK_DELAY), quick: 0, ..usual })
        }
        (None, Some(delay)) => Ok(AckPolicy { every: u32::MAX, delay, quick: 0, ..usual }),
    }
}

/// How a SACK recovery lets packets go; `waits` says whether there is an `overhead`.
fn metering(given: &mut Fields, usual: Metering, waits: bool) -> Result<Metering, ScenarioError> {
    let prr = given.take(|flow| &mut flow.prr);
    match (prr, given.take(|flow| &mut flow.rate_halving)) {
        (None, None) => Ok(usual),
        (Some(true), None) => Ok(Metering::Prr),
        (Some(false), None) => Ok(Metering::ByPipe),
        (Some(true), Some(_)) => {
            Err(given.error("prr", "rate_halving takes its place; leave one of them out"))
        }
        (_, Some(share)) if share > 0.0 && share <= 1.0 => {
            match given.take(|flow| &mut flow.halving_stalls) {
                None if waits => Err(given.error("halving_stalls", STALLS)),
                stalls => Ok(Metering::RateHalving { share, stalls: stalls.unwrap_or(false) }),
            }
        }
        (_, Some(share)) => {
            let message =
                format!("{share} is not a share of the threshold, above 0 and at most 1; try 0.5");
            Err(given.error("rate_halving", message))
        }
    }
}

/// The slow start of a law that lets the user choose, for packets of `bytes`; the standard one for
/// the others, which do not ask for it.
fn slow_start(
    given: &mut Fields,
    start: Start,
    tcp: Option<TcpName>,
    paced: bool,
    bytes: Bytes,
) -> Result<SlowStart, ScenarioError> {
    let Start::Chosen(linux) = start else { return Ok(SlowStart::Standard) };
    let chosen = given.take(|flow| &mut flow.slow_start);
    let is_limited = matches!(chosen, None | Some(SlowStartName::Limited));
    let max_ssthresh = if is_limited { given.take(|flow| &mut flow.max_ssthresh) } else { None };
    if let Some(packets) = max_ssthresh.filter(|packets| packets.is_nan() || *packets < 2.0) {
        let message = format!("{packets} is not at least 2 packets; try 100");
        return Err(given.error("max_ssthresh", message));
    }
    let usual = match (max_ssthresh, tcp, linux) {
        (Some(_), ..) => SlowStartName::Limited,
        (None, tcp, SlowStartKind::HyStart) if tcp.is_none_or(TcpName::has_hystart) => {
            SlowStartName::HyStart
        }
        _ => SlowStartName::Standard,
    };
    Ok(match chosen.unwrap_or(usual) {
        SlowStartName::Standard => SlowStart::Standard,
        SlowStartName::Limited => SlowStart::Limited(Limited::new(max_ssthresh.unwrap_or(100.0))),
        SlowStartName::HyStart => SlowStart::HyStart(HyStart::new(paced, bytes.count() as u32)),
        SlowStartName::HyStartPlusPlus => SlowStart::HyStartPlusPlus(HyStartPlusPlus::new(paced)),
    })
}

/// The first slow-start threshold in packets; infinite if there is none.
fn threshold(given: &mut Fields, start: Start, initial_window: f64) -> Result<f64, ScenarioError> {
    if start == Start::Own {
        return Ok(f64::INFINITY);
    }
    let Some(packets) = given.take(|flow| &mut flow.ssthresh) else { return Ok(f64::INFINITY) };
    if packets.is_nan() || packets < 2.0 {
        return Err(given.error("ssthresh", "must be at least 2 packets; try 64"));
    }
    if start == Start::UnlessAtThreshold && packets > initial_window {
        let message = format!(
            "{packets} packets do not count: slow start ends at the first loss, unless the initial \
             window, {initial_window}, has reached the threshold; leave it out"
        );
        return Err(given.error("ssthresh", message));
    }
    Ok(packets)
}

/// Whether a field counts over TCP, and not over another transport.
fn is_tcps_alone(field: &str, other: Of) -> bool {
    Flow::counts_for(field, Of::Tcp) && !Flow::counts_for(field, other)
}

/// Why a field has no effect over QUIC, if it has one over another transport.
fn not_over_quic(field: &str, spec: &ControllerSpec) -> Option<String> {
    let law = spec.law.name();
    if spec.recovery != Recovery::Quic {
        None
    } else if is_tcps_alone(field, Of::Quic) {
        Some(format!("is TCP's, and {law} runs over QUIC here; leave it out"))
    } else if field == "reliable" {
        Some(format!("QUIC is always reliable; leave it out, or write {law} without +quic"))
    } else {
        None
    }
}

const OVER_ETCP: &str = "is for etcp, etcp-rate, etcp-sqrt and etcp-unit";

/// Why a field has no effect for a flow with this law, and what to do about it.
fn why_it_does_not_count(
    field: &str,
    spec: &ControllerSpec,
    own_recovery: bool,
    around: &Surroundings,
) -> String {
    let law = spec.law.name();
    let over_etcp = spec.over_etcp();
    let over_sack = spec.recovery == Recovery::Tcp(RecoveryKind::Sack);
    match field {
        _ if over_etcp && Flow::counts_for(field, Of::Metering) => {
            format!("{law} answers each lost packet and has a recovery of its own; leave it out")
        }
        _ if own_recovery && Flow::counts_for(field, Of::Metering) => {
            format!("{law} decides by itself what leaves in a recovery; leave it out")
        }
        "cwnd_validation" | "slow_start_after_idle" if own_recovery => {
            format!("{law} decides by itself what becomes of an unused window; leave it out")
        }
        "limited_transmit" if over_sack => {
            format!("a SACK recovery counts what has arrived; leave it out, or write {law}+newreno")
        }
        "halving_stalls" if over_sack => {
            "has no effect without rate_halving; leave it out".to_owned()
        }
        _ if !over_etcp && !over_sack && Flow::counts_for(field, Of::Sack) => {
            format!("is for a SACK recovery; leave it out, or write {law}+sack")
        }
        "tick_integers" => "has no effect without tick; write tick = \"100ms\"".to_owned(),
        "ecn_retransmit" => {
            "has no effect without ECN; write ecn = true, or leave it out".to_owned()
        }
        _ if over_etcp && is_tcps_alone(field, Of::Etcp) => {
            format!("has no effect for {law}, which has a transport of its own; leave it out")
        }
        "abc" => format!("{law} does not grow by acknowledgements; leave it out"),
        "raptorq" | "header_checksum" => {
            format!("{OVER_ETCP}; {law} has another transport, leave it out")
        }
        "reliable" => format!("false {OVER_ETCP}; {law} runs over TCP, leave it out"),
        "max_ssthresh" if matches!(spec.start(), Start::Chosen(_)) => {
            "is for limited slow start; leave it out, or write slow_start = \"limited\"".to_owned()
        }
        "slow_start" | "max_ssthresh" => {
            format!("{law} has a slow start of its own; leave it out")
        }
        "ssthresh" => format!("{law} starts without a threshold; leave it out"),
        _ => why_not(field, around.network)
            .unwrap_or_else(|| format!("has no effect for {law}; leave it out")),
    }
}

/// The fields of a flow that the law with this `cc` decides by itself, and that may not be given
/// beside it: of "pacing", "ecn" and "max_ssthresh"; of a stack that others wrote, nearly all.
/// Fails if there is no such law, or a setting is wrong.
pub fn decided_by(cc: &str) -> Result<Vec<String>, ScenarioError> {
    if let Some(fields) = hosted::decided_by(cc) {
        return Ok(fields);
    }
    let wrong = |message: String| ScenarioError::new("cc", message);
    let spec = ControllerSpec::parse(cc, &[]).map_err(wrong)?;
    let birth = Birth { given: spec.given.clone(), ..Birth::default() };
    let recipe = spec.law.read(&birth).map_err(|error| wrong(error.to_string()))?;
    let controller = recipe.make(0);
    let each_loss = spec.law.moved_by() == MovedBy::EachLoss;
    let needs = controller.needs();
    let fields = [
        (!each_loss && controller.pacing() != Pacing::Unpaced, "pacing"),
        (each_loss || needs.ignores_marks || needs.ecn.is_capable(), "ecn"),
        (!matches!(spec.start(), Start::Chosen(_)), "max_ssthresh"),
    ];
    let decided = fields.into_iter().filter(|(decides, _)| *decides);
    Ok(decided.map(|(_, field)| field.to_owned()).collect())
}
