//! The model: tables as maps, and the states of a run.

use std::collections::BTreeMap;

use folio_types::Value;

/// The rows of a table, by key.
pub(crate) type Rows = BTreeMap<i64, Vec<Value>>;

/// All tables, by name.
pub(crate) type Tables = BTreeMap<String, Rows>;

/// The table with a key, indexes and long values.
pub(crate) const THINGS: &str = "things";

/// The table without a key, which is loaded, dropped and created again.
pub(crate) const EVENTS: &str = "events";

/// The states after each commit, and the moment from which each is promised.
#[derive(Debug, Clone)]
pub(crate) struct History {
    states: Vec<Tables>,
    /// For each state, the number of the first crash point after its commit had returned.
    returned_at: Vec<usize>,
    /// For each state, the number of the first crash point from which it survives a power cut; none
    /// as long as that is not promised.
    promised_at: Vec<Option<usize>>,
}

impl History {
    pub(crate) fn new() -> Self {
        Self { states: vec![Tables::new()], returned_at: vec![0], promised_at: vec![Some(0)] }
    }

    /// A commit has returned.
    pub(crate) fn push(&mut self, tables: &Tables, now: usize, is_promised: bool) {
        self.states.push(tables.clone());
        self.returned_at.push(now);
        self.promised_at.push(is_promised.then_some(now));
    }

    /// Everything committed so far survives from now on.
    pub(crate) fn promise(&mut self, now: usize) {
        let open = self.promised_at.iter_mut().filter(|promised| promised.is_none());
        open.for_each(|promised| *promised = Some(now));
    }

    /// Whether a crash at a point may leave these tables: a state promised at that point, or a
    /// later one up to the commit in progress.
    pub(crate) fn allows(&self, found: &Tables, point: usize, is_kill: bool) -> Result<(), String> {
        let returned = self.returned_at.partition_point(|&at| at <= point) - 1;
        let is_promised = |at: &Option<usize>| at.is_some_and(|at| at <= point);
        let promised = self.promised_at.iter().rposition(is_promised).unwrap_or(0);
        let least = if is_kill { returned } else { promised };
        let most = (returned + 1).min(self.states.len() - 1);
        if self.states[least..=most].contains(found) {
            return Ok(());
        }
        let elsewhere = self.states.iter().position(|state| state == found);
        Err(format!(
            "found state {elsewhere:?}, expected one of {least} to {most}; found {}, the last \
             of them is {}",
            reported(found),
            reported(&self.states[most])
        ))
    }
}

/// A short description of tables.
pub(crate) fn reported(tables: &Tables) -> String {
    let row_text = |(key, row): (&i64, &Vec<Value>)| match row.get(2) {
        Some(Value::Integer(number)) => format!("{key}:{number}"),
        _ => key.to_string(),
    };
    let table_text = |(name, rows): (&String, &Rows)| {
        let reported: Vec<_> = rows.iter().take(40).map(row_text).collect();
        format!("{name}({} of {})", reported.join(" "), rows.len())
    };
    tables.iter().map(table_text).collect::<Vec<_>>().join(" ")
}
