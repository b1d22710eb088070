//! What a turn to write finds held, so that it gives back no more than it took.

/// What was held when a turn began, and is kept when it ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Held {
    /// A turn of the same thread.
    pub(crate) turn: bool,
    /// The writer's lock.
    pub(crate) lock: bool,
}
