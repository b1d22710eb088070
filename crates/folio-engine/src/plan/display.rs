//! Prints plans for EXPLAIN: one operator per line, its inputs below. Subqueries of an operator
//! come before its inputs: `query 2 for (id)` runs once for each `id`. A plan that was run has what
//! each operator did: `(4,000 rows in 1.250 ms)`.

use std::fmt::Write;
use std::sync::Arc;

use folio_compute::type_name;

use super::physical::{Grouping, Physical, Scan};
use super::terms::{JoinKind, Nulls, Path, SetKind};
use crate::expression::Expr;
use crate::expression::display::{first_of, joined, list};
use crate::times::{Node, Times};

/// The scan that runs in place of one in the plan, and which copy it reads.
pub(crate) type Noted<'n> = &'n dyn Fn(&Arc<Scan>) -> (Arc<Scan>, Option<String>);

/// A line of a plan.
pub(crate) struct Line {
    pub(crate) text: String,
    /// The operator of the line, and the scan that may run in its place.
    nodes: [Option<Node>; 2],
}

/// The lines of a plan.
#[must_use]
pub(crate) fn display(plan: &Physical, noted: Noted<'_>) -> Vec<Line> {
    let mut lines = Vec::new();
    write_plan(plan, 0, &mut Vec::new(), noted, &mut lines);
    lines
}

/// Adds what the operators of a plan did to the lines of the same plan, with or without estimates.
pub(crate) fn add_times(lines: &mut [Line], plan: &Physical, times: &Times) {
    let as_planned = |scan: &Arc<Scan>| (Arc::clone(scan), None);
    for (line, run) in lines.iter_mut().zip(display(plan, &as_planned)) {
        let mut spent = run.nodes.into_iter().flatten().filter_map(|node| times.of(node));
        let Some(spent) = spent.next() else { continue };
        let (rows, time) = (rows(spent.row_count), spent.time.as_secs_f64() * 1000.0);
        // Writing to a string cannot fail.
        let _ = write!(line.text, " ({rows} in {time:.3} ms)");
    }
}

/// Writes a plan. A shared query is written where it first occurs.
fn write_plan(
    plan: &Physical,
    depth: usize,
    shown: &mut Vec<usize>,
    noted: Noted<'_>,
    out: &mut Vec<Line>,
) {
    let (mut line, inputs) = describe(plan);
    let scan = scan_of(plan);
    if let Some(scan) = scan {
        let (run, copy) = noted(scan);
        if !Arc::ptr_eq(&run, scan) {
            line = describe(&with_scan(plan, &run)).0;
            if let Path::Range { index: Some(_), .. } = scan.path {
                let _ = write!(line, ", too many rows for index {}", index_of(scan));
            }
        }
        if let Some(copy) = copy.filter(|_| !matches!(plan, Physical::RowCount(_))) {
            let _ = write!(line, " from {copy}");
        }
    }
    let instead = scan.and_then(|scan| scan.instead.as_ref());
    let nodes = [plan.node(), instead.map(Node::of)];
    out.push(Line { text: format!("{:indent$}{line}", "", indent = depth * 2), nodes });
    for (number, outer, body) in plan.subqueries() {
        let read = match &outer[..] {
            [] => String::new(),
            outer => format!(" for ({})", list(outer)),
        };
        let text = format!("{:indent$}query {number}{read}", "", indent = depth * 2 + 2);
        out.push(Line { text, nodes: [None; 2] });
        write_plan(&body, depth + 2, shown, noted, out);
    }
    if let Physical::Shared(query, _) = plan
        && !shown.contains(&query.number)
    {
        shown.push(query.number);
        write_plan(&query.plan, depth + 1, shown, noted, out);
    }
    inputs.into_iter().for_each(|input| write_plan(input, depth + 1, shown, noted, out));
}

/// The inputs of an operator.
pub(super) fn inputs(plan: &Physical) -> Vec<&Physical> {
    describe(plan).1
}

fn scan_of(plan: &Physical) -> Option<&Arc<Scan>> {
    match plan {
        Physical::Scan(scan) | Physical::RowCount(scan) => Some(scan),
        Physical::Estimated(inner) => scan_of(&inner.0),
        _ => None,
    }
}

/// The name of the index that a scan follows.
fn index_of(scan: &Scan) -> &str {
    match &scan.path {
        Path::Range { index: Some(index), .. } => &scan.relation.indexes[*index].name,
        _ => "",
    }
}

/// The operator of a scan with another.
fn with_scan(plan: &Physical, scan: &Arc<Scan>) -> Physical {
    match plan {
        Physical::Scan(_) => Physical::Scan(Arc::clone(scan)),
        Physical::RowCount(_) => Physical::RowCount(Arc::clone(scan)),
        Physical::Estimated(inner) => {
            let (operator, rows) = &**inner;
            Physical::Estimated(Arc::new((with_scan(operator, scan), *rows)))
        }
        other => other.clone(),
    }
}

