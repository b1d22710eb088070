//! Tests every operator and function with constants, columns and nulls in every operand. The result
//! for a row must not depend on where its values come from, or whether it was folded. Every refusal
//! must be in our own words.

use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use folio_compute::array::{to_array, value_at};
use folio_compute::{Batch, Error, Evaluated, Result, cast};
use folio_engine::bind::Binding;
use folio_engine::expression::evaluate::evaluate;
use folio_engine::expression::fold::fold;
use folio_engine::expression::{Column, ColumnId, Expr, function};
use folio_engine::source::{FileReading, Reads, Relation, RowStream, ScanRequest, Source};
use folio_engine::{Context, Limits, Signature};
use folio_types::{ColumnType, Value, ValueRef};
use sqlparser::ast::{SelectItem, SetExpr, Statement};

use super::Binder;
use super::scope::{Allowed, Scope, ScopeColumn};
use super::stored::Stored;
use crate::parse::parse;

/// Types with two values each: the names of the types, and the values as text.
const OPERANDS: [(&str, [&str; 2]); 18] = [
    ("boolean", ["true", "false"]),
    ("smallint", ["7", "-32768"]),
    ("integer", ["0", "-2147483648"]),
    ("bigint", ["3", "9223372036854775807"]),
    ("numeric(38,0)", ["0", "-9999999999999999999999999999999999999"]),
    ("numeric(10,2)", ["1.50", "-0.07"]),
    ("real", ["1.5", "NaN"]),
    ("double precision", ["0", "-1e308"]),
    ("text", ["abc", "1"]),
    ("bytea", ["\\x00ff", "\\x"]),
    ("json", ["{\"a\": [1, null]}", "[2]"]),
    ("uuid", ["00000000-0000-0000-0000-000000000001", "ffffffff-ffff-ffff-ffff-ffffffffffff"]),
    ("date", ["2024-02-29", "0001-01-01"]),
    ("time", ["12:30:15.25", "00:00"]),
    ("timestamp", ["2024-02-29 12:30:15.25", "0001-01-01 00:00"]),
    ("timestamptz", ["2024-02-29 12:30:15.25Z", "1970-01-01 00:00Z"]),
    ("interval", ["1 month 2 days 03:04:05", "-1 day"]),
    ("integer[]", ["{1,2,null}", "{}"]),
];

/// Forms with one operand.
const UNARY: [&str; 15] = [
    "- {0}",
    "+ {0}",
    "~ {0}",
    "not {0}",
    "@ {0}",
    "|/ {0}",
    "{0} is null",
    "{0} is not null",
    "{0} is true",
    "{0} is not false",
    "{0} is unknown",
    "abs(- {0})",
    "coalesce({0}, null)",
    "{0} in (null)",
    "array[{0}]",
];

/// Forms with two operands. `= any` is not among them: over constants it is a query, which these
/// tests do not run.
const BINARY: [&str; 48] = [
    "{0} + {1}",
    "{0} - {1}",
    "{0} * {1}",
    "{0} / {1}",
    "{0} % {1}",
    "{0} ^ {1}",
    "{0} & {1}",
    "{0} | {1}",
    "{0} # {1}",
    "{0} << {1}",
    "{0} >> {1}",
    "{0} = {1}",
    "{0} <> {1}",
    "{0} < {1}",
    "{0} <= {1}",
    "{0} > {1}",
    "{0} >= {1}",
    "{0} is distinct from {1}",
    "{0} is not distinct from {1}",
    "{0} and {1}",
    "{0} or {1}",
    "{0} || {1}",
    "{0} like {1}",
    "{0} not ilike {1}",
    "{0} similar to {1}",
    "{0} ~ {1}",
    "{0} !~* {1}",
    "{0} -> {1}",
    "{0} ->> {1}",
    "{0} #> {1}",
    "{0} #>> {1}",
    "{0} @> {1}",
    "{0} <@ {1}",
    "{0} && {1}",
    "{0} ? {1}",
    "{0}[{1}]",
    "{0} in ({1})",
    "{0} not in ({1}, null)",
    "nullif({0}, {1})",
    "coalesce({0}, {1})",
    "greatest({0}, {1})",
    "least({0}, {1})",
    "case {0} when {1} then 1 else 2 end",
    "case when {0} is null then {1} else {0} end",
    "row({0}, {1}) = row({1}, {0})",
    "array[{0}, {1}]",
    "({0}, {1}) in (({1}, {0}))",
    "{0} at time zone {1}",
];

