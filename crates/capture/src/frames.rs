//! The frames of a pcap or pcapng file, in the file's order, from a buffer of fixed size.

use crate::CaptureError;
use narrows_units::Time;
use pcap_file::DataLink;
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::blocks::block_common::Block;
use pcap_file::pcapng::{PcapNgReader, PcapNgState};
use std::io::{Chain, Cursor, Read};
use std::time::Duration as Real;

/// A frame as it was captured.
pub struct Frame<'a> {
    /// Since the first frame of the file, at most some weeks; zero if it is earlier than that.
    pub at: Time,
    /// The interface of the file that it was captured on.
    pub interface: u32,
    /// Bytes that it had on the link.
    pub length: u32,
    /// Those that were kept, from the header of the link on.
    pub data: &'a [u8],
    /// What the header of the link is.
    pub link: DataLink,
}

/// Where the frames come from, with the four bytes that said what it is.
type Source<R> = Chain<Cursor<[u8; 4]>, R>;

enum Format<R: Read> {
    Pcap(PcapReader<Source<R>>, DataLink),
    PcapNg(PcapNgReader<Source<R>>),
}

/// Reads frames.
pub struct Frames<R: Read> {
    format: Format<R>,
    first: Option<Real>,
}

/// How files of gzip, of Zstandard and of xz begin.
const PACKED: [&[u8]; 3] = [&[0x1f, 0x8b], &[0x28, 0xb5, 0x2f, 0xfd], &[0xfd, 0x37, 0x7a, 0x58]];
/// pcapng's section header block.
const SECTION: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
/// Picoseconds after which nothing is later, so that sums of times are times: 26 days.
const LATEST: u64 = u64::MAX >> 3;
/// Bytes of the largest block that is read.
const LARGEST: usize = 1 << 20;

impl<R: Read> Frames<R> {
    /// Reads from `source`; fails if it is neither pcap nor pcapng.
    pub fn new(mut source: R) -> Result<Self, CaptureError> {
        let mut magic = [0; 4];
        source.read_exact(&mut magic).map_err(|_| CaptureError::Neither)?;
        if PACKED.iter().any(|begins| magic.starts_with(begins)) {
            return Err(CaptureError::Packed);
        }
        let whole = Cursor::new(magic).chain(source);
        let format = if magic == SECTION {
            let reader = PcapNgReader::with_capacity(whole, LARGEST);
            Format::PcapNg(reader.map_err(|_| CaptureError::Neither)?)
        } else {
            let reader = PcapReader::with_capacity(whole, LARGEST);
            let reader = reader.map_err(|_| CaptureError::Neither)?;
            let link = reader.header().datalink;
            Format::Pcap(reader, link)
        };
        Ok(Self { format, first: None })
    }

    /// Gives the next frame to `see`, and returns false after the last. Fails where the file is
    /// broken; all frames before that have been seen.
    pub fn next(&mut self, mut see: impl FnMut(Frame)) -> Result<bool, CaptureError> {
        let broken = |error: &dyn std::error::Error| CaptureError::Broken(error.to_string());
        let first = &mut self.first;
        let mut give = |stamp: Real, length: u32, data: &[u8], (interface, link)| {
            let since = stamp.saturating_sub(*first.get_or_insert(stamp));
            let picos = since.as_nanos().saturating_mul(1000).min(u128::from(LATEST));
            let at = Time::from_picos(picos as u64);
            see(Frame { at, interface, length: length.max(data.len() as u32), data, link });
        };
        match &mut self.format {
            Format::Pcap(reader, link) => match reader.next_packet() {
                None => return Ok(false),
                Some(Err(error)) => return Err(broken(&error)),
                Some(Ok(packet)) => {
                    give(packet.timestamp(), packet.orig_len(), packet.data(), (0, *link));
                }
            },
            Format::PcapNg(reader) => match reader.next_block() {
                None => return Ok(false),
                Some(Err(error)) => return Err(broken(&error)),
                Some(Ok((Block::EnhancedPacket(it), state))) => {
                    if let Some(link) = link_of(state, it.interface_id) {
                        give(it.timestamp, it.original_len, &it.data, link);
                    }
                }
                Some(Ok((Block::Packet(it), state))) => {
                    if let Some(link) = link_of(state, u32::from(it.interface_id)) {
                        give(it.timestamp, it.original_len, &it.data, link);
                    }
                }
                Some(Ok(_)) => {}
            },
        }
        Ok(true)
    }
}

fn link_of(state: &PcapNgState, interface: u32) -> Option<(u32, DataLink)> {
    Some((interface, state.interfaces().get(interface as usize)?.linktype))
}