fn describe(plan: &Physical) -> (String, Vec<&Physical>) {
    match plan {
        Physical::OneRow => ("one row".to_owned(), vec![]),
        Physical::Scan(scan) => (format!("scan {}", scanned(scan)), vec![]),
        Physical::Lookup(lookup) => {
            let name = &lookup.relation.schema.name;
            let (key, filters) = (list(&lookup.key), condition(&lookup.filters));
            (format!("short path: {name} by key ({key}){filters}"), vec![])
        }
        Physical::RowCount(scan) => (format!("row count of {}", counted(scan)), vec![]),
        Physical::Values(values) => (format!("values ({} rows)", values.rows.len()), vec![]),
        Physical::Project(project) => {
            (format!("project {}", list(&project.expressions)), vec![&project.input])
        }
        Physical::Filter(filter) => {
            (format!("filter{}", condition(&filter.terms)), vec![&filter.input])
        }
        Physical::HashJoin(join) | Physical::MergeJoin(join) => {
            let way = if matches!(plan, Physical::HashJoin(_)) { "hash" } else { "merge" };
            let on = pairs(&join.left_keys, &join.right_keys);
            let residual = condition(&join.residual);
            let line = format!("{way} {} join on {on}{residual}", kind(join.kind));
            (line, vec![&join.left, &join.right])
        }
        Physical::LoopJoin(join) => {
            let line = format!("loop {} join{}", kind(join.kind), condition(&join.terms));
            (line, vec![&join.left, &join.right])
        }
        other => describe_rest(other),
    }
}

/// A scan, without its verb.
fn scanned(scan: &Scan) -> String {
    let name = &scan.relation.schema.name;
    let path = path(&scan.path, &scan.relation.indexes);
    let columns: Vec<&str> =
        scan.columns.iter().map(|index| scan.relation.column_name(*index)).collect();
    let reverse = if scan.reverse { " backward" } else { "" };
    let limit = scan.limit.map_or_else(String::new, |limit| format!(" limit {limit}"));
    format!("{name}{path}{reverse} ({}){}{limit}", columns.join(", "), condition(&scan.filters))
}

/// A scan that is only counted.
fn counted(scan: &Scan) -> String {
    let (name, path) = (&scan.relation.schema.name, path(&scan.path, &scan.relation.indexes));
    format!("{name}{path}{}", condition(&scan.filters))
}

fn describe_rest(plan: &Physical) -> (String, Vec<&Physical>) {
    match plan {
        Physical::LookupJoin(join) => {
            let name = &join.relation.schema.name;
            let through = match join.index {
                Some(index) => format!("{} ", join.relation.indexes[index].name),
                None => String::new(),
            };
            let line = format!(
                "look-up {} join with {name} by {through}({}){}",
                kind(join.kind),
                list(&join.key),
                condition(&join.residual)
            );
            (line, vec![&join.left])
        }
        Physical::Apply(apply) => {
            let line = format!("apply {} for ({})", kind(apply.kind), list(&apply.outer));
            (line, vec![&apply.left, &apply.right])
        }
        Physical::Aggregate(grouping) => (aggregate(grouping), vec![&grouping.input]),
        Physical::Window(window) => {
            (format!("window {}", list(&window.calls)), vec![&window.input])
        }
        Physical::Sort(sort) => {
            let top = sort.limit.as_ref().map_or_else(String::new, |limit| format!(" top {limit}"));
            (format!("sort{top} by {}", list(&sort.keys)), vec![&sort.input])
        }
        Physical::Limit(limit) => {
            let bound = |name: &str, bound: &Option<Expr>| {
                bound.as_ref().map_or_else(String::new, |bound| format!(" {name} {bound}"))
            };
            let (count, offset) = (bound("limit", &limit.limit), bound("offset", &limit.offset));
            let ties = if limit.ties.is_empty() { "" } else { " with ties" };
            (format!("rows{count}{ties}{offset}"), vec![&limit.input])
        }
        Physical::Distinct(distinct) => {
            let streaming = if distinct.is_in_order { "streaming " } else { "" };
            (format!("{streaming}distinct {}", list(&distinct.keys)), vec![&distinct.input])
        }
        Physical::Append(inputs) => ("union all".to_owned(), vec![&inputs.0, &inputs.1]),
        Physical::MatchedRows(matched) => {
            let name = match matched.kind {
                SetKind::Except => "except all",
                _ => "intersect all",
            };
            (name.to_owned(), vec![&matched.left, &matched.right])
        }
        Physical::TableFunction(call) => {
            let types: Vec<String> = call.types.iter().map(type_name).collect();
            let (name, is_numbered) = call.function.name();
            let numbered = if is_numbered { " with ordinality" } else { "" };
            let (arguments, types) = (list(&call.arguments), types.join(", "));
            (format!("{name}({arguments}){numbered} → {types}"), vec![])
        }
        Physical::Recursive(recursive) => {
            (format!("recursive {}", recursive.number), vec![&recursive.base, &recursive.step])
        }
        Physical::WorkTable(number) => (format!("working table {number}"), vec![]),
        Physical::Shared(query, _) => (format!("shared {}", query.name), vec![]),
        other => describe_links(other),
    }
}

