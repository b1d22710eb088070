//! Plans: what is to be done ([`logical`]), and how ([`physical`]).
//!
//! Both languages end in the logical plan, the optimizer's rules rewrite it, and
//! [`lower`] turns it into the physical one, operator by operator, where columns
//! are positions.

pub mod aggregate;
pub(crate) mod display;
mod expressions;
pub mod follow;
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