/// Whether a form is null if any operand is: arithmetic, comparisons and patterns.
fn is_strict(form: &str) -> bool {
    BINARY[..17].contains(&form)
        || ["like", "~"].iter().any(|op| form == format!("{{0}} {op} {{1}}"))
}

/// Forms with three operands, of one type or of several.
const TERNARY: [&str; 8] = [
    "{0} between {1} and {2}",
    "{0} not between symmetric {1} and {2}",
    "{0} in ({1}, {2})",
    "{0} not in ({1}, {2}, null)",
    "coalesce({0}, {1}, {2})",
    "greatest({0}, {1}, {2})",
    "case when {0} = {1} then {2} end",
    "array[{0}, {1}, {2}]",
];

/// A list that is long enough to become a set, for every type.
const SET: &str =
    "{0} in ({1}, {1}, {1}, {1}, {1}, {1}, {1}, {1}, {1}, {1}, {1}, {1}, {1}, {1}, {1}, {1}, {2})";

/// Functions whose result changes with every call, or depends on the outside.
const VOLATILE: [&str; 10] = [
    "random",
    "gen_random_uuid",
    "uuid_v7",
    "now",
    "current_timestamp",
    "current_date",
    "current_time",
    "localtimestamp",
    "age",
    "repeat",
];

/// Words from errors of the libraries below, which must not appear.
const FOREIGN: [&str; 15] = [
    "arrow",
    "Arrow",
    "Array",
    "arrays of",
    "Utf8",
    "Int64",
    "Int32",
    "Float64",
    "Decimal128",
    "data type",
    "datatype",
    "Invalid",
    "Cannot",
    "internal",
    "cannot be computed",
];

struct Nowhere;

impl Source for Nowhere {
    fn version(&self, _: &Reads) -> u64 {
        0
    }
    fn refresh(&self, _: &str) -> Result<()> {
        Ok(())
    }
    fn relation(&self, _: &str) -> Result<Option<Arc<Relation>>> {
        Ok(None)
    }
    fn file(&self, _: &str, _: FileReading<'_>) -> Result<Arc<Relation>> {
        Err(Error::unsupported("there is no file"))
    }
    fn names(&self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }
    fn referrers(&self, _: &Relation) -> Result<Arc<[Arc<Relation>]>> {
        Ok(Arc::new([]))
    }
    fn row_count(&self, _: &Relation) -> Result<Option<u64>> {
        Ok(None)
    }
    fn get(
        &self,
        _: &Relation,
        _: &[ValueRef<'_>],
        _: &[usize],
        _: &mut Vec<Value>,
    ) -> Result<bool> {
        Ok(false)
    }
    fn scan_parts(
        &self,
        _: &Relation,
        _: &ScanRequest,
        _: usize,
    ) -> Result<Vec<Box<dyn RowStream>>> {
        Err(Error::unsupported("there are no rows"))
    }
}

/// A value with its type.
#[derive(Clone)]
struct Operand {
    type_name: &'static str,
    ty: ColumnType,
    value: Value,
    text: Option<&'static str>,
}

impl Operand {
    /// The literal without a type, if its place determines it.
    fn bare(&self) -> String {
        self.text.map_or_else(|| "null".to_owned(), |text| format!("('{text}')"))
    }

