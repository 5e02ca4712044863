//! Results as Arrow tables.

use crate::metrics::{self, Column, Values};
use crate::results::Results;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, ListArray, RecordBatch, StringArray, StructArray,
    UInt32Array, UInt64Array,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Schema};
use std::sync::Arc;

/// The tables of a run.
pub const TABLES: [&str; 10] = [
    "summary",
    "flows",
    "links",
    "groups",
    "transfers",
    "size_classes",
    "queries",
    "flow_series",
    "law_series",
    "link_series",
];

/// The version of the files of kept runs; a new column does not change it, as a missing
/// column is read as empty.
pub const FORMAT: u32 = 2;

/// The table called `name`; `None` if there is none of that name.
pub fn table(results: &Results, name: &str) -> Option<RecordBatch> {
    columns(results, name).map(batch)
}

fn columns(results: &Results, name: &str) -> Option<Columns> {
    Some(match name {
        "summary" => shown(metrics::SUMMARY, std::slice::from_ref(results)),
        "flows" => shown(metrics::FLOWS, &results.flows),
        "links" => shown(metrics::LINKS, &results.links),
        "groups" => shown(metrics::GROUPS, &results.groups),
        "size_classes" => shown(metrics::SIZE_CLASSES, &results.size_classes),
        "queries" => shown(metrics::QUERIES, std::slice::from_ref(&results.queries)),
        "transfers" => shown(metrics::TRANSFERS, std::slice::from_ref(&results.transfers)),
        "flow_series" => shown(metrics::FLOW_SERIES, std::slice::from_ref(&results.flow_series)),
        "law_series" => shown(metrics::LAW_SERIES, std::slice::from_ref(&results.law_series)),
        "link_series" => shown(metrics::LINK_SERIES, std::slice::from_ref(&results.link_series)),
        _ => return None,
    })
}

/// What `columns` show of `rows`: a value of each, or all that each holds.
fn shown<R>(columns: &[Column<R>], rows: &[R]) -> Columns {
    let show = |column: &Column<R>| -> ArrayRef {
        match column.values {
            Values::Number(value) | Values::Sampled(value) => numbers(rows.iter().map(value)),
            Values::Count(value) => counts(rows.iter().map(value)),
            Values::Small(value) => small(rows.iter().map(value)),
            Values::Text(value) => texts(rows.iter().map(value)),
            Values::Switch(value) => {
                Arc::new(BooleanArray::from_iter(rows.iter().map(|row| Some(value(row)))))
            }
            Values::Numbers(all) => numbers(rows.iter().flat_map(all).copied()),
            Values::Counts(all) => counts(rows.iter().flat_map(all).copied()),
            Values::Smalls(all) => small(rows.iter().flat_map(all).copied()),
            Values::Texts(all) => texts(rows.iter().flat_map(all).copied()),
        }
    };
    columns.iter().map(|column| (column.name, show(column))).collect()
}

/// One row that holds all of a run: the summary, and each other table as a list of its rows.
/// `extra` columns come first.
pub fn row(results: &Results, extra: &[(&'static str, &str)]) -> RecordBatch {
    let mut columns: Columns = extra.iter().map(|(name, value)| (*name, texts([*value]))).collect();
    columns.extend(self::columns(results, "summary").expect("TABLES names tables"));
    for name in &TABLES[1..] {
        let table = table(results, name).expect("TABLES names tables");
        columns.push((name, rows_in_a_list(table)));
    }
    batch(columns)
}

fn rows_in_a_list(table: RecordBatch) -> ArrayRef {
    let rows = StructArray::from(table);
    let field = Arc::new(Field::new("item", rows.data_type().clone(), false));
    Arc::new(ListArray::new(field, OffsetBuffer::from_lengths([rows.len()]), Arc::new(rows), None))
}

type Columns = Vec<(&'static str, ArrayRef)>;

fn batch(columns: Columns) -> RecordBatch {
    let nullable = |kind: &DataType| *kind == DataType::Float64;
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, array)| {
            Field::new(*name, array.data_type().clone(), nullable(array.data_type()))
        })
        .collect();
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
        .expect("columns of a table have one length")
}

fn numbers(values: impl IntoIterator<Item = f64>) -> ArrayRef {
    // What is not a number (an RTT before the first sample) is a null, not a NaN: data frames then
    // skip it.
    Arc::new(
        values
            .into_iter()
            .map(|value| (!value.is_nan()).then_some(value))
            .collect::<Float64Array>(),
    )
}

fn counts(values: impl IntoIterator<Item = u64>) -> ArrayRef {
    Arc::new(UInt64Array::from_iter_values(values))
}

fn small(values: impl IntoIterator<Item = u32>) -> ArrayRef {
    Arc::new(UInt32Array::from_iter_values(values))
}

fn texts<'a>(values: impl IntoIterator<Item = &'a str>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}
