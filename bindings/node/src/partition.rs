//! Parts of a collection or a table that other processes read.

use folio::{Partition, PartitionOptions, Result};
use napi_derive::napi;

use crate::error::thrown;

/// A part, as its text and what that says.
#[napi(object)]
pub struct NativePartition {
    /// The text by which another process knows it.
    pub text: String,
    /// The absolute path of the database, as the planner saw it.
    pub uri: String,
    /// The collection or the table.
    pub relation: String,
    /// Documents or rows, before the filter.
    pub row_count: f64,
    /// Bytes of lines, where they are known.
    pub size: Option<f64>,
    /// The wanted columns.
    pub columns: Option<Vec<String>>,
    /// The condition of SQL.
    pub filter: Option<String>,
}

impl From<Partition> for NativePartition {
    #[allow(clippy::cast_precision_loss)] // fewer rows, and bytes, than 2^53
    fn from(partition: Partition) -> Self {
        Self {
            text: partition.to_string(),
            uri: partition.uri().to_owned(),
            relation: partition.relation().to_owned(),
            row_count: partition.row_count() as f64,
            size: partition.size().map(|size| size as f64),
            columns: partition.columns().map(<[String]>::to_vec),
            filter: partition.filter().map(str::to_owned),
        }
    }
}

/// A part from its text.
#[napi]
pub fn parse_partition(text: String) -> napi::Result<NativePartition> {
    text.parse::<Partition>().map(NativePartition::from).map_err(thrown)
}

/// What is read of each part. Positions are texts.
pub(crate) fn options(
    columns: Option<Vec<String>>,
    filter: Option<String>,
    since: Option<String>,
    until: Option<String>,
) -> Result<PartitionOptions> {
    let position = |text: Option<String>| text.map(|text| text.parse()).transpose();
    let (since, until) = (position(since)?, position(until)?);
    Ok(PartitionOptions { columns, filter, since, until })
}

/// The texts of at most so many parts, which together have all rows.
pub(crate) fn plan(
    database: &folio::Database,
    relation: &str,
    count: u32,
    options: PartitionOptions,
) -> Result<Vec<String>> {
    let parts = database.partitions(relation, count as usize, &options)?;
    Ok(parts.iter().map(ToString::to_string).collect())
}
