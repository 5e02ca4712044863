//! Checks what the application of a flow sends, and when.

use crate::ScenarioError;
use crate::fields::Fields;
use crate::flow::{PacketSize, Surroundings};
use crate::network::positive;
use crate::offered;
use crate::scenario::{App, Files, Flow, Incast, PeriodsName, Web};
use narrows_sim::{
    Application, FileSettings, Frames, Gap, Making, PageSettings, Periods, QuerySettings, Usage,
};
use narrows_units::{Bytes, Duration, Time};
use std::sync::Arc;

/// The shortest mean gap of an application that offers packets one by one.
const SHORTEST_GAP: Duration = Duration::from_micros(1);
/// Without `deadline` frames may be as old as this (RFC 8867 §4.1: interactive video).
const DEADLINE: Duration = Duration::from_millis(150);

/// The silences of an application, besides its periods.
pub(crate) type Silent = Arc<[(Time, Time)]>;

/// What the application sends, in packets of this size.
pub(crate) fn check(
    given: &mut Fields,
    packet: PacketSize,
    around: &Surroundings,
) -> Result<Application<()>, ScenarioError> {
    sends_one_kind(given)?;
    let payload = packet.payload();
    let web = given.take(|flow| &mut flow.web);
    let files = given.take(|flow| &mut flow.files);
    let telnet = given.take(|flow| &mut flow.telnet);
    let size = given.take(|flow| &mut flow.size);
    let app = given.take(|flow| &mut flow.app);
    let arrivals = given.take(|flow| &mut flow.arrivals);
    let incast = given.take(|flow| &mut flow.incast);
    if let Some(offered) = offered::check(given, around.duration)? {
        return Ok(Application::Offered(offered.in_packets(payload)));
    }
    if let Some(web) = web {
        return pages(given, &web, payload).map(requested);
    }
    if let Some(written) = files {
        return self::files(given, &written, payload).map(requested);
    }
    if let Some(incast) = incast {
        return queries(given, &incast, payload).map(requested);
    }
    if arrivals.is_some() {
        return Ok(requested(Usage::Arrivals(around.pool)));
    }
    if let Some(mean) = telnet {
        if mean < SHORTEST_GAP {
            let message = format!("{mean} is below {SHORTEST_GAP}; try \"100ms\"");
            return Err(given.error("telnet", message));
        }
        return Ok(Application::Made(Making::packets(Gap::Exponential(mean))));
    }
    match (size, app) {
        (Some(size), _) if size.count() == 0 => {
            Err(given.error("size", "must be above 0; try \"1MB\""))
        }
        (Some(size), _) => {
            let count = size.count().div_ceil(payload);
            let last_payload = size.count() - (count - 1) * payload;
            Ok(Application::Packets { count, last_bytes: last_payload as u32 + packet.headers() })
        }
        (None, Some(app)) => made(given, &app, payload, around.duration).map(Application::Made),
        (None, None) => Ok(Application::Endless),
    }
}

/// Fails if the flow is told to send several kinds of data.
pub(crate) fn sends_one_kind(given: &Fields) -> Result<(), ScenarioError> {
    const KINDS: [&str; 8] =
        ["web", "files", "telnet", "size", "app", "offers", "arrivals", "incast"];
    let named: Vec<&str> = given.field(|flow| flow.given().collect());
    let mut kinds = KINDS.into_iter().filter(|kind| named.contains(kind));
    let (Some(first), Some(second)) = (kinds.next(), kinds.next()) else { return Ok(()) };
    let message =
        format!("a flow sends one kind of data, and has {first} already; leave one of them out");
    Err(given.error(second, message))
}

fn requested(usage: Usage) -> Application<()> {
    Application::Requests(usage, ())
}

/// Data that an application makes in packets of `payload`.
fn made(
    given: &Fields,
    app: &App,
    payload: u64,
    duration: Duration,
) -> Result<Making, ScenarioError> {
    let (periods, silent) = (periods(given, app)?, silences(given, app, duration)?);
    let Some(frames) = app.frames else {
        if app.deadline.is_some() {
            let message = "is for frames; write frames = 30 beside it, or leave it out";
            return Err(given.error("app.deadline", message));
        }
        let gap = Gap::Constant(app.rate.time_to_send(Bytes::new(payload)));
        return Ok(Making { gap, frames: None, periods, silent });
    };
    if !(0.1..=1e4).contains(&frames) {
        let message = format!("{frames} per second is not from 0.1 to 10000; try 30");
        return Err(given.error("app.frames", message));
    }
    let packets = app.rate.bytes_per_second() / frames / payload as f64;
    if packets < 1.0 {
        let message = format!(
            "{frames} per second at {} have less than a packet of {payload} B each; take fewer, or \
             smaller packets",
            app.rate
        );
        return Err(given.error("app.frames", message));
    }
    let deadline = app.deadline.unwrap_or(DEADLINE);
    positive(&given.at("app.deadline"), deadline, "150ms")?;
    let gap = Gap::Constant(Duration::from_secs(1.0 / frames));
    Ok(Making { gap, frames: Some(Frames { packets, deadline }), periods, silent })
}

