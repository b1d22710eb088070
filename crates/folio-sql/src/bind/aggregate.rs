//! Binds calls: of aggregates, window functions and scalar functions.

use std::sync::Arc;

use folio_compute::order_keys::holds_json;
use folio_compute::type_rules::{decimal, is_integer, is_numeric};
use folio_compute::{Error, Result, Span};
use folio_engine::expression::coerce::{self, coerce, unify_all};
use folio_engine::expression::{Column, Expr, function};
use folio_engine::plan::aggregate::{
    Aggregate, AggregateFunction, PAIR_STATISTICS, PairStatistic, signature,
};
use folio_engine::plan::terms::SortKey;
use folio_types::{ColumnType, Value};
use sqlparser::ast;

use super::expression::place;
use super::operator::{self, condition};
use super::scope::{Allowed, Scope};
use super::table_function::{makes_rows, plain_name};
use super::{AGGREGATES_MAX, Binder, too_many, unsupported};

/// The aggregate function with this name.
fn aggregate_function(name: &str) -> Option<AggregateFunction> {
    use AggregateFunction as Kind;
    Some(match name {
        "count" => Kind::Count,
        "sum" | "total" => Kind::Sum,
        "avg" | "mean" => Kind::Avg,
        "min" => Kind::Min,
        "max" => Kind::Max,
        "bool_and" | "every" => Kind::BoolAnd,
        "bool_or" | "some" => Kind::BoolOr,
        "variance" | "var_samp" => Kind::Variance { sample: true },
        "var_pop" => Kind::Variance { sample: false },
        "stddev" | "stddev_samp" => Kind::StdDev { sample: true },
        "stddev_pop" => Kind::StdDev { sample: false },
        "string_agg" | "group_concat" | "listagg" => Kind::StringAgg,
        "array_agg" | "list" => Kind::ArrayAgg,
        "json_agg" | "jsonb_agg" | "json_group_array" => Kind::JsonAgg,
        "json_object_agg" | "jsonb_object_agg" | "json_group_object" => Kind::JsonObjectAgg,
        "median" => Kind::Median,
        "percentile_cont" => Kind::PercentileCont,
        "percentile_disc" => Kind::PercentileDisc,
        "mode" => Kind::Mode,
        "grouping" => Kind::Grouping,
        "approx_distinct" | "approx_count_distinct" => Kind::Count,
        "any_value" | "first" => Kind::First,
        "bit_and" => Kind::BitAnd,
        "bit_or" => Kind::BitOr,
        "product" => Kind::Product,
        "arg_min" | "argmin" | "min_by" => Kind::ArgMin,
        "arg_max" | "argmax" | "max_by" => Kind::ArgMax,
        _ => return pair_statistic(name),
    })
}

fn pair_statistic(name: &str) -> Option<AggregateFunction> {
    let found = PAIR_STATISTICS.iter().find(|(known, _)| *known == name)?;
    Some(AggregateFunction::Pairs(found.1))
}

/// Maximum number of arguments of GROUPING. Each is a bit of an `integer`.
const GROUPING_MAX: usize = 31;

/// Calls that do not always evaluate all their arguments, unlike functions. They are tried before
/// functions.
const SPECIAL_FORMS: [(&str, SpecialForm); 4] =
    [("coalesce", coalesce), ("ifnull", coalesce), ("if", conditional), ("iif", conditional)];

type SpecialForm = fn(Vec<Expr>, Span) -> Result<Expr>;

/// Words that look like calls before a bracket, but are syntax.
const SYNTAX: [&str; 12] = [
    "all", "any", "array", "case", "cast", "distinct", "exists", "extract", "interval", "not",
    "row", "try_cast",
];

/// Whether a name is taken before functions of the program are considered: by the library, or by
/// syntax.
#[must_use]
pub fn is_taken(name: &str) -> bool {
    let name = plain_name(name);
    function::is_library(&name)
        || makes_rows(&name)
        || aggregate_function(&name).is_some()
        || SPECIAL_FORMS.iter().any(|(known, _)| *known == name)
        || SYNTAX.contains(&&*name)
}