    /// The literal with its type.
    fn literal(&self) -> String {
        match self.text {
            Some(text) => format!("('{text}'::{})", self.type_name),
            None => format!("(null::{})", self.type_name),
        }
    }
}

/// The operands of a type, including null.
fn operands(type_name: &'static str) -> Vec<Operand> {
    let (_, texts) = OPERANDS.iter().find(|(name, _)| *name == type_name).unwrap();
    let ty = super::types::parse_type(type_name).unwrap();
    let operand = |text: Option<&'static str>| Operand {
        type_name,
        ty: ty.clone(),
        value: text.map_or(Value::Null, |text| cast::parse(text, &ty).unwrap()),
        text,
    };
    texts.iter().map(|text| operand(Some(text))).chain([operand(None)]).collect()
}

/// The result of an expression for a row, in a comparable form.
type Answer = std::result::Result<String, String>;

#[derive(Default)]
struct Run {
    /// The first fault of each form.
    faults: BTreeMap<String, String>,
    case_count: usize,
}

impl Run {
    fn fault(&mut self, form: &str, text: String) {
        self.faults.entry(form.to_owned()).or_insert(text);
    }

    /// Evaluates a form with all values of its operands' types, from all sources. Returns whether
    /// such an operation exists.
    fn form(&mut self, form: &str, types: &[&'static str]) -> bool {
        let mut tuples: Vec<Vec<Operand>> = vec![Vec::new()];
        for ty in types {
            let values = operands(ty);
            tuples = tuples
                .iter()
                .flat_map(|tuple| {
                    values.iter().map(|value| [&tuple[..], std::slice::from_ref(value)].concat())
                })
                .collect();
        }
        let all = (1usize << types.len()) - 1;
        let mut known = HashMap::new();
        for tuple in &tuples {
            let Some(one) = self.one_row(form, tuple, all, &mut known) else { return false };
            let has_null = tuple.iter().any(|operand| operand.text.is_none());
            // The other operand may be too large for the common type.
            let is_null = match &one {
                Ok(answer) => answer == "Null",
                Err(error) => error.contains("is out of range for type"),
            };
            if has_null && is_strict(form) && !is_null {
                self.fault(form, format!("of null: {one:?}"));
            }
            let nulls: Vec<Operand> = tuple
                .iter()
                .map(|operand| Operand { value: Value::Null, text: None, ..operand.clone() })
                .collect();
            for mask in 0..=all {
                let mixed: Vec<Operand> = (0..types.len())
                    .map(|at| if mask >> at & 1 == 1 { &nulls[at] } else { &tuple[at] }.clone())
                    .collect();
                let Some(other) = self.one_row(form, &mixed, all, &mut known) else { return false };
                let expected = [&one, &other, &one];
                // If the place determines the type, the operation may be a different one.
                let bare = answers(form, tuple, (mask, true), 3, true);
                if let Some(Err(error)) = bare
                    && FOREIGN.iter().any(|word| error.contains(word))
                {
                    self.fault(form, format!("bare, columns {mask:b}: {error}"));
                }
                for is_folded in [false, true] {
                    self.case_count += 1;
                    let found = answers(form, tuple, (mask, false), 3, is_folded);
                    self.compare(form, tuple, (mask, is_folded), &expected, found);
                }
            }
        }
        true
    }

    /// The result if all operands are columns of one row.
    fn one_row(
        &mut self,
        form: &str,
        tuple: &[Operand],
        all: usize,
        known: &mut HashMap<String, Answer>,
    ) -> Option<Answer> {
        let key: Vec<String> = tuple.iter().map(Operand::literal).collect();
        let key = key.join(" ");
        if let Some(answer) = known.get(&key) {
            return Some(answer.clone());
        }
        let answer = match answers(form, tuple, (all, false), 1, false)? {
            Ok(mut rows) => Ok(rows.remove(0)),
            Err(error) => Err(error),
        };
        known.insert(key, answer.clone());
        Some(answer)
    }

    fn compare(
        &mut self,
        form: &str,
        tuple: &[Operand],
        (mask, is_folded): (usize, bool),
        expected: &[&Answer; 3],
        found: Option<std::result::Result<Vec<String>, String>>,
    ) {
        let given: Vec<String> = tuple
            .iter()
            .enumerate()
            .map(|(at, operand)| {
                let kind = if mask >> at & 1 == 1 { "column " } else { "" };
                format!("{kind}{}", operand.literal())
            })
            .collect();
        let place = format!("{} [folded: {is_folded}]", given.join(", "));
        let failure = expected.iter().find_map(|answer| answer.as_ref().err());
        match (found, failure) {
            (None, _) => self.fault(form, format!("{place}: refused here, and not as columns")),
            (Some(Err(error)), failure) => {
                if FOREIGN.iter().any(|word| error.contains(word)) {
                    self.fault(form, format!("{place}: {error}"));
                } else if failure.is_none() {
                    self.fault(form, format!("{place}: {error}, and not as columns"));
                }
            }
            (Some(Ok(rows)), Some(failure)) => {
                self.fault(form, format!("{place}: {rows:?}, and as columns {failure}"));
            }
            (Some(Ok(rows)), None) => {
                let wanted: Vec<&String> = expected.iter().flat_map(|row| row.as_ref()).collect();
                // A constant has one result for all rows.
                let is_same = match &rows[..] {
                    [only] if mask == 0 => only == wanted[0],
                    rows => rows.iter().eq(wanted.iter().copied()),
                };
                if !is_same {
                    self.fault(form, format!("{place}: {rows:?}, and as columns {wanted:?}"));
                }
            }
        }
    }
}

/// The results of a form for each row; `None` if there is no such operation. Operands in the mask
/// are columns, whose second row is null; the others are constants.
fn answers(
    form: &str,
    tuple: &[Operand],
    (mask, is_bare): (usize, bool),
    row_count: usize,
    is_folded: bool,
) -> Option<std::result::Result<Vec<String>, String>> {
    let mut text = format!("select {form}");
    let (mut columns, mut arrays) = (Vec::new(), Vec::new());
    for (at, operand) in tuple.iter().enumerate() {
        let is_column = mask >> at & 1 == 1;
        let shown = match (is_column, is_bare) {
            (true, _) => format!("c{at}"),
            (false, true) => operand.bare(),
            (false, false) => operand.literal(),
        };
        text = text.replace(&format!("{{{at}}}"), &shown);
        if is_column {
            let values: Vec<&Value> = (0..row_count)
                .map(|row| if row == 1 { &Value::Null } else { &operand.value })
                .collect();
            let name: Arc<str> = format!("c{at}").into();
            let id = ColumnId(u32::try_from(columns.len()).unwrap());
            columns.push(ScopeColumn {
                table: None,
                name: Arc::clone(&name),
                column: Column { id, ty: operand.ty.clone(), name },
                hidden: false,
                unlisted: false,
                key: None,
                optional: None,
                twins: None,
            });
            arrays.push(to_array(values.into_iter(), &operand.ty).unwrap());
        }
    }
    let work = || {
        let mut expression = bound(&text, columns)?;
        if is_folded {
            fold(&mut expression);
        }
        let batch = Batch::new(arrays, row_count);
        Some(shown(&expression, &batch))
    };
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(answer) => answer,
        Err(_) => Some(Err(format!("internal: {text} panics"))),
    }
}

