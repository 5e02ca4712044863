//! The Python bindings of narrows: text in, Arrow tables out. Everything else is written in Python.

#[cfg(unix)]
mod bulk;
mod captures;
mod conform;
mod controller;
mod error;
mod failure;
mod interval_law;
mod lab;
mod learn;
mod listing;
mod run;
mod scenario;
mod stack;

use pyo3::prelude::*;

/// The compiled part of narrows.
#[pymodule(gil_used = false)]
mod _core {
    #[cfg(unix)]
    #[pymodule_export]
    use super::bulk::{Receiver, send_file};
    #[pymodule_export]
    use super::captures::{causes, why};
    #[pymodule_export]
    use super::conform::{
        conform_checks, conform_chosen, conform_rows, conform_subject, conform_wire,
    };
    #[pymodule_export]
    use super::controller::{Ack, Loss, Mark};
    #[pymodule_export]
    use super::error::{BoundsError, Error, ScenarioError};
    #[pymodule_export]
    use super::interval_law::Interval;
    #[pymodule_export]
    use super::lab::{
        become_root, connections, doctor, enter, kernel_check, kernel_install, kernel_installed,
        kernel_laws, kernel_uninstall, lab, measure_host, stand,
    };
    #[pymodule_export]
    use super::learn::{
        Agents, FormulaCode, Intervals, PolicyNet, WasmCode, learning_presets, learns,
    };
    #[pymodule_export]
    use super::listing::{
        age, available_memory, controllers, decided_by, engine, metrics, presets, queues,
        recoveries, schema, seconds, slow_starts, stacks,
    };
    #[pymodule_export]
    use super::run::{Run, Table, run};
    #[pymodule_export]
    use super::scenario::{Checked, Scenario};
}