/// The contents of a call's brackets.
pub(super) struct CallArguments {
    pub(super) arguments: Vec<Expr>,
    pub(super) is_star: bool,
    pub(super) is_distinct: bool,
    pub(super) order: Vec<SortKey>,
}

impl Binder<'_> {
    /// Binds a call.
    pub(super) fn call(
        &mut self,
        call: &ast::Function,
        syntax: &ast::Expr,
        scope: &Scope<'_>,
    ) -> Result<Expr> {
        let (name, name_span) = super::last_name(&call.name)?;
        let name = plain_name(&name);
        let span = if name_span.is_known() { name_span } else { place(syntax) };
        unsupported::call_clauses(call, span)?;
        if let (ast::FunctionArguments::Subquery(query), "array") = (&call.args, &*name) {
            return self.array_subquery(query, span, scope);
        }
        if call.over.is_some() {
            return self.window_call(call, &name, span, scope);
        }
        if let Some(function) = aggregate_function(&name) {
            return self.aggregate_call(call, function, &name, span, scope);
        }
        unsupported::plain_call_clauses(call, &name, span)?;
        let given = self.call_arguments(call, span, scope)?;
        if let Some((_, bind)) = SPECIAL_FORMS.iter().find(|(known, _)| *known == name) {
            return bind(given.arguments, span);
        }
        if makes_rows(&name) {
            return self.listed_function(&name, given.arguments, span, scope);
        }
        match self.program_function(&name, span)? {
            Some(function) => function.call(given.arguments, span),
            None => function::resolve_named(&name, given.arguments, span),
        }
    }

    /// Binds the arguments of a call.
    pub(super) fn call_arguments(
        &mut self,
        call: &ast::Function,
        span: Span,
        scope: &Scope<'_>,
    ) -> Result<CallArguments> {
        let mut given = CallArguments {
            arguments: Vec::new(),
            is_star: false,
            is_distinct: false,
            order: Vec::new(),
        };
        let list = match &call.args {
            ast::FunctionArguments::None => return Ok(given),
            ast::FunctionArguments::Subquery(query) => {
                given.arguments.push(self.scalar_subquery(query, span, scope)?);
                return Ok(given);
            }
            ast::FunctionArguments::List(list) => list,
        };
        let ast::FunctionArgumentList { duplicate_treatment, args, clauses } = list;
        given.is_distinct = matches!(duplicate_treatment, Some(ast::DuplicateTreatment::Distinct));
        for argument in args {
            match argument {
                ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(argument)) => {
                    given.arguments.push(self.expression(argument, scope)?);
                }
                ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Wildcard) => given.is_star = true,
                ast::FunctionArg::Unnamed(ast::FunctionArgExpr::QualifiedWildcard(name)) => {
                    given.arguments.push(self.star_row(name, scope)?);
                }
                other => {
                    return Err(Error::unsupported(format!(
                        "the argument {other} is not supported"
                    ))
                    .at(span));
                }
            }
        }
        for clause in clauses {
            match clause {
                ast::FunctionArgumentClause::OrderBy(keys) => {
                    for key in keys {
                        given.order.push(self.sort_key(key, scope)?);
                    }
                }
                ast::FunctionArgumentClause::Separator(separator) => {
                    given.arguments.push(self.literal(separator)?);
                }
                ast::FunctionArgumentClause::IgnoreOrRespectNulls(_) => {}
                other => {
                    return Err(Error::unsupported(format!("{other} is not supported here"))
                        .at(span)
                        .help("write it in a subquery"));
                }
            }
        }
        Ok(given)
    }

    /// Binds a sort key within an aggregate.
    pub(super) fn sort_key(
        &mut self,
        key: &ast::OrderByExpr,
        scope: &Scope<'_>,
    ) -> Result<SortKey> {
        unsupported::key_options(key)?;
        let expression = coerce::resolve_type(self.expression(&key.expr, scope)?);
        Ok(sort_key(expression, &key.options))
    }

    fn aggregate_call(
        &mut self,
        call: &ast::Function,
        function: AggregateFunction,
        name: &str,
        span: Span,
        scope: &Scope<'_>,
    ) -> Result<Expr> {
        // The arguments of an aggregate are evaluated over rows of the input: no aggregates within.
        let outside = scope.allowed.replace(Allowed::Columns);
        let clause = scope.clause.replace("an aggregate");
        let bound = self.aggregate(call, function, name, span, scope);
        scope.allowed.set(outside);
        scope.clause.set(clause);
        let aggregate = bound?;
        let home = home_of(&aggregate, scope);
        if home.allowed.get() == Allowed::Columns {
            let clause = home.clause.get();
            let error = Error::invalid(format!("aggregate {name} is not allowed in {clause}"));
            return Err(error.at(span).help("use HAVING, or a subquery"));
        }
        let mut known = home.aggregates.borrow_mut();
        // Names are compared first because there may be thousands of aggregates.
        let name = aggregate.to_string();
        let is_same =
            |(column, other): &&(Column, Aggregate)| *column.name == *name && *other == aggregate;
        if let Some((column, _)) = known.iter().find(is_same) {
            return Ok(Expr::Column(column.clone()));
        }
        if known.len() >= AGGREGATES_MAX {
            return Err(too_many(AGGREGATES_MAX, "aggregates in one SELECT", span));
        }
        let column = self.column(&name, aggregate.ty.clone());
        known.push((column.clone(), aggregate));
        Ok(Expr::Column(column))
    }

    /// Casts an aggregate's arguments to the types it takes.
    pub(super) fn aggregate(
        &mut self,
        call: &ast::Function,
        function: AggregateFunction,
        name: &str,
        span: Span,
        scope: &Scope<'_>,
    ) -> Result<Aggregate> {
        let mut given = self.call_arguments(call, span, scope)?;
        for key in &call.within_group {
            given.order.push(self.sort_key(key, scope)?);
        }
        if is_of_order(function) {
            take_from_order(&mut given, call.within_group.len(), name, span)?;
        }
        // An exact count is a valid approximation.
        given.is_distinct |= name.starts_with("approx_");
        let mut filter = match &call.filter {
            Some(filter) => Some(condition(self.expression(filter, scope)?, "filter")?),
            None => None,
        };
        match null_treatment(call) {
            None => {}
            Some(ast::NullTreatment::IgnoreNulls) => {
                let is_there = given
                    .arguments
                    .first()
                    .map(|value| operator::not(Expr::IsNull(Box::new(value.clone()))));
                filter = match (filter, is_there) {
                    (Some(filter), Some(is_there)) => Some(Expr::And(vec![filter, is_there])),
                    (filter, is_there) => filter.or(is_there),
                };
            }
            Some(ast::NullTreatment::RespectNulls) if keeps_nulls(function) => {}
            Some(ast::NullTreatment::RespectNulls) => {
                let text = format!("RESPECT NULLS of {name} is not supported");
                return Err(Error::unsupported(text).at(span).help("it ignores nulls"));
            }
        }
        if given.is_star && given.is_distinct {
            let text = format!("{name}(DISTINCT *) is not supported");
            return Err(Error::unsupported(text).at(span).help("name a column"));
        }
        let is_count_all =
            function == AggregateFunction::Count && (given.is_star || given.arguments.is_empty());
        let function = if is_count_all { AggregateFunction::CountAll } else { function };
        if name == "group_concat" && given.arguments.len() == 1 {
            given.arguments.push(Expr::literal(Value::Text(",".to_owned()), ColumnType::Text));
        }
        let is_ordered_by_own = given
            .order
            .iter()
            .all(|key| given.arguments.contains(operator::ordered(&key.expression)));
        if given.is_distinct && !is_ordered_by_own {
            return Err(Error::invalid(format!(
                "with DISTINCT, {name} is ordered by its arguments only"
            ))
            .at(span)
            .help("order by the argument, or leave DISTINCT out"));
        }
        let (arguments, ty) = aggregate_types(function, name, given.arguments, span)?;
        let (function, arguments) = by_value(function, arguments);
        Ok(Aggregate {
            function,
            name: Arc::from(name),
            arguments,
            distinct: given.is_distinct,
            filter,
            order: given.order,
            ty,
        })
    }

    /// The aggregate with this name, for windows.
    pub(super) fn aggregate_named(name: &str) -> Option<AggregateFunction> {
        aggregate_function(name)
    }
}

