//! A web user whose browser has several connections: the page comes over the first, and what is
//! embedded in it over all of them, each asking for the next object once it has one.

use crate::requests::{PageSettings, Request, Taste};
use narrows_units::{Duration, Stream, Time};
use std::ops::Range;

/// A web user with several connections.
///
/// A page is complete when all of its objects are there; then the user thinks. Connections stay
/// open for several pages each by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Browsing {
    /// What the user does.
    pub page: PageSettings,
    /// When the user begins to think.
    pub start: Time,
    /// The connections, flows that have [`Usage::Browses`](crate::Usage::Browses).
    pub flows: Range<u32>,
    /// Their base round-trip times.
    pub rtts: Box<[Duration]>,
}

/// A user while the simulation runs.
#[derive(Debug)]
pub(crate) struct Browser {
    browsing: Browsing,
    taste: Taste,
    /// Objects of this page still to be requested.
    embedded: u64,
    /// The page itself has not come yet.
    awaits_page: bool,
    /// Objects that are under way.
    open: u32,
    /// Number of pages for which each connection stays open.
    pages_left: Box<[u64]>,
    /// What has come since the last step: when, and over which flow.
    over: Vec<(Time, u32)>,
}

impl Browser {
    pub fn new(browsing: Browsing, stream: Stream) -> Self {
        let connections = browsing.flows.len();
        assert_eq!(connections, browsing.rtts.len(), "each connection has a round trip");
        Self {
            browsing,
            taste: Taste::new(stream),
            embedded: 0,
            awaits_page: true,
            open: 0,
            pages_left: vec![0; connections].into(),
            over: Vec::new(),
        }
    }

    /// The first page, and the flow that it comes over.
    pub fn begin(&mut self) -> (u32, Request) {
        self.think(self.browsing.start)
    }

    /// Its connections.
    pub fn flows(&self) -> &Range<u32> {
        &self.browsing.flows
    }

    /// What `flow` brought is there at `at`, which may be still to come.
    pub fn finish(&mut self, at: Time, flow: u32) {
        self.over.push((at, flow));
    }

    /// What the user requests at `now`, and over which flows, of what has come by then.
    pub fn step(&mut self, now: Time) -> Vec<(u32, Request)> {
        let mut asked = Vec::new();
        while let Some(flow) = self.next_over(now) {
            self.open -= 1;
            if self.awaits_page {
                self.awaits_page = false;
                asked.extend(self.fill(now));
            } else if self.embedded > 0 {
                asked.push(self.next_object(flow, now));
            }
            if self.open == 0 {
                self.pages_left.iter_mut().for_each(|left| *left = left.saturating_sub(1));
                asked.push(self.think(now));
            }
        }
        asked
    }

    /// Takes the first connection of those over which something has come by `now`.
    fn next_over(&mut self, now: Time) -> Option<u32> {
        let come = self.over.iter().enumerate().filter(|(_, (at, _))| *at <= now);
        let (place, _) = come.min_by_key(|(_, over)| **over)?;
        Some(self.over.swap_remove(place).1)
    }

    /// Each connection asks for one of the objects, as long as there are any.
    fn fill(&mut self, now: Time) -> Vec<(u32, Request)> {
        let flows = self.browsing.flows.clone().take(self.embedded as usize);
        flows.map(|flow| self.next_object(flow, now)).collect()
    }

    fn next_object(&mut self, flow: u32, now: Time) -> (u32, Request) {
        self.embedded -= 1;
        self.ask(flow, now)
    }

    fn think(&mut self, now: Time) -> (u32, Request) {
        let thought = self.taste.thinks(&self.browsing.page);
        self.embedded = self.taste.embedded();
        self.awaits_page = true;
        self.ask(self.browsing.flows.start, now + thought)
    }

