//! SQL: from text to syntax ([`parse`]), from syntax to plans ([`bind`]).

pub(crate) mod bind;
mod dialect;
pub(crate) mod parse;
pub(crate) mod statement;
