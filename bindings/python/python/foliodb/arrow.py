"""What the engines share: schemas and batches in types that all of them have.

Columns of JSON and uuid are extension types of Arrow, which engines do not know. They become text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow

from ._foliodb import Answer
from .conditions import column
from .database import Database


def schema_of(database: Database, relation: str) -> pyarrow.Schema:
    """The columns of a collection or a table, as `SELECT *` has them."""
    answer = database.sql(f"SELECT * FROM {column(relation)} LIMIT 0")
    return pyarrow.RecordBatchReader.from_stream(answer).schema


def plain_schema(schema: pyarrow.Schema) -> pyarrow.Schema:
    """The same columns in types of Arrow itself."""
    return pyarrow.schema([field.with_type(plain_type(field.type)) for field in schema])


def plain_type(kind: pyarrow.DataType) -> pyarrow.DataType:
    if isinstance(kind, pyarrow.BaseExtensionType):
        return pyarrow.string()
    if not _has_extension(kind):
        return kind
    if pyarrow.types.is_struct(kind):
        return pyarrow.struct([_plain_field(field) for field in kind])
    if pyarrow.types.is_map(kind):
        return pyarrow.map_(kind.key_type, _plain_field(kind.item_field))
    return pyarrow.list_(_plain_field(kind.value_field))


def _plain_field(field: pyarrow.Field) -> pyarrow.Field:
    return field.with_type(plain_type(field.type)).remove_metadata()


def _has_extension(kind: pyarrow.DataType) -> bool:
    if isinstance(kind, pyarrow.BaseExtensionType):
        return True
    return any(_has_extension(kind.field(at).type) for at in range(kind.num_fields))


def batches_of(answer: Answer) -> Iterator[pyarrow.RecordBatch]:
    """The rows of an answer in such types."""
    reader = pyarrow.RecordBatchReader.from_stream(answer)
    schema = plain_schema(reader.schema)
    for batch in reader:
        columns = [_plain(array) for array in batch.columns]
        yield pyarrow.RecordBatch.from_arrays(columns, schema=schema)


def _plain(array: Any) -> Any:
    kind = array.type
    if not isinstance(kind, pyarrow.BaseExtensionType):
        return array.cast(plain_type(kind)) if _has_extension(kind) else array
    if kind.extension_name == "arrow.uuid":
        texts = [None if value is None else str(value) for value in array.to_pylist()]
        return pyarrow.array(texts, pyarrow.string())
    return array.storage.cast(pyarrow.string())
