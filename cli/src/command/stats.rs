//! `folio stats`: prints counts and sizes.

use std::process::ExitCode;

use clap::Args;
use folio::{EvictionPolicy, TableSummary, Tables};
use serde_json::json;

use crate::arguments::{Printing, Targets, open_to_read};
use crate::command::index;
use crate::console::Console;
use crate::failure::Failure;
use crate::output::{print_groups, print_objects, resolve};

/// Print counts and sizes of collections, tables, and their indexes
///
/// Sizes are in bytes. Dead lines are superseded or deleted documents, which `folio compact`
/// removes. With --buffer, all pages of the tables are read through the buffer pool, and the
/// statistics of the pool are printed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    targets: Targets,

    /// Print the statistics of the buffer pool while all tables are read
    #[arg(long, conflicts_with = "collection")]
    buffer: bool,

    #[command(flatten)]
    printing: Printing,
}

const EXAMPLES: &str = "\
Examples:
  $ folio stats ./data
  $ folio stats ./data --json
  $ folio stats ./data --buffer";

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<ExitCode, Failure> {
    let database = open_to_read(&arguments.targets.database)?;
    let format = resolve(arguments.printing.format(), console);
    if arguments.buffer {
        print_objects(buffer(&database.tables()?)?.as_slice(), format, console)?;
        return Ok(ExitCode::SUCCESS);
    }
    let (mut collections, mut indexes) = (Vec::new(), Vec::new());
    for name in arguments.targets.names(&database)? {
        let collection = database.collection(&name)?;
        let stats = collection.stats()?;
        console.print_notices(&collection);
        let object = json!({
            "collection": name,
            "document_count": stats.document_count,
            "dead_count": stats.dead_count,
            "live_size": stats.live_size,
            "data_size": stats.data_size,
            "index_size": stats.index_size,
            "open": collection.has_open_paths()?,
        });
        collections.push(object.to_string());
        indexes.extend(index::described(&collection)?);
    }
    let mut groups = vec![collections];
    groups.extend((!indexes.is_empty()).then_some(indexes));
    if arguments.targets.collection.is_none() {
        groups.extend(tables(&database.tables()?)?);
    }
    print_groups(groups, format, console)?;
    Ok(ExitCode::SUCCESS)
}

/// One object per table, and one for their files; nothing without tables.
fn tables(tables: &Tables) -> Result<Vec<Vec<String>>, Failure> {
    let object = |table: TableSummary| {
        json!({
            "table": table.name,
            "row_count": table.row_count,
            "column_count": table.columns.len(),
            "index_count": table.indexes.len(),
        })
        .to_string()
    };
    let Some(statistics) = tables.statistics()? else { return Ok(Vec::new()) };
    let all = tables.list()?;
    let mut indexes = Vec::new();
    for table in &all {
        indexes.extend(index::described_of_table(tables, &table.name)?);
    }
    let objects: Vec<String> = all.into_iter().map(object).collect();
    let files = json!({
        "table_count": objects.len(),
        "data_size": statistics.data_size,
        "log_size": statistics.log_size,
        "page_size": statistics.page_size,
    });
    let groups = [objects, indexes, vec![files.to_string()]];
    Ok(groups.into_iter().filter(|group| !group.is_empty()).collect())
}

/// The statistics of the pool during a check that reads every page.
fn buffer(tables: &Tables) -> Result<Option<String>, Failure> {
    tables.check()?;
    let Some(statistics) = tables.statistics()? else { return Ok(None) };
    let pool = statistics.pool;
    let object = json!({
        "policy": EvictionPolicy::default().name(),
        "page_size": statistics.page_size,
        "frame_count": pool.frames,
        "frames_used": pool.frames_used,
        "hits": pool.hits,
        "misses": pool.misses,
        "hit_rate": (pool.hit_rate() * 1000.0).round() / 1000.0,
        "evictions": pool.evictions,
        "write_backs": pool.write_backs,
        "pin_waits": pool.pin_waits,
    });
    Ok(Some(object.to_string()))
}
