//! Binds table functions: in FROM, or one in a SELECT list.

use folio_compute::{Error, Result, Span, type_name};
use folio_engine::expression::coerce::{cast_to, coerce, resolve_type};
use folio_engine::expression::{Expr, function};
use folio_engine::plan::logical::Plan;
use folio_engine::plan::terms::{JoinKind, TableFunction};
use folio_types::{ColumnType, Value};
use sqlparser::ast;

use super::Binder;
use super::from::aliased;
use super::join::join;
use super::scope::{From, Scope, ScopeColumn};

/// The names of table functions.
const NAMES: [&str; 9] = [
    "unnest",
    "generate_series",
    "regexp_split_to_table",
    "string_to_table",
    "json_array_elements",
    "json_array_elements_text",
    "json_each",
    "json_each_text",
    "json_object_keys",
];

/// A call of a table function.
pub(super) struct TableCall<'c> {
    pub(super) name: &'c str,
    pub(super) arguments: &'c [ast::FunctionArg],
    pub(super) ordinality: bool,
    pub(super) span: Span,
}

/// Whether this is the name of a table function.
pub(super) fn makes_rows(name: &str) -> bool {
    NAMES.contains(&name)
}

/// Replaces `jsonb` in the names of PostgreSQL's functions by `json`. `jsonb_set` is another function
/// than `json_set`.
pub(super) fn plain_name(name: &str) -> String {
    let name = name.to_lowercase();
    match (name.strip_prefix("jsonb_"), &*name) {
        (Some("set"), _) => name,
        (Some(rest), _) => format!("json_{rest}"),
        (None, "to_jsonb") => "to_json".to_owned(),
        _ => name,
    }
}

impl Binder<'_> {
    /// Binds a function in FROM. It sees the items before it.
    pub(super) fn table_function(
        &mut self,
        call: &TableCall<'_>,
        alias: Option<&ast::TableAlias>,
        before: &[ScopeColumn],
        parent: Option<&Scope<'_>>,
    ) -> Result<From> {
        let scope = Scope::new(before.to_vec(), parent);
        let mut arguments = Vec::new();
        for argument in call.arguments {
            let ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(argument)) = argument else {
                return Err(
                    Error::unsupported("table functions take plain arguments").at(call.span)
                );
            };
            arguments.push(self.expression(argument, &scope)?);
        }
        self.called_rows(call, arguments, alias)
    }

    /// Binds a function in a SELECT list. Its rows are joined with the row it is computed from.
    pub(super) fn listed_function(
        &mut self,
        name: &str,
        arguments: Vec<Expr>,
        span: Span,
        scope: &Scope<'_>,
    ) -> Result<Expr> {
        let call = TableCall { name, arguments: &[], ordinality: false, span };
        let from = self.called_rows(&call, arguments, None)?;
        let mut listed = scope.listed_functions.borrow_mut();
        let refusal = match (&mut *listed, &from.columns[..]) {
            (Some(listed), [only]) if listed.is_empty() => {
                let column = only.column.clone();
                listed.push(from);
                return Ok(Expr::Column(column));
            }
            (Some(_), [_]) => "a SELECT list takes only one set-returning function".to_owned(),
            (Some(_), _) => format!("{name} returns several columns and belongs in FROM"),
            (None, _) => {
                let clause = scope.clause.get();
                format!("{name} returns rows and is not allowed in {clause}")
            }
        };
        Err(Error::unsupported(refusal).at(span).help(format!("write FROM …, {name}(…) AS x")))
    }

    /// The rows of a call.
    fn called_rows(
        &mut self,
        call: &TableCall<'_>,
        arguments: Vec<Expr>,
        alias: Option<&ast::TableAlias>,
    ) -> Result<From> {
        let (name, ordinality, span) = (plain_name(call.name), call.ordinality, call.span);
        let of_array = |function: &str, arguments: Vec<Expr>| -> Result<Vec<Expr>> {
            Ok(vec![function::resolve(function, arguments, span)?])
        };
        match &*name {
            "unnest" => self.unnest("unnest", arguments, ordinality, alias, span),
            "regexp_split_to_table" => {
                let array = of_array("regexp_split_to_array", arguments)?;
                self.unnest("regexp_split_to_table", array, ordinality, alias, span)
            }
            "string_to_table" => {
                let array = of_array("string_to_array", arguments)?;
                self.unnest("string_to_table", array, ordinality, alias, span)
            }
            "json_object_keys" => {
                let array = of_array("json_keys", arguments)?;
                self.unnest("json_object_keys", array, ordinality, alias, span)
            }
            "generate_series" | "range" => {
                let arguments = arguments.into_iter().map(resolve_type).collect();
                let (arguments, ty) = series_arguments(&name, arguments, span)?;
                let is_open = name == "range";
                let function = TableFunction::GenerateSeries { ordinality, is_open };
                let columns = [(&*name, ty)];
                self.function_rows(function, arguments, &columns, ordinality, alias)
            }
            "json_array_elements" | "json_array_elements_text" => {
                let function = TableFunction::JsonElements { ordinality };
                let columns = [("value", ColumnType::Json)];
                self.json_rows(&name, function, arguments, &columns, call, alias)
            }
            "json_each" | "json_each_text" => {
                let function = TableFunction::JsonEach { ordinality };
                let columns = [("key", ColumnType::Text), ("value", ColumnType::Json)];
                self.json_rows(&name, function, arguments, &columns, call, alias)
            }
            other => {
                let error = Error::not_found(format!("table function {other:?} does not exist"));
                Err(error.near_or_all(other, NAMES).at(span))
            }
        }
    }

    pub(super) fn unnest(
        &mut self,
        name: &str,
        arguments: Vec<Expr>,
        ordinality: bool,
        alias: Option<&ast::TableAlias>,
        span: Span,
    ) -> Result<From> {
        let arguments: Vec<Expr> = arguments.into_iter().map(resolve_type).collect();
        let mut columns = Vec::new();
        for argument in &arguments {
            match argument.ty() {
                ColumnType::List(element) => columns.push((name, *element)),
                other => {
                    let ty = type_name(&other);
                    return Err(
                        Error::mismatch(format!("unnest takes an array, not {ty}")).at(span)
                    );
                }
            }
        }
        let function = TableFunction::Unnest { ordinality };
        self.function_rows(function, arguments, &columns, ordinality, alias)
    }

    /// Parts of JSON, as JSON or as text.
    fn json_rows(
        &mut self,
        name: &str,
        function: TableFunction,
        arguments: Vec<Expr>,
        columns: &[(&str, ColumnType)],
        call: &TableCall<'_>,
        alias: Option<&ast::TableAlias>,
    ) -> Result<From> {
        let json = arguments
            .into_iter()
            .map(|argument| coerce(argument, &ColumnType::Json, name))
            .collect::<Result<Vec<_>>>()
            .map_err(|error| error.at(call.span))?;
        if json.len() != 1 {
            return Err(Error::invalid(format!("{name} takes one value")).at(call.span));
        }
        let mut from = self.function_rows(function, json, columns, call.ordinality, alias)?;
        if !name.ends_with("_text") {
            return Ok(from);
        }
        let mut outputs = Vec::new();
        for own in &mut from.columns {
            let value = Expr::Column(own.column.clone());
            let value = match own.column.ty {
                ColumnType::Json => {
                    let path = Expr::literal(
                        Value::List(Vec::new()),
                        ColumnType::List(Box::new(ColumnType::Text)),
                    );
                    function::resolve("json_path_text", vec![value, path], call.span)?
                }
                _ => value,
            };
            own.column = self.column(&own.name, value.ty());
            outputs.push((own.column.clone(), value));
        }
        from.plan = Plan::Project { input: Box::new(from.plan), outputs };
        Ok(from)
    }

    fn function_rows(
        &mut self,
        function: TableFunction,
        arguments: Vec<Expr>,
        made: &[(&str, ColumnType)],
        ordinality: bool,
        alias: Option<&ast::TableAlias>,
    ) -> Result<From> {
        // If the function has one column, the column takes the name of the alias.
        let single = alias.filter(|_| made.len() == 1).map(|alias| alias.name.value.clone());
        let mut columns = Vec::new();
        for (name, ty) in made {
            let name = single.clone().unwrap_or_else(|| (*name).to_owned());
            columns.push((name.clone(), self.column(&name, ty.clone())));
        }
        if ordinality {
            columns.push(("ordinality".to_owned(), self.column("ordinality", ColumnType::Int64)));
        }
        let own_name = made.first().map_or("", |(name, _)| name);
        let named = super::Named::of(columns, |columns| Plan::TableFunction {
            function,
            arguments,
            columns,
        });
        aliased(named, alias, Some(own_name))
    }
}

