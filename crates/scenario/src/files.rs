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

/// Rows from which on a column is worth compressing: the compressor's tables, one for each column,
/// take longer to set up than all the rest of a short run.
const LONG: usize = 256;

/// `table`, of one row or few, as the bytes of a Parquet file: small columns are neither
/// dictionaries nor have statistics, and only those of long lists are compressed.
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
    written(table, long_columns(table).fold(properties, compressed).build())
}

/// The columns within the lists of `table` that have `LONG` rows or more.
fn long_columns(table: &RecordBatch) -> impl Iterator<Item = ColumnPath> {
    table.schema_ref().fields().iter().zip(table.columns()).flat_map(|(field, column)| {
        let rows = column.as_list_opt::<i32>().map(|list| list.values());
        let rows = rows.filter(|rows| rows.len() >= LONG).and_then(|rows| rows.as_struct_opt());
        let within = rows.into_iter().flat_map(|rows| rows.column_names());
        within.map(|name| {
            let path = [field.name(), "list", "item", name];
            ColumnPath::new(path.map(str::to_owned).to_vec())
        })
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
    use arrow_array::{ArrayRef, Float64Array, ListArray, StructArray};
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
    fn only_columns_of_long_lists_are_compressed() {
        let lists = [("few", list(LONG - 1)), ("many", list(LONG))];
        let fields =
            lists.each_ref().map(|(name, list)| Field::new(*name, list.data_type().clone(), false));
        let schema = Arc::new(Schema::new(fields.to_vec()));
        let columns = lists.map(|(_, list)| list).to_vec();
        let table = RecordBatch::try_new(schema, columns).expect("columns of one row");
        let file = small_parquet(&table, &[("seal", "0")]).expect("memory takes any bytes");
        let (rest, tail) = file.split_last_chunk::<8>().expect("a footer");
        let length = u32::from_le_bytes(*tail.first_chunk().expect("its length")) as usize;
        let footer = ParquetMetaDataReader::decode_metadata(&rest[rest.len() - length..]);
        let footer = footer.expect("a footer of Parquet");
        let found = footer.row_group(0).columns().iter();
        let found: Vec<_> = found.map(|c| (c.column_path().string(), c.compression())).collect();
        let zstd = Compression::ZSTD(ZstdLevel::try_new(1).expect("a level"));
        let (few, many) = ("few.list.item.time".into(), "many.list.item.time".into());
        assert_eq!(found, [(few, Compression::UNCOMPRESSED), (many, zstd)]);
    }
}