/// Makes an aggregate compare JSON by value instead of text.
fn by_value(
    function: AggregateFunction,
    mut arguments: Vec<Expr>,
) -> (AggregateFunction, Vec<Expr>) {
    use AggregateFunction as Kind;
    let is_json = arguments.first().is_some_and(|argument| holds_json(&argument.ty()));
    let function = match function {
        Kind::Min if is_json => Kind::ArgMin,
        Kind::Max if is_json => Kind::ArgMax,
        other => other,
    };
    if matches!(function, Kind::ArgMin | Kind::ArgMax)
        && let Some(compared) = arguments.last().cloned()
    {
        arguments.truncate(1);
        arguments.push(operator::by_order(compared));
    }
    (function, arguments)
}

/// The query that an aggregate belongs to: that of the innermost column it reads. If it reads only
/// outer columns, it belongs to that outer query (SQL:1999).
fn home_of<'s, 'p>(aggregate: &Aggregate, scope: &'s Scope<'p>) -> &'s Scope<'p> {
    let mut read = Vec::new();
    aggregate.arguments.iter().for_each(|argument| argument.collect_columns(&mut read));
    aggregate.filter.iter().for_each(|filter| filter.collect_columns(&mut read));
    aggregate.order.iter().for_each(|key| key.expression.collect_columns(&mut read));
    let mut home = Some(scope);
    while let Some(current) = home {
        if current.columns.iter().any(|column| read.contains(&column.column.id)) {
            return current;
        }
        home = current.parent;
    }
    scope
}

