//! Amazon Ion 1.0, text and binary.
//!
//! [`Reader`] yields the values of a stream as trees. [`mod@write`] turns trees into text, binary
//! or JSON. [`shred`] reads a file into columns, fast and without trees. The crate is independent
//! of databases.
//!
//! ```
//! let values = folio_ion::read_all(b"{name: \"Ada\", born: 1815-12-10}").unwrap();
//! assert_eq!(folio_ion::write::to_text(&values[0]), "{name:\"Ada\",born:1815-12-10}");
//! ```

mod binary;
mod buffer;
mod error;
mod kernel;
mod limits;
mod reader;
pub mod shred;
mod split;
mod symbol;
mod text;
mod value;
pub mod write;

pub use binary::VERSION_MARKER;
pub use error::{Error, ErrorKind, Result, in_column};
pub use limits::Limits;
pub use reader::{Encoding, Reader, read_all};
pub use split::{Ahead, Format, Place, Relay, Splitter, next_opening_line};
pub use symbol::{ImportLocation, Symbol, SymbolTable};
pub use value::{Big, Decimal, Element, Int, IonType, Precision, Timestamp, Value};
