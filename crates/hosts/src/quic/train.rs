//! Datagrams that a stack writes together, for segmentation offload, handed out one by one.

use narrows_signal::Ecn;

/// Datagrams that were written together.
#[derive(Default)]
pub(crate) struct Train {
    bytes: Vec<u8>,
    handed: usize,
    segment: usize,
    ecn: Ecn,
}

impl Train {
    /// The most datagrams that quinn and noq themselves ask for at a time.
    pub const LONGEST: usize = 10;

    /// Where the next train is to be written, once this one is handed out.
    pub fn empty(&mut self) -> Option<&mut Vec<u8>> {
        if self.handed < self.bytes.len() {
            return None;
        }
        self.bytes.clear();
        self.handed = 0;
        Some(&mut self.bytes)
    }

    /// A train of `size` bytes has been written, of datagrams of `segment` bytes, but the last.
    pub fn written(&mut self, size: usize, segment: Option<usize>, ecn: Ecn) {
        self.bytes.truncate(size);
        self.segment = segment.unwrap_or(size);
        self.ecn = ecn;
    }

    /// Hands out the next datagram; `None` if there is none.
    pub fn next(&mut self, datagram: &mut Vec<u8>) -> Option<Ecn> {
        let end = self.bytes.len().min(self.handed + self.segment);
        let bytes = &self.bytes[self.handed..end];
        if bytes.is_empty() {
            return None;
        }
        datagram.extend_from_slice(bytes);
        self.handed = end;
        Some(self.ecn)
    }
}
