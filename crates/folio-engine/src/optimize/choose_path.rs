//! Chooses the key or index that a scan follows: equality with the first columns of a key, then
//! possibly a range of the next column.
//!
//! A whole primary key becomes a lookup, and a list of keys several. Conditions that the path
//! already guarantees are dropped. A pattern that begins with literal text is a range too.

use folio_compute::pattern::MatchKind;
use folio_compute::type_rules::is_integer;
use folio_types::{ColumnType, Value};

use crate::expression::{Column, Expr, implication};
use crate::plan::logical::{Plan, Scan};
use crate::plan::terms::{Nulls, Path};
use crate::source::{Comparison, IndexInfo, RelationKind, Source};

/// Maximum number of keys to look up, whatever the size of the table.
const KEYS_MAX: usize = 1000;

/// Looking up one key costs about as much as reading this many rows.
const ROWS_PER_KEY: u64 = 16;

pub(super) fn apply(plan: &mut Plan, source: &dyn Source) {
    plan.transform(&mut |part| {
        if let Plan::Scan(scan) = part {
            choose(scan, source);
        }
    });
}

/// A condition on one column: the filter, the comparison, and the value.
#[derive(Clone)]
struct Sarg {
    filter: usize,
    column: usize,
    op: Comparison,
    value: Expr,
}

fn choose(scan: &mut Scan, source: &dyn Source) {
    if scan.filters.is_empty() || !matches!(scan.path, Path::Full) {
        return;
    }
    let sargs = sargs(scan);
    let primary = scan.relation.schema.primary_key.clone();
    let equal = equalities(&sargs, &primary);
    if !primary.is_empty() && equal.len() == primary.len() {
        let used: Vec<usize> = equal.iter().map(|sarg| sarg.filter).collect();
        scan.path = Path::Key(equal.into_iter().map(|sarg| sarg.value.clone()).collect());
        let mut index = 0;
        scan.filters.retain(|_| {
            index += 1;
            !used.contains(&(index - 1))
        });
        return;
    }
    if let [key] = primary[..]
        && let Some((filter, keys)) = listed_keys(scan, key, None, source)
    {
        scan.path = Path::Keys { index: None, keys };
        scan.filters.remove(filter);
        return;
    }
    let key_range = range(&sargs, &primary, None);
    let mut best: Option<(Path, usize)> = None;
    for (number, index) in scan.relation.indexes.iter().enumerate() {
        if !scan.implies_conditions(index) {
            continue;
        }
        let columns = scan.key_columns(Some(number));
        let candidate = match index.elements {
            Some(list) => element_range(scan, &sargs, &columns, list, number),
            None => null_range(scan, &sargs, &columns, number)
                .or_else(|| range(&sargs, &columns, Some(number))),
        };
        let candidate = if descends(index) {
            candidate.map(without_ends).filter(|(path, score)| {
                let is_null = matches!(path, Path::Range { nulls: Nulls::Only, .. });
                *score >= 2 || is_null
            })
        } else {
            candidate
        };
        // Of two indexes of the same use, one with conditions has fewer entries.
        let is_smaller = score(&candidate) == score(&best)
            && !index.conditions.is_empty()
            && index_of(&best).is_some_and(|other| scan.relation.indexes[other].is_whole());
        if score(&candidate) > score(&best) || is_smaller {
            best = candidate;
        }
    }
    // Documents are in no order of their ids: a range of them leads nowhere.
    let has_keys = scan.relation.kind == RelationKind::Table || best.is_none();
    if key_range.is_some() && has_keys {
        let is_index_first = score(&best) > score(&key_range);
        let (first, rival) = if is_index_first { (best, key_range) } else { (key_range, best) };
        scan.rival = rival.map(|(path, _)| path);
        best = first;
    }
    // A list of values selects fewer rows than a range without an equality.
    let has_equality = best.as_ref().is_some_and(|(_, score)| *score >= 2);
    if let Some((path, _)) = best {
        scan.path = path;
    }
    if has_equality {
        return;
    }
    let listed = scan.relation.indexes.iter().enumerate().find_map(|(number, index)| {
        if !scan.can_follow(Some(number)) {
            return None;
        }
        let (first, _) = index.columns.first()?;
        let (filter, keys) = listed_keys(scan, *first, Some(number), source)?;
        Some((filter, Path::Keys { index: Some(number), keys }))
    });
    if let Some((filter, path)) = listed {
        (scan.path, scan.rival) = (path, None);
        scan.filters.remove(filter);
    }
}

