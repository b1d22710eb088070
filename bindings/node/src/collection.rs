//! A collection: each operation in a synchronous form and on another thread.

use folio::{Collection, Documents, IndexOptions, Parameters, Progress, Result, Scan};
use napi::bindgen_prelude::AsyncTask;
use napi::{Env, Unknown};
use napi_derive::napi;

use crate::batch::{NativeBatch, apply, put_all};
use crate::error::thrown;
use crate::glance::within;
use crate::lines::{Lines, push_document};
use crate::lookup;
use crate::parameter::{Given, parameters};
use crate::partition::NativePartitionedWriter;
use crate::progress::{NativeProgress, goes_on};
use crate::report::{
    NativeCheckReport, NativeCompactReport, NativeCounts, NativeExportReport, NativeImportReport,
    NativeIndexCheck, NativeIndexStats, NativeStats,
};
use crate::scan::NativeScan;
use crate::shape::NativeShapes;
use crate::task::{Work, promise, promise_write};
use crate::text::Text;
use crate::transfer::{NativeExportOptions, NativeImportOptions, export_file, import_file};

/// How the text of one document is wanted.
#[napi]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `_id` first, numbers unchanged.
    Document,
    /// `_id` first, integers beyond 2^53 - 1 marked.
    Exact,
    /// The line unchanged.
    Raw,
}

/// The approximate size of the documents that a preview reads.
const GLANCE_SIZE: usize = 64 << 10;

/// The options of a scan.
struct Wanted {
    fields: Option<Vec<String>>,
    limit: Option<f64>,
    condition: Option<String>,
    params: Result<Parameters>,
}

impl Wanted {
    fn scan(self, collection: &Collection) -> Result<Documents> {
        let mut scan = Scan::new();
        if let Some(fields) = self.fields {
            scan = scan.fields(fields);
        }
        if let Some(limit) = self.limit {
            scan = scan.limit(limit as u64);
        }
        match self.condition {
            Some(condition) => collection.scan_where(&condition, &self.params?, scan),
            None => collection.scan(scan),
        }
    }
}

/// A collection of an open database.
#[napi]
pub struct NativeCollection {
    collection: Collection,
}

impl NativeCollection {
    pub(crate) fn new(collection: Collection) -> Self {
        Self { collection }
    }

    /// A promise of the job's result.
    fn promise<T>(
        &self,
        job: impl FnOnce(&Collection) -> Result<T> + Send + 'static,
    ) -> AsyncTask<Work<T>>
    where
        T: napi::bindgen_prelude::ToNapiValue + napi::bindgen_prelude::TypeName + Send + 'static,
    {
        let collection = self.collection.clone();
        promise(move || job(&collection))
    }

    /// The same, for a job that writes.
    fn promise_write<T>(
        &self,
        job: impl FnOnce(&Collection) -> Result<T> + Send + 'static,
    ) -> AsyncTask<Work<T>>
    where
        T: napi::bindgen_prelude::ToNapiValue + napi::bindgen_prelude::TypeName + Send + 'static,
    {
        let collection = self.collection.clone();
        promise_write(self.collection.name(), move || job(&collection))
    }
}

#[napi]
impl NativeCollection {
    /// The collection's name.
    #[napi(getter)]
    pub fn name(&self) -> String {
        self.collection.name().to_owned()
    }

    /// Whether the handle takes writes.
    #[napi(getter)]
    pub fn is_writable(&self) -> bool {
        self.collection.is_writable()
    }

    /// Whether the collection is on disk yet.
    #[napi(getter)]
    pub fn is_created(&self) -> bool {
        self.collection.is_created()
    }

