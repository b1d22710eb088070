//! ZiQL beside SQLite and DuckDB: a Markdown page with the bars that are to be met.

use std::fmt::Write as _;

use crate::results::{Results, Size, Timing};

/// What ZipponDB, where the language comes from, published for a question over a
/// million users of few names: milliseconds of processor time on one core.
struct Question {
    workload: &'static str,
    text: &'static str,
    zippon: Option<f64>,
    /// How much of the best of SQLite and ZipponDB may be taken.
    bar: f64,
}

const fn question(
    workload: &'static str,
    text: &'static str,
    zippon: Option<f64>,
    bar: f64,
) -> Question {
    Question { workload, text, zippon, bar }
}

const QUESTIONS: [Question; 14] = [
    question("few, load", "load, in one transaction", Some(5_729.0), 0.5),
    question("few, all", "`GRAB User {}`", Some(1_108.0), 0.5),
    question("few, no match", "`GRAB User {name = 'asd'}`", Some(225.0), 0.5),
    question("few, one", "`GRAB User [1] {}`", Some(0.10), 1.0),
    question("few, name", "`GRAB User [name] {}`", Some(475.0), 0.5),
    question("few, fifth", "`GRAB User {name = 'Charlie'}`", Some(445.0), 0.5),
    question("few, sixth", "`GRAB User {age = 32}`", None, 0.5),
    question("few, delete", "`DELETE User {}`, the ids answered", None, 0.5),
    question("many, load", "load with orders, in one transaction", None, 0.5),
    question("many, all", "`GRAB User {}`", None, 0.5),
    question("many, no match", "`GRAB User {name = 'asd'}`", None, 0.5),
    question("many, name", "`GRAB User [name] {}`", None, 0.5),
    question("many, sixth", "`GRAB User {age = 32}`", None, 0.5),
    question("many, orders", "`GRAB Order [from, items, quantity, at] {}`", None, 0.5),
];

/// The number of users whose figures ZipponDB published, and which the page is about.
const USERS: u64 = 1_000_000;

/// Megabytes of a million users that ZipponDB published.
const ZIPPON_SIZE: f64 = 60.0;

/// The page.
#[must_use]
pub fn ziql_page(results: &Results, name: &str, notes: &str) -> String {
    let machine = &results.machine;
    let mut page = format!(
        "# ZiQL beside SQLite and DuckDB\n\nMade from `bench/results/{name}.json` by `bench/ziql`; not edited by hand. {}, {} cores, {}, {}; taken {}.\n\n\
         Questions in, JSON out, one thread, everything in memory: milliseconds of processor time, medians. `few` has a million users with five names; in `many` every name\n\
         and email is there once, and every tenth user has an order. SQLite's rows are written as JSON by the same program; DuckDB writes its own (`COPY … TO`).\n\
         ZipponDB's figures are those it publishes, for `few`. The bar is against the better of SQLite and ZipponDB. Users of SQLite have numbers for ids, ours UUIDs.\n\n\
         | data | question | FolioDB | SQLite | DuckDB | ZipponDB | of the better | bar | |\n|---|---|---|---|---|---|---|---|---|\n",
        machine.cpu, machine.cores, machine.kernel, machine.file_system, results.taken
    );
    for Question { workload, text, zippon, bar } in QUESTIONS {
        let find = |system: &str| {
            let mut rows = results.timings.iter();
            let is_it = |row: &&Timing| row.workload == workload && row.system == system;
            rows.rfind(|row| is_it(row) && row.documents == USERS).map(milliseconds)
        };
        let (Some(ours), Some(sqlite)) = (find("FolioDB"), find("SQLite")) else { continue };
        let ratio = ours / zippon.map_or(sqlite, |zippon| zippon.min(sqlite));
        let verdict = if ratio <= bar { "met" } else { "**missed**" };
        let shown = |value: Option<f64>| value.map_or_else(String::new, amount);
        let (data, _) = workload.split_once(',').unwrap_or_default();
        let _ = writeln!(
            page,
            "| {data} | {text} | {} | {} | {} | {} | {ratio:.2}× | ≤ {bar}× | {verdict} |",
            amount(ours),
            amount(sqlite),
            shown(find("DuckDB")),
            shown(zippon),
        );
    }
    sizes(results, &mut page);
    others(results, &mut page);
    links(results, &mut page);
    let foreign = results.timings.iter().map(|row| row.foreign_cores).fold(0.0, f64::max);
    let _ = writeln!(page, "\nOthers kept up to {foreign:.2} cores busy meanwhile.");
    if !notes.is_empty() {
        let _ = writeln!(page, "\n{}", notes.trim_end());
    }
    page
}

