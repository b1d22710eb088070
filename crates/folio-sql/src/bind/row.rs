//! Binds rows as values: constructors `(a, b)` and `ROW(a, b)`, or a row of a table, `t`.
//!
//! Two row constructors compare value by value. IS NULL of one tests its values. As a value, a row
//! is a struct.

use std::sync::Arc;

use folio_compute::{Error, Result, Span, type_name};
use folio_engine::expression::coerce::resolve_type;
use folio_engine::expression::{Column, ColumnId, Expr, Function, SubqueryKind};
use folio_engine::make_unique;
use folio_engine::plan::logical::Plan;
use folio_engine::plan::terms::JoinKind;
use folio_engine::source::Comparison;
use folio_types::{ColumnType, same_name};
use sqlparser::ast;

use super::Binder;
use super::expression::{negate_if, place};
use super::member::member;
use super::operator::{self, not};
use super::scope::{Item, OptionalRow, Scope, ScopeColumn};
use super::types::check_nesting;
use crate::tokens::ALL_FIELDS;

/// A side of a comparison.
pub(super) enum Side {
    Value(Expr),
    /// A row constructor.
    Row(Vec<Expr>),
}

/// Whether the syntax is a row constructor.
pub(super) fn is_row(syntax: &ast::Expr) -> bool {
    row_arguments(syntax).is_some()
}

/// The arguments of a row constructor.
fn row_arguments(syntax: &ast::Expr) -> Option<RowArguments<'_>> {
    match syntax {
        ast::Expr::Nested(inner) => row_arguments(inner),
        ast::Expr::Tuple(values) => Some(RowArguments::Values(values)),
        ast::Expr::Function(call) => match (&call.name.0[..], &call.args) {
            (
                [ast::ObjectNamePart::Identifier(name)],
                ast::FunctionArguments::List(ast::FunctionArgumentList { args, .. }),
            ) if name.quote_style.is_none() && name.value.eq_ignore_ascii_case("row") => {
                Some(RowArguments::Call(args))
            }
            _ => None,
        },
        _ => None,
    }
}

