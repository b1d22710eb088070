//! Merges and renders results.
//!
//! ```text
//! report merge <out.json> <part.json>...
//! report render <results.json> <docs directory> [README.md]
//! report pool <directory of a JSON per policy> <docs directory>
//! report tables <results.json> <docs directory>
//! report sql <results.json> <docs directory>
//! report ziql <results.json> <docs directory>
//! report tpch <results.json> <docs directory>
//! report asking <results.json> <docs directory>
//! ```
//!
//! Beside `NAME.json`, `NAME.notes.md` holds what people have to say about the run.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use folio_bench_report::results::Results;
use folio_bench_report::{
    PolicyRun, Result, asking_page, document, insert, overview, page, png, pool_chart, pool_page,
    sql_page, table_page, tpch_page, ziql_page,
};

const USAGE: &str = "usage: report merge <out.json> <part.json>...\n       \
                     report render <results.json> <docs directory> [README.md]\n       \
                     report pool <directory of a JSON per policy> <docs directory>\n       \
                     report tables <results.json> <docs directory>\n       \
                     report sql <results.json> <docs directory>\n       \
                     report ziql <results.json> <docs directory>\n       \
                     report tpch <results.json> <docs directory>\n       \
                     report asking <results.json> <docs directory>";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["merge", out, first, ref parts @ ..] => merge(Path::new(out), Path::new(first), parts),
        ["render", results, docs] => render(Path::new(results), Path::new(docs)),
        ["render", results, docs, readme] => render(Path::new(results), Path::new(docs))
            .and_then(|()| claim(Path::new(results), Path::new(readme))),
        ["pool", results, docs] => pool(Path::new(results), Path::new(docs)),
        ["tables", results, docs] => written(results, docs, "tables.md", table_page),
        ["sql", results, docs] => written(results, docs, "sql.md", sql_page),
        ["ziql", results, docs] => written(results, docs, "ziql.md", ziql_page),
        ["tpch", results, docs] => written(results, docs, "tpch.md", tpch_page),
        ["asking", results, docs] => written(results, docs, "asking.md", asking_page),
        _ => Err(USAGE.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn merge(out: &Path, first: &Path, parts: &[&str]) -> Result<()> {
    let mut results = Results::read(first)?;
    for part in parts {
        results.merge(Results::read(Path::new(part))?)?;
    }
    results.write(out)
}

/// Writes the pages and the picture.
fn render(results_path: &Path, docs: &Path) -> Result<()> {
    let results = Results::read(results_path)?;
    let name = results_path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("results");
    fs::create_dir_all(docs)?;
    let notes = fs::read_to_string(results_path.with_extension("notes.md")).unwrap_or_default();
    fs::write(docs.join("documents.md"), document(&results, name, &notes))?;
    fs::write(docs.join("documents.html"), page(&results))?;
    fs::write(docs.join("documents.png"), png(&overview(&results))?)?;
    println!("rendered {} into {}", results_path.display(), docs.display());
    Ok(())
}

/// Writes the page and the chart of the buffer pool.
fn pool(directory: &Path, docs: &Path) -> Result<()> {
    let mut runs = Vec::new();
    for policy in ["lru", "clock", "sieve", "s3_fifo"] {
        let json = fs::read_to_string(directory.join(policy).with_extension("json"))?;
        runs.push(PolicyRun::parse(policy, &json)?);
    }
    let machine = fs::read_to_string(directory.join("machine.txt")).unwrap_or_default();
    fs::create_dir_all(docs)?;
    fs::write(docs.join("buffer_pool.md"), pool_page(&runs, machine.trim()))?;
    fs::write(docs.join("buffer_pool.png"), png(&pool_chart(&runs))?)?;
    println!("rendered {} into {}", directory.display(), docs.display());
    Ok(())
}

/// Writes a page that is made of results, their name and their notes.
fn written(
    results: &str,
    docs: &str,
    file: &str,
    page: impl Fn(&Results, &str, &str) -> String,
) -> Result<()> {
    let (results_path, docs) = (Path::new(results), Path::new(docs));
    let results = Results::read(results_path)?;
    let name = results_path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("results");
    let notes = fs::read_to_string(results_path.with_extension("notes.md")).unwrap_or_default();
    fs::create_dir_all(docs)?;
    fs::write(docs.join(file), page(&results, name, &notes))?;
    println!("rendered {} into {}", results_path.display(), docs.display());
    Ok(())
}

/// Renews the claims in the README.
fn claim(results_path: &Path, readme: &Path) -> Result<()> {
    let results = Results::read(results_path)?;
    let text = fs::read_to_string(readme)?;
    fs::write(readme, insert(&text, &results)?)?;
    println!("renewed the claims in {}", readme.display());
    Ok(())
}
