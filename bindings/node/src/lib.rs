//! The native half of the npm package: text in, text out.
//!
//! Objects stay in JavaScript. `JSON.parse` and `JSON.stringify` are the fastest
//! way into and out of V8 there is, if they are called once for many documents,
//! so what crosses the border is text: one string per batch of a scan, one per
//! batch of a write, one line per lookup. Where documents have a shape that is known,
//! marks say where its values stand ([`shape`]), and no parser is needed. The other half,
//! `../lib`, makes documents of it and is what users import; the classes here are nobody's API.
//!
//! Each operation stands here once as it is and once as a task for Node's thread
//! pool ([`task`]). Errors cross as `code: text` ([`error`]). Only [`text`], [`lookup`]
//! and [`function`] call Node-API themselves, and only `signal` the operating system.

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
