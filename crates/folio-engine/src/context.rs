//! What every operator of one run shares: the source, the parameters, the time.

use std::any::{Any, TypeId};
use std::cell::OnceCell;
use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use arrow_array::builder::FixedSizeBinaryBuilder;
use arrow_array::{ArrayRef, Float64Array};
use folio_compute::{Batch, Error, Result};
use folio_types::Value;

use crate::limits::{Held, Limits};
use crate::source::Source;
use crate::times::Times;

/// Bytes a sort or a grouping holds before it spills, unless the session sets a limit.
pub const WORK_MEMORY: usize = 256 << 20;

/// The context of a run. Cheap to clone: all but the outer values is shared.
#[derive(Clone)]
pub struct Context {
    pub(crate) shared: Arc<Shared>,
    /// Values of the outer query, by slot.
    pub(crate) outer: Vec<ArrayRef>,
}

/// What constants are computed from: the parameters, or the whole context if more is needed.
/// A statement about one row that needs only its parameters never makes a context.
pub trait Parameters {
    /// The value of a parameter, from 0.
    fn parameter(&self, index: usize) -> Result<&Value>;
    /// The whole context.
    fn context(&self) -> &Context;
}

impl Parameters for Context {
    fn parameter(&self, index: usize) -> Result<&Value> {
        find_parameter(&self.shared.parameters, index)
    }

    fn context(&self) -> &Context {
        self
    }
}

