//! Binds expressions, by form of syntax.

use folio_compute::pattern::MatchKind;
use folio_compute::{Error, Result, Span, cast};
use folio_engine::expression::coerce::{self, coerce, unify_all};
use folio_engine::expression::{Expr, function};
use folio_engine::source::Comparison;
use folio_types::{ColumnType, ErrorCode, Value, same_name};
use sqlparser::ast::{self, Spanned};

use super::member::member;
use super::operator::{self, as_json, by_order, condition, not};
use super::quantified::Quantified;
use super::row::{Side, compare_sides, is_row};
use super::scope::{Allowed, Scope, ScopeColumn};
use super::types::{check_nesting, column_type};
use super::{Binder, refuse, unsupported};
use crate::dialect::SYMMETRIC;
use crate::place::Place;

impl Binder<'_> {
    /// Binds an expression.
    ///
    /// # Errors
    /// Unknown names, types that do not fit, unsupported forms; each with its place.
    pub(super) fn expression(&mut self, syntax: &ast::Expr, scope: &Scope<'_>) -> Result<Expr> {
        use ast::Expr as Sql;
        self.descend(|| begin(syntax))?;
        if scope.allowed.get() != Allowed::Columns
            && let Some(group) = scope.group_of(syntax)
        {
            return Ok(group);
        }
        match syntax {
            Sql::Identifier(name) => self.name(std::slice::from_ref(name), scope),
            Sql::CompoundIdentifier(names) => self.name(names, scope),
            Sql::Nested(inner) => self.expression(inner, scope),
            Sql::Value(value) => self.literal(value),
            Sql::BinaryOp { left, op, right } => self.binary(left, op, right, syntax, scope),
            Sql::UnaryOp { op, expr } => {
                let operand = self.expression(expr, scope)?;
                let span = match op {
                    ast::UnaryOperator::Not => Span::NONE,
                    _ => self.place_over(syntax, expr, &operand),
                };
                operator::unary(*op, operand, span)
            }
            Sql::IsNull(inner) => self.is_null(inner, false, scope),
            Sql::IsNotNull(inner) => self.is_null(inner, true, scope),
            Sql::IsTrue(inner) => self.truth(inner, false, false, scope),
            Sql::IsNotTrue(inner) => self.truth(inner, false, true, scope),
            Sql::IsFalse(inner) => self.truth(inner, true, false, scope),
            Sql::IsNotFalse(inner) => self.truth(inner, true, true, scope),
            Sql::IsUnknown(inner) => {
                Ok(Expr::IsNull(Box::new(condition(self.expression(inner, scope)?, "is unknown")?)))
            }
            Sql::IsNotUnknown(inner) => {
                let inner = condition(self.expression(inner, scope)?, "is not unknown")?;
                Ok(not(Expr::IsNull(Box::new(inner))))
            }
            Sql::IsDistinctFrom(left, right) => {
                self.comparison(Comparison::Distinct, left, right, syntax, scope)
            }
            Sql::IsNotDistinctFrom(left, right) => {
                self.comparison(Comparison::NotDistinct, left, right, syntax, scope)
            }
            Sql::Between { expr, negated, low, high } => {
                let between = self.between(expr, low, high, syntax, scope)?;
                Ok(negate_if(*negated, between))
            }
            Sql::InList { expr, list, negated } => {
                let found = self.in_list(expr, list, scope)?;
                Ok(negate_if(*negated, found))
            }
            Sql::Case { case_token: _, end_token: _, operand, conditions, else_result } => self
                .deeper(begin(syntax), |binder| {
                    binder.case(operand.as_deref(), conditions, else_result.as_deref(), scope)
                }),
            Sql::Cast { kind, expr, data_type, format } => {
                refuse(format.is_some(), "FORMAT of a cast")
                    .map_err(|error| error.at(place(syntax)).help("use to_char and strftime"))?;
                let is_try = matches!(kind, ast::CastKind::TryCast | ast::CastKind::SafeCast);
                let operand = self.expression(expr, scope)?;
                let span = self.place_over(syntax, expr, &operand);
                explicit_cast(operand, data_type, is_try, span)
            }
            Sql::TypedString(ast::TypedString { data_type, value, uses_odbc_syntax: _ }) => {
                let text = self.literal(value)?;
                explicit_cast(text, data_type, false, value.span.to_span())
            }
            other => self.deeper(begin(other), |binder| binder.more(other, scope)),
        }
    }

    /// Binds rarer forms.
    fn more(&mut self, syntax: &ast::Expr, scope: &Scope<'_>) -> Result<Expr> {
        use ast::Expr as Sql;
        match syntax {
            Sql::Like { negated, any: false, expr, pattern, escape_char } => {
                self.like(MatchKind::Like, *negated, expr, pattern, escape_char.as_deref(), scope)
            }
            Sql::ILike { negated, any: false, expr, pattern, escape_char } => {
                self.like(MatchKind::ILike, *negated, expr, pattern, escape_char.as_deref(), scope)
            }
            Sql::SimilarTo { negated, expr, pattern, escape_char } => self.like(
                MatchKind::Similar,
                *negated,
                expr,
                pattern,
                escape_char.as_deref(),
                scope,
            ),
            Sql::RLike { negated, expr, pattern, regexp: _ } => {
                self.like(MatchKind::Regex, *negated, expr, pattern, None, scope)
            }
            Sql::Function(_) if is_row(syntax) => self.row_value(syntax, scope),
            Sql::Function(call) if let Some(name) = called_as_name(call) => {
                // A column with this name has precedence over the function.
                let found = self.column_or_link(None, &name.value, name.span.to_span(), scope);
                match found {
                    Err(error) if error.code() == ErrorCode::NotFound => {
                        self.call(call, syntax, scope)
                    }
                    found => found,
                }
            }
            Sql::Function(call) => self.call(call, syntax, scope),
            Sql::Exists { subquery, negated } => {
                let exists = self.exists(subquery, scope)?;
                Ok(negate_if(*negated, exists))
            }
            Sql::Subquery(query) => self.scalar_subquery(query, self.place(syntax), scope),
            Sql::InSubquery { expr, subquery, negated } => {
                let found = self.in_subquery(expr, subquery, self.place(syntax), scope)?;
                Ok(negate_if(*negated, found))
            }
            Sql::AnyOp { left, compare_op, right, is_some: _ }
            | Sql::AllOp { left, compare_op, right } => {
                let is_any = matches!(syntax, Sql::AnyOp { .. });
                let asked = Quantified { left, op: compare_op, is_any, span: self.place(syntax) };
                self.quantified(&asked, right, scope)
            }
            Sql::Interval(interval) => self.interval(interval),
            Sql::Array(ast::Array { elem, named: _ }) => {
                let items: Result<Vec<Expr>> =
                    elem.iter().map(|item| self.expression(item, scope)).collect();
                let (items, span) = (items?, self.place(syntax));
                items.iter().try_for_each(|item| check_nesting(&item.ty(), span))?;
                function::resolve("array", items, span)
            }
            Sql::CompoundFieldAccess { root, access_chain } => {
                self.access(root, access_chain, self.place(syntax), scope)
            }
            Sql::Collate { expr, collation } => {
                unsupported::collation(collation).map_err(|error| error.at(place(syntax)))?;
                self.expression(expr, scope)
            }
            Sql::Tuple(_) => self.row_value(syntax, scope),
            other => self.special_syntax(other, scope),
        }
    }

    /// Binds a column, or a field of one.
    fn name(&mut self, names: &[ast::Ident], scope: &Scope<'_>) -> Result<Expr> {
        let span = names.iter().fold(Span::NONE, |span, name| join(span, name.span.to_span()));
        let plain = |index: usize| &*names[index].value;
        if let [only] = names {
            let lower = only.value.to_lowercase();
            let is_keyword = matches!(
                &*lower,
                "current_date"
                    | "current_time"
                    | "current_timestamp"
                    | "current_schema"
                    | "localtimestamp"
            );
            let found = self.column_or_link(None, plain(0), span, scope);
            if let Err(error) = &found
                && error.code() == ErrorCode::NotFound
                && is_keyword
                && only.quote_style.is_none()
            {
                return function::resolve(&lower, Vec::new(), span);
            }
            return found.or_else(|error| match self.whole_row(plain(0), span, scope)? {
                Some(row) => Ok(row),
                None => self.open_path(None, error, scope),
            });
        }
        // schema.table.column, table.column or column.field, whichever exists.
        let start = if names.len() > 2 && !scope.has_table(plain(0)) && scope.has_table(plain(1)) {
            1
        } else {
            0
        };
        let rest = &names[start..];
        let (mut found, used) = if scope.has_table(&rest[0].value) {
            let (table, name) = (&*rest[0].value, &*rest[1].value);
            let found = self.column_or_link(Some(table), name, span, scope);
            (found.or_else(|error| self.open_path(Some(table), error, scope))?, 2)
        } else {
            match scope.resolve(None, &rest[0].value, span) {
                Ok(found) => (found, 1),
                Err(_) => {
                    let found = scope.resolve(Some(&rest[0].value), &rest[1].value, span);
                    (found.or_else(|error| self.open_path(None, error, scope))?, 2)
                }
            }
        };
        for field in &rest[used..] {
            found = self.member(found, &field.value, field.span.to_span())?;
        }
        Ok(found)
    }

    /// The value of a path that no document has: null if the collection says so. Otherwise `error`.
    fn open_path(&self, table: Option<&str>, error: Error, scope: &Scope<'_>) -> Result<Expr> {
        let is_open = |column: &ScopeColumn| {
            let own = column.table.as_deref();
            table.is_none_or(|table| own.is_some_and(|own| same_name(own, table)))
                && self.open.contains(&column.column.id)
        };
        let mut scopes = std::iter::successors(Some(scope), |scope| scope.parent);
        match error.code() == ErrorCode::NotFound
            && scopes.any(|scope| scope.columns.iter().any(is_open))
        {
            true => Ok(Expr::null(ColumnType::Json)),
            false => Err(error),
        }
    }

    /// A member of a value: null if no document of an open collection has it.
    pub(super) fn member(&self, found: Expr, name: &str, span: Span) -> Result<Expr> {
        let is_open = !self.open.is_empty()
            && found.columns().iter().any(|column| self.open.contains(column));
        match member(found, name, span) {
            Err(error) if error.code() == ErrorCode::NotFound && is_open => {
                Ok(Expr::null(ColumnType::Json))
            }
            found => found,
        }
    }

    /// Resolves a name to a column, or else to a to-many link.
    fn column_or_link(
        &mut self,
        table: Option<&str>,
        name: &str,
        span: Span,
        scope: &Scope<'_>,
    ) -> Result<Expr> {
        scope
            .resolve(table, name, span)
            .or_else(|error| self.link_column(table, name, span, scope)?.ok_or(error))
    }

    /// The place of a piece of syntax. On a large stack, only its beginning: syntax may nest deep
    /// there, and finding the end would visit everything within, at each level.
    pub(super) fn place(&self, syntax: &ast::Expr) -> Span {
        if self.limits.has_large_stack() { begin(syntax) } else { place(syntax) }
    }

    /// The place of a unary operation. If the operand is one too, uses the operand's known place:
    /// computing it for each nested operation would visit everything within again.
    fn place_over(&self, syntax: &ast::Expr, inner: &ast::Expr, operand: &Expr) -> Span {
        let is_same = matches!(inner, ast::Expr::UnaryOp { .. } | ast::Expr::Cast { .. });
        match operand.span() {
            span if is_same && span.is_known() => span,
            _ => self.short_place(syntax),
        }
    }

    /// The place of a piece of syntax, its end included if that is cheap to find.
    fn short_place(&self, syntax: &ast::Expr) -> Span {
        if is_short(syntax) { place(syntax) } else { self.place(syntax) }
    }

    fn binary(
        &mut self,
        left: &ast::Expr,
        op: &ast::BinaryOperator,
        right: &ast::Expr,
        syntax: &ast::Expr,
        scope: &Scope<'_>,
    ) -> Result<Expr> {
        // Long chains of one connective nest to the left: collected in a list instead of recursing.
        if matches!(op, ast::BinaryOperator::And | ast::BinaryOperator::Or) {
            return self.connective(left, op, right, scope);
        }
        if is_row(left) || is_row(right) {
            return self.rows(left, op, right, self.place(syntax), scope);
        }
        // Chains nest to the left: binds the first operand, then applies each step.
        let (mut steps, mut first) = (vec![(op, right)], left);
        while let ast::Expr::BinaryOp { left, op, right } = first
            && !matches!(op, ast::BinaryOperator::And | ast::BinaryOperator::Or)
            && !is_row(left)
            && !is_row(right)
        {
            steps.push((op, right));
            first = left;
        }
        let (mut bound, mut span) = (self.expression(first, scope)?, self.short_place(first));
        for (op, right) in steps.into_iter().rev() {
            span = join(span, self.place(right));
            bound = operator::binary(op, bound, self.expression(right, scope)?, span)?;
        }
        Ok(bound)
    }

    fn connective(
        &mut self,
        left: &ast::Expr,
        op: &ast::BinaryOperator,
        right: &ast::Expr,
        scope: &Scope<'_>,
    ) -> Result<Expr> {
        let mut terms = vec![right];
        let mut rest = left;
        while let ast::Expr::BinaryOp { left, op: inner, right } = rest
            && inner == op
        {
            terms.push(right);
            rest = left;
        }
        terms.push(rest);
        let is_and = matches!(op, ast::BinaryOperator::And);
        let name = if is_and { "and" } else { "or" };
        let terms = terms.into_iter().rev().map(|term| {
            let bound = self.expression(term, scope)?;
            condition(bound, name).map_err(|error| error.at(place(term)))
        });
        let terms = terms.collect::<Result<_>>()?;
        Ok(if is_and { Expr::And(terms) } else { Expr::Or(terms) })
    }

    fn comparison(
        &mut self,
        op: Comparison,
        left: &ast::Expr,
        right: &ast::Expr,
        syntax: &ast::Expr,
        scope: &Scope<'_>,
    ) -> Result<Expr> {
        let span = self.place(syntax);
        let (left, right) = self.sides(left, right, span, scope)?;
        compare_sides(op, &left, &right, span)
    }

    fn truth(
        &mut self,
        inner: &ast::Expr,
        of_not: bool,
        negated: bool,
        scope: &Scope<'_>,
    ) -> Result<Expr> {
        let inner = condition(self.expression(inner, scope)?, "is true")?;
        let inner = negate_if(of_not, inner);
        Ok(negate_if(negated, Expr::IsTrue(Box::new(inner))))
    }

    fn between(
        &mut self,
        input: &ast::Expr,
        low: &ast::Expr,
        high: &ast::Expr,
        syntax: &ast::Expr,
        scope: &Scope<'_>,
    ) -> Result<Expr> {
        let span = self.place(syntax);
        let (low, is_symmetric) = match low {
            ast::Expr::Prefixed { prefix, value } if prefix.value == SYMMETRIC => (&**value, true),
            low => (low, false),
        };
        let (input, low, high) =
            (self.side(input, scope)?, self.side(low, scope)?, self.side(high, scope)?);
        let within = |low: &Side, high: &Side| -> Result<Expr> {
            let from = compare_sides(Comparison::GreaterOrEqual, &input, low, span)?;
            let to = compare_sides(Comparison::LessOrEqual, &input, high, span)?;
            Ok(Expr::And(vec![from, to]))
        };
        let within_either = within(&low, &high)?;
        Ok(match is_symmetric {
            true => Expr::Or(vec![within_either, within(&high, &low)?]),
            false => within_either,
        })
    }

    fn in_list(
        &mut self,
        input: &ast::Expr,
        list: &[ast::Expr],
        scope: &Scope<'_>,
    ) -> Result<Expr> {
        if is_row(input) {
            return self.row_in_list(input, list, scope);
        }
        let bound = self.expression(input, scope)?;
        let mut terms = Vec::with_capacity(list.len());
        for term in list {
            terms.push(self.expression(term, scope)?);
        }
        let all = std::iter::once(&bound).chain(&terms).collect::<Vec<_>>();
        if all.iter().any(|side| side.ty() == ColumnType::Json && !side.is_untyped()) {
            let key = |side| Ok(by_order(as_json(side, place(input))?));
            let list = terms.into_iter().map(key).collect::<Result<_>>()?;
            return Ok(Expr::InList { input: Box::new(key(bound)?), list });
        }
        let ty = unify_all(all.into_iter(), "the values of IN")
            .map_err(|error| error.at(place(input)))?;
        let key = |term| Ok(by_order(coerce(term, &ty, "in")?));
        let list = terms.into_iter().map(key).collect::<Result<_>>()?;
        Ok(Expr::InList { input: Box::new(key(bound)?), list })
    }

    fn case(
        &mut self,
        operand: Option<&ast::Expr>,
        conditions: &[ast::CaseWhen],
        otherwise: Option<&ast::Expr>,
        scope: &Scope<'_>,
    ) -> Result<Expr> {
        let operand = operand.map(|operand| self.side(operand, scope)).transpose()?;
        let mut branches = Vec::with_capacity(conditions.len());
        for ast::CaseWhen { condition: when, result } in conditions {
            let span = self.place(when);
            let test = match &operand {
                Some(operand) => {
                    let test = self.side(when, scope)?;
                    compare_sides(Comparison::Equal, operand, &test, span)?
                }
                None => {
                    let test = self.expression(when, scope)?;
                    condition(test, "when").map_err(|error| error.at(span))?
                }
            };
            branches.push((test, self.expression(result, scope)?));
        }
        let otherwise = otherwise.map(|otherwise| self.expression(otherwise, scope)).transpose()?;
        let results: Vec<&Expr> =
            branches.iter().map(|(_, result)| result).chain(&otherwise).collect();
        let ty = unify_all(results.into_iter(), "the results of CASE")?;
        let branches = branches
            .into_iter()
            .map(|(test, result)| Ok((test, coerce(result, &ty, "case")?)))
            .collect::<Result<_>>()?;
        let otherwise = otherwise.map(|result| coerce(result, &ty, "case")).transpose()?;
        Ok(Expr::Case { branches, otherwise: otherwise.map(Box::new), ty })
    }

    fn like(
        &mut self,
        kind: MatchKind,
        negated: bool,
        input: &ast::Expr,
        pattern: &ast::Expr,
        escape: Option<&ast::Expr>,
        scope: &Scope<'_>,
    ) -> Result<Expr> {
        let escape = match escape.map(|escape| self.expression(escape, scope)).transpose()? {
            None => None,
            Some(escape) => match escape.as_literal() {
                Some(Value::Text(text)) if text.chars().count() == 1 => text.chars().next(),
                _ => return Err(Error::invalid("ESCAPE takes one character").at(place(input))),
            },
        };
        let (bound, pattern) = (self.expression(input, scope)?, self.expression(pattern, scope)?);
        let found = operator::matches(kind, bound, pattern, escape)
            .map_err(|error| error.at(place(input)))?;
        Ok(negate_if(negated, found))
    }
}

