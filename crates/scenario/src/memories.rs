//! Checks memories that links share.

use crate::ScenarioError;
use crate::link::CheckedLink;
use crate::scenario::{Background, LinkOptions, Memory};
use narrows_router::Discipline;
use narrows_router::service::Steps;
use narrows_settings::unknown;
use narrows_sim::MemorySettings;
use narrows_units::{Bytes, Duration, Time, text};

/// A link's part in a memory, by name, and the bytes that are its own.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub memory: String,
    pub reserved: u64,
}

/// A memory, checked.
#[derive(Clone, Debug)]
pub(crate) struct CheckedMemory {
    pub name: String,
    pub settings: MemorySettings,
}

/// The largest memory: more than any switch has.
const LARGEST: Bytes = Bytes::new(1 << 40);
/// The largest cell.
const LARGEST_CELL: u64 = 65_536;

/// The part that the link at `place` has in a memory, with this queue.
pub(crate) fn part(
    place: &str,
    options: &LinkOptions,
    queue: &Discipline,
) -> Result<Option<Part>, ScenarioError> {
    let wrong =
        |field: &str, message: String| Err(ScenarioError::new(format!("{place}.{field}"), message));
    let Some(memory) = &options.memory else {
        return match options.reserved {
            None => Ok(None),
            Some(bytes) => {
                wrong("reserved", format!("{bytes} of which memory? name it, or leave it out"))
            }
        };
    };
    let on_arrival = matches!(
        queue,
        Discipline::DropTail | Discipline::MarkFrom(_) | Discipline::Red(_) | Discipline::Pie(_)
    );
    if !on_arrival {
        let message = "is for drop-tail, red and pie, which decide on arrival; take one of those, \
                       or leave it out";
        return wrong("memory", message.to_owned());
    }
    let reserved = options.reserved.map_or(0, Bytes::count);
    Ok(Some(Part { memory: memory.clone(), reserved }))
}

/// The memories as `written`, for `links`.
pub(crate) fn check(
    written: &[Memory],
    links: &[CheckedLink],
    duration: Duration,
) -> Result<Vec<CheckedMemory>, ScenarioError> {
    let known: Vec<&str> = written.iter().map(|memory| memory.name.as_str()).collect();
    let parts = |link: &CheckedLink| Some((link.name.clone(), link.part.clone()?));
    let parts: Vec<(String, Part)> = links.iter().filter_map(parts).collect();
    if let Some((link, part)) = parts.iter().find(|(_, it)| !known.contains(&it.memory.as_str())) {
        let message = if known.is_empty() {
            format!("there is no memory \"{}\"; add [[memories]] with that name", part.memory)
        } else {
            unknown("memory", &part.memory, known.iter().copied())
        };
        return Err(ScenarioError::new(format!("links \"{link}\".memory"), message));
    }
    let check = |(number, memory): (usize, &Memory)| {
        let place = format!("memories[{number}]");
        let wrong = |field: &str, message: String| {
            Err(ScenarioError::new(format!("{place}.{field}"), message))
        };
        let name = &memory.name;
        if let Some(message) = text::wrong_name(name) {
            return wrong("name", message.to_owned());
        }
        if known[..number].contains(&name.as_str()) {
            return wrong("name", format!("two memories are called \"{name}\"; rename one"));
        }
        let own = parts.iter().filter(|(_, part)| part.memory == *name);
        let reserved: Vec<u64> = own.map(|(_, part)| part.reserved).collect();
        if reserved.is_empty() {
            return wrong("name", format!("no link has memory = \"{name}\"; leave it out"));
        }
        if memory.bytes > LARGEST || memory.bytes.count() == 0 {
            return wrong(
                "bytes",
                format!("{} is not above 0 and at most {LARGEST}", memory.bytes),
            );
        }
        if reserved.iter().sum::<u64>() > memory.bytes.count() {
            let own = Bytes::new(reserved.iter().sum());
            let message = format!("{} is less than the {own} that links reserve", memory.bytes);
            return wrong("bytes", message);
        }
        settings(memory, duration, &place)
    };
    written.iter().enumerate().map(check).collect()
}

fn settings(
    memory: &Memory,
    duration: Duration,
    place: &str,
) -> Result<CheckedMemory, ScenarioError> {
    let wrong =
        |field: &str, message: String| Err(ScenarioError::new(format!("{place}.{field}"), message));
    let alpha = memory.alpha.unwrap_or(1.0);
    if !(alpha > 0.0 && alpha <= 1e6) {
        return wrong("alpha", format!("{alpha} is not above 0; try 1"));
    }
    let cell = memory.cell.map_or(1, Bytes::count);
    if !(1..=LARGEST_CELL).contains(&cell) {
        return wrong("cell", format!("{cell} B is not from 1 to {LARGEST_CELL}; try \"208B\""));
    }
    let background = match &memory.background {
        None => Steps::always(0),
        Some(Background::Always(bytes)) => Steps::always(bytes.count()),
        Some(Background::Changing(list)) => {
            let rises = list.is_sorted_by(|(a, _), (b, _)| a < b);
            if !rises || list.first().is_none_or(|(at, _)| *at > Duration::ZERO) {
                let message =
                    "times must rise from 0s, like [[\"0s\", \"2MB\"], [\"5s\", \"9MB\"]]";
                return wrong("background", message.to_owned());
            }
            if let Some((at, _)) = list.last().filter(|(at, _)| *at >= duration) {
                return wrong("background", format!("{at} is past the end of the run, {duration}"));
            }
            let steps = list[1..].iter().map(|(at, bytes)| (Time::ZERO + *at, bytes.count()));
            Steps::new(list[0].1.count(), steps, None)
        }
    };
    let bytes = memory.bytes.count();
    let settings = MemorySettings { bytes, alpha, cell: cell as u32, background };
    Ok(CheckedMemory { name: memory.name.clone(), settings })
}
