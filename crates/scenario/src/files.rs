//! Arrow tables as Parquet files.

use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};

/// `table` as the bytes of a Parquet file.
pub fn parquet(table: &RecordBatch) -> Result<Vec<u8>, ParquetError> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .build();
    written(table, properties)
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

fn written(table: &RecordBatch, properties: WriterProperties) -> Result<Vec<u8>, ParquetError> {
    let mut writer = ArrowWriter::try_new(Vec::new(), table.schema(), Some(properties))?;
    writer.write(table)?;
    writer.into_inner()
}
