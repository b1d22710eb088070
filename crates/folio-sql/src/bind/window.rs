//! Binds window functions: `rank() over (partition by … order by … rows …)`.

use std::sync::Arc;

use folio_compute::{Error, Result, Span};
use folio_engine::expression::Expr;
use folio_engine::expression::coerce::{self, coerce};
use folio_engine::plan::aggregate::AggregateFunction;
use folio_engine::plan::window::{
    Exclusion, Frame, FrameBound, FrameUnits, WindowCall, WindowFunction,
};
use folio_types::{ColumnType, Value, same_name};
use sqlparser::ast;

use super::aggregate::{is_of_order, null_treatment};
use super::scope::{Allowed, Scope};
use super::{Binder, KEYS_MAX, too_many, unsupported};
use crate::place::Place;
use crate::tokens;

fn window_function(name: &str) -> Option<WindowFunction> {
    Some(match name {
        "row_number" => WindowFunction::RowNumber,
        "rank" => WindowFunction::Rank,
        "dense_rank" => WindowFunction::DenseRank,
        "percent_rank" => WindowFunction::PercentRank,
        "cume_dist" => WindowFunction::CumeDist,
        "ntile" => WindowFunction::Ntile,
        "lag" => WindowFunction::Lag,
        "lead" => WindowFunction::Lead,
        "first_value" => WindowFunction::FirstValue,
        "last_value" => WindowFunction::LastValue,
        "nth_value" => WindowFunction::NthValue,
        _ => return None,
    })
}

