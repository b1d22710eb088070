//! The commands, one file each: `Arguments` as the shell gives them, and `run`.

pub(crate) mod backup;
pub(crate) mod bench;
pub(crate) mod compact;
pub(crate) mod completions;
pub(crate) mod delete;
pub(crate) mod export;
pub(crate) mod get;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod inspect;
pub(crate) mod ion;
pub(crate) mod list;
pub(crate) mod pack;
pub(crate) mod patch;
pub(crate) mod put;
pub(crate) mod reindex;
pub(crate) mod salvage;
pub(crate) mod scan;
pub(crate) mod schema;
pub(crate) mod shell;
pub(crate) mod sql;
pub(crate) mod stats;
pub(crate) mod unpack;
pub(crate) mod vacuum;
pub(crate) mod validate;
pub(crate) mod ziql;