fn score(found: &Option<(Path, usize)>) -> usize {
    found.as_ref().map_or(0, |found| found.1)
}

fn index_of(found: &Option<(Path, usize)>) -> Option<usize> {
    match found {
        Some((Path::Range { index, .. }, _)) => *index,
        _ => None,
    }
}

/// The path that an index with an entry for each element of a list offers: a value of the list, and
/// values of the columns before it.
fn element_range(
    scan: &Scan,
    sargs: &[Sarg],
    columns: &[usize],
    list: usize,
    number: usize,
) -> Option<(Path, usize)> {
    let column = scan.column(columns[list])?;
    let found = scan
        .filters
        .iter()
        .enumerate()
        .find_map(|(filter, term)| Some((filter, element_of(term, column, scan)?)));
    let (filter, value) = found?;
    let others = sargs.iter().filter(|sarg| sarg.column != columns[list]).cloned();
    let mut sargs: Vec<Sarg> = others.collect();
    sargs.push(Sarg { filter, column: columns[list], op: Comparison::Equal, value });
    if equalities(&sargs, columns).len() <= list {
        return None;
    }
    range(&sargs, columns, Some(number))
}

/// A value that a filter requires to be an element of a column.
fn element_of(term: &Expr, column: &Column, scan: &Scan) -> Option<Expr> {
    let Expr::Function { function, arguments, .. } = term else { return None };
    let ColumnType::List(element) = &column.ty else { return None };
    let is_it = |side: &Expr| matches!(side, Expr::Column(own) if own.id == column.id);
    let (one, two) = (arguments.first()?, arguments.get(1)?);
    let first_of = |list: &Expr, is_only: bool| {
        let Some(Value::List(items)) = list.as_literal() else { return None };
        let first = items.first().filter(|first| !matches!(first, Value::Null))?;
        let is_usable = !is_only || items.len() == 1;
        (is_usable && list.ty() == column.ty)
            .then(|| Expr::literal(first.clone(), (**element).clone()))
    };
    let value = match &*function.name {
        "array_contains" | "array_has" | "array_any_equal" if is_it(one) => Some(two.clone()),
        "array_contains_all" if is_it(one) => first_of(two, false),
        "array_overlap" if is_it(one) => first_of(two, true),
        "array_overlap" if is_it(two) => first_of(one, true),
        _ => None,
    }?;
    let own: Vec<_> = scan.columns.iter().map(|(_, column)| column.id).collect();
    let is_fit = value.ty() == **element
        && !value.columns().iter().any(|read| own.contains(read))
        && !value.has_subquery()
        && !is_volatile(&value);
    is_fit.then_some(value)
}

/// The path over an index, for an order by its columns, if every filter is about its first
/// column, or a condition of the index.
pub(super) fn in_order_of(scan: &Scan, index: usize) -> Option<Path> {
    if !scan.can_follow(Some(index)) {
        return None;
    }
    let (columns, found) = (scan.key_columns(Some(index)), &scan.relation.indexes[index]);
    let first = scan.column(*columns.first()?)?.id;
    let is_served =
        |filter: &Expr| filter.reads_only(&[first]) || states_condition(scan, found, filter);
    if !scan.filters.iter().all(is_served) {
        return None;
    }
    match range(&sargs(scan), &columns, Some(index)) {
        Some((path, _)) if !(descends(found) && has_ends(&path)) => Some(path),
        _ => Some(Path::whole(Some(index))),
    }
}

/// Whether a filter says what a condition of an index does.
fn states_condition(scan: &Scan, index: &IndexInfo, filter: &Expr) -> bool {
    index.conditions.iter().any(|(position, test)| {
        scan.column(*position).is_some_and(|column| implication::states(filter, column, test))
    })
}

fn descends(index: &IndexInfo) -> bool {
    index.columns.iter().any(|(_, descending)| *descending)
}

