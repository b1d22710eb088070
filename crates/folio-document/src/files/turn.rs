//! Turns to write, see [`crate::Turn`].

use super::FileStore;
use crate::error::Result;
use crate::held::Held;

impl FileStore {
    /// Begins the turn of this thread, after what others have written is read.
    pub(crate) fn begin_turn(&self) -> Result<Held> {
        let mut writer = self.ready_writer()?;
        // The lock is kept until a flush, since names that others left are synced then.
        let held = Held { turn: writer.turn.is_some(), lock: true };
        writer.turn = Some(std::thread::current().id());
        Ok(held)
    }

    pub(crate) fn end_turn(&self, held: Held) {
        if !held.turn {
            self.any_writer().turn = None;
            self.batch_ended.notify_all();
        }
    }
}