fn bound(text: &str, columns: Vec<ScopeColumn>) -> Option<Expr> {
    let parsed = parse(text, &Limits::default()).unwrap_or_else(|error| panic!("{text}: {error}"));
    let Some(Statement::Query(query)) = parsed.statements.first() else { return None };
    let SetExpr::Select(select) = &*query.body else { return None };
    let Some(SelectItem::UnnamedExpr(syntax)) = select.projection.first() else { return None };
    let (source, given) = (Nowhere, Signature::default());
    let mut binder = Binder::of(Binding::new(&source, &Stored, Limits::default()), &given);
    let scope = Scope::new(columns, None);
    scope.enter("a test", Allowed::Columns);
    let bound = binder.expression(syntax, &scope).ok()?;
    (!bound.has_subquery()).then_some(bound)
}

fn shown(expression: &Expr, batch: &Batch) -> std::result::Result<Vec<String>, String> {
    let ty = expression.ty();
    let answer = evaluate(expression, batch, &Context::detached());
    let answer = answer.map_err(|error| error.to_string())?;
    let array = answer.inner();
    let is_of_type = *array.data_type() == ty.to_arrow();
    let count = match &answer {
        Evaluated::Scalar(_) => 1,
        Evaluated::Array(_) => batch.row_count,
    };
    if !is_of_type || array.len() != count {
        let (found, rows) = (array.data_type(), array.len());
        return Err(format!("internal: {rows} rows of {found} for {count} of {ty:?}"));
    }
    let rows = if matches!(answer, Evaluated::Scalar(_)) && !batch.columns.is_empty() {
        vec![0; batch.row_count]
    } else {
        (0..count).collect()
    };
    Ok(rows.into_iter().map(|row| format!("{:?}", value_at(array, row, &ty))).collect())
}

