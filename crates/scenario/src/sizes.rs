//! Sizes of transfers as people name them: tables that are known, formulas, files.

use crate::reading::read_text;
use narrows_settings::unknown;
use narrows_sim::{Knot, Sizes};
use narrows_units::Bytes;

/// A table that is known by name: bytes, and the percentage of sizes up to these.
type Table = (&'static str, &'static [(f64, f64)]);

/// The tables. "web-search" is of M. Alizadeh et al., "Data Center TCP", SIGCOMM 2010;
/// "data-mining" of A. Greenberg et al., "VL2", SIGCOMM 2009, both as in HKUST's TrafficGenerator;
/// "hadoop" of A. Roy et al., "Inside the Social Network's (Datacenter) Network", SIGCOMM 2015, and
/// "ali-storage", both as in Alibaba's HPCC.
const TABLES: [Table; 4] = [
    (
        "web-search",
        &[
            (0.0, 0.0),
            (1e4, 15.0),
            (2e4, 20.0),
            (3e4, 30.0),
            (5e4, 40.0),
            (8e4, 53.0),
            (2e5, 60.0),
            (1e6, 70.0),
            (2e6, 80.0),
            (5e6, 90.0),
            (1e7, 97.0),
            (3e7, 100.0),
        ],
    ),
    (
        "data-mining",
        &[
            (0.0, 0.0),
            (180.0, 10.0),
            (216.0, 20.0),
            (560.0, 30.0),
            (900.0, 40.0),
            (1100.0, 50.0),
            (1870.0, 60.0),
            (3160.0, 70.0),
            (1e4, 80.0),
            (4e5, 90.0),
            (3.16e6, 95.0),
            (1e8, 98.0),
            (1e9, 100.0),
        ],
    ),
    (
        "hadoop",
        &[
            (0.0, 0.0),
            (100.0, 1.0),
            (200.0, 2.0),
            (300.0, 5.0),
            (350.0, 15.0),
            (400.0, 20.0),
            (500.0, 30.0),
            (600.0, 40.0),
            (700.0, 50.0),
            (1000.0, 60.0),
            (2000.0, 67.0),
            (7000.0, 70.0),
            (3e4, 72.0),
            (5e4, 82.0),
            (8e4, 87.0),
            (1.2e5, 90.0),
            (3e5, 95.0),
            (1e6, 97.5),
            (2e6, 99.0),
            (1e7, 100.0),
        ],
    ),
    (
        "ali-storage",
        &[
            (0.0, 0.0),
            (4e3, 22.93),
            (8e3, 69.21),
            (1.6e4, 80.61),
            (3.2e4, 90.47),
            (6.4e4, 93.53),
            (1.28e5, 96.77),
            (2.56e5, 97.53),
            (2e6, 100.0),
        ],
    ),
];

/// The ending of files of sizes.
const ENDING: &str = ".cdf";

/// The sizes that `text` names; what is wrong with it otherwise.
pub(crate) fn parse(text: &str) -> Result<Sizes, String> {
    let (name, mut most) = match text.rsplit_once(":max=") {
        Some((name, most)) => (name, Some(bytes(most)?)),
        None => (text, None),
    };
    let (kind, rest) = name.split_once(':').unwrap_or((name, ""));
    let sizes = match kind {
        _ if name.ends_with(ENDING) => file(name)?,
        "fixed" if most.is_none() => Sizes::fixed(bytes(rest)?),
        "fixed" => return Err("fixed sizes have no max; leave it out".to_owned()),
        "pareto" => {
            let (sizes, own) = pareto(rest)?;
            most = own.or(most);
            sizes
        }
        _ => table(name)?,
    };
    match most {
        None => Ok(sizes),
        Some(most) => sizes.at_most(most).ok_or_else(|| format!("max={most} B leaves nothing")),
    }
}

fn table(name: &str) -> Result<Sizes, String> {
    let Some((_, knots)) = TABLES.iter().find(|(known, _)| *known == name) else {
        let known = TABLES.iter().map(|(name, _)| *name).chain(["fixed", "pareto"]);
        if let Some(table) = known.clone().find(|it| name.strip_prefix(*it).is_some()) {
            return Err(format!("\"{name}\" is not as it should be; try \"{table}:max=10MB\""));
        }
        let message = unknown("sizes", name, known);
        return Err(format!("{message}; a file of sizes ends in {ENDING}"));
    };
    Ok(of_knots(knots.iter().copied()).expect("the tables are distributions"))
}

fn of_knots(knots: impl Iterator<Item = (f64, f64)>) -> Option<Sizes> {
    Sizes::table(knots.map(|(bytes, percent)| Knot { bytes, share: percent / 100.0 }))
}

/// The sizes of `mean=30kB,shape=1.35`, and the limit of a `max=10MB` behind it.
fn pareto(settings: &str) -> Result<(Sizes, Option<f64>), String> {
    let (mut mean, mut shape, mut most) = (None, None, None);
    for setting in settings.split(',') {
        match setting.split_once('=') {
            Some(("mean", value)) => mean = Some(bytes(value)?),
            Some(("shape", value)) => shape = value.trim().parse::<f64>().ok(),
            Some(("max", value)) => most = Some(bytes(value)?),
            _ => return Err(format!("\"{setting}\" is not of pareto:mean=30kB,shape=1.35")),
        }
    }
    let (Some(mean), Some(shape)) = (mean, shape.filter(|it| *it > 1.0 && *it <= 100.0)) else {
        let message = "pareto needs a mean and a shape above 1: pareto:mean=30kB,shape=1.35";
        return Err(message.to_owned());
    };
    Ok((Sizes::pareto(mean, shape), most))
}

