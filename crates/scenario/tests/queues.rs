//! What queues are for, seen from outside: each test is a scenario and a fact.

use narrows_scenario::{Checked, FlowResult, LinkResult, Results, Scenario};
use std::ops::ControlFlow;

fn run(text: &str) -> Results {
    let checked = Scenario::from_toml(text)
        .and_then(Checked::new)
        .unwrap_or_else(|error| panic!("{text}\n{error}"));
    narrows_scenario::run(&checked, 1, None, |_| ControlFlow::Continue(()))
        .expect("nothing stops or traces it")
}

fn dumbbell(head: &str, network: &str, flows: &str) -> Results {
    run(&format!("duration = \"20s\"\nsample = \"0s\"\n{head}\n[dumbbell]\n{network}\n{flows}"))
}

/// 50 Mbps, 40 ms, room for four bandwidth-delay products.
fn deep(queue: &str, flows: &str) -> Results {
    dumbbell(
        "",
        &format!("rate = \"50Mbps\"\nrtt = \"40ms\"\nbuffer = \"4bdp\"\nqueue = \"{queue}\""),
        flows,
    )
}

fn bottleneck(results: &Results) -> &LinkResult {
    &results.links[0]
}

fn sum(results: &Results, count: fn(&FlowResult) -> u32) -> u32 {
    results.flows.iter().map(count).sum()
}

const FOUR_CUBICS: &str = "[[flows]]\ncc = \"cubic\"\ncount = 4\n";

#[test]
fn delay_stays_near_its_target_and_the_link_full() {
    let idle = deep("drop-tail", FOUR_CUBICS);
    assert!(
        bottleneck(&idle).mean_delay() > 0.08,
        "drop-tail fills what it has: {}",
        bottleneck(&idle).mean_delay()
    );
    for (queue, least, most) in
        [("codel", 0.001, 0.012), ("fq-codel", 0.001, 0.012), ("pie", 0.005, 0.025)]
    {
        let results = deep(queue, FOUR_CUBICS);
        let link = bottleneck(&results);
        assert!((least..most).contains(&link.mean_delay()), "{queue}: {}", link.mean_delay());
        assert!(link.summary.utilisation > 0.9, "{queue}: {}", link.summary.utilisation);
    }
}

#[test]
fn what_can_be_marked_is_not_dropped() {
    let fq = "fq:ce_threshold=5ms:flow_limit=1000";
    for queue in ["red", "codel", "codel:ce_threshold=1ms", "fq-codel", fq, "pie", "dualpi2"] {
        let results = deep(queue, &format!("{FOUR_CUBICS}ecn = true"));
        let link = &bottleneck(&results).summary;
        assert!(
            link.marks > 10 && link.drops == 0,
            "{queue}: {} marks, {} drops",
            link.marks,
            link.drops
        );
        assert_eq!(sum(&results, |flow| flow.summary.sender.retransmitted), 0, "{queue}");
    }
}

#[test]
fn a_flow_of_its_own_queue_does_not_wait_for_others() {
    // Windows that stay below the buffer: round robin drops who finds it full, whoever filled it.
    let telnet = format!("{FOUR_CUBICS}max_window = \"160p\"\n[[flows]]\ntelnet = \"30ms\"");
    let longest = |queue| {
        deep(queue, &telnet).flows[4]
            .summary
            .delays
            .as_ref()
            .expect("packets are offered one by one")
            .longest()
    };
    // 20 ms one way, and a packet of each other flow at 0.24 ms before it; one offered soon after
    // another waits for a round more.
    assert!(longest("rr") < 0.025, "{}", longest("rr"));
    assert!(longest("fq-codel") < 0.025, "{}", longest("fq-codel"));
    assert!(longest("fq") < 0.025, "{}", longest("fq"));
    assert!(longest("drop-tail") > 0.06, "{}", longest("drop-tail"));
}

#[test]
fn a_scalable_and_a_classic_sender_share_a_coupled_queue() {
    let flows = "[[flows]]\ncc = \"dctcp:l4s=true\"\n[[flows]]\ncc = \"cubic\"\necn = true";
    let share = |queue: &str, rtt: &str| {
        let network =
            format!("rate = \"40Mbps\"\nrtt = \"{rtt}\"\nbuffer = \"500p\"\nqueue = \"{queue}\"");
        let results = dumbbell("", &network, flows);
        results.flows[0].goodput / (results.flows[0].goodput + results.flows[1].goodput)
    };
    assert!((0.25..0.75).contains(&share("dualpi2", "20ms")), "{}", share("dualpi2", "20ms"));
    assert!(
        share("codel", "20ms") > 0.85,
        "without coupling the scalable one takes it all: {}",
        share("codel", "20ms")
    );
}

