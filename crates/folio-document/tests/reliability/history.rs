//! The model: the changes of a collection, in order, and which of them may be missing after a power
//! failure or the end of the process.
//!
//! Until a sync, the lines of a file reach the device in any order. So any changes since the last
//! promise may be lost, each as a whole. A batch is there as a whole or not at all; if it is there,
//! so is everything before it. If only the process ends, a prefix of the changes is found.

use crate::text::{Change, Content, apply, line_text, reported};

/// Single changes, or those of one batch.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    pub(crate) changes: Vec<Change>,
    pub(crate) is_batch: bool,
}

impl Event {
    pub(crate) fn single(change: Change) -> Self {
        Self { changes: vec![change], is_batch: false }
    }
}

/// The differences between the two layouts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// A scan yields the documents in the order in which they were written.
    pub(crate) is_ordered: bool,
    /// Batches are made durable, so a power cut does not tear them.
    pub(crate) syncs_batches: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct History {
    rules: Rules,
    /// Promised content, which survives everything.
    base: Content,
    /// Changes since then, not promised.
    events: Vec<Event>,
    /// A running change that may or may not happen.
    underway: Option<Event>,
}

impl History {
    pub(crate) fn new(rules: Rules) -> Self {
        Self { rules, base: Content::new(), events: Vec::new(), underway: None }
    }

    pub(crate) fn begin(&mut self, event: Event) {
        self.underway = Some(event);
    }

    /// The running change has returned.
    pub(crate) fn complete(&mut self) {
        self.events.extend(self.underway.take());
    }

    pub(crate) fn push(&mut self, event: Event) {
        self.events.push(event);
    }

    /// Everything so far is promised.
    pub(crate) fn promise(&mut self) {
        self.base = self.latest();
        self.events.clear();
    }

    /// Someone has replaced the files, durably.
    pub(crate) fn replace(&mut self, content: Content) {
        (self.base, self.underway) = (content, None);
        self.events.clear();
    }

    pub(crate) fn latest(&self) -> Content {
        self.after(self.events.len())
    }

    /// The content after the first `count` events.
    fn after(&self, count: usize) -> Content {
        let mut content = self.base.clone();
        let changes = self.events[..count].iter().flat_map(|event| &event.changes);
        changes.for_each(|change| apply(&mut content, change));
        content
    }

    /// The process ended but the system did not: a prefix of the changes is there.
    pub(crate) fn allows_after_kill(&self, found: &Content) -> Result<(), String> {
        let mut whole = self.clone();
        whole.complete();
        if (0..=whole.events.len()).rev().any(|count| self.is_same(found, &whole.after(count))) {
            return Ok(());
        }
        Err(format!("found {}, which is no beginning of {}", reported(found), whole.reported()))
    }

    /// Continues from what was found after the process ended. A part of what seems lost may still
    /// be in the files.
    pub(crate) fn go_on_after_kill(&mut self, found: &Content) -> Result<(), String> {
        self.allows_after_kill(found)?;
        self.complete();
        while !self.is_same(found, &self.latest()) {
            self.events.pop().ok_or("a beginning was found")?;
        }
        Ok(())
    }

    /// The power has failed.
    pub(crate) fn allows_after_power_cut(&self, found: &Content) -> Result<(), String> {
        let mut whole = self.clone();
        whole.complete();
        if !self.rules.syncs_batches {
            let optional = whole.events.iter().flat_map(|event| event.changes.clone());
            return self.is_reachable(&whole.base, &optional.collect::<Vec<_>>(), found).map_err(
                |text| format!("{text}; found {} after {}", reported(found), whole.reported()),
            );
        }
        let batches = whole.events.iter().enumerate().filter(|(_, event)| event.is_batch);
        let mut reason = String::new();
        // Everything up to the last surviving batch is certain.
        for from in batches.map(|(number, _)| number + 1).chain([0]) {
            let base = whole.after(from);
            let singles = whole.events[from..].iter().filter(|event| !event.is_batch);
            let optional: Vec<_> = singles.flat_map(|event| event.changes.clone()).collect();
            match self.is_reachable(&base, &optional, found) {
                Ok(()) => return Ok(()),
                Err(text) => reason = text,
            }
        }
        Err(format!("{reason}; found {} after {}", reported(found), whole.reported()))
    }

    /// Whether `found` is the base with some of the optional changes.
    fn is_reachable(
        &self,
        base: &Content,
        optional: &[Change],
        found: &Content,
    ) -> Result<(), String> {
        let mut last = None;
        for (id, line) in found {
            let in_base = base.iter().position(|document| (&document.0, &document.1) == (id, line));
            let written = || optional.iter().rposition(|change| change.1.as_ref() == Some(line));
            let place = in_base.or_else(|| written().map(|at| base.len() + at));
            let Some(place) = place else {
                return Err(format!("{} should not be there", line_text(line)));
            };
            if self.rules.is_ordered && last >= Some(place) {
                return Err(format!("{} stands in the wrong place", line_text(line)));
            }
            last = Some(place);
        }
        for (id, line) in base {
            let is_there = found.iter().any(|(found, _)| found == id);
            if !is_there && !optional.contains(&(id.clone(), None)) {
                return Err(format!("{} is lost", line_text(line)));
            }
        }
        Ok(())
    }

    /// Whether two contents are equal, with their order if the layout has one.
    pub(crate) fn is_same(&self, one: &Content, other: &Content) -> bool {
        if self.rules.is_ordered {
            return one == other;
        }
        let sorted = |content: &Content| {
            let mut content = content.clone();
            content.sort_unstable();
            content
        };
        sorted(one) == sorted(other)
    }

    pub(crate) fn reported(&self) -> String {
        let event_text = |event: &Event| {
            let change_text = |(id, line): &Change| match line {
                Some(line) => line_text(line),
                None => format!("-{id}"),
            };
            let changes: Vec<_> = event.changes.iter().map(change_text).collect();
            if event.is_batch { format!("batch({})", changes.join(" ")) } else { changes.join(" ") }
        };
        let events: Vec<_> = self.events.iter().map(event_text).collect();
        format!("{} then {}", reported(&self.base), events.join(" "))
    }
}
