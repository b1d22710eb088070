//! Binds conditions in braces.
//!
//! A condition is true or false. In the plan, a comparison without a value is null, which a
//! filter treats as false. NOT applies to the result, after null has become false.

use folio_compute::pattern::MatchKind;
use folio_compute::{Error, Result, Span, member_type_name};
use folio_engine::expression::Expr;
use folio_engine::plan::terms::JoinKind;
use folio_engine::source::Comparison;
use folio_types::{ColumnType, Value};

use super::link::{Tested, no_entities};
use super::types::{as_type, compare};
use super::{Binder, Rows};
use crate::ast::{self, Filter, Path, Set};

impl Binder<'_> {
    /// Keeps the rows that pass a condition. Memberships that every row must have, or must not
    /// have, become semi and anti joins.
    pub(super) fn filter(&mut self, rows: &mut Rows, filter: &Filter) -> Result<()> {
        match &filter.condition {
            None => Ok(()),
            Some(condition) => self.keep(rows, condition),
        }
    }

    /// Keeps the rows for which a condition is true.
    pub(super) fn keep(&mut self, rows: &mut Rows, condition: &ast::Expr) -> Result<()> {
        let terms: Vec<&ast::Expr> = match condition {
            ast::Expr::And(terms) => terms.iter().collect(),
            other => vec![other],
        };
        let mut plain = Vec::new();
        for term in terms {
            let (term, inverted) = match term {
                ast::Expr::Not(inner, _) if is_membership(inner) => (&**inner, true),
                term => (term, false),
            };
            match self.test(rows, term)? {
                Tested::Among { key, keys, column, negated } => {
                    let kind = match negated != inverted {
                        true => JoinKind::Anti,
                        false => JoinKind::Semi,
                    };
                    rows.retain_among(kind, key, (keys, column));
                }
                Tested::Plain(term) if inverted => plain.push(not(term)),
                Tested::Plain(term) => plain.push(term),
            }
        }
        rows.retain(plain);
        Ok(())
    }

    /// A condition as a boolean column; null counts as false.
    pub(super) fn condition(&mut self, rows: &mut Rows, syntax: &ast::Expr) -> Result<Expr> {
        match self.test(rows, syntax)? {
            Tested::Plain(condition) => Ok(condition),
            Tested::Among { key, keys, negated, .. } => {
                let mark = self.mark(rows, key, keys);
                Ok(if negated { not(mark) } else { mark })
            }
        }
    }

    /// Binds a condition, as a boolean or as a membership.
    fn test(&mut self, rows: &mut Rows, syntax: &ast::Expr) -> Result<Tested> {
        self.binding.descend(|| syntax.span())?;
        match syntax {
            ast::Expr::And(terms) | ast::Expr::Or(terms) => {
                let bound = terms.iter().map(|term| self.condition(rows, term));
                let bound = bound.collect::<Result<_>>()?;
                let is_and = matches!(syntax, ast::Expr::And(_));
                Ok(Tested::Plain(if is_and { Expr::And(bound) } else { Expr::Or(bound) }))
            }
            ast::Expr::Not(inner, _) => Ok(Tested::Plain(not(self.condition(rows, inner)?))),
            ast::Expr::Compare(op, left, right, span) => {
                self.comparison(rows, *op, left, right, *span)
            }
            ast::Expr::In { path, all, negated, set } => {
                self.in_condition(rows, path, *all, *negated, set)
            }
            ast::Expr::Is { path, negated, filter } => self.is_entity(rows, path, *negated, filter),
            ast::Expr::Match { path, regex, negated, pattern } => {
                self.matches(rows, path, *regex, *negated, pattern)
            }
            ast::Expr::Member { set, .. } if self.grouping.is_some() => Err(no_entities(set.span)),
            ast::Expr::Member { negated, set } => {
                let key = rows.row.key(set.span)?;
                let (keys, column) = self.set_keys(set, rows.row.entity.name())?;
                Ok(Tested::Among { key, keys, column, negated: *negated })
            }
            other => {
                let value = self.value(rows, other)?;
                if value.is_untyped() {
                    return Err(Error::mismatch("expected a condition, found a value alone")
                        .at(other.span()));
                }
                if value.ty() != ColumnType::Boolean {
                    let ty = member_type_name(&value.ty());
                    let error = Error::mismatch(format!("expected a condition, found {ty}"));
                    return Err(error.at(other.span()).help("compare it: `age > 18`"));
                }
                Ok(Tested::Plain(value))
            }
        }
    }

    fn comparison(
        &mut self,
        rows: &mut Rows,
        op: Comparison,
        left: &ast::Expr,
        right: &ast::Expr,
        span: Span,
    ) -> Result<Tested> {
        if let ast::Expr::Path(path) = right
            && let [only] = &path.members[..]
            && self.grouping.is_none()
            && rows.row.entity.member(&only.text).is_none()
        {
            return Err(self.no_value(rows, only));
        }
        for (path, other, op) in [(left, right, op), (right, left, op.mirrored())] {
            if let ast::Expr::Path(path) = path
                && let Some(at) = self.first_many(rows, path)?
            {
                return self.any_compared(rows, path, at, op, other, span);
            }
        }
        match (left, right) {
            (ast::Expr::None(_), ast::Expr::None(_)) => {
                Ok(Tested::Plain(Expr::boolean(op == Comparison::Equal)))
            }
            (value, ast::Expr::None(_)) | (ast::Expr::None(_), value) => {
                self.absence(rows, op, value).map(Tested::Plain)
            }
            (left, right) => {
                self.check_link_order(rows, op, [left, right])?;
                let left = (self.value(rows, left)?, left.span());
                let right = (self.value(rows, right)?, right.span());
                compare(op, left, right, span).map(Tested::Plain)
            }
        }
    }

    /// The error for an unknown name where a value is expected.
    fn no_value(&self, rows: &Rows, name: &ast::Name) -> Error {
        let error = Error::syntax(format!("expected a value, found the name `{}`", name.text));
        if self.set(name).is_ok() {
            let text = &name.text;
            return error.at(name.span).help(format!("it is a set: use `IN {text}`"));
        }
        let members = rows.row.entity.members.iter().map(|member| &*member.name);
        let near = error.near(&name.text, members).at(name.span);
        match near.hint() {
            _ if ["null", "nil"].contains(&&*name.text.to_lowercase()) => {
                near.help("write `none` for a missing value")
            }
            Some(_) => near,
            None => near.help(format!("strings are quoted: '{}'", name.text)),
        }
    }

    /// Refuses `<` and the like on links, which have no order.
    fn check_link_order(
        &mut self,
        rows: &mut Rows,
        op: Comparison,
        sides: [&ast::Expr; 2],
    ) -> Result<()> {
        if matches!(op, Comparison::Equal | Comparison::NotEqual) || self.grouping.is_some() {
            return Ok(());
        }
        for side in sides {
            if let ast::Expr::Path(path) = side
                && self.value_with_members(rows, path)?.is_none()
            {
                let (row, last) = self.owner(rows, path)?;
                let member = row.entity.find(&last.text, last.span)?;
                if member.kind.target().is_some() {
                    let error = Error::mismatch(format!("link `{}` has no order", path.text()));
                    return Err(error.at(path.span()).help("compare it with `=` or `!=`"));
                }
            }
        }
        Ok(())
    }

    /// `path = none`. False if the entity before the last member does not exist: then nothing
    /// has or lacks the member.
    fn absence(&mut self, rows: &mut Rows, op: Comparison, value: &ast::Expr) -> Result<Expr> {
        let bound = self.value(rows, value)?;
        let is_null = Expr::IsNull(Box::new(bound));
        match op {
            Comparison::NotEqual => Ok(not(is_null)),
            Comparison::Equal => match value {
                ast::Expr::Path(path)
                    if path.members.len() > 1
                        && self.grouping.is_none()
                        && self.value_with_members(rows, path)?.is_none() =>
                {
                    let (row, last) = self.owner(rows, path)?;
                    let there = not(Expr::IsNull(Box::new(row.key(last.span)?)));
                    Ok(Expr::And(vec![there, is_null]))
                }
                _ => Ok(is_null),
            },
            _ => Ok(Expr::boolean(false)),
        }
    }

    /// `posts.likes > 3` is `posts IN {likes > 3}`.
    fn any_compared(
        &mut self,
        rows: &mut Rows,
        path: &Path,
        at: usize,
        op: Comparison,
        other: &ast::Expr,
        span: Span,
    ) -> Result<Tested> {
        if at + 1 == path.members.len() {
            let text = path.text();
            let error = Error::mismatch(format!("`{text}` is a set of entities")).at(path.span());
            return Err(error.help(format!("use IN or ALLIN: `{text} IN {{…}}`")));
        }
        if let Some(inner) = super::expression::first_path(other) {
            let error = Error::unsupported(format!(
                "`{}` leads to many entities, which can only be compared with a value",
                path.text()
            ));
            return Err(error.at(inner.span()));
        }
        self.through(rows, path, at, |rest| {
            let (left, right) = (Box::new(ast::Expr::Path(rest)), Box::new(other.clone()));
            ast::Expr::Compare(op, left, right, span)
        })
    }

    /// Binds a condition on members after the link at a position of a path: true if any target
    /// of the link passes.
    pub(super) fn through(
        &mut self,
        rows: &mut Rows,
        path: &Path,
        at: usize,
        condition: impl FnOnce(Path) -> ast::Expr,
    ) -> Result<Tested> {
        let (link, rest) = path.members.split_at(at + 1);
        let (link, rest) = (Path { members: link.to_vec() }, Path { members: rest.to_vec() });
        let span = path.span();
        let condition = Some(Box::new(condition(rest)));
        let set = Set::Filter(Filter { condition, span });
        self.in_condition(rows, &link, false, false, &set)
    }

    fn matches(
        &mut self,
        rows: &mut Rows,
        path: &Path,
        regex: bool,
        negated: bool,
        pattern: &ast::Expr,
    ) -> Result<Tested> {
        if let Some(at) = self.first_many(rows, path)? {
            let pattern = Box::new(pattern.clone());
            return self.through(rows, path, at, |path| ast::Expr::Match {
                path,
                regex,
                negated,
                pattern,
            });
        }
        let input = self.path_value(rows, path)?;
        let ty = input.ty();
        if matches!(input.as_literal(), Some(Value::Null)) {
            return Ok(Tested::Plain(Expr::null(ColumnType::Boolean))); // of an open collection
        }
        if ty != ColumnType::Text {
            let (name, ty) = (path.text(), member_type_name(&ty));
            let error = Error::mismatch(format!("a pattern takes a str, and `{name}` is {ty}"));
            return Err(error.at(path.span()));
        }
        let span = pattern.span();
        let pattern = self.value(rows, pattern)?;
        let pattern = as_type(pattern, &ColumnType::Text, "a pattern", span)?;
        let kind = if regex { MatchKind::Regex } else { MatchKind::Like };
        if let Some(Value::Text(text)) = pattern.as_literal() {
            folio_compute::pattern::compile(kind, text, None).map_err(|error| error.at(span))?;
        }
        let (input, pattern) = (Box::new(input), Box::new(pattern));
        let matched = Expr::Match { kind, input, pattern, escape: None };
        // Null stays null: without a value, neither the condition nor its opposite is true.
        Ok(Tested::Plain(if negated { Expr::Not(Box::new(matched)) } else { matched }))
    }
}

/// Negates a test if `negated`.
pub(super) fn inverted(tested: Tested, negated: bool) -> Tested {
    match tested {
        Tested::Among { key, keys, column, negated: own } => {
            Tested::Among { key, keys, column, negated: own != negated }
        }
        Tested::Plain(condition) if negated => Tested::Plain(not(condition)),
        plain => plain,
    }
}

/// Whether a condition may be a membership.
fn is_membership(syntax: &ast::Expr) -> bool {
    matches!(
        syntax,
        ast::Expr::In { .. }
            | ast::Expr::Member { .. }
            | ast::Expr::Compare(..)
            | ast::Expr::Match { .. }
    )
}

/// Two-valued NOT.
pub(super) fn not(condition: Expr) -> Expr {
    match condition {
        condition @ (Expr::IsNull(_) | Expr::IsTrue(_)) => Expr::Not(Box::new(condition)),
        condition => Expr::Not(Box::new(Expr::IsTrue(Box::new(condition)))),
    }
}