enum RowArguments<'s> {
    Values(&'s [ast::Expr]),
    Call(&'s [ast::FunctionArg]),
}

/// A struct of named values.
fn struct_of(fields: Vec<(String, Expr)>, span: Span) -> Expr {
    let (mut names, values): (Vec<String>, Vec<Expr>) = fields.into_iter().unzip();
    make_unique(&mut names);
    let (types, arguments) = names
        .into_iter()
        .zip(values)
        .map(|(name, value)| {
            let value = resolve_type(value);
            ((name, value.ty()), value)
        })
        .unzip();
    Expr::Function { function: Arc::new(Function::row(types)), arguments, span }
}

impl Binder<'_> {
    /// Binds the values of a row constructor.
    fn row_values(&mut self, syntax: &ast::Expr, scope: &Scope<'_>) -> Result<Option<Vec<Expr>>> {
        let mut values = Vec::new();
        match row_arguments(syntax) {
            None => return Ok(None),
            Some(RowArguments::Values(list)) => {
                for value in list {
                    values.push(self.expression(value, scope)?);
                }
            }
            Some(RowArguments::Call(list)) => {
                for argument in list {
                    values.extend(self.row_argument(argument, self.place(syntax), scope)?);
                }
            }
        }
        match values.is_empty() {
            true => Err(Error::invalid("a row has at least one value").at(place(syntax))),
            false => Ok(Some(values)),
        }
    }

    /// `a` or `t.*` in `ROW(…)`.
    fn row_argument(
        &mut self,
        argument: &ast::FunctionArg,
        span: Span,
        scope: &Scope<'_>,
    ) -> Result<Vec<Expr>> {
        use ast::FunctionArgExpr as Sql;
        match argument {
            ast::FunctionArg::Unnamed(Sql::Expr(value)) => Ok(vec![self.expression(value, scope)?]),
            ast::FunctionArg::Unnamed(Sql::QualifiedWildcard(name)) => {
                let (table, span) = super::last_name(name)?;
                let columns = table_columns(&table, scope).ok_or_else(|| absent(&table, span))?;
                Ok(columns.into_iter().map(|column| Expr::Column(column.column.clone())).collect())
            }
            other => Err(Error::unsupported(format!("a row does not take {other}")).at(span)),
        }
    }

    /// A row constructor as a value. Its fields are `f1`, `f2`, as in PostgreSQL.
    pub(super) fn row_value(&mut self, syntax: &ast::Expr, scope: &Scope<'_>) -> Result<Expr> {
        let values = self.row_values(syntax, scope)?.unwrap_or_default();
        let fields = values.into_iter().enumerate();
        let fields = fields.map(|(index, value)| (format!("f{}", index + 1), value));
        let (fields, span) = (fields.collect::<Vec<_>>(), self.place(syntax));
        fields.iter().try_for_each(|(_, value)| check_nesting(&value.ty(), span))?;
        Ok(struct_of(fields, span))
    }

    /// The row of a table in FROM; `None` if there is no such table.
    pub(super) fn whole_row(
        &mut self,
        table: &str,
        span: Span,
        scope: &Scope<'_>,
    ) -> Result<Option<Expr>> {
        let Some(columns) = table_columns(table, scope) else { return Ok(None) };
        let fields = columns
            .iter()
            .map(|column| (column.name.to_string(), Expr::Column(column.column.clone())));
        let row = struct_of(fields.collect(), span);
        let Some(side) = columns.iter().find_map(|column| column.optional.clone()) else {
            return Ok(Some(row));
        };
        // The row is built below the outer join, which makes it null for rows without a partner.
        let home = scope_of(table, scope).unwrap_or(scope);
        let mut rows = home.optional_rows.borrow_mut();
        let Some(rows) = rows.as_mut() else {
            let text =
                format!("the row of {table:?}, which a join may leave out, cannot be used here");
            return Err(Error::unsupported(text).at(span).help("name the columns"));
        };
        if let Some(known) = rows.iter().find(|known| known.row == row) {
            return Ok(Some(Expr::Column(known.column.clone())));
        }
        let column = self.column(table, row.ty());
        rows.push(OptionalRow { side, column: column.clone(), row });
        Ok(Some(Expr::Column(column)))
    }

    /// `t.*` as a value: the row of the table.
    pub(super) fn star_row(&mut self, name: &ast::ObjectName, scope: &Scope<'_>) -> Result<Expr> {
        let (table, span) = super::last_name(name)?;
        self.whole_row(&table, span, scope)?.ok_or_else(|| absent(&table, span))
    }

    /// `(row).*` in the SELECT list.
    pub(super) fn fields(&mut self, syntax: &ast::Expr, scope: &Scope<'_>) -> Result<Vec<Item>> {
        let (row, span) = (self.expression(syntax, scope)?, self.place(syntax));
        let ColumnType::Struct(fields) = row.ty() else {
            let ty = type_name(&row.ty());
            return Err(Error::mismatch(format!("a value of type {ty} has no fields"))
                .at(span)
                .help("name a table in the brackets: (t).*"));
        };
        let items = fields.iter().map(|(name, _)| {
            let expression = member(row.clone(), name, span)?;
            Ok(Item { name: name.clone(), expression, span, syntax: None })
        });
        items.collect()
    }

    /// `x IS [NOT] NULL`. For a row, it must hold for all values.
    pub(super) fn is_null(
        &mut self,
        syntax: &ast::Expr,
        negated: bool,
        scope: &Scope<'_>,
    ) -> Result<Expr> {
        let test = |value| negate_if(negated, Expr::IsNull(Box::new(value)));
        let values = match self.row_values(syntax, scope)? {
            Some(values) => values,
            None => {
                let bound = self.expression(syntax, scope)?;
                match table_named(syntax, scope) {
                    // A name means its table's row only if it is not a column.
                    Some(columns) if matches!(bound.ty(), ColumnType::Struct(_)) => {
                        columns.iter().map(|column| Expr::Column(column.column.clone())).collect()
                    }
                    _ => return Ok(test(bound)),
                }
            }
        };
        Ok(Expr::And(values.into_iter().map(test).collect()))
    }

    /// Binds a side of a comparison.
    pub(super) fn side(&mut self, syntax: &ast::Expr, scope: &Scope<'_>) -> Result<Side> {
        match self.row_values(syntax, scope)? {
            Some(values) => Ok(Side::Row(values)),
            None => Ok(Side::Value(self.expression(syntax, scope)?)),
        }
    }

    /// Binds both sides of a comparison. One may be a row and the other a query for a row.
    pub(super) fn sides(
        &mut self,
        left: &ast::Expr,
        right: &ast::Expr,
        span: Span,
        scope: &Scope<'_>,
    ) -> Result<(Side, Side)> {
        match (query_in(left), query_in(right)) {
            (None, Some(query)) if is_row(left) => {
                let row = self.row_values(left, scope)?.unwrap_or_default();
                let other = self.row_of(query, span, scope)?;
                check_length(row.len(), other.len(), span)?;
                Ok((Side::Row(row), Side::Row(other)))
            }
            (Some(query), None) if is_row(right) => {
                let row = self.row_values(right, scope)?.unwrap_or_default();
                let other = self.row_of(query, span, scope)?;
                check_length(row.len(), other.len(), span)?;
                Ok((Side::Row(other), Side::Row(row)))
            }
            _ => Ok((self.side(left, scope)?, self.side(right, scope)?)),
        }
    }

    /// The columns of a query that gives one row.
    pub(super) fn row_of(
        &mut self,
        query: &ast::Query,
        span: Span,
        scope: &Scope<'_>,
    ) -> Result<Vec<Expr>> {
        let mut named = self.query(query, Some(scope))?;
        let count = named.columns.len();
        let fields = named.columns.iter().enumerate();
        let fields = fields
            .map(|(index, (_, column))| (format!("f{}", index + 1), Expr::Column(column.clone())));
        let row = struct_of(fields.collect(), span);
        let ty = row.ty();
        let column = self.column("row", ty.clone());
        let outputs = vec![(column.clone(), row)];
        named.plan = Plan::Project { input: Box::new(named.plan), outputs };
        named.columns = vec![("row".to_owned(), column)];
        let row = self.subquery(SubqueryKind::Scalar, None, named, ty, span);
        (1..=count).map(|number| member(row.clone(), &format!("f{number}"), span)).collect()
    }

    /// The values for several columns: `(a, b) = ROW(1, 2)`, `(a, b) = (SELECT …)`
    pub(super) fn row_for(
        &mut self,
        row: &ast::Expr,
        count: usize,
        scope: &Scope<'_>,
    ) -> Result<Vec<Expr>> {
        let span = place(row);
        let values = match query_in(row) {
            Some(query) => self.row_of(query, span, scope)?,
            None => self.row_values(row, scope)?.ok_or_else(|| {
                Error::mismatch("several columns are set from a row or a query")
                    .at(span)
                    .help("write (a, b) = (1, 2)")
            })?,
        };
        match values.len() == count {
            true => Ok(values),
            false => {
                let given = values.len();
                Err(Error::invalid(format!("{count} columns are set from {given} values"))
                    .at(span)
                    .help("give a value for each"))
            }
        }
    }

    /// `(a, b) = (c, d)`, `(a, b) < (c, d)`, `(a, b) = (SELECT …)`
    pub(super) fn rows(
        &mut self,
        left: &ast::Expr,
        op: &ast::BinaryOperator,
        right: &ast::Expr,
        span: Span,
        scope: &Scope<'_>,
    ) -> Result<Expr> {
        let Some(comparison) = operator::comparison(op) else {
            return Err(Error::unsupported(format!("rows cannot be compared with {op}")).at(span));
        };
        let (left, right) = self.sides(left, right, span, scope)?;
        compare_sides(comparison, &left, &right, span)
    }

    /// `(a, b) IN ((1, 2), (3, 4))`
    pub(super) fn row_in_list(
        &mut self,
        row: &ast::Expr,
        list: &[ast::Expr],
        scope: &Scope<'_>,
    ) -> Result<Expr> {
        let row = self.side(row, scope)?;
        let equal = list.iter().map(|other| {
            let side = self.side(other, scope)?;
            compare_sides(Comparison::Equal, &row, &side, place(other))
        });
        Ok(Expr::Or(equal.collect::<Result<_>>()?))
    }
}

