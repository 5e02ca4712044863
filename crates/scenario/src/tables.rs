//! Results as Arrow tables, and Arrow tables as Parquet.

use crate::results::{FlowResult, LinkResult, Results};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, ListArray, RecordBatch, StringArray, StructArray,
    UInt32Array, UInt64Array,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Schema};
use narrows_sim::PacketDelays;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use std::sync::Arc;

/// The tables of a run.
pub const TABLES: [&str; 6] =
    ["summary", "flows", "links", "transfers", "flow_series", "link_series"];

/// The table called `name`; `None` where there is none of that name.
pub fn table(results: &Results, name: &str) -> Option<RecordBatch> {
    let columns = match name {
        "summary" => summary(results),
        "flows" => flows(&results.flows),
        "links" => links(&results.links),
        "transfers" => transfers(results),
        "flow_series" => flow_series(results),
        "link_series" => link_series(results),
        _ => return None,
    };
    Some(batch(columns))
}

/// `table` as the bytes of a Parquet file.
pub fn parquet(table: &RecordBatch) -> Result<Vec<u8>, ParquetError> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .build();
    written(table, properties)
}

fn written(table: &RecordBatch, properties: WriterProperties) -> Result<Vec<u8>, ParquetError> {
    let mut writer = ArrowWriter::try_new(Vec::new(), table.schema(), Some(properties))?;
    writer.write(table)?;
    writer.into_inner()
}

