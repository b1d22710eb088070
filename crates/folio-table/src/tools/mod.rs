//! Tools besides reading and writing: copies of an open store, inspection of single pages, and
//! salvage from damaged files.

mod backup;
mod damaged_files;
mod inspect;
mod salvage;
mod vacuum;

pub use inspect::{CellContent, PageInspection, inspect};
pub use salvage::{SalvageReport, SalvagedTable, salvage};
pub use vacuum::{VacuumReport, vacuum};