/// The periods of an application that has some.
pub(crate) fn periods(given: &Fields, app: &App) -> Result<Option<Periods>, ScenarioError> {
    match (app.on, app.off) {
        (None, None) if app.periods.is_some() => {
            let message = "has no effect without on and off; add those, or leave it out";
            Err(given.error("app.periods", message))
        }
        (None, None) => Ok(None),
        (Some(on), Some(off)) => {
            positive(&given.at("app.on"), on, "5s")?;
            positive(&given.at("app.off"), off, "5s")?;
            let exponential = app.periods == Some(PeriodsName::Exponential);
            let period = if exponential { Gap::Exponential } else { Gap::Constant };
            Ok(Some(Periods { on: period(on), off: period(off) }))
        }
        (on, _) => {
            let given_one = if on.is_some() { "app.on" } else { "app.off" };
            let message = "on and off go together, like on = \"5s\", off = \"5s\"";
            Err(given.error(given_one, message))
        }
    }
}

/// The further silences of an application, in order and apart.
pub(crate) fn silences(
    given: &Fields,
    app: &App,
    duration: Duration,
) -> Result<Silent, ScenarioError> {
    let mut before = Duration::ZERO;
    let silences = app.silent.iter().flatten().enumerate();
    silences
        .map(|(number, (from, to))| {
            let wrong = if from >= to {
                format!("{from} to {to} is no time; try [\"8s\", \"13s\"]")
            } else if *from < before {
                format!("begins at {from}, before the one before it is over; put them in order")
            } else if *from >= duration {
                format!("{from} is past the end of the run, {duration}")
            } else {
                before = *to;
                return Ok((Time::ZERO + *from, Time::ZERO + *to));
            };
            Err(given.error(&format!("app.silent[{number}]"), wrong))
        })
        .collect()
}

fn queries(given: &Fields, incast: &Incast, payload: u64) -> Result<Usage, ScenarioError> {
    if incast.size.count() == 0 {
        return Err(given.error("incast.size", "0B is no answer; try \"32kB\""));
    }
    positive(&given.at("incast.every"), incast.every, "100ms")?;
    let jitter = incast.jitter.unwrap_or_default();
    if jitter >= incast.every {
        let message =
            format!("{jitter} is not below the {} to the next query; try \"10us\"", incast.every);
        return Err(given.error("incast.jitter", message));
    }
    let (every, bytes) = (incast.every, incast.size.count());
    Ok(Usage::Queries(QuerySettings { every, jitter, bytes, payload }))
}

fn pages(given: &Fields, web: &Web, payload: u64) -> Result<Usage, ScenarioError> {
    let size_factor = web.size_factor.unwrap_or(1.0);
    if !(size_factor > 0.0 && size_factor <= 1e6) {
        return Err(given.error("web.size_factor", format!("{size_factor} times; try 15")));
    }
    let think = web.think.unwrap_or(Duration::from_millis(40_000));
    let persistent = web.persistent.unwrap_or_default().value();
    let page = PageSettings { think, size_factor, persistent, payload };
    let Some(connections) = web.connections.filter(|connections| *connections != 1) else {
        return Ok(Usage::Pages(page));
    };
    if connections == 0 {
        return Err(given.error("web.connections", "0 connections bring no page; try 6"));
    }
    Ok(Usage::Browses(page, connections))
}

fn files(given: &Fields, files: &Files, payload: u64) -> Result<Usage, ScenarioError> {
    let (mean, shape) = (files.mean.unwrap_or(30.0), files.shape.unwrap_or(1.35));
    let is_shape = shape > 1.0 && shape <= 100.0;
    if !(1.0..=1e9).contains(&mean) || !is_shape {
        let message = format!(
            "mean {mean} packets is not from 1 to 1e9, or shape {shape} is not above 1 and at most \
                 100; try mean = 30, shape = 1.35"
        );
        return Err(given.error("files", message));
    }
    Ok(Usage::Files(FileSettings { mean, shape, off: files.off, payload }))
}

/// Whether a group of flows begins all at one time unless told otherwise.
pub(crate) fn begins_together(flow: &Flow) -> bool {
    flow.incast.is_some() || flow.arrivals.is_some()
}
