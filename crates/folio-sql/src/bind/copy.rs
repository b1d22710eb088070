//! COPY: writes rows of a table or query to a file, and reads rows of a file into a table.
//!
//! COPY … FROM is an INSERT from a file. Columns are matched by name, missing ones take their
//! defaults, and every value is cast to its column's type. CSV cells stay text until then, so that
//! no text is mistaken for a number.

use std::sync::Arc;

use folio_compute::{Error, Result, Span};
use folio_engine::bound::{CopyTarget, Insert, OnConflict, Rules, Statement};
use folio_engine::expression::coerce::{cast_to, cast_to_if};
use folio_engine::expression::{Column, Expr, function};
use folio_engine::plan::logical::Plan;
use folio_engine::source::{CsvOptions, FileReading, Relation, RelationKind};
use folio_types::{Column as TableColumn, ColumnType, TableSchema, same_name};
use sqlparser::ast;

use super::change::column_of;
use super::from::listed;
use super::{Binder, Named, last_name};
use crate::place::Place;

/// The member of a document that holds its key.
const ID: &str = "_id";

/// The file of a COPY, with its options.
pub(super) struct CopyFile {
    path: String,
    /// Its name, which the source interprets.
    format: Option<String>,
    csv: CsvOptions,
}

impl CopyFile {
    pub(super) fn new(
        target: &ast::CopyTarget,
        options: &[ast::CopyOption],
        old_options: &[ast::CopyLegacyOption],
    ) -> Result<Self> {
        let ast::CopyTarget::File { filename } = target else {
            return Err(Error::unsupported("COPY reads and writes files only")
                .help("write the path of a file in quotes"));
        };
        let mut file = Self { path: filename.clone(), format: None, csv: CsvOptions::default() };
        for option in options {
            match option {
                ast::CopyOption::Format(name) => file.format = Some(name.value.clone()),
                ast::CopyOption::Header(header) => file.csv.has_header = *header,
                ast::CopyOption::Delimiter(character) => {
                    file.csv.delimiter = Some(delimiter_of(*character)?);
                }
                ast::CopyOption::Null(text) => file.csv.null.clone_from(text),
                other => return Err(unknown_option(other)),
            }
        }
        for option in old_options {
            file.take_old(option)?;
        }
        file.check_null()?;
        Ok(file)
    }

    /// Applies an option in the old syntax without parentheses: `COPY t FROM 't.csv' CSV HEADER`.
    fn take_old(&mut self, option: &ast::CopyLegacyOption) -> Result<()> {
        use ast::{CopyLegacyCsvOption as OfCsv, CopyLegacyOption as Old};
        match option {
            Old::Csv(options) => {
                self.format = Some("csv".to_owned());
                let unknown = options.iter().find(|option| **option != OfCsv::Header);
                return unknown.map_or(Ok(()), |other| Err(unknown_option(other)));
            }
            Old::Header => {}
            Old::Delimiter(character) => self.csv.delimiter = Some(delimiter_of(*character)?),
            Old::Null(text) => self.csv.null.clone_from(text),
            other => return Err(unknown_option(other)),
        }
        Ok(())
    }

    /// Refuses a null text that cannot be a cell.
    fn check_null(&self) -> Result<()> {
        let csv = &self.csv;
        let delimiter = char::from(csv.delimiter.unwrap_or(b','));
        if csv.null.contains(['"', '\n', '\r', delimiter]) {
            return Err(Error::invalid(format!("{:?} cannot represent null", csv.null))
                .help("use a text without delimiters, quotes and line ends, such as 'NA'"));
        }
        Ok(())
    }

    /// The column names of a file that does not contain them.
    fn names(&self, table: &Relation, columns: &[ast::Ident]) -> Vec<String> {
        match (self.csv.has_header, columns.is_empty()) {
            (true, _) => Vec::new(),
            (false, true) => copied(table).map(|own| own.name.clone()).collect(),
            (false, false) => columns.iter().map(|name| name.value.clone()).collect(),
        }
    }
}

/// The columns that COPY uses if none are named: those that are not generated.
fn copied(table: &Relation) -> impl Iterator<Item = &TableColumn> {
    let is_given = |own: &&TableColumn| !table.constraints.generated.contains_key(&own.name);
    table.schema.columns.iter().filter(is_given)
}

/// The names of the columns whose type passes a test.
fn columns_where(table: &Relation, test: impl Fn(&ColumnType) -> bool) -> Vec<&str> {
    let columns = table.schema.columns.iter();
    columns.filter(|own| test(&own.column_type)).map(|own| &*own.name).collect()
}