/// One row that holds all of a run: the summary, and each other table as a list of its rows.
/// `extra` columns come first.
pub fn row(results: &Results, extra: &[(&'static str, &str)]) -> RecordBatch {
    let mut columns: Columns = extra.iter().map(|(name, value)| (*name, texts([*value]))).collect();
    columns.extend(summary(results));
    columns.extend([
        ("flows", rows_in_a_list(flows(&results.flows))),
        ("links", rows_in_a_list(links(&results.links))),
        ("transfers", rows_in_a_list(transfers(results))),
        ("flow_series", rows_in_a_list(flow_series(results))),
        ("link_series", rows_in_a_list(link_series(results))),
    ]);
    batch(columns)
}

fn rows_in_a_list(columns: Columns) -> ArrayRef {
    let rows = StructArray::from(batch(columns));
    let field = Arc::new(Field::new("item", rows.data_type().clone(), false));
    Arc::new(ListArray::new(field, OffsetBuffer::from_lengths([rows.len()]), Arc::new(rows), None))
}

/// `table`, of one row or few, as the bytes of a Parquet file: small columns are neither
/// dictionaries nor have statistics.
pub fn small_parquet(
    table: &RecordBatch,
    metadata: &[(&str, &str)],
) -> Result<Vec<u8>, ParquetError> {
    let metadata = metadata
        .iter()
        .map(|(name, value)| KeyValue::new((*name).to_owned(), (*value).to_owned()))
        .collect();
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_key_value_metadata(Some(metadata))
        .build();
    written(table, properties)
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

fn summary(results: &Results) -> Columns {
    let link = &results.links[results.bottleneck];
    let one = |value: f64| numbers([value]);
    vec![
        ("cc", texts([results.cc.as_str()])),
        ("pacing", texts([results.pacing.as_str()])),
        ("seed", counts([results.seed])),
        ("bottleneck", texts([link.name.as_str()])),
        ("utilisation", one(link.summary.utilisation)),
        ("goodput", one(results.goodput)),
        ("loss_rate", one(link.loss_rate)),
        ("jain", one(results.jain)),
        ("mean_queue", one(link.summary.mean_queue)),
        ("max_queue", one(link.summary.max_queue.map_or(f64::NAN, |packets| packets as f64))),
        ("queue_p50", one(link.queue_quantile(0.5))),
        ("queue_p95", one(link.queue_quantile(0.95))),
        ("queue_p99", one(link.queue_quantile(0.99))),
        ("mean_rtt", one(results.mean_rtt)),
        ("delivered", counts([results.delivered])),
    ]
}

fn flows(flows: &[FlowResult]) -> Columns {
    let number = |value: fn(&FlowResult) -> f64| numbers(flows.iter().map(value));
    let count = |value: fn(&FlowResult) -> u64| counts(flows.iter().map(value));
    vec![
        ("flow", small(0..flows.len() as u32)),
        ("cc", texts(flows.iter().map(|flow| flow.cc.as_str()))),
        ("pacing", texts(flows.iter().map(|flow| flow.pacing))),
        ("reverse", Arc::new(BooleanArray::from_iter(flows.iter().map(|flow| Some(flow.reverse))))),
        ("goodput", number(|flow| flow.goodput)),
        ("throughput", number(|flow| flow.throughput)),
        ("loss_rate", number(|flow| flow.loss_rate)),
        ("mean_rtt", number(|flow| flow.mean_rtt)),
        ("start", number(|flow| flow.summary.started.map_or(f64::NAN, |time| time.seconds()))),
        ("completion_time", number(|flow| flow.completion_time.unwrap_or(f64::NAN))),
        ("sent", count(|flow| flow.summary.sender.sent)),
        ("retransmitted", count(|flow| flow.summary.sender.retransmitted.into())),
        ("lost", count(|flow| flow.summary.sender.lost.into())),
        ("epochs", count(|flow| flow.summary.sender.epochs.into())),
        ("timeouts", count(|flow| flow.summary.sender.timeouts.into())),
        ("spurious", count(|flow| flow.summary.sender.spurious.into())),
        ("arrived", count(|flow| flow.summary.arrived)),
        ("duplicates", count(|flow| flow.summary.duplicates)),
        (
            "mean_packet_delay",
            number(|flow| flow.summary.delays.as_ref().map_or(f64::NAN, PacketDelays::mean)),
        ),
        (
            "max_packet_delay",
            number(|flow| flow.summary.delays.as_ref().map_or(f64::NAN, PacketDelays::longest)),
        ),
    ]
}

fn links(links: &[LinkResult]) -> Columns {
    let number = |value: &dyn Fn(&LinkResult) -> f64| numbers(links.iter().map(value));
    let count = |value: fn(&LinkResult) -> u64| counts(links.iter().map(value));
    vec![
        ("link", small(0..links.len() as u32)),
        ("name", texts(links.iter().map(|link| link.name.as_str()))),
        ("rate", number(&|link| link.rate)),
        ("utilisation", number(&|link| link.summary.utilisation)),
        ("loss_rate", number(&|link| link.loss_rate)),
        ("arrivals", count(|link| link.summary.arrivals)),
        ("drops", count(|link| link.summary.drops)),
        ("marks", count(|link| link.summary.marks)),
        ("wire_losses", count(|link| link.summary.wire_losses)),
        ("departures", count(|link| link.summary.departures)),
        ("departed_bytes", count(|link| link.summary.departed_bytes)),
        ("mean_queue", number(&|link| link.summary.mean_queue)),
        (
            "max_queue",
            number(&|link| link.summary.max_queue.map_or(f64::NAN, |packets| packets as f64)),
        ),
        (
            "max_queue_bytes",
            number(&|link| link.summary.max_queue_bytes.map_or(f64::NAN, |bytes| bytes as f64)),
        ),
        ("queue_p50", number(&|link| link.queue_quantile(0.5))),
        ("queue_p95", number(&|link| link.queue_quantile(0.95))),
        ("queue_p99", number(&|link| link.queue_quantile(0.99))),
        ("mean_delay", number(&LinkResult::mean_delay)),
        ("delay_p50", number(&|link| link.delay_quantile(0.5))),
        ("delay_p95", number(&|link| link.delay_quantile(0.95))),
        ("delay_p99", number(&|link| link.delay_quantile(0.99))),
        ("delay_p999", number(&|link| link.delay_quantile(0.999))),
    ]
}

fn transfers(results: &Results) -> Columns {
    let transfers = &results.transfers;
    let column = |values: &[f64]| numbers(values.iter().copied());
    vec![
        ("flow", small(transfers.flow.iter().copied())),
        ("requested", column(&transfers.requested)),
        ("completion_time", column(&transfers.completion_time)),
        ("bytes", counts(transfers.bytes.iter().copied())),
    ]
}

fn flow_series(results: &Results) -> Columns {
    let series = &results.flow_series;
    let column = |values: &[f64]| numbers(values.iter().copied());
    vec![
        ("time", column(&series.time)),
        ("flow", small(series.flow.iter().copied())),
        ("window", column(&series.window)),
        ("ssthresh", column(&series.ssthresh)),
        ("rtt", column(&series.rtt)),
        ("in_flight", column(&series.in_flight)),
        ("throughput", column(&series.throughput)),
        ("goodput", column(&series.goodput)),
    ]
}

fn link_series(results: &Results) -> Columns {
    let series = &results.link_series;
    let column = |values: &[f64]| numbers(values.iter().copied());
    vec![
        ("time", column(&series.time)),
        ("link", small(series.link.iter().copied())),
        ("queue", column(&series.queue)),
        ("loss_rate", column(&series.loss_rate)),
        ("utilisation", column(&series.utilisation)),
        ("arrivals", counts(series.arrivals.iter().copied())),
        ("drops", counts(series.drops.iter().copied())),
    ]
}