/// IGNORE NULLS or RESPECT NULLS, inside or after the brackets.
pub(super) fn null_treatment(call: &ast::Function) -> Option<ast::NullTreatment> {
    let ast::FunctionArguments::List(list) = &call.args else { return call.null_treatment };
    let within = list.clauses.iter().find_map(|clause| match clause {
        ast::FunctionArgumentClause::IgnoreOrRespectNulls(treatment) => Some(*treatment),
        _ => None,
    });
    within.or(call.null_treatment)
}

fn keeps_nulls(function: AggregateFunction) -> bool {
    use AggregateFunction as Kind;
    matches!(function, Kind::ArrayAgg | Kind::JsonAgg | Kind::CountAll)
}

/// Whether an aggregate uses WITHIN GROUP.
pub(super) fn is_of_order(function: AggregateFunction) -> bool {
    use AggregateFunction as Kind;
    matches!(function, Kind::PercentileCont | Kind::PercentileDisc | Kind::Mode)
}

/// Moves the values of WITHIN GROUP to the first argument.
fn take_from_order(
    given: &mut CallArguments,
    key_count: usize,
    name: &str,
    span: Span,
) -> Result<()> {
    let arguments = if name == "mode" { "" } else { "0.5" };
    let help = format!("write {name}({arguments}) WITHIN GROUP (ORDER BY value)");
    let [key] = &given.order[..] else {
        let error = Error::invalid(format!("{name} takes its values from WITHIN GROUP"));
        return Err(error.at(span).help(help));
    };
    if key_count != 1 {
        let error = Error::invalid(format!("{name} takes its values from WITHIN GROUP"));
        return Err(error.at(span).help(help));
    }
    if given.arguments.iter().any(|fraction| !fraction.columns().is_empty()) {
        let error = Error::invalid(format!("the fraction of {name} must be the same for all rows"));
        return Err(error.at(span).help(help));
    }
    given.arguments.insert(0, operator::ordered(&key.expression).clone());
    Ok(())
}

