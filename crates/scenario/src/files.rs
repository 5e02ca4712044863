//! Arrow tables as Parquet files.

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::schema::types::ColumnPath;

/// `table` as the bytes of a Parquet file.
pub fn parquet(table: &RecordBatch) -> Result<Vec<u8>, ParquetError> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .build();
    written(table, properties)
}

/// Columns of this many bytes or more are compressed: the compressor's tables, one set for each
/// column, take longer to set up than all the rest of a short run.
const LARGE: usize = 2048;

/// `table`, of one row or few, as the bytes of a Parquet file: small columns are neither
/// dictionaries nor have statistics, and only large ones are compressed.
pub fn small_parquet(
    table: &RecordBatch,
    metadata: &[(&str, &str)],
) -> Result<Vec<u8>, ParquetError> {
    let metadata = metadata
        .iter()
        .map(|(name, value)| KeyValue::new((*name).to_owned(), (*value).to_owned()))
        .collect();
    let zstd = Compression::ZSTD(ZstdLevel::try_new(3)?);
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_key_value_metadata(Some(metadata));
    let compressed = |properties: WriterPropertiesBuilder, column| {
        properties.set_column_compression(column, zstd)
    };
    written(table, large_columns(table).fold(properties, compressed).build())
}

/// The large columns of `table`, and those within its lists.
fn large_columns(table: &RecordBatch) -> impl Iterator<Item = ColumnPath> {
    table.schema_ref().fields().iter().zip(table.columns()).flat_map(|(field, column)| {
        let within = column.as_list_opt::<i32>().and_then(|list| list.values().as_struct_opt());
        let path =
            |names: &[&str]| ColumnPath::new(names.iter().map(|&name| name.into()).collect());
        let columns: Vec<_> = match within {
            Some(rows) => {
                let paths = rows.column_names().into_iter();
                let paths = paths.map(|name| path(&[field.name(), "list", "item", name]));
                paths.zip(rows.columns()).collect()
            }
            None => vec![(path(&[field.name()]), column)],
        };
        let large = columns.into_iter().filter(|(_, column)| {
            column.to_data().get_slice_memory_size().is_ok_and(|bytes| bytes >= LARGE)
        });
        large.map(|(path, _)| path)
    })
}

fn written(table: &RecordBatch, properties: WriterProperties) -> Result<Vec<u8>, ParquetError> {
    let mut writer = ArrowWriter::try_new(Vec::new(), table.schema(), Some(properties))?;
    writer.write(table)?;
    writer.into_inner()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{ArrayRef, Float64Array, ListArray, StringArray, StructArray};
    use arrow_buffer::OffsetBuffer;
    use arrow_schema::{DataType, Field, Schema};
    use parquet::file::metadata::ParquetMetaDataReader;
    use std::sync::Arc;

    /// A list of `rows` rows with one column.
    fn list(rows: usize) -> ArrayRef {
        let numbers: ArrayRef =
            Arc::new(Float64Array::from_iter_values((0..rows).map(|n| n as f64)));
        let field = Arc::new(Field::new("time", DataType::Float64, false));
        let rows = StructArray::from(vec![(field, numbers)]);
        let item = Arc::new(Field::new("item", rows.data_type().clone(), false));
        let whole = OffsetBuffer::from_lengths([rows.len()]);
        Arc::new(ListArray::new(item, whole, Arc::new(rows), None))
    }

    #[test]
    fn only_large_columns_are_compressed() {
        let text = |length: usize| -> ArrayRef {
            Arc::new(StringArray::from_iter_values(["x".repeat(length)]))
        };
        let columns = [
            ("few", list(LARGE / 8 - 1)),
            ("many", list(LARGE / 8)),
            ("short", text(LARGE / 2)),
            ("long", text(LARGE)),
        ];
        let field = |(name, column): &(&str, ArrayRef)| {
            Field::new(*name, column.data_type().clone(), false)
        };
        let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
        let columns = columns.map(|(_, column)| column).to_vec();
        let table = RecordBatch::try_new(schema, columns).expect("columns of one row");
        let file = small_parquet(&table, &[("seal", "0")]).expect("memory takes any bytes");
        let (rest, tail) = file.split_last_chunk::<8>().expect("a footer");
        let length = u32::from_le_bytes(*tail.first_chunk().expect("its length")) as usize;
        let footer = ParquetMetaDataReader::decode_metadata(&rest[rest.len() - length..]);
        let footer = footer.expect("a footer of Parquet");
        let found = footer.row_group(0).columns().iter();
        let found = found.map(|column| {
            (column.column_path().string(), column.compression() != Compression::UNCOMPRESSED)
        });
        let found: Vec<_> = found.collect();
        let wanted = [
            ("few.list.item.time", false),
            ("many.list.item.time", true),
            ("short", false),
            ("long", true),
        ];
        assert_eq!(found, wanted.map(|(name, compressed)| (name.to_owned(), compressed)));
    }
}
