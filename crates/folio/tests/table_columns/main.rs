//! Columns indexes of tables: the same answers with and without, whatever happens to rows and files.

use std::path::Path;

use folio::{Database, Session};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn rows(session: &mut Session, text: &str) -> Result<Vec<String>> {
    let mut rows = session.execute(text, &[])?.rows.ok_or("it answers rows")?;
    Ok(rows.collect_rows()?.into_iter().map(|row| format!("{row:?}")).collect())
}

fn fill(session: &mut Session, count: usize) -> Result<()> {
    session.execute(
        "create table t (a bigint, b integer, c text, d numeric(15, 2), e date, primary key (a, b))",
        &[],
    )?;
    session.execute(
        &format!(
            "insert into t select i / 4, i % 4, 'text ' || (i % 100), i * 0.25, \
             date '2020-01-01' + (i % 1000)::int from generate_series(1, {count}) s (i)"
        ),
        &[],
    )?;
    Ok(())
}

#[test]
fn scans_read_columns() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path: &Path = folder.path();
    let mut session = Database::open(path.join("db"))?.session()?;
    fill(&mut session, 200_000)?;
    let text = "select c, count(*), sum(d), min(e), max(b) from t where b < 3 and d > 100.5 \
                group by c order by c";
    let before = rows(&mut session, text)?;
    session.execute("create index t_columns on t using columns", &[])?;
    println!("{}", rows(&mut session, &format!("explain {text}"))?.join("\n"));
    assert_eq!(rows(&mut session, text)?, before);
    Ok(())
}
