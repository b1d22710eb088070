//! The library that DuckDB 2.0.0 loads. `interfaces/stable` says why it is a package.

pub use ion::ion_init_c_api_v2;
