//! Files over loopback: whole, resumed, refused.

use narrows_bulk::{Error, Event, Identity, Receiver, Sending, Sent, StackLaw, Ticket, send};
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;
use tempfile::TempDir;

/// A directory with a file to send in it, and one that receives.
struct Place {
    directory: TempDir,
    file: PathBuf,
    to: PathBuf,
}

impl Place {
    fn with(bytes: &[u8]) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let (file, to) = (directory.path().join("data.bin"), directory.path().join("in"));
        fs::write(&file, bytes).expect("written");
        fs::create_dir(&to).expect("made");
        Self { directory, file, to }
    }

    /// What is in the receiving directory.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.to).expect("a directory");
        entries.map(|entry| entry.expect("one").file_name().to_string_lossy().into()).collect()
    }
}

fn go_on(_: Event<'_>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Bytes that are nowhere the same.
fn bytes(count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    blake3::Hasher::new().update(b"a file").finalize_xof().fill(&mut bytes);
    bytes
}

/// Where a received file is, and the notices on the way.
type Outcome = (Result<PathBuf, Error>, Vec<String>);

/// Receives one file in the background.
fn receiving(to: &Path) -> (Ticket, JoinHandle<Outcome>) {
    let identity = Identity::fresh().expect("an identity");
    let mut receiver = Receiver::listen(to, "127.0.0.1:0", identity).expect("listening");
    let ticket = receiver.ticket("127.0.0.1").expect("a ticket");
    let thread = std::thread::spawn(move || {
        let mut notices = Vec::new();
        let mut watch = |event: Event<'_>| {
            if let Event::Notice(text) = event {
                notices.push(text.to_owned());
            }
            let is_over = notices.last().is_some_and(|text| text.contains("secret"));
            if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let received = receiver.receive(&mut watch).map(|received| received.path);
        (received, notices)
    });
    (ticket, thread)
}

fn sent(file: &Path, to: &Ticket, law: &str) -> Result<Sent, Error> {
    sent_watched(file, to, law, &mut go_on)
}

fn sent_watched(
    file: &Path,
    to: &Ticket,
    law: &str,
    watch: &mut narrows_bulk::Watch<'_>,
) -> Result<Sent, Error> {
    let law = StackLaw::parse(law).expect("a law");
    send(&Sending { file, to, law, patience: Duration::from_secs(20) }, watch)
}

/// A watch that stops as soon as the receiver holds something.
fn stop_once_something_is_kept(event: Event<'_>) -> ControlFlow<()> {
    match event {
        Event::Progress { kept: 1.., .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    }
}

#[test]
fn a_file_arrives_whole_whatever_the_law_and_the_size() {
    for (law, size) in [("cubic", 3_000_001), ("etcp", 400_000), ("bbr", 2_000_000), ("reno", 0)] {
        let place = Place::with(&bytes(size));
        let (ticket, receiver) = receiving(&place.to);
        let sent = sent(&place.file, &ticket, law).expect(law);
        let (received, notices) = receiver.join().expect("no panic");
        assert_eq!(fs::read(received.expect(law)).expect("a file"), bytes(size), "{law}");
        assert_eq!((sent.size, sent.resumed_at, sent.connections), (size as u64, 0, 1));
        assert!(sent.packets as usize >= size / 1452, "{sent:?}");
        assert_eq!((place.names(), notices), (vec!["data.bin".to_owned()], vec![]));
    }
}

#[test]
fn another_certificate_is_refused_before_anything_is_sent() {
    let place = Place::with(b"secret");
    let (ticket, _receiver) = receiving(&place.to);
    let text = ticket.to_string();
    let (address, key) = text.rsplit_once('/').expect("a ticket");
    let other: Ticket = format!("{address}/{}{}", "0".repeat(32), &key[32..]).parse().expect("one");
    let error = sent(&place.file, &other, "cubic").expect_err("refused");
    assert!(matches!(&error, Error::Fingerprint { found, .. } if *found == key[..32]), "{error}");
    assert!(place.names().is_empty());
}

#[test]
fn a_sender_without_the_secret_is_refused() {
    let place = Place::with(b"junk");
    let (ticket, receiver) = receiving(&place.to);
    let text = ticket.to_string();
    let wrong: Ticket =
        format!("{}{}", &text[..text.len() - 32], "0".repeat(32)).parse().expect("one");
    let error = sent(&place.file, &wrong, "cubic").expect_err("refused").to_string();
    assert_eq!(error, "the receiver says: the ticket's secret is not this receiver's");
    let (received, notices) = receiver.join().expect("no panic");
    assert!(received.is_err() && notices[0].contains("secret"), "{notices:?}");
    assert!(place.names().is_empty());
}

#[test]
fn a_second_attempt_goes_on_where_the_first_stopped() {
    let place = Place::with(&bytes(150_000_000));
    let (ticket, receiver) = receiving(&place.to);
    let stopped = sent_watched(&place.file, &ticket, "cubic", &mut stop_once_something_is_kept);
    assert!(matches!(stopped, Err(Error::Stopped)), "{stopped:?}");
    let sent = sent(&place.file, &ticket, "cubic").expect("sent");
    assert!(sent.resumed_at > 0 && sent.resumed_at < sent.size, "{sent:?}");
    let (received, notices) = receiver.join().expect("no panic");
    assert_eq!(fs::read(received.expect("received")).expect("a file"), bytes(150_000_000));
    assert!(notices.len() == 1 && notices[0].contains("closed"), "{notices:?}");
}

#[test]
fn a_file_that_changes_is_found_out() {
    let place = Place::with(&bytes(150_000_000));
    let (ticket, _receiver) = receiving(&place.to);
    let file = place.file.clone();
    let mut change = |event: Event<'_>| {
        if let Event::Progress { kept: 0, .. } = event {
            use std::io::{Seek as _, Write as _};
            let mut file = fs::OpenOptions::new().write(true).open(&file).expect("the file");
            file.seek(std::io::SeekFrom::Start(149_000_000)).expect("there");
            file.write_all(&[0; 1000]).expect("written");
        }
        ControlFlow::Continue(())
    };
    let changed = sent_watched(&place.file, &ticket, "cubic", &mut change);
    assert!(matches!(changed, Err(Error::Changed(_))), "{changed:?}");
    assert!(place.names().is_empty());
    // And the receiver takes it when it stands still.
    assert!(sent(&place.file, &ticket, "cubic").is_ok());
    assert_eq!(place.names(), ["data.bin"]);
}

#[test]
fn a_file_that_shrinks_is_found_out_and_nothing_of_it_stays() {
    let place = Place::with(&bytes(150_000_000));
    let (ticket, _receiver) = receiving(&place.to);
    let file = place.file.clone();
    let mut shrink = |event: Event<'_>| {
        if let Event::Progress { kept: 1.., .. } = event {
            let file = fs::OpenOptions::new().write(true).open(&file).expect("the file");
            file.set_len(1000).expect("cut");
        }
        ControlFlow::Continue(())
    };
    let changed = sent_watched(&place.file, &ticket, "cubic", &mut shrink);
    assert!(matches!(changed, Err(Error::Changed(_))), "{changed:?}");
    // The receiver is told so, and goes on waiting.
    assert!(sent(&place.file, &ticket, "cubic").is_ok());
    assert_eq!(place.names(), ["data.bin"]);
}