/// The row in `(row).*`.
pub(super) fn starred(syntax: &ast::Expr) -> Option<&ast::Expr> {
    match syntax {
        ast::Expr::CompoundFieldAccess { root, access_chain } => match &access_chain[..] {
            [ast::AccessExpr::Dot(ast::Expr::Identifier(name))] if name.value == ALL_FIELDS => {
                Some(root)
            }
            _ => None,
        },
        _ => None,
    }
}

/// The scope that contains a table.
fn scope_of<'s, 'p>(table: &str, scope: &'s Scope<'p>) -> Option<&'s Scope<'p>> {
    let is_its =
        |column: &ScopeColumn| column.table.as_deref().is_some_and(|own| same_name(own, table));
    if scope.columns.iter().any(is_its) {
        return Some(scope);
    }
    scope.parent.and_then(|parent| scope_of(table, parent))
}

/// The columns of a table in FROM, in this scope or an outer one.
fn table_columns<'s>(table: &str, scope: &'s Scope<'_>) -> Option<Vec<&'s ScopeColumn>> {
    let home = scope_of(table, scope)?;
    let is_its =
        |column: &&ScopeColumn| column.table.as_deref().is_some_and(|own| same_name(own, table));
    Some(home.columns.iter().filter(is_its).filter(|column| !column.unlisted).collect())
}

/// The columns of the table whose name the expression is.
fn table_named<'s>(syntax: &ast::Expr, scope: &'s Scope<'_>) -> Option<Vec<&'s ScopeColumn>> {
    match syntax {
        ast::Expr::Nested(inner) => table_named(inner, scope),
        ast::Expr::Identifier(name)
            if scope.find(None, &name.value, Span::NONE).ok()?.is_none() =>
        {
            table_columns(&name.value, scope)
        }
        _ => None,
    }
}

