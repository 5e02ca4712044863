//! The pages that are made from the sources, and the tables within pages: a default, a bound or a
//! definition is said once, and the pages say the same.

use crate::kept;

use narrows_control::registry::LAWS;
use narrows_router::registry::QUEUES;
use narrows_scenario::{Scenario, metrics};
use narrows_settings::Listed;
use serde_json::Value;
use std::fmt::Write;

#[test]
fn the_schema_is_that_of_the_types() {
    kept::assert_is(&(Scenario::schema() + "\n"), "docs/scenario.schema.json");
}

#[test]
fn each_law_and_queue_has_its_settings_on_its_page() {
    for law in LAWS {
        let page = format!("docs/laws/{}.md", law.name);
        kept::assert_section_is("settings", &settings_table(&law.settings()), &page);
    }
    for queue in QUEUES {
        let page = format!("docs/queues/{}.md", queue.name);
        kept::assert_section_is("settings", &settings_table(&queue.settings()), &page);
    }
}

#[test]
fn the_metrics_are_those_of_the_tables() {
    kept::assert_section_is("metrics", &metric_tables(), "docs/metrics.md");
}

#[test]
fn the_fields_of_a_scenario_are_those_of_the_types() {
    let schema: Value = serde_json::from_str(&Scenario::schema()).expect("a schema is JSON");
    kept::assert_section_is("fields", &field_tables(&schema), "docs/scenario.md");
}

fn settings_table(settings: &[Listed]) -> String {
    if settings.is_empty() {
        return "It has no settings.\n".to_owned();
    }
    let mut text = String::from("| setting | default | bounds | meaning |\n|---|---|---|---|\n");
    for Listed { name, default, bounds, meaning } in settings {
        let row = format!("| `{name}` | {default} | {bounds} | {} |\n", cell(meaning));
        text.push_str(&row.replace("|  |", "| |"));
    }
    text
}

/// A text within a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn metric_tables() -> String {
    let mut text = String::new();
    let mut table = "";
    for metric in metrics() {
        if metric.table != table {
            table = metric.table;
            let title =
                if table == "record" { "the simulator's own".into() } else { format!("`{table}`") };
            writeln!(
                text,
                "\n### {title}\n| name | unit | definition | source |\n|---|---|---|---|"
            )
            .expect("a string takes it");
        }
        let definition = cell(metric.definition.trim_end_matches('.'));
        let row = format!(
            "| `{}` | {} | {definition} | {} |\n",
            metric.name,
            metric.kind.unit(),
            metric.source
        );
        text.push_str(&row.replace("|  |", "| |"));
    }
    text.trim_start().to_owned()
}

fn field_tables(schema: &Value) -> String {
    let mut text = fields_of("A scenario", schema);
    let parts = schema["$defs"].as_object().expect("a scenario has parts");
    for (name, title) in [
        ("Dumbbell", "`[dumbbell]`"),
        ("WayBack", "`reverse` of a dumbbell"),
        ("ParkingLot", "`[parking_lot]`"),
        ("Chain", "`[chain]`"),
        ("ChainLink", "a link of `chain.hops`"),
        ("Link", "`[[links]]`"),
        ("Change", "one of a link's `changes`"),
        ("Outage", "one of a link's `outages`"),
        ("Handovers", "`handovers` of a link"),
        ("Hold", "`hold` of a link"),
        ("Policer", "`policer` of a link"),
        ("Shaper", "`shaper` of a link"),
        ("ScriptLine", "a line of a link's `script`"),
        ("Flow", "`[[flows]]`"),
        ("Web", "`web` of a flow"),
        ("Files", "`files` of a flow"),
        ("Trace", "`[trace]`"),
    ] {
        text.push_str(&fields_of(title, &parts[name]));
    }
    text
}

fn fields_of(title: &str, part: &Value) -> String {
    let required: Vec<&str> =
        part["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut text = format!("\n### {title}\n");
    if let Some(about) = part["description"].as_str() {
        writeln!(text, "{}\n", about.replace('\n', " ")).expect("a string takes it");
    }
    text.push_str("| field | |\n|---|---|\n");
    for (name, field) in part["properties"].as_object().into_iter().flatten() {
        let about = field["description"].as_str().unwrap_or_default().replace('\n', " ");
        let must = if required.contains(&name.as_str()) { "**Required.** " } else { "" };
        writeln!(text, "| `{name}` | {must}{} |", cell(&about)).expect("a string takes it");
    }
    text
}
