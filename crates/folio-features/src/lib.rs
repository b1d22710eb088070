//! No code. The command and the packages depend on this crate, and through it on the
//! features that tests, too, have in the crates everything stands on: Cargo unites the
//! features of what it builds together and compiles a crate once for each set it meets.
//! Without it the query engine and all below were compiled three times, for the tests,
//! the command and the Python package.
//!
//! What differs shows in the unit graphs of the three builds (`--unit-graph`): no crate
//! but those with failpoints should be in two of them with two sets of features.
