//! Files through DuckDB's file systems, so that everything it can open can be read.

use super::scope::{Scope, call, get, str_of, string};
use libduckdb_sys::v2 as duckdb;
use std::ffi::c_void;
use std::io::{self, Read};
use std::ptr::null_mut;

type Flag = duckdb::DUCKDB_V2_FILE_FLAG;

/// The file systems of the current call.
pub(crate) struct FileSystem;

impl FileSystem {
    /// Opens `path` for reading.
    pub(crate) fn open(&self, path: &str) -> Result<File, String> {
        self.open_with(path, &[Flag::DUCKDB_V2_FILE_FLAG_READ])
    }

    /// Creates `path`, or empties it, for writing.
    pub(crate) fn create(&self, path: &str) -> Result<File, String> {
        let flags = [Flag::DUCKDB_V2_FILE_FLAG_WRITE, Flag::DUCKDB_V2_FILE_FLAG_CREATE_NEW];
        self.open_with(path, &flags)
    }

    fn open_with(&self, path: &str, flags: &[Flag]) -> Result<File, String> {
        let files = Scope::current()?.files;
        let name = str_of(path);
        // SAFETY: the file system is that of the call at hand; options are released here.
        let opened = unsafe {
            let mut options = get(null_mut(), |out, error| {
                duckdb::duckdb_v2_file_open_options_create(files, out, error)
            })?;
            let set = flags.iter().try_for_each(|flag| {
                call(|error| duckdb::duckdb_v2_file_open_options_set_flag(options, *flag, error))
            });
            let opened = set.and_then(|()| {
                get(null_mut(), |out, error| {
                    duckdb::duckdb_v2_file_system_open(files, &name, options, out, error)
                })
            });
            duckdb::duckdb_v2_file_open_options_destroy(&mut options);
            opened
        };
        opened.map(File).map_err(|why| format!("cannot open \"{path}\": {why}"))
    }

    /// The files that `pattern` matches, sorted.
    pub(crate) fn expand(&self, pattern: &str) -> Result<Vec<String>, String> {
        let files = Scope::current()?.files;
        let mut found: Vec<String> = Vec::new();
        let text = str_of(pattern);
        // SAFETY: the file system is that of the call at hand; the list outlives the call.
        call(|error| unsafe {
            let list = std::ptr::from_mut(&mut found).cast::<c_void>();
            duckdb::duckdb_v2_file_system_path_glob(files, &text, Some(note), list, error)
        })?;
        found.sort();
        match found.is_empty() {
            true => Err(format!("no files match \"{pattern}\"")),
            false => Ok(found),
        }
    }
}

/// Appends one matching path to the list.
unsafe extern "C" fn note(
    path: *const duckdb::duckdb_v2_str,
    list: *mut c_void,
    _: *mut duckdb::duckdb_v2_error_info_handle,
) {
    // SAFETY: DuckDB lends the path, and hands on the list it was given.
    unsafe { (*list.cast::<Vec<String>>()).push(string(*path)) }
}

/// An open file.
pub(crate) struct File(duckdb::duckdb_v2_file_handle);

// SAFETY: a handle is used by one thread at a time, whichever it is.
unsafe impl Send for File {}

impl File {
    /// The file's size in bytes, if known.
    pub(crate) fn size(&self) -> Option<u64> {
        // SAFETY: the handle is valid until dropped.
        get(0, |out, error| unsafe { duckdb::duckdb_v2_file_size(self.0, out, error) }).ok()
    }

    /// Moves the read position to `offset`.
    pub(crate) fn seek(&mut self, offset: u64) -> io::Result<()> {
        // SAFETY: the handle is valid until dropped.
        call(|error| unsafe { duckdb::duckdb_v2_file_seek(self.0, offset, error) })
            .map_err(io::Error::other)
    }

    /// Closes the file and reports whether everything was written.
    pub(crate) fn close(self) -> io::Result<()> {
        // SAFETY: the handle is valid; dropping it afterwards releases it.
        call(|error| unsafe { duckdb::duckdb_v2_file_close(self.0, error) })
            .map_err(io::Error::other)
    }
}

impl io::Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // SAFETY: the handle is valid, and the bytes are as many as said.
        let written = get(0, |out, error| unsafe {
            let size = bytes.len() as u64;
            duckdb::duckdb_v2_file_write(self.0, bytes.as_ptr().cast(), size, out, error)
        });
        written.map(|size| size as usize).map_err(io::Error::other)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for File {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // SAFETY: the handle is valid, and the buffer is as long as said.
        let read = get(0, |out, error| unsafe {
            let size = buffer.len() as u64;
            duckdb::duckdb_v2_file_read(self.0, buffer.as_mut_ptr().cast(), size, out, error)
        });
        read.map(|size| size as usize).map_err(io::Error::other)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: the handle is ours and is released once.
        unsafe { duckdb::duckdb_v2_file_destroy(&mut self.0) };
    }
}
