//! Binds joins: kinds, conditions, and shared columns.

use std::sync::Arc;

use folio_compute::type_rules::unify;
use folio_compute::{Error, Result, Span};
use folio_engine::expression::coerce::coerce;
use folio_engine::expression::{ColumnId, Expr};
use folio_engine::plan::logical::Plan;
use folio_engine::plan::terms::JoinKind;
use folio_engine::source::Comparison;
use folio_types::same_name;
use sqlparser::ast;

use super::Binder;
use super::expression::place;
use super::operator::{compare, condition};
use super::scope::{Allowed, From, Scope, ScopeColumn};
use crate::place::Place;

impl Binder<'_> {
    /// Binds one JOIN with its right side.
    pub(super) fn join_step(
        &mut self,
        left: From,
        right: From,
        (operator, span): (&ast::JoinOperator, Span),
        parent: Option<&Scope<'_>>,
    ) -> Result<From> {
        use ast::JoinOperator as Sql;
        let (kind, constraint) = match operator {
            Sql::Join(constraint) | Sql::Inner(constraint) | Sql::CrossJoin(constraint) => {
                (JoinKind::Inner, constraint)
            }
            Sql::Left(constraint) | Sql::LeftOuter(constraint) => (JoinKind::Left, constraint),
            Sql::Right(constraint) | Sql::RightOuter(constraint) => (JoinKind::Right, constraint),
            Sql::FullOuter(constraint) => (JoinKind::Full, constraint),
            Sql::Semi(constraint) | Sql::LeftSemi(constraint) => (JoinKind::Semi, constraint),
            Sql::Anti(constraint) | Sql::LeftAnti(constraint) => (JoinKind::Anti, constraint),
            Sql::RightSemi(_) | Sql::RightAnti(_) => {
                let error = Error::unsupported("RIGHT SEMI and RIGHT ANTI JOIN are not supported");
                return Err(error.at(span).help("write the tables the other way round"));
            }
            Sql::AsOf { .. } => {
                let error = Error::unsupported("ASOF JOIN is not supported").at(span);
                return Err(error.help("write JOIN LATERAL (SELECT … ORDER BY … LIMIT 1)"));
            }
            Sql::CrossApply | Sql::OuterApply => {
                let error = Error::unsupported("APPLY is not supported").at(span);
                return Err(error.help("write CROSS JOIN LATERAL, or LEFT JOIN LATERAL … ON true"));
            }
            Sql::StraightJoin(_) | Sql::ArrayJoin | Sql::LeftArrayJoin | Sql::InnerArrayJoin => {
                let error = Error::unsupported("this kind of join is not supported").at(span);
                return Err(error.help("write JOIN … ON"));
            }
        };
        match constraint {
            ast::JoinConstraint::None => {
                if !matches!(operator, Sql::CrossJoin(_)) {
                    return Err(Error::syntax("a join needs a condition")
                        .at(span)
                        .help("add ON or USING, or write CROSS JOIN"));
                }
                Ok(join(left, right, kind, Vec::new()))
            }
            ast::JoinConstraint::On(on) => {
                let columns = left.columns.iter().chain(&right.columns).cloned().collect();
                let scope = Scope::new(columns, parent);
                scope.enter("a join condition", Allowed::Columns);
                let bound = self.expression(on, &scope)?;
                let term = condition(bound, "on").map_err(|error| error.at(place(on)))?;
                Ok(join(left, right, kind, term.into_conjuncts()))
            }
            ast::JoinConstraint::Using(names) => {
                let names = names.iter().map(super::last_name).collect::<Result<Vec<_>>>()?;
                self.join_using(left, right, kind, &names)
            }
            ast::JoinConstraint::Natural => {
                let is_shown = |column: &&ScopeColumn| !column.hidden && !column.unlisted;
                let shared = left.columns.iter().filter(is_shown).filter(|column| {
                    right
                        .columns
                        .iter()
                        .any(|other| is_shown(&other) && same_name(&other.name, &column.name))
                });
                let names: Vec<_> =
                    shared.map(|column| (column.name.to_string(), Span::NONE)).collect();
                self.join_using(left, right, kind, &names)
            }
        }
    }

    /// Merges columns with the same name on both sides into one.
    fn join_using(
        &mut self,
        left: From,
        right: From,
        kind: JoinKind,
        names: &[(String, Span)],
    ) -> Result<From> {
        let (left_scope, right_scope) =
            (Scope::new(left.columns.clone(), None), Scope::new(right.columns.clone(), None));
        let (mut terms, mut merged, mut computed) = (Vec::new(), Vec::new(), Vec::new());
        for (name, span) in names {
            let (one, other) =
                (left_scope.resolve(None, name, *span)?, right_scope.resolve(None, name, *span)?);
            terms.push(compare(Comparison::Equal, one.clone(), other.clone(), *span)?);
            let column = match (kind, &one, &other) {
                (JoinKind::Right, _, Expr::Column(column)) => column.clone(),
                (JoinKind::Full, one, other) => {
                    let ty = unify(&one.ty(), &other.ty()).unwrap_or(one.ty());
                    let terms = vec![
                        coerce(one.clone(), &ty, "using")?,
                        coerce(other.clone(), &ty, "using")?,
                    ];
                    let column = self.column(name, ty.clone());
                    computed.push((column.clone(), Expr::Coalesce(terms, ty)));
                    column
                }
                (_, Expr::Column(column), _) => column.clone(),
                _ => continue,
            };
            merged.push(ScopeColumn {
                table: None,
                name: (&**name).into(),
                column,
                hidden: false,
                unlisted: false,
                key: None,
                optional: None,
                twins: None,
            });
        }
        let mut whole = join(left, right, kind, terms);
        for column in &mut whole.columns {
            column.hidden |= names.iter().any(|(name, _)| same_name(name, &column.name));
        }
        if !computed.is_empty() {
            whole.plan = whole.plan.with(computed);
        }
        merged.append(&mut whole.columns);
        whole.columns = merged;
        Ok(whole)
    }
}

