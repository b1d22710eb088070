//! Converts documents, line by line, to columns.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, StructArray};
use arrow_schema::DataType;
use folio_compute::array::map_of;
use folio_compute::cast::json::from_json;
use folio_compute::{BATCH_SIZE, Batch, Error as QueryError, Result as QueryResult};
use folio_engine::source::{Comparison, Condition, Paths, Relation, ScanRequest, Test, Twin};
use folio_json::{
    Field, PathColumns, PathCondition, PathField, PathTest, Step, Tree, Type, at_path, double,
    integer, leading_id,
};
use folio_types::{Column, ColumnType, ErrorCode, TableSchema, Value};

use crate::json::{members, unquote};

/// The column of whole documents.
pub(crate) use folio_engine::source::DOCUMENT;

/// Members with longer names do not become columns.
const NAME_SIZE_MAX: usize = 256;

/// A batch ends after this many bytes of lines, even if it has no rows: statements check their limits
/// between batches.
const BATCH_BYTES: usize = 16 << 20;

/// The columns of a table of documents, as far as SQL can name them: a key and the whole document
/// if wanted, and a column for each member. Where a member differs from another by case only, it has
/// a column with a number (`a_1`), or none if there is the whole document. Nested values are written
/// as JSON, and read by paths. Columns named in `as_json` are JSON in any case.
pub(crate) fn schema_of(
    types: &Tree,
    table: &str,
    key: Option<&str>,
    document: Option<&str>,
    as_json: &[&str],
) -> (TableSchema, Paths) {
    let (mut columns, mut nested, mut twins): (Vec<Column>, Vec<_>, Vec<_>) = Default::default();
    columns.extend(key.map(|key| Column::required(key, ColumnType::Text)));
    let mut fields = types.fields();
    fields.retain(|Field { name, .. }| {
        let is_own = [key, document].contains(&Some(name));
        let is_named = !name.is_empty() || document.is_none();
        is_named && name.len() < NAME_SIZE_MAX && !is_own
    });
    let mut names: HashSet<String> = fields.iter().map(|field| field.name.to_lowercase()).collect();
    let own = [key, document].into_iter().flatten();
    let mut taken: HashSet<String> = own.map(str::to_lowercase).collect();
    for Field { mut name, field_type } in fields {
        let mut ty = field_type.to_column();
        if as_json.iter().any(|json| json.eq_ignore_ascii_case(&name)) {
            ty = ColumnType::Json;
        }
        let is_twin = !taken.insert(name.to_lowercase());
        if is_twin && document.is_some() {
            twins.push(Twin { name, column: None });
            continue;
        }
        if ty.is_nested() {
            nested.push((columns.len(), std::mem::replace(&mut ty, ColumnType::Json)));
        }
        if is_twin || name.is_empty() {
            // An empty name becomes that of its place, as in CSV.
            let plain = match &*name {
                "" => format!("column_{}", columns.len() + 1),
                name => name.to_owned(),
            };
            let is_free = !is_twin && names.insert(plain.clone());
            let column = if is_free { plain } else { numbered(&plain, &mut names) };
            twins.push(Twin { name, column: Some(column.clone()) });
            name = column;
        }
        columns.push(Column::optional(name, ty));
    }
    columns.extend(document.map(|document| Column::optional(document, ColumnType::Json)));
    let primary_key = if key.is_some() { vec![0] } else { Vec::new() };
    let schema = TableSchema::new(table, columns, primary_key);
    let paths = Paths::new(&schema, nested).with_twins(twins);
    (schema, paths)
}

/// The name with the first number that makes it a new one.
fn numbered(name: &str, names: &mut HashSet<String>) -> String {
    let mut number = 1;
    loop {
        let numbered = format!("{name}_{number}");
        if names.insert(numbered.to_lowercase()) {
            return numbered;
        }
        number += 1;
    }
}

/// A value that does not fit its column: the columns were found in other documents.
pub(crate) struct Changed;

/// Columns under construction.
pub(crate) struct LineColumns {
    columns: PathColumns,
    /// The types of the columns.
    types: Vec<ColumnType>,
}

