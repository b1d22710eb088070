//! Plans: what is to be done ([`logical`]), and how ([`physical`]).
//!
//! Both languages end in the logical plan, the optimizer's rules rewrite it, and
//! [`lower`] turns it into the physical one, operator by operator, where columns
//! are positions.

pub mod aggregate;
pub mod display;
mod expressions;
pub mod follow;
pub mod join_keys;
pub mod logical;
pub mod lower;
mod lower_join;
pub mod order;
pub mod physical;
pub mod shared;
mod subqueries;
pub mod terms;
pub mod window;
