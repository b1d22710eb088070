"""Documents to and from frames, Arrow tables, HuggingFace data sets and DuckDB.

Export uses the Arrow stream of a scan. Import reads row by row and stores with `put_many`: one
atomic batch, with dates as ISO 8601 text, because JSON has none, and what is missing in a pandas
frame (NaN) as null.

The libraries are imported only by the functions that need them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from ._foliodb import BatchCounts, derived_id, generated_id
from .collection import Collection, Scan
from .database import Database, open
from .errors import ConflictError, InvalidInputError

if TYPE_CHECKING:
    import datasets
    import duckdb
    import pyarrow

    from .collection import Filter

Path = str | os.PathLike[str]

# Rows of a data set read at a time.
_BATCH_ROWS = 10_000


def read(
    path: Path,
    collection: str = "default",
    *,
    fields: Iterable[str] | None = None,
    filter: Filter | None = None,
    limit: int | None = None,
) -> Scan:
    """Reads a collection of a database that is not open: `.df()`, `.pl()`, `.arrow()` or iterate.

    Raises `NotFoundError` if the database or collection does not exist.
    """
    return open(path, "r")[collection].scan(fields, filter=filter, limit=limit)


def to_folio(
    data: Any,
    path: Path | Database,
    collection: str = "default",
    *,
    id: str | Callable[[Any], Any] | None = None,
    if_exists: IfExists = "error",
) -> BatchCounts:
    """Stores the rows of a frame, a table or any iterable of dicts as one atomic batch.

    Takes a pandas or polars frame, a pyarrow table or reader, a HuggingFace data set, a
    collection or a scan, anything with an Arrow stream, and iterables of dicts. `id` names the
    column that holds the ids, or is a function of the row; by default that is the column `_id`,
    or the index of a pandas frame if it has a name; rows without an id get a new one. Rows with
    two columns of one name, intervals and infinities are refused. NaN is null from pandas, which
    writes missing numbers so; from others it is refused.

    `if_exists` decides about a collection that has documents: `"error"` refuses, `"append"`
    adds rows and refuses existing ids, `"replace"` replaces all documents by the rows,
    `"upsert"` adds rows and replaces documents with the same id. Two rows with one id are
    refused, except by `"upsert"`, which keeps the later one.

    Raises `ConflictError`, and then stores nothing.
    """
    if if_exists not in _IF_EXISTS:
        known = ", ".join(map(repr, _IF_EXISTS))
        raise InvalidInputError(f"if_exists {if_exists!r} is unknown; use {known}")
    if not isinstance(path, Database):
        with open(path) as database:
            return to_folio(data, database, collection, id=id, if_exists=if_exists)
    target = path[collection]
    if if_exists == "error" and target.count() > 0:
        raise ConflictError(
            f'collection "{collection}" has {target.count()} documents; '
            'give if_exists="append", "replace" or "upsert"'
        )
    records = identified(rows(data), id, _index_name(data))
    if if_exists == "append":
        records = _new_ones(set(target.ids()), collection, records)
    elif if_exists != "upsert":
        records = _new_ones(set(), collection, records)
    if if_exists != "replace":
        return target.put_many(records, default=plain)
    with target.batch(default=plain) as batch:
        for name in target.ids():
            batch.delete(name)
        for name, record in records:
            batch.put(name, record)
        return batch.commit()


IfExists = Literal["error", "append", "replace", "upsert"]
_IF_EXISTS = ("error", "append", "replace", "upsert")


def identified(
    records: Iterator[dict[str, Any]],
    id: str | Callable[[Any], Any] | None,
    index_name: str | None = None,
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The records with their ids: from a field or function, from `_id`, from the index, or
    new."""
    name = index_name if id is None else id
    for record in records:
        if callable(name):
            found = name(record)
        elif "_id" in record and id is None:
            found = record["_id"]
        elif name is None:
            found = generated_id()
        elif name in record:
            found = record[name]
        else:
            raise InvalidInputError(f"a row has no column {name!r} to take its id from")
        yield _id_text(found), record


