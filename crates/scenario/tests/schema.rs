//! The schema of scenario files that editors read is the one of the types.

mod kept;

#[test]
fn the_schema_kept_is_that_of_the_types() {
    kept::assert_is(&(narrows_scenario::Scenario::schema() + "\n"), "docs/scenario.schema.json");
}
