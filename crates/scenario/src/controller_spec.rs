//! `cubic:beta=0.8+newreno`: a law, its settings, its recovery.

use crate::law::{Law, OwnLaw};
use narrows_control::registry::{self, MovedBy, Start};
use narrows_settings::{Given, Value, unknown};
use narrows_transport::Recovery;
use narrows_transport::tcp::RecoveryKind;
use std::sync::Arc;

/// A flow's `cc`, parsed: a law with settings, over a recovery.
#[derive(Clone)]
pub struct ControllerSpec {
    /// The law.
    pub law: Law,
    /// Its settings, which the law reads.
    pub given: Given,
    /// The recovery below it.
    pub recovery: Recovery,
    /// It says "reno" and no recovery: Linux's `reno`, over SACK, and not ns-2's Agent/TCP/Reno.
    pub is_bare_reno: bool,
}

/// Settings of before: the law, the setting, and what to write now.
const MOVED: &[(&str, &str, &str)] =
    &[("bbr", "quantum", "it is the flow's: quantum = 3 beside cc")];

/// The law that a recovery's name alone stands for.
const PLAIN_LAW: &str = "reno";
/// The recovery below a law that names none.
const SACK: Recovery = Recovery::Tcp(RecoveryKind::Sack);

impl ControllerSpec {
    /// Parses a flow's `cc`; `own` are known besides the registry's laws.
    pub fn parse(text: &str, own: &[Arc<dyn OwnLaw>]) -> Result<Self, String> {
        if let Some(own) = own.iter().find(|own| own.name() == text.trim()) {
            let law = Law::Own(Arc::clone(own));
            return Ok(Self { law, given: Given::default(), recovery: SACK, is_bare_reno: false });
        }
        let (law, recovery) = law_and_recovery(text);
        let (name, given) = registry::split(law).map_err(|error| error.to_string())?;
        let alone = find_recovery(name).filter(|_| name != PLAIN_LAW);
        let law = match (alone, own.iter().find(|own| own.name() == name)) {
            (Some(_), _) => registry::find(PLAIN_LAW).map(Law::Registered),
            (None, Some(own)) => Ok(Law::Own(Arc::clone(own))),
            (None, None) => registry::find(name).map(Law::Registered),
        };
        let law = law.map_err(|_| unknown_controller(name, own))?;
        if let (Some(_), Some(recovery)) = (alone, recovery) {
            return Err(recovery_first(name, recovery.trim()));
        }
        for (owner, setting, now) in MOVED {
            if *owner == name && given.pairs().any(|(given, _)| given == *setting) {
                return Err(format!("{name} has no setting \"{setting}\" any more; {now}"));
            }
        }
        if let (Law::Own(_), Some((setting, _))) = (&law, given.pairs().next()) {
            return Err(format!(
                "{name} is your own law and takes no settings here; leave out \"{setting}\""
            ));
        }
        let chosen = match recovery {
            Some(recovery) => {
                find_recovery(recovery.trim()).ok_or_else(|| unknown_recovery(recovery))?
            }
            None => alone.unwrap_or(SACK),
        };
        if let (MovedBy::EachLoss, Some(recovery), Recovery::Tcp(_)) =
            (law.moved_by(), recovery, chosen)
        {
            return Err(format!(
                "{name} answers each lost packet and has a recovery of its own; leave out \"+{recovery}\", or write {name}+quic"
            ));
        }
        let cumulative = [RecoveryKind::Reno, RecoveryKind::NewReno].map(Recovery::Tcp);
        if law.moved_by() == MovedBy::DeliveryRate && cumulative.contains(&chosen) {
            return Err(format!(
                "{name} samples the delivery rate, which needs selective acknowledgements; write {name}, {name}+sack or {name}+quic"
            ));
        }
        let is_bare_reno = name == PLAIN_LAW && recovery.is_none();
        Ok(Self { law, given, recovery: chosen, is_bare_reno })
    }

