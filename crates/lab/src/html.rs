//! A page of pictures that needs nothing else.

use crate::report::Report;
use std::fmt::Write as _;

/// Pixels of a picture.
const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 180.0;
/// Colours that can be told apart (Okabe and Ito).
const COLOURS: [&str; 7] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];

/// A line: its name, and points of time in seconds and a value.
struct Line {
    name: String,
    points: Vec<(f64, f64)>,
}

/// The page of `report`.
pub(crate) fn page(report: &Report, title: &str) -> String {
    let mut page = format!(
        "<!doctype html><meta charset=utf-8><title>{0}</title><style>body{{font:14px sans-serif;\
         max-width:{WIDTH}px;margin:2em auto}}text{{font:11px sans-serif}}</style><h1>{0}</h1>\
         <p>{1}</p>",
        escaped(title),
        escaped(&report.to_string())
    );
    let series = &report.results.flow_series;
    let of_flows = |column: &[f64], unit: f64| -> Vec<Line> {
        let line = |number: usize, name: &str| Line {
            name: format!("{number} {name}"),
            points: (0..series.time.len())
                .filter(|row| series.flow[*row] as usize == number)
                .map(|row| (series.time[row], column[row] / unit))
                .collect(),
        };
        report.flows.iter().enumerate().map(|(number, flow)| line(number, &flow.name)).collect()
    };
    let links = &report.results.link_series;
    let bottleneck = report.results.bottleneck().number;
    let queue = Line {
        name: "queue".to_owned(),
        points: (0..links.time.len())
            .filter(|row| links.link[*row] == bottleneck)
            .map(|row| (links.time[row], links.queue[row]))
            .collect(),
    };
    let rate = report.results.bottleneck().rate / 1e6;
    page.push_str(&picture("Goodput in Mbit/s", &of_flows(&series.goodput, 1e6), Some(rate)));
    page.push_str(&picture("Congestion window in packets", &of_flows(&series.window, 1.0), None));
    page.push_str(&picture("Queue at the bottleneck in packets", &[queue], None));
    page
}

/// A picture of `lines`, with a mark at `level`.
fn picture(title: &str, lines: &[Line], level: Option<f64>) -> String {
    let points = || lines.iter().flat_map(|line| &line.points).filter(|point| point.1.is_finite());
    let last = points().map(|point| point.0).fold(0.0, f64::max);
    let most = points().map(|point| point.1).chain(level).fold(0.0, f64::max);
    if last == 0.0 || most == 0.0 {
        return String::new();
    }
    let x = |time: f64| 50.0 + time / last * (WIDTH - 60.0);
    let y = |value: f64| HEIGHT - 20.0 - value / most * (HEIGHT - 30.0);
    let mut picture = format!("<h2>{title}</h2><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" fill=none>");
    for share in [0.0, 0.5, 1.0] {
        let (value, time) = (share * most, share * last);
        let _ = write!(
            picture,
            "<path d=\"M50 {0:.1}H{1}\" stroke=\"#ddd\"/><text x=45 y={0:.1} text-anchor=end \
             fill=black>{value:.0}</text><text x={2:.1} y={HEIGHT} text-anchor=end \
             fill=black>{time:.0} s</text>",
            y(value),
            WIDTH - 10.0,
            x(time).max(70.0)
        );
    }
    if let Some(level) = level {
        let _ = write!(
            picture,
            "<path d=\"M50 {:.1}H{}\" stroke=\"#888\" stroke-dasharray=4 />",
            y(level),
            WIDTH - 10.0
        );
    }
    for (number, line) in lines.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let path: String = line
            .points
            .iter()
            .filter(|point| point.1.is_finite())
            .enumerate()
            .map(|(place, (time, value))| {
                format!("{}{:.1} {:.1}", if place == 0 { "M" } else { "L" }, x(*time), y(*value))
            })
            .collect();
        let _ = write!(
            picture,
            "<path d=\"{path}\" stroke=\"{colour}\"/><text x={:.1} y=10 fill=\"{colour}\">{}</text>",
            60.0 + 150.0 * number as f64,
            escaped(&line.name)
        );
    }
    picture.push_str("</svg>");
    picture
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
