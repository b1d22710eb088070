//! Views: named texts, which the layer above interprets.

use super::json;
use crate::edit::Editor;
use crate::error::Result;
use crate::ids::TreeId;

/// A view: a name in the namespace of tables, and a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewDefinition {
    pub(crate) id: TreeId,
    /// Its name, as written when it was created.
    pub name: String,
    /// Its query.
    pub text: String,
}

/// Writes a view's definition.
///
/// # Errors
/// Errors of the pages.
pub(crate) fn write_view(editor: &mut Editor<'_, '_>, view: &ViewDefinition) -> Result<()> {
    super::write(editor, view.id, &json::view_text(view))
}
