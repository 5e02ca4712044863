//! The traces that a scenario asks for, as files: written beside, renamed when the run is over.

use crate::error::RunError;
use crate::flow::Carrier;
use crate::unfinished::Unfinished;
use crate::{Checked, CheckedFlow, Headers};
use narrows_control::Controller;
use narrows_sim::{Crossing, EndTap, Simulation, Tap};
use narrows_trace::{Carries, FlowHeaders, PacketTrace, RecoveryLog, Side, TracedLink};
use narrows_units::Time;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

/// Traces under way.
pub(crate) struct Traces<'a> {
    checked: &'a Checked,
    seed: u64,
    folder: Option<PathBuf>,
    packets: Vec<(PacketTrace<BufWriter<File>>, Unfinished)>,
    flows: Vec<(u32, RecoveryLog, Unfinished)>,
    /// What stacks that others wrote log of themselves.
    foreign: Vec<Unfinished>,
}

/// What it means that `file` cannot be written.
fn failed(file: &Unfinished) -> impl Fn(std::io::Error) -> RunError + use<> {
    let path = file.path().to_owned();
    move |cause| RunError::Trace { path: path.clone(), cause }
}

/// Shows each crossing to several captures.
struct Several(Vec<PacketTrace<BufWriter<File>>>);

impl Tap for Several {
    fn crossing(&mut self, crossing: &Crossing) {
        self.0.iter_mut().for_each(|capture| capture.crossing(crossing));
    }
}

/// What the headers of a flow need besides its segments.
fn headers(group: &CheckedFlow) -> FlowHeaders {
    let carries = match (&group.over, group.packet.kind) {
        (Carrier::Datagrams(_), _) => Carries::Datagrams,
        (Carrier::Hosted(_), _) => Carries::Hosted,
        (_, kind) => Carries::Tcp { timestamps: kind == Headers::Tcp { timestamps: true } },
    };
    let payload = group.packet.payload() as u32;
    let packets = match &group.over {
        Carrier::Connection(connection) => connection.transport.window_limit(),
        _ => f64::INFINITY,
    };
    // A window that nobody reaches is none.
    let window = packets.is_finite().then(|| (packets.floor() * f64::from(payload)) as u32);
    FlowHeaders { payload, carries, window }
}

impl<'a> Traces<'a> {
    /// Traces nothing.
    pub fn none(checked: &'a Checked) -> Self {
        Self {
            checked,
            seed: 0,
            folder: None,
            packets: Vec::new(),
            flows: Vec::new(),
            foreign: Vec::new(),
        }
    }

    /// Opens the captures of a run with this `seed`, if the scenario asks for any and there is a
    /// folder.
    pub fn begin(checked: &'a Checked, seed: u64, folder: Option<&Path>) -> Result<Self, RunError> {
        let mut traces = Self::none(checked);
        (traces.seed, traces.folder) = (seed, folder.map(Path::to_owned));
        let names = checked.trace.as_ref().map_or(&[][..], |trace| &trace.links);
        let (Some(folder), false) = (folder, names.is_empty()) else { return Ok(traces) };
        let link = |(id, link): (usize, &crate::CheckedLink)| TracedLink {
            id: id as u32,
            name: link.name.clone(),
            rate: link.rate.bits_per_second(),
        };
        let links = checked.links.iter().enumerate();
        let links: Vec<_> =
            links.filter(|(_, link)| names.contains(&link.name)).map(link).collect();
        let flows: Vec<_> = checked.groups().map(headers).collect();
        for (name, side) in [("packets", Side::Arrivals), ("departures", Side::Departures)] {
            let file = Unfinished::new(folder.join(format!("{name}.pcapng")));
            let writer = file.create().map_err(failed(&file))?;
            let trace = PacketTrace::new(writer, side, links.clone(), flows.clone());
            traces.packets.push((trace.map_err(failed(&file))?, file));
        }
        Ok(traces)
    }

    /// True if packets are traced, which needs them in order of time.
    pub fn watch_packets(&self) -> bool {
        self.folder.is_some() && self.checked.trace.is_some()
    }

    /// Wraps the controller of flow `number`, if that is traced, in one that logs what it is told.
    pub fn wrap(
        &mut self,
        number: u64,
        controller: Box<dyn Controller>,
        group: &CheckedFlow,
    ) -> Result<Box<dyn Controller>, RunError> {
        let Some(file) = self.file(number) else { return Ok(controller) };
        let writer = Box::new(file.create().map_err(failed(&file))?);
        let title = format!("{}, flow {number}, seed {}", group.cc, self.seed);
        let description = format!("simulated by narrows, engine {}", crate::engine());
        let log = RecoveryLog::new(writer, &title, &description, group.packet.bytes.count());
        let controller = log.wrap(controller);
        self.flows.push((number as u32, log, file));
        Ok(controller)
    }

    /// The file of flow `number`, if that is traced.
    fn file(&self, number: u64) -> Option<Unfinished> {
        let traced = &self.checked.trace.as_ref()?.flows;
        let is_traced = traced.iter().any(|flow| u64::from(*flow) == number);
        let folder = self.folder.as_ref().filter(|_| is_traced)?;
        Some(Unfinished::new(folder.join(format!("flow{number}.sqlog"))))
    }

    /// Where flow `number`, whose ends others wrote, logs itself, if it is traced.
    pub fn log(&mut self, number: u64) -> Result<Option<PathBuf>, RunError> {
        let Some(file) = self.file(number) else { return Ok(None) };
        file.create().map_err(failed(&file))?;
        let path = file.unfinished().to_owned();
        self.foreign.push(file);
        Ok(Some(path))
    }

    /// Taps the traced links and flows.
    pub fn tap(&self, simulation: &mut Simulation) {
        if let Some((trace, _)) = self.packets.first() {
            let captures = self.packets.iter().map(|(trace, _)| trace.clone()).collect();
            simulation.set_tap(trace.links(), Box::new(Several(captures)));
        }
        let tap = |(flow, log, _): &(u32, RecoveryLog, Unfinished)| {
            (*flow, Box::new(log.clone()) as Box<dyn EndTap>)
        };
        simulation.set_end_taps(self.flows.iter().map(tap).collect());
    }

    /// Gives the files their names, once the run is over.
    pub fn finish(mut self) -> Result<(), RunError> {
        let end = Time::ZERO + self.checked.duration;
        while let Some((trace, file)) = self.packets.pop() {
            let written = trace.finish(end).and_then(|mut writer| writer.flush());
            self.conclude(file, written)?;
        }
        while let Some((_, log, file)) = self.flows.pop() {
            self.conclude(file, log.finish())?;
        }
        while let Some(file) = self.foreign.pop() {
            self.conclude(file, Ok(()))?;
        }
        Ok(())
    }

    /// Gives a file its name, or removes it if it was not `written` whole.
    fn conclude(&self, file: Unfinished, written: std::io::Result<()>) -> Result<(), RunError> {
        if let Err(cause) = written {
            let failed = failed(&file);
            file.remove();
            return Err(failed(cause));
        }
        let failed = failed(&file);
        file.finish().map_err(failed)
    }
}

impl Drop for Traces<'_> {
    /// A run that was stopped leaves no half of a file.
    fn drop(&mut self) {
        let captures = self.packets.iter().map(|(_, file)| file);
        let logs = self.flows.iter().map(|(.., file)| file).chain(&self.foreign);
        captures.chain(logs).for_each(Unfinished::remove);
    }
}
