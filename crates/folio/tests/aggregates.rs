//! Every aggregate with constants, columns and nulls, over groups, windows and the whole. The
//! result is the same for every source of the values, with the optimizer and without.

use std::error::Error;
use std::fmt::Write as _;

use folio::{Database, Level, Session};

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

const VALUES: [(&str, &[&str]); 15] = [
    ("boolean", &["true", "false"]),
    ("smallint", &["7", "-32768"]),
    ("integer", &["0", "-2147483648"]),
    ("bigint", &["3", "9223372036854775807"]),
    ("numeric(10,2)", &["1.50", "-0.07"]),
    ("numeric(38,0)", &["99999999999999999999999999999999999999"]),
    ("real", &["1.5", "NaN"]),
    ("double precision", &["0", "-1e308"]),
    ("text", &["abc", ""]),
    ("bytea", &["\\x00ff"]),
    ("json", &["{\"a\": [1, null]}", "2"]),
    ("date", &["2024-02-29"]),
    ("timestamptz", &["2024-02-29 12:30:15.25Z"]),
    ("interval", &["1 month 2 days 03:04:05"]),
    ("integer[]", &["{1,2,null}", "{}"]),
];

/// The aggregates; `{}` is their argument.
const CALLS: [&str; 44] = [
    "count({})",
    "count(distinct {})",
    "sum({})",
    "sum(distinct {})",
    "avg({})",
    "min({})",
    "max({})",
    "bool_and({})",
    "bool_or({})",
    "variance({})",
    "var_pop({})",
    "stddev({})",
    "stddev_pop({})",
    "string_agg({}, ',')",
    "string_agg('a', {})",
    "string_agg(distinct {}, '')",
    "array_agg({})",
    "array_agg({} ignore nulls)",
    "array_agg(distinct {})",
    "array_agg({} order by {} desc)",
    "json_agg({})",
    "json_object_agg({}, 1)",
    "json_object_agg('k', {})",
    "median({})",
    "percentile_cont(0.5) within group (order by {})",
    "percentile_disc(0.5) within group (order by {})",
    "mode() within group (order by {})",
    "approx_distinct({})",
    "any_value({})",
    "first({})",
    "bit_and({})",
    "bit_or({})",
    "product({})",
    "arg_max({}, {})",
    "arg_min({}, 1)",
    "arg_max(1, {})",
    "corr({}, {})",
    "covar_pop({}, 1)",
    "covar_samp(1, {})",
    "regr_count({}, {})",
    "regr_r2(1, {})",
    "sum({}) filter (where {} is not null)",
    "count(*) filter (where {} is null)",
    "max({}) filter (where null)",
];

/// Words of the libraries below, and their replacements.
const FOREIGN: [&str; 10] = [
    "arrow",
    "Arrow",
    "Array",
    "Utf8",
    "Int64",
    "Decimal128",
    "data type",
    "Invalid",
    "Cannot",
    "cannot be computed",
];

/// The result of a statement, or its error.
fn answer(session: &mut Session, text: &str) -> String {
    let rows = session.execute(text, &[]).and_then(|answer| {
        let mut rows = answer.rows.expect("a query has rows");
        Ok(rows.to_json()?)
    });
    rows.unwrap_or_else(|error| format!("! {}", error.to_string().lines().next().unwrap_or("")))
}

#[test]
fn aggregates_answer_the_same_for_constants_and_columns() -> Result {
    let folder = tempfile::tempdir()?;
    let database = Database::open(folder.path().join("data"))?;
    let mut session = database.session()?;
    session.execute("create table three (g int)", &[])?;
    session.execute("insert into three values (1), (1), (2)", &[])?;
    let (mut faults, mut count) = (String::new(), 0);
    for (ty, texts) in VALUES {
        for text in texts.iter().copied().map(Some).chain([None]) {
            let literal = text.map_or("null".to_owned(), |text| format!("'{text}'"));
            let literal = format!("({literal}::{ty})");
            session.execute("drop table if exists t", &[])?;
            session.execute(&format!("create table t (g int, c {ty})"), &[])?;
            session.execute(&format!("insert into t select g, {literal} from three"), &[])?;
            for call in CALLS {
                for form in [
                    "select # as a from @",
                    "select g, # as a from @ group by g order by g",
                    "select # over (partition by g) as a from @",
                ] {
                    let of = |value: &str, from: &str| {
                        form.replace('#', &call.replace("{}", value)).replace('@', from)
                    };
                    let constant = of(&literal, "three");
                    let column = of("c", "t");
                    let mut all = Vec::new();
                    for level in [Level::Full, Level::None] {
                        session.set_level(level);
                        all.push(answer(&mut session, &constant));
                        all.push(answer(&mut session, &column));
                    }
                    count += 1;
                    let is_foreign = |text: &String| {
                        text.starts_with('!') && FOREIGN.iter().any(|word| text.contains(word))
                    };
                    let is_refused = all.iter().filter(|text| text.starts_with('!')).count();
                    let is_same = all.iter().all(|other| *other == all[0]);
                    if all.iter().any(is_foreign) || (is_refused != all.len() && !is_same) {
                        let _ = writeln!(faults, "{constant}: {all:?}");
                    }
                }
            }
        }
    }
    assert!(count > 3_000, "{count} statements");
    assert!(faults.is_empty(), "\n{faults}");
    Ok(())
}
