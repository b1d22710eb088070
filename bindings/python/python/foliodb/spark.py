"""Spark: a collection or a table as a source of data frames (`pip install 'foliodb[spark]'`).

    import foliodb.spark

    foliodb.spark.register(spark)
    events = spark.read.format("folio").option("collection", "events").load("mydata")
    events.createOrReplaceTempView("events")
    spark.sql("SELECT kind, count(*) FROM events GROUP BY kind").show()

Each task reads one partition as Arrow batches. Spark evaluates the filters of a query itself. A
condition of SQL that is evaluated where the documents are read is an option of the reader, and holds
for every query of the frame: `.option("filter", "kind = 'click' AND n > 3")`. Spark does not tell a
source of this kind which columns a query uses, so name them where it matters:
`.option("columns", "kind, place.city")`, or give a schema. Of a struct, only the members in the schema
are read:

    reader = spark.read.format("folio").schema("kind string, place struct<city string>")

There is no `pushFilters`: Spark 4.3 leaves the filters of one query in the frame, for the next.

    frame.write.format("folio").option("collection", "events").mode("append").save("mydata")

Each task writes a file of its own, and the driver publishes all of them at once: readers see nothing
of a write before, and nothing of one that failed. Rows with the `_id` of a document replace it; rows
without one get a new id.

A stream reads what is put into a collection, in micro-batches:

    events = spark.readStream.format("folio").option("collection", "events").load("mydata")

The offset of a batch is a position in the file of lines (`Collection.position`), which proves what
was read before it. So a query that starts again goes on where it was, and one whose file was
compacted or edited ends with an error. A batch has the documents put between two positions, without
those that were replaced or deleted before it was read. Deletes are not seen.

The directory of the database must be at the same path on every worker.
"""

from __future__ import annotations

import gc
import inspect
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow
from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

try:
    from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
except ImportError:  # before PySpark 4.2, which ends such a query after one batch
    SupportsTriggerAvailableNow = object

from ._foliodb import Partition, PartitionedWriter, WrittenPart
from .arrow import batches_of, plain_schema, schema_of
from .database import Database, open
from .errors import ConflictError, InvalidInputError
from .partition import read_partition
from .paths import fitted, path_name, paths_of, without_unknown
from .places import absolute
from .writing import BY_SQL, begun, put_rows

__all__ = ["FolioDataSource", "register"]

# Parts of a batch of a stream for each processor of the cluster, so that one slow task does not decide.
_PARTS_PER_CORE = 4


def register(spark: SparkSession) -> None:
    """Makes the format `folio` known to a session."""
    spark.dataSource.register(FolioDataSource)


