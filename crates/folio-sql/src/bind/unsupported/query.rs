//! Clauses of queries.

use folio_compute::{Error, Result};
use sqlparser::ast::{self, Spanned};

use super::{refuse, refuse_each, unsupported};
use crate::place::Place;

/// The clauses of a query that are not read elsewhere.
pub(in super::super) fn query_clauses(query: &ast::Query) -> Result<()> {
    let ast::Query {
        with: _with,
        body: _body,
        order_by,
        limit_clause,
        fetch,
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
    if let Some(ast::OrderBy { kind: _kind, interpolate }) = order_by {
        refuse(interpolate.is_some(), "INTERPOLATE")?;
    }
    if let Some(ast::Fetch { with_ties: _with_ties, percent, quantity: _quantity }) = fetch {
        refuse(*percent, "FETCH … PERCENT")?;
    }
    if let Some(ast::LimitClause::LimitOffset { limit: _limit, offset, limit_by }) = limit_clause {
        // ROW and ROWS after OFFSET mean the same.
        let _value = offset.as_ref().map(|ast::Offset { value, rows: _ }| value);
        refuse(!limit_by.is_empty(), "LIMIT BY")?;
    }
    refuse_each([
        (for_clause.is_some(), "FOR XML and FOR JSON"),
        (settings.is_some(), "SETTINGS"),
        (format_clause.is_some(), "FORMAT"),
        (!pipe_operators.is_empty(), "the pipe syntax"),
    ])
}

/// The clauses of WITH. MATERIALIZED is ignored: the engine decides how often a query runs.
pub(in super::super) fn with_clauses(with: &ast::With) -> Result<()> {
    let ast::With { with_token: _, recursive: _recursive, cte_tables } = with;
    cte_tables.iter().try_for_each(|cte| {
        let ast::Cte { alias, query: _query, from, materialized: _, closing_paren_token: _ } = cte;
        refuse(from.is_some(), "FROM after a query of WITH")
            .and_then(|()| alias_clauses(Some(alias)))
    })
}

/// The clauses of a SELECT that are not read elsewhere.
pub(in super::super) fn select_clauses(select: &ast::Select) -> Result<()> {
    let ast::Select {
        select_token: _,
        optimizer_hints: _,
        distinct: _distinct,
        select_modifiers,
        top,
        top_before_distinct: _,
        projection,
        exclude,
        into,
        from: _from,
        lateral_views,
        prewhere,
        selection: _selection,
        connect_by,
        group_by,
        cluster_by,
        distribute_by,
        sort_by,
        having: _having,
        named_window: _named_window,
        qualify: _qualify,
        window_before_qualify: _,
        value_table_mode,
        flavor,
    } = select;
    if into.is_some() {
        return Err(unsupported("SELECT INTO", "write CREATE TABLE … AS SELECT"));
    }
    if top.is_some() {
        return Err(unsupported("TOP", "write LIMIT at the end"));
    }
    let modifiers = match group_by {
        ast::GroupByExpr::All(modifiers) | ast::GroupByExpr::Expressions(_, modifiers) => modifiers,
    };
    if !modifiers.is_empty() {
        return Err(unsupported("WITH ROLLUP", "write GROUP BY ROLLUP (…)"));
    }
    refuse_each([
        (select_modifiers.is_some(), "a modifier of SELECT"),
        (exclude.is_some(), "EXCLUDE after the SELECT list"),
        (!lateral_views.is_empty(), "LATERAL VIEW"),
        (prewhere.is_some(), "PREWHERE"),
        (!connect_by.is_empty(), "CONNECT BY"),
        (!cluster_by.is_empty(), "CLUSTER BY"),
        (!distribute_by.is_empty(), "DISTRIBUTE BY"),
        (!sort_by.is_empty(), "SORT BY"),
        (value_table_mode.is_some(), "SELECT AS"),
    ])?;
    if projection.is_empty() && *flavor != ast::SelectFlavor::FromFirstNoSelect {
        return Err(Error::syntax("SELECT returns no columns").help("name some, or write *"));
    }
    Ok(())
}

/// EXCLUDE, REPLACE and RENAME after a star.
type StarClauses<'a> = (
    Option<&'a ast::ExcludeSelectItem>,
    Option<&'a ast::ReplaceSelectItem>,
    Option<&'a ast::RenameSelectItem>,
);