/// Whether the structs of a column are maps.
fn has_maps(ty: &ColumnType) -> bool {
    match ty {
        ColumnType::Map(_) => true,
        ColumnType::List(element) => has_maps(element),
        _ => false,
    }
}

/// The place of the table of a COPY.
pub(super) fn span_of(source: &ast::CopySource) -> Span {
    match source {
        ast::CopySource::Table { table_name, .. } => {
            last_name(table_name).map_or(Span::NONE, |(_, span)| span)
        }
        ast::CopySource::Query(_) => Span::NONE,
    }
}

fn unknown_option(option: &impl std::fmt::Display) -> Error {
    Error::unsupported(format!("the option {option} is not supported"))
        .help("the options are FORMAT, HEADER, DELIMITER and NULL")
}

/// The delimiter of cells.
fn delimiter_of(character: char) -> Result<u8> {
    match u8::try_from(character) {
        Ok(byte @ (b'\t' | b' '..=b'~')) if byte != b'"' => Ok(byte),
        _ => Err(Error::invalid(format!("{character:?} cannot be a delimiter"))
            .help("use one ASCII character other than a quote, such as ';', '|' or E'\\t'")),
    }
}

impl Binder<'_> {
    /// Binds COPY … TO.
    pub(super) fn copy_to(
        &mut self,
        source: &ast::CopySource,
        file: CopyFile,
    ) -> Result<Statement> {
        let Named { plan, columns } = match source {
            ast::CopySource::Query(query) => self.query(query, None)?,
            ast::CopySource::Table { table_name, columns } => self.rows_of(table_name, columns)?,
        };
        let outputs = columns.iter().map(|(name, column)| {
            (self.column(name, column.ty.clone()), Expr::Column(column.clone()))
        });
        let plan = Plan::Project { outputs: outputs.collect(), input: Box::new(plan) };
        let names = columns.into_iter().map(|(name, _)| name).collect();
        let query = folio_engine::bound::Query { plan, names };
        let span = span_of(source);
        let target = CopyTarget { path: file.path, format: file.format, csv: file.csv, span };
        Ok(Statement::CopyTo { query, target })
    }

    /// The rows of a table, with all or some columns.
    fn rows_of(&mut self, name: &ast::ObjectName, columns: &[ast::Ident]) -> Result<Named> {
        let (plain, span) = last_name(name)?;
        let relation = self.relation(&plain, span)?;
        let named = match relation.kind {
            RelationKind::View => self.view(&relation, span)?,
            _ => self.scanned(&relation),
        };
        if columns.is_empty() {
            let mut named = listed(named);
            let computed = &relation.constraints.generated;
            named.columns.retain(|(name, _)| !computed.contains_key(name));
            return Ok(named);
        }
        let kept = columns.iter().map(|name| {
            let found = named.columns.iter().find(|(own, _)| same_name(own, &name.value));
            let names = named.columns.iter().map(|(own, _)| own.as_str());
            found.cloned().ok_or_else(|| {
                Error::not_found(format!("column {:?} does not exist", name.value))
                    .near_or_all(&name.value, names)
                    .at(name.span.to_span())
            })
        });
        Ok(Named { columns: kept.collect::<Result<_>>()?, plan: named.plan })
    }

    /// Binds COPY … FROM.
    pub(super) fn copy_from(
        &mut self,
        source: &ast::CopySource,
        file: &CopyFile,
    ) -> Result<Statement> {
        let ast::CopySource::Table { table_name, columns } = source else {
            return Err(Error::syntax("COPY … FROM takes the name of a table"));
        };
        let table = self.table(table_name)?;
        let (_, span) = last_name(table_name)?;
        if table.kind == RelationKind::Collection {
            return self.copy_documents(&table, columns, file, span);
        }
        // Numbers of JSON stay text until their cast: a float would have rounded decimals.
        let json =
            columns_where(&table, |ty| matches!(ty, ColumnType::Json | ColumnType::Decimal { .. }));
        let maps = columns_where(&table, has_maps);
        let names = file.names(&table, columns);
        let csv = Some((&file.csv, &names[..]));
        let format = file.format.as_deref();
        let reading = FileReading { format, csv, infer_types: false, json: &json, maps: &maps };
        let rows = self.file(&file.path, reading, span)?;
        let named = self.scan_as_written(&rows);
        let mut wanted: Vec<(usize, usize)> = Vec::new();
        if columns.is_empty() {
            for (from, (name, _)) in named.columns.iter().enumerate() {
                wanted.push((column_of(&table, name, span)?, from));
            }
        }
        for name in columns {
            let from = column_of(&rows, &name.value, name.span.to_span())?;
            wanted.push((column_of(&table, &name.value, name.span.to_span())?, from));
        }
        let targets: Vec<usize> = wanted.iter().map(|(target, _)| *target).collect();
        let given = self.cast_columns(&table, named, &wanted, span)?;
        let (input, numbered) = self.full_rows(&table, &targets, Some(given))?;
        let rules = self.rules(&table)?;
        let on_conflict = OnConflict::Fail;
        Ok(Statement::Insert(Insert {
            table,
            input,
            numbered,
            on_conflict,
            rules,
            returning: None,
        }))
    }

    /// COPY … FROM into a collection: one document for each row, with the columns of the file as
    /// members in their types. Documents without an `_id` get one.
    fn copy_documents(
        &mut self,
        collection: &Relation,
        columns: &[ast::Ident],
        file: &CopyFile,
        span: Span,
    ) -> Result<Statement> {
        let names: Vec<String> = match file.csv.has_header {
            true => Vec::new(),
            false => columns.iter().map(|name| name.value.clone()).collect(),
        };
        if !file.csv.has_header && names.is_empty() {
            return Err(Error::invalid("a file without a header has no column names")
                .at(span)
                .help("name them: COPY t (a, b) FROM …"));
        }
        let csv = Some((&file.csv, &names[..]));
        let format = file.format.as_deref();
        let reading = FileReading { format, csv, ..FileReading::default() };
        let rows = self.file(&file.path, reading, span)?;
        let named = self.scan_as_written(&rows);
        let own = named.columns.iter();
        let own = own.map(|(name, column)| (rows.paths.member_of(name).to_owned(), column.clone()));
        let mut wanted: Vec<(String, Column)> = own.collect();
        if !columns.is_empty() {
            let found = columns.iter().map(|name| {
                let from = column_of(&rows, &name.value, name.span.to_span())?;
                Ok((name.value.clone(), named.columns[from].1.clone()))
            });
            wanted = found.collect::<Result<_>>()?;
        }
        let made = cast_to(function::resolve("uuid_v7", Vec::new(), span)?, &ColumnType::Text);
        let id = match wanted.iter().position(|(name, _)| name == ID) {
            None => made,
            Some(at) => {
                let given = cast_to_if(Expr::Column(wanted.remove(at).1), &ColumnType::Text);
                Expr::Coalesce(vec![given, made], ColumnType::Text)
            }
        };
        let mut members = vec![TableColumn::required(ID, ColumnType::Text)];
        let mut outputs = vec![(self.column(ID, ColumnType::Text), id)];
        for (name, column) in wanted {
            members.push(TableColumn::optional(name.clone(), column.ty.clone()));
            outputs.push((self.column(&name, column.ty.clone()), Expr::Column(column)));
        }
        // The documents have the members of the file, whatever members older documents have.
        let schema = TableSchema::new(collection.schema.name.clone(), members, vec![0]);
        let table = Arc::new(Relation {
            constraints: collection.constraints.clone(),
            ..Relation::new(collection.kind, schema, Arc::clone(&collection.handle))
        });
        Ok(Statement::Insert(Insert {
            table,
            input: Plan::Project { input: Box::new(named.plan), outputs },
            numbered: Vec::new(),
            on_conflict: OnConflict::Fail,
            rules: Rules::default(),
            returning: None,
        }))
    }

    /// Casts columns of a file to the types of the table's columns.
    fn cast_columns(
        &mut self,
        table: &Relation,
        named: Named,
        wanted: &[(usize, usize)],
        span: Span,
    ) -> Result<Named> {
        let mut outputs: Vec<(Column, Expr)> = Vec::new();
        let mut columns = Vec::new();
        for (target, from) in wanted {
            let column = &table.schema.columns[*target];
            if table.constraints.generated.contains_key(&column.name) {
                let text = format!("column {:?} is computed", column.name);
                return Err(Error::invalid(text)
                    .at(span)
                    .help("name the other columns: COPY t (a, b) FROM …"));
            }
            let mut value = Expr::Column(named.columns[*from].1.clone());
            let to = column.column_type.clone();
            if value.ty() == ColumnType::Json && matches!(to, ColumnType::Decimal { .. }) {
                value = function::resolve("json_extract_path_text", vec![value], span)?;
            }
            let value = match value.ty() == to {
                true => value,
                false => Expr::Cast { input: Box::new(value), to, is_try: false, span },
            };
            let own = self.column(&column.name, column.column_type.clone());
            columns.push((column.name.clone(), own.clone()));
            outputs.push((own, value));
        }
        Ok(Named { plan: Plan::Project { input: Box::new(named.plan), outputs }, columns })
    }
}
