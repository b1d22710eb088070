//! Prints syntax as text that parses to the same statement.
//!
//! Keywords are in capitals. A shape comes before the condition, the condition before BY and
//! the order. Brackets appear only where precedence needs them. Comments and line breaks are
//! lost.

use std::fmt::{Display, Error, Formatter, Result};

use folio_compute::arithmetic::Arithmetic;
use folio_engine::bound::entity::IfTaken;
use folio_engine::source::Comparison;
use folio_types::{ColumnType, Value};

use crate::ast::{
    Add, Aggregate, Chain, Change, Expr, Field, Filter, Given, Grab, Item, Limit, Name, Nested,
    Order, Path, Script, Set, Shape, Source, Statement, Step, Target, Tuple, Tuples,
};
use crate::schema::{literal, quoted};

/// Precedence levels, from OR (loosest) on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Or,
    And,
    Not,
    Comparison,
    Sum,
    Product,
    Sign,
    Primary,
}

/// An expression in a place that needs at least this level.
struct Operand<'e>(&'e Expr, Level);

/// Items with a separator.
struct Joined<'i, T>(&'i [T], &'static str);

impl<T: Display> Display for Joined<'_, T> {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        for (index, item) in self.0.iter().enumerate() {
            out.write_str(if index > 0 { self.1 } else { "" })?;
            item.fmt(out)?;
        }
        Ok(())
    }
}

impl Display for Script {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        Joined(&self.chains, ";\n").fmt(out)
    }
}

impl Display for Chain {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        Joined(&self.steps, " => ").fmt(out)
    }
}

impl Display for Step {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        out.write_str(if self.explain { "EXPLAIN " } else { "" })?;
        match &self.statement {
            Statement::Grab(grab) => grab.fmt(out),
            Statement::Add(add) => add.fmt(out),
            Statement::Update(update) => {
                write!(out, "UPDATE {} TO {}", update.target, update.tuple)
            }
            Statement::Delete(delete) => write!(out, "DELETE {}", delete.target),
        }?;
        match &self.name {
            Some(name) => write!(out, " => {name}"),
            None => Ok(()),
        }
    }
}

impl Display for Name {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        out.write_str(&quoted(&self.text))
    }
}

impl Display for Path {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        Joined(&self.members, ".").fmt(out)
    }
}

impl Display for Grab {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        let Self { source, shape, filter, by, order } = self;
        write!(out, "GRAB {source}")?;
        if let Some(shape) = shape {
            write!(out, " {shape}")?;
        }
        if let Some(filter) = filter {
            write!(out, " {filter}")?;
        }
        if !by.is_empty() {
            write!(out, " BY {}", Joined(by, ", "))?;
        }
        ordered(order, out)
    }
}

impl Display for Source {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        self.entity.fmt(out)?;
        for (filter, link) in &self.hops {
            if let Some(filter) = filter {
                write!(out, " {filter}")?;
            }
            write!(out, ".{link}")?;
        }
        Ok(())
    }
}

impl Display for Shape {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        out.write_str("[")?;
        if let Some(limit) = &self.limit {
            limit.fmt(out)?;
        }
        if let Some(fields) = &self.fields {
            out.write_str(if self.limit.is_some() { "; " } else { "" })?;
            Joined(fields, ", ").fmt(out)?;
        }
        out.write_str("]")
    }
}

impl Display for Limit {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        self.take.fmt(out)?;
        match &self.skip {
            Some(skip) => write!(out, " + {skip}"),
            None => Ok(()),
        }
    }
}

impl Display for Field {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        match self {
            Self::All(_) => out.write_str("*"),
            Self::Path { alias: Some(alias), path, nested } => {
                write!(out, "{alias}: {path}{nested}")
            }
            Self::Path { alias: None, path, nested } => write!(out, "{path}{nested}"),
            Self::Value { alias, value } => write!(out, "{alias}: {value}"),
        }
    }
}

impl Display for Nested {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        if let Some(shape) = &self.shape {
            write!(out, " {shape}")?;
        }
        if let Some(filter) = &self.filter {
            write!(out, " {filter}")?;
        }
        ordered(&self.order, out)
    }
}

fn ordered(order: &[Order], out: &mut Formatter<'_>) -> Result {
    if order.is_empty() {
        return Ok(());
    }
    write!(out, " |{}|", Joined(order, ", "))
}

impl Display for Order {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        write!(out, "{}{}", if self.descending { "DESC " } else { "" }, self.path)
    }
}

impl Display for Filter {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        match &self.condition {
            Some(condition) => write!(out, "{{{condition}}}"),
            None => out.write_str("{}"),
        }
    }
}

impl Display for Set {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        match self {
            Self::List(items, _) => write!(out, "[{}]", Joined(items, ", ")),
            Self::Filter(filter) => filter.fmt(out),
            Self::Name(name) => name.fmt(out),
            Self::Parameter(name) => write!(out, "${}", name.text),
        }
    }
}

impl Display for Add {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        write!(out, "ADD {}", self.entity)?;
        let mut tuple_places = self.buffer.tuple_places();
        for tuples in &self.tuples {
            match tuples {
                Tuples::One(tuple) => write!(out, " {tuple}")?,
                Tuples::Literals(range) => {
                    for tuple in range.clone() {
                        write!(out, " {}", tuple_places.tuple(tuple).map_err(|_| Error)?)?;
                    }
                }
            }
        }
        out.write_str(match self.if_taken {
            IfTaken::Fail => "",
            IfTaken::Skip => " OR SKIP",
            IfTaken::Update => " OR UPDATE",
        })
    }
}

impl Display for Target {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        self.source.fmt(out)?;
        if let Some(limit) = &self.limit {
            write!(out, " [{limit}]")?;
        }
        write!(out, " {}", self.filter)
    }
}