    /// Stores JSON text; `true` when the id was new.
    #[napi]
    pub fn put(&self, id: String, json: String) -> napi::Result<bool> {
        put(&self.collection, &id, &json).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn put_async(&self, id: String, json: String) -> AsyncTask<Work<bool>> {
        self.promise_write(move |collection| put(collection, &id, &json))
    }

    /// The fastest way to the text of a document, `_id` first: a function of the id that returns
    /// undefined if there is none. Documents are marked if there are shapes.
    #[napi]
    pub fn lookup<'env>(
        &self,
        env: &'env Env,
        shapes: Option<&NativeShapes>,
    ) -> napi::Result<Unknown<'env>> {
        lookup::function(env, self.collection.clone(), shapes.map(NativeShapes::marker))
    }

    /// The text of a document; null when there is none.
    #[napi]
    pub fn get(&self, id: String, form: Form) -> napi::Result<Option<Text>> {
        get(&self.collection, &id, form).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn get_async(&self, id: String, form: Form) -> AsyncTask<Work<Option<Text>>> {
        self.promise(move |collection| get(collection, &id, form))
    }

    /// Documents in the order of the ids, to be taken in batches.
    #[napi]
    pub fn fetch(&self, ids: Vec<String>) -> napi::Result<NativeScan> {
        self.collection.get_many(&ids).map(NativeScan::of_fetched).map_err(thrown)
    }

    /// Documents as one JSON array in the order of the ids, null where there is none.
    #[napi]
    pub fn get_many(&self, ids: Vec<String>, exact: bool) -> napi::Result<Text> {
        get_many(&self.collection, &ids, exact).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn get_many_async(&self, ids: Vec<String>, exact: bool) -> AsyncTask<Work<Text>> {
        self.promise(move |collection| get_many(collection, &ids, exact))
    }

    /// Merges a patch into a document; the result, or null when there is none.
    #[napi]
    pub fn patch(&self, id: String, json: String) -> napi::Result<Option<Text>> {
        patch(&self.collection, &id, &json).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn patch_async(&self, id: String, json: String) -> AsyncTask<Work<Option<Text>>> {
        self.promise_write(move |collection| patch(collection, &id, &json))
    }

    /// Stores JSON text under the id it carries or a new one; the id.
    #[napi]
    pub fn add(&self, json: String) -> napi::Result<String> {
        self.collection.add_raw(&json).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn add_async(&self, json: String) -> AsyncTask<Work<String>> {
        self.promise_write(move |collection| collection.add_raw(&json))
    }

    /// Deletes a document; its text, or null when there is none.
    #[napi]
    pub fn pop(&self, id: String) -> napi::Result<Option<Text>> {
        pop(&self.collection, &id).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn pop_async(&self, id: String) -> AsyncTask<Work<Option<Text>>> {
        self.promise_write(move |collection| pop(collection, &id))
    }

    /// Deletes all documents; how many.
    #[napi]
    pub fn clear(&self) -> napi::Result<f64> {
        clear(&self.collection).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn clear_async(&self) -> AsyncTask<Work<f64>> {
        self.promise_write(clear)
    }

    /// Merges a patch into the documents for which a condition holds; how many.
    #[napi]
    pub fn update(
        &self,
        condition: String,
        json: String,
        params: Option<Given>,
    ) -> napi::Result<f64> {
        update(&self.collection, &condition, &json, parameters(params, ':')).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn update_async(
        &self,
        condition: String,
        json: String,
        params: Option<Given>,
    ) -> AsyncTask<Work<f64>> {
        let params = parameters(params, ':');
        self.promise_write(move |collection| update(collection, &condition, &json, params))
    }

    /// The lines of the file that are not documents, a sentence each.
    #[napi]
    pub fn broken_lines(&self) -> napi::Result<Vec<String>> {
        let broken = self.collection.broken_lines().map_err(thrown)?;
        Ok(broken.into_iter().map(|notice| notice.0).collect())
    }

    /// Deletes a document; whether there was one.
    #[napi]
    pub fn delete(&self, id: String) -> napi::Result<bool> {
        self.collection.delete(&id).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn delete_async(&self, id: String) -> AsyncTask<Work<bool>> {
        self.promise_write(move |collection| collection.delete(&id))
    }

    /// Whether there is a document.
    #[napi]
    pub fn has(&self, id: String) -> napi::Result<bool> {
        self.collection.exists(&id).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn has_async(&self, id: String) -> AsyncTask<Work<bool>> {
        self.promise(move |collection| collection.exists(&id))
    }

    /// How many documents there are.
    #[napi]
    pub fn count(&self) -> napi::Result<f64> {
        count(&self.collection).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn count_async(&self) -> AsyncTask<Work<f64>> {
        self.promise(count)
    }

    /// Begins a scan.
    #[napi]
    pub fn scan(
        &self,
        fields: Option<Vec<String>>,
        limit: Option<f64>,
        exact: bool,
        condition: Option<String>,
        params: Option<Given>,
    ) -> napi::Result<NativeScan> {
        let wanted = Wanted { fields, limit, condition, params: parameters(params, ':') };
        let documents = wanted.scan(&self.collection).map_err(thrown)?;
        Ok(NativeScan::new(documents, exact))
    }

    /// The first documents of a scan as JSON arrays, if they come within this time: none,
    /// one with all of them, or two where there are more than a glance takes.
    #[napi]
    pub fn glance(
        &self,
        fields: Option<Vec<String>>,
        limit: f64,
        exact: bool,
        condition: Option<String>,
        params: Option<Given>,
        wait_ms: u32,
    ) -> napi::Result<Option<Vec<Text>>> {
        let (collection, params) = (self.collection.clone(), parameters(params, ':'));
        let first = within(wait_ms, move || {
            let wanted = Wanted { fields, limit: Some(limit), condition, params };
            let mut lines = Lines::of_scan(wanted.scan(&collection)?);
            let mut next = |size| lines.next_array(size, exact).transpose();
            next(GLANCE_SIZE).into_iter().chain(next(1)).collect::<Result<Vec<_>>>()
        });
        first.transpose().map_err(thrown)
    }

    /// Begins an atomic batch.
    #[napi]
    pub fn batch(&self, id_field: Option<String>) -> napi::Result<NativeBatch> {
        NativeBatch::begin(&self.collection, id_field).map_err(thrown)
    }

    /// Stores collected changes as one batch; what has no text is deleted.
    #[napi]
    pub fn apply(
        &self,
        ids: Vec<String>,
        texts: Vec<Option<String>>,
    ) -> napi::Result<NativeCounts> {
        apply(&self.collection, &ids, &texts).map(Into::into).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn apply_async(
        &self,
        ids: Vec<String>,
        texts: Vec<Option<String>>,
    ) -> AsyncTask<Work<NativeCounts>> {
        self.promise_write(move |collection| apply(collection, &ids, &texts).map(Into::into))
    }

    /// Stores the documents of several arrays as one batch, on another thread.
    #[napi]
    pub fn put_arrays_async(
        &self,
        arrays: Vec<String>,
        id_field: Option<String>,
    ) -> AsyncTask<Work<NativeCounts>> {
        self.promise_write(move |collection| {
            put_all(collection, arrays, id_field.as_deref()).map(Into::into)
        })
    }

    /// Makes every write so far durable.
    #[napi]
    pub fn flush(&self) -> napi::Result<()> {
        self.collection.flush().map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn flush_async(&self) -> AsyncTask<Work<()>> {
        self.promise_write(Collection::flush)
    }

    /// Takes in what others have written.
    #[napi]
    pub fn refresh(&self) -> napi::Result<()> {
        self.collection.refresh().map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn refresh_async(&self) -> AsyncTask<Work<()>> {
        self.promise_write(Collection::refresh)
    }

    /// Rewrites the live documents.
    #[napi]
    pub fn compact(&self) -> napi::Result<NativeCompactReport> {
        compact(&self.collection, &mut goes_on).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn compact_async(&self, progress: &NativeProgress) -> AsyncTask<Work<NativeCompactReport>> {
        let mut callback = progress.callback();
        self.promise_write(move |collection| compact(collection, &mut callback))
    }

    /// Reads and compares everything.
    #[napi]
    pub fn check(&self) -> napi::Result<NativeCheckReport> {
        check(&self.collection, &mut goes_on).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn check_async(&self, progress: &NativeProgress) -> AsyncTask<Work<NativeCheckReport>> {
        let mut callback = progress.callback();
        self.promise(move |collection| check(collection, &mut callback))
    }

    /// Builds the index again.
    #[napi]
    pub fn reindex(&self) -> napi::Result<()> {
        reindex(&self.collection, &mut goes_on).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn reindex_async(&self, progress: &NativeProgress) -> AsyncTask<Work<()>> {
        let mut callback = progress.callback();
        self.promise_write(move |collection| reindex(collection, &mut callback))
    }

    /// Creates an index on fields.
    #[napi]
    pub fn create_index(
        &self,
        fields: Vec<String>,
        name: Option<String>,
        unique: bool,
        condition: Option<String>,
        using: String,
    ) -> napi::Result<String> {
        let options = IndexOptions { name, unique, condition, ..IndexOptions::default() };
        let options = options.using(&using).map_err(thrown)?;
        self.collection.create_index(&fields, &options, &mut goes_on).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn create_index_async(
        &self,
        progress: &NativeProgress,
        fields: Vec<String>,
        name: Option<String>,
        unique: bool,
        condition: Option<String>,
        using: String,
    ) -> AsyncTask<Work<String>> {
        let mut callback = progress.callback();
        self.promise_write(move |collection| {
            let options = IndexOptions { name, unique, condition, ..IndexOptions::default() };
            collection.create_index(&fields, &options.using(&using)?, &mut callback)
        })
    }

    /// The indexes on fields.
    #[napi]
    pub fn indexes(&self) -> napi::Result<Vec<NativeIndexStats>> {
        indexes(&self.collection).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn indexes_async(&self) -> AsyncTask<Work<Vec<NativeIndexStats>>> {
        self.promise(indexes)
    }

    /// Drops an index on fields.
    #[napi]
    pub fn drop_index(&self, name: String) -> napi::Result<()> {
        self.collection.drop_index(&name).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn drop_index_async(&self, name: String) -> AsyncTask<Work<()>> {
        self.promise_write(move |collection| collection.drop_index(&name))
    }

    /// Sets whether statements may name paths that no document has.
    #[napi]
    pub fn set_open_paths(&self, open: bool) -> napi::Result<()> {
        self.collection.set_open_paths(open).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn set_open_paths_async(&self, open: bool) -> AsyncTask<Work<()>> {
        self.promise_write(move |collection| collection.set_open_paths(open))
    }

    /// Whether statements may name paths that no document has.
    #[napi]
    pub fn has_open_paths(&self) -> napi::Result<bool> {
        self.collection.has_open_paths().map_err(thrown)
    }

    /// Compares an index on fields with the documents.
    #[napi]
    pub fn check_index(&self, name: String) -> napi::Result<NativeIndexCheck> {
        check_index(&self.collection, &name).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn check_index_async(&self, name: String) -> AsyncTask<Work<NativeIndexCheck>> {
        self.promise(move |collection| check_index(collection, &name))
    }

    /// Imports a file.
    #[napi(js_name = "import")]
    pub fn import_file(
        &self,
        path: String,
        options: NativeImportOptions,
    ) -> napi::Result<NativeImportReport> {
        let options = options.into_options()?;
        import_file(&self.collection, &path, &options, &mut goes_on).map_err(thrown)
    }

    /// The same on another thread.
    #[napi(js_name = "importAsync")]
    pub fn import_file_async(
        &self,
        progress: &NativeProgress,
        path: String,
        options: NativeImportOptions,
    ) -> napi::Result<AsyncTask<Work<NativeImportReport>>> {
        let (options, mut callback) = (options.into_options()?, progress.callback());
        Ok(self.promise_write(move |collection| {
            import_file(collection, &path, &options, &mut callback)
        }))
    }

    /// Exports to a file or directory.
    #[napi(js_name = "export")]
    pub fn export_file(
        &self,
        target: String,
        options: NativeExportOptions,
    ) -> napi::Result<NativeExportReport> {
        let options = options.into_options()?;
        export_file(&self.collection, &target, &options, &mut goes_on).map_err(thrown)
    }

    /// The same on another thread.
    #[napi(js_name = "exportAsync")]
    pub fn export_file_async(
        &self,
        progress: &NativeProgress,
        target: String,
        options: NativeExportOptions,
    ) -> napi::Result<AsyncTask<Work<NativeExportReport>>> {
        let (options, mut callback) = (options.into_options()?, progress.callback());
        Ok(self
            .promise(move |collection| export_file(collection, &target, &options, &mut callback)))
    }

    /// Where the documents end now.
    #[napi]
    pub fn position(&self) -> napi::Result<String> {
        position_of(&self.collection).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn position_async(&self) -> AsyncTask<Work<String>> {
        self.promise(position_of)
    }

    /// Begins a job in which many threads and processes write to the collection.
    #[napi]
    pub fn partitioned_writer(&self) -> napi::Result<NativePartitionedWriter> {
        self.collection.partitioned_writer().map(NativePartitionedWriter::new).map_err(thrown)
    }

    /// Sizes and counts.
    #[napi]
    pub fn stats(&self) -> napi::Result<NativeStats> {
        self.collection.stats().map(Into::into).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn stats_async(&self) -> AsyncTask<Work<NativeStats>> {
        self.promise(|collection| collection.stats().map(Into::into))
    }

    /// What is known of each path of the documents, as JSON objects.
    #[napi]
    pub fn fields(&self) -> napi::Result<Vec<String>> {
        fields_of(&self.collection).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn fields_async(&self) -> AsyncTask<Work<Vec<String>>> {
        self.promise(fields_of)
    }

    /// What was noticed since the last call.
    #[napi]
    pub fn take_notices(&self) -> Vec<String> {
        self.collection.take_notices().into_iter().map(|notice| notice.0).collect()
    }

    /// Flushes and closes the collection.
    #[napi]
    pub fn close(&self) -> napi::Result<()> {
        self.collection.close().map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn close_async(&self) -> AsyncTask<Work<()>> {
        self.promise_write(Collection::close)
    }
}

fn put(collection: &Collection, id: &str, json: &str) -> Result<bool> {
    Ok(collection.put_raw(id, json)? == folio::Put::Inserted)
}

fn get(collection: &Collection, id: &str, form: Form) -> Result<Option<Text>> {
    let Some(document) = collection.get(id)? else { return Ok(None) };
    if form == Form::Raw {
        return Ok(Some(Text::of(document.into_raw())));
    }
    let line = document.raw().as_bytes();
    let mut text = Vec::with_capacity(line.len());
    push_document(line, form == Form::Exact, &mut text)?;
    Ok(Some(Text(text)))
}

fn get_many(collection: &Collection, ids: &[String], exact: bool) -> Result<Text> {
    let mut lines = Lines::of_fetched(collection.get_many(ids)?);
    Ok(lines.next_array(usize::MAX, exact)?.unwrap_or_else(|| Text(b"[]".to_vec())))
}

fn patch(collection: &Collection, id: &str, json: &str) -> Result<Option<Text>> {
    let patch = serde_json::from_str(json)
        .map_err(|error| folio::Error::Invalid(format!("the patch is not valid JSON: {error}")))?;
    Ok(collection.patch(id, &patch)?.map(|document| Text::of(document.into_raw())))
}

fn pop(collection: &Collection, id: &str) -> Result<Option<Text>> {
    Ok(collection.pop(id)?.map(|document| Text::of(document.into_raw())))
}

fn clear(collection: &Collection) -> Result<f64> {
    Ok(collection.clear()? as f64)
}

fn update(
    collection: &Collection,
    condition: &str,
    json: &str,
    params: Result<Parameters>,
) -> Result<f64> {
    let patch = serde_json::from_str(json)
        .map_err(|error| folio::Error::Invalid(format!("the patch is not valid JSON: {error}")))?;
    Ok(collection.update(condition, &params?, &patch)? as f64)
}

fn count(collection: &Collection) -> Result<f64> {
    Ok(collection.count()? as f64)
}

fn compact(collection: &Collection, progress: Progress<'_>) -> Result<NativeCompactReport> {
    collection.compact(progress).map(Into::into)
}

fn check(collection: &Collection, progress: Progress<'_>) -> Result<NativeCheckReport> {
    collection.check(progress).map(Into::into)
}

fn indexes(collection: &Collection) -> Result<Vec<NativeIndexStats>> {
    Ok(collection.indexes()?.into_iter().map(Into::into).collect())
}

fn check_index(collection: &Collection, name: &str) -> Result<NativeIndexCheck> {
    collection.check_index(name).map(Into::into)
}

fn reindex(collection: &Collection, progress: Progress<'_>) -> Result<()> {
    collection.reindex(progress)
}

fn position_of(collection: &Collection) -> Result<String> {
    Ok(collection.position()?.to_string())
}

fn fields_of(collection: &Collection) -> Result<Vec<String>> {
    Ok(collection.fields()?.iter().map(folio::PathSummary::to_json).collect())
}