/// The clauses after a star.
pub(in super::super) fn star_clauses(
    options: &ast::WildcardAdditionalOptions,
) -> Result<StarClauses<'_>> {
    let ast::WildcardAdditionalOptions {
        wildcard_token: _,
        opt_ilike,
        opt_exclude,
        opt_except,
        opt_replace,
        opt_rename,
        opt_alias,
    } = options;
    if opt_except.is_some() {
        return Err(unsupported("* EXCEPT", "write * EXCLUDE (…)"));
    }
    refuse_each([(opt_ilike.is_some(), "* ILIKE"), (opt_alias.is_some(), "an alias of *")])?;
    Ok((opt_exclude.as_ref(), opt_replace.as_ref(), opt_rename.as_ref()))
}

/// The clauses of an item in FROM.
pub(in super::super) fn factor_clauses(factor: &ast::TableFactor) -> Result<()> {
    use ast::TableFactor as Sql;
    match factor {
        Sql::Table {
            name: _name,
            alias,
            args,
            with_hints,
            version,
            with_ordinality,
            partitions,
            json_path,
            sample,
            index_hints,
        } => {
            if let Some(ast::TableFunctionArgs { args: _args, settings }) = args {
                refuse(settings.is_some(), "SETTINGS")?;
            } else if *with_ordinality {
                let error = unsupported("WITH ORDINALITY of a table", "number rows: row_number()");
                return Err(error.at(factor.span().to_span()));
            }
            refuse_each([
                (!with_hints.is_empty(), "WITH after a table"),
                (version.is_some(), "a version of a table"),
                (!partitions.is_empty(), "PARTITION after a table"),
                (json_path.is_some(), "a path after a table"),
                (sample.is_some(), "TABLESAMPLE"),
                (!index_hints.is_empty(), "a hint of an index"),
            ])
            .map_err(|error| error.at(factor.span().to_span()))?;
            alias_clauses(alias.as_ref())
        }
        Sql::Derived { lateral: _lateral, subquery: _subquery, alias, sample } => {
            refuse(sample.is_some(), "TABLESAMPLE")?;
            alias_clauses(alias.as_ref())
        }
        // A function sees the items before it, with or without LATERAL.
        Sql::Function { lateral: _, name: _name, args: _args, with_ordinality: _ord, alias } => {
            alias_clauses(alias.as_ref())
        }
        Sql::UNNEST {
            alias,
            array_exprs: _array_exprs,
            with_offset,
            with_offset_alias: _,
            with_ordinality: _with_ordinality,
        } => {
            if *with_offset {
                return Err(unsupported("WITH OFFSET", "write WITH ORDINALITY"));
            }
            alias_clauses(alias.as_ref())
        }
        Sql::NestedJoin { table_with_joins: _table_with_joins, alias } => {
            alias_clauses(alias.as_ref())?;
            let renames = alias.as_ref().is_some_and(|alias| !alias.columns.is_empty());
            refuse(renames, "renaming columns after a join")
                .map_err(|error| error.at(factor.span().to_span()).help("write them in a subquery"))
        }
        // Refused as a whole where they are bound.
        _ => Ok(()),
    }
}

fn alias_clauses(alias: Option<&ast::TableAlias>) -> Result<()> {
    let Some(ast::TableAlias { explicit: _, name, columns, at }) = alias else { return Ok(()) };
    refuse(at.is_some(), "AT after an alias").map_err(|error| error.at(name.span.to_span()))?;
    columns.iter().try_for_each(|ast::TableAliasColumnDef { name, data_type }| {
        refuse(data_type.is_some(), "a type in an alias")
            .map_err(|error| error.at(name.span.to_span()).help("cast where the column is read"))
    })
}

/// The clauses of a sort key.
pub(in super::super) fn key_options(key: &ast::OrderByExpr) -> Result<()> {
    let ast::OrderByExpr { expr, options, with_fill } = key;
    let ast::OrderByOptions { sort, nulls_first: _nulls_first } = options;
    let of_operator = matches!(sort, Some(ast::OrderBySort::Using(_)));
    if of_operator {
        let error = unsupported("ORDER BY … USING", "write ASC or DESC");
        return Err(error.at(expr.span().to_span()));
    }
    refuse(with_fill.is_some(), "WITH FILL").map_err(|error| error.at(expr.span().to_span()))
}

/// The rows of VALUES. ROW before a row has no effect.
pub(in super::super) fn values_clauses(values: &ast::Values) -> &[ast::Parens<Vec<ast::Expr>>] {
    let ast::Values { explicit_row: _, value_keyword: _, rows } = values;
    rows
}