/// Casts arguments to the types the aggregate takes, and returns its result type.
fn aggregate_types(
    function: AggregateFunction,
    name: &str,
    arguments: Vec<Expr>,
    span: Span,
) -> Result<(Vec<Expr>, ColumnType)> {
    use AggregateFunction as Kind;
    let wanted = match function {
        Kind::CountAll => 0,
        Kind::StringAgg | Kind::JsonObjectAgg => 2,
        Kind::ArgMin | Kind::ArgMax | Kind::Pairs(_) => 2,
        Kind::PercentileCont | Kind::PercentileDisc => 2,
        Kind::Grouping => arguments.len().clamp(1, GROUPING_MAX),
        _ => 1,
    };
    if arguments.len() != wanted {
        let given = arguments.len();
        let error =
            Error::invalid(format!("aggregate {name} takes {wanted} arguments, not {given}"));
        return Err(error.at(span).help("write one aggregate for each value"));
    }
    let are_numbers =
        arguments.iter().all(|argument| argument.is_untyped() || is_numeric(&argument.ty()));
    let ty = answer_type(function, arguments.first());
    let is_taken = are_numbers || !matches!(function, Kind::Pairs(_));
    let Some(ty) = ty.filter(|_| is_taken) else {
        let error =
            Error::mismatch(format!("function {} does not exist", signature(name, &arguments)));
        return Err(error.at(span).help("cast the argument to a type the aggregate takes"));
    };
    let is_untyped = arguments.first().is_some_and(Expr::is_untyped);
    let target = match function {
        Kind::BoolAnd | Kind::BoolOr => Some(ColumnType::Boolean),
        Kind::Variance { .. }
        | Kind::StdDev { .. }
        | Kind::Median
        | Kind::Product
        | Kind::Pairs(_)
        | Kind::PercentileCont => Some(ColumnType::Float64),
        Kind::Sum | Kind::Avg if is_untyped => Some(ColumnType::Float64),
        _ => None,
    };
    let cast = |(index, argument): (usize, Expr)| match (&target, function) {
        (Some(target), _) => coerce(argument, target, name).map_err(|error| error.at(span)),
        (None, Kind::PercentileDisc) if index == 1 => {
            coerce(argument, &ColumnType::Float64, name).map_err(|error| error.at(span))
        }
        (None, Kind::StringAgg) => {
            Ok(coerce::cast_to_if(coerce::resolve_type(argument), &ColumnType::Text))
        }
        _ => Ok(coerce::resolve_type(argument)),
    };
    Ok((arguments.into_iter().enumerate().map(cast).collect::<Result<_>>()?, ty))
}

/// The result type of an aggregate; `None` if it does not take such an argument.
fn answer_type(function: AggregateFunction, argument: Option<&Expr>) -> Option<ColumnType> {
    use AggregateFunction as Kind;
    let first = argument.map_or(ColumnType::Int64, Expr::ty);
    let is_untyped = argument.is_some_and(Expr::is_untyped);
    Some(match function {
        Kind::CountAll | Kind::Count | Kind::Pairs(PairStatistic::Count) => ColumnType::Int64,
        Kind::Grouping => ColumnType::Int32,
        Kind::Sum | Kind::Avg | Kind::PercentileCont if is_untyped => ColumnType::Float64,
        Kind::Sum => match first {
            ColumnType::Int16 | ColumnType::Int32 => ColumnType::Int64,
            ColumnType::Int64 => decimal(0),
            ColumnType::Decimal { scale, .. } => decimal(scale),
            ColumnType::Float32 | ColumnType::Float64 => first,
            _ => return None,
        },
        Kind::Avg => match first {
            ColumnType::Decimal { scale, .. } => decimal(scale.max(9)),
            ref ty if is_numeric(ty) => ColumnType::Float64,
            _ => return None,
        },
        Kind::BoolAnd | Kind::BoolOr => ColumnType::Boolean,
        Kind::PercentileCont if !is_numeric(&first) => return None,
        Kind::Variance { .. }
        | Kind::StdDev { .. }
        | Kind::Median
        | Kind::Product
        | Kind::Pairs(_)
        | Kind::PercentileCont => ColumnType::Float64,
        Kind::StringAgg => ColumnType::Text,
        Kind::ArrayAgg => ColumnType::List(Box::new(first)),
        Kind::JsonAgg | Kind::JsonObjectAgg => ColumnType::Json,
        Kind::BitAnd | Kind::BitOr if !is_integer(&first) => return None,
        Kind::BitAnd | Kind::BitOr => first,
        Kind::Min | Kind::Max | Kind::ArgMin | Kind::ArgMax => first,
        Kind::First | Kind::PercentileDisc | Kind::Mode => first,
    })
}

