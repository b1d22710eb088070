//! The table functions `read_ion` and `read_folio`.
//!
//! One large text file is cut in [pieces](crate::pieces), by all threads at once. Otherwise one thread
//! at a time cuts the next block off the current file, under a lock. Reading blocks into columns and
//! copying them into vectors happens in all threads at once. A query that wants no values of the
//! records is answered from the counts of the blocks. `count(*)` is not such a query: through the
//! stable interface DuckDB asks for the first column then.

use crate::bind::{Bound, Output, locate, partitions};
use crate::catalog_type::logical_type;
use crate::emit::emit;
use crate::guard::guard;
use crate::host::{LogicalType, c_string, drop_box, into_host};
use crate::options::{FOLIO_NAMES, NAMES};
use crate::pieces::{Handle, Next, Pieces};
use crate::profile::{Phase, Profile};
use folio_ion::shred::{Batch, Block, Field, Layout};
use folio_ion::{Format, Splitter};
use libduckdb_sys as duckdb;
use std::ffi::CStr;
use std::io::Read;
use std::sync::{Mutex, PoisonError};

const BLOCK_SIZE: usize = 512 << 10;

type Source = Splitter<Box<dyn Read + Send>>;

/// What the threads of one scan share.
struct Scan {
    /// Columns of the values that the query wants.
    layout: Layout,
    /// The result columns that the query wants.
    outputs: Vec<Option<Output>>,
    /// Cuts the file where that can be shared out.
    pieces: Option<Pieces>,
    cutter: Mutex<Cutter>,
    profile: Profile,
}

/// The file being cut.
struct Cutter {
    next_file: usize,
    current: Option<(usize, Source)>,
}

/// What a thread keeps between calls.
#[derive(Default)]
struct Worker {
    batch: Option<Batch>,
    block: Option<(usize, Block)>,
    at: usize,
    /// Rows of the block that are done.
    done: u64,
    recycled: Vec<u8>,
    handle: Handle,
}

/// Registers the functions.
///
/// # Safety
///
/// `connection` is valid.
pub(crate) unsafe fn register(connection: duckdb::duckdb_connection) -> Result<(), String> {
    let any = LogicalType::simple(duckdb::DUCKDB_TYPE_DUCKDB_TYPE_ANY);
    let text = LogicalType::simple(duckdb::DUCKDB_TYPE_DUCKDB_TYPE_VARCHAR);
    // SAFETY: the caller's promise; the types live until both are registered.
    unsafe {
        register_function(connection, c"read_ion", &[&any], &NAMES, bind)?;
        register_function(connection, c"read_folio", &[&text, &text], &FOLIO_NAMES, bind_folio)
    }
}

type Bind = unsafe extern "C" fn(duckdb::duckdb_bind_info);

/// # Safety
///
/// `connection` is valid, and `bind` sets a [`Bound`].
unsafe fn register_function(
    connection: duckdb::duckdb_connection,
    name: &CStr,
    parameters: &[&LogicalType],
    options: &[(&str, duckdb::DUCKDB_TYPE)],
    bind: Bind,
) -> Result<(), String> {
    // SAFETY: the connection is valid; DuckDB copies what it is given; the function is released.
    unsafe {
        let mut function = duckdb::duckdb_create_table_function();
        duckdb::duckdb_table_function_set_name(function, name.as_ptr());
        for parameter in parameters {
            duckdb::duckdb_table_function_add_parameter(function, parameter.0);
        }
        for (name, id) in options {
            let value_type = LogicalType::simple(*id);
            duckdb::duckdb_table_function_add_named_parameter(
                function,
                c_string(name).as_ptr(),
                value_type.0,
            );
        }
        duckdb::duckdb_table_function_supports_projection_pushdown(function, true);
        duckdb::duckdb_table_function_set_bind(function, Some(bind));
        duckdb::duckdb_table_function_set_init(function, Some(init));
        duckdb::duckdb_table_function_set_local_init(function, Some(init_worker));
        duckdb::duckdb_table_function_set_function(function, Some(scan));
        let state = duckdb::duckdb_register_table_function(connection, function);
        duckdb::duckdb_destroy_table_function(&mut function);
        match state == duckdb::duckdb_state_DuckDBSuccess {
            true => Ok(()),
            false => Err(format!("cannot register {}", name.to_string_lossy())),
        }
    }
}

