//! Plans: what is to be done ([`logical`]), and how ([`physical`]).
//!
//! Both languages end in the logical plan, the optimizer's rules rewrite it, and
//! [`lower`] turns it into the physical one, operator by operator, where columns
//! are positions.

pub(crate) mod display;
mod expressions;
pub(crate) mod follow;
pub(crate) mod logical;
pub(crate) mod lower;
pub(crate) mod lower_join;
pub(crate) mod order;
pub(crate) mod physical;
pub(crate) mod shared;
mod subqueries;
