//! Views created as they are declared, whatever exists.

use folio_engine::Limits;
use folio_engine::source::Changes as _;
use folio_sql::declared_views;
use folio_sqlite::quoted_name;

use super::Session;
use super::check::request_of;
use crate::error::{Error, Result};
use crate::saved::StatementLanguage;

impl Session {
    /// Creates the views of statements that name their columns, in any order. Returns why some
    /// cannot be read now, a sentence for each.
    ///
    /// # Errors
    /// `syntax`, with the position; `conflict` for a name that is taken; errors of the store.
    pub(crate) fn declare_views(&mut self, text: &str) -> Result<Vec<String>> {
        let (request, limits) = (request_of(text, StatementLanguage::Sql), self.limits());
        let declare = |session: &mut Self, limits: &Limits| -> Result<Vec<String>> {
            let views = declared_views(text, limits)?;
            session.in_transaction(true, |_, view| {
                Ok(views.iter().try_for_each(|declared| view.create(declared))?)
            })?;
            Ok(views.into_iter().map(|declared| declared.name).collect())
        };
        let names = match declare(self, &limits) {
            Err(Error::Query(error)) if error.wants_stack() => {
                self.deep(request, &limits, declare)?
            }
            declared => declared?,
        };
        let mut unreadable = Vec::new();
        for name in names {
            let query = format!("SELECT * FROM {}", quoted_name(&name));
            match self.check(&query, StatementLanguage::Sql) {
                Ok(()) => {}
                Err(Error::Query(error)) => unreadable.push(error.message().to_owned()),
                Err(other) => return Err(other),
            }
        }
        Ok(unreadable)
    }
}
