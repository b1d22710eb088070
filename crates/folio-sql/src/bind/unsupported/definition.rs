//! Clauses of definitions.

use folio_compute::{Error, Result};
use folio_engine::source::FieldPath;
use sqlparser::ast::helpers::stmt_create_table::CreateTableBuilder;
use sqlparser::ast::{self, Spanned};

use super::{refuse, refuse_each, unsupported};
use crate::place::Place;

/// The clauses of CREATE TABLE.
pub(in super::super) fn table_clauses(create: &ast::CreateTable) -> Result<()> {
    if create.unlogged {
        return Err(unsupported("UNLOGGED", "leave it out: every table has the log"));
    }
    let is_parted = create.partition_by.is_some()
        || create.partition_of.is_some()
        || create.for_values.is_some();
    if is_parted {
        return Err(unsupported("PARTITION BY", "leave it out, and make an index"));
    }
    if create.on_commit.is_some() {
        return Err(unsupported("ON COMMIT", "delete the rows at the end of the transaction"));
    }
    refuse(create.inherits.is_some(), "INHERITS")?;
    refuse(create.comment.is_some(), "COMMENT")?;
    if let Some(ast::WithData { data: _data, statistics }) = &create.with_data {
        refuse(statistics.is_some(), "STATISTICS after WITH DATA")?;
    }
    if !matches!(create.table_options, ast::CreateTableOptions::None) {
        let options = create.table_options.to_string();
        return Err(Error::unsupported(format!(
            "the table option {} is not supported",
            options.trim()
        ))
        .help("leave it out"));
    }
    if is_foreign(create) {
        return Err(unsupported(
            "a clause of this CREATE TABLE that other systems have",
            "keep columns, constraints and AS",
        ));
    }
    Ok(())
}

/// Whether a CREATE TABLE has a clause of another database system: it is not a plain one with the
/// clauses that are read where the table is bound. Those that [`table_clauses`] names are absent.
fn is_foreign(create: &ast::CreateTable) -> bool {
    let read = create.clone();
    let ours = ast::CreateTable {
        or_replace: read.or_replace,
        temporary: read.temporary,
        if_not_exists: read.if_not_exists,
        columns: read.columns,
        constraints: read.constraints,
        query: read.query,
        without_rowid: read.without_rowid,
        like: read.like,
        clone: read.clone,
        strict: read.strict,
        with_data: read.with_data,
        hive_formats: read.hive_formats.filter(|formats| *formats == ast::HiveFormat::default()),
        ..CreateTableBuilder::new(read.name).build()
    };
    ours != *create
}

/// The clauses of CREATE INDEX that are not read elsewhere.
pub(in super::super) fn index_clauses(create: &ast::CreateIndex) -> Result<()> {
    let ast::CreateIndex {
        name: _name,
        table_name: _table_name,
        using,
        columns: _columns,
        unique: _unique,
        concurrently: _,
        r#async: is_async,
        if_not_exists: _if_not_exists,
        include,
        nulls_distinct,
        with,
        predicate: _predicate,
        index_options,
        alter_options,
    } = create;
    if let Some(using) = using.as_ref().filter(|using| !is_columns(using)) {
        index_type(using)?;
    }
    refuse_each([
        (*is_async, "CREATE INDEX ASYNC"),
        (!include.is_empty(), "INCLUDE"),
        (*nulls_distinct == Some(false), "NULLS NOT DISTINCT"),
        (!with.is_empty(), "WITH of an index"),
        (!index_options.is_empty() || !alter_options.is_empty(), "an option of an index"),
    ])
}

/// Whether an index is of columns.
pub(in super::super) fn is_columns(using: &ast::IndexType) -> bool {
    using.to_string().eq_ignore_ascii_case("columns")
}

