//! Expressions that tables store as text: defaults, checks, generated columns. They are SQL,
//! whatever language a statement is written in.

use folio_compute::Result;
use folio_engine::Signature;
use folio_engine::bind::{Binding, StoredExpressions};
use folio_engine::bound::Rules;
use folio_engine::expression::Expr;
use folio_engine::source::Relation;

use super::Binder;

/// Parses expressions that tables store as SQL.
pub struct Stored;

impl StoredExpressions for Stored {
    fn default_of(
        &self,
        binding: &mut Binding<'_>,
        table: &Relation,
        column: usize,
    ) -> Result<Expr> {
        within(binding, |binder| binder.default_of(table, column))
    }

    fn rules(&self, binding: &mut Binding<'_>, table: &Relation) -> Result<Rules> {
        let constraints = &table.constraints;
        if constraints.checks.is_empty() && constraints.generated.is_empty() {
            return Ok(Rules::default());
        }
        within(binding, |binder| binder.rules(table))
    }
}

/// Binds SQL within the binding of another language.
fn within<'s, T>(
    binding: &mut Binding<'s>,
    bind: impl FnOnce(&mut Binder<'s>) -> Result<T>,
) -> Result<T> {
    let empty = Binding::new(binding.source, &Stored, binding.limits.clone());
    let mut binder = Binder::of(std::mem::replace(binding, empty), Signature::NONE);
    let bound = bind(&mut binder);
    *binding = binder.binding;
    bound
}
