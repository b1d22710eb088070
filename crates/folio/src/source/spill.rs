//! Files for what a statement cannot hold in memory. They are in the database's directory, which
//! has room for data, or, for a read-only handle, in the system's temporary folder.

use std::io;
use std::sync::Arc;

use folio_compute::Result as QueryResult;
use folio_engine::source::SpillFile;

use crate::error::Error;
use crate::handle::Handle;
use crate::temporary::TemporaryFile;

/// Creates an empty file.
pub(super) fn create(handle: &Handle) -> QueryResult<Box<dyn SpillFile>> {
    let store = &handle.store;
    let file = match handle.is_writable() && store.files.stat(&store.root).is_ok() {
        true => TemporaryFile::create_in(Arc::clone(&store.files), &store.root),
        false => TemporaryFile::create(),
    };
    Ok(Box::new(OnDisk(file?)))
}

struct OnDisk(TemporaryFile);

impl OnDisk {
    fn read_exactly(&self, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            let count = self.0.file().read_at(bytes, offset)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            bytes = &mut bytes[count..];
            offset += count as u64;
        }
        Ok(())
    }
}

impl SpillFile for OnDisk {
    fn write(&mut self, bytes: &[u8], offset: u64) -> QueryResult<()> {
        let written = self.0.file().write_at(bytes, offset);
        written.map_err(|error| Error::io("write", self.0.path())(error).into())
    }

    fn read(&mut self, bytes: &mut [u8], offset: u64) -> QueryResult<()> {
        let read = self.read_exactly(bytes, offset);
        read.map_err(|error| Error::io("read", self.0.path())(error).into())
    }
}
