//! Files at URLs, read by ranges, behind the traits of `folio-file`.
//!
//! [`Places`] is a file system whose paths may be URLs: `http://`, `https://`, `s3://`, `gs://`,
//! `az://` and `hf://`. Every other path goes to the file system below. So there is no second reader of an archive, an index
//! or a document: what reads a file reads a URL.
//!
//! ```text
//! place      a URL is split: what is shown, what is asked, what is secret
//! client     one request, until it is answered: retried, timed
//! reading    a range in as many answers as it takes, compared with what was known before
//! fault      why an attempt failed: what passes, and what lasts
//! patient    a wait for bytes ends when the statement that waits has to
//! cache      blocks of 64 KiB by content, of a bounded total size
//! disk_cache the same for the next process, if a folder is named
//! file       a read becomes one request for all blocks that are not cached, and some ahead
//! scans      what was asked for, by whom, and how far ahead of its reader
//! places     names: what is at a URL, and what cannot be known
//! bucket     where a bucket is, how it is listed, who asks
//! listing    what is in a folder of a bucket, or of a repository
//! upload     a file that is sent into a bucket in parts, and appears whole
//! s3/, google, azure, hugging_face
//!            where each provider's files are, and the credentials that its own programs read
//! surroundings
//!            the environment and the files of the user
//! ```
//!
//! **One state.** The first answer for a file fixes its ETag (or, without one, time and size). Any
//! later answer with another is an error, so no two states are ever mixed.
//!
//! **Secrets.** A password or a query of a URL goes to the server, and never into a path: paths are
//! in errors. A process that is given a URL without them may have them in its environment. Keys only sign, of S3, of accounts of Azure and of service accounts of Google, and
//! tokens are sent to the host that they are for, never to one that it redirects to.
//!
//! Databases are not written, and plain HTTP lists no names. TLS and HTTP are the crates `rustls` and
//! `ureq`.

mod azure;
mod bucket;
mod cache;
mod client;
mod disk_cache;
mod encoding;
mod fault;
mod file;
mod google;
mod hugging_face;
mod listing;
mod options;
mod patient;
mod place;
mod places;
mod reading;
mod s3;
mod scans;
mod surroundings;
mod upload;

pub use options::RemoteOptions;
pub use places::Places;