#[test]
fn xcp_fills_a_link_fairly_without_a_queue() {
    // Katabi and others, §5.2: one-way traffic, equal RTTs; "almost no drops", near full use, fair.
    for (rate, rtt, flows) in
        [("50Mbps", "80ms", 5), ("200Mbps", "80ms", 50), ("200Mbps", "20ms", 10)]
    {
        let network =
            format!("rate = \"{rate}\"\nrtt = \"{rtt}\"\nbuffer = \"1bdp\"\nqueue = \"xcp\"");
        let results = dumbbell(
            "tcp = \"ns2\"",
            &network,
            &format!("[[flows]]\ncc = \"xcp+reno\"\ncount = {flows}\nstart_spread = \"1s\""),
        );
        let link = &bottleneck(&results).summary;
        assert!(
            link.utilisation > 0.98 && link.drops == 0,
            "{rate} {rtt}: {} {}",
            link.utilisation,
            link.drops
        );
        let bdp = results.links[0].rate / 8000.0 * results.mean_rtt;
        assert!(link.mean_queue < 0.06 * bdp, "{rate} {rtt}: {} packets of {bdp}", link.mean_queue);
        assert!(results.jain > 0.99, "{rate} {rtt}: {}", results.jain);
    }
}

#[test]
fn a_clean_xcp_keeps_its_window_through_losses_that_are_no_congestion() {
    let lossy = |cc: &str| {
        let network = "rate = \"50Mbps\"\nrtt = \"40ms\"\nbuffer = \"1bdp\"\n\
                       queue = \"xcp\"\nloss = \"0.5%\"";
        bottleneck(&dumbbell(
            "tcp = \"ns2\"",
            network,
            &format!("[[flows]]\ncc = \"{cc}\"\ncount = 4"),
        ))
        .summary
        .utilisation
    };
    let (halving, clean) = (lossy("xcp+reno"), lossy("xcp:halve=false"));
    assert!(clean > 0.9 && clean > halving + 0.05, "{clean} {halving}");
}

#[test]
fn gwa_and_those_who_do_not_speak_it_pass_each_others_routers() {
    let goodput = |queue: &str, cc: &str| {
        let network =
            format!("rate = \"20Mbps\"\nrtt = \"40ms\"\nbuffer = \"100p\"\nqueue = \"{queue}\"");
        let results =
            dumbbell("tcp = \"ns2\"", &network, &format!("[[flows]]\ncc = \"{cc}\"\ncount = 2"));
        (
            results.flows.iter().map(|flow| flow.summary.arrived).collect::<Vec<_>>(),
            bottleneck(&results).summary.drops,
        )
    };
    for cc in ["gwa+reno", "ba+reno"] {
        assert_eq!(
            goodput("drop-tail", cc),
            goodput("drop-tail", "reno+reno"),
            "{cc} is Reno where no router speaks"
        );
    }
    for queue in ["gwa-rr", "gwa-fcfs", "ba", "xcp"] {
        assert!(
            goodput(queue, "sack").0.iter().sum::<u64>() > 30_000,
            "{queue} carries SACK: 15 s at 20 Mbps are 37,500 packets"
        );
    }
    for queue in ["gwa-rr", "gwa-fcfs"] {
        assert_eq!(goodput(queue, "gwa+reno").1, 0, "{queue}");
    }
}

/// Two GWA or BA flows over 20 Mbps and 40 ms: a bandwidth-delay product of 100 packets.
fn advertised(queue: &str, buffer: &str, flow: &str) -> Results {
    dumbbell(
        "tcp = \"ns2\"",
        &format!("rate = \"20Mbps\"\nrtt = \"40ms\"\nbuffer = \"{buffer}\"\nqueue = \"{queue}\""),
        &format!("[[flows]]\ncount = 2\nstart_spread = \"0s\"\n{flow}"),
    )
}

#[test]
fn a_syn_that_asks_keeps_the_first_window_within_the_buffer() {
    // Two first windows of 40 packets meet in a buffer of 30.
    let drops = |cc: &str| {
        let flow = format!("cc = \"{cc}\"\ninitial_window = 40\nhandshake = true\ncount = 2");
        let network = "rate = \"20Mbps\"\nrtt = \"40ms\"\nbuffer = \"30p\"\n\
                       queue = \"gwa-fcfs:flows=2\"";
        let head = "tcp = \"ns2\"\nwarmup = \"0s\"";
        bottleneck(&dumbbell(head, network, &format!("[[flows]]\n{flow}"))).summary.drops
    };
    assert!(drops("gwa+reno") > 0);
    assert_eq!(drops("gwa:syn=true+reno"), 0);
    let text = "duration = \"1s\"\ntcp = \"ns2\"\n[dumbbell]\nrate = \"1Mbps\"\nrtt = \"1ms\"\n\
                buffer = \"9p\"\n[[flows]]\ncc = \"gwa:syn=true\"";
    let refused = Scenario::from_toml(text).and_then(Checked::new).err().map(|e| e.to_string());
    assert!(refused.is_some_and(|error| error.contains("write handshake = true")));
}

