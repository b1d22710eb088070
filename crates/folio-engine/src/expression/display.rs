//! Expressions as text, for EXPLAIN and for the names of columns.

use std::fmt;

use folio_compute::{cast, type_name};
use folio_types::{ColumnType, Value};

use super::{Expr, SubqueryKind};

/// Maximum number of values to show of a long list.
const SHOWN_MAX: usize = 20;

impl fmt::Display for Expr {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Column(column) => out.write_str(&column.name),
            Self::Outer(slot, _) => write!(out, "outer.{slot}"),
            Self::Literal { value, ty, .. } => out.write_str(&literal(value, ty)),
            Self::Parameter { index, .. } => write!(out, "${}", index + 1),
            Self::Cast { input, to, .. } => write!(out, "cast({input} as {})", type_name(to)),
            Self::Arithmetic { op, left, right, .. } => {
                write!(out, "({left} {} {right})", op.symbol())
            }
            Self::Compare { op, left, right } => write!(out, "({left} {} {right})", op.symbol()),
            Self::And(terms) => write!(out, "({})", joined(terms, " and ")),
            Self::Or(terms) => write!(out, "({})", joined(terms, " or ")),
            Self::Not(input) => match &**input {
                Self::IsNull(input) => write!(out, "({input} is not null)"),
                input => write!(out, "(not {input})"),
            },
            Self::IsNull(input) => write!(out, "({input} is null)"),
            Self::IsTrue(input) => write!(out, "({input} is true)"),
            Self::Case { branches, otherwise, .. } => {
                out.write_str("case")?;
                for (condition, result) in branches {
                    write!(out, " when {condition} then {result}")?;
                }
                if let Some(otherwise) = otherwise {
                    write!(out, " else {otherwise}")?;
                }
                out.write_str(" end")
            }
            Self::Coalesce(terms, _) => write!(out, "coalesce({})", list(terms)),
            Self::InList { input, list: terms } => write!(out, "({input} in ({}))", list(terms)),
            Self::InSet { input, set } => {
                let values = set.values.iter().map(|value| literal(value, &set.ty));
                write!(out, "({input} in ({}))", first_of(values))
            }
            Self::Match { kind, input, pattern, .. } => {
                write!(out, "({input} {} {pattern})", kind.symbol())
            }
            Self::Function { function, arguments, .. } => {
                write!(out, "{}({})", function.name, list(arguments))
            }
            Self::Subquery(subquery) => match subquery.kind {
                SubqueryKind::Exists => write!(out, "exists(query {})", subquery.number),
                _ => write!(out, "(query {})", subquery.number),
            },
        }
    }
}

fn literal(value: &Value, ty: &ColumnType) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Boolean(_) | Value::Integer(_) | Value::Float(_) | Value::Decimal(_) => {
            cast::format(value, ty)
        }
        value => format!("'{}'", cast::format(value, ty).replace('\'', "''")),
    }
}

/// Expressions and the like, with commas between.
pub(crate) fn list(items: &[impl ToString]) -> String {
    joined(items, ", ")
}

/// The types of expressions, likewise.
pub(crate) fn types_of(expressions: &[Expr]) -> String {
    let names: Vec<String> = expressions.iter().map(|own| type_name(&own.ty())).collect();
    list(&names)
}

/// The same of a long list, cut.
pub(crate) fn first_of(items: impl ExactSizeIterator<Item = impl ToString>) -> String {
    let count = items.len();
    let shown: Vec<_> = items.take(SHOWN_MAX).collect();
    match count - shown.len() {
        0 => list(&shown),
        more => format!("{} and {more} more", list(&shown)),
    }
}

pub(crate) fn joined(items: &[impl ToString], between: &str) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(between)
}