/// Refuses what is neither a B-tree nor of columns.
pub(in super::super) fn index_type(using: &ast::IndexType) -> Result<()> {
    if using.to_string().eq_ignore_ascii_case("btree") {
        return Ok(());
    }
    Err(Error::unsupported(format!("an index USING {using} is not supported"))
        .help("leave it out: an index is a B-tree; or write USING columns"))
}

/// A column of an index or key, and whether it is descending. Nulls must be in the default
/// position.
pub(in super::super) fn index_column(column: &ast::IndexColumn) -> Result<(&ast::Ident, bool)> {
    let key = &column.column;
    let span = key.expr.span().to_span();
    let ast::Expr::Identifier(name) = &key.expr else {
        return Err(unsupported("an index of an expression", "name columns").at(span));
    };
    Ok((name, index_order(column)?))
}

/// A field of an index of a collection.
pub(in super::super) fn index_field(column: &ast::IndexColumn) -> Result<FieldPath> {
    let expression = &column.column.expr;
    let (path, elements) = match expression {
        ast::Expr::CompoundFieldAccess { root, access_chain } => {
            let is_all = |access: &ast::AccessExpr| {
                let everything =
                    ast::Subscript::Slice { lower_bound: None, upper_bound: None, stride: None };
                matches!(access, ast::AccessExpr::Subscript(subscript) if *subscript == everything)
            };
            let (last, rest) = access_chain.split_last().unzip();
            let mut path = path(root);
            for access in rest.unwrap_or_default() {
                let name = match access {
                    ast::AccessExpr::Dot(ast::Expr::Identifier(name)) => Some(name.value.clone()),
                    _ => None,
                };
                path = path.zip(name).map(|(mut path, name)| {
                    path.push(name);
                    path
                });
            }
            (path.filter(|_| last.is_some_and(is_all)), true)
        }
        other => (path(other), false),
    };
    let Some(path) = path else {
        let error = unsupported("an index of an expression", "name fields: address.city, tags[]");
        return Err(error.at(expression.span().to_span()));
    };
    Ok(FieldPath { path, elements, descending: index_order(column)? })
}

/// The names of members down to a value, if an expression is that.
pub(in super::super) fn path(expression: &ast::Expr) -> Option<Vec<String>> {
    let names = match expression {
        ast::Expr::Identifier(name) => std::slice::from_ref(name),
        ast::Expr::CompoundIdentifier(names) => &names[..],
        _ => return None,
    };
    Some(names.iter().map(|name| name.value.clone()).collect())
}

/// Whether a column of an index is descending.
fn index_order(column: &ast::IndexColumn) -> Result<bool> {
    let ast::IndexColumn { column: key, operator_class } = column;
    let span = key.expr.span().to_span();
    super::key_options(key)?;
    if let Some(class) = operator_class {
        let error = unsupported(&format!("the operator class {class}"), "leave it out");
        return Err(error.at(span));
    }
    let descending = matches!(key.options.sort, Some(ast::OrderBySort::Desc));
    if key.options.nulls_first.is_some_and(|first| first != descending) {
        let order = if descending { "DESC NULLS LAST" } else { "ASC NULLS FIRST" };
        let error = unsupported(&format!("an index with {order}"), "leave NULLS out");
        return Err(error.at(span));
    }
    Ok(descending)
}

/// The names of the columns of a key, all ascending.
fn key_columns(columns: &[ast::IndexColumn]) -> Result<Vec<String>> {
    let names = columns.iter().map(|column| {
        let (name, descending) = index_column(column)?;
        refuse(descending, "DESC in a key").map_err(|error| error.at(name.span.to_span()))?;
        Ok(name.value.clone())
    });
    names.collect()
}

/// The columns of a primary key. Its name is ignored, since a table has only one.
pub(in super::super) fn key_clauses(key: &ast::PrimaryKeyConstraint) -> Result<Vec<String>> {
    let ast::PrimaryKeyConstraint {
        name: _,
        index_name,
        index_type: kind,
        columns,
        include,
        index_options,
        characteristics: when,
    } = key;
    kind.as_ref().map_or(Ok(()), index_type)?;
    refuse_each([
        (index_name.is_some(), "the name of an index in a key"),
        (!include.is_empty(), "INCLUDE"),
        (!index_options.is_empty(), "an option of an index"),
    ])?;
    characteristics(when.as_ref())?;
    key_columns(columns)
}

