//! What the footer of a part says about the values of a column, for estimates.

use std::sync::Arc;

use folio_file::SummedMap;
use folio_types::{ColumnType, Value};
use parquet::basic::Type;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;

use super::request::bounds;
use super::{decoded, leaves};

/// Bytes of a page that are not its values.
const HEADER_SIZE: i64 = 24;

/// Values of a column.
#[derive(Debug, Default)]
pub(crate) struct ColumnValues {
    pub(crate) row_count: f64,
    pub(crate) null_count: f64,
    /// About how many different ones there are; `None` if that is unknown.
    pub(crate) distinct: Option<f64>,
    /// The least and the greatest, if all row groups have them.
    pub(crate) ends: Vec<(Value, Value)>,
}

/// The values at a path of a part; `None` if that is no single column of the file.
pub(crate) fn column_values(
    part: &Arc<SummedMap>,
    path: &[String],
    ty: &ColumnType,
) -> Option<ColumnValues> {
    let known = decoded(part)?;
    let [leaf] = leaves(known, &[known.spot(path, ty)?])[..] else { return None };
    let mut values = ColumnValues::default();
    let mut most: Option<(f64, f64)> = None;
    let groups = known.metadata.metadata().row_groups();
    for group in groups {
        let column = group.column(leaf);
        let row_count = group.num_rows() as f64;
        values.row_count += row_count;
        let statistics = column.statistics();
        let null_count = statistics.and_then(Statistics::null_count_opt).unwrap_or(0);
        values.null_count += null_count as f64;
        values.ends.extend(statistics.and_then(bounds));
        let distinct = dictionary_count(column);
        let is_more = |count: &f64| most.is_none_or(|(own, _)| own < *count);
        if let Some(count) = distinct.filter(is_more) {
            most = Some((count, row_count));
        }
    }
    // Values that repeat within a row group come in all of them; others are new in each.
    values.distinct = most.map(|(count, of)| match count * 2.0 <= of {
        true => count.max(1.0),
        false => (count / of * values.row_count).max(1.0),
    });
    if values.ends.len() < groups.len() {
        values.ends.clear();
    }
    Some(values)
}

/// About how many values the dictionary of a column has, by its size.
fn dictionary_count(column: &ColumnChunkMetaData) -> Option<f64> {
    let size = column.data_page_offset() - column.dictionary_page_offset()? - HEADER_SIZE;
    let value_size = match column.column_type() {
        Type::INT32 | Type::FLOAT => 4.0,
        Type::INT64 | Type::DOUBLE => 8.0,
        Type::BYTE_ARRAY => match column.statistics()? {
            Statistics::ByteArray(own) => {
                let sizes = own.min_opt()?.len() + own.max_opt()?.len();
                4.0 + sizes as f64 / 2.0
            }
            _ => return None,
        },
        _ => return None,
    };
    Some((size.max(0) as f64 / value_size).max(1.0))
}