#[test]
fn operators_answer_the_same_for_constants_and_columns() {
    let mut run = Run::default();
    let types = OPERANDS.map(|(name, _)| name);
    for ty in types {
        for form in UNARY {
            run.form(form, &[ty]);
        }
        for to in types {
            run.form(&format!("cast({{0}} as {to})"), &[ty]);
            run.form(&format!("try_cast({{0}} as {to})"), &[ty]);
            for form in BINARY {
                run.form(form, &[ty, to]);
            }
        }
        for form in TERNARY.iter().chain([&SET]) {
            run.form(form, &[ty, ty, ty]);
        }
    }
    finish(&run, 60_000);
}

#[test]
fn functions_answer_the_same_for_constants_and_columns() {
    let mut run = Run::default();
    let types = OPERANDS.map(|(name, _)| name);
    for (name, takes) in function::shapes() {
        if VOLATILE.contains(&name) {
            continue;
        }
        let choices: Vec<Vec<&'static str>> = takes
            .iter()
            .map(|one| match one.as_str() {
                "Text" => vec!["text"],
                "Integer" => vec!["bigint"],
                "Float" => vec!["double precision"],
                "Number" => vec!["integer", "numeric(10,2)", "double precision"],
                "Date" => vec!["date"],
                "Time" => vec!["time"],
                "Timestamp" => vec!["timestamp", "timestamptz"],
                "Interval" => vec!["interval"],
                "Bytes" => vec!["bytea"],
                "Json" => vec!["json"],
                "List" => vec!["integer[]"],
                "Element" => vec!["integer"],
                _ if takes.len() == 1 => types.to_vec(),
                _ => vec!["integer", "text", "json"],
            })
            .collect();
        for chosen in every(&choices) {
            let places: Vec<String> = (0..chosen.len()).map(|at| format!("{{{at}}}")).collect();
            run.form(&format!("{name}({})", places.join(", ")), &chosen);
        }
    }
    finish(&run, 20_000);
}

fn finish(run: &Run, count_min: usize) {
    assert!(run.case_count > count_min, "{} cases", run.case_count);
    let faults: Vec<String> =
        run.faults.iter().map(|(form, fault)| format!("{form}: {fault}")).collect();
    assert!(faults.is_empty(), "{} forms:\n{}", faults.len(), faults.join("\n"));
}

/// All combinations of one choice for each place.
fn every(choices: &[Vec<&'static str>]) -> Vec<Vec<&'static str>> {
    choices.iter().fold(vec![Vec::new()], |all, choices| {
        all.iter()
            .flat_map(|before| choices.iter().map(|choice| [&before[..], &[*choice]].concat()))
            .collect()
    })
}