/// A sort key with PostgreSQL's order of nulls: they are the greatest values.
pub(super) fn sort_key(expression: Expr, options: &ast::OrderByOptions) -> SortKey {
    let descending = matches!(options.sort, Some(ast::OrderBySort::Desc));
    let expression = operator::by_order(expression);
    SortKey { expression, descending, nulls_first: options.nulls_first.unwrap_or(descending) }
}

fn coalesce(arguments: Vec<Expr>, span: Span) -> Result<Expr> {
    if arguments.is_empty() {
        return Err(Error::invalid("coalesce takes at least one value").at(span));
    }
    let ty =
        unify_all(arguments.iter(), "the values of coalesce").map_err(|error| error.at(span))?;
    let terms = arguments.into_iter().map(|argument| coerce(argument, &ty, "coalesce"));
    Ok(Expr::Coalesce(terms.collect::<Result<_>>()?, ty))
}

/// `if(condition, then, else)`
fn conditional(arguments: Vec<Expr>, span: Span) -> Result<Expr> {
    let [test, then, otherwise] = <[Expr; 3]>::try_from(arguments)
        .map_err(|_| Error::invalid("if takes a condition and two values").at(span))?;
    let ty = unify_all([&then, &otherwise].into_iter(), "the values of if")?;
    Ok(Expr::Case {
        branches: vec![(condition(test, "if")?, coerce(then, &ty, "if")?)],
        otherwise: Some(Box::new(coerce(otherwise, &ty, "if")?)),
        ty,
    })
}

#[cfg(test)]
mod tests {
    use sqlparser::ast::{Expr, SelectItem, SetExpr, Statement};
    use sqlparser::keywords::ALL_KEYWORDS;

    use super::is_taken;
    use crate::parse::parse;

    /// The name of a call; `None` if the text is not a call.
    fn called(text: &str) -> Option<String> {
        let parsed = parse(text, &folio_engine::Limits::default()).ok()?;
        let Some(Statement::Query(query)) = parsed.statements.first() else { return None };
        let SetExpr::Select(select) = &*query.body else { return None };
        match select.projection.first()? {
            SelectItem::UnnamedExpr(Expr::Function(call)) => Some(call.name.to_string()),
            _ => None,
        }
    }

    /// Words whose calls are syntax never reach a function of the program: either the name is
    /// refused, or every call of it that parses is that syntax.
    #[test]
    fn names_that_are_syntax_are_taken() {
        let mut unseen = Vec::new();
        let words = ALL_KEYWORDS.iter().filter(|word| **word != "END-EXEC");
        for word in words.map(|word| word.to_lowercase()) {
            let calls = ["", "1", "1, 2", "1, 2, 3"].map(|given| format!("select {word}({given})"));
            let is_syntax = |text: &String| {
                parse(text, &folio_engine::Limits::default()).is_ok()
                    && called(text).is_none_or(|name| name.to_lowercase() != word)
            };
            if calls.iter().any(is_syntax) && !is_taken(&word) {
                unseen.push(word);
            }
        }
        assert!(
            unseen.is_empty(),
            "syntax that functions of the program may be called: {unseen:?}"
        );
    }

    #[test]
    fn names_bound_before_functions_are_taken() {
        for name in ["coalesce", "IfNull", "if", "iif", "total", "first", "list", "every", "upper"]
        {
            assert!(is_taken(name), "{name}");
        }
        assert!(!is_taken("slug"));
    }
}
