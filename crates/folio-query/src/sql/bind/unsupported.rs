//! Clauses that the grammar knows and the engine does not: refused by name.
//!
//! Each function takes a syntax node apart without `..`, so that a clause which a new release of
//! the parser adds is a compile error here until somebody decides about it. What the binder reads
//! elsewhere is named with a leading underscore.

use sqlparser::ast;

use super::refuse;
use crate::error::{Error, Result};

fn unsupported(what: &str, help: &str) -> Error {
    Error::unsupported(format!("{what} is not supported")).help(help)
}

/// The clauses of CREATE TABLE.
pub(super) fn table_clauses(create: &ast::CreateTable) -> Result<()> {
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

/// Whether a CREATE TABLE has a clause of another system.
fn is_foreign(create: &ast::CreateTable) -> bool {
    #[rustfmt::skip]
    let ast::CreateTable {
        // Read where the table is bound.
        or_replace: _, temporary: _, if_not_exists: _, name: _, columns: _, constraints: _, query: _,
        without_rowid: _, like: _, clone: _, strict: _, with_data: _,
        // Refused by their names.
        unlogged: _, comment: _, on_commit: _, partition_by: _, inherits: _, partition_of: _,
        for_values: _, table_options: _,
        // Of others.
        external, dynamic, global, transient, volatile, iceberg, snapshot, hive_distribution,
        hive_formats, file_format, location, version, on_cluster, primary_key, order_by,
        cluster_by, clustered_by, copy_grants, enable_schema_evolution, change_tracking,
        data_retention_time_in_days, max_data_extension_time_in_days, default_ddl_collation,
        with_aggregation_policy, with_row_access_policy, with_storage_lifecycle_policy, with_tags,
        external_volume, require_user, with_connection, base_location, catalog, catalog_sync,
        storage_serialization_policy, target_lag, warehouse, refresh_mode, initialize, diststyle,
        distkey, sortkey, backup, multiset, fallback,
    } = create;
    let is_hive = !matches!(hive_distribution, ast::HiveDistributionStyle::NONE)
        || hive_formats.as_ref().is_some_and(|formats| *formats != ast::HiveFormat::default());
    is_hive
        || *external
        || *dynamic
        || global.is_some()
        || *transient
        || *volatile
        || *iceberg
        || *snapshot
        || file_format.is_some()
        || location.is_some()
        || version.is_some()
        || on_cluster.is_some()
        || primary_key.is_some()
        || order_by.is_some()
        || cluster_by.is_some()
        || clustered_by.is_some()
        || *copy_grants
        || enable_schema_evolution.is_some()
        || change_tracking.is_some()
        || data_retention_time_in_days.is_some()
        || max_data_extension_time_in_days.is_some()
        || default_ddl_collation.is_some()
        || with_aggregation_policy.is_some()
        || with_row_access_policy.is_some()
        || with_storage_lifecycle_policy.is_some()
        || with_tags.is_some()
        || external_volume.is_some()
        || *require_user
        || with_connection.is_some()
        || base_location.is_some()
        || catalog.is_some()
        || catalog_sync.is_some()
        || storage_serialization_policy.is_some()
        || target_lag.is_some()
        || warehouse.is_some()
        || refresh_mode.is_some()
        || initialize.is_some()
        || diststyle.is_some()
        || distkey.is_some()
        || sortkey.is_some()
        || backup.is_some()
        || multiset.is_some()
        || fallback.is_some()
}

/// The clauses of CREATE INDEX.
pub(super) fn index_clauses(create: &ast::CreateIndex) -> Result<()> {
    if let Some(using) = &create.using
        && !using.to_string().eq_ignore_ascii_case("btree")
    {
        return Err(Error::unsupported(format!("an index USING {using} is not supported"))
            .help("leave it out: an index is a B-tree"));
    }
    refuse(create.r#async, "CREATE INDEX ASYNC")?;
    refuse(create.nulls_distinct == Some(false), "NULLS NOT DISTINCT")?;
    refuse(!create.with.is_empty(), "WITH of an index")?;
    refuse(!create.index_options.is_empty(), "an option of an index")?;
    refuse(!create.alter_options.is_empty(), "an option of an index")
}

/// When a constraint is checked: at once.
pub(super) fn characteristics(given: Option<&ast::ConstraintCharacteristics>) -> Result<()> {
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

/// How columns of a reference that are partly null are matched.
pub(super) fn match_kind(given: Option<&ast::ConstraintReferenceMatchKind>) -> Result<()> {
    match given {
        None | Some(ast::ConstraintReferenceMatchKind::Simple) => Ok(()),
        Some(other) => Err(unsupported(
            &other.to_string(),
            "leave it out: a reference with a null column is not checked",
        )),
    }
}

/// What COLLATE may say: texts are compared by their bytes.
pub(super) fn collation(name: &ast::ObjectName) -> Result<()> {
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

/// The clauses of a query that are not read elsewhere.
pub(super) fn query_clauses(query: &ast::Query) -> Result<()> {
    let ast::Query {
        with: _with,
        body: _body,
        order_by: _order_by,
        limit_clause: _limit_clause,
        fetch: _fetch,
        locks,
        for_clause,
        settings,
        format_clause,
        pipe_operators,
    } = query;
    if let Some(lock) = locks.first() {
        return Err(unsupported(
            &lock.to_string(),
            "leave it out: a transaction that writes is alone",
        ));
    }
    refuse(for_clause.is_some(), "FOR XML and FOR JSON")?;
    refuse(settings.is_some(), "SETTINGS")?;
    refuse(format_clause.is_some(), "FORMAT")?;
    refuse(!pipe_operators.is_empty(), "the pipe syntax")
}

/// The clauses of TRUNCATE.
pub(super) fn truncate_clauses(truncate: &ast::Truncate) -> Result<()> {
    if matches!(truncate.identity, Some(ast::TruncateIdentityOption::Restart)) {
        return Err(unsupported(
            "RESTART IDENTITY",
            "drop the table and make it again to number from 1",
        ));
    }
    if matches!(truncate.cascade, Some(ast::CascadeOption::Cascade)) {
        return Err(unsupported("TRUNCATE … CASCADE", "name all tables: TRUNCATE a, b"));
    }
    refuse(truncate.partitions.is_some(), "TRUNCATE … PARTITION")?;
    refuse(truncate.on_cluster.is_some(), "ON CLUSTER")
}