impl LineColumns {
    /// Columns of a relation, or paths below them. Lines that fail a condition which [`checks`] says
    /// is tested are left out. `keys_are_distinct` promises that no object in the lines has a key twice.
    pub(crate) fn new(
        relation: &Relation,
        columns: &[usize],
        conditions: &[Condition],
        keys_are_distinct: bool,
    ) -> Self {
        let field = |column: &usize| {
            let (path, field_type) = path_of(relation, *column);
            PathField { path, field_type }
        };
        let fields: Vec<PathField> = columns.iter().map(field).collect();
        let conditions = conditions.iter().filter_map(|condition| tested(relation, condition));
        let conditions: Vec<PathCondition> = conditions.collect();
        let is_partial = |field: usize| relation.is_partial(columns[field]);
        Self {
            columns: PathColumns::new(&fields, &conditions, keys_are_distinct)
                .with_partial(is_partial),
            types: columns.iter().map(|column| relation.column_type(*column).clone()).collect(),
        }
    }

    pub(crate) fn row_count(&self) -> usize {
        self.columns.row_count()
    }

    /// Appends one document, if it meets the conditions.
    pub(crate) fn push(&mut self, line: &[u8]) -> Result<(), Changed> {
        self.columns.push(line).map(drop).map_err(|_| Changed)
    }

    /// Returns the rows so far, and starts again.
    pub(crate) fn finish(&mut self) -> Batch {
        let row_count = self.columns.row_count();
        let columns = self.columns.finish().into_iter().zip(&self.types);
        Batch::new(columns.map(|(column, ty)| typed(column, ty)).collect(), row_count)
    }
}

/// Columns of the lines of a scan, in batches.
///
/// If a statement wants few rows, the first batch has no more; if those do not suffice, the next have
/// more and more.
pub(crate) struct LineBatches {
    columns: LineColumns,
    /// Rows of this batch.
    batch_size: usize,
    /// Bytes of its lines, also of those that do not meet the conditions.
    size: usize,
}

impl LineBatches {
    /// Columns as a request wants them, of lines that meet the conditions: texts that may come as they
    /// are stored are dictionaries where there are few.
    pub(crate) fn new(
        relation: &Relation,
        request: &ScanRequest,
        conditions: &[Condition],
        keys_are_distinct: bool,
    ) -> Self {
        let mut own =
            Self::of(LineColumns::new(relation, &request.columns, conditions, keys_are_distinct));
        if !request.as_stored.is_empty() {
            let is_wanted = |field: usize| request.as_stored.contains(&request.columns[field]);
            own.columns.columns = own.columns.columns.with_few_texts(is_wanted);
        }
        if let Some(wanted) = request.wanted {
            own.batch_size = (wanted as usize).clamp(1, BATCH_SIZE);
        }
        own
    }

    /// Batches of usual size.
    pub(crate) fn of(columns: LineColumns) -> Self {
        Self { columns, batch_size: BATCH_SIZE, size: 0 }
    }

    /// Whether no more lines belong to this batch.
    pub(crate) fn is_full(&self) -> bool {
        self.columns.row_count() >= self.batch_size || self.size >= BATCH_BYTES
    }

    /// Appends one document, if it meets the conditions.
    pub(crate) fn push(&mut self, line: &[u8]) -> Result<(), Changed> {
        self.size += line.len();
        self.columns.push(line)
    }

    /// Returns the batch, and starts the next; `None` if there was no line.
    pub(crate) fn finish(&mut self) -> Option<Batch> {
        self.batch_size = (self.batch_size * 2).min(BATCH_SIZE);
        (std::mem::take(&mut self.size) > 0).then(|| self.columns.finish())
    }
}

/// Whether [`LineColumns`] leave out every line that fails a condition.
pub(crate) fn checks(relation: &Relation, condition: &Condition) -> bool {
    tested(relation, condition).is_some()
}

/// The condition as lines are tested; `None` if the engine has to.
pub(crate) fn tested(relation: &Relation, condition: &Condition) -> Option<PathCondition> {
    let (path, field_type) = path_of(relation, condition.column);
    let test = match &condition.test {
        // It is true for null, which no line is tested for.
        Test::Compare(Comparison::Distinct, _) => return None,
        Test::Compare(comparison, value) => PathTest::Compare(*comparison, value.clone()),
        Test::OneOf(values) => PathTest::OneOf(values.clone()),
    };
    test.suits(&field_type).then_some(PathCondition { path, field_type, test })
}