/// Refuses two tables with the same name: their columns would be ambiguous.
pub(super) fn check_names(
    before: &[ScopeColumn],
    right: &[ScopeColumn],
    factor: &ast::TableFactor,
) -> Result<()> {
    let clash = right.iter().filter_map(|column| column.table.as_ref()).find(|name| {
        let is_same =
            |other: &ScopeColumn| other.table.as_ref().is_some_and(|it| same_name(it, name));
        before.iter().any(is_same)
    });
    match clash {
        None => Ok(()),
        Some(name) => Err(Error::invalid(format!("table {name:?} appears in FROM twice"))
            .at(span_of(factor))
            .help("give each an alias: FROM t AS a, t AS b")),
    }
}

/// The place of the name of an item in FROM, if it has one.
pub(super) fn span_of(factor: &ast::TableFactor) -> Span {
    use ast::TableFactor as Sql;
    let alias = match factor {
        Sql::Table { alias, .. }
        | Sql::Function { alias, .. }
        | Sql::UNNEST { alias, .. }
        | Sql::Derived { alias, .. }
        | Sql::NestedJoin { alias, .. } => alias.as_ref().map(|alias| alias.name.span.to_span()),
        _ => None,
    };
    let named = || match factor {
        Sql::Table { name, .. } | Sql::Function { name, .. } => {
            super::last_name(name).map_or(Span::NONE, |(_, span)| span)
        }
        _ => Span::NONE,
    };
    alias.unwrap_or_else(named)
}

/// Joins two inputs. The join is lateral if the right side reads columns of the left.
pub(super) fn join(left: From, right: From, kind: JoinKind, terms: Vec<Expr>) -> From {
    let made = left.plan.column_ids();
    let lateral = right.plan.free_columns().iter().any(|column| made.contains(&column.id));
    let (mut columns, mut others) = (left.columns, right.columns);
    if matches!(kind, JoinKind::Right | JoinKind::Full) {
        leave_out(&mut columns, &left.plan);
    }
    if matches!(kind, JoinKind::Left | JoinKind::Full) {
        leave_out(&mut others, &right.plan);
    }
    if kind.has_right() {
        columns.extend(others);
    }
    let (left, right) = (Box::new(left.plan), Box::new(right.plan));
    From { plan: Plan::Join { kind, left, right, terms, lateral }, columns }
}

/// Marks columns of a side that an outer join may fill with nulls.
fn leave_out(columns: &mut [ScopeColumn], side: &Plan) {
    let ids: Arc<[ColumnId]> = side.column_ids().into();
    for column in columns {
        column.optional.get_or_insert_with(|| Arc::clone(&ids));
    }
}
