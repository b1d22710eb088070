"""What the engines share: schemas and batches in types that all of them have.

Columns of JSON and uuid are extension types of Arrow, which engines do not know. They become text, and so do
intervals where an engine has no type for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow

from ._foliodb import Answer
from .conditions import column
from .database import Database, open


def _is_extension(kind: pyarrow.DataType) -> bool:
    return isinstance(kind, pyarrow.BaseExtensionType)


def schema_of(database: Database, relation: str) -> pyarrow.Schema:
    """The columns of a collection or a table, as `SELECT *` has them."""
    answer = database.sql(f"SELECT * FROM {column(relation)} LIMIT 0")
    return pyarrow.RecordBatchReader.from_stream(answer).schema


def plain_schema(
    schema: pyarrow.Schema, is_text: Callable[[pyarrow.DataType], bool] = _is_extension
) -> pyarrow.Schema:
    """The same columns in types of Arrow itself. Types of which `is_text` is true become text, also
    within others."""
    return pyarrow.schema([field.with_type(_plain_type(field.type, is_text)) for field in schema])


def _plain_type(
    kind: pyarrow.DataType, is_text: Callable[[pyarrow.DataType], bool] = _is_extension
) -> pyarrow.DataType:
    def plain_field(field: pyarrow.Field) -> pyarrow.Field:
        return field.with_type(_plain_type(field.type, is_text)).remove_metadata()

    if is_text(kind):
        return pyarrow.string()
    if not _has(kind, is_text):
        return kind
    if pyarrow.types.is_struct(kind):
        return pyarrow.struct([plain_field(field) for field in kind])
    if pyarrow.types.is_map(kind):
        return pyarrow.map_(kind.key_type, plain_field(kind.item_field))
    return pyarrow.list_(plain_field(kind.value_field))


def _has(kind: pyarrow.DataType, is_text: Callable[[pyarrow.DataType], bool]) -> bool:
    """Whether a type, or one within it, becomes text."""
    if is_text(kind):
        return True
    return any(_has(kind.field(at).type, is_text) for at in range(kind.num_fields))


def batches_of(answer: Answer) -> Iterator[pyarrow.RecordBatch]:
    """The rows of an answer in types of Arrow itself."""
    reader = pyarrow.RecordBatchReader.from_stream(answer)
    schema = plain_schema(reader.schema)
    for batch in reader:
        columns = [_plain(array) for array in batch.columns]
        yield pyarrow.RecordBatch.from_arrays(columns, schema=schema)


def _plain(array: Any) -> Any:
    kind = array.type
    if not _is_extension(kind):
        return array.cast(_plain_type(kind)) if _has(kind, _is_extension) else array
    if kind.extension_name == "arrow.uuid":
        texts = [None if value is None else str(value) for value in array.to_pylist()]
        return pyarrow.array(texts, pyarrow.string())
    return array.storage.cast(pyarrow.string())


def interval_texts(array: Any) -> Any:
    """Intervals as SQL prints them: `1 mon 2 days 00:00:03.5`."""
    with open(":memory:") as database:
        database.register("spans", pyarrow.table({"at": range(len(array)), "span": array}))
        texts = database.sql("SELECT span::text AS span FROM spans ORDER BY at").arrow()["span"]
        return texts.combine_chunks().cast(pyarrow.string())
