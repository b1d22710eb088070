"""Polars: a collection or a table as a lazy frame (`pip install 'foliodb[polars]'`).

    from foliodb.polars import scan_folio

    events = scan_folio("mydata", "events")
    events.filter(pl.col("kind") == "view").select("user").collect()

Only the columns that the query uses are read. The parts of its predicate that SQL evaluates the same
are evaluated where the documents are read. Intervals, for which Polars has no type, are text.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import polars
import pyarrow
from polars.io.plugins import register_io_source

from .arrow import batches_of, plain_schema, schema_of
from .conditions import of_polars
from .database import Database, open
from .paths import comparable, in_schema, path_name

__all__ = ["scan_folio"]


def scan_folio(path: str | os.PathLike[str] | Database, relation: str) -> polars.LazyFrame:
    """The documents of a collection, or the rows of a table, as a lazy frame.

    Raises `NotFoundError` if there is no such collection or table.
    """
    database = path if isinstance(path, Database) else open(path, "r")
    known = schema_of(database, relation)
    schema = plain_schema(plain_schema(known), pyarrow.types.is_interval)
    names = schema.names
    pushable = comparable(known)

    def frames(
        columns: list[str] | None,
        predicate: polars.Expr | None,
        limit: int | None,
        batch_size: int | None,
    ) -> Iterator[polars.DataFrame]:
        used = set(columns if columns is not None else names)
        if predicate is not None:
            used.update(predicate.meta.root_names())
        # A frame without columns has no rows, so one is read to count them.
        wanted = [name for name in names if name in used] or names[:1]
        paths = [path_name(name) for name in wanted]
        # Given both, Polars wants the predicate applied to the first rows, so SQL filters nothing.
        is_pushed = predicate is not None and limit is None
        condition = of_polars(predicate, pushable) if is_pushed else None
        left = limit
        for partition in database.partitions(relation, 1, columns=paths, filter=condition):
            for batch in batches_of(database.read_partition(partition)):
                frame = polars.DataFrame(in_schema(batch, schema))
                if left is not None:
                    frame = frame.head(left)
                    left -= frame.height
                if predicate is not None:
                    frame = frame.filter(predicate)
                if columns is not None:
                    frame = frame.select(columns)
                yield frame
                if left == 0:
                    return

    return register_io_source(frames, schema=polars.Schema(_types(schema)), is_pure=False)


def _types(schema: pyarrow.Schema) -> dict[str, Any]:
    empty = polars.DataFrame(schema.empty_table())
    return dict(empty.schema)
