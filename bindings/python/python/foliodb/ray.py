"""Ray Data: a collection or a table as a data set (`pip install 'foliodb[ray]'`).

    import foliodb.ray

    events = foliodb.ray.read("mydata", "events", filter="kind = 'view'")
    events.groupby("user").count()
    foliodb.ray.write(events, "mydata", "copies")

Each read task reads one partition. The directory of the database must be at the same path on every
node. Task and worker failures are Ray's to repeat: a partition read again has the same rows.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow
import ray.data
from ray.data import Datasink, Datasource
from ray.data.block import BlockAccessor, BlockMetadata
from ray.data.datasource.datasource import ReadTask

from ._foliodb import Partition, PartitionedWriter, WrittenPart
from .arrow import batches_of, plain_schema
from .database import open
from .partition import read_partition
from .places import absolute
from .writing import begun, put_rows

__all__ = ["FolioDatasink", "FolioDatasource", "read", "write"]


def read(
    path: str | os.PathLike[str],
    relation: str,
    *,
    columns: Iterable[str] | None = None,
    filter: str | None = None,
    **options: Any,
) -> ray.data.Dataset:
    """The documents of a collection, or the rows of a table, as a data set.

    `columns` and `filter`, a condition of SQL, are evaluated where the documents are read. A path
    such as `commit.collection` among the columns reads only that of its column.
    `options` are those of `ray.data.read_datasource`, such as `override_num_blocks`.
    """
    source = FolioDatasource(path, relation, columns=columns, filter=filter)
    return ray.data.read_datasource(source, **options)


def write(
    dataset: ray.data.Dataset, path: str | os.PathLike[str], collection: str, **options: Any
) -> None:
    """Adds the rows of a data set to a collection, all at once.

    Rows with the `_id` of a document replace it; rows without one get a new id.

    Raises `InvalidInputError` for the name of a table, into which SQL inserts.
    """
    dataset.write_datasink(FolioDatasink(path, collection), **options)


class FolioDatasource(Datasource):  # type: ignore[misc]
    """A source for `ray.data.read_datasource`."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        relation: str,
        *,
        columns: Iterable[str] | None = None,
        filter: str | None = None,
    ) -> None:
        super().__init__()
        self._path = absolute(path)
        self._relation = relation
        self._columns = None if columns is None else list(columns)
        self._filter = filter
        self._partitions(1)  # what is wrong is known here

    def get_name(self) -> str:
        return "Folio"

    def estimate_inmemory_data_size(self) -> int | None:
        sizes = [partition.size for partition in self._partitions(1)]
        return None if None in sizes else sum(size for size in sizes if size is not None)

    def get_read_tasks(
        self,
        parallelism: int,
        per_task_row_limit: int | None = None,
        data_context: Any = None,
    ) -> list[ReadTask]:
        del data_context
        partitions = self._partitions(parallelism)
        if not partitions:
            return []
        with open(self._path, "r") as database:
            reader = pyarrow.RecordBatchReader.from_stream(database.read_partition(partitions[0]))
            schema = plain_schema(reader.schema)
        return [_task(partition, schema, per_task_row_limit) for partition in partitions]

    def _partitions(self, count: int) -> list[Partition]:
        with open(self._path, "r") as database:
            return database.partitions(
                self._relation, count, columns=self._columns, filter=self._filter
            )


class FolioDatasink(Datasink[list[str]]):  # type: ignore[misc]
    """A sink for `Dataset.write_datasink`: all blocks are published at once, or none."""

    def __init__(self, path: str | os.PathLike[str], collection: str) -> None:
        self._path = absolute(path)
        self._collection = collection
        self._job = ""

    def get_name(self) -> str:
        return "Folio"

    def on_write_start(self, schema: pyarrow.Schema | None = None) -> None:
        del schema
        self._job = begun(self._path, self._collection)

    def write(self, blocks: Iterable[Any], ctx: Any) -> list[str]:
        part = PartitionedWriter(self._job).part(ctx.task_idx)
        for block in blocks:
            put_rows(part, BlockAccessor.for_block(block).to_arrow())
        return [str(part.finish())]

    def on_write_complete(self, write_result: Any) -> None:
        texts = [text for returned in write_result.write_returns for text in returned]
        PartitionedWriter(self._job).commit([WrittenPart(text) for text in texts])

    def on_write_failed(self, error: Exception) -> None:
        del error
        if self._job:
            PartitionedWriter(self._job).abort()


def _task(partition: Partition, schema: pyarrow.Schema, limit: int | None) -> ReadTask:
    # Of a filter it is not known how many rows pass.
    row_count = partition.row_count if partition.filter is None else None
    metadata = BlockMetadata(
        num_rows=row_count, size_bytes=partition.size, exec_stats=None, input_files=None
    )

    def blocks() -> Iterator[pyarrow.Table]:
        any_rows = False
        for batch in batches_of(read_partition(partition)):
            any_rows = True
            yield pyarrow.Table.from_batches([batch])
        if not any_rows:
            yield schema.empty_table()

    return ReadTask(blocks, metadata, schema=schema, per_task_row_limit=limit)
