//! `folio bench`: measures this machine.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::bench::{self, DataSet, Entities, Plan};
use crate::console::Console;
use crate::failure::Failure;

/// Measure the speed of this machine
///
/// Without a suite: all of them, with 100000 documents, rows and users, in about a minute. No other
/// database takes part.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    suite: Option<Suite>,

    #[command(flatten)]
    measuring: Measuring,
}

const EXAMPLES: &str = "\
Examples:
  $ folio bench documents --count 1000,10000
  $ folio bench sql --count 10000 --json figures.json group
  $ folio bench ziql --users 2000 --data many --threads 1,4 'GRAB Order'";

/// What each size is without a suite.
const COUNT: u64 = 100_000;

#[derive(Debug, Args)]
struct Measuring {
    /// The number of runs of each workload or query
    #[arg(long, value_name = "COUNT", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    repetitions: u32,

    /// Write the measurements to a file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// The folder where the databases are created and removed; by default the folder for
    /// temporary files
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Suite {
    /// Write documents, read them, look them up and ask them
    ///
    /// Prints for each workload: operations per second, the median time, its phases, and half of
    /// what lies between the quickest and the slowest run. `cold` opens the database anew.
    Documents {
        /// The numbers of documents
        #[arg(long, value_name = "COUNTS", value_delimiter = ',', default_values_t = [COUNT], value_parser = clap::value_parser!(u64).range(1..))]
        count: Vec<u64>,

        /// The number of lookups in a run
        #[arg(long, value_name = "COUNT", default_value_t = 1_000)]
        lookups: u64,

        #[command(flatten)]
        measuring: Measuring,

        /// Only workloads or queries that contain this text
        #[arg(value_name = "FILTER")]
        filter: Option<String>,
    },

    /// Insert rows into a table, select and change them by key, and ask it
    ///
    /// Prints the same as `documents`. Changes are one transaction, which is durable when it ends.
    Sql {
        /// The numbers of rows
        #[arg(long, value_name = "COUNTS", value_delimiter = ',', default_values_t = [1_000_000], value_parser = clap::value_parser!(u64).range(1..))]
        count: Vec<u64>,

        #[command(flatten)]
        measuring: Measuring,

        /// Only workloads or queries that contain this text
        #[arg(value_name = "FILTER")]
        filter: Option<String>,
    },

    /// Store users and orders, and query them with ZiQL
    ///
    /// Prints, per data set and size: the time to store all of it durably, the size on disk, then
    /// each query as mean ± standard deviation, minimum and maximum. Read counts entities
    /// examined by a filter without a match; Write counts entities stored durably; DELETE runs on
    /// a fresh copy each time.
    Ziql {
        /// The numbers of users, one report each
        #[arg(long, value_name = "COUNTS", value_delimiter = ',', default_values_t = [5_000, COUNT, 1_000_000])]
        users: Vec<u64>,

        /// The data sets
        #[arg(long, value_enum, value_name = "SETS", value_delimiter = ',', default_values_t = [DataSet::Few, DataSet::Many])]
        data: Vec<DataSet>,

        /// The numbers of sessions that examine all users at once, one figure each
        #[arg(long, value_name = "COUNTS", value_delimiter = ',', default_values_t = [1])]
        threads: Vec<usize>,

        #[command(flatten)]
        measuring: Measuring,

        /// Only workloads or queries that contain this text
        #[arg(value_name = "FILTER")]
        filter: Option<String>,
    },
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<ExitCode, Failure> {
    let (measuring, filter) = match &arguments.suite {
        None => (&arguments.measuring, None),
        Some(
            Suite::Documents { measuring, filter, .. }
            | Suite::Sql { measuring, filter, .. }
            | Suite::Ziql { measuring, filter, .. },
        ) => (measuring, filter.as_deref()),
    };
    let folder = measuring.folder.clone().unwrap_or_else(std::env::temp_dir);
    let plan = Plan { repetitions: measuring.repetitions, filter, folder: &folder };
    let measured = match &arguments.suite {
        None => all(plan, console)?,
        Some(Suite::Documents { count, lookups, .. }) => {
            bench::documents(plan, count, *lookups, console)?
        }
        Some(Suite::Sql { count, .. }) => bench::sql(plan, count, console)?,
        Some(Suite::Ziql { users, data, threads, .. }) => {
            bench::ziql(plan, &Entities { users, sets: data, threads }, console)?
        }
    };
    if let Some(path) = &measuring.json {
        fs::write(path, format!("{measured:#}\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn all(plan: Plan<'_>, console: &Console) -> Result<serde_json::Value, Failure> {
    let entities = Entities { users: &[COUNT], sets: &[DataSet::Many], threads: &[1] };
    Ok(serde_json::json!({
        "documents": bench::documents(plan, &[COUNT], 1_000, console)?,
        "sql": bench::sql(plan, &[COUNT], console)?,
        "ziql": bench::ziql(plan, &entities, console)?,
    }))
}