/// The path at whose ends the least and the greatest value of a column are, if the key or index
/// leads to the rows that pass all filters, and to no others.
pub(super) fn to_ends(scan: &Scan, index: Option<usize>, column: usize) -> Option<Path> {
    if !scan.can_follow(index) {
        return None;
    }
    let keys = scan.relation.key_columns(index);
    let at = keys.iter().position(|own| *own == column)?;
    let found = index.map(|index| &scan.relation.indexes[index]);
    let is_condition =
        |filter: &Expr| found.is_some_and(|found| states_condition(scan, found, filter));
    let sargs = sargs(scan);
    let path = match range(&sargs, &keys, index) {
        Some((path, _)) => path,
        None => Path::whole(index),
    };
    let Path::Range { equal, .. } = &path else { return None };
    let is_led = |sarg: &Sarg| sarg.column == column || keys[..equal.len()].contains(&sarg.column);
    let is_served = |(number, filter): (usize, &Expr)| {
        is_condition(filter) || sargs.iter().any(|sarg| sarg.filter == number && is_led(sarg))
    };
    let is_fit = at <= equal.len()
        && scan.filters.iter().enumerate().all(is_served)
        && !(found.is_some_and(descends) && has_ends(&path));
    match path {
        // An index has null after all values; a column with a given value has no null.
        Path::Range { index, equal, from, to, .. } if is_fit => {
            let nulls = if at == equal.len() { Nulls::None } else { Nulls::Any };
            Some(Path::Range { index, equal, from, to, nulls })
        }
        _ => None,
    }
}

/// The filter that lists values of a column, and the values, if looking them up is faster than
/// reading all rows.
fn listed_keys(
    scan: &Scan,
    key: usize,
    index: Option<usize>,
    source: &dyn Source,
) -> Option<(usize, Vec<Expr>)> {
    let column = scan.column(key)?;
    if scan.row_number.is_some() {
        return None;
    }
    let row_count = || source.row_count(&scan.relation).ok().flatten().unwrap_or(0);
    let is_worth = |count: usize| match index {
        None if count <= KEYS_MAX => true,
        _ => count as u64 * ROWS_PER_KEY <= row_count(),
    };
    scan.filters.iter().enumerate().find_map(|(filter, term)| {
        let (input, count) = match term {
            Expr::InList { input, list } => (input, list.len()),
            Expr::InSet { input, set } => (input, set.values.len()),
            _ => return None,
        };
        let is_key = matches!(input.uncast_integer(), Expr::Column(own) if own.id == column.id);
        if !is_key || !is_worth(count) {
            return None;
        }
        let keys = match term {
            Expr::InSet { set, .. } => {
                let values = set.values.iter();
                values.map(|value| Expr::literal(value.clone(), set.ty.clone())).collect()
            }
            Expr::InList { list, .. } => list.clone(),
            _ => return None,
        };
        let is_fit = |value: &Expr| {
            let (from, to) = (value.ty(), &column.ty);
            value.as_literal().is_some() && (from == *to || is_integer(&from) && is_integer(to))
        };
        keys.iter().all(is_fit).then_some((filter, keys))
    })
}

/// The part of a path that is for given values: the ends of a range mean something else in a column
/// that descends.
fn without_ends((mut path, score): (Path, usize)) -> (Path, usize) {
    match &mut path {
        Path::Range { from, to, .. } if from.is_some() || to.is_some() => {
            (*from, *to) = (None, None);
            (path, score - 1)
        }
        _ => (path, score),
    }
}

fn has_ends(path: &Path) -> bool {
    matches!(path, Path::Range { from, to, .. } if from.is_some() || to.is_some())
}

/// The path that a key offers, and its score: two for each equality, one for a range.
fn range(sargs: &[Sarg], key: &[usize], index: Option<usize>) -> Option<(Path, usize)> {
    let equal = equalities(sargs, key);
    let next = key.get(equal.len());
    let bound = |is_from: bool| {
        let wanted = sargs.iter().filter(|sarg| Some(&sarg.column) == next);
        let mut bounds = wanted.filter_map(|sarg| match (sarg.op, is_from) {
            (Comparison::Greater, true) | (Comparison::Less, false) => {
                Some((sarg.value.clone(), false))
            }
            (Comparison::GreaterOrEqual, true) | (Comparison::LessOrEqual, false) => {
                Some((sarg.value.clone(), true))
            }
            _ => None,
        });
        bounds.next()
    };
    let (from, to) = (bound(true), bound(false));
    let score = 2 * equal.len() + usize::from(from.is_some() || to.is_some());
    let equal = equal.into_iter().map(|sarg| sarg.value.clone()).collect();
    let nulls = Nulls::Any;
    (score > 0).then_some((Path::Range { index, equal, from, to, nulls }, score))
}

