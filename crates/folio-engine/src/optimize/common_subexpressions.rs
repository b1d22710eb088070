//! Common subexpression elimination within one operator: the outputs of a projection, the terms
//! of a filter, the keys and arguments of an aggregation.
//!
//! `sum(a * (1 - b)), sum(a * (1 - b) * (1 + c))` gets a projection below that computes
//! `a * (1 - b)`; above, it is a column, which EXPLAIN shows in brackets. The largest parts come
//! first; what they have in common is computed below them.
//!
//! No row may be evaluated that was not before, so one occurrence must be certain to be evaluated
//! for every row. After the first part of AND, OR, CASE and COALESCE no occurrence is certain. Nor
//! is an argument under FILTER, nor a term after another: `x <> 0 and 1 / x > y and 1 / x < z`
//! shares `1 / x` among the rows that the first term has passed. Volatile functions are evaluated
//! at each occurrence.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher};
use std::mem::discriminant;
use std::sync::Arc;

use foldhash::fast::FixedState;

use crate::expression::{Column, ColumnId, Expr};
use crate::plan::logical::{Plan, Scan};
use crate::plan::terms::Path;
use crate::source::{RelationKind, Source};

/// Maximum number of parts of an operator's expressions; with more, the rule costs more than it
/// saves.
const PARTS_MAX: usize = 1000;

/// Columns made by the rule have ids from here on. No statement has as many.
const FIRST_COLUMN: u32 = 1 << 31;

/// Scans of at least this many rows use several threads, which also share the filters.
const PARALLEL_ROWS_MIN: u64 = 100_000;

pub(super) fn apply(plan: &mut Plan, source: &dyn Source) {
    let mut next = FIRST_COLUMN;
    plan.transform(&mut |part| match part {
        Plan::Project { .. } => share_in_project(part, &mut next),
        Plan::Aggregate { .. } => share_in_aggregate(part, &mut next),
        Plan::Filter { .. } => share_in_filter(part, &mut next),
        Plan::Scan(scan) if may_leave(scan, source) => share_in_scan(part, &mut next),
        _ => {}
    });
}

/// A column and its expression.
type Shared = (Column, Expr);

fn share_in_project(plan: &mut Plan, next: &mut u32) {
    let Plan::Project { input, outputs } = plan else { return };
    // A single row takes the short paths.
    if matches!(&**input, Plan::OneRow)
        || matches!(&**input, Plan::Scan(scan) if matches!(scan.path, Path::Key(_)))
    {
        return;
    }
    let places = outputs.iter_mut().map(|(_, output)| (output, true)).collect();
    let shared = share(places, next);
    if !shared.is_empty() {
        let read: Vec<ColumnId> = outputs.iter().flat_map(|(_, output)| output.columns()).collect();
        compute_below(input, shared, |column| read.contains(&column.id), next);
    }
}

fn share_in_aggregate(plan: &mut Plan, next: &mut u32) {
    let Plan::Aggregate { input, groups, aggregates, .. } = plan else { return };
    let mut places: Vec<(&mut Expr, bool)> =
        groups.iter_mut().map(|(_, group)| (group, true)).collect();
    for (_, aggregate) in aggregates.iter_mut() {
        let takes_all = aggregate.filter.is_none();
        places.extend(aggregate.arguments.iter_mut().map(|argument| (argument, takes_all)));
        places.extend(aggregate.filter.iter_mut().map(|filter| (filter, true)));
        places.extend(aggregate.order.iter_mut().map(|key| (&mut key.expression, true)));
    }
    let shared = share(places, next);
    if shared.is_empty() {
        return;
    }
    let mut read: Vec<ColumnId> = groups.iter().flat_map(|(_, group)| group.columns()).collect();
    for (_, aggregate) in aggregates {
        let parts = aggregate.expressions_mut().into_iter();
        read.extend(parts.flat_map(|expression| expression.columns()));
    }
    // If the order of the input matters, the new projection stays below `Ordered`.
    let (input, in_order) = match &mut **input {
        Plan::Ordered { input, keys } => (&mut **input, keys.clone()),
        input => (input, Vec::new()),
    };
    read.extend(in_order.into_iter().map(|(key, _)| key));
    compute_below(input, shared, |column| read.contains(&column.id), next);
}

/// Splits a filter: terms before the first that shares something stay below.
fn share_in_filter(plan: &mut Plan, next: &mut u32) {
    let Plan::Filter { input, terms } = plan else { return };
    let Some((first, shared)) = share_in_terms(terms, next) else { return };
    let columns = input.columns();
    let above = terms.split_off(first);
    let mut below = input.take().filtered(std::mem::take(terms));
    compute_below(&mut below, shared, |_| true, next);
    *plan = narrowed(below, above, columns, next);
}

