//! Creates and drops views.

use folio_types::near_match;

use super::Transaction;
use super::definition::next_tree;
use crate::catalog::{self, ViewDefinition};
use crate::error::{Error, Result};

impl Transaction {
    /// Creates a view: a text under a name that no table or view has. With `replace`, an existing
    /// view gets the new text.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::InvalidInput`] without a name; errors of the pages.
    pub fn create_view(&mut self, name: &str, text: &str, replace: bool) -> Result<()> {
        if name.is_empty() {
            return Err(Error::InvalidInput { what: "a view has no name; give it one".to_owned() });
        }
        let catalog = self.catalog()?;
        let old = catalog.view(name).filter(|_| replace);
        if old.is_none() {
            catalog.refuse_taken(name, None)?;
        }
        let (name, text) = (name.to_owned(), text.to_owned());
        self.change(|editor| {
            let id = old.map_or_else(|| next_tree(editor), |old| old.id);
            catalog::write_view(editor, &ViewDefinition { id, name, text })
        })?;
        self.refresh_catalog()
    }

    /// Drops a view.
    ///
    /// # Errors
    /// [`Error::NotFound`]; errors of the pages.
    pub fn drop_view(&mut self, name: &str) -> Result<()> {
        let catalog = self.catalog()?;
        let Some(view) = catalog.view(name) else {
            let near = near_match(name, catalog.views().map(|view| &*view.name)).map(str::to_owned);
            return Err(Error::NotFound { kind: "view", name: name.to_owned(), near });
        };
        self.change(|editor| catalog::remove_definition(editor, view.id))?;
        self.refresh_catalog()
    }
}