/// The path to rows with null in a column of an index, and given values in those before it. An index
/// has null after all values.
fn null_range(scan: &Scan, sargs: &[Sarg], key: &[usize], index: usize) -> Option<(Path, usize)> {
    let equal = equalities(sargs, key);
    let next = key.get(equal.len())?;
    let column = scan.column(*next)?;
    let is_it = |term: &Expr| matches!(term, Expr::IsNull(input) if matches!(&**input, Expr::Column(own) if own.id == column.id));
    // A struct is null if all its members are. A key of values that are never null has none.
    let has_null = scan.relation.is_nullable(*next) && !column.ty.is_nested();
    if !has_null || !scan.filters.iter().any(is_it) {
        return None;
    }
    let score = 2 * equal.len() + 1;
    let equal = equal.into_iter().map(|sarg| sarg.value.clone()).collect();
    let (index, nulls) = (Some(index), Nulls::Only);
    Some((Path::Range { index, equal, from: None, to: None, nulls }, score))
}

/// The equalities that cover the first columns of a key.
fn equalities<'s>(sargs: &'s [Sarg], key: &[usize]) -> Vec<&'s Sarg> {
    let find = |column: &usize| {
        sargs.iter().find(|sarg| sarg.column == *column && sarg.op == Comparison::Equal)
    };
    key.iter().map_while(find).collect()
}

fn sargs(scan: &Scan) -> Vec<Sarg> {
    let own: Vec<_> = scan.columns.iter().map(|(_, column)| column.id).collect();
    let column = |side: &Expr, value: &Expr| {
        let Expr::Column(column) = side.uncast_integer() else { return None };
        let position = scan.position(column.id)?;
        let reads_own = value.columns().iter().any(|read| own.contains(read));
        let is_fit = value.ty() == column.ty || (is_integer(&value.ty()) && is_integer(&column.ty));
        (!reads_own && is_fit && !value.has_subquery() && !is_volatile(value)).then_some(position)
    };
    let compared = |filter: usize, op: Comparison, left: &Expr, right: &Expr| {
        if matches!(op, Comparison::NotEqual | Comparison::Distinct | Comparison::NotDistinct) {
            return None;
        }
        if let Some(column) = column(left, right) {
            return Some(Sarg { filter, column, op, value: right.clone() });
        }
        let column = column(right, left)?;
        Some(Sarg { filter, column, op: op.mirrored(), value: left.clone() })
    };
    let mut sargs = Vec::new();
    for (filter, term) in scan.filters.iter().enumerate() {
        match term {
            Expr::Compare { op, left, right } => sargs.extend(compared(filter, *op, left, right)),
            Expr::Match { kind, input, pattern, escape: None } => {
                if let (Some(column), Some((from, to))) =
                    (column(input, pattern), prefix_range(*kind, pattern))
                {
                    let end = |op, text| {
                        let value = Expr::literal(Value::Text(text), ColumnType::Text);
                        Sarg { filter, column, op, value }
                    };
                    sargs.push(end(Comparison::GreaterOrEqual, from));
                    sargs.extend(to.map(|to| end(Comparison::Less, to)));
                }
            }
            _ => {}
        }
    }
    sargs
}

/// The range of texts that match the literal prefix of a pattern: least text, and exclusive end.
fn prefix_range(kind: MatchKind, pattern: &Expr) -> Option<(String, Option<String>)> {
    let Some(Value::Text(pattern)) = pattern.as_literal() else { return None };
    let prefix = match kind {
        MatchKind::Like => &pattern[..pattern.find(['%', '_', '\\']).unwrap_or(pattern.len())],
        MatchKind::Prefix => &pattern[..],
        _ => return None,
    };
    let last = prefix.chars().next_back()?;
    // Without a next code point, the range has no end.
    let next = char::from_u32(u32::from(last) + 1);
    let after = next.map(|next| format!("{}{next}", &prefix[..prefix.len() - last.len_utf8()]));
    Some((prefix.to_owned(), after))
}

fn is_volatile(value: &Expr) -> bool {
    value.any(&mut |part| matches!(part, Expr::Function { function, .. } if function.is_volatile))
}
