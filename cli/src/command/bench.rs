//! `folio bench`: measures this machine.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::bench::{self, DataSet, Plan};
use crate::console::Console;
use crate::failure::Failure;

/// Measure the speed of this machine
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    suite: Suite,
}

const EXAMPLES: &str = "\
Examples:
  $ folio bench ziql --users 2000 --repetitions 3
  $ folio bench ziql --users 2000 --data many --threads 1,4 'GRAB Order'";

#[derive(Debug, Subcommand)]
enum Suite {
    /// Store users and orders, and query them with ZiQL
    ///
    /// Prints, per data set and size: the time to store all of it durably, the size on disk, then
    /// each query as mean ± standard deviation, minimum and maximum. Read counts entities
    /// examined by a filter without a match; Write counts entities stored durably; DELETE runs on
    /// a fresh copy each time.
    Ziql {
        /// The numbers of users, one report each
        #[arg(long, value_name = "COUNTS", value_delimiter = ',', default_values_t = [5_000, 100_000, 1_000_000])]
        users: Vec<u64>,

        /// The data sets
        #[arg(long, value_enum, value_name = "SETS", value_delimiter = ',', default_values_t = [DataSet::Few, DataSet::Many])]
        data: Vec<DataSet>,

        /// The numbers of sessions that examine all users at once, one figure each
        #[arg(long, value_name = "COUNTS", value_delimiter = ',', default_values_t = [1])]
        threads: Vec<usize>,

        /// The number of runs of each query
        #[arg(long, value_name = "COUNT", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
        repetitions: u32,

        /// Write the measurements to a file, as JSON
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,

        /// The folder where the databases are created and removed; by default the folder for
        /// temporary files
        #[arg(long, value_name = "FOLDER")]
        folder: Option<PathBuf>,

        /// Only queries that contain this text
        #[arg(value_name = "FILTER")]
        filter: Option<String>,
    },
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<ExitCode, Failure> {
    let Suite::Ziql { users, data, threads, repetitions, json, folder, filter } = &arguments.suite;
    let folder = folder.clone().unwrap_or_else(std::env::temp_dir);
    let plan = Plan {
        users,
        sets: data,
        threads,
        repetitions: *repetitions,
        filter: filter.as_deref(),
        folder: &folder,
    };
    let measured = bench::ziql(&plan, console)?;
    if let Some(path) = json {
        fs::write(path, format!("{measured:#}\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}