fn describe_links(plan: &Physical) -> (String, Vec<&Physical>) {
    match plan {
        Physical::Fetch(fetch) => {
            let relation = &fetch.relation;
            let by = match fetch.index {
                Some(index) => format!("index {}", relation.indexes[index].name),
                None => "key".to_owned(),
            };
            (format!("fetch {} by {by} = {}", relation.schema.name, fetch.key), vec![&fetch.input])
        }
        Physical::Follow(follow) => {
            let names: Vec<&str> =
                follow.branches.iter().map(|branch| &*branch.output.name).collect();
            let bodies = follow.branches.iter().map(|branch| &branch.body);
            let inputs = std::iter::once(&follow.input).chain(bodies).collect();
            (format!("follow {}", names.join(", ")), inputs)
        }
        Physical::LimitPerParent(cut) => {
            let skipped =
                cut.offset.as_ref().map_or_else(String::new, |offset| format!(" offset {offset}"));
            (format!("rows limit {}{skipped} per parent", cut.limit), vec![&cut.input])
        }
        Physical::SemiJoin(mark) => {
            (format!("mark whether {} is among", mark.key), vec![&mark.input, &mark.keys])
        }
        Physical::ByCount(plans) => describe(&plans.many),
        Physical::Estimated(inner) => {
            let (operator, rows) = &**inner;
            let (line, inputs) = describe(operator);
            (format!("{line} (about {})", self::rows(*rows)), inputs)
        }
        _ => (String::new(), vec![]),
    }
}

/// So many rows.
fn rows(count: u64) -> String {
    format!("{} {}", thousands(count), if count == 1 { "row" } else { "rows" })
}

/// A number with commas.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&[u8]> = digits.as_bytes().rchunks(3).rev().collect();
    groups.join(&b',').into_iter().map(char::from).collect()
}

/// A grouping, with the keys it is streamed by if its input is in order.
fn aggregate(grouping: &Grouping) -> String {
    let by = match &grouping.groups[..] {
        [] => String::new(),
        groups => format!(" by {}", list(groups)),
    };
    let line = format!("aggregate {}{by}", list(&grouping.aggregates));
    if grouping.run.is_empty() {
        return line;
    }
    let run: Vec<&Expr> = grouping.run.iter().map(|at| &grouping.groups[*at]).collect();
    match run.len() == grouping.groups.len() {
        true => format!("streaming {line}"),
        false => format!("streaming {line} in the order of {}", list(&run)),
    }
}

/// The pairs of equal keys of a join.
fn pairs(left: &[Expr], right: &[Expr]) -> String {
    let pairs = left.iter().zip(right).map(|(left, right)| format!("{left} = {right}"));
    pairs.collect::<Vec<_>>().join(" and ")
}

fn kind(kind: JoinKind) -> &'static str {
    match kind {
        JoinKind::Inner => "inner",
        JoinKind::Left => "left",
        JoinKind::Right => "right",
        JoinKind::Full => "full",
        JoinKind::Semi => "semi",
        JoinKind::Anti => "anti",
        JoinKind::NullAnti => "not-in",
    }
}

fn path(path: &Path, indexes: &[crate::source::IndexInfo]) -> String {
    if let Path::Keys { index, keys } = path {
        let by = match index {
            Some(index) => format!("keys of index {}", indexes[*index].name),
            None => "keys".to_owned(),
        };
        return format!(" by {by} ({})", first_of(keys.iter()));
    }
    let Path::Range { index, equal, from, to, nulls } = path else { return String::new() };
    let name = match index {
        Some(index) => format!("index {}", indexes[*index].name),
        None => "key".to_owned(),
    };
    let mut parts: Vec<String> = equal.iter().map(|value| format!("= {value}")).collect();
    for (end, sign) in [(from, ">"), (to, "<")] {
        let end = end.iter();
        parts.extend(
            end.map(|(end, is_in)| format!("{sign}{} {end}", if *is_in { "=" } else { "" })),
        );
    }
    match nulls {
        Nulls::None if from.is_none() && to.is_none() => parts.push("not null".to_owned()),
        Nulls::Only => parts.push("is null".to_owned()),
        Nulls::None | Nulls::Any => {}
    }
    match parts.is_empty() {
        true => format!(" by {name}"),
        false => format!(" by {name} {}", parts.join(", ")),
    }
}

fn condition(terms: &[Expr]) -> String {
    match terms {
        [] => String::new(),
        terms => format!(" where {}", joined(terms, " and ")),
    }
}
