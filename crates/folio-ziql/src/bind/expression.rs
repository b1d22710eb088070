//! Binds values: literals, parameters, members along to-one links, arithmetic.

use folio_compute::arithmetic::Arithmetic;
use folio_compute::type_rules::{is_numeric, unify};
use folio_compute::{Error, Result, Span, member_type_name};
use folio_engine::expression::{Expr, Function, function};
use folio_engine::source::entity::MemberKind;
use folio_types::{ColumnType, ErrorCode, Value};

use super::types::{as_type, compute, none};
use super::{Binder, Row, Rows};
use crate::ast::{self, Name, Path};

impl Binder<'_> {
    /// Binds a value that may read members of the row.
    ///
    /// # Errors
    /// Unknown names; types that do not fit.
    pub(super) fn value(&mut self, rows: &mut Rows, syntax: &ast::Expr) -> Result<Expr> {
        self.binding.descend(|| syntax.span())?;
        match syntax {
            ast::Expr::Literal(value, ty, span) => Ok(Expr::Literal {
                value: value.clone(),
                ty: ty.clone(),
                untyped: false,
                span: *span,
            }),
            ast::Expr::None(span) => Ok(none(*span)),
            ast::Expr::Now(span) => function::resolve("now", Vec::new(), *span),
            ast::Expr::List(items, span) => self.list(rows, items, *span),
            ast::Expr::Parameter(name) => self.parameter(name),
            ast::Expr::Path(path) => self.path_value(rows, path),
            ast::Expr::Aggregate(kind, path, span) => {
                self.aggregate(rows, *kind, path.as_ref(), *span)
            }
            ast::Expr::Negate(inner, span) => {
                let inner = self.value(rows, inner)?;
                if inner.is_untyped() && matches!(inner.as_literal(), Some(Value::Null)) {
                    return Ok(inner);
                }
                let ty = inner.ty();
                if !is_numeric(&ty) {
                    let ty = member_type_name(&ty);
                    let error = Error::mismatch(format!("`-` takes a number, not {ty}"));
                    return Err(error.at(*span));
                }
                let zero = Expr::literal(Value::Integer(0), ColumnType::Int64);
                compute(Arithmetic::Subtract, zero, inner, *span)
            }
            ast::Expr::Arithmetic(op, left, right, span) => {
                let left = self.value(rows, left)?;
                compute(*op, left, self.value(rows, right)?, *span)
            }
            condition => Ok(Expr::IsTrue(Box::new(self.condition(rows, condition)?))),
        }
    }

    /// Binds a value that reads no members.
    pub(super) fn constant(&mut self, rows: &mut Rows, syntax: &ast::Expr) -> Result<Expr> {
        if let Some(path) = first_path(syntax) {
            let error = Error::invalid(format!("`{}` cannot be read here", path.text()));
            return Err(match &path.members[..] {
                [only] => error.at(only.span).help(format!("strings are quoted: '{}'", only.text)),
                _ => error.at(path.span()),
            });
        }
        self.value(rows, syntax)
    }

    /// `[1, 2]`
    fn list(&mut self, rows: &mut Rows, items: &[ast::Expr], span: Span) -> Result<Expr> {
        if items.is_empty() {
            let ty = ColumnType::List(Box::new(ColumnType::Text));
            return Ok(Expr::Literal { value: Value::List(Vec::new()), ty, untyped: true, span });
        }
        let mut bound = Vec::with_capacity(items.len());
        let mut common: Option<ColumnType> = None;
        for item in items {
            let value = self.value(rows, item)?;
            if !value.is_untyped() {
                let ty = value.ty();
                common = Some(match &common {
                    None => ty,
                    Some(known) => unify(known, &ty).ok_or_else(|| {
                        let (one, other) = (member_type_name(known), member_type_name(&ty));
                        Error::mismatch(format!("a list cannot hold both {one} and {other}"))
                            .at(item.span())
                    })?,
                });
            }
            bound.push(value);
        }
        let untyped = common.is_none();
        let common = common.unwrap_or(ColumnType::Text);
        let bound: Vec<Expr> = bound
            .into_iter()
            .map(|item| as_type(item, &common, "the list", span))
            .collect::<Result<_>>()?;
        let literals: Option<Vec<Value>> =
            bound.iter().map(|item| item.as_literal().cloned()).collect();
        match literals {
            Some(values) => Ok(Expr::Literal {
                value: Value::List(values),
                ty: ColumnType::List(Box::new(common)),
                untyped,
                span,
            }),
            None => function::resolve("array", bound, span),
        }
    }

    /// `$name`
    pub(super) fn parameter(&self, name: &Name) -> Result<Expr> {
        let found = self.given.names.iter().position(|known| *known == name.text);
        let Some(index) = found else {
            let error = Error::not_found(format!("parameter `${}` has no value", name.text));
            let names = self.given.names.iter().map(|known| &**known);
            return Err(error.near(&name.text, names).at(name.span));
        };
        let ty = self.given.types[index].clone();
        let untyped = ty.is_none();
        Ok(Expr::Parameter { index, ty: ty.unwrap_or(ColumnType::Text), untyped })
    }

    /// The value at the end of a path of to-one links, then of members of objects. A link at the
    /// end gives its key.
    pub(super) fn path_value(&mut self, rows: &mut Rows, path: &Path) -> Result<Expr> {
        if self.grouping.is_some() {
            return self.grouped(path);
        }
        if is_open(rows, path) {
            return Ok(Expr::null(ColumnType::Json));
        }
        if let Some(at) = self.value_with_members(rows, path)? {
            let (front, below) = path.members.split_at(at + 1);
            let whole = self.path_value(rows, &Path { members: front.to_vec() })?;
            let found = below.iter().try_fold(whole, member_of);
            return match found {
                Err(error) if error.code() == ErrorCode::NotFound && has_open_paths(rows) => {
                    Ok(Expr::null(ColumnType::Json))
                }
                found => found,
            };
        }
        let (row, last) = self.owner(rows, path)?;
        let member = row.entity.find(&last.text, last.span)?;
        match &member.kind {
            MemberKind::Value(column) | MemberKind::One { column, .. } => Ok(row.column(*column)),
            MemberKind::Many { .. } | MemberKind::Inverse { .. } => {
                let text = path.text();
                let error = Error::mismatch(format!("`{text}` is a set of entities, not a value"));
                Err(error.at(last.span).help(format!("use IN or ALLIN: `{text} IN {{…}}`")))
            }
        }
    }

    /// The entity that has the last member of a path.
    pub(super) fn owner<'p>(&mut self, rows: &mut Rows, path: &'p Path) -> Result<(Row, &'p Name)> {
        let (last, before) =
            path.members.split_last().ok_or_else(|| Error::syntax("a path is empty"))?;
        let mut row = rows.row.clone();
        let mut walked = String::new();
        for name in before {
            let member = row.entity.find(&name.text, name.span)?;
            walked.push_str(&member.name);
            walked.push('.');
            match &member.kind {
                MemberKind::One { column, target } => {
                    let link = row.column(*column);
                    row = self.join(rows, &walked, link, target, name.span)?;
                }
                MemberKind::Value(column) => {
                    let ty = member_type_name(row.entity.column_type(*column));
                    let error = Error::mismatch(format!("`{}` is {ty}, not a link", name.text));
                    return Err(error.at(name.span));
                }
                MemberKind::Many { .. } | MemberKind::Inverse { .. } => {
                    let error = Error::mismatch(format!("`{}` leads to many entities", name.text));
                    return Err(error.at(name.span).help("only to-one links can be followed here"));
                }
            }
        }
        Ok((row, last))
    }

    /// The position of the value whose members a path goes on into: 0 for a path that no document
    /// of an open collection has.
    pub(super) fn value_with_members(&mut self, rows: &Rows, path: &Path) -> Result<Option<usize>> {
        if is_open(rows, path) {
            return Ok(Some(0));
        }
        let end = self.after_to_one(rows, path)?;
        Ok(end.filter(|(at, is_value)| *is_value && at + 1 < path.members.len()).map(|(at, _)| at))
    }

    /// The position of the first to-many link in a path.
    pub(super) fn first_many(&mut self, rows: &Rows, path: &Path) -> Result<Option<usize>> {
        let end = self.after_to_one(rows, path)?;
        Ok(end.filter(|(_, is_value)| !is_value).map(|(at, _)| at))
    }

    /// The position of the first member of a path that is no to-one link, and whether it is a value.
    fn after_to_one(&mut self, rows: &Rows, path: &Path) -> Result<Option<(usize, bool)>> {
        let mut entity = std::sync::Arc::clone(&rows.row.entity);
        for (at, name) in path.members.iter().enumerate() {
            let Some(member) = entity.member(&name.text) else { return Ok(None) };
            match &member.kind {
                MemberKind::One { target, .. } => entity = self.entity(target, name.span)?,
                kind => return Ok(Some((at, matches!(kind, MemberKind::Value(_))))),
            }
        }
        Ok(None)
    }
}

