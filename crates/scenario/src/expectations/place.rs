//! A number of a run, by its name, and the harm to one.

use super::bound::Runs;
use crate::Checked;
use crate::groups::GroupResult;
use crate::metrics::{self, Column, Kind, Values, Worth};
use crate::results::{FlowResult, LinkResult, Results};
use narrows_settings::unknown;

/// A number of runs under one seed.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// Which of them shows it: the scenario's own, or of this reference after it.
    pub run: usize,
    shown: Shown,
    /// The same number of the run with which it is compared, and that run, if what counts is the
    /// harm to it.
    alone: Option<(usize, Shown)>,
}

/// The reference that shows who is harmed without who does it.
pub(super) const ALONE: &str = "alone";

#[derive(Clone, Copy)]
enum Shown {
    Summary(&'static Column<Results>),
    Link(usize, &'static Column<LinkResult>),
    Group(usize, &'static Column<GroupResult>),
    Flow(usize, &'static Column<FlowResult>),
}

impl Place {
    /// The number called `name` of the run numbered `run` among `runs`; with `.harm` behind it, the
    /// harm to it (Ware et al., HotNets 2019): by how much it is worse there than in the reference
    /// called "alone", as a part of the larger of the two.
    pub fn find(name: &str, run: usize, runs: Runs<'_>) -> Result<Self, String> {
        let harmed = name.strip_suffix(".harm");
        let alone = runs.iter().position(|(name, _)| *name == ALONE);
        if harmed.is_some() && alone.is_none() {
            return Err(format!(
                "harm is what differs from a reference called {ALONE}; add \
                 {ALONE} = {{ without = \"NAME\" }}"
            ));
        }
        let plain = harmed.unwrap_or(name);
        let shown = Shown::find(plain, runs[run].1)?;
        let Some(alone) = alone.filter(|_| harmed.is_some()) else {
            return Ok(Self { run, shown, alone: None });
        };
        if shown.column().2 == Worth::None {
            return Err(format!(
                "{plain} is neither better nor worse if it is more; leave harm out"
            ));
        }
        // Groups have other numbers where one is left out.
        let there = Shown::find(plain, runs[alone].1)
            .map_err(|error| format!("in the reference {ALONE}: {error}"))?;
        Ok(Self { run, shown, alone: Some((alone, there)) })
    }

    /// What `runs` show; NaN if they show nothing there.
    pub fn read(self, runs: &[&Results]) -> f64 {
        let value = self.shown.read(runs[self.run]);
        let Some((run, there)) = self.alone else { return value };
        let before = there.read(runs[run]);
        let (loss, whole) = match self.shown.column().2 {
            Worth::Cost => (value - before, value),
            _ => (before - value, before),
        };
        if loss == 0.0 { 0.0 } else { loss / whole }
    }

    /// The runs that it needs.
    pub fn runs(self) -> impl Iterator<Item = usize> {
        [Some(self.run), self.alone.map(|(run, _)| run)].into_iter().flatten()
    }

    /// The same number of other runs, by the number of each.
    pub fn moved(self, to: &mut impl FnMut(usize) -> usize) -> Self {
        Self { run: to(self.run), alone: self.alone.map(|(run, shown)| (to(run), shown)), ..self }
    }

    /// What kind of quantity it is.
    pub fn kind(self) -> Kind {
        if self.alone.is_some() { Kind::Ratio } else { self.shown.column().0 }
    }

    /// Whether it is from samples.
    pub fn is_sampled(self) -> bool {
        self.shown.column().1
    }
}

impl Shown {
    /// The number called `name` in what `checked` shows: a metric of the summary, or one of a link,
    /// of a group of flows or of a flow, like `links.bottleneck.drops`, `groups[0].share` or
    /// `flows[3].timeouts`.
    fn find(name: &str, checked: &Checked) -> Result<Self, String> {
        let Some((owner, metric)) = name.rsplit_once('.') else {
            return Ok(Self::Summary(column(metrics::SUMMARY, name)?));
        };
        let links = checked.links.iter().map(|link| link.name.as_str());
        let groups = checked.flows.iter().map(|group| group.name.as_str());
        if let Some(link) = row(owner, "link", links)? {
            return Ok(Self::Link(link, column(metrics::LINKS, metric)?));
        }
        if let Some(group) = row(owner, "group", groups)? {
            return Ok(Self::Group(group, column(metrics::GROUPS, metric)?));
        }
        let flows = std::iter::repeat_n("", checked.flow_count() as usize);
        if let Some(flow) = row(owner, "flow", flows)? {
            return Ok(Self::Flow(flow, column(metrics::FLOWS, metric)?));
        }
        Err(format!(
            "\"{name}\" is no number of a run; try utilisation, links.bottleneck.{metric}, \
             groups.NAME.{metric} or flows[0].{metric}"
        ))
    }

    /// What `results` show; NaN if they show nothing there.
    fn read(self, results: &Results) -> f64 {
        match self {
            Self::Summary(column) => number(column, results),
            Self::Link(link, column) => number(column, &results.links[link]),
            Self::Group(group, column) => number(column, &results.groups[group]),
            Self::Flow(flow, column) => number(column, &results.flows[flow]),
        }
    }

    /// What kind of quantity it is, whether it is from samples, and what more of it is worth.
    fn column(self) -> (Kind, bool, Worth) {
        fn of<R>(column: &Column<R>) -> (Kind, bool, Worth) {
            let is_sampled = matches!(column.values, Values::Sampled(_));
            (column.kind, is_sampled, column.worth())
        }
        match self {
            Self::Summary(column) => of(column),
            Self::Link(_, column) => of(column),
            Self::Group(_, column) => of(column),
            Self::Flow(_, column) => of(column),
        }
    }
}

/// The row that `owner` means, `links.NAME` or `links[0]` for a `kind` of "link"; `None` if it
/// means a row of another kind.
fn row<'a>(
    owner: &str,
    kind: &str,
    names: impl ExactSizeIterator<Item = &'a str> + Clone,
) -> Result<Option<usize>, String> {
    let Some(rest) = owner.strip_prefix(kind).and_then(|rest| rest.strip_prefix('s')) else {
        return Ok(None);
    };
    let number = rest.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    if let Some(number) = number.and_then(|number| number.parse().ok()) {
        let last = names.len() - 1;
        let missing = format!("there is no {kind} {number}; they are numbered from 0 to {last}");
        return if number <= last { Ok(Some(number)) } else { Err(missing) };
    }
    let Some(name) = rest.strip_prefix('.') else { return Ok(None) };
    let named = names.clone().filter(|name| !name.is_empty());
    if named.clone().next().is_none() {
        return Err(format!("{kind}s have no names here; write {kind}s[0]"));
    }
    let found = names.clone().position(|other| other == name && !name.is_empty());
    found.map(Some).ok_or_else(|| unknown(kind, name, named))
}

/// The column of a number called `name`.
fn column<R>(columns: &'static [Column<R>], name: &str) -> Result<&'static Column<R>, String> {
    let mut numbers = columns.iter().filter(|it| {
        matches!(it.values, Values::Number(_) | Values::Sampled(_) | Values::Count(_))
            && it.kind != Kind::Number
    });
    let known = numbers.clone().map(|column| column.name);
    numbers.find(|it| it.name == name).ok_or_else(|| unknown("metric", name, known))
}

/// What `column` shows of `row`.
fn number<R>(column: &Column<R>, row: &R) -> f64 {
    match column.values {
        Values::Number(read) | Values::Sampled(read) => read(row),
        Values::Count(read) => read(row) as f64,
        _ => f64::NAN,
    }
}