class FolioDataSource(DataSource):  # type: ignore[misc]
    """The format `folio`.

    `collection`, or `table` for reading only, names the documents or rows, in the database at `path`;
    `columns` is a list of names and paths with commas; `filter` is a condition of SQL; `partitions` is
    the number of tasks at most, by default four per processor, of 4 to 128 MiB each.
    `since` is the position that a new stream begins at, the beginning by default.
    """

    @classmethod
    def name(cls) -> str:
        return "folio"

    def schema(self) -> StructType:
        place = _Place(self.options)
        with open(place.path, "r") as database:
            schema = _read_schema(database, place.relation, place.columns)
        return from_arrow_schema(_spark_schema(schema))

    def reader(self, schema: StructType) -> DataSourceReader:
        return _Reader(_Place(self.options), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        return _StreamReader(_Place(self.options), schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        del schema
        if overwrite:
            raise InvalidInputError('the format "folio" appends; write with .mode("append")')
        if not self.options.get("collection"):
            raise InvalidInputError(
                'a write names a collection: .option("collection", "events"); '
                f"into tables, {BY_SQL}"
            )
        return _Writer(_Place(self.options))


class _Place:
    """What the options say."""

    def __init__(self, options: Any) -> None:
        path = options.get("path")
        relation = options.get("collection") or options.get("table")
        if not path or not relation:
            raise InvalidInputError(
                "name the collection and the database: "
                '.option("collection", "events").load("mydata")'
            )
        self.path = absolute(path.removeprefix("file:"))
        self.relation = relation
        columns = options.get("columns")
        self.columns = columns and [name.strip() for name in columns.split(",")]
        self.filter = options.get("filter") or None
        self.count = int(options.get("partitions") or 0)
        self.since = options.get("since") or None


class _Input(InputPartition):  # type: ignore[misc]
    def __init__(self, text: str) -> None:
        super().__init__(text)


class _Reader(DataSourceReader):  # type: ignore[misc]
    def __init__(self, place: _Place, schema: StructType) -> None:
        self._place = place
        self._schema = _arrow_schema(schema)

    def partitions(self) -> Sequence[InputPartition]:
        relation = self._place.relation
        with open(self._place.path, "r") as database:
            planned = database.partitions(
                relation,
                self._place.count or database.partition_count(relation, _core_count()),
                columns=_paths(self._schema, schema_of(database, relation)),
                filter=self._place.filter,
            )
        # Spark wants one at least, and reads nothing of an empty one.
        return [_Input(str(partition)) for partition in planned] or [_Input("")]

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        return _batches(partition.value, self._schema)


class _StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
    """The driver keeps one for a query, each task makes its own. The position of the beginning is
    `None`."""

    def __init__(self, place: _Place, schema: StructType) -> None:
        self._place = place
        self._schema = _arrow_schema(schema)
        # Where a query ends that reads only what is there when it starts.
        self._target: dict[str, str] | None = None

    def initialOffset(self) -> dict[str, str | None]:  # noqa: N802 - Spark's name
        return {"position": self._place.since}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        self._target = self.latestOffset()

    # Spark 4.2 and later pass where the batch starts, and a limit, which is none; others nothing.
    def latestOffset(self, start: Any = None, limit: Any = None) -> dict[str, str]:  # noqa: N802
        del start, limit
        if self._target is not None:
            return self._target
        with open(self._place.path, "r") as database:
            return {"position": database[self._place.relation].position()}

    def partitions(
        self, start: dict[str, str | None], end: dict[str, str | None]
    ) -> Sequence[InputPartition]:
        with open(self._place.path, "r") as database:
            known = schema_of(database, self._place.relation)
            try:
                planned = database.partitions(
                    self._place.relation,
                    self._place.count or _core_count() * _PARTS_PER_CORE,
                    # What a given schema has and no document has yet is null.
                    columns=_paths(_known_part(self._schema, known), known) or ["_id"],
                    filter=self._place.filter,
                    since=start["position"],
                    until=end["position"],
                )
            except ConflictError as error:
                raise ConflictError(
                    f"{error}; start the query with a new checkpointLocation"
                ) from error
        return [_Input(str(partition)) for partition in planned]

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        return _batches(partition.value, self._schema)


def _batches(partition: str, schema: pyarrow.Schema) -> Iterator[pyarrow.RecordBatch]:
    """The rows of a partition in the columns of a schema. Columns it does not have are null."""
    if not partition:
        return
    _freeze_modules()
    for batch in batches_of(read_partition(Partition(partition))):
        found = dict(zip(batch.schema.names, batch.columns, strict=True))
        columns = [
            fitted(found[field.name], field.type)
            if field.name in found
            else pyarrow.nulls(batch.num_rows, field.type)
            for field in schema
        ]
        yield pyarrow.RecordBatch.from_arrays(columns, schema=schema)


def _freeze_modules() -> None:
    """Spark collects garbage after every task. In a worker most of what that walks through are the
    modules, which live as long as the process: an eighth to a fifth of a query's processor time."""
    if not gc.get_freeze_count():
        gc.freeze()


@dataclass
class _Message(WriterCommitMessage):  # type: ignore[misc]
    part: str


class _Writer(DataSourceArrowWriter):  # type: ignore[misc]
    """Each task writes a part; the driver publishes all of them, or none."""

    def __init__(self, place: _Place) -> None:
        self._job = begun(place.path, place.relation)

    def write(self, iterator: Iterator[pyarrow.RecordBatch]) -> WriterCommitMessage:
        context = TaskContext.get()
        task = context.partitionId() if context is not None else 0
        part = PartitionedWriter(self._job).part(task)
        for batch in iterator:
            put_rows(part, pyarrow.Table.from_batches([batch]))
        return _Message(str(part.finish()))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        found = [message.part for message in messages if isinstance(message, _Message)]
        PartitionedWriter(self._job).commit([WrittenPart(text) for text in found])

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        del messages
        PartitionedWriter(self._job).abort()


def _core_count() -> int:
    session = SparkSession.getActiveSession()
    return session.sparkContext.defaultParallelism if session is not None else os.cpu_count() or 1


def _read_schema(
    database: Database, relation: str, columns: Sequence[str] | None
) -> pyarrow.Schema:
    """The columns, or those that paths name, as they are read."""
    if columns is None:
        return schema_of(database, relation)
    planned = database.partitions(relation, 1, columns=columns, filter="false")
    if not planned:
        raise InvalidInputError(f"{relation!r} has no rows, so columns mean nothing yet")
    answer = database.read_partition(planned[0])
    return pyarrow.RecordBatchReader.from_stream(answer).schema


def _paths(schema: pyarrow.Schema, known: pyarrow.Schema) -> list[str]:
    """What is read for a schema: whole columns, and of structs the members that it has."""
    whole = _arrow_schema(from_arrow_schema(_spark_schema(known)))
    paths = []
    for field in schema:
        if field.name not in known.names or field.type == whole.field(field.name).type:
            paths.append(path_name(field.name))
        else:
            paths.extend(paths_of(field, known.field(field.name).type))
    return paths


def _known_part(schema: pyarrow.Schema, known: pyarrow.Schema) -> pyarrow.Schema:
    """A schema without what no document has yet. A struct of which nothing is left is read whole."""
    fields = []
    for field in schema:
        if field.name in known.names:
            own = known.field(field.name).type
            fields.append(field.with_type(without_unknown(field.type, own) or own))
    return pyarrow.schema(fields)


def _spark_schema(schema: pyarrow.Schema) -> pyarrow.Schema:
    """The columns in types that Spark has; others become text."""
    return plain_schema(plain_schema(schema), _is_text)


def _is_text(kind: pyarrow.DataType) -> bool:
    types = pyarrow.types
    return bool(types.is_time(kind) or types.is_interval(kind) or types.is_duration(kind))


def _arrow_schema(schema: StructType) -> pyarrow.Schema:
    """A schema of Spark in types of Arrow, with timestamps in UTC, as Spark wants them of a source."""
    # PySpark 4.3 wants the zone; others have no such argument, and take UTC.
    has_zone = "timezone" in inspect.signature(to_arrow_schema).parameters
    return to_arrow_schema(schema, **({"timezone": "UTC"} if has_zone else {}))