fn sizes(results: &Results, page: &mut String) {
    for data in ["few", "many"] {
        let find = |system: &str| {
            let system = format!("{system}, {data}");
            let is_it = |size: &&Size| size.system == system && size.documents == USERS;
            let size = results.sizes.iter().rfind(is_it)?;
            Some(size.files_size as f64 / 1e6)
        };
        let (Some(ours), Some(sqlite)) = (find("FolioDB"), find("SQLite")) else { continue };
        let zippon = (data == "few").then_some(ZIPPON_SIZE);
        let ratio = ours / zippon.map_or(sqlite, |zippon| zippon.min(sqlite));
        let verdict = if ratio <= 1.0 { "met" } else { "**missed**" };
        let shown =
            |value: Option<f64>| value.map_or_else(String::new, |size| format!("{size:.0} MB"));
        let _ = writeln!(
            page,
            "| {data} | size on disk | {} | {} | {} | {} | {ratio:.2}× | ≤ 1× | {verdict} |",
            shown(Some(ours)),
            shown(Some(sqlite)),
            shown(find("DuckDB")),
            shown(zippon),
        );
    }
}

/// Fewer and more users: how much of SQLite's time is taken.
fn others(results: &Results, page: &mut String) {
    let users = results.timings.iter().filter(|row| row.workload == "few, load");
    let mut users: Vec<u64> = users.map(|row| row.documents).filter(|n| *n != USERS).collect();
    users.sort_unstable();
    users.dedup();
    if users.is_empty() {
        return;
    }
    let heads: String = users.iter().map(|users| format!(" {users} users |")).collect();
    let _ = write!(
        page,
        "\n## Fewer and more users\n\nOf SQLite's processor time, in brackets ours in milliseconds; **bold** is more than the bar.\n\n\
         | data | question | bar |{heads}\n|---|---|---|{}\n",
        "---|".repeat(users.len())
    );
    for Question { workload, text, bar, .. } in QUESTIONS {
        let (data, _) = workload.split_once(',').unwrap_or_default();
        let _ = write!(page, "| {data} | {text} | ≤ {bar}× |");
        for users in &users {
            let find = |system: &str| {
                let mut rows = results.timings.iter();
                let is_it = |row: &&Timing| row.workload == workload && row.system == system;
                rows.rfind(|row| is_it(row) && row.documents == *users).map(milliseconds)
            };
            let cell = find("FolioDB").zip(find("SQLite")).map_or_else(String::new, |both| {
                let (ours, ratio) = (amount(both.0), both.0 / both.1);
                let mark = if ratio <= bar { "" } else { "**" };
                format!("{mark}{ratio:.2}×{mark} ({ours})")
            });
            let _ = write!(page, " {cell} |");
        }
        page.push('\n');
    }
}

/// Links followed: milliseconds of one answer.
const LINKS: [(&str, &str); 2] = [
    ("links, first", "`GRAB Person [10; friends [1; name]]`"),
    ("links, all", "`GRAB Person [10; friends [name]]`"),
];

/// The bar of an answer that follows the links of ten: milliseconds.
const LINKS_BAR: f64 = 1.0;

fn links(results: &Results, page: &mut String) {
    let mut rows = String::new();
    for (workload, text) in LINKS {
        let is_ours = |row: &&Timing| row.workload == workload && row.system == "FolioDB";
        let mut all: Vec<&Timing> = results.timings.iter().filter(is_ours).collect();
        all.sort_by_key(|row| row.documents);
        for ours in all {
            let persons = ours.documents;
            let is_peer = |row: &&Timing| row.workload == workload && row.system == "SQLite";
            let mut peers = results.timings.iter().filter(is_peer);
            let Some(sqlite) = peers.find(|row| row.documents == persons) else { continue };
            let (ours, sqlite) = (milliseconds(ours), milliseconds(sqlite));
            let verdict = if ours < LINKS_BAR { "met" } else { "**missed**" };
            let (ratio, ours, sqlite) = (ours / sqlite, amount(ours), amount(sqlite));
            let _ = writeln!(
                rows,
                "| {persons} | {text} | {ours} | {sqlite} | {ratio:.2}× | < {LINKS_BAR} ms | {verdict} |"
            );
        }
    }
    if !rows.is_empty() {
        let _ = write!(
            page,
            "\n## Links followed\n\nEvery person has ten friends, spread over all persons. SQLite joins by the keys of its tables.\n\n\
             | persons | question | FolioDB | SQLite | ratio | bar | |\n|---|---|---|---|---|---|---|\n{rows}"
        );
    }
}

/// Processor time of one operation; of a load, of all of it.
fn milliseconds(row: &Timing) -> f64 {
    let mut times: Vec<u64> = row.samples.iter().map(|sample| sample.cpu_ns).collect();
    times.sort_unstable();
    let median = times.get(times.len() / 2).copied().unwrap_or_default() as f64 / 1e6;
    let is_whole = row.workload.ends_with(", load") || row.workload.ends_with(", delete");
    if is_whole { median } else { median / row.operations as f64 }
}

fn amount(milliseconds: f64) -> String {
    match milliseconds {
        _ if milliseconds >= 100.0 => format!("{milliseconds:.0}"),
        _ if milliseconds >= 1.0 => format!("{milliseconds:.1}"),
        _ => format!("{milliseconds:.4}"),
    }
}