/// A forged source port of 0 makes an answer that cannot be sent.
#[test]
fn strangers_do_not_end_a_receiver() {
    let place = Place::with(&bytes(1000));
    let (ticket, _receiver) = receiving(&place.to);
    let text = ticket.to_string();
    let (address, _) = text.split_once('/').expect("a ticket");
    let stranger = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
    for junk in [&[0xc0, 0x1a, 0x2a, 0x3a, 0x4a, 8][..], b"", b"junk", &[0xff; 1200]] {
        let mut datagram = junk.to_vec();
        stranger.send_to(&datagram, address).expect("sent");
        datagram.resize(1200, 8);
        stranger.send_to(&datagram, address).expect("sent");
    }
    assert!(sent(&place.file, &ticket, "cubic").is_ok());
}

#[test]
fn a_pipe_is_not_waited_for() {
    let place = Place::with(b"");
    let error = sent(Path::new("/dev/null"), &ticket_of_nobody(), "cubic");
    assert!(matches!(&error, Err(Error::File { .. })), "{error:?}");
    assert!(place.names().is_empty());
}

#[test]
fn a_host_is_a_name_or_an_address() {
    let identity = Identity::fresh().expect("an identity");
    let place = Place::with(b"");
    let receiver = Receiver::listen(&place.to, "127.0.0.1:0", identity).expect("listening");
    for (host, written) in [("::1", "[::1]:"), ("[::1]", "[::1]:"), ("lab.example", "lab.example:")]
    {
        assert!(receiver.ticket(host).expect(host).to_string().starts_with(written));
    }
    for host in ["", "lab:4433", "a/b", "192.0.2.7:1"] {
        assert!(matches!(receiver.ticket(host), Err(Error::Host(_))), "{host}");
    }
}

fn ticket_of_nobody() -> Ticket {
    format!("127.0.0.1:9/{}", "0".repeat(64)).parse().expect("a ticket")
}

#[test]
fn another_file_of_that_name_is_not_replaced_and_the_same_one_is_not_sent_again() {
    let place = Place::with(&bytes(1000));
    fs::write(place.to.join("data.bin"), "mine").expect("written");
    let (ticket, _receiver) = receiving(&place.to);
    let error = sent(&place.file, &ticket, "cubic").expect_err("refused").to_string();
    assert!(error.contains("another file is called data.bin here"), "{error}");
    assert_eq!(fs::read(place.to.join("data.bin")).expect("a file"), b"mine");

    let place = Place::with(&bytes(1000));
    fs::copy(&place.file, place.to.join("data.bin")).expect("copied");
    let (ticket, _receiver) = receiving(&place.to);
    assert_eq!(sent(&place.file, &ticket, "cubic").expect("sent").resumed_at, 1000);
    assert_eq!(place.names(), ["data.bin"]);
}

#[test]
fn a_receiver_that_is_not_there_is_said_with_what_would_help() {
    let place = Place::with(b"abc");
    let ticket = ticket_of_nobody();
    let law = StackLaw::parse("cubic").expect("a law");
    let sending = Sending { file: &place.file, to: &ticket, law, patience: Duration::ZERO };
    let error = send(&sending, &mut go_on).expect_err("nobody").to_string();
    assert!(error.starts_with("127.0.0.1:9 took nothing for 0 s: no answer"), "{error}");
    assert!(error.contains("is narrows recv running there?"), "{error}");
    let none = sent(&place.directory.path().join("none"), &ticket, "cubic");
    assert!(matches!(none, Err(Error::File { .. })), "{none:?}");
}
