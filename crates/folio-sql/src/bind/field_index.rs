//! Binds CREATE INDEX of a collection: fields, and the condition of a partial index.
//!
//! A condition is stored as comparisons of fields with literals, so it means the same whatever types
//! the fields have later. Everything else is refused by name. A field need not be in any document yet.

use std::sync::Arc;

use folio_compute::{Error, Result};
use folio_engine::Limits;
use folio_engine::bound::Statement;
use folio_engine::source::{
    Comparison, FieldCondition, FieldIndex, FieldTest, IndexMethod, Literal, Relation,
};
use sqlparser::ast::{self, Spanned};

use super::{last_name, operator, unsupported};
use crate::parse::parse;
use crate::place::Place;
use crate::tokens::ALL_FIELDS;

const HELP: &str = "compare fields with literals, and join comparisons by AND";

/// Binds CREATE INDEX of a collection.
pub(super) fn bind(create: &ast::CreateIndex, collection: Arc<Relation>) -> Result<Statement> {
    let known = |path: &mut Vec<String>| {
        if let Some(own) = collection.column_index(&path[0]) {
            path[0].clone_from(&collection.schema.columns[own].name);
        }
    };
    let method = method(create)?;
    let columns = match method == IndexMethod::Columns && is_of_all(create) {
        true => &[],
        false => &create.columns[..],
    };
    let fields = columns.iter().map(|column| {
        let mut field = unsupported::index_field(column)?;
        known(&mut field.path);
        Ok(field)
    });
    let fields = fields.collect::<Result<Vec<_>>>()?;
    let mut conditions = Vec::new();
    if let Some(predicate) = &create.predicate {
        read(predicate, &mut conditions)?;
    }
    conditions.iter_mut().for_each(|condition| known(&mut condition.path));
    let name = create.name.as_ref().map(last_name).transpose()?.map(|(name, _)| name);
    let index = FieldIndex { name, method, fields, unique: create.unique, conditions };
    Ok(Statement::CreateFieldIndex { collection, index, if_not_exists: create.if_not_exists })
}

/// Whether an index of columns names none.
pub(super) fn is_of_all(create: &ast::CreateIndex) -> bool {
    let [column] = &create.columns[..] else { return false };
    matches!(&column.column.expr, ast::Expr::Identifier(name) if name.value == ALL_FIELDS)
}

/// The kind of an index.
fn method(create: &ast::CreateIndex) -> Result<IndexMethod> {
    match &create.using {
        Some(using) if unsupported::is_columns(using) => Ok(IndexMethod::Columns),
        Some(using) => unsupported::index_type(using).map(|()| IndexMethod::Fields),
        None => Ok(IndexMethod::Fields),
    }
}

/// The conditions of a partial index, from the text after its WHERE.
///
/// # Errors
/// `syntax`; `unsupported` for what is not a comparison of a field with a literal.
pub fn field_conditions(condition: &str) -> Result<Vec<FieldCondition>> {
    // On its own line, so that a comment in the condition cannot hide the parenthesis.
    let text = format!("create index on c (c) where (\n{condition}\n)");
    let parsed = parse(&text, &Limits::default())?;
    let [ast::Statement::CreateIndex(ast::CreateIndex { predicate: Some(predicate), .. })] =
        &parsed.statements[..]
    else {
        return Err(Error::syntax("the condition of an index is one expression"));
    };
    let mut conditions = Vec::new();
    read(predicate, &mut conditions)?;
    Ok(conditions)
}

/// Appends the conditions of an expression.
fn read(expression: &ast::Expr, out: &mut Vec<FieldCondition>) -> Result<()> {
    use ast::Expr as Sql;
    let refused = || Err(refusal(expression));
    let mut push = |side: &ast::Expr, test: FieldTest| match unsupported::path(side) {
        Some(path) => {
            out.push(FieldCondition { path, test });
            Ok(())
        }
        None => Err(refusal(side)),
    };
    let truth = |truth| FieldTest::Compare(Comparison::Equal, Literal::Boolean(truth));
    match expression {
        Sql::Nested(inner) => read(inner, out),
        Sql::BinaryOp { left, op: ast::BinaryOperator::And, right } => {
            read(left, out)?;
            read(right, out)
        }
        Sql::BinaryOp { left, op, right } => {
            let comparison = operator::comparison(op).filter(|comparison| {
                !matches!(comparison, Comparison::Distinct | Comparison::NotDistinct)
            });
            let Some(comparison) = comparison else { return refused() };
            match unsupported::path(left) {
                Some(_) => push(left, FieldTest::Compare(comparison, literal(right)?)),
                None => push(right, FieldTest::Compare(comparison.mirrored(), literal(left)?)),
            }
        }
        Sql::IsNull(side) => push(side, FieldTest::Null),
        Sql::IsNotNull(side) => push(side, FieldTest::NotNull),
        Sql::Identifier(_) | Sql::CompoundIdentifier(_) => push(expression, truth(true)),
        Sql::IsTrue(side) => push(side, truth(true)),
        Sql::IsFalse(side) | Sql::UnaryOp { op: ast::UnaryOperator::Not, expr: side } => {
            push(side, truth(false))
        }
        Sql::InList { expr, list, negated: false } => {
            push(expr, FieldTest::OneOf(list.iter().map(literal).collect::<Result<_>>()?))
        }
        Sql::Between { expr, negated: false, low, high } => {
            push(expr, FieldTest::Compare(Comparison::GreaterOrEqual, literal(low)?))?;
            push(expr, FieldTest::Compare(Comparison::LessOrEqual, literal(high)?))
        }
        _ => refused(),
    }
}