def _id_text(value: Any) -> str:
    if isinstance(value, str):
        return derived_id(value)
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise InvalidInputError(f"an id is text or an int, not {value!r}")
    return str(value.__index__())


def _new_ones(
    seen: set[str], collection: str, records: Iterator[tuple[str, dict[str, Any]]]
) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, record in records:
        if name in seen:
            raise ConflictError(
                f'collection "{collection}" already has a document "{name}"; '
                'give if_exists="upsert" to replace it'
            )
        seen.add(name)
        yield name, record


def _index_name(data: Any) -> str | None:
    """The name of a pandas frame's index, if it has one."""
    if type(data).__module__.partition(".")[0] != "pandas":
        return None
    name = getattr(data.index, "name", None)
    return None if name is None else str(name)


def rows(data: Any) -> Iterator[dict[str, Any]]:
    """The rows of any supported object, as dicts."""
    kind = type(data).__module__.partition(".")[0]
    if isinstance(data, (Collection, Scan)):
        # Not its Arrow stream: documents keep types that a column would lose.
        yield from data.values() if isinstance(data, Collection) else data
    elif kind == "polars":
        yield from getattr(data, "collect", lambda: data)().iter_rows(named=True)
    elif kind == "pandas":
        yield from _pandas_rows(data)
    elif kind == "pyarrow":
        yield from _arrow_rows(data)
    elif kind == "datasets":
        yield from _dataset_rows(data)
    elif hasattr(data, "__arrow_c_stream__"):
        import pyarrow

        yield from _arrow_rows(pyarrow.RecordBatchReader.from_stream(data))
    elif isinstance(data, Iterable) and not isinstance(data, (str, bytes, Mapping)):
        yield from data
    else:
        raise InvalidInputError(
            f"a {type(data).__name__} has no rows to store; give a frame, a table or dicts"
        )


def _pandas_rows(frame: Any) -> Iterator[dict[str, Any]]:
    if frame.index.name is not None and frame.index.name not in frame.columns:
        frame = frame.reset_index()
    names = _distinct(str(name) for name in frame.columns)
    columns = [frame.iloc[:, index].astype(object) for index in range(len(names))]
    missing = [column.isna() for column in columns]
    lists = [column.mask(gone, None).tolist() for column, gone in zip(columns, missing)]
    for values in zip(*lists):
        yield dict(zip(names, (None if _is_nan(value) else value for value in values)))


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and value != value