fn has_open_paths(rows: &Rows) -> bool {
    rows.row.entity.relation.constraints.has_open_paths
}

/// Whether a path begins with a member that no document of an open collection has: it is none.
fn is_open(rows: &Rows, path: &Path) -> bool {
    let is_unknown = |first: &Name| rows.row.entity.member(&first.text).is_none();
    has_open_paths(rows) && path.members.first().is_some_and(is_unknown)
}

/// The member of an object.
///
/// # Errors
/// `not_found`, with the nearest name; `type_mismatch` for what has no members.
pub(super) fn member_of(whole: Expr, name: &Name) -> Result<Expr> {
    let ty = whole.ty();
    let fields = match &ty {
        ColumnType::Struct(fields) => fields,
        ColumnType::Map(_) => {
            let key = Expr::literal(Value::Text(name.text.clone()), ColumnType::Text);
            return function::resolve("map_get", vec![whole, key], name.span);
        }
        ColumnType::Json => {
            let text = Expr::literal(Value::Text(name.text.clone()), ColumnType::Text);
            return function::resolve("json_get", vec![whole, text], name.span);
        }
        other => {
            let ty = member_type_name(other);
            let error = Error::mismatch(format!("{ty} has no member `{}`", name.text));
            return Err(error.at(name.span));
        }
    };
    let exact = fields.iter().position(|(field, _)| *field == name.text);
    let similar = || fields.iter().position(|(field, _)| field.eq_ignore_ascii_case(&name.text));
    let Some(index) = exact.or_else(similar) else {
        let names = fields.iter().map(|(field, _)| &**field);
        let error = Error::not_found(format!("there is no member `{}`", name.text));
        return Err(error.near(&name.text, names).at(name.span));
    };
    let returns = fields[index].1.clone();
    let function = Function::field(ty, index, returns);
    let function = std::sync::Arc::new(function);
    Ok(Expr::Function { function, arguments: vec![whole], span: name.span })
}

/// The first path of an expression.
pub(super) fn first_path(syntax: &ast::Expr) -> Option<&Path> {
    match syntax {
        ast::Expr::Path(path)
        | ast::Expr::In { path, .. }
        | ast::Expr::Is { path, .. }
        | ast::Expr::Match { path, .. }
        | ast::Expr::Aggregate(_, Some(path), _) => Some(path),
        other => other.operands().into_iter().find_map(first_path),
    }
}