/// A text, number or boolean.
fn literal(expression: &ast::Expr) -> Result<Literal> {
    use ast::Value as Sql;
    match expression {
        ast::Expr::Nested(inner) => literal(inner),
        ast::Expr::Value(value) => match &value.value {
            Sql::SingleQuotedString(text)
            | Sql::EscapedStringLiteral(text)
            | Sql::UnicodeStringLiteral(text) => Ok(Literal::Text(text.clone())),
            Sql::Boolean(truth) => Ok(Literal::Boolean(*truth)),
            Sql::Number(digits, _) => number(digits).ok_or_else(|| refusal(expression)),
            Sql::Null => Err(unsupported_here("a comparison with NULL", expression)
                .help("write IS NULL or IS NOT NULL")),
            _ => Err(refusal(expression)),
        },
        ast::Expr::UnaryOp { op: ast::UnaryOperator::Minus, expr } => match literal(expr)? {
            Literal::Number(digits) if !digits.starts_with('-') => {
                Ok(Literal::Number(format!("-{digits}")))
            }
            _ => Err(refusal(expression)),
        },
        other => Err(refusal(other)),
    }
}

/// A decimal number as JSON writes it.
fn number(digits: &str) -> Option<Literal> {
    let is_decimal = digits.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
    let (whole, rest) = digits.split_at(digits.find(['.', 'e', 'E']).unwrap_or(digits.len()));
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let (fraction, exponent) = rest.split_at(rest.find(['e', 'E']).unwrap_or(rest.len()));
    let fraction = if fraction == "." { "" } else { fraction };
    (is_decimal && digits.parse::<f64>().is_ok())
        .then(|| Literal::Number(format!("{whole}{fraction}{exponent}")))
}

/// The error for an expression that no condition of an index has.
fn refusal(expression: &ast::Expr) -> Error {
    use ast::Expr as Sql;
    let what = match expression {
        Sql::Subquery(_) | Sql::Exists { .. } | Sql::InSubquery { .. } => "a subquery".to_owned(),
        Sql::Value(value) if matches!(value.value, ast::Value::Placeholder(_)) => {
            "a parameter".to_owned()
        }
        Sql::Function(function) => format!("the function {}", function.name),
        Sql::BinaryOp { op: ast::BinaryOperator::Or, .. } => "OR".to_owned(),
        Sql::BinaryOp { op, .. } => format!("the operator {op}"),
        Sql::Like { .. } | Sql::ILike { .. } | Sql::SimilarTo { .. } => "a pattern".to_owned(),
        Sql::Identifier(_) | Sql::CompoundIdentifier(_) => "a comparison of two fields".to_owned(),
        _ => "this expression".to_owned(),
    };
    unsupported_here(&what, expression).help(HELP)
}

fn unsupported_here(what: &str, expression: &ast::Expr) -> Error {
    Error::unsupported(format!("{what} in the condition of an index is not supported"))
        .at(expression.span().to_span())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let quoted = |name: &str| name.to_owned();
        match field_conditions(text) {
            Ok(all) => {
                let all: Vec<String> = all.iter().map(|one| one.to_sql(&quoted)).collect();
                all.join(" AND ")
            }
            Err(error) => error.message().to_owned(),
        }
    }

    #[test]
    fn conditions_are_comparisons_with_literals() {
        for (text, expected) in [
            ("active", "active = true"),
            ("not active", "active = false"),
            ("a.b is true and (n > 5 and 7 >= m)", "a.b = true AND n > 5 AND m <= 7"),
            ("x between -1.50 and .5", "x >= -1.50 AND x <= 0.5"),
            ("s in ('a', 'it''s') and t <> ''", "s IN ('a', 'it''s') AND t <> ''"),
            ("n is null and m is not null -- all", "n IS NULL AND m IS NOT NULL"),
            ("a = 007", "a = 7"),
        ] {
            assert_eq!(shown(text), expected);
        }
        for (text, what) in [
            ("a = 1 or b = 2", "OR"),
            ("a < now()", "the function now"),
            ("a = (select 1)", "a subquery"),
            ("a in (select 1)", "a subquery"),
            ("exists (select 1)", "a subquery"),
            ("a = ?", "a parameter"),
            ("a = $1", "a parameter"),
            ("a = b", "a comparison of two fields"),
            ("a like 'x%'", "a pattern"),
            ("a + 1 = 2", "the operator +"),
            ("a = null", "a comparison with NULL"),
            ("a is distinct from 1", "this expression"),
            ("case when a then b end", "this expression"),
        ] {
            let expected = format!("{what} in the condition of an index is not supported");
            assert_eq!(shown(text), expected, "{text}");
        }
        assert!(field_conditions("a = 1); drop table t; select (1").is_err());
        assert!(field_conditions("").is_err());
    }
}
