"""Dask: a collection or a table as a data frame (`pip install 'foliodb[dask]'`).

    from foliodb.dask import from_collection

    from_collection("mydata", "events", columns=["kind"]).groupby("kind").size().compute()
"""

from __future__ import annotations

import os
from collections.abc import Iterable

import dask.dataframe
import pandas
import pyarrow

from ._foliodb import Partition
from .arrow import batches_of, plain_schema
from .database import open
from .partition import read_partition
from .places import absolute

__all__ = ["from_collection"]


def from_collection(
    path: str | os.PathLike[str],
    relation: str,
    *,
    columns: Iterable[str] | None = None,
    filter: str | None = None,
    npartitions: int | None = None,
) -> dask.dataframe.DataFrame:
    """The documents of a collection, or the rows of a table, as a data frame of Dask.

    Columns have pandas' types for Arrow, so integers stay integers where values are missing.
    A path such as `commit.collection` among the `columns` reads only that of its column.
    `npartitions` is by default four per processor, of 4 to 128 MiB each.
    """
    names = None if columns is None else list(columns)
    with open(absolute(path), "r") as database:
        count = npartitions or database.partition_count(relation, os.cpu_count() or 1)
        partitions = database.partitions(relation, count, columns=names, filter=filter)
        meta = _empty(database.partitions(relation, 1, columns=names, filter="false"))
    if not partitions:
        raise ValueError(f"{relation!r} is empty, and an empty frame has no partitions")
    return dask.dataframe.from_map(_frame, partitions, meta=meta)


def _empty(partitions: list[Partition]) -> pandas.DataFrame | None:
    return _frame(partitions[0]) if partitions else None


def _frame(partition: Partition) -> pandas.DataFrame:
    answer = read_partition(partition)
    schema = plain_schema(pyarrow.schema(answer))
    table = pyarrow.Table.from_batches(batches_of(answer), schema=schema)
    return table.to_pandas(types_mapper=pandas.ArrowDtype)
