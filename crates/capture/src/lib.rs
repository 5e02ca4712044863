//! What held back the connections of a capture: read twice, so that the second reading knows what
//! does not change ([`mod@survey`]), and judged as a sender would see it ([`mod@sender`]).
//!
//! Captures are hostile: nothing is believed that would have to be kept without a bound, and
//! nothing panics.
//!
//! ```
//! // No packet: the header of a pcap file of Ethernet, alone.
//! let file = [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0];
//! let report = narrows_capture::why(|| Ok(&file[..]), 8, |_| true)?;
//! assert!(report.flows.is_empty());
//! # Ok::<(), narrows_capture::CaptureError>(())
//! ```

mod causes;
mod conversations;
mod course;
mod frames;
mod histogram;
mod losses;
mod numbers;
mod path;
mod report;
mod segment;
mod sender;
mod survey;
mod waits;

pub use causes::{Cause, Piece, Shares, Timeline};
pub use losses::LossKind;
pub use report::{Between, Flow, Report};
pub use survey::Place;

use conversations::Conversations;
use frames::Frames;
use segment::Segment;
use sender::Sender;
use std::io::Read;
use std::net::SocketAddr;
use survey::{Surveys, survey};

/// Why a capture cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// It begins like no capture.
    #[error("is neither pcap nor pcapng")]
    Neither,
    /// It breaks off, or has a block that is none.
    #[error("{0}")]
    Broken(String),
    /// It was told to stop.
    #[error("was not read to its end")]
    Stopped,
    /// It is packed.
    #[error("is compressed; unpack it first")]
    Packed,
    /// The second reading could not begin.
    #[error("{0}")]
    Read(#[from] std::io::Error),
}

/// Says what held back each connection of a capture. `open` gives its bytes from the first on, and
/// is called twice. `lines` of the flows, the largest, get time lines. `go_on` is asked every some
/// thousand frames with a number of frames; false ends the reading.
///
/// A capture that breaks off is read up to there. Fails if it is none, or if it is told to stop.
pub fn why<R: Read>(
    mut open: impl FnMut() -> std::io::Result<R>,
    lines: usize,
    mut go_on: impl FnMut(u64) -> bool,
) -> Result<Report, CaptureError> {
    let mut first = Conversations::new();
    let seen = read(open()?, &mut go_on, |segment| {
        if let Some((both, way)) = first.find(segment, Surveys::default) {
            survey(both, way, segment);
        }
    })?;
    let surveys: Vec<Surveys> = first.into_all().map(|(_, both)| both).collect();
    let mut sizes: Vec<u64> = surveys.iter().flatten().map(|way| way.bytes).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let least = sizes.get(lines.saturating_sub(1)).copied().unwrap_or(0).max(1);
    let mut surveys = surveys.into_iter();
    let mut second = Conversations::new();
    let make = |both: Option<Surveys>| {
        both.unwrap_or_default().map(|way| {
            let with_line = lines > 0 && way.bytes >= least;
            Sender::new(way, with_line)
        })
    };
    read(open()?, &mut go_on, |segment| {
        if let Some((both, way)) = second.find(segment, || make(surveys.next())) {
            hear(both, way, segment);
        }
    })?;
    let (doubled, beyond) = (second.doubled, second.beyond);
    let mut report = Report { doubled, beyond, ..seen };
    for (ends, both) in second.into_all() {
        report.connections += 1;
        report.flows.extend(flows(ends, both));
    }
    report::doubt_bases(&mut report.flows);
    report::withdraw_shares(&mut report.flows);
    report.flows.sort_by(|a, b| b.bytes.cmp(&a.bytes).then(a.begins.total_cmp(&b.begins)));
    Ok(report)
}

fn hear(both: &mut [Sender; 2], way: usize, segment: &Segment) {
    if segment.syn && segment.acknowledged.is_none() {
        both.iter_mut().for_each(|end| end.begin(segment.at));
    } else {
        both[1 - way].establish(segment.at);
    }
    both[way].on_sent(segment);
    both[1 - way].on_heard(segment);
}

fn flows(ends: [SocketAddr; 2], both: [Sender; 2]) -> impl Iterator<Item = Flow> {
    let names = ends.map(|end| end.to_string());
    let back = [names[1].clone(), names[0].clone()];
    [names, back].into_iter().zip(both).filter_map(|(names, mut sender)| {
        sender.finish();
        Flow::of(sender, names)
    })
}

/// Frames between two questions whether to go on.
const PATIENCE: u64 = 1 << 14;

/// Reads a capture once; gives its segments to `see`.
fn read<R: Read>(
    source: R,
    go_on: &mut impl FnMut(u64) -> bool,
    mut see: impl FnMut(&Segment),
) -> Result<Report, CaptureError> {
    let mut frames = Frames::new(source)?;
    let mut report = Report::default();
    loop {
        let next = frames.next(|frame| {
            report.frames += 1;
            match Segment::of(&frame) {
                Some(segment) => see(&segment),
                None => report.others += 1,
            }
        });
        match next {
            Ok(true) if !report.frames.is_multiple_of(PATIENCE) || go_on(report.frames) => {}
            Ok(true) => return Err(CaptureError::Stopped),
            Ok(false) => break,
            Err(error) => {
                report.broken = Some(error.to_string());
                break;
            }
        }
    }
    Ok(report)
}
