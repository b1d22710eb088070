//! COPY: rows of a table or a query into a file, rows of a file into a table.
//!
//! COPY … FROM is an INSERT whose rows a file has: columns meet by name, those that the
//! file has not take their defaults, and every value is cast to its column's type. Cells
//! of CSV are text until then, so that nothing is taken for a number on its way.

use folio_types::{Column as TableColumn, ColumnType};
use sqlparser::ast;

use super::change::column_of;
use super::scope::same;
use super::{Binder, Named, last_name};
use crate::error::{Error, Result};
use crate::expression::{Column, Expr};
use crate::plan::logical::Plan;
use crate::source::{FileFormat, FileReading, RelationKind};
use crate::span::Span;
use crate::sql::statement::{CopyTarget, Insert, OnConflict, Statement};

/// The file a COPY names, with what is said about it.
pub(super) struct CopyFile {
    path: String,
    format: Option<FileFormat>,
    has_header: bool,
}

impl CopyFile {
    pub(super) fn new(target: &ast::CopyTarget, options: &[ast::CopyOption]) -> Result<Self> {
        let ast::CopyTarget::File { filename } = target else {
            return Err(Error::unsupported("COPY reads and writes files only")
                .help("write the path of a file in quotes"));
        };
        let (mut format, mut has_header) = (None, true);
        for option in options {
            match option {
                ast::CopyOption::Format(name) => format = Some(format_of(name)?),
                ast::CopyOption::Header(header) => has_header = *header,
                other => {
                    return Err(Error::unsupported(format!("the option {other} is not supported"))
                        .help("the options are FORMAT and HEADER"));
                }
            }
        }
        Ok(Self { path: filename.clone(), format, has_header })
    }

    /// The format that is said, or else the one that the name of the file tells.
    fn format_to_write(&self) -> Result<FileFormat> {
        if let Some(format) = self.format {
            return Ok(format);
        }
        let extension = self.path.rsplit_once('.').map_or("", |(_, extension)| extension);
        named_format(extension).ok_or_else(|| {
            Error::invalid(format!("the name {:?} does not tell a format", self.path))
                .help("add (FORMAT csv), jsonl, json, ion, parquet or arrow")
        })
    }
}

/// Where the table of a COPY stands.
pub(super) fn span_of(source: &ast::CopySource) -> Span {
    match source {
        ast::CopySource::Table { table_name, .. } => {
            last_name(table_name).map_or(Span::NONE, |(_, span)| span)
        }
        ast::CopySource::Query(_) => Span::NONE,
    }
}

fn named_format(name: &str) -> Option<FileFormat> {
    Some(match &*name.to_ascii_lowercase() {
        "csv" => FileFormat::Csv,
        "jsonl" | "ndjson" => FileFormat::JsonLines,
        "json" => FileFormat::Json,
        "ion" => FileFormat::Ion,
        "10n" | "ion_binary" => FileFormat::IonBinary,
        "parquet" => FileFormat::Parquet,
        "arrow" | "feather" | "ipc" => FileFormat::Arrow,
        _ => return None,
    })
}

fn format_of(name: &ast::Ident) -> Result<FileFormat> {
    named_format(&name.value).ok_or_else(|| {
        Error::unsupported(format!("the format {:?} is not supported", name.value))
            .at(name.span.into())
            .help("the formats are csv, jsonl, json, ion, ion_binary, parquet and arrow")
    })
}

impl Binder<'_> {
    /// Binds COPY … TO.
    pub(super) fn copy_to(
        &mut self,
        source: &ast::CopySource,
        file: CopyFile,
    ) -> Result<Statement> {
        let format = file.format_to_write()?;
        let Named { plan, columns } = match source {
            ast::CopySource::Query(query) => self.query(query, None)?,
            ast::CopySource::Table { table_name, columns } => self.rows_of(table_name, columns)?,
        };
        let outputs = columns.iter().map(|(name, column)| {
            (self.column(name, column.ty.clone()), Expr::Column(column.clone()))
        });
        let plan = Plan::Project { outputs: outputs.collect(), input: Box::new(plan) };
        let names = columns.into_iter().map(|(name, _)| name).collect();
        let query = crate::sql::statement::Query { plan, names };
        let target = CopyTarget { path: file.path, format, has_header: file.has_header };
        Ok(Statement::CopyTo { query, target })
    }

    /// The rows of a table, of all columns or of some.
    fn rows_of(&mut self, name: &ast::ObjectName, columns: &[ast::Ident]) -> Result<Named> {
        let (plain, span) = last_name(name)?;
        let relation = self.relation(&plain, span)?;
        let named = match relation.kind {
            RelationKind::View => self.view(&relation, span)?,
            _ => self.scan(&relation),
        };
        if columns.is_empty() {
            return Ok(named);
        }
        let kept = columns.iter().map(|name| {
            let found = named.columns.iter().find(|(own, _)| same(own, &name.value));
            let names = named.columns.iter().map(|(own, _)| own.as_str());
            found.cloned().ok_or_else(|| {
                Error::not_found(format!("column {:?} does not exist", name.value))
                    .near_or_all(&name.value, names)
                    .at(name.span.into())
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
        if !file.has_header {
            return Err(Error::unsupported("COPY … FROM a file without a header is not supported")
                .help("put the names of the columns into its first line"));
        }
        let table = self.table(table_name)?;
        let (_, span) = last_name(table_name)?;
        if table.kind != RelationKind::Table {
            return Err(Error::unsupported("COPY … FROM fills tables")
                .at(span)
                .help("import the file into the collection"));
        }
        let columns_of_table = table.schema.columns.iter();
        let is_json = |column: &&TableColumn| column.column_type == ColumnType::Json;
        let json: Vec<&str> = columns_of_table.filter(is_json).map(|own| &*own.name).collect();
        let reading = FileReading { format: file.format, infer_types: false, json: &json };
        let rows = self.file(&file.path, reading, span)?;
        let named = self.scan(&rows);
        let mut wanted: Vec<(usize, usize)> = Vec::new();
        if columns.is_empty() {
            for (from, (name, _)) in named.columns.iter().enumerate() {
                wanted.push((column_of(&table, name, span)?, from));
            }
        }
        for name in columns {
            let from = column_of(&rows, &name.value, name.span.into())?;
            wanted.push((column_of(&table, &name.value, name.span.into())?, from));
        }
        let targets: Vec<usize> = wanted.iter().map(|(target, _)| *target).collect();
        let given = self.cast_columns(&table, named, &wanted, span);
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

    /// Columns of a file as values of the columns they are for.
    fn cast_columns(
        &mut self,
        table: &crate::source::Relation,
        named: Named,
        wanted: &[(usize, usize)],
        span: Span,
    ) -> Named {
        let mut outputs: Vec<(Column, Expr)> = Vec::new();
        let mut columns = Vec::new();
        for (target, from) in wanted {
            let column = &table.schema.columns[*target];
            let value = Expr::Column(named.columns[*from].1.clone());
            let to = column.column_type.clone();
            let value = match value.ty() == to {
                true => value,
                false => Expr::Cast { input: Box::new(value), to, is_try: false, span },
            };
            let own = self.column(&column.name, column.column_type.clone());
            columns.push((column.name.clone(), own.clone()));
            outputs.push((own, value));
        }
        Named { plan: Plan::Project { input: Box::new(named.plan), outputs }, columns }
    }
}
