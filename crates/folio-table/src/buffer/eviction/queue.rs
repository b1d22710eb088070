//! A queue of frames with removal from the middle: links in two arrays.

use crate::buffer::frame::FrameId;

const NONE: FrameId = FrameId::MAX;

/// A frame is in at most one queue, once.
#[derive(Debug)]
pub(in crate::buffer) struct Queue {
    /// Towards the head, where frames enter.
    newer: Vec<FrameId>,
    /// Towards the tail, the oldest.
    older: Vec<FrameId>,
    is_in: Vec<bool>,
    head: FrameId,
    tail: FrameId,
    len: usize,
}

impl Queue {
    pub(in crate::buffer) fn new(frame_count: usize) -> Self {
        // Links of frames outside the queue are never read. Zeroed memory is not touched yet.
        Self {
            newer: vec![0; frame_count],
            older: vec![0; frame_count],
            is_in: vec![false; frame_count],
            head: NONE,
            tail: NONE,
            len: 0,
        }
    }

    pub(in crate::buffer) fn len(&self) -> usize {
        self.len
    }

    pub(in crate::buffer) fn tail(&self) -> Option<FrameId> {
        some(self.tail)
    }

    /// The frame that entered right after this one.
    pub(in crate::buffer) fn newer(&self, frame: FrameId) -> Option<FrameId> {
        some(self.newer[frame as usize])
    }

    pub(in crate::buffer) fn push_head(&mut self, frame: FrameId) {
        assert!(!self.is_in[frame as usize], "a frame enters a queue once");
        self.newer[frame as usize] = NONE;
        self.older[frame as usize] = self.head;
        match some(self.head) {
            Some(head) => self.newer[head as usize] = frame,
            None => self.tail = frame,
        }
        self.head = frame;
        self.is_in[frame as usize] = true;
        self.len += 1;
    }

    /// Removes a frame; `false` when it is not in this queue.
    pub(in crate::buffer) fn remove(&mut self, frame: FrameId) -> bool {
        if !self.is_in[frame as usize] {
            return false;
        }
        let (newer, older) = (self.newer[frame as usize], self.older[frame as usize]);
        match some(newer) {
            Some(newer) => self.older[newer as usize] = older,
            None => self.head = older,
        }
        match some(older) {
            Some(older) => self.newer[older as usize] = newer,
            None => self.tail = newer,
        }
        self.is_in[frame as usize] = false;
        self.len -= 1;
        true
    }
}

fn some(frame: FrameId) -> Option<FrameId> {
    (frame != NONE).then_some(frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oldest_first(queue: &Queue) -> Vec<FrameId> {
        std::iter::successors(queue.tail(), |&frame| queue.newer(frame)).collect()
    }

    #[test]
    fn frames_leave_from_anywhere() {
        let mut queue = Queue::new(8);
        (0..5).for_each(|frame| queue.push_head(frame));
        assert_eq!(oldest_first(&queue), [0, 1, 2, 3, 4]);
        for (frame, rest) in [(2, &[0, 1, 3, 4][..]), (0, &[1, 3, 4]), (4, &[1, 3])] {
            assert!(queue.remove(frame));
            assert_eq!(oldest_first(&queue), rest);
        }
        assert!(!queue.remove(2));
        queue.push_head(2);
        assert_eq!((oldest_first(&queue), queue.len()), (vec![1, 3, 2], 3));
    }
}
