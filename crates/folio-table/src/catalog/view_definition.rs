//! Views: texts with a name, kept for the layer that understands them.

use super::json;
use crate::edit::Editor;
use crate::error::Result;
use crate::ids::TreeId;

/// A view: a name among those of the tables, and a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewDefinition {
    pub(crate) id: TreeId,
    /// Its name as it was spelt.
    pub name: String,
    /// What it stands for.
    pub text: String,
}

/// Writes a view's definition.
///
/// # Errors
/// What the pages say.
pub(crate) fn write_view(editor: &mut Editor<'_, '_>, view: &ViewDefinition) -> Result<()> {
    super::write(editor, view.id, &json::view_text(view))
}