/// The name and the columns of UNIQUE.
pub(in super::super) fn unique_clauses(
    unique: &ast::UniqueConstraint,
) -> Result<(Option<&ast::Ident>, Vec<String>)> {
    let ast::UniqueConstraint {
        name,
        index_name,
        index_type_display: _,
        index_type: kind,
        columns,
        include,
        index_options,
        characteristics: when,
        nulls_distinct,
    } = unique;
    kind.as_ref().map_or(Ok(()), index_type)?;
    let are_nulls_equal = matches!(nulls_distinct, ast::NullsDistinctOption::NotDistinct);
    refuse_each([
        (are_nulls_equal, "NULLS NOT DISTINCT"),
        (!include.is_empty(), "INCLUDE"),
        (!index_options.is_empty(), "an option of an index"),
    ])?;
    characteristics(when.as_ref())?;
    Ok((name.as_ref().or(index_name.as_ref()), key_columns(columns)?))
}

/// The clauses of CHECK that are not read elsewhere. NO INHERIT has no effect without inheritance.
pub(in super::super) fn check_clauses(check: &ast::CheckConstraint) -> Result<()> {
    let ast::CheckConstraint { name: _name, expr: _expr, no_inherit: _, enforced } = check;
    refuse(*enforced == Some(false), "NOT ENFORCED")
}

/// The clauses of a reference that are not read elsewhere.
pub(in super::super) fn reference_clauses(key: &ast::ForeignKeyConstraint) -> Result<()> {
    let ast::ForeignKeyConstraint {
        name: _name,
        index_name,
        columns: _columns,
        foreign_table: _foreign_table,
        referred_columns: _referred_columns,
        on_delete: _on_delete,
        on_update: _on_update,
        match_kind: kind,
        characteristics: when,
    } = key;
    refuse(index_name.is_some(), "the name of an index in a reference")?;
    characteristics(when.as_ref())?;
    match_kind(kind.as_ref())
}

/// The parts of a column, with the names of its options.
pub(in super::super) fn column_definition(
    column: &ast::ColumnDef,
) -> (&ast::Ident, &ast::DataType, impl Iterator<Item = (Option<&ast::Ident>, &ast::ColumnOption)>)
{
    let ast::ColumnDef { name, data_type, options } = column;
    let options = options.iter().map(|option| {
        let ast::ColumnOptionDef { name, option } = option;
        (name.as_ref(), option)
    });
    (name, data_type, options)
}

/// The options of an identity: it counts from 1 in steps of 1.
pub(in super::super) fn identity_clauses(options: Option<&[ast::SequenceOptions]>) -> Result<()> {
    use ast::SequenceOptions as Sql;
    let is_one = |value: &ast::Expr| value.to_string() == "1";
    let changes = |option: &&Sql| match option {
        Sql::IncrementBy(by, _) => !is_one(by),
        Sql::StartWith(start, _) => !is_one(start),
        Sql::MinValue(least) => !least.as_ref().is_none_or(is_one),
        Sql::MaxValue(most) => most.is_some(),
        // The cache size makes no visible difference.
        Sql::Cache(_) => false,
        Sql::Cycle(cycles) => *cycles,
    };
    match options.unwrap_or_default().iter().find(changes) {
        None => Ok(()),
        Some(option) => Err(unsupported(
            &format!("{} of an identity", option.to_string().trim()),
            "leave it out: rows are numbered from 1",
        )),
    }
}