def _distinct(names: Iterable[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        if name in found:
            raise InvalidInputError(f"the rows have two columns {name!r}; rename one of them")
        found.append(name)
    return found


def _arrow_rows(data: Any) -> Iterator[dict[str, Any]]:
    _distinct(data.schema.names)
    changes = {field.name: _change(field.name, field.type) for field in data.schema}
    needed = [(name, change) for name, change in changes.items() if change is not None]
    batches = data.to_batches(max_chunksize=_BATCH_ROWS) if hasattr(data, "to_batches") else data
    for batch in batches:
        for row in batch.to_pylist():
            for name, change in needed:
                row[name] = change(row[name])
            yield row


def _change(name: str, kind: pyarrow.DataType) -> Callable[[Any], Any] | None:
    """What makes a value of a type that of a document, if pyarrow's is another: its maps are lists
    of pairs. Intervals are refused."""
    from pyarrow import types

    if types.is_interval(kind):
        raise InvalidInputError(
            f"column {name!r} has intervals, which JSON cannot hold; cast it to text"
        )
    if types.is_map(kind):
        inner = _change(name, kind.item_type) or (lambda value: value)
        return lambda pairs: None if pairs is None else {key: inner(value) for key, value in pairs}
    if types.is_struct(kind):
        members = {field.name: _change(f"{name}.{field.name}", field.type) for field in kind}
        needed = {own: change for own, change in members.items() if change is not None}
        if needed:
            return lambda value: value and {
                own: needed[own](item) if own in needed else item for own, item in value.items()
            }
    elif types.is_nested(kind) and hasattr(kind, "value_type"):
        item = _change(f"{name}[]", kind.value_type)
        if item is not None:
            return lambda values: None if values is None else [item(value) for value in values]
    return None


def _dataset_rows(data: Any) -> Iterator[dict[str, Any]]:
    for batch in data.with_format("arrow").iter(batch_size=_BATCH_ROWS):
        yield from _arrow_rows(batch)


def plain(value: Any) -> Any:
    """Dates, times and similar values as ISO 8601 text; arrays as lists; bytes are refused."""
    for method in ("isoformat", "tolist"):
        if hasattr(value, method):
            return getattr(value, method)()
    raise InvalidInputError(
        f"a {type(value).__name__} cannot be stored as JSON; convert the column first"
    )


def to_hf(scan: Any) -> datasets.Dataset:
    """The documents of a scan or a data set, or anything with an Arrow stream, as a HuggingFace
    data set."""
    import datasets
    import pyarrow

    from .dataset import Dataset

    if isinstance(scan, Dataset):
        return datasets.Dataset.from_list(scan.with_format(None).to_list())
    return datasets.Dataset(_without_extensions(pyarrow.table(scan)))


def _without_extensions(table: Any) -> Any:
    """The table with JSON columns as plain text, which every release of `datasets` knows."""
    import pyarrow

    for index, field in enumerate(table.schema):
        if isinstance(field.type, pyarrow.BaseExtensionType):
            text = field.with_type(field.type.storage_type).remove_metadata()
            table = table.set_column(index, text, table.column(index).cast(text.type))
    return table


def from_hf(
    data: Any,
    path: Path | Database,
    collection: str | None = None,
    *,
    id: str | Callable[[Any], Any] | None = None,
    if_exists: IfExists = "error",
) -> dict[str, BatchCounts]:
    """Stores a HuggingFace data set, or each split of a dict of them as a collection.

    `id` and `if_exists` are those of `to_folio`. Returns the counts by collection.
    """
    splits = data if isinstance(data, Mapping) else {collection or "default": data}
    return {
        name: to_folio(split, path, name, id=id, if_exists=if_exists)
        for name, split in splits.items()
    }


class _Columns:
    """A collection with the interface of a pyarrow data set, so that DuckDB reads only the
    columns it needs."""

    def __init__(self, collection: Collection) -> None:
        self.collection = collection

    @property
    def schema(self) -> Any:
        """The columns, inferred from all documents."""
        import pyarrow

        return pyarrow.schema(self.collection.scan())

    def scanner(self, columns: list[str] | None = None, filter: object = None) -> _Scanner:
        """A scan of these columns. DuckDB never passes a filter."""
        return _Scanner(self.collection, columns)


class _Scanner:
    def __init__(self, collection: Collection, columns: list[str] | None) -> None:
        # A dot is a path into an object, so a name with a dot cannot be selected alone.
        is_narrow = columns and not any("." in column for column in columns)
        self.columns = columns
        self.scan = collection.scan(columns if is_narrow else None)

    def to_reader(self) -> Any:
        """The requested columns, in their order."""
        import pyarrow

        reader = pyarrow.RecordBatchReader.from_stream(self.scan)
        if self.columns is None:
            return reader
        schema = pyarrow.schema([reader.schema.field(name) for name in self.columns])
        batches = (batch.select(self.columns) for batch in reader)
        return pyarrow.RecordBatchReader.from_batches(schema, batches)


def register(collection: Collection, connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """See `Collection.register`."""
    try:
        from duckdb._sources import adapt

        connection._register_arrow_source(name, adapt(_Columns(collection)))
    except (ImportError, AttributeError, TypeError):
        # A release without that interface: DuckDB selects the columns from the stream.
        connection.register(name, collection.scan())
