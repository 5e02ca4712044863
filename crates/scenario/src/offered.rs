//! What the application of a flow has offered, over time.

use crate::ScenarioError;
use crate::fields::Fields;
use narrows_sim::Offer;
use narrows_units::{Duration, Time};
use std::sync::Arc;

/// The most offers of a flow.
const MOST: usize = 1_000_000;

/// Bytes of payload that an application has offered, over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offered(Option<Arc<[Total]>>);

/// Bytes that have been offered from a time on; `None` for no end.
type Total = (Time, Option<u64>);

impl Offered {
    /// Bytes that have been offered by `now`; `u64::MAX` for no end. All that there is to transfer
    /// if nothing is said of times.
    pub fn by(&self, now: Time) -> u64 {
        let Some(totals) = &self.0 else { return u64::MAX };
        let place = totals.partition_point(|(at, _)| *at <= now);
        place.checked_sub(1).map_or(0, |place| totals[place].1.unwrap_or(u64::MAX))
    }

    /// When more is offered after `now`, if it is.
    pub fn next(&self, now: Time) -> Option<Time> {
        let totals = self.0.as_ref()?;
        totals.get(totals.partition_point(|(at, _)| *at <= now)).map(|(at, _)| *at)
    }

    /// Whether all is offered at once.
    pub fn is_at_once(&self) -> bool {
        self.0.is_none()
    }

    /// When how many bytes have been offered: times in seconds, and `None` for no end.
    pub fn totals(&self) -> impl Iterator<Item = (f64, Option<u64>)> {
        self.0.iter().flat_map(|totals| totals.iter()).map(|(at, bytes)| (at.seconds(), *bytes))
    }

    /// Bytes that are offered in all; `None` for no end.
    pub(crate) fn bytes(&self) -> Option<u64> {
        self.0.as_ref()?.last()?.1
    }

    /// The same in packets with `payload` bytes: one is offered once it is full, and the last
    /// whatever there is.
    pub(crate) fn in_packets(&self, payload: u64) -> Arc<[Offer]> {
        let totals = self.0.as_deref().unwrap_or_default();
        let (mut before, last) = (0, totals.len().saturating_sub(1));
        let offer = |(place, (at, bytes)): (usize, &Total)| {
            let total = bytes
                .map(|bytes| if place == last { bytes.div_ceil(payload) } else { bytes / payload });
            let packets = total.map(|total| total.saturating_sub(before));
            before = total.unwrap_or(before);
            Offer { at: *at, packets }
        };
        totals.iter().enumerate().map(offer).filter(|offer| offer.packets != Some(0)).collect()
    }
}

/// What a flow's application offers, and when, in a run of `duration`; `None` if nothing is said of
/// it. Fails if that is none, or too much.
pub(crate) fn check(
    given: &mut Fields,
    duration: Duration,
) -> Result<Option<Offered>, ScenarioError> {
    let Some(written) = given.take(|flow| &mut flow.offers) else { return Ok(None) };
    let mut single: Vec<Total> = Vec::new();
    for (number, offer) in written.iter().enumerate() {
        let wrong =
            |field: &str, why: String| Err(given.error(&format!("offers[{number}]{field}"), why));
        if offer.at >= duration {
            return wrong(".at", format!("{} is past the end of the run, {duration}", offer.at));
        }
        if let Some(until) = offer.until.filter(|until| *until <= offer.at) {
            return wrong(".until", format!("{until} is not after {}, where it begins", offer.at));
        }
        if offer.bytes.is_some_and(|bytes| bytes.count() == 0) {
            return wrong(".bytes", "0B is nothing; try \"100kB\"".to_owned());
        }
        let bytes = offer.bytes.map(narrows_units::Bytes::count);
        match (offer.every, offer.until) {
            (None, None) => single.push((Time::ZERO + offer.at, bytes)),
            (None, Some(_)) => {
                return wrong(".until", "has no effect without every; leave it out".to_owned());
            }
            (Some(_), _) if bytes.is_none() => {
                return wrong(
                    ".every",
                    "what has no end does not come again; give bytes".to_owned(),
                );
            }
            (Some(every), until) => {
                let until = until.unwrap_or(duration).min(duration);
                let times = until.saturating_sub(offer.at).seconds() / every.seconds();
                if times.is_nan() || times > (MOST - single.len()) as f64 {
                    let why = format!("{every} makes more than {MOST} offers; try \"10ms\"");
                    return wrong(".every", why);
                }
                let (mut at, end) = (Time::ZERO + offer.at, Time::ZERO + until);
                while at < end {
                    single.push((at, bytes));
                    at += every;
                }
            }
        }
    }
    let endless = single.iter().filter(|(_, bytes)| bytes.is_none()).map(|(at, _)| *at).min();
    if let Some(end) = endless
        && single.iter().any(|(at, bytes)| *at > end && bytes.is_some())
    {
        let why =
            format!("what comes after {end} has no effect: there is no end of what is offered");
        return Err(given.error("offers", why));
    }
    if single.is_empty() {
        let why = "offers nothing; try [{ at = \"0s\", bytes = \"100kB\" }]";
        return Err(given.error("offers", why));
    }
    Ok(Some(added_up(single)))
}

/// The totals of single offers.
fn added_up(mut single: Vec<Total>) -> Offered {
    single.sort_by_key(|(at, _)| *at);
    let mut totals: Vec<Total> = Vec::with_capacity(single.len());
    let mut sum = Some(0_u64);
    for (at, bytes) in single {
        sum = sum.zip(bytes).map(|(sum, bytes)| sum.saturating_add(bytes));
        match totals.last_mut() {
            Some(last) if last.0 == at => last.1 = sum,
            _ => totals.push((at, sum)),
        }
        if sum.is_none() {
            break;
        }
    }
    Offered(Some(totals.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(seconds: u32) -> Time {
        Time::from_secs(f64::from(seconds))
    }

    #[test]
    fn offers_add_up() {
        let offered =
            added_up(vec![(second(3), None), (second(0), Some(1000)), (second(1), Some(500))]);
        let at = |seconds: f64| offered.by(Time::from_secs(seconds));
        assert_eq!([at(0.0), at(0.9), at(1.0), at(3.0)], [1000, 1000, 1500, u64::MAX]);
        assert_eq!(offered.next(second(1)), Some(second(3)));
        assert_eq!((offered.next(second(3)), offered.bytes()), (None, None));
        let packets: Vec<Option<u64>> =
            offered.in_packets(600).iter().map(|offer| offer.packets).collect();
        assert_eq!(packets, [Some(1), Some(1), None]);
    }

    /// What ends is rounded up only there.
    #[test]
    fn the_last_packet_may_be_short() {
        let offered = added_up(vec![(second(0), Some(100)), (second(1), Some(100))]);
        let packets: Vec<_> = offered.in_packets(150).to_vec();
        assert_eq!(packets, [Offer { at: second(1), packets: Some(2) }]);
        assert!(Offered::default().is_at_once() && Offered::default().by(Time::ZERO) == u64::MAX);
    }
}
