//! Plans: what to compute ([`logical`]), and how (`physical`).
//!
//! Both languages produce logical plans. The optimizer's rules rewrite them. `lower` turns
//! them into physical plans, operator by operator, with columns as positions.

pub(crate) mod advice;
pub mod aggregate;
pub(crate) mod display;
mod expressions;
pub mod follow;
mod group_keys;
pub(crate) mod join_keys;
pub mod logical;
pub(crate) mod lower;
mod lower_join;
pub(crate) mod order;
pub(crate) mod physical;
pub mod shared;
mod subqueries;
pub mod terms;
pub mod window;