/// The same for the filters of a scan. Those before it stay there, and so do comparisons with
/// constants, which are cheap and cannot fail.
fn share_in_scan(plan: &mut Plan, next: &mut u32) {
    let columns = plan.columns();
    let Plan::Scan(scan) = plan else { return };
    let Some((first, shared)) = share_in_terms(&mut scan.filters, next) else { return };
    let own: Vec<ColumnId> = columns.iter().map(|column| column.id).collect();
    let is_plain = |term: &Expr| match term {
        Expr::Compare { left, right, .. } => {
            let is_sides =
                is_trivial(left) && right.is_given() || left.is_given() && is_trivial(right);
            is_sides && term.reads_only(&own)
        }
        _ => false,
    };
    let (stay, above) = scan.filters.split_off(first).into_iter().partition(is_plain);
    let stay: Vec<Expr> = stay;
    scan.filters.extend(stay);
    // What is above the scan now reads its columns.
    scan.only_filtered = Box::default();
    let mut below = plan.take();
    compute_below(&mut below, shared, |_| true, next);
    *plan = narrowed(below, above, columns, next);
}

/// Whether filters of a scan may move above it.
fn may_leave(scan: &Scan, source: &dyn Source) -> bool {
    let is_fit =
        scan.filters.len() > 1 || scan.filters.iter().any(|term| matches!(term, Expr::Or(_)));
    if !is_fit || scan.limit.is_some() {
        return false;
    }
    match scan.path {
        Path::Full if scan.relation.kind == RelationKind::Table => {
            let rows = source.row_count(&scan.relation).ok().flatten();
            rows.is_some_and(|rows| rows < PARALLEL_ROWS_MIN)
        }
        Path::Full | Path::Range { .. } => true,
        Path::Key(_) | Path::Keys { .. } | Path::Probe(_) => false,
    }
}

/// Maximum number of terms of one operator.
const TERMS_MAX: usize = 512;

/// The subexpressions that terms share, and the first term with one. That term is evaluated for
/// all rows that pass the terms before it.
fn share_in_terms(terms: &mut [Expr], next: &mut u32) -> Option<(usize, Vec<Shared>)> {
    // Each term is compared with all later ones.
    if terms.len() > TERMS_MAX {
        return None;
    }
    (0..terms.len()).find_map(|first| {
        let places = terms[first..].iter_mut().enumerate();
        let shared = share(places.map(|(at, term)| (term, at == 0)).collect(), next);
        (!shared.is_empty()).then_some((first, shared))
    })
}

/// Applies the remaining terms, then drops the columns that only they needed.
fn narrowed(input: Plan, terms: Vec<Expr>, columns: Vec<Column>, next: &mut u32) -> Plan {
    let mut passed = input.filtered(terms);
    share_in_filter(&mut passed, next);
    passed.only(columns)
}

/// Replaces a plan by a projection of the columns that are read, with more columns added.
fn compute_below(
    plan: &mut Plan,
    shared: Vec<Shared>,
    is_read: impl Fn(&Column) -> bool,
    next: &mut u32,
) {
    let own = plan.columns().into_iter().filter(is_read);
    let outputs = own.map(Column::passed_on).chain(shared).collect();
    *plan = Plan::Project { input: Box::new(plan.take()), outputs };
    share_in_project(plan, next);
}

/// Replaces repeated parts of these expressions. Each has a flag: whether it is certain to be
/// evaluated for every row. Returns what to compute before.
fn share(mut places: Vec<(&mut Expr, bool)>, next: &mut u32) -> Vec<Shared> {
    if places.iter().filter(|(place, _)| !is_trivial(place)).count() == 0 {
        return Vec::new();
    }
    let mut shared: Vec<Shared> = Vec::new();
    for candidate in candidates(&places) {
        let (mut above, mut all) = (Count::default(), Count::default());
        places.iter().for_each(|(place, is_certain)| above.add(place, *is_certain, &candidate));
        shared.iter().for_each(|(_, below)| all.add(below, true, &candidate));
        let (count, certain) = (above.count + all.count, above.certain + all.certain);
        if above.count == 0 || count < 2 || certain == 0 {
            continue;
        }
        let name = Arc::from(format!("[{candidate}]"));
        let column = Column { id: ColumnId(*next), ty: candidate.ty(), name };
        *next += 1;
        let replacement = Expr::Column(column.clone());
        places.iter_mut().for_each(|(place, _)| replace(place, &candidate, &replacement));
        shared.push((column, candidate));
    }
    shared
}