/// The path and the type of a column. The whole document has a path without names.
pub(crate) fn path_of(relation: &Relation, column: usize) -> (Vec<String>, Type) {
    let path = match relation.paths.get(column) {
        Some(path) => path.path.clone(),
        None if relation.document_column() == Some(column) => Vec::new(),
        None => vec![relation.paths.member_of(&relation.schema.columns[column].name).to_owned()],
    };
    (path, Type::of_column(relation.column_type(column)))
}

/// Gives fields inside an array the names and no other properties of a column's type.
fn typed(array: ArrayRef, ty: &ColumnType) -> ArrayRef {
    match (ty, ty.to_arrow()) {
        (ColumnType::List(item), DataType::List(field)) => {
            let (_, offsets, items, nulls) = array.as_list::<i32>().clone().into_parts();
            let items = typed(items, item);
            // Texts may be a dictionary.
            let field = field.as_ref().clone().with_data_type(items.data_type().clone());
            Arc::new(ListArray::new(Arc::new(field), offsets, items, nulls))
        }
        (ColumnType::Struct(members), DataType::Struct(fields)) => {
            let count = array.len();
            let (_, columns, nulls) = array.as_struct().clone().into_parts();
            let columns = columns.into_iter().zip(members);
            let columns = columns.map(|(column, (_, ty))| typed(column, ty)).collect();
            let made = StructArray::try_new_with_length(fields, columns, nulls, count);
            Arc::new(made.expect("only properties of the fields differ"))
        }
        (ColumnType::Map(value), _) => {
            let map = array.as_map();
            let (offsets, nulls) = (map.offsets().clone(), map.nulls().cloned());
            let columns = vec![map.keys().clone(), typed(map.values().clone(), value)];
            map_of(ty, offsets, columns, nulls).expect("only properties of the fields differ")
        }
        _ => array,
    }
}

/// The values of some columns of a document; `None` where a column does not hold one. The whole
/// document is the line without white space around it, as a scan reads it.
pub(crate) fn values_of(
    line: &str,
    relation: &Relation,
    columns: &[usize],
) -> QueryResult<Option<Vec<Value>>> {
    let line = line.trim_ascii();
    if columns.iter().all(|column| relation.document_column() == Some(*column)) {
        return Ok(Some(vec![Value::Text(line.to_owned()); columns.len()]));
    }
    if let ([column], Some(id)) = (columns, leading_id(line.as_bytes()))
        && relation.schema.primary_key == [*column]
    {
        return Ok(std::str::from_utf8(id).ok().map(|id| vec![Value::Text(id.to_owned())]));
    }
    let members = members(line).map_err(|error| {
        QueryError::new(ErrorCode::Syntax, format!("a document is not JSON: {error}"))
    })?;
    let value = |column: &usize| {
        let (name, below) = match relation.paths.get(*column) {
            Some(path) => (&path.path[0], &path.path[1..]),
            None => (&relation.schema.columns[*column].name, &[][..]),
        };
        if name == DOCUMENT {
            return Some(Value::Text(line.to_owned()));
        }
        let Some((_, json)) = members.iter().rev().find(|(member, _)| *member == **name) else {
            return Some(Value::Null);
        };
        let steps: Vec<Step> = below.iter().cloned().map(Step::Member).collect();
        let found = if steps.is_empty() { Some(&**json) } else { at_path(json, &steps) };
        found.map_or(Some(Value::Null), |json| value_of(json, relation.column_type(*column)))
    };
    Ok(columns.iter().map(value).collect())
}

/// Converts a JSON value to a type that holds it.
fn value_of(json: &str, ty: &ColumnType) -> Option<Value> {
    if json == "null" {
        return Some(Value::Null);
    }
    match ty {
        ColumnType::Boolean => match json {
            "true" => Some(Value::Boolean(true)),
            "false" => Some(Value::Boolean(false)),
            _ => None,
        },
        ColumnType::Int64 => integer(json.as_bytes()).map(Value::Integer),
        ColumnType::Float64 => double(json.as_bytes()).map(Value::Float),
        ColumnType::Text => unquote(json).map(|text| Value::Text(text.into_owned())),
        ty if ty.is_nested() => from_json(json, ty),
        _ => Some(Value::Text(json.to_owned())),
    }
}
