//! A handshake that protects nothing: messages of the sizes of TLS 1.3, with QUIC's transport
//! parameters in them, and nothing else.

/// Bytes of a ClientHello, of a ServerHello, of the server's other messages (a certificate of
/// 500 bytes among them), of the client's Finished.
const SIZES: [usize; 4] = [300, 122, 900, 52];

/// What to do next.
pub(crate) enum Step {
    /// A message has been written; it goes out under the keys of before.
    Written,
    /// From now on there are keys of this level.
    Keys(u8),
    /// Nothing.
    Wait,
}

/// One side of the handshake.
pub(crate) struct Handshake {
    is_client: bool,
    /// Its transport parameters.
    parameters: Vec<u8>,
    inbox: Vec<u8>,
    /// Steps taken.
    steps: u8,
    /// Messages read.
    pub read: u8,
}

impl Handshake {
    pub fn new(is_client: bool, parameters: Vec<u8>) -> Self {
        Self { is_client, parameters, inbox: Vec::new(), steps: 0, read: 0 }
    }

    /// Bytes of the other side's messages; returns its transport parameters once they are there.
    pub fn read(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        self.inbox.extend_from_slice(bytes);
        let mut found = None;
        while let Some(header) = self.inbox.first_chunk::<6>() {
            let length = 4 + u32::from_be_bytes([0, header[1], header[2], header[3]]) as usize;
            let parameters = usize::from(u16::from_be_bytes([header[4], header[5]]));
            if self.inbox.len() < length {
                break;
            }
            let message: Vec<u8> = self.inbox.drain(..length).collect();
            if parameters > 0 {
                found = message.get(6..6 + parameters).map(<[u8]>::to_vec);
            }
            self.read += 1;
        }
        found
    }

    /// Writes what leaves now and says which keys there are now.
    pub fn write(&mut self, buffer: &mut Vec<u8>) -> Step {
        let step = match (self.is_client, self.steps, self.read) {
            (true, 0, _) => {
                self.message(0, buffer);
                Step::Written
            }
            (true, 1, 1..) => Step::Keys(2),
            (true, 2, 2..) => {
                self.message(3, buffer);
                Step::Keys(3)
            }
            (false, 0, 1..) => {
                self.message(1, buffer);
                Step::Keys(2)
            }
            (false, 1, _) => {
                self.message(2, buffer);
                Step::Keys(3)
            }
            _ => return Step::Wait,
        };
        self.steps += 1;
        step
    }

    /// A message as TLS frames it: its type, three bytes of length; then two of the length of the
    /// parameters, these, and zeros. The ClientHello and the server's other messages have
    /// parameters.
    fn message(&self, number: u8, buffer: &mut Vec<u8>) {
        let parameters = if number.is_multiple_of(2) { &self.parameters[..] } else { &[] };
        let body = (SIZES[usize::from(number)] - 4).max(2 + parameters.len());
        let whole = buffer.len() + 4 + body;
        buffer.push(number + 1);
        buffer.extend_from_slice(&(body as u32).to_be_bytes()[1..]);
        buffer.extend_from_slice(&(parameters.len() as u16).to_be_bytes());
        buffer.extend_from_slice(parameters);
        buffer.resize(whole, 0);
    }
}

/// A signature of `data` that protects nothing, but differs with the data.
pub(crate) fn sign(key: u64, data: &[u8], signature: &mut [u8]) {
    let mut hash = 0xcbf2_9ce4_8422_2325 ^ key;
    for (place, byte) in signature.iter_mut().enumerate() {
        for datum in data.iter().copied().chain([place as u8]) {
            hash = (hash ^ u64::from(datum)).wrapping_mul(0x0100_0000_01b3);
        }
        *byte = (hash >> 32) as u8;
    }
}