impl Display for Tuple {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        write!(out, "({})", Joined(&self.items, ", "))
    }
}

impl Display for Item {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        let Some(member) = &self.member else {
            return match &self.change {
                // `(a = 1)` alone would parse as a member and its value.
                Change::Set(Given::Value(value)) => Operand(value, Level::Sum).fmt(out),
                Change::Set(given) => given.fmt(out),
                _ => Ok(()),
            };
        };
        match &self.change {
            Change::Set(given) => write!(out, "{member} = {given}"),
            Change::Arithmetic(op, value, _) => write!(out, "{member} {}= {value}", sign(*op)),
            Change::Append(given) => write!(out, "{member} APPEND {given}"),
            Change::Remove(given) => write!(out, "{member} REMOVE {given}"),
            Change::RemoveAt(given) => write!(out, "{member} REMOVEAT {given}"),
            Change::Pop => write!(out, "{member} POP"),
            Change::Clear => write!(out, "{member} CLEAR"),
        }
    }
}

impl Display for Given {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        match self {
            Self::Value(value) => value.fmt(out),
            Self::Entities { limit: Some(limit), filter } => write!(out, "[{limit}]{filter}"),
            Self::Entities { limit: None, filter } => filter.fmt(out),
        }
    }
}

impl Display for Operand<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        let Self(expression, least) = self;
        if level(expression) < *least { write!(out, "({expression})") } else { expression.fmt(out) }
    }
}

fn level(expression: &Expr) -> Level {
    match expression {
        Expr::Or(_) => Level::Or,
        Expr::And(_) => Level::And,
        Expr::Not(..) => Level::Not,
        Expr::Compare(..)
        | Expr::In { .. }
        | Expr::Is { .. }
        | Expr::Match { .. }
        | Expr::Member { .. } => Level::Comparison,
        Expr::Arithmetic(Arithmetic::Add | Arithmetic::Subtract, ..) => Level::Sum,
        Expr::Arithmetic(..) => Level::Product,
        Expr::Negate(..) => Level::Sign,
        _ => Level::Primary,
    }
}

impl Display for Expr {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        let not = |negated: bool| if negated { "!" } else { "" };
        match self {
            Self::Literal(value, ty, _) => out.write_str(&written(value, ty)),
            Self::None(_) => out.write_str("none"),
            Self::Now(_) => out.write_str("NOW"),
            Self::List(items, _) => write!(out, "[{}]", Joined(items, ", ")),
            Self::Parameter(name) => write!(out, "${}", name.text),
            Self::Path(path) => path.fmt(out),
            Self::Aggregate(function, path, _) => {
                write!(out, "{}(", aggregate(*function))?;
                path.iter().try_for_each(|path| path.fmt(out))?;
                out.write_str(")")
            }
            // Avoids `--`, which begins a comment, and `-1`, which is one number.
            Self::Negate(inner, _) if matches!(**inner, Self::Literal(..) | Self::Negate(..)) => {
                write!(out, "-({inner})")
            }
            Self::Negate(inner, _) => write!(out, "-{}", Operand(inner, Level::Sign)),
            Self::Arithmetic(op, left, right, _) => {
                let own = level(self);
                let tighter = if own == Level::Sum { Level::Product } else { Level::Sign };
                write!(out, "{} {} {}", Operand(left, own), sign(*op), Operand(right, tighter))
            }
            Self::Compare(op, left, right, _) => {
                let side = |side| Operand(side, Level::Sum);
                write!(out, "{} {} {}", side(left), comparison(*op), side(right))
            }
            Self::And(terms) => joined(terms, " AND ", Level::Not, out),
            Self::Or(terms) => joined(terms, " OR ", Level::And, out),
            Self::Not(inner, _) => write!(out, "NOT {}", Operand(inner, Level::Not)),
            Self::In { path, all, negated, set } => {
                let word = if *all { "ALLIN" } else { "IN" };
                write!(out, "{path} {}{word} {set}", not(*negated))
            }
            Self::Is { path, negated, filter } => write!(out, "{path} {}= {filter}", not(*negated)),
            Self::Match { path, regex, negated, pattern } => {
                let word = if *regex { "~" } else { "LIKE" };
                write!(out, "{path} {}{word} {pattern}", not(*negated))
            }
            Self::Member { negated, set } => write!(out, "{}IN {set}", not(*negated)),
        }
    }
}

fn joined(terms: &[Expr], word: &'static str, least: Level, out: &mut Formatter<'_>) -> Result {
    let terms: Vec<Operand<'_>> = terms.iter().map(|term| Operand(term, least)).collect();
    Joined(&terms, word).fmt(out)
}

/// Prints floats with all digits, so that they parse to the same value.
fn written(value: &Value, ty: &ColumnType) -> String {
    match value {
        Value::Float(number) => format!("{number:?}"),
        _ => literal(value, ty),
    }
}

fn sign(op: Arithmetic) -> &'static str {
    match op {
        Arithmetic::Add => "+",
        Arithmetic::Subtract => "-",
        Arithmetic::Multiply => "*",
        Arithmetic::Divide => "/",
        _ => "%",
    }
}

fn comparison(op: Comparison) -> &'static str {
    match op {
        Comparison::NotEqual => "!=",
        Comparison::Less => "<",
        Comparison::LessOrEqual => "<=",
        Comparison::Greater => ">",
        Comparison::GreaterOrEqual => ">=",
        _ => "=",
    }
}

fn aggregate(function: Aggregate) -> &'static str {
    match function {
        Aggregate::Count => "COUNT",
        Aggregate::Sum => "SUM",
        Aggregate::Avg => "AVG",
        Aggregate::Min => "MIN",
        Aggregate::Max => "MAX",
    }
}

#[cfg(test)]
mod tests;
