//! The traces that a scenario asks for, as files: written beside, renamed when the run is over.

use crate::error::RunError;
use crate::unfinished::Unfinished;
use crate::{Checked, CheckedFlow, Headers};
use narrows_control::Controller;
use narrows_sim::Simulation;
use narrows_trace::{FlowHeaders, PacketTrace, RecoveryLog, TracedLink};
use narrows_units::Time;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

/// Traces under way.
pub(crate) struct Traces<'a> {
    checked: &'a Checked,
    folder: Option<PathBuf>,
    packets: Option<(PacketTrace<BufWriter<File>>, Unfinished)>,
    written: Vec<Unfinished>,
}

/// What it means that `file` cannot be written.
fn failed(file: &Unfinished) -> impl Fn(std::io::Error) -> RunError + use<> {
    let path = file.path().to_owned();
    move |cause| RunError::Trace { path: path.clone(), cause }
}

impl<'a> Traces<'a> {
    /// Traces nothing.
    pub fn none(checked: &'a Checked) -> Self {
        Self { checked, folder: None, packets: None, written: Vec::new() }
    }

    /// Opens the packet trace, if the scenario asks for one and there is a folder.
    pub fn begin(checked: &'a Checked, folder: Option<&Path>) -> Result<Self, RunError> {
        let mut traces = Self {
            checked,
            folder: folder.map(Path::to_owned),
            packets: None,
            written: Vec::new(),
        };
        let names = checked.trace.as_ref().map_or(&[][..], |trace| &trace.links);
        let (Some(folder), false) = (folder, names.is_empty()) else { return Ok(traces) };
        let link = |(id, link): (usize, &crate::CheckedLink)| TracedLink {
            id: id as u32,
            name: link.name.clone(),
            rate: link.rate.bits_per_second(),
        };
        let links = checked
            .links
            .iter()
            .enumerate()
            .filter(|(_, link)| names.contains(&link.name))
            .map(link)
            .collect();
        let headers = |group: &CheckedFlow| FlowHeaders {
            payload: group.packet.payload() as u32,
            timestamps: group.packet.kind == Headers::Tcp { timestamps: true },
        };
        let flows = checked.groups().map(headers).collect();
        let file = Unfinished::new(folder.join("packets.pcapng"));
        let writer = file.create().map_err(failed(&file))?;
        let trace = PacketTrace::new(writer, links, flows).map_err(failed(&file))?;
        traces.packets = Some((trace, file));
        Ok(traces)
    }

    /// True if packets are traced, which needs them in order of time.
    pub fn watch_packets(&self) -> bool {
        self.packets.is_some()
    }

    /// Wraps the controller of flow `number`, if that is traced, in one that logs what it is told.
    pub fn wrap(
        &mut self,
        number: u64,
        controller: Box<dyn Controller>,
        packet_bytes: u64,
    ) -> Result<Box<dyn Controller>, RunError> {
        let traced = self
            .checked
            .trace
            .as_ref()
            .is_some_and(|trace| trace.flows.iter().any(|flow| u64::from(*flow) == number));
        let (true, Some(folder)) = (traced, &self.folder) else { return Ok(controller) };
        let file = Unfinished::new(folder.join(format!("flow{number}.sqlog")));
        let writer = Box::new(file.create().map_err(failed(&file))?);
        self.written.push(file);
        Ok(Box::new(RecoveryLog::new(controller, writer, &format!("flow {number}"), packet_bytes)))
    }

    /// Taps the traced links.
    pub fn tap(&self, simulation: &mut Simulation) {
        if let Some((trace, _)) = &self.packets {
            simulation.set_tap(trace.links(), Box::new(trace.clone()));
        }
    }

    /// Gives the files their names, once the run is over.
    pub fn finish(mut self) -> Result<(), RunError> {
        if let Some((trace, file)) = self.packets.take() {
            let end = Time::ZERO + self.checked.duration;
            let mut writer = trace.finish(end).map_err(failed(&file))?;
            writer.flush().map_err(failed(&file))?;
            self.written.push(file);
        }
        for file in std::mem::take(&mut self.written) {
            file.finish().map_err(failed(&file))?;
        }
        Ok(())
    }
}

impl Drop for Traces<'_> {
    /// A run that was stopped leaves no half of a file.
    fn drop(&mut self) {
        for file in self.written.iter().chain(self.packets.iter().map(|(_, file)| file)) {
            file.remove();
        }
    }
}
