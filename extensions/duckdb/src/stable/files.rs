//! Files through DuckDB's file systems, so that everything it can open can be read.

use super::value::c_string;
use libduckdb_sys as duckdb;
use std::ffi::CStr;
use std::io::{self, Read};

/// The file systems of a connection.
pub(crate) struct FileSystem(duckdb::duckdb_file_system);

// SAFETY: DuckDB's file systems are used from all its threads.
unsafe impl Send for FileSystem {}
// SAFETY: as above.
unsafe impl Sync for FileSystem {}

impl FileSystem {
    /// The file systems that `context` sees.
    ///
    /// # Safety
    ///
    /// `context` is a valid client context.
    pub(crate) unsafe fn of(context: duckdb::duckdb_client_context) -> FileSystem {
        // SAFETY: the caller's promise.
        FileSystem(unsafe { duckdb::duckdb_client_context_get_file_system(context) })
    }

    /// The local files that `pattern` matches; the interface has no function for other file
    /// systems.
    pub(crate) fn expand(&self, pattern: &str) -> Result<Vec<String>, String> {
        super::glob::expand(pattern)
    }

    /// Opens `path` for reading.
    pub(crate) fn open(&self, path: &str) -> Result<File, String> {
        self.open_with(path, &[duckdb::duckdb_file_flag_DUCKDB_FILE_FLAG_READ])
    }

    /// Creates `path`, or empties it, for writing.
    pub(crate) fn create(&self, path: &str) -> Result<File, String> {
        // The flags of the C interface create files and do not truncate existing ones.
        if !path.contains("://") && std::path::Path::new(path).is_file() {
            let emptied = std::fs::File::options().write(true).truncate(true).open(path);
            emptied.map_err(|error| format!("cannot write \"{path}\": {error}"))?;
        }
        let write = duckdb::duckdb_file_flag_DUCKDB_FILE_FLAG_WRITE;
        self.open_with(path, &[write, duckdb::duckdb_file_flag_DUCKDB_FILE_FLAG_CREATE])
    }

    fn open_with(&self, path: &str, flags: &[duckdb::duckdb_file_flag]) -> Result<File, String> {
        let name = c_string(path);
        let mut handle = std::ptr::null_mut();
        // SAFETY: the file system is valid until dropped; options are released here.
        let state = unsafe {
            let mut options = duckdb::duckdb_create_file_open_options();
            for flag in flags {
                duckdb::duckdb_file_open_options_set_flag(options, *flag, true);
            }
            let state =
                duckdb::duckdb_file_system_open(self.0, name.as_ptr(), options, &mut handle);
            duckdb::duckdb_destroy_file_open_options(&mut options);
            state
        };
        if state == duckdb::duckdb_state_DuckDBSuccess && !handle.is_null() {
            return Ok(File(handle));
        }
        // SAFETY: the file system is valid; the error data is ours to release.
        let why = unsafe { error_text(duckdb::duckdb_file_system_error_data(self.0)) };
        Err(format!("cannot open \"{path}\": {why}"))
    }
}

impl Drop for FileSystem {
    fn drop(&mut self) {
        // SAFETY: the handle is ours and is released once.
        unsafe { duckdb::duckdb_destroy_file_system(&mut self.0) }
    }
}

/// # Safety
///
/// `data` is an error record that nobody else releases.
unsafe fn error_text(mut data: duckdb::duckdb_error_data) -> String {
    // SAFETY: the caller's promise; the message lives as long as the record.
    unsafe {
        let message = duckdb::duckdb_error_data_message(data);
        let text = match message.is_null() {
            true => "unknown error".to_owned(),
            false => CStr::from_ptr(message).to_string_lossy().into_owned(),
        };
        duckdb::duckdb_destroy_error_data(&mut data);
        text
    }
}

/// An open file.
pub(crate) struct File(duckdb::duckdb_file_handle);

// SAFETY: a handle is used by one thread at a time, whichever it is.
unsafe impl Send for File {}

impl File {
    /// The file's size in bytes, if known.
    pub(crate) fn size(&self) -> Option<u64> {
        // SAFETY: the handle is valid until dropped.
        u64::try_from(unsafe { duckdb::duckdb_file_handle_size(self.0) }).ok()
    }

    /// Moves the read position to `offset`.
    pub(crate) fn seek(&mut self, offset: u64) -> io::Result<()> {
        let place = i64::try_from(offset).map_err(io::Error::other)?;
        // SAFETY: the handle is valid until dropped.
        let state = unsafe { duckdb::duckdb_file_handle_seek(self.0, place) };
        match state == duckdb::duckdb_state_DuckDBSuccess {
            true => Ok(()),
            false => Err(self.error()),
        }
    }

    fn error(&self) -> io::Error {
        // SAFETY: the handle is valid; the error record is ours to release.
        io::Error::other(unsafe { error_text(duckdb::duckdb_file_handle_error_data(self.0)) })
    }

    /// Closes the file and reports whether everything was written.
    pub(crate) fn close(self) -> io::Result<()> {
        // SAFETY: the handle is valid; dropping it afterwards releases it.
        let state = unsafe { duckdb::duckdb_file_handle_close(self.0) };
        match state == duckdb::duckdb_state_DuckDBSuccess {
            true => Ok(()),
            false => Err(self.error()),
        }
    }
}

impl io::Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let size = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
        // SAFETY: the handle is valid, and the bytes are as many as said.
        let written =
            unsafe { duckdb::duckdb_file_handle_write(self.0, bytes.as_ptr().cast(), size) };
        usize::try_from(written).map_err(|_| self.error())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for File {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = i64::try_from(buffer.len()).unwrap_or(i64::MAX);
        // SAFETY: the handle is valid, and the buffer is as long as said.
        let read =
            unsafe { duckdb::duckdb_file_handle_read(self.0, buffer.as_mut_ptr().cast(), size) };
        usize::try_from(read).map_err(|_| self.error())
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: the handle is ours and is released once.
        unsafe {
            duckdb::duckdb_file_handle_close(self.0);
            duckdb::duckdb_destroy_file_handle(&mut self.0);
        }
    }
}