/// Joins the function of a SELECT list with the rows it is computed from.
///
/// # Errors
/// `unsupported` over groups, or beside window functions.
pub(super) fn beside(plan: Plan, listed: Vec<From>, is_grouped: bool) -> Result<Plan> {
    listed.into_iter().try_fold(plan, |plan, function| {
        if is_grouped {
            let text = "a set-returning function cannot be combined with groups or windows";
            return Err(Error::unsupported(text).help("write it in FROM, or around the query"));
        }
        let left = From { plan, columns: Vec::new() };
        Ok(join(left, function, JoinKind::Inner, Vec::new()).plan)
    })
}

/// The arguments of a series. `range` may have its end alone, and begins at 0 then.
fn series_arguments(
    name: &str,
    mut arguments: Vec<Expr>,
    span: Span,
) -> Result<(Vec<Expr>, ColumnType)> {
    if name == "range" && arguments.len() == 1 {
        arguments.insert(0, Expr::literal(Value::Integer(0), ColumnType::Int64));
    }
    if !(2..=3).contains(&arguments.len()) {
        return Err(
            Error::invalid(format!("{name} takes start, stop and an optional step")).at(span)
        );
    }
    let mut zones = arguments.iter().filter_map(|argument| match argument.ty() {
        ColumnType::Date => Some(false),
        ColumnType::Timestamp { utc } => Some(utc),
        _ => None,
    });
    let zone = zones.next().map(|first| zones.fold(first, |all, utc| all | utc));
    if zone.is_some() && arguments.len() == 2 {
        return Err(Error::invalid(format!("{name} of times takes a step"))
            .at(span)
            .help("add a step, such as interval '1 day'"));
    }
    let ty = zone.map_or(ColumnType::Int64, |utc| ColumnType::Timestamp { utc });
    let cast = arguments.into_iter().enumerate().map(|(index, argument)| {
        let wanted = if zone.is_some() && index == 2 { &ColumnType::Interval } else { &ty };
        let is_text = argument.ty() == ColumnType::Text;
        if is_text {
            Ok(cast_to(argument, wanted))
        } else {
            coerce(argument, wanted, name).map_err(|error| error.at(span))
        }
    });
    Ok((cast.collect::<Result<_>>()?, ty))
}