fn explicit_cast(
    operand: Expr,
    data_type: &ast::DataType,
    is_try: bool,
    span: Span,
) -> Result<Expr> {
    let (to, length) = column_type(data_type).map_err(|error| error.at(span))?;
    check_nesting(&to, span)?;
    let from = operand.ty();
    if !operand.is_untyped() && !cast::can_cast(&from, &to) {
        return Err(cast::no_cast(&from, &to).at(span));
    }
    let is_parameter = matches!(operand, Expr::Parameter { .. });
    let bound = if from == to && !is_parameter {
        coerce::resolve_type(operand)
    } else if is_try {
        Expr::Cast { input: Box::new(coerce::resolve_type(operand)), to, is_try, span }
    } else if operand.is_untyped() {
        coerce(operand, &to, "cast").map_err(|error| error.at(span))?
    } else {
        match coerce::cast_to(operand, &to) {
            Expr::Cast { input, to, is_try, .. } => Expr::Cast { input, to, is_try, span },
            other => other,
        }
    };
    // A cast to varchar(n) truncates, as in PostgreSQL.
    match length {
        None => Ok(bound),
        Some(length) => {
            let length = Expr::literal(Value::Integer(length.into()), ColumnType::Int64);
            function::resolve("left", vec![bound, length], span)
        }
    }
}