/// A context that exists, or is made when it is first asked for.
pub(crate) enum OnDemand<'r> {
    Ready(&'r Context),
    Later(&'r dyn Fn() -> Context, OnceCell<Context>),
}

impl<'r> OnDemand<'r> {
    pub(crate) fn later(make: &'r dyn Fn() -> Context) -> Self {
        Self::Later(make, OnceCell::new())
    }

    pub(crate) fn get(&self) -> &Context {
        match self {
            Self::Ready(context) => context,
            Self::Later(make, made) => made.get_or_init(make),
        }
    }
}

/// Looks up a parameter, or reports that it is missing.
pub(crate) fn find_parameter(parameters: &[Value], index: usize) -> Result<&Value> {
    parameters.get(index).ok_or_else(|| {
        let (wanted, given) = (index + 1, parameters.len());
        Error::invalid(format!("parameter {wanted} has no value: {given} were given"))
            .help("give a value for each parameter")
    })
}

/// A working table, and the memory that it holds until the last reader is gone.
#[derive(Clone, Default)]
pub(crate) struct WorkTable {
    pub(crate) rows: Vec<Batch>,
    _held: Arc<Held>,
}

/// What all parts of a run share.
pub(crate) struct Shared {
    source: Option<Arc<dyn Source>>,
    parameters: Vec<Value>,
    /// Rows of recursive queries, of followed keys and of named sets, by number.
    work_tables: Mutex<HashMap<usize, WorkTable>>,
    /// State that parts of the run share, by type and number.
    kept: Mutex<HashMap<(TypeId, usize), Arc<dyn Any + Send + Sync>>>,
    limits: Limits,
    /// Memory that the run holds to its end.
    gathered: Mutex<Held>,
    /// Bytes an operator holds before it spills.
    work_memory: usize,
    threads: usize,
    /// Times of the operators, in a run that is timed.
    times: Option<Times>,
    /// Microseconds since 1970, the same for the whole statement.
    pub(crate) now: i64,
    /// Seeded when first drawn from, which most statements never do.
    random: OnceLock<AtomicU64>,
    /// 30 random bits that all ordered UUIDs of the statement share.
    drawn: OnceLock<u64>,
    /// Number of ordered UUIDs so far.
    ordered: AtomicU64,
}

impl Context {
    /// A run over a source.
    #[must_use]
    pub fn new(source: Arc<dyn Source>, parameters: &[Value], limits: Limits) -> Self {
        Self::of(Some(source), parameters.to_vec(), limits)
    }

    /// The same run with another limit, in bytes, on what an operator holds before it spills.
    #[must_use]
    pub fn with_work_memory(mut self, size: usize) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            let part = shared.limits.memory().map_or(usize::MAX, |limit| limit / 4);
            shared.work_memory = size.min(part);
        }
        self
    }

    /// The same run with another number of threads for scans of large tables.
    #[must_use]
    pub fn with_threads(mut self, count: usize) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.threads = count;
        }
        self
    }

    /// Threads for scans of large tables.
    pub(crate) fn threads(&self) -> usize {
        self.shared.threads
    }

    /// Bytes an operator holds before it spills.
    pub(crate) fn work_memory(&self) -> usize {
        self.shared.work_memory
    }

    /// Whether an operator that holds `size` bytes has to spill: it has used up its part of the
    /// memory, or all operators together have used half of the statement's.
    pub(crate) fn is_full(&self, size: usize) -> bool {
        let part = self.shared.work_memory;
        size > part || (size > part / 8 && self.shared.limits.is_half_used())
    }

    /// The limits of the statement.
    pub(crate) fn limits(&self) -> &Limits {
        &self.shared.limits
    }

    /// A context without source and parameters, for constant expressions.
    pub fn detached() -> Self {
        Self::of(None, Vec::new(), Limits::default())
    }

    fn of(source: Option<Arc<dyn Source>>, parameters: Vec<Value>, limits: Limits) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = i64::try_from(now.as_micros()).unwrap_or(i64::MAX);
        let shared = Shared {
            source,
            parameters,
            work_tables: Mutex::default(),
            kept: Mutex::default(),
            limits,
            gathered: Mutex::default(),
            work_memory: WORK_MEMORY,
            threads: default_threads(),
            times: None,
            now,
            random: OnceLock::new(),
            drawn: OnceLock::new(),
            ordered: AtomicU64::new(0),
        };
        Self { shared: Arc::new(shared), outer: Vec::new() }
    }

    /// Sets the rows of a working table. `held` counts them.
    pub(crate) fn set_work_table(&self, number: usize, rows: Vec<Batch>, held: Held) {
        let table = WorkTable { rows, _held: Arc::new(held) };
        let mut tables = self.shared.work_tables.lock().unwrap_or_else(PoisonError::into_inner);
        tables.insert(number, table);
    }

    /// Counts memory that the run holds to its end.
    ///
    /// # Errors
    /// `memory_limit`.
    pub(crate) fn charge(&self, size: usize) -> Result<()> {
        let mut gathered = self.shared.gathered.lock().unwrap_or_else(PoisonError::into_inner);
        let size = gathered.size() + size;
        gathered.charge(self.limits(), size)
    }

    /// The rows of a working table; none if it is not set.
    pub(crate) fn work_table(&self, number: usize) -> WorkTable {
        let tables = self.shared.work_tables.lock().unwrap_or_else(PoisonError::into_inner);
        tables.get(&number).cloned().unwrap_or_default()
    }

    /// State that parts of the run share until its end: one value for each type and number.
    pub(crate) fn kept<T: Any + Send + Sync + Default>(&self, number: usize) -> Arc<T> {
        let mut kept = self.shared.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept.entry((TypeId::of::<T>(), number)).or_insert_with(|| Arc::<T>::default());
        Arc::clone(known).downcast().expect("it is kept by its type")
    }

    /// The same run inside a subquery.
    pub(crate) fn with_outer(&self, outer: Vec<ArrayRef>) -> Self {
        Self { shared: Arc::clone(&self.shared), outer }
    }

    pub(crate) fn source(&self) -> Result<&Arc<dyn Source>> {
        self.shared.source.as_ref().ok_or_else(|| Error::invalid("there is no source to read from"))
    }

    /// Fails if the statement has to end.
    pub(crate) fn check(&self) -> Result<()> {
        self.shared.limits.check()
    }

    /// Random numbers from 0 to 1.
    #[allow(clippy::cast_precision_loss, reason = "53 bits are what a float holds")]
    pub(crate) fn random(&self, count: usize) -> Result<ArrayRef> {
        let numbers = (0..count).map(|_| (self.next_random() >> 11) as f64 / (1u64 << 53) as f64);
        Ok(Arc::new(Float64Array::from_iter_values(numbers)))
    }

    /// Random UUIDs (version 4).
    pub(crate) fn random_uuids(&self, count: usize) -> Result<ArrayRef> {
        uuids(count, || {
            let high = self.next_random() & !0xF000 | 0x4000;
            let low = self.next_random() & !(0b11 << 62) | 1 << 63;
            u128::from(high) << 64 | u128::from(low)
        })
    }

    /// Milliseconds since 1970, the same for the whole statement.
    pub(crate) fn millisecond(&self) -> u64 {
        self.shared.now.max(0).unsigned_abs() / 1000
    }

    /// UUIDs of version 7, in ascending order.
    pub(crate) fn ordered_uuids(&self, count: usize) -> Result<ArrayRef> {
        uuids(count, || self.ordered_uuid())
    }

    /// A UUID of version 7 (RFC 9562): milliseconds since 1970, the fraction of the
    /// millisecond in 12 bits, 30 bits drawn for the statement, a counter within it. UUIDs of
    /// one statement differ only at the end, so pages store their common prefix once.
    pub(crate) fn ordered_uuid(&self) -> u128 {
        let now = self.shared.now.max(0).unsigned_abs();
        let (millisecond, fraction) = (self.millisecond(), (now % 1000) * 4096 / 1000);
        let counter = self.shared.ordered.fetch_add(1, Ordering::Relaxed) & 0xFFFF_FFFF;
        let drawn = *self.shared.drawn.get_or_init(|| self.next_random() >> 34);
        let low = 1 << 63 | drawn << 32 | counter;
        let high = millisecond << 16 | 7 << 12 | fraction;
        u128::from(high) << 64 | u128::from(low)
    }

    /// The parameters of this run.
    pub(crate) fn parameters(&self) -> &[Value] {
        &self.shared.parameters
    }

    /// A new run over the same source with more parameters. It copies the working tables,
    /// limits and settings, but no shared state.
    pub(crate) fn with_more_parameters(&self, more: &[Value]) -> Self {
        let parameters = [self.parameters(), more].concat();
        let (source, limits) = (self.shared.source.clone(), self.shared.limits.clone());
        let mut new = Self::of(source, parameters, limits);
        let lock = |tables: &Mutex<HashMap<usize, WorkTable>>| {
            tables.lock().unwrap_or_else(PoisonError::into_inner).clone()
        };
        if let Some(shared) = Arc::get_mut(&mut new.shared) {
            shared.work_tables = Mutex::new(lock(&self.shared.work_tables));
            (shared.work_memory, shared.threads) = (self.work_memory(), self.threads());
        }
        new
    }

    /// A new run like this one, whose operators are timed.
    pub(crate) fn with_times(&self) -> Self {
        let mut new = self.with_more_parameters(&[]);
        if let Some(shared) = Arc::get_mut(&mut new.shared) {
            shared.times = Some(Times::default());
        }
        new
    }

    /// The times of the operators, if they are timed.
    #[inline]
    pub(crate) fn times(&self) -> Option<&Times> {
        self.shared.times.as_ref()
    }

    /// SplitMix64 (Steele, Lea, Flood 2014).
    fn next_random(&self) -> u64 {
        const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
        // Statements can begin within the same microsecond, in other processes too.
        let seed = || AtomicU64::new(RandomState::new().hash_one(self.shared.now));
        let random = self.shared.random.get_or_init(seed);
        let mut state = random.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        state ^ (state >> 31)
    }
}

fn uuids(count: usize, make: impl Fn() -> u128) -> Result<ArrayRef> {
    let mut builder = FixedSizeBinaryBuilder::with_capacity(count, 16);
    (0..count).try_for_each(|_| builder.append_value(make().to_be_bytes()))?;
    Ok(Arc::new(builder.finish()))
}

/// Threads of a statement unless the session sets them: one per processor.
fn default_threads() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    *COUNT.get_or_init(|| thread::available_parallelism().map_or(1, usize::from))
}