/// The clauses of CREATE VIEW that are not read elsewhere.
pub(in super::super) fn view_clauses(create: &ast::CreateView) -> Result<()> {
    let ast::CreateView {
        or_alter,
        or_replace: _or_replace,
        materialized,
        secure,
        name: _name,
        name_before_not_exists: _,
        columns,
        query: _query,
        options,
        cluster_by,
        comment,
        with_no_schema_binding,
        if_not_exists: _if_not_exists,
        temporary: _temporary,
        copy_grants,
        to,
        params,
    } = create;
    for ast::ViewColumnDef { name, data_type, options } in columns {
        refuse_each([
            (data_type.is_some(), "the type of a column of a view"),
            (options.is_some(), "an option of a column of a view"),
        ])
        .map_err(|error| error.at(name.span.to_span()))?;
    }
    if *materialized {
        return Err(unsupported("CREATE MATERIALIZED VIEW", "write CREATE TABLE … AS SELECT"));
    }
    let has_options = !matches!(options, ast::CreateTableOptions::None) || params.is_some();
    refuse_each([
        (*or_alter, "CREATE OR ALTER"),
        (*secure, "CREATE SECURE VIEW"),
        (has_options, "an option of a view"),
        (!cluster_by.is_empty(), "CLUSTER BY"),
        (comment.is_some(), "COMMENT"),
        (*with_no_schema_binding, "WITH NO SCHEMA BINDING"),
        (*copy_grants, "COPY GRANTS"),
        (to.is_some(), "a target of a view"),
    ])
}

/// The clauses of ALTER TABLE that are not read elsewhere. ONLY has no effect without inheritance.
pub(in super::super) fn alter_clauses(alter: &ast::AlterTable) -> Result<()> {
    let ast::AlterTable {
        name: _name,
        if_exists: _if_exists,
        only: _,
        operations: _operations,
        location,
        on_cluster,
        table_type,
        end_token: _,
    } = alter;
    refuse_each([
        (location.is_some(), "LOCATION"),
        (on_cluster.is_some(), "ON CLUSTER"),
        (table_type.is_some(), "the kind of a table in ALTER TABLE"),
    ])
}

/// The behaviour for dependent objects: RESTRICT, so nothing that is needed is dropped.
pub(in super::super) fn drop_behavior(given: Option<&ast::DropBehavior>) -> Result<()> {
    match given {
        None | Some(ast::DropBehavior::Restrict) => Ok(()),
        Some(ast::DropBehavior::Cascade) => Err(unsupported(
            "DROP … CASCADE of a part of a table",
            "drop the dependent objects \
                                                                   first",
        )),
    }
}

/// When a constraint is checked: immediately.
pub(in super::super) fn characteristics(
    given: Option<&ast::ConstraintCharacteristics>,
) -> Result<()> {
    let Some(ast::ConstraintCharacteristics { deferrable, initially, enforced }) = given else {
        return Ok(());
    };
    if *deferrable == Some(true) || *initially == Some(ast::DeferrableInitial::Deferred) {
        return Err(unsupported(
            "DEFERRABLE",
            "leave it out: constraints hold after each statement",
        ));
    }
    refuse(*enforced == Some(false), "NOT ENFORCED")
}

/// How partly null references are matched.
pub(in super::super) fn match_kind(
    given: Option<&ast::ConstraintReferenceMatchKind>,
) -> Result<()> {
    match given {
        None | Some(ast::ConstraintReferenceMatchKind::Simple) => Ok(()),
        Some(other) => Err(unsupported(
            &other.to_string(),
            "leave it out: a reference with a null column is not checked",
        )),
    }
}

/// The collation: texts are always compared by bytes.
pub(in super::super) fn collation(name: &ast::ObjectName) -> Result<()> {
    let text = name.to_string();
    let plain = text.trim_matches('"').to_lowercase();
    if matches!(plain.as_str(), "c" | "posix" | "binary" | "ucs_basic" | "default") {
        return Ok(());
    }
    Err(unsupported(
        &format!("COLLATE {text}"),
        "texts are compared by their bytes; compare lower(…)",
    ))
}