#[test]
fn acknowledgements_that_are_told_on_their_way_back_keep_the_buffer_as_well() {
    for queue in ["gwa-rr:flows=2", "gwa-fcfs:flows=2"] {
        let [forward, backward] = ["", ":backward=true"]
            .map(|how| advertised(&format!("{queue}{how}"), "250p", "cc = \"gwa+reno\""));
        let summary = &bottleneck(&backward).summary;
        assert!(summary.utilisation > 0.98 && summary.drops == 0, "{queue} {summary:?}");
        // Half of what the buffer has above a bandwidth-delay product is queue (§6.1): 75 packets.
        let queues = [&forward, &backward].map(|results| bottleneck(results).summary.mean_queue);
        assert!(queues.iter().all(|queue| (60.0..90.0).contains(queue)), "{queue} {queues:?}");
        assert_ne!(queues[0], queues[1], "they are told half a round trip later");
    }
}

#[test]
fn with_each_delay_known_ba_routers_fill_the_link_over_a_small_buffer() {
    let known = advertised("ba:flows=2", "40p", "cc = \"gwa:delay=41ms+reno\"");
    let summary = &bottleneck(&known).summary;
    assert!(summary.utilisation > 0.95 && summary.mean_queue < 10.0, "{summary:?}");
    let own = advertised("gwa-rr:flows=2", "40p", "cc = \"gwa+reno\"");
    let alone = bottleneck(&own).summary.utilisation;
    assert!(alone < 0.5, "{alone}: eq. 8: 40 packets of buffer for a path of 100");
}

#[test]
fn without_a_congestion_window_losses_of_the_wire_do_not_count() {
    let lossy = |cc: &str| {
        let flow = format!("cc = \"{cc}\"\nmax_window = \"200p\"");
        let network = "rate = \"20Mbps\"\nrtt = \"40ms\"\nbuffer = \"250p\"\nloss = \"1%\"\n\
                       queue = \"gwa-rr:flows=2\"";
        let flows = format!("[[flows]]\ncount = 2\n{flow}");
        let results = dumbbell("tcp = \"ns2\"", network, &flows);
        (bottleneck(&results).summary.utilisation, bottleneck(&results).summary.drops)
    };
    let ((with, _), (without, drops)) = (lossy("gwa"), lossy("gwa:cwnd=false"));
    assert!(with < 0.7 && without > 0.9 && drops == 0, "{with} {without} {drops}");
}

#[test]
fn of_several_routers_the_one_with_the_least_room_counts() {
    let chain = |buffers: [&str; 2]| {
        let hop = |buffer| {
            format!(
                "{{ rate = \"20Mbps\", delay = \"10ms\", buffer = \"{buffer}\", queue = \"gwa-rr:flows=1\" }}"
            )
        };
        let hops = buffers.map(hop).join(", ");
        let results = run(&format!(
            "duration = \"20s\"\nsample = \"0s\"\ntcp = \"ns2\"\n[chain]\nhops = [{hops}]\n[[flows]]\ncc = \"gwa+reno\"\npacing = \"even\""
        ));
        results.links[0].summary.utilisation
    };
    // 100 packets of bandwidth-delay product; 25 packets in 512-byte steps are 24.
    for buffers in [["25p", "400p"], ["400p", "25p"]] {
        let utilisation = chain(buffers);
        assert!((0.21..0.26).contains(&utilisation), "{buffers:?}: {utilisation}");
    }
    assert!(chain(["400p", "400p"]) > 0.98);
}

/// `rewrite=true` makes TCP obey that knows nothing of GWA: 20 packets never overflow, where a
/// queue that only drops loses packets all the time.
#[test]
fn a_lowered_window_keeps_strangers_from_overflowing_a_small_buffer() {
    let text = |queue: &str| {
        format!(
            "duration = \"10s\"\nwarmup = \"2s\"\n[dumbbell]\nrate = \"100Mbps\"\nrtt = \"1ms\"\n\
             buffer = \"20p\"\nqueue = \"{queue}\"\n[[flows]]\ncc = \"sack\"\ncount = 4\n"
        )
    };
    for queue in ["gwa-rr:flows=4:rewrite=true", "gwa-fcfs:flows=4:rewrite=true"] {
        let lowered = run(&text(queue));
        let summary = &bottleneck(&lowered).summary;
        assert_eq!(summary.drops, 0, "{queue}");
        assert!(summary.utilisation > 0.95, "{queue}: {}", summary.utilisation);
    }
    for queue in ["rr", "gwa-rr:flows=4"] {
        let drops = bottleneck(&run(&text(queue))).summary.drops;
        assert!(drops > 100, "{queue}: {drops}");
    }
}

/// M/D/1: at a load of 2/3 one arrival in a hundred finds six packets, and one in 10⁵ finds twenty.
#[test]
fn etcp_by_marks_loses_nothing_in_twenty_packets() {
    let results = dumbbell(
        "warmup = \"10s\"",
        "rate = \"200Mbps\"\nrtt = \"40ms\"\nbuffer = \"20p\"\nmark = \"6p\"",
        "[[flows]]\ncc = \"etcp-ecn\"\ncount = 5\nquantum = 1\n",
    );
    let link = bottleneck(&results);
    let marked = link.summary.marks as f64 / link.summary.arrivals as f64;
    assert!((0.6..0.75).contains(&link.summary.utilisation), "{}", link.summary.utilisation);
    assert!((0.01..0.03).contains(&marked), "{marked}");
    assert_eq!(link.summary.drops, 0);
}
