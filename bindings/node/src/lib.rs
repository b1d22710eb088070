//! The native half of the npm package, which exchanges text with JavaScript.
//!
//! Objects stay in JavaScript. `JSON.parse` and `JSON.stringify` are the fastest way into and out
//! of V8, if each call handles many documents. So the two halves exchange text: one string per
//! batch of a scan, one per batch of a write, one line per lookup. For documents of a known shape,
//! marks give the positions of the values ([`shape`]), and no parser is needed. The other half,
//! `../lib`, makes documents of it and is the public API; the classes here are internal.
//!
//! Each operation exists in a synchronous form and as a task for Node's thread pool ([`task`]).
//! Errors are passed as `code: text` ([`error`]). Only [`text`], [`lookup`] and [`function`] call
//! Node-API directly, and only `signal` the operating system.

#![allow(clippy::needless_pass_by_value)] // Node-API hands strings over by value

pub mod answer;
pub mod batch;
pub mod collection;
pub mod command;
pub mod database;
pub mod error;
pub mod exact;
pub mod function;
pub mod glance;
pub mod lines;
pub mod lookup;
pub mod options;
pub mod parameter;
pub mod partition;
pub mod progress;
pub mod report;
pub mod scan;
pub mod session;
pub mod shape;
#[cfg(unix)]
pub mod signal;
pub mod tables;
pub mod task;
pub mod text;
pub mod transfer;
pub mod value;
