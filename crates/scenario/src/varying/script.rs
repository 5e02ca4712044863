//! Scripts of a link.

use super::{Context, at};
use crate::ScenarioError;
use crate::scenario::{Numbers, ScriptLine};
use narrows_sim::{Act, Admits};
use narrows_units::Duration;

impl Context<'_> {
    /// Line `number` of the script.
    pub(super) fn line(
        &self,
        number: usize,
        line: &ScriptLine,
    ) -> Result<narrows_sim::ScriptLine, ScenarioError> {
        let field = |name: &str| format!("script[{number}].{name}");
        let ScriptLine { late, window, packets, from, until, flow, least, each, .. } = line;
        let advertised = window.map(|window| window.count().min(u32::MAX.into()) as u32);
        let acts = [
            (line.drop.as_ref(), Act::Drop),
            (line.mark.as_ref(), Act::Mark),
            (line.twice.as_ref(), Act::Twice),
            (line.clear.as_ref(), Act::Clear),
            (packets.as_ref().filter(|_| late.is_some()), Act::Late(late.unwrap_or_default())),
            (
                packets.as_ref().filter(|_| window.is_some()),
                Act::Window(advertised.unwrap_or_default()),
            ),
        ];
        let mut said = acts.into_iter().filter_map(|(numbers, act)| Some((numbers?, act)));
        for (name, is_said) in [("late", late.is_some()), ("window", window.is_some())] {
            if is_said && packets.is_none() {
                return Err(self.error(&field(name), "must say which packets; add packets = 1"));
            }
        }
        let (Some((numbers, act)), None, true) =
            (said.next(), said.next(), packets.is_some() == (late.is_some() || window.is_some()))
        else {
            let message = "must say one of drop, mark, twice, clear, and late or window with \
                           packets; like { drop = 17 }";
            return Err(self.error(&format!("script[{number}]"), message));
        };
        if let Some(late) = late
            && !(Duration::from_picos(1)..=Act::LATEST).contains(late)
        {
            let message =
                format!("{late} is not above 0 and {} at most; try \"20ms\"", Act::LATEST);
            return Err(self.error(&field("late"), message));
        }
        if late.is_some() && self.options.hold.is_some() {
            let message = "lets others overtake, and a hold keeps the order; leave one of them out";
            return Err(self.error(&field("late"), message));
        }
        let (begins, ends) = (from.unwrap_or_default(), until.unwrap_or(Duration::MAX));
        self.within(&field("from"), begins)?;
        if ends <= begins {
            let message = format!("{ends} is not after {begins}, where it begins");
            return Err(self.error(&field("until"), message));
        }
        self.numbers(&field, numbers, *each)?;
        let admits = Admits {
            from: at(begins),
            until: at(ends),
            flow: *flow,
            least: least.map_or(0, |least| least.count().min(u32::MAX.into()) as u32),
        };
        let numbers = numbers.ranges().to_vec();
        Ok(narrows_sim::ScriptLine { act, admits, numbers, each: *each })
    }

    fn numbers(
        &self,
        field: &dyn Fn(&str) -> String,
        numbers: &Numbers,
        each: Option<u64>,
    ) -> Result<(), ScenarioError> {
        let last = numbers.ranges().iter().map(|range| *range.end()).max().unwrap_or(0);
        match each {
            Some(each) if each < last => {
                let message = format!(
                    "{each} is below {last}: the count begins anew before it gets there; give more"
                );
                Err(self.error(&field("each"), message))
            }
            _ => Ok(()),
        }
    }
}
