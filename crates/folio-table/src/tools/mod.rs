//! Tools beside reading and writing: copies of a store that is in use, looks at
//! single pages, and what can be saved from files that are damaged.

mod backup;
mod damaged_files;
mod inspect;
mod salvage;
mod vacuum;

pub use inspect::{CellContent, PageInspection, inspect};
pub use salvage::{SalvageReport, SalvagedTable, salvage};
pub use vacuum::{VacuumReport, vacuum};