    /// True if the law runs over E-TCP's own transport.
    pub fn over_etcp(&self) -> bool {
        self.law.moved_by() == MovedBy::EachLoss && self.recovery != Recovery::Quic
    }

    /// How the law starts: by itself if its window is what routers advertise alone.
    pub(crate) fn start(&self) -> Start {
        if self.has_no_congestion_window() { Start::Own } else { self.law.start() }
    }

    /// True if acknowledgements move the window up and epochs move it down.
    pub(crate) fn moves_by_epochs(&self) -> bool {
        self.law.moved_by() == MovedBy::Epochs && !self.has_no_congestion_window()
    }

    /// True if the setting `cwnd` of `gwa` or `ba` is off.
    pub(crate) fn has_no_congestion_window(&self) -> bool {
        let is_off = |text: &str| <bool as Value>::parse(text) == Some(false);
        self.given.pairs().any(|(name, text)| name == "cwnd" && is_off(text))
    }
}

/// What stands before and after the `+` that separates a law from its recovery. A law's name may
/// have a `+` of its own, so it is looked for first.
fn law_and_recovery(text: &str) -> (&str, Option<&str>) {
    let text = text.trim_start();
    let laws = registry::LAWS.iter();
    let named = laws
        .flat_map(|law| [law.name].into_iter().chain(law.aliases.iter().copied()))
        .filter(|name| {
            let rest = text.strip_prefix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '+', ' ']))
        })
        .map(str::len)
        .max()
        .unwrap_or(0);
    match text[named..].split_once('+') {
        Some((before, recovery)) => (&text[..named + before.len()], Some(recovery)),
        None => (text, None),
    }
}

/// Why `after` cannot follow `name`, the name of a recovery.
fn recovery_first(name: &str, after: &str) -> String {
    let law = after.split(':').next().unwrap_or_default().trim();
    if find_recovery(law).is_some() {
        format!("{name} is a recovery, and so is {after}; write {PLAIN_LAW}+{after}")
    } else if registry::find(law).is_ok() {
        format!("{name} is a recovery, which comes after the law; write {after}+{name}")
    } else {
        unknown_recovery(after)
    }
}

fn find_recovery(name: &str) -> Option<Recovery> {
    Recovery::all().find(|(known, ..)| *known == name).map(|(_, recovery, ..)| recovery)
}

fn unknown_controller(name: &str, own: &[Arc<dyn OwnLaw>]) -> String {
    let laws = own.iter().map(|own| own.name()).chain(registry::names().map(|name: &str| name));
    let recoveries: Vec<_> = Recovery::all().map(|(name, ..)| name).collect();
    let recoveries = recoveries.into_iter().filter(|name| *name != PLAIN_LAW);
    unknown("controller", name, laws.chain(recoveries))
}