fn absent(table: &str, span: Span) -> Error {
    Error::not_found(format!("table {table:?} is not in the FROM clause")).at(span)
}

fn query_in(syntax: &ast::Expr) -> Option<&ast::Query> {
    match syntax {
        ast::Expr::Nested(inner) => query_in(inner),
        ast::Expr::Subquery(query) => Some(query),
        _ => None,
    }
}

/// Refuses a row and a query with different numbers of values.
pub(super) fn check_length(given: usize, there: usize, span: Span) -> Result<()> {
    match given == there {
        true => Ok(()),
        false => {
            let text =
                format!("a row of {given} values is compared with a query of {there} columns");
            Err(Error::invalid(text).at(span).help("select as many columns as the row has"))
        }
    }
}

/// Binds a comparison of values, or of rows.
pub(super) fn compare_sides(op: Comparison, left: &Side, right: &Side, span: Span) -> Result<Expr> {
    match (left, right) {
        (Side::Value(left), Side::Value(right)) => {
            operator::compare(op, left.clone(), right.clone(), span)
        }
        (Side::Row(left), Side::Row(right)) if left.len() == right.len() => {
            let pairs: Vec<_> = left.iter().cloned().zip(right.iter().cloned()).collect();
            rows_compare(op, &pairs, span)
        }
        (Side::Row(left), Side::Row(right)) => {
            let (left, right) = (left.len(), right.len());
            let text = format!("a row of {left} values is compared with one of {right}");
            Err(Error::invalid(text).at(span).help("give both the same number"))
        }
        (Side::Row(_), Side::Value(value)) | (Side::Value(value), Side::Row(_)) => {
            let ty = type_name(&value.ty());
            Err(Error::mismatch(format!("a row cannot be compared with a value of type {ty}"))
                .at(span)
                .help("write both as rows: (a, b) = (1, 2)"))
        }
    }
}

/// Compares rows lexicographically: the first pair that differs decides.
pub(super) fn rows_compare(op: Comparison, pairs: &[(Expr, Expr)], span: Span) -> Result<Expr> {
    use Comparison::{Distinct, Equal, Greater, GreaterOrEqual, Less, LessOrEqual};
    use Comparison::{NotDistinct, NotEqual};
    let all = |op: Comparison| -> Result<Expr> {
        let each = pairs
            .iter()
            .map(|(left, right)| operator::compare(op, left.clone(), right.clone(), span));
        Ok(Expr::And(each.collect::<Result<_>>()?))
    };
    let strict = match op {
        Equal | NotDistinct => return all(op),
        NotEqual => return Ok(not(all(Equal)?)),
        Distinct => return Ok(not(all(NotDistinct)?)),
        LessOrEqual => Less,
        GreaterOrEqual => Greater,
        other => other,
    };
    let Some(((left, right), rest)) = pairs.split_first() else {
        return Err(Error::invalid("a row has at least one value").at(span));
    };
    if rest.is_empty() {
        return operator::compare(op, left.clone(), right.clone(), span);
    }
    let decided = operator::compare(strict, left.clone(), right.clone(), span)?;
    let equal = operator::compare(Equal, left.clone(), right.clone(), span)?;
    Ok(Expr::Or(vec![decided, Expr::And(vec![equal, rows_compare(op, rest, span)?])]))
}

/// Builds the rows of tables on the optional side of outer joins, below the join.
///
/// # Errors
/// `unsupported` if the join is not found.
pub(super) fn make_optional_rows(plan: &mut Plan, scope: &Scope<'_>) -> Result<()> {
    for OptionalRow { side, column, row } in scope.optional_rows.take().unwrap_or_default() {
        if !make_row(plan, &side, &column, &row) {
            let name = &column.name;
            return Err(Error::unsupported(format!("the row of {name:?} cannot be used here"))
                .help("name the columns"));
        }
    }
    Ok(())
}

/// Adds a row as a column to a side of a join and passes it through everything above.
fn make_row(plan: &mut Plan, side: &[ColumnId], column: &Column, row: &Expr) -> bool {
    match plan {
        Plan::Join { kind, left, right, .. } => {
            let is_side = |input: &Plan, kinds: [JoinKind; 2]| {
                kinds.contains(kind) && input.column_ids() == side
            };
            let input = if is_side(right, [JoinKind::Left, JoinKind::Full]) {
                right
            } else if is_side(left, [JoinKind::Right, JoinKind::Full]) {
                left
            } else {
                return make_row(left, side, column, row) || make_row(right, side, column, row);
            };
            **input = input.take().with([(column.clone(), row.clone())]);
            true
        }
        Plan::Filter { input, .. } => make_row(input, side, column, row),
        Plan::Project { input, outputs } => {
            let is_made = make_row(input, side, column, row);
            if is_made {
                outputs.push(column.clone().passed_on());
            }
            is_made
        }
        _ => false,
    }
}