unsafe extern "C" fn bind(info: duckdb::duckdb_bind_info) {
    // SAFETY: DuckDB calls this for a call of `read_ion`.
    unsafe { bind_as(info, || Bound::of(info)) }
}

unsafe extern "C" fn bind_folio(info: duckdb::duckdb_bind_info) {
    // SAFETY: DuckDB calls this for a call of `read_folio`.
    unsafe { bind_as(info, || Bound::of_collection(info)) }
}

/// # Safety
///
/// `info` is the bind information of the call that `bound` binds.
unsafe fn bind_as(info: duckdb::duckdb_bind_info, bound: impl FnOnce() -> Result<Bound, String>) {
    let bound = guard(|| {
        let bound = bound()?;
        // SAFETY: the caller's promise; DuckDB copies names and types.
        unsafe {
            for (name, output) in &bound.outputs {
                let column_type = logical_type(&bound.output_type(output));
                duckdb::duckdb_bind_add_result_column(info, c_string(name).as_ptr(), column_type.0);
            }
            duckdb::duckdb_bind_set_bind_data(info, into_host(bound), Some(drop_box::<Bound>));
        }
        Ok(())
    });
    if let Err(message) = bound {
        // SAFETY: `info` is valid during the call; the message is copied.
        unsafe { duckdb::duckdb_bind_set_error(info, c_string(&message).as_ptr()) }
    }
}

unsafe extern "C" fn init(info: duckdb::duckdb_init_info) {
    let made = guard(|| {
        // SAFETY: the bind data is a `Bound` that outlives the scan; indexes are below the count.
        unsafe {
            let bound = &*duckdb::duckdb_init_get_bind_data(info).cast::<Bound>();
            let count = duckdb::duckdb_init_get_column_count(info);
            let wanted = (0..count).map(|index| duckdb::duckdb_init_get_column_index(info, index));
            let scan = Scan::new(bound, wanted);
            duckdb::duckdb_init_set_max_threads(info, threads(bound));
            duckdb::duckdb_init_set_init_data(info, into_host(scan), Some(drop_box::<Scan>));
        }
        Ok(())
    });
    if let Err(message) = made {
        // SAFETY: as in `bind`.
        unsafe { duckdb::duckdb_init_set_error(info, c_string(&message).as_ptr()) }
    }
}

/// As many threads as there are blocks, by the files' sizes.
fn threads(bound: &Bound) -> u64 {
    let sizes = bound.files.iter().take(64).filter_map(|path| bound.origin.size(path));
    let bytes: u64 = sizes.sum();
    bytes / BLOCK_SIZE as u64 + 1
}

unsafe extern "C" fn init_worker(info: duckdb::duckdb_init_info) {
    let _ = guard(|| {
        // SAFETY: `info` is valid during the call.
        unsafe {
            let worker = into_host(Worker::default());
            duckdb::duckdb_init_set_init_data(info, worker, Some(drop_box::<Worker>));
        }
        Ok(())
    });
}

unsafe extern "C" fn scan(info: duckdb::duckdb_function_info, output: duckdb::duckdb_data_chunk) {
    let scanned = guard(|| {
        // SAFETY: the three were set by the functions above; a worker belongs to one thread.
        unsafe {
            let bound = &*duckdb::duckdb_function_get_bind_data(info).cast::<Bound>();
            let scan = &*duckdb::duckdb_function_get_init_data(info).cast::<Scan>();
            let worker = &mut *duckdb::duckdb_function_get_local_init_data(info).cast::<Worker>();
            let rows = scan.next(bound, worker)?;
            if rows > 0 {
                let Worker { batch, block, .. } = worker;
                let file = block.as_ref().map_or(0, |(file, _)| *file);
                scan.profile
                    .time(Phase::Emit, || scan.emit(bound, batch.as_ref(), file, output))?;
            }
            duckdb::duckdb_data_chunk_set_size(output, rows as u64);
        }
        Ok(())
    });
    if let Err(message) = scanned {
        // SAFETY: as in `bind`.
        unsafe { duckdb::duckdb_function_set_error(info, c_string(&message).as_ptr()) }
    }
}