fn bytes(text: &str) -> Result<f64, String> {
    let bytes: Bytes = text.trim().parse().map_err(|error| format!("{error}"))?;
    if bytes.count() == 0 {
        return Err(format!("\"{text}\" is no size; try \"100kB\""));
    }
    Ok(bytes.count() as f64)
}

/// The sizes in the file called `name`: lines of bytes and the percentage of sizes up to these.
fn file(name: &str) -> Result<Sizes, String> {
    let text = read_text(name, "lines of bytes and percent")?;
    let mut knots: Vec<(f64, f64)> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let words = line.split('#').next().unwrap_or_default();
        let words: Vec<&str> = words.split_whitespace().collect();
        if words.is_empty() {
            continue;
        }
        let numbers: Vec<f64> = words.iter().filter_map(|word| word.parse().ok()).collect();
        let (&[bytes, percent], 2) = (&numbers[..], words.len()) else {
            return Err(format!(
                "\"{name}\", line {number}: \"{line}\" is not bytes and percent, like 10000 15"
            ));
        };
        let (least, lowest) = knots.last().copied().unwrap_or_default();
        if !(bytes >= least && percent >= lowest && bytes.is_finite()) {
            return Err(format!(
                "\"{name}\", line {number}: {bytes} B at {percent} % after {least} B at {lowest} \
                 %; neither may fall"
            ));
        }
        knots.push((bytes, percent));
    }
    let (first, last) = (knots.first().copied(), knots.last().copied().unwrap_or_default());
    if first.is_none_or(|(_, percent)| percent != 0.0) || last.1 != 100.0 {
        return Err(format!(
            "\"{name}\" goes from {} to {} percent; it must go from 0 to 100",
            first.unwrap_or_default().1,
            last.1
        ));
    }
    of_knots(knots.into_iter()).ok_or_else(|| format!("\"{name}\" has no size above 0 B"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_units::Stream;

    #[test]
    fn the_tables_have_the_means_that_their_knots_give() {
        let mean = |name: &str| parse(name).expect(name).mean();
        assert!((mean("web-search") - 1_711_250.0).abs() < 1e-6);
        assert!((mean("data-mining") - 12_658_199.0).abs() < 1.0);
        assert!((mean("hadoop") / 120e3 - 1.0).abs() < 0.02, "{}", mean("hadoop"));
        assert!((mean("ali-storage") / 41e3 - 1.0).abs() < 0.02, "{}", mean("ali-storage"));
        let half = parse("web-search").expect("a table").quantile(0.5);
        assert!((half - 73_077.0).abs() < 0.5, "{half}");
    }

    #[test]
    fn the_first_draws_are_these() {
        let mut stream = Stream::new(1, 5, 0);
        let sizes = parse("web-search").expect("a table");
        let drawn: Vec<u64> = (0..10).map(|_| sizes.draw(&mut stream)).collect();
        let known = [4979, 3494201, 16132, 24906, 25342, 54408, 1756643, 14622333, 21309, 78135];
        assert_eq!(drawn, known);
    }

    #[test]
    fn sizes_have_the_shares_of_their_table() {
        let sizes = parse("web-search").expect("a table");
        let mut stream = Stream::new(3, 1, 1);
        let n = 100_000;
        let mut drawn: Vec<u64> = (0..n).map(|_| sizes.draw(&mut stream)).collect();
        drawn.sort_unstable();
        // Kolmogorov and Smirnov at 1 %: 1.63/√n, of quantiles back to shares at the knots.
        for (bytes, percent) in TABLES[0].1 {
            let share = drawn.partition_point(|size| *size as f64 <= *bytes) as f64 / f64::from(n);
            assert!(
                (share - percent / 100.0).abs() < 1.63 / f64::from(n).sqrt(),
                "{bytes} {share}"
            );
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, said) in [
            ("web-serch", "did you mean"),
            ("fixed:", "try"),
            ("fixed:0B", "is no size"),
            ("fixed:9kB:max=1MB", "no max"),
            ("pareto:mean=30kB", "a shape above 1"),
            ("pareto:mean=30kB,shape=1", "a shape above 1"),
            ("pareto:mean=30kB,form=2", "\"form=2\" is not of pareto"),
            ("pareto:mean=30kB,shape=1.35:max=1B", "leaves nothing"),
            ("nowhere.cdf", "\"nowhere.cdf\" cannot be read"),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn a_file_is_a_table() {
        let folder = std::env::temp_dir().join(format!("narrows-sizes-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("mine.cdf").to_string_lossy().into_owned();
        let of = |text: &str| {
            std::fs::write(&path, text).expect("written");
            parse(&path)
        };
        assert_eq!(of("# mine\n0 0\n1000 50\n2000 100\n").expect("a table").mean(), 1000.0);
        let most = format!("{path}:max=1kB");
        assert_eq!(parse(&most).expect("a table").mean(), 500.0);
        for (text, said) in [
            ("0 0\n1000 1\n", "goes from 0 to 1 percent"),
            ("10 5\n1000 100\n", "goes from 5 to 100 percent"),
            ("0 0\n1000 50\n900 100\n", "line 3: 900 B at 100 % after 1000 B at 50 %"),
            ("0 0\n1000\n", "line 2: \"1000\" is not bytes and percent"),
            ("0 0\n1000 x\n", "line 2"),
            ("", "from 0 to 0 percent"),
            ("0 0\n0 100\n", "no size above 0 B"),
        ] {
            let error = of(text).expect_err(text);
            assert!(error.contains(said), "{text}: {error}");
        }
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
