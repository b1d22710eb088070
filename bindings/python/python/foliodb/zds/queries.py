"""SQL over collections through DuckDB, with the names of ZDS."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..closing import Closing
from .exchange import existing, to_zds

if TYPE_CHECKING:
    import duckdb
    import pandas

Path = str | os.PathLike[str]
Rows = list[tuple[Any, ...]]

# The name of the collection in a query.
_VIEW = "data"


def register_zds(
    connection: duckdb.DuckDBPyConnection,
    root: Path,
    collection: str = "default",
    view_name: str | None = None,
) -> None:
    """Makes a collection a view, with `_id` as its last column."""
    name = view_name or collection
    hidden = f"{name} by id first"
    existing(root, collection).register(connection, hidden)
    connection.execute(
        f"CREATE OR REPLACE TEMP VIEW {_quoted(name)} AS "
        f"SELECT * EXCLUDE (_id), _id FROM {_quoted(hidden)}"
    )


def query_zds(
    root: Path, collection: str, sql: str, params: Sequence[Any] | None = None
) -> Rows:
    """The rows of a query over a collection, named `data` in it."""
    with ZDSConnection(root) as connection:
        connection.register(collection, _VIEW)
        return connection.query(sql, params)


def sql(root: Path, collection: str, query: str, params: Sequence[Any] | None = None) -> Rows:
    """Like `query_zds`."""
    return query_zds(root, collection, query, params)


def query_zds_df(
    root: Path, collection: str, sql: str, params: Sequence[Any] | None = None
) -> pandas.DataFrame:
    """Like `query_zds`, as a pandas frame."""
    with ZDSConnection(root) as connection:
        connection.register(collection, _VIEW)
        return connection.query_df(sql, params)


def aggregate(
    root: Path, collection: str, group_by: str, aggregations: str, where: str | None = None
) -> Rows:
    """Groups a collection: `aggregate(root, "users", "active", "COUNT(*), AVG(score)")`."""
    condition = f"WHERE {where}" if where else ""
    return query_zds(
        root,
        collection,
        f"SELECT {group_by}, {aggregations} FROM {_VIEW} {condition} GROUP BY {group_by}",
    )


def count_where(root: Path, collection: str, where: str) -> int:
    """The number of documents that meet a condition."""
    rows = query_zds(root, collection, f"SELECT COUNT(*) FROM {_VIEW} WHERE {where}")
    return int(rows[0][0])


def export_query_to_zds(
    connection: duckdb.DuckDBPyConnection,
    sql: str,
    root: Path,
    collection: str = "default",
    id_column: str | None = None,
) -> int:
    """Stores the rows of a query; returns how many."""
    return to_zds(connection.sql(sql).to_arrow_table(), root, collection, id_column)


class ZDSConnection(Closing):
    """A DuckDB connection on the collections of one directory."""

    def __init__(self, root: Path) -> None:
        import duckdb

        self.root = root
        self.connection = duckdb.connect()

    def register(self, collection: str, view_name: str | None = None) -> None:
        """Makes a collection a view, under its own name or another."""
        register_zds(self.connection, self.root, collection, view_name)

    def query(self, sql: str, params: Sequence[Any] | None = None) -> Rows:
        """The rows of a query."""
        rows: Rows = self.connection.execute(sql, params).fetchall()
        return rows

    def query_df(self, sql: str, params: Sequence[Any] | None = None) -> pandas.DataFrame:
        """The rows of a query as a pandas frame."""
        return self.connection.execute(sql, params).df()

    def export(self, sql: str, collection: str, id_column: str | None = None) -> int:
        """Stores the rows of a query as a collection; returns how many."""
        return export_query_to_zds(self.connection, sql, self.root, collection, id_column)

    def close(self) -> None:
        """Closes the connection."""
        self.connection.close()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
