//! SQL: from text to syntax ([`parse`]), from syntax to plans ([`bind`]). A
//! [`template`] spares both for a statement whose literals alone are new.

pub(crate) mod bind;
mod dialect;
mod from_first;
pub(crate) mod parse;
pub(crate) mod show;
pub(crate) mod statement;
pub(crate) mod template;
mod tokens;
