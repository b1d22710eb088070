//! The library that DuckDB 1.5.6 and all later ones load.
//!
//! A package for each interface, because Cargo has one name for the library of a package, whatever
//! its features: with one package, each build would replace the other's and so make it anew.

pub use ion::ion_init_c_api;
