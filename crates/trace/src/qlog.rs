//! Writes qlog as a JSON text sequence (draft-ietf-quic-qlog-main-schema-13, §5 and §11.2, with the
//! events of draft-ietf-quic-qlog-quic-events-13).

use narrows_units::Time;
use serde_json::{Value, json};
use std::io::{self, Write};

/// Begins each record (RFC 7464).
const RECORD_SEPARATOR: u8 = 0x1e;

/// A log that events are appended to. The first error is kept for [`Qlog::finish`].
pub(crate) struct Qlog {
    writer: Box<dyn Write + Send>,
    failure: Option<io::Error>,
}

impl Qlog {
    /// Begins a log of what the sender called `title` sees, with what `description` says of it.
    pub fn new(writer: Box<dyn Write + Send>, title: &str, description: &str) -> Self {
        let mut log = Self { writer, failure: None };
        log.record(&json!({
            "file_schema": "urn:ietf:params:qlog:file:sequential",
            "serialization_format": "application/qlog+json-seq",
            "title": title,
            "description": description,
            "trace": {
                "title": title,
                "common_fields": {
                    "time_format": "relative_to_epoch",
                    "reference_time": { "clock_type": "monotonic", "epoch": "unknown" },
                },
                // The sender asks for the connection.
                "vantage_point": { "name": "sender", "type": "client" },
                "event_schemas": ["urn:ietf:params:qlog:events:quic-13"],
            },
        }));
        log
    }

    /// Appends the event `quic:name` at `now`; fields that are null are left out.
    pub fn event(&mut self, now: Time, name: &str, mut data: Value) {
        if let Value::Object(fields) = &mut data {
            fields.retain(|_, value| !value.is_null());
        }
        let millis = now.seconds() * 1e3;
        self.record(&json!({ "time": millis, "name": format!("quic:{name}"), "data": data }));
    }

    /// Writes what is buffered. Fails if any write failed.
    pub fn finish(&mut self) -> io::Result<()> {
        self.failure.take().map_or_else(|| self.writer.flush(), Err)
    }

    fn record(&mut self, value: &Value) {
        if self.failure.is_some() {
            return;
        }
        let written = self
            .writer
            .write_all(&[RECORD_SEPARATOR])
            .and_then(|()| serde_json::to_writer(&mut self.writer, value).map_err(Into::into))
            .and_then(|()| self.writer.write_all(b"\n"));
        self.failure = written.err();
    }
}
