//! The claims in the README: a short table between two markers, from the
//! results file and nowhere else.

use crate::Result;
use crate::results::Results;

use crate::markdown::grid;
use crate::tables;

const BEGIN: &str = "<!-- bench:begin -->";
const END: &str = "<!-- bench:end -->";

/// The README with the block between its markers renewed.
///
/// # Errors
/// When the markers are not there, in this order, once each.
pub fn insert(readme: &str, results: &Results) -> Result<String> {
    let markers = |marker| readme.matches(marker).count();
    if (markers(BEGIN), markers(END)) != (1, 1) {
        return Err(format!("the README needs one {BEGIN} and one {END}").into());
    }
    let (before, rest) = readme.split_once(BEGIN).unwrap_or_default();
    let Some((_, after)) = rest.split_once(END) else {
        return Err(format!("in the README {END} stands before {BEGIN}").into());
    };
    Ok(format!("{before}{BEGIN}\n{}{END}{after}", block(results)))
}

/// The bars without their verdicts: what a user of the library wants to know.
fn block(results: &Results) -> String {
    let mut table = tables::bars(results);
    // What, ours, against, ratio.
    table.columns = [0, 2, 3, 4].map(|column| table.columns[column]).to_vec();
    table.columns[0] = "100,000 documents of 200 bytes";
    table.rows.retain(|row| !row[1].is_empty() && !row[3].is_empty() && row[4] != "-");
    for row in &mut table.rows {
        *row = [0, 2, 3, 4].map(|column| row[column].clone()).to_vec();
    }
    let machine = &results.machine;
    format!(
        "{}\nMeasured {} on {} cores of {}, {}; \
         [method, machine and every sample](docs/benchmarks/documents.md).\n",
        grid(&table),
        results.taken.split('T').next().unwrap_or_default(),
        machine.cores,
        machine.cpu,
        machine.file_system
    )
}