impl Scan {
    fn new(bound: &Bound, wanted: impl Iterator<Item = u64>) -> Scan {
        let mut fields = Vec::new();
        let mut outputs = Vec::new();
        for index in wanted {
            // A query without columns asks for one that does not exist.
            let output = usize::try_from(index).ok().and_then(|index| bound.outputs.get(index));
            outputs.push(output.map(|(_, output)| match (output, &bound.layout) {
                (Output::Column(column), Layout::Records(all)) => {
                    fields.push(Field::clone(&all[*column]));
                    Output::Column(fields.len() - 1)
                }
                (other, _) => other.clone(),
            }));
        }
        let layout = match &bound.layout {
            Layout::Records(_) => Layout::Records(fields),
            values => values.clone(),
        };
        Scan {
            layout,
            outputs,
            pieces: Pieces::of(bound),
            cutter: Mutex::new(Cutter { next_file: 0, current: None }),
            profile: Profile::new(bound.options.profile),
        }
    }

    /// Whether the query only counts rows.
    fn counts_only(&self) -> bool {
        let needs_values =
            |output: &Output| matches!(output, Output::Column(_) | Output::Annotations);
        !self.outputs.iter().flatten().any(needs_values)
    }

    /// Fills the worker's batch with the next rows; how many, zero at the end.
    fn next(&self, bound: &Bound, worker: &mut Worker) -> Result<usize, String> {
        let vector_size = vector_size();
        loop {
            let Some((file, block)) = &worker.block else {
                if !self.next_block(bound, worker)? {
                    return Ok(0);
                }
                continue;
            };
            if self.counts_only() {
                let rows = (block.row_count - worker.done).min(vector_size as u64);
                worker.done += rows;
                if rows > 0 {
                    return Ok(rows as usize);
                }
                worker.block = None;
                continue;
            }
            if worker.at >= block.bytes.len() {
                worker.recycled =
                    worker.block.take().map(|(_, block)| block.bytes).unwrap_or_default();
                continue;
            }
            let batch = worker.batch.get_or_insert_with(|| self.batch(bound));
            batch.clear();
            let read =
                self.profile.time(Phase::Parse, || batch.read(block, &mut worker.at, vector_size));
            let rows = batch.row_count();
            worker.done += rows as u64;
            if let Err(error) = read {
                if !bound.options.ignore_errors {
                    return Err(locate(&bound.files[*file], block.first_row + worker.done, &error));
                }
                worker.done += 1;
                worker.at = block.skip(worker.at).unwrap_or(block.bytes.len());
            }
            if rows > 0 {
                return Ok(rows);
            }
        }
    }

    fn batch(&self, bound: &Bound) -> Batch {
        let batch = Batch::new(&self.layout, bound.options.limits);
        match self.outputs.contains(&Some(Output::Annotations)) {
            true => batch.with_annotations(),
            false => batch,
        }
    }

    /// Gives the worker the next block; false when all files are done.
    fn next_block(&self, bound: &Bound, worker: &mut Worker) -> Result<bool, String> {
        let block = self.profile.time(Phase::Cut, || self.cut(bound, worker))?;
        let Some((file, block)) = block else { return Ok(false) };
        self.profile.block(block.bytes.len(), block.row_count);
        worker.at = block.start;
        worker.done = 0;
        worker.block = Some((file, block));
        Ok(true)
    }