impl Binder<'_> {
    /// Binds a call with OVER.
    pub(super) fn window_call(
        &mut self,
        call: &ast::Function,
        name: &str,
        span: Span,
        scope: &Scope<'_>,
    ) -> Result<Expr> {
        if scope.allowed.get() != Allowed::Windows {
            let clause = scope.clause.get();
            return Err(Error::invalid(format!(
                "window function {name} is not allowed in {clause}"
            ))
            .at(span)
            .help("put it in a subquery and filter outside"));
        }
        let outside = scope.allowed.replace(Allowed::Aggregates);
        let bound = self.window(call, name, span, scope);
        scope.allowed.set(outside);
        let call = bound?;
        let mut known = scope.windows.borrow_mut();
        if let Some((column, _)) = known.iter().find(|(_, other)| *other == call) {
            return Ok(Expr::Column(column.clone()));
        }
        if known.len() >= KEYS_MAX {
            return Err(too_many(KEYS_MAX, "window functions in one SELECT", span));
        }
        let column = self.column(&call.to_string(), call.ty.clone());
        known.push((column.clone(), call));
        Ok(Expr::Column(column))
    }

    fn window(
        &mut self,
        call: &ast::Function,
        name: &str,
        span: Span,
        scope: &Scope<'_>,
    ) -> Result<WindowCall> {
        let (function, arguments, ty) = match (window_function(name), Self::aggregate_named(name)) {
            (Some(_), _) if null_treatment(call) == Some(ast::NullTreatment::IgnoreNulls) => {
                let text = format!("IGNORE NULLS of {name} is not supported");
                return Err(Error::unsupported(text).at(span).help("filter nulls in a subquery"));
            }
            (Some(function), _) => {
                unsupported::window_call_clauses(call, name, span)?;
                let given = self.call_arguments(call, span, scope)?;
                let (arguments, ty) = cast_arguments(&function, name, given.arguments, span)?;
                (function, arguments, ty)
            }
            (None, Some(kind)) if is_of_order(kind) || kind == AggregateFunction::Grouping => {
                let error = Error::invalid(format!("{name} is not a window function"));
                return Err(error.at(span).help("use it with GROUP BY, in a subquery"));
            }
            (None, Some(aggregate)) => {
                let aggregate = self.aggregate(call, aggregate, name, span, scope)?;
                if !aggregate.order.is_empty() {
                    let text = format!("ORDER BY within {name} over a window is not supported");
                    let help = "write it in OVER (ORDER BY …)";
                    return Err(Error::unsupported(text).at(span).help(help));
                }
                let ty = aggregate.ty.clone();
                (WindowFunction::Aggregate(Box::new(aggregate)), Vec::new(), ty)
            }
            (None, None) => {
                return Err(
                    Error::not_found(format!("window function {name:?} does not exist")).at(span)
                );
            }
        };
        let mut window = WindowCall {
            function,
            name: Arc::from(name),
            arguments,
            partition: Vec::new(),
            order: Vec::new(),
            frame: Frame::default(),
            ty,
        };
        match &call.over {
            Some(ast::WindowType::WindowSpec(spec)) => {
                self.specify(spec, &mut window, span, scope)?;
            }
            Some(ast::WindowType::NamedWindow(name)) => {
                self.named_window(name, &mut window, scope)?;
            }
            None => {}
        }
        Ok(window)
    }

    fn named_window(
        &mut self,
        name: &ast::Ident,
        window: &mut WindowCall,
        scope: &Scope<'_>,
    ) -> Result<()> {
        let span = name.span.to_span();
        let found = scope
            .named_windows
            .iter()
            .find(|definition| same_name(&definition.0.value, &name.value));
        let Some(definition) = found else {
            let names = scope.named_windows.iter().map(|definition| &*definition.0.value);
            let error = Error::not_found(format!("window {:?} does not exist", name.value));
            return Err(error.near_or_all(&name.value, names).at(span));
        };
        match &definition.1 {
            ast::NamedWindowExpr::WindowSpec(spec) => {
                self.specify(&spec.clone(), window, span, scope)
            }
            ast::NamedWindowExpr::NamedWindow(other) if !same_name(&other.value, &name.value) => {
                self.named_window(&other.clone(), window, scope)
            }
            ast::NamedWindowExpr::NamedWindow(_) => {
                Err(Error::invalid(format!("window {:?} is defined by itself", name.value))
                    .at(span))
            }
        }
    }

    fn specify(
        &mut self,
        spec: &ast::WindowSpec,
        window: &mut WindowCall,
        span: Span,
        scope: &Scope<'_>,
    ) -> Result<()> {
        let ast::WindowSpec { window_name, partition_by, order_by, window_frame } = spec;
        let (exclusion, base) = match window_name {
            Some(name) => tokens::exclusion(name),
            None => (Exclusion::Nothing, None),
        };
        if let Some(base) = &base {
            self.named_window(base, window, scope)?;
            let is_new = !partition_by.is_empty() || !window.order.is_empty();
            if !partition_by.is_empty() || (is_new && !order_by.is_empty()) {
                let clause = if partition_by.is_empty() { "ORDER BY" } else { "PARTITION BY" };
                return Err(Error::invalid(format!(
                    "{clause} cannot be added to window {:?}",
                    base.value
                ))
                .at(base.span.to_span())
                .help("write the whole window"));
            }
        }
        for key in partition_by {
            window.partition.push(coerce::resolve_type(self.expression(key, scope)?));
        }
        for key in order_by {
            window.order.push(self.sort_key(key, scope)?);
        }
        if exclusion != Exclusion::Nothing && window_frame.is_none() {
            let error = Error::syntax("EXCLUDE follows a frame").at(span);
            return Err(error.help("write RANGE UNBOUNDED PRECEDING before it"));
        }
        if let Some(frame) = window_frame {
            window.frame = Frame { exclusion, ..self.frame(frame, span, scope)? };
            check_frame(window).map_err(|error| error.at(span))?;
        }
        Ok(())
    }

    fn frame(&mut self, frame: &ast::WindowFrame, span: Span, scope: &Scope<'_>) -> Result<Frame> {
        let ast::WindowFrame { units, start_bound, end_bound } = frame;
        let (units, counted) = match units {
            ast::WindowFrameUnits::Rows => (FrameUnits::Rows, Some("ROWS")),
            ast::WindowFrameUnits::Range => (FrameUnits::Range, None),
            ast::WindowFrameUnits::Groups => (FrameUnits::Groups, Some("GROUPS")),
        };
        let mut distance = |distance: &ast::Expr| {
            let distance = self.expression(distance, scope)?;
            match counted {
                Some(units) => coerce(distance, &ColumnType::Int64, units),
                None => Ok(coerce::resolve_type(distance)),
            }
        };
        let mut bound = |bound: &ast::WindowFrameBound, is_start: bool| -> Result<FrameBound> {
            Ok(match bound {
                ast::WindowFrameBound::CurrentRow => FrameBound::Current,
                ast::WindowFrameBound::Preceding(None) if is_start => FrameBound::Unbounded,
                ast::WindowFrameBound::Following(None) if !is_start => FrameBound::Unbounded,
                ast::WindowFrameBound::Preceding(Some(own)) => {
                    FrameBound::Preceding(distance(own)?)
                }
                ast::WindowFrameBound::Following(Some(own)) => {
                    FrameBound::Following(distance(own)?)
                }
                _ => return Err(backward().at(span)),
            })
        };
        let start = bound(start_bound, true)?;
        let end = match end_bound {
            Some(end) => bound(end, false)?,
            None => FrameBound::Current,
        };
        Ok(Frame { units, start, end, exclusion: Exclusion::Nothing })
    }
}

