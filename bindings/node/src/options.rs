//! Options from JavaScript.

use std::time::Duration;

use folio::{Access, CollectionOptions, Durability, Layout, OpenOptions, Strict};
use napi_derive::napi;

use crate::error::invalid;

/// How a database is opened; see `OpenOptions` in `../lib/database.js`.
#[napi(object)]
pub struct NativeOpenOptions {
    /// `r` or `rw`.
    pub mode: Option<String>,
    /// `none`, `on_flush` or `every_put`.
    pub durability: Option<String>,
    /// Milliseconds to wait for the writer's lock.
    pub timeout_ms: Option<f64>,
    /// Milliseconds that puts stay in memory at most; infinite for until a flush.
    pub write_behind_ms: Option<f64>,
    /// Bytes of read data cached per collection.
    pub cache_size: Option<f64>,
    /// Whether a missing database is created.
    pub create: Option<bool>,
}

impl NativeOpenOptions {
    pub(crate) fn into_options(self) -> napi::Result<OpenOptions> {
        let mut options = OpenOptions::default();
        match self.mode.as_deref() {
            None | Some("rw") => {}
            Some("r") => options.access = Access::Read,
            Some(other) => {
                return Err(invalid(format!("mode {other:?} is neither \"r\" nor \"rw\"")));
            }
        }
        match self.durability.as_deref() {
            None => {}
            Some("none") => options.durability = Durability::None,
            Some("on_flush") => options.durability = Durability::OnFlush,
            Some("every_put") => options.durability = Durability::EveryPut,
            Some(other) => {
                let known = "\"none\", \"on_flush\" or \"every_put\"";
                return Err(invalid(format!("durability {other:?} is unknown; use {known}")));
            }
        }
        if let Some(timeout_ms) = self.timeout_ms {
            options.lock_timeout =
                Duration::try_from_secs_f64(timeout_ms / 1_000.0).map_err(|_| {
                    invalid(format!("timeoutMs {timeout_ms} is not a wait time in milliseconds"))
                })?;
        }
        if let Some(delay_ms) = self.write_behind_ms {
            let delay = (delay_ms != f64::INFINITY)
                .then(|| Duration::try_from_secs_f64(delay_ms / 1_000.0))
                .transpose();
            options.write_behind = delay.map_err(|_| {
                invalid(format!("writeBehindMs {delay_ms} is not a wait time in milliseconds"))
            })?;
        }
        if let Some(size) = self.cache_size {
            if !(0.0..=9e15).contains(&size) {
                return Err(invalid(format!("cacheSize {size} is not a number of bytes")));
            }
            options.cache_size = size as usize;
        }
        if let Some(create) = self.create {
            options.create = create;
        }
        Ok(options)
    }
}

/// What a collection is; see `CollectionOptions` in `../lib/database.js`.
#[napi(object)]
pub struct NativeCollectionOptions {
    /// `lines` or `files`.
    pub layout: Option<String>,
    /// Every document must look like the first.
    pub strict: Option<bool>,
    /// A JSON Schema, as text.
    pub schema: Option<String>,
}

impl NativeCollectionOptions {
    pub(crate) fn into_options(self) -> napi::Result<CollectionOptions> {
        let mut options = CollectionOptions::default();
        match self.layout.as_deref() {
            None => {}
            Some("lines") => options.layout = Layout::Lines,
            Some("files") => options.layout = Layout::Files,
            Some(other) => {
                return Err(invalid(format!(
                    "layout {other:?} is neither \"lines\" nor \"files\""
                )));
            }
        }
        if self.strict == Some(true) {
            options.strict = Strict::FirstDocument;
        }
        if let Some(schema) = self.schema {
            let schema = serde_json::from_str(&schema).map_err(invalid)?;
            options.strict = Strict::Schema(schema);
        }
        Ok(options)
    }
}

/// The parameters and result of a function of the program.
#[napi(object)]
pub struct NativeFunctionOptions {
    /// The types of its arguments.
    pub parameters: Vec<String>,
    /// The type of what it returns.
    pub returns: String,
    /// Whether its result may differ for the same arguments.
    pub is_volatile: bool,
    /// Whether it is called with nulls.
    pub takes_null: bool,
}
