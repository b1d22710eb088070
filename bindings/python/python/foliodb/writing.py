"""What the engines share to write: a job for a collection, and rows into a part of it."""

from __future__ import annotations

import pyarrow

from ._foliodb import PartWriter
from .database import open
from .errors import InvalidInputError

BY_SQL = 'insert by SQL: database.sql("INSERT INTO …"), or COPY'

_HIDING = (
    "SELECT table_name FROM information_schema.tables "
    "WHERE table_type <> 'COLLECTION' AND lower(table_name) = lower(?)"
)


def begun(path: str, collection: str) -> str:
    """A job that writes to a collection, as text for other processes."""
    with open(path) as database:
        hiding = database.sql(_HIDING, [collection]).fetchone()
        if hiding is not None:
            # A collection of that name would be made, and no statement would find it.
            raise InvalidInputError(f'"{hiding[0]}" is a table or view, not a collection; {BY_SQL}')
        return str(database[collection].partitioned_writer())


def put_rows(part: PartWriter, rows: pyarrow.Table) -> None:
    """Puts the rows of a table into a part. One without rows may have no columns either."""
    if rows.num_rows:
        part.put_arrow(rows)