fn backward() -> Error {
    Error::invalid("the frame ends before it begins").help("write the earlier bound first")
}

/// Refuses frames that end before they begin, or whose units do not fit ORDER BY.
fn check_frame(window: &WindowCall) -> Result<()> {
    use FrameBound::{Current, Following, Preceding};
    let Frame { units, start, end, .. } = &window.frame;
    let is_backward =
        matches!((start, end), (Following(_), Preceding(_) | Current) | (Current, Preceding(_)));
    if is_backward {
        return Err(backward());
    }
    let has_distance =
        [start, end].iter().any(|bound| matches!(bound, Preceding(_) | Following(_)));
    match units {
        FrameUnits::Range if has_distance && window.order.len() != 1 => {
            Err(Error::invalid("RANGE with a distance needs ORDER BY with one key")
                .help("write ROWS to count rows"))
        }
        FrameUnits::Groups if window.order.is_empty() => {
            Err(Error::invalid("GROUPS needs ORDER BY").help("write ROWS to count rows"))
        }
        _ => Ok(()),
    }
}

/// Casts arguments to the types a window function takes, and returns its result type.
fn cast_arguments(
    function: &WindowFunction,
    name: &str,
    arguments: Vec<Expr>,
    span: Span,
) -> Result<(Vec<Expr>, ColumnType)> {
    use WindowFunction as Kind;
    let (least, most) = match function {
        Kind::Lag | Kind::Lead => (1, 3),
        Kind::FirstValue | Kind::LastValue | Kind::Ntile => (1, 1),
        Kind::NthValue => (2, 2),
        _ => (0, 0),
    };
    if !(least..=most).contains(&arguments.len()) {
        let given = arguments.len();
        return Err(Error::invalid(format!(
            "window function {name} does not take {given} arguments"
        ))
        .at(span));
    }
    let ty = match function {
        Kind::PercentRank | Kind::CumeDist => ColumnType::Float64,
        Kind::Lag | Kind::Lead | Kind::FirstValue | Kind::LastValue | Kind::NthValue => {
            arguments[0].ty()
        }
        _ => ColumnType::Int64,
    };
    let cast = arguments.into_iter().enumerate().map(|(index, argument)| {
        let wanted = match (function, index) {
            (Kind::Ntile, 0) | (Kind::Lag | Kind::Lead | Kind::NthValue, 1) => ColumnType::Int64,
            _ => ty.clone(),
        };
        let is_null = matches!(argument.as_literal(), Some(Value::Null));
        if is_null {
            Ok(Expr::null(wanted))
        } else {
            coerce(argument, &wanted, name).map_err(|error| error.at(span))
        }
    });
    Ok((cast.collect::<Result<_>>()?, ty))
}