    fn ask(&mut self, flow: u32, asked: Time) -> (u32, Request) {
        self.open += 1;
        let connection = (flow - self.browsing.flows.start) as usize;
        let (left, rtt) = (&mut self.pages_left[connection], self.browsing.rtts[connection]);
        (flow, self.taste.request(&self.browsing.page, asked, rtt, left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn browser(connections: u32, persistent: f64) -> Browser {
        let page = PageSettings {
            think: Duration::from_millis(10_000),
            size_factor: 1.0,
            persistent,
            payload: 1000,
        };
        let rtts = vec![Duration::from_millis(100); connections as usize].into();
        let browsing = Browsing { page, start: Time::ZERO, flows: 7..7 + connections, rtts };
        Browser::new(browsing, Stream::new(9, 1, 1))
    }

    /// Serves a user's requests in the time that `serve` says, for `pages` pages; returns for each
    /// page when it was asked for, when all was there, its objects, and the most at a time.
    fn pages(
        browser: &mut Browser,
        pages: usize,
        serve: impl Fn(&Request) -> Duration,
    ) -> Vec<(Time, Time, u64, usize)> {
        let mut open = BTreeMap::new();
        let (flow, request) = browser.begin();
        let (mut found, mut page) = (Vec::new(), (request.asked, Time::ZERO, 0, 1));
        open.insert((request.arrives + serve(&request), flow), ());
        while found.len() < pages {
            let ((now, flow), ()) = open.pop_first().expect("something is always asked for");
            browser.finish(now, flow);
            (page.1, page.2) = (now, page.2 + 1);
            for (flow, request) in browser.step(now) {
                assert!(open.keys().all(|(_, busy)| *busy != flow), "{flow} has another object");
                if request.asked > now {
                    found.push(page);
                    page = (request.asked, now, 0, 0);
                }
                open.insert((request.arrives + serve(&request), flow), ());
            }
            page.3 = page.3.max(open.len());
        }
        found
    }

    #[test]
    fn a_page_comes_first_and_then_its_objects_over_all_connections() {
        let second = Duration::from_millis(1000);
        let found = pages(&mut browser(4, 0.0), 2000, |_| second);
        for (asked, done, objects, most) in &found {
            // Each takes the 1.15 s of its request and of the second until it is there.
            let rounds = 1 + (objects - 1).div_ceil(4);
            assert_eq!(done.since(*asked), (Duration::from_millis(150) + second) * rounds);
            assert_eq!(*most as u64, (objects - 1).clamp(1, 4));
        }
        let objects: u64 = found.iter().map(|(_, _, objects, _)| objects).sum();
        let alone = pages(&mut browser(1, 0.0), 2000, |_| second);
        let same: u64 = alone.iter().map(|(_, _, objects, _)| objects).sum();
        assert_eq!(objects, same, "what a page has does not depend on its connections");
    }

    #[test]
    fn what_comes_over_several_connections_at_once_is_taken_in_their_order() {
        let mut browser = browser(3, 0.0);
        let (flow, _) = browser.begin();
        browser.embedded = 5;
        let at = |millis| Time::ZERO + Duration::from_millis(millis);
        browser.finish(at(1), flow);
        let flows =
            |asked: &[(u32, Request)]| asked.iter().map(|(flow, _)| *flow).collect::<Vec<_>>();
        assert_eq!(flows(&browser.step(at(1))), [7, 8, 9]);
        for (when, flow) in [(9, 8), (5, 9), (5, 7)] {
            browser.finish(at(when), flow);
        }
        assert_eq!(flows(&browser.step(at(5))), [7, 9], "flow 8 is told ahead of time");
        assert!(browser.step(at(5)).is_empty());
        assert!(browser.step(at(9)).is_empty(), "two are under way");
    }

    #[test]
    fn connections_stay_open_for_some_pages() {
        let mut browser = browser(2, 1.0);
        let mut fresh = 0;
        let (mut flow, mut request) = browser.begin();
        for _ in 0..1000 {
            fresh += u32::from(request.fresh);
            browser.embedded = 0;
            browser.finish(request.arrives, flow);
            (flow, request) = browser.step(request.arrives)[0];
        }
        assert!((150..350).contains(&fresh), "{fresh} of 1000 pages over a new connection");
    }
}
