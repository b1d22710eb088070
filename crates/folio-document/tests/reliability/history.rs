//! The model: what was done to a collection, in order, and what of it may be missing
//! after the power has failed or the process died.
//!
//! The lines of a file reach the device in any order until a sync, so of the changes
//! since the last promise any may be lost, each as a whole. A batch is there as a
//! whole or not at all; when it is there, so is everything before it. When only the
//! process dies, what is found is a beginning of what was done.

use crate::text::{Change, Content, apply, told, told_line};

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

/// What makes two layouts different to the model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// A scan gives the documents in the order they were written in.
    pub(crate) is_ordered: bool,
    /// Batches are made durable, so a power cut does not tear them.
    pub(crate) syncs_batches: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct History {
    rules: Rules,
    /// Promised: it survives everything.
    base: Content,
    /// Done since, and not promised.
    events: Vec<Event>,
    /// Under way: whether it happens is open.
    underway: Option<Event>,
}

impl History {
    pub(crate) fn new(rules: Rules) -> Self {
        Self { rules, base: Content::new(), events: Vec::new(), underway: None }
    }

    pub(crate) fn begin(&mut self, event: Event) {
        self.underway = Some(event);
    }

    /// What was under way has returned.
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

    /// Somebody has rewritten the files, durably.
    pub(crate) fn replace(&mut self, content: Content) {
        (self.base, self.underway) = (content, None);
        self.events.clear();
    }

    pub(crate) fn latest(&self) -> Content {
        self.after(self.events.len())
    }

    /// The content once the first events have happened.
    fn after(&self, count: usize) -> Content {
        let mut content = self.base.clone();
        let changes = self.events[..count].iter().flat_map(|event| &event.changes);
        changes.for_each(|change| apply(&mut content, change));
        content
    }

    /// The process died and the system lived: a beginning of what was done is there.
    pub(crate) fn allows_after_kill(&self, found: &Content) -> Result<(), String> {
        let mut whole = self.clone();
        whole.complete();
        if (0..=whole.events.len()).rev().any(|count| self.is_same(found, &whole.after(count))) {
            return Ok(());
        }
        Err(format!("found {}, which is no beginning of {}", told(found), whole.told()))
    }

    /// Goes on from what was found after the process died. Of what seems lost, a
    /// part may still be in the files.
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
            return self
                .is_reachable(&whole.base, &optional.collect::<Vec<_>>(), found)
                .map_err(|text| format!("{text}; found {} after {}", told(found), whole.told()));
        }
        let batches = whole.events.iter().enumerate().filter(|(_, event)| event.is_batch);
        let mut reason = String::new();
        // Nothing from the last surviving batch backwards is open any more.
        for from in batches.map(|(number, _)| number + 1).chain([0]) {
            let base = whole.after(from);
            let singles = whole.events[from..].iter().filter(|event| !event.is_batch);
            let optional: Vec<_> = singles.flat_map(|event| event.changes.clone()).collect();
            match self.is_reachable(&base, &optional, found) {
                Ok(()) => return Ok(()),
                Err(text) => reason = text,
            }
        }
        Err(format!("{reason}; found {} after {}", told(found), whole.told()))
    }

    /// Whether `found` is the base with some of the optional changes made.
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
                return Err(format!("{} should not be there", told_line(line)));
            };
            if self.rules.is_ordered && last >= Some(place) {
                return Err(format!("{} stands in the wrong place", told_line(line)));
            }
            last = Some(place);
        }
        for (id, line) in base {
            let is_there = found.iter().any(|(found, _)| found == id);
            if !is_there && !optional.contains(&(id.clone(), None)) {
                return Err(format!("{} is lost", told_line(line)));
            }
        }
        Ok(())
    }

    /// Whether two contents are the same, as far as the layout keeps an order.
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

    pub(crate) fn told(&self) -> String {
        let told_event = |event: &Event| {
            let told_change = |(id, line): &Change| match line {
                Some(line) => told_line(line),
                None => format!("-{id}"),
            };
            let changes: Vec<_> = event.changes.iter().map(told_change).collect();
            if event.is_batch { format!("batch({})", changes.join(" ")) } else { changes.join(" ") }
        };
        let events: Vec<_> = self.events.iter().map(told_event).collect();
        format!("{} then {}", told(&self.base), events.join(" "))
    }
}
