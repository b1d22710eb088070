//! Turns to write, see [`crate::Turn`].

use super::LineStore;
use crate::error::Result;
use crate::held::Held;

impl LineStore {
    /// Begins the turn of this thread, after what others have written is read.
    pub(crate) fn begin_turn(&self) -> Result<Held> {
        self.handle.check_writable()?;
        let mut writer = self.idle_writer()?;
        let held = Held { turn: writer.turn.is_some(), lock: writer.guard.is_some() };
        match held.lock {
            true => self.follow_others_quickly(&mut writer)?, // edits by hand
            false => self.look_at_others(&mut writer)?,
        }
        writer.turn = Some(std::thread::current().id());
        Ok(held)
    }

    /// Ends it. Without anything to write, the lock is released.
    pub(crate) fn end_turn(&self, held: Held) {
        if held.turn {
            return;
        }
        let mut writer = self.any_writer();
        writer.turn = None;
        let has_more = !self.read_view().pending.is_empty();
        if !held.lock && !has_more && !writer.unpublished && !writer.data_unsynced {
            writer.guard = None;
        }
        self.batch_ended.notify_all();
    }
}