/// The parts that occur more than once, the largest first.
fn candidates(places: &[(&mut Expr, bool)]) -> Vec<Expr> {
    let mut look = Look { found: HashMap::new(), part_count: 0 };
    for (place, _) in places {
        look.at(place);
    }
    if look.part_count > PARTS_MAX {
        return Vec::new();
    }
    let several = look.found.into_values().filter(|found| found.count > 1);
    let mut several: Vec<Found> = several.collect();
    several.sort_by_key(|found| (std::cmp::Reverse(found.size), found.first));
    several.into_iter().map(|found| found.expression.clone()).collect()
}

/// Counts parts by hash.
struct Look<'e> {
    found: HashMap<u64, Found<'e>>,
    part_count: usize,
}

struct Found<'e> {
    expression: &'e Expr,
    count: usize,
    /// Number of its parts.
    size: usize,
    /// The position of its first occurrence.
    first: usize,
}

/// Properties of a part.
#[derive(Default)]
struct Seen {
    hash: u64,
    size: usize,
    /// Whether it has the same value at every occurrence.
    is_pure: bool,
    /// Whether it depends on the row.
    reads: bool,
}

impl<'e> Look<'e> {
    fn at(&mut self, part: &'e Expr) -> Seen {
        self.part_count += 1;
        if self.part_count > PARTS_MAX || matches!(part, Expr::Subquery(_)) {
            return Seen::default();
        }
        let is_pure = !matches!(part, Expr::Function { function, .. } if function.is_volatile);
        let reads = matches!(part, Expr::Column(_));
        let mut seen = Seen { hash: own_hash(part), size: 1, is_pure, reads };
        part.for_each_part(&mut |inner| {
            let inner = self.at(inner);
            seen.hash = FixedState::default().hash_one((seen.hash, inner.hash));
            seen.size += inner.size;
            seen.is_pure &= inner.is_pure;
            seen.reads |= inner.reads;
        });
        if seen.is_pure && seen.reads && !is_trivial(part) {
            let first = self.part_count;
            let fresh = Found { expression: part, count: 0, size: seen.size, first };
            self.found.entry(seen.hash).or_insert(fresh).count += 1;
        }
        seen
    }
}

/// A hash of a node without its children.
fn own_hash(part: &Expr) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    discriminant(part).hash(&mut hasher);
    match part {
        Expr::Column(column) => column.id.hash(&mut hasher),
        // Positive and negative zero are equal but not the same.
        Expr::Literal { value, ty, .. } => (format!("{value:?}"), ty).hash(&mut hasher),
        Expr::Parameter { index, ty, .. } => (index, ty).hash(&mut hasher),
        Expr::Cast { to, is_try, .. } => (to, is_try).hash(&mut hasher),
        Expr::Arithmetic { op, ty, .. } => (discriminant(op), ty).hash(&mut hasher),
        Expr::Compare { op, .. } => discriminant(op).hash(&mut hasher),
        Expr::InSet { set, .. } => Arc::as_ptr(set).hash(&mut hasher),
        Expr::Function { function, .. } => (&function.name, &function.returns).hash(&mut hasher),
        _ => {}
    }
    hasher.finish()
}

/// Whether two expressions are identical to the last bit.
fn is_same(one: &Expr, other: &Expr) -> bool {
    one == other && {
        let hash = |expression| Look { found: HashMap::new(), part_count: 0 }.at(expression).hash;
        hash(one) == hash(other)
    }
}

/// Whether it is a column, with or without an integer cast, or a literal or parameter.
fn is_trivial(expression: &Expr) -> bool {
    matches!(expression.uncast_integer(), Expr::Column(_)) || expression.is_given()
}

/// Occurrences of an expression.
#[derive(Default)]
struct Count {
    count: usize,
    /// Occurrences that are evaluated for every row.
    certain: usize,
}

impl Count {
    fn add(&mut self, place: &Expr, is_certain: bool, wanted: &Expr) {
        if is_same(place, wanted) {
            self.count += 1;
            self.certain += usize::from(is_certain);
            return;
        }
        if matches!(place, Expr::Subquery(_)) {
            return;
        }
        let is_lazy =
            matches!(place, Expr::And(_) | Expr::Or(_) | Expr::Case { .. } | Expr::Coalesce(..));
        let mut is_first = true;
        place.for_each_part(&mut |part| {
            self.add(part, is_certain && (is_first || !is_lazy), wanted);
            is_first = false;
        });
    }
}

fn replace(place: &mut Expr, wanted: &Expr, replacement: &Expr) {
    if is_same(place, wanted) {
        *place = replacement.clone();
    } else if !matches!(place, Expr::Subquery(_)) {
        place.for_each_part_mut(&mut |part| replace(part, wanted, replacement));
    }
}
