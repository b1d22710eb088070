//! The 22 queries, with the values that the specification validates with (TPC-H
//! standard specification 3.0.1, section 2.4), and the same in SQLite's dialect.

use tpchgen::q_and_a::queries;

/// What stands for `:1`, `:2`, … in each query.
const VALUES: [&[&str]; 22] = [
    &["90"],
    &["15", "BRASS", "EUROPE"],
    &["BUILDING", "1995-03-15"],
    &["1993-07-01"],
    &["ASIA", "1994-01-01"],
    &["1994-01-01", ".06", "24"],
    &["FRANCE", "GERMANY"],
    &["BRAZIL", "AMERICA", "ECONOMY ANODIZED STEEL"],
    &["green"],
    &["1993-10-01"],
    // The fraction is 0.0001 over the scale.
    &["GERMANY", "FRACTION"],
    &["MAIL", "SHIP", "1994-01-01"],
    &["special", "requests"],
    &["1995-09-01"],
    &["1996-01-01"],
    &["Brand#45", "MEDIUM POLISHED", "49", "14", "23", "45", "19", "3", "36", "9"],
    &["Brand#23", "MED BOX"],
    &["300"],
    &["Brand#12", "Brand#23", "Brand#34", "1", "10", "20"],
    &["forest", "1994-01-01", "CANADA"],
    &["SAUDI ARABIA"],
    &["13", "31", "23", "29", "30", "18", "17"],
];

/// Rows of those queries that are asked for the first ones only.
const LIMITS: [(i32, usize); 5] = [(2, 100), (3, 10), (10, 20), (18, 100), (21, 100)];

/// A query, its number from 1; with scale 1 the answers of the specification are its.
pub(crate) fn query(number: i32, scale: f64) -> String {
    let template = queries::query(number).expect("there are 22 queries");
    let mut text = template.trim().trim_end_matches(';').replace(" day (3)", " day");
    let values = VALUES[number as usize - 1];
    // From the last, so that `:10` is not taken for `:1`.
    for (index, value) in values.iter().enumerate().rev() {
        let value = value.replace("FRACTION", &format!("{:.10}", 0.0001 / scale));
        text = text.replace(&format!(":{}", index + 1), &value);
    }
    if number == 15 {
        text = as_common_table(&text);
    }
    match LIMITS.iter().find(|(limited, _)| *limited == number) {
        Some((_, limit)) => format!("{text}\nlimit {limit}"),
        None => text,
    }
}

/// Query 15 makes a view, asks, and drops it; the specification allows one statement.
fn as_common_table(text: &str) -> String {
    let text = text.replace("revenue:s", "revenue");
    let mut parts = text.split(';');
    let view = parts.next().unwrap_or_default().trim().replacen("create view", "with", 1);
    let ask = parts.next().unwrap_or_default();
    let (head, body) = view.split_once(" as").expect("the view has a query");
    format!("{head} as ({body})\n{}", ask.trim())
}

/// The same query in SQLite's dialect: dates are text there.
pub(crate) fn for_sqlite(text: &str) -> String {
    let mut text = text
        .replace("extract(year from l_shipdate)", "cast(substr(l_shipdate, 1, 4) as integer)")
        .replace("extract(year from o_orderdate)", "cast(substr(o_orderdate, 1, 4) as integer)")
        .replace("substring(c_phone from 1 for 2)", "substr(c_phone, 1, 2)");
    while let Some(start) = text.find("date '") {
        let (before, rest) = (&text[..start], &text[start + "date '".len()..]);
        let (day, rest) = rest.split_at(10);
        let rest = &rest[1..];
        let step = rest.strip_prefix(" + interval '").map(|rest| ("+", rest));
        let step = step.or_else(|| rest.strip_prefix(" - interval '").map(|rest| ("-", rest)));
        let (date, rest) = match step {
            Some((sign, rest)) => {
                let (count, rest) = rest.split_once("' ").expect("an interval has a unit");
                let unit = ["day", "month", "year"].into_iter().find(|unit| rest.starts_with(unit));
                let unit = unit.expect("an interval has a unit");
                (format!("date('{day}', '{sign}{count} {unit}')"), &rest[unit.len()..])
            }
            None => (format!("'{day}'"), rest),
        };
        text = format!("{before}{date}{rest}");
    }
    // Its floats put 0.07 outside of .06 + 0.01.
    text = text.replace("between .06 - 0.01 and .06 + 0.01", "between 0.05 and 0.07");
    // SQLite names the columns of a derived table in a common table alone.
    text.replace("count(o_orderkey)\n", "count(o_orderkey) as c_count\n")
        .replace("as c_orders (c_custkey, c_count)", "as c_orders")
}
