//! Whether a part has the values of the lines that it is a copy of.

use std::sync::Arc;

use folio_compute::BATCH_SIZE;
use folio_document::CopiedLines;
use folio_engine::source::RowStream as _;

use super::{PartColumn, PartLayout, PartRequest, PartRows, decoded};
use crate::error::Result;
use crate::format::json::LineColumns;

impl PartLayout {
    /// Whether a part has the values of its lines, in the columns of this layout that a scan may
    /// read from it. Damage is not looked for: the checksums of the part tell.
    ///
    /// # Errors
    /// Errors of the scan.
    pub(crate) fn is_copied(&self, copied: &mut CopiedLines) -> Result<bool> {
        let CopiedLines { part, dead, lines } = copied;
        let Some(known) = decoded(part.columns()) else { return Ok(true) };
        let is_readable =
            |(_, own): &(&usize, &PartColumn)| known.spot(&own.path, &own.ty).is_some();
        let (positions, columns): (Vec<usize>, Vec<_>) = (self.positions.iter())
            .zip(&self.columns)
            .filter(is_readable)
            .map(|(position, own)| (*position, (own.path.clone(), own.ty.clone())))
            .unzip();
        let wanted = Arc::new(PartRequest { columns, tests: Vec::new(), as_stored: Vec::new() });
        if !wanted.is_served_by(part.columns()) {
            return Ok(true);
        }
        let mut own = LineColumns::new(&self.relation, &positions, &[], self.keys_are_distinct);
        for group in wanted.groups(part.columns(), dead).groups {
            let mut rows = PartRows::new(&wanted, group, BATCH_SIZE)?;
            while let Some(batch) = rows.next()? {
                for _ in 0..batch.row_count {
                    match lines.next_line()? {
                        Some(line) if own.push(line).is_ok() => {}
                        Some(_) => return Ok(true), // the documents have other types by now
                        None => return Ok(false),
                    }
                }
                if own.finish().columns != batch.columns {
                    return Ok(false);
                }
            }
        }
        Ok(lines.next_line()?.is_none())
    }
}
