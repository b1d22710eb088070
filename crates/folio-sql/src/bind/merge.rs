//! Binds MERGE: joins the rows of a source with the rows of a table that they match, and selects
//! the first clause that applies to each.
//!
//! ```text
//! source LEFT JOIN table ON …  →  which clause (CASE)  →  the old row, the clause, its values
//! ```
//! If a clause is about rows without a source row, the join is a full join. Values of a clause are
//! computed only for its own rows.
//! clause are computed for its own rows alone.

use std::sync::Arc;

use folio_compute::{Error, Result, Span};
use folio_engine::bound::{Merge, MergeAction, Statement};
use folio_engine::expression::{Column, Expr};
use folio_engine::plan::logical::Plan;
use folio_engine::plan::terms::JoinKind;
use folio_engine::source::{Comparison, Relation};
use folio_types::{ColumnType, Value};
use sqlparser::ast;

use super::expression::place;
use super::join::{check_names, join};
use super::operator::{condition, not};
use super::scope::{Allowed, From, Scope};
use super::select::literal;
use super::{Binder, last_name, refuse, unsupported};
use crate::place::Place;

/// The action of a clause, with its values.
type Action = (MergeAction, Vec<Expr>);

/// The scopes that clauses may use.
struct Sides {
    /// Both sides.
    both: Scope<'static>,
    source: Scope<'static>,
    target: Scope<'static>,
    /// Whether the row of the table exists.
    is_matched: Expr,
    /// Whether the row of the source exists.
    has_source: Option<Expr>,
    /// The row of the table as it is written.
    row: Vec<Column>,
}