fn unknown_recovery(name: &str) -> String {
    let names: Vec<_> = Recovery::all().map(|(name, ..)| name).collect();
    unknown("recovery", name, names.into_iter())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEWRENO: Recovery = Recovery::Tcp(RecoveryKind::NewReno);

    fn parts(text: &str) -> (&'static str, usize, Recovery) {
        let spec =
            ControllerSpec::parse(text, &[]).unwrap_or_else(|error| panic!("{text}: {error}"));
        let Law::Registered(entry) = spec.law else { panic!("{text} is the registry's") };
        (entry.name, spec.given.pairs().count(), spec.recovery)
    }

    #[test]
    fn a_law_goes_over_sack_unless_it_says_otherwise() {
        assert_eq!(parts("cubic"), ("cubic", 0, SACK));
        assert_eq!(parts("cubic:beta=0.8:c=0.4+newreno"), ("cubic", 2, NEWRENO));
        assert_eq!(parts("TcpCubic"), ("cubic", 0, SACK));
    }

    #[test]
    fn a_recovery_alone_is_renos_law_but_reno_is_as_in_linux() {
        assert_eq!(parts("reno"), ("reno", 0, SACK));
        assert_eq!(parts("reno+reno"), ("reno", 0, Recovery::Tcp(RecoveryKind::Reno)));
        assert_eq!(parts("newreno"), ("reno", 0, NEWRENO));
        assert_eq!(parts("sack"), ("reno", 0, SACK));
        assert_eq!(parts("quic"), ("reno", 0, Recovery::Quic));
    }

    #[test]
    fn any_law_goes_over_quic() {
        for law in narrows_control::registry::names() {
            assert_eq!(parts(&format!("{law}+quic")), (law, 0, Recovery::Quic));
        }
    }

    #[test]
    fn a_plus_may_belong_to_a_laws_name() {
        assert_eq!(parts("ledbat++"), ("ledbat++", 0, SACK));
        assert_eq!(parts("ledbat++:target=100ms"), ("ledbat++", 1, SACK));
        assert_eq!(parts("ledbat+++newreno"), ("ledbat++", 0, NEWRENO));
        assert_eq!(parts("ledbat++ + newreno"), ("ledbat++", 0, NEWRENO));
        let written = "ledbat++:target=100ms:constant=0.5+newreno";
        assert_eq!(parts(written), ("ledbat++", 2, NEWRENO));
        assert_eq!(parts("ledbatpp+reno"), ("ledbat++", 0, Recovery::Tcp(RecoveryKind::Reno)));
        assert_eq!(parts("ledbat-plus-plus"), ("ledbat++", 0, SACK));
        let error = |text: &str| ControllerSpec::parse(text, &[]).err().unwrap();
        for text in ["ledbat", "ledbat+", "ledbat+sack", "ledbat++sack"] {
            let said = error(text);
            let guess = "unknown controller \"ledbat\"; did you mean \"ledbat++\"? known: aimd, ";
            assert!(said.starts_with(guess), "{text}: {said}");
        }
        for (text, recovery) in
            [("ledbat+++", ""), ("ledbat++++", "+"), ("ledbat+++tahoe", "tahoe")]
        {
            let said = error(text);
            let known = "known: reno, newreno, sack, quic";
            assert_eq!(said, format!("unknown recovery \"{recovery}\"; {known}"), "{text}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        let error = |text: &str| ControllerSpec::parse(text, &[]).err().unwrap();
        let known = error("cubik");
        assert!(
            known.starts_with(
                "unknown controller \"cubik\"; did you mean \"cubic\"? known: aimd, ba, bbr, "
            ),
            "{known}"
        );
        assert!(known.ends_with(", xcp, newreno, sack, quic"), "{known}");
        assert_eq!(
            error("cubic+tahoe"),
            "unknown recovery \"tahoe\"; known: reno, newreno, sack, quic"
        );
        assert_eq!(
            error("etcp+sack"),
            "etcp answers each lost packet and has a recovery of its own; leave out \"+sack\", or write etcp+quic"
        );
        assert_eq!(
            error("bbr+newreno"),
            "bbr samples the delivery rate, which needs selective acknowledgements; write bbr, bbr+sack or bbr+quic"
        );
        assert_eq!(
            error("sack+newreno"),
            "sack is a recovery, and so is newreno; write reno+newreno"
        );
        for (wrong, right) in
            [("quic+cubic", "cubic+quic"), ("newreno + cubic:beta=0.8", "cubic:beta=0.8+newreno")]
        {
            let said = error(wrong);
            let recovery = right.split_once('+').expect("there is one").1;
            let first = format!("{recovery} is a recovery, which comes after the law");
            assert_eq!(said, format!("{first}; write {right}"));
        }
        assert_eq!(
            error("quic+tahoe"),
            "unknown recovery \"tahoe\"; known: reno, newreno, sack, quic"
        );
        assert_eq!(
            error("bbr:quantum=3"),
            "bbr has no setting \"quantum\" any more; it is the flow's: quantum = 3 beside cc"
        );
        assert_eq!(
            error("cubic:beta"),
            "\"beta\" is not a setting; write name=value, like cubic:beta=0.8"
        );
    }
}
