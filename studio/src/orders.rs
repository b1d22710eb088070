//! The orders of grids that are sorted or filtered, kept while pages jump through them.
//!
//! A page asks for the order of its view once it shows the first rows, and waits with rows far from
//! them until it is there. Then the rows at any position are looked up by their keys. The orders that
//! nobody has asked for longest make room for others. A grid that is neither sorted nor filtered has
//! no order: `reach` divides it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use folio::{Error, ErrorCode, Rows, Session, Window, WindowOrder};

/// The most memory of all orders: the keys of some ten million documents.
pub(crate) const SIZE_MAX: usize = 256 << 20;

/// Orders; the last was asked for last.
#[derive(Default)]
pub(crate) struct Orders(Mutex<Vec<Arc<WindowOrder>>>);

impl Orders {
    /// The rows of a window from its order; `None` if it has none, or no longer.
    ///
    /// # Errors
    /// Errors of the stores.
    pub(crate) fn rows(
        &self,
        session: &mut Session,
        window: &Window,
    ) -> Result<Option<Rows>, Error> {
        let Some(order) = self.find(window) else { return Ok(None) };
        match session.window_at(&order, window.offset, window.limit) {
            Err(error) if error.code() == ErrorCode::Conflict => {
                self.all().retain(|other| !Arc::ptr_eq(other, &order));
                Ok(None)
            }
            rows => rows.map(Some),
        }
    }

    /// The order of a window.
    pub(crate) fn find(&self, window: &Window) -> Option<Arc<WindowOrder>> {
        let mut all = self.all();
        let place = all.iter().position(|order| order.is_of(window))?;
        let order = all.remove(place);
        all.push(Arc::clone(&order));
        Some(order)
    }

    /// Keeps an order in place of an earlier one of its window.
    pub(crate) fn keep(&self, window: &Window, order: WindowOrder) -> Arc<WindowOrder> {
        let (mut all, order) = (self.all(), Arc::new(order));
        all.retain(|other| !other.is_of(window));
        all.push(Arc::clone(&order));
        while all.iter().map(|order| order.size()).sum::<usize>() > SIZE_MAX {
            all.remove(0);
        }
        order
    }

    fn all(&self) -> MutexGuard<'_, Vec<Arc<WindowOrder>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