impl Binder<'_> {
    /// Binds MERGE.
    pub(super) fn merge(&mut self, merge: &ast::Merge) -> Result<Statement> {
        let (factor, source, on, clauses) = unsupported::merge_clauses(merge)?;
        let target = self.target(factor, &[])?;
        let mut from = self.factor(source, &[], None)?;
        check_names(&target.columns, &from.columns, source)?;
        let is_full = clauses.iter().any(|clause| is_by_source(&clause.clause_kind));
        let has_source = is_full.then(|| self.marked(&mut from));
        let key = match &target.table.schema.primary_key[..] {
            [first, ..] => target.row.get(*first),
            [] => target.row.last(),
        };
        let is_matched = key.map_or(Expr::boolean(false), |key| {
            not(Expr::IsNull(Box::new(Expr::Column(key.clone()))))
        });
        let both = from.columns.iter().chain(&target.columns).cloned().collect();
        let sides = Sides {
            both: Scope::new(both, None),
            source: Scope::new(from.columns.clone(), None),
            target: Scope::new(target.columns.clone(), None),
            is_matched,
            has_source,
            row: target.row.clone(),
        };
        sides.both.enter("ON", Allowed::Columns);
        let bound = self.expression(on, &sides.both)?;
        let term = condition(bound, "ON").map_err(|error| error.at(place(on)))?;
        let kind = if is_full { JoinKind::Full } else { JoinKind::Left };
        let right = From { plan: target.plan, columns: target.columns };
        let joined = join(from, right, kind, term.into_conjuncts());
        let (mut branches, mut actions) = (Vec::new(), Vec::new());
        for clause in clauses {
            let number = i64::try_from(actions.len()).unwrap_or(i64::MAX);
            let (fits, action) = self.merge_clause(clause, &target.table, &sides)?;
            branches.push((fits, literal(Value::Integer(number))));
            actions.push(action);
        }
        let (table, row) = (target.table, target.row);
        let input = self.merge_rows(joined.plan, row, branches, &actions);
        let actions = actions.into_iter().map(|(action, _)| action).collect();
        let rules = self.rules(&table)?;
        Ok(Statement::Merge(Merge { table, input, actions, rules }))
    }

    /// Adds a column to the source that is always true.
    fn marked(&mut self, from: &mut From) -> Expr {
        let marker = self.column("source", ColumnType::Boolean);
        from.plan = from.plan.take().with([(marker.clone(), Expr::boolean(true))]);
        not(Expr::IsNull(Box::new(Expr::Column(marker))))
    }

    /// The old row, the number of its clause, and the values of all clauses.
    fn merge_rows(
        &mut self,
        plan: Plan,
        row: Vec<Column>,
        branches: Vec<(Expr, Expr)>,
        actions: &[Action],
    ) -> Plan {
        let number = self.column("clause", ColumnType::Int64);
        let which = match branches.is_empty() {
            true => Expr::null(ColumnType::Int64),
            false => Expr::Case { branches, otherwise: None, ty: ColumnType::Int64 },
        };
        let is_any = not(Expr::IsNull(Box::new(Expr::Column(number.clone()))));
        let plan = plan.with([(number.clone(), which)]).filtered(vec![is_any]);
        let kept = row.into_iter().chain([number.clone()]);
        let mut outputs: Vec<_> = kept.map(Column::passed_on).collect();
        for (at, (_, values)) in actions.iter().enumerate() {
            let at = literal(Value::Integer(i64::try_from(at).unwrap_or(i64::MAX)));
            let is_its = Expr::compare(Comparison::Equal, Expr::Column(number.clone()), at);
            for value in values {
                let ty = value.ty();
                let branches = vec![(is_its.clone(), value.clone())];
                let own = Expr::Case { branches, otherwise: None, ty: ty.clone() };
                outputs.push((self.column("new", ty), own));
            }
        }
        Plan::Project { input: Box::new(plan), outputs }
    }

    /// The condition of a clause, and its action.
    fn merge_clause(
        &mut self,
        clause: &ast::MergeClause,
        table: &Arc<Relation>,
        sides: &Sides,
    ) -> Result<(Expr, Action)> {
        use ast::MergeClauseKind as Kind;
        let ast::MergeClause { when_token, clause_kind, predicate, action } = clause;
        let span = when_token.0.span.to_span();
        let is_matched = sides.is_matched.clone();
        let (scope, mut terms) = match (clause_kind, &sides.has_source) {
            (Kind::Matched, None) => (&sides.both, vec![is_matched]),
            (Kind::Matched, Some(source)) => (&sides.both, vec![is_matched, source.clone()]),
            (Kind::NotMatched | Kind::NotMatchedByTarget, _) => {
                (&sides.source, vec![not(is_matched)])
            }
            (Kind::NotMatchedBySource, source) => {
                let is_alone = source.clone().map_or(Expr::boolean(false), not);
                (&sides.target, vec![is_alone])
            }
        };
        if let Some(predicate) = predicate {
            scope.enter("WHEN", Allowed::Columns);
            let bound = self.expression(predicate, scope)?;
            terms.push(condition(bound, "WHEN").map_err(|error| error.at(place(predicate)))?);
        }
        let action = match action {
            ast::MergeAction::DoNothing { do_token: _, nothing_token: _ } => {
                (MergeAction::Nothing, Vec::new())
            }
            ast::MergeAction::Delete { delete_token: _ } => (MergeAction::Delete, Vec::new()),
            ast::MergeAction::Update(ast::MergeUpdateExpr {
                update_token: _,
                kind,
                update_predicate,
                delete_predicate,
            }) => {
                let has_where = update_predicate.is_some() || delete_predicate.is_some();
                refuse_where(has_where, span)?;
                let ast::MergeUpdateKind::Set(assignments) = kind else {
                    return Err(Error::unsupported("UPDATE SET * is not supported")
                        .at(span)
                        .help("name the columns"));
                };
                scope.enter("SET", Allowed::Columns);
                let changes = self.assignments(assignments, table, &sides.row, scope)?;
                let (changed, values) = changes.into_iter().unzip();
                (MergeAction::Update(changed), values)
            }
            ast::MergeAction::Insert(insert) => self.merge_insert(insert, table, scope, span)?,
        };
        Ok((Expr::And(terms), action))
    }

    /// `INSERT (a, b) VALUES (…)`, completed to a whole row.
    fn merge_insert(
        &mut self,
        insert: &ast::MergeInsertExpr,
        table: &Arc<Relation>,
        scope: &Scope<'_>,
        span: Span,
    ) -> Result<Action> {
        let ast::MergeInsertExpr {
            insert_token: _,
            columns,
            kind_token: _,
            kind,
            insert_predicate,
        } = insert;
        refuse_where(insert_predicate.is_some(), span)?;
        let rows = match kind {
            ast::MergeInsertKind::Values(values) => unsupported::values_clauses(values),
            ast::MergeInsertKind::Row | ast::MergeInsertKind::Wildcard => {
                return Err(Error::unsupported(format!("INSERT {kind} is not supported"))
                    .at(span)
                    .help("write VALUES (…)"));
            }
        };
        let [row] = rows else {
            let error = Error::invalid("INSERT of MERGE takes one row of VALUES");
            return Err(error.at(span).help("it inserts one row for each row of the source"));
        };
        // Columns may be qualified with the table's name.
        let mut plain = |name: &ast::ObjectName| -> Result<usize> {
            let own = ast::ObjectName(name.0.last().cloned().into_iter().collect());
            let (name, span) = last_name(&own)?;
            self.written_column(table, &name, span)
        };
        let targets: Vec<usize> = match &columns[..] {
            [] => (0..table.schema.columns.len()).filter(|at| table.is_listed(*at)).collect(),
            names => names.iter().map(&mut plain).collect::<Result<_>>()?,
        };
        let (given, wanted) = (row.content.len(), targets.len());
        if given > wanted || (given < wanted && !columns.is_empty()) {
            let span = row.content.first().map_or(span, place);
            return Err(super::insert::wrong_count(table, given, wanted, span));
        }
        scope.enter("VALUES", Allowed::Columns);
        let mut values = Vec::with_capacity(table.schema.columns.len());
        let mut numbered = Vec::new();
        for (index, column) in table.schema.columns.iter().enumerate() {
            let syntax = targets.iter().position(|target| *target == index);
            values.push(match syntax.and_then(|at| row.content.get(at)) {
                Some(syntax) => self.assigned(syntax, table, index, scope)?,
                None => self.default_of(table, index)?,
            });
            if table.constraints.identity.contains_key(&column.name) {
                numbered.push(index);
            }
        }
        Ok((MergeAction::Insert(numbered), values))
    }
}

fn is_by_source(kind: &ast::MergeClauseKind) -> bool {
    matches!(kind, ast::MergeClauseKind::NotMatchedBySource)
}

fn refuse_where(is_there: bool, span: Span) -> Result<()> {
    refuse(is_there, "WHERE after an action of MERGE")
        .map_err(|error| error.at(span).help("write the condition before THEN: WHEN … AND …"))
}
