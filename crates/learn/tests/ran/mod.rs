//! A run of two flows of a law over ns-2's habits.

use narrows_scenario::{Checked, Own, OwnLaw, Results, Scenario, run};
use std::ops::ControlFlow;
use std::sync::Arc;

/// A minute of two flows with the law `cc`, which `law` may bring.
pub fn ran(cc: &str, law: Option<impl OwnLaw + 'static>) -> Results {
    let text = format!(
        "duration = \"60s\"\ntcp = \"ns2\"\n[dumbbell]\nrate = \"20Mbps\"\nrtt = \"40ms\"\n\
         buffer = \"30p\"\n[[flows]]\ncc = \"{cc}\"\ncount = 2\n"
    );
    let scenario = Scenario::from_toml(&text).expect("a scenario");
    let laws = law.into_iter().map(|law| Arc::new(law) as _).collect();
    let checked = Checked::with_own(scenario, &Own { laws, stacks: Vec::new() });
    let checked = checked.unwrap_or_else(|error| panic!("{cc}: {error}"));
    run(&checked, 1, None, |_| ControlFlow::Continue(())).expect("it runs")
}
