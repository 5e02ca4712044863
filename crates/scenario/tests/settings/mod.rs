//! What settings of laws are tried with: values, and networks in which they may count.

/// A network, what flows say there, and seconds.
pub type Scene = (&'static str, &'static str, u32);

/// Networks, and what flows say there: losses, marks of both kinds, routers that answer, paths
/// that only single settings show.
pub const SCENES: &[Scene] = &[
    ("10Mbps 40ms 40p loss=0.5%", "", 8),
    ("10Mbps 40ms 40p", "", 20),
    ("100Mbps 100ms 1bdp loss=0.01%", "", 20),
    ("10Mbps 40ms 40p queue=red:min=3:max=9", "ecn = true", 8),
    ("50Mbps 40ms 2bdp queue=dualpi2", "quantum = 10", 8),
    ("10Mbps 40ms 40p queue=dualpi2", "", 20),
    ("1Mbps 10ms 2p queue=dualpi2", "", 8),
    ("10Mbps 40ms 40p queue=xcp", "", 8),
    ("10Mbps 40ms 2bdp queue=gwa", "", 8),
    ("10Mbps 40ms 2bdp queue=gwa:backward=true", "", 8),
    ("10Mbps 40ms 20p queue=gwa", "count = 10", 8),
    ("10Mbps 40ms 2bdp queue=ba", "", 8),
    ("1Mbps 40ms 20p queue=ba", "count = 10", 8),
    ("10Mbps 40ms 40p loss=3% jitter=5ms", "", 30),
    ("10Mbps 40ms 40p loss=0.5%", "app = { rate = \"2Mbps\" }", 20),
    ("10Mbps 40ms 4p queue=red:min=1:max=2", "ecn = true\ncount = 20", 8),
    ("10Mbps 20ms 40p queue=dualpi2 loss=0.2%", "", 20),
    ("10Mbps 10ms 200p queue=codel:target=20ms", "", 20),
    ("20Mbps 20ms 200p loss=0.1%", "", 20),
];

/// A scenario with flows of this `cc`.
pub fn text(cc: &str, (network, beside, seconds): &Scene) -> String {
    let mut fields = network.split(' ');
    let mut next = || fields.next().expect("rate, RTT and buffer come first");
    let mut dumbbell = format!("rate = {:?}\nrtt = {:?}\nbuffer = {:?}\n", next(), next(), next());
    for (name, value) in fields.filter_map(|field| field.split_once('=')) {
        dumbbell += &format!("{name} = {value:?}\n");
    }
    format!(
        "duration = \"{seconds}s\"\nsample = \"0s\"\n[dumbbell]\n{dumbbell}[[flows]]\ncc = \"{cc}\"\n\
         {beside}\n"
    )
}

/// Values other than the `default` to try.
pub fn values(default: &str) -> Vec<String> {
    let digits = default.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = &default[digits.len()..];
    let mut values = match digits.parse::<f64>() {
        Ok(number) => [0.5, 2.0, 0.1, 10.0, 0.8, 1.3]
            .iter()
            .map(|factor| format!("{}{unit}", number * factor))
            .collect(),
        Err(_) => Vec::new(),
    };
    let others = ["true", "false", "0", "1", "2", "0.3", "0.9", "5", "50ms", "300ms", "2s", "inf"];
    values.extend(others.map(str::to_owned));
    values.extend(
        ["linux", "draft", "rfc", "none", "least", "smoothed", "latest"].map(str::to_owned),
    );
    values.retain(|value| value != default);
    values
}