    fn cut(&self, bound: &Bound, worker: &mut Worker) -> Result<Option<(usize, Block)>, String> {
        let mut recycled = std::mem::take(&mut worker.recycled);
        let next = self
            .pieces
            .as_ref()
            .map(|pieces| pieces.next(bound, &mut worker.handle, std::mem::take(&mut recycled)));
        let place = match next {
            Some(Next::Rows(block)) => return Ok(Some((0, block))),
            Some(Next::End) => return Ok(None),
            Some(Next::InOrder(offset, rows)) => Some((offset, rows)),
            None => None,
        };
        let mut cutter = self.cutter.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = place {
            cutter.resume(bound, place)?;
        }
        cutter.next_block(bound, recycled)
    }

    /// Copies the batch into the output.
    ///
    /// # Safety
    ///
    /// `output` has a vector for each of the scan's outputs, of the type it was bound with.
    unsafe fn emit(
        &self,
        bound: &Bound,
        batch: Option<&Batch>,
        file: usize,
        output: duckdb::duckdb_data_chunk,
    ) -> Result<(), String> {
        for (index, wanted) in self.outputs.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe {
                let vector = duckdb::duckdb_data_chunk_get_vector(output, index as u64);
                match (wanted, batch) {
                    (Some(Output::Column(column)), Some(batch)) => {
                        emit(&batch.columns()[*column], vector)?
                    }
                    (Some(Output::Annotations), Some(batch)) => {
                        if let Some(annotations) = batch.annotations() {
                            emit(annotations, vector)?;
                        }
                    }
                    (Some(Output::Filename), _) => constant(vector, Some(&bound.files[file])),
                    (Some(Output::Partition(name)), _) => {
                        let mut found = partitions(&bound.files[file]);
                        let value = found.find(|(known, _)| known == name).map(|(_, value)| value);
                        constant(vector, value);
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

impl Cutter {
    /// Goes on in the first file at a place that has so many rows before it, unless somebody
    /// has done so already.
    fn resume(&mut self, bound: &Bound, place: (u64, u64)) -> Result<(), String> {
        if self.next_file > 0 {
            return Ok(());
        }
        let source: Box<dyn Read + Send> =
            Box::new(bound.origin.open_at(&bound.files[0], place.0)?);
        let limits = bound.options.limits;
        let splitter = Splitter::resumed(source, BLOCK_SIZE, Format::Values, limits, place);
        self.current = Some((0, splitter));
        self.next_file = 1;
        Ok(())
    }

    fn next_block(
        &mut self,
        bound: &Bound,
        mut recycled: Vec<u8>,
    ) -> Result<Option<(usize, Block)>, String> {
        loop {
            if self.current.is_none() {
                let Some(path) = bound.files.get(self.next_file) else { return Ok(None) };
                let source = bound.origin.open(path, bound.options.compression)?;
                let options = &bound.options;
                let splitter = Splitter::new(source, BLOCK_SIZE, options.format, options.limits);
                self.current = Some((self.next_file, splitter));
                self.next_file += 1;
            }
            let Some((file, splitter)) = &mut self.current else { continue };
            match splitter.next_block(recycled) {
                Ok(Some(block)) => return Ok(Some((*file, block))),
                Ok(None) => {
                    recycled = Vec::new();
                    self.current = None;
                }
                Err(error) => {
                    return Err(locate(&bound.files[*file], splitter.row_count(), &error));
                }
            }
        }
    }
}

/// Makes `vector` hold one value for all rows.
///
/// # Safety
///
/// `vector` is a vector of texts.
unsafe fn constant(vector: duckdb::duckdb_vector, text: Option<&str>) {
    // SAFETY: the caller's promise; the value is copied and released.
    unsafe {
        let mut value = match text {
            Some(text) => duckdb::duckdb_create_varchar(c_string(text).as_ptr()),
            None => duckdb::duckdb_create_null_value(),
        };
        duckdb::duckdb_vector_reference_value(vector, value);
        duckdb::duckdb_destroy_value(&mut value);
    }
}

/// Rows of a full vector.
fn vector_size() -> usize {
    // SAFETY: the function takes and touches nothing.
    (unsafe { duckdb::duckdb_vector_size() }) as usize
}