pub(super) fn negate_if(negated: bool, expression: Expr) -> Expr {
    if negated { not(expression) } else { expression }
}

/// The place of a piece of syntax.
pub(super) fn place(syntax: &ast::Expr) -> Span {
    syntax.span().to_span()
}

/// The beginning of a piece of syntax that may nest deep, if it is cheap to find.
fn begin(syntax: &ast::Expr) -> Span {
    use ast::Expr as Sql;
    match syntax {
        Sql::Value(value) => value.span.to_span(),
        Sql::Identifier(name) => name.span.to_span(),
        Sql::Case { case_token, .. } => case_token.0.span.to_span(),
        Sql::Function(call) => match call.name.0.first() {
            Some(ast::ObjectNamePart::Identifier(name)) => name.span.to_span(),
            _ => Span::NONE,
        },
        _ => Span::NONE,
    }
}

/// Whether a chain of casts and signs ends within a few levels, at a name or a value.
fn is_short(mut syntax: &ast::Expr) -> bool {
    use ast::Expr as Sql;
    for _ in 0..16 {
        syntax = match syntax {
            Sql::Cast { expr, .. } | Sql::UnaryOp { expr, .. } | Sql::Nested(expr) => expr,
            Sql::Identifier(_) | Sql::CompoundIdentifier(_) | Sql::Value(_) => return true,
            _ => return false,
        };
    }
    false
}

/// The span from the beginning of one to the end of the other.
pub(super) fn join(left: Span, right: Span) -> Span {
    match (left.is_known(), right.is_known()) {
        (false, _) => right,
        (_, false) => left,
        _ => Span { end_line: right.end_line, end_column: right.end_column, ..left },
    }
}

/// The name of a function called without brackets, such as `user`. It may also be the name of a
/// column.
pub(super) fn called_as_name(call: &ast::Function) -> Option<&ast::Ident> {
    match (&call.name.0[..], &call.args) {
        ([ast::ObjectNamePart::Identifier(name)], ast::FunctionArguments::None) => Some(name),
        _ => None,
    }
}
