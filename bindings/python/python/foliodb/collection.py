"""Collections of documents, and scans over them."""

from __future__ import annotations

import os

from . import _foliodb
from ._checking import TYPE_CHECKING, overload
from .errors import FolioWarning, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import IO, Any, Literal, TypeVar

    import duckdb
    import pandas
    import polars
    import pyarrow
    from typing_extensions import CapsuleType

    from .dataset import Dataset
    from .fields import Fields
    from .streaming import StreamingDataset

    Default = TypeVar("Default")
    FileFormat = Literal[
        "jsonl", "json", "csv", "tsv", "ion", "ion-binary", "arrow", "parquet"
    ]
    Filter = Callable[[dict[str, Any]], object]
    Progress = Callable[[int, int], object]


class Scan(_foliodb.Scan):
    """The documents of a collection in file order, as of the start of the scan.

    An iterator: memory does not grow with the collection. `next_batch(n)` returns
    the next `n` documents as a list; `progress()` returns bytes done and in total.

    It is also an Arrow stream (`__arrow_c_stream__`): `polars.DataFrame(scan)`,
    `pyarrow.table(scan)`, `SELECT … FROM scan` in DuckDB, and the methods below. Column types
    come from all documents and are those of SQL, with nesting: integers are `int64`, fractions
    `double`, objects structs, arrays lists; mixed types and larger integers are JSON text.
    Columns always start with the first document, even after iteration.

    Its `repr` shows the next documents without consuming them.
    """

    def arrow(self) -> pyarrow.Table:
        """The documents as a pyarrow table (needs pyarrow)."""
        import pyarrow

        return pyarrow.table(self)

    def df(self) -> pandas.DataFrame:
        """The documents as a pandas frame (needs pandas and pyarrow)."""
        return self.arrow().to_pandas()

    def pl(self) -> polars.DataFrame:
        """The documents as a polars frame (needs polars)."""
        import polars

        return polars.DataFrame(self)

    def __repr__(self) -> str:
        from .table import scan_text

        return scan_text(self)

    def _repr_html_(self) -> str:
        from .table import scan_html

        return scan_html(self)


class Collection(_foliodb.Collection):
    """A collection of documents under ids.

    It is used like a `dict` (`users["u1"]`, `"u1" in users`, `len(users)`, `del users["u1"]`),
    and iterates over its ids in file order. A document is a `dict` of JSON values;
    `_id` is the first member of a document read. Threads may share a collection.

    It is also an Arrow stream, that of `scan()`: `polars.DataFrame(users)`,
    `pyarrow.table(users)`, `duckdb.sql("SELECT … FROM users")`.
    """

    def scan(
        self,
        fields: Iterable[str] | None = None,
        *,
        where: str | None = None,
        params: Any = None,
        filter: Filter | None = None,
        limit: int | None = None,
        decimal: bool = False,
        lazy: bool = False,
    ) -> Scan:
        """The documents in file order, streaming, as of now.

        `fields` selects fields, as dotted paths (`"metadata.source"`), besides `_id`;
        `where` is a condition of SQL (`"age > ?"`) and `params` its values, a sequence for
        `?`, a dict for `:name`; `filter` is a function of the whole document, which is
        much slower; `limit` is a number of documents. `decimal` returns fractions as
        `decimal.Decimal`, with the digits of the file. `lazy` yields `Document`s, which
        parse only the fields accessed.
        """
        return Scan(
            self,
            _names(fields),
            filter=filter,
            condition=where,
            params=params,
            limit=limit,
            decimal=decimal,
            lazy=lazy,
        )

    def scan_raw(
        self,
        fields: Iterable[str] | None = None,
        *,
        where: str | None = None,
        params: Any = None,
        filter: Filter | None = None,
        limit: int | None = None,
    ) -> Scan:
        """Like `scan`, with the exact line of each document as a `str`."""
        return Scan(
            self,
            _names(fields),
            filter=filter,
            condition=where,
            params=params,
            limit=limit,
            raw=True,
        )

    def import_file(
        self,
        source: str | os.PathLike[str] | IO[Any],
        *,
        format: FileFormat | None = None,
        id_field: str | None = None,
        generate_ids: bool = False,
        on_conflict: Literal["replace", "skip", "error"] = "replace",
        delimiter: str | None = None,
        columns: Iterable[str] | None = None,
        infer_types: bool = True,
        rejected_path: str | os.PathLike[str] | None = None,
        restart: bool = False,
        progress: Progress | bool | None = None,
    ) -> _foliodb.ImportReport:
        """Imports a path, a URL or an open file, optionally compressed with gzip or zstd.

        The extension selects the format: `.jsonl`, `.json`, `.csv`, `.tsv`, `.ion`,
        `.10n`, `.parquet` or `.arrow`, each also with `.gz` or `.zst`; for other names
        the first bytes do. `format` overrides it. `id_field` names the field with the id
        (by default `_id`); `generate_ids` gives ids to records without one. Records that
        cannot become documents are counted, and written to `rejected_path` if given.
        `delimiter`, `columns` and `infer_types` are for CSV. An interrupted import
        resumes, unless `restart` is set. `progress` receives bytes done and in total.

        Raises `FolioSyntaxError` if the source as a whole is unreadable, and `ConflictError`
        under `on_conflict="error"`.
        """
        arguments = {
            "format": format,
            "id_field": id_field,
            "generate_ids": generate_ids,
            "on_conflict": on_conflict,
            "delimiter": delimiter,
            "columns": None if columns is None else list(columns),
            "infer_types": infer_types,
            "rejected_path": rejected_path,
            "restart": restart,
        }
        return _foliodb._import_file(self, source, arguments, progress_of(progress))

    def export_file(
        self,
        target: str | os.PathLike[str],
        *,
        format: FileFormat | Literal["zds"] | None = None,
        fields: Iterable[str] | None = None,
        where: str | None = None,
        params: Any = None,
        limit: int | None = None,
        progress: Progress | bool | None = None,
    ) -> _foliodb.ExportReport:
        """Exports the documents to a file, or to a directory for `"zds"`.

        The extension selects the format, as for `import_file`; without a known extension
        `format` is required. A `format` that contradicts the extension raises
        `InvalidInputError`. Text formats keep key order and the text of numbers. In CSV
        and TSV null is an empty cell, and lists and objects are JSON text. Parquet and
        Arrow have typed columns; values without a common type are JSON text. An existing
        file is replaced once the new one is complete.
        """
        return _foliodb._export_file(
            self, target, format, _names(fields) or [], limit, where, params, progress_of(progress)
        )

    def put_many(
        self,
        documents: Any,
        *,
        id: str | Callable[[Any], Any] | None = None,
        default: Callable[[Any], Any] | None = None,
        progress: Progress | bool | None = None,
    ) -> _foliodb.BatchCounts:
        """Stores many documents as one atomic batch: all of them, or none.

        Takes an iterable of dicts (an id is generated for one without `_id`), an iterable
        of pairs of id and dict, or a mapping from ids to dicts. `id` names the field with
        the id, or is a function of the document; text that is not a valid id is converted
        to one, always the same. `default` converts objects that JSON cannot hold.
        The batch is durable when this returns, unless durability is `"none"`.

        Raises `InvalidInputError` with the path of a value that cannot be stored; then,
        and when the iterable raises, nothing is stored.
        """
        return super().put_many(documents, id=id, default=default, progress=progress_of(progress))

    def update(
        self,
        where: str,
        patch: Any,
        params: Any = None,
        *,
        default: Callable[[Any], Any] | None = None,
    ) -> int:
        """Applies a JSON merge patch (RFC 7396) to the documents that meet a condition of SQL,
        all or none of them. Returns their number.

            users.update("age > ?", {"senior": True, "draft": None}, [64])

        A member that is `None` in the patch is removed. Raises the errors of the condition,
        and those of `patch`.
        """
        return self._update(where, patch, params, default=default)

    @overload
    def pop(self, id: str | int, /) -> dict[str, Any]: ...

    @overload
    def pop(self, id: str | int, default: Default, /) -> dict[str, Any] | Default: ...

    def pop(self, id: str | int, /, *default: Any) -> Any:
        """Deletes a document and returns it, atomically.

        Returns `default` when there is none, or raises `NotFoundError` without a default.
        """
        found = self._pop(id)
        if found is not None:
            return found
        if default:
            return default[0]
        raise NotFoundError(f'no document "{id}" in collection "{self.name}"')

    def refresh(self) -> None:
        """Reads what other processes and people have written."""
        super().refresh()
        warn_of_broken_lines(self, stacklevel=2)

    @overload
    def dataset(self, *, streaming: Literal[False] = False) -> Dataset: ...

    @overload
    def dataset(self, *, streaming: Literal[True]) -> StreamingDataset: ...

    def dataset(self, *, streaming: bool = False) -> Dataset | StreamingDataset:
        """The documents as a data set for training.

        Map-style by default: it has a length, and any document by position. `streaming=True`
        gives an iterable one, which holds nothing in memory. Either works in a PyTorch
        `DataLoader`.
        """
        if streaming:
            from .streaming import StreamingDataset

            return StreamingDataset(self)
        from .dataset import Dataset

        return Dataset(self)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> CapsuleType:
        return self.scan().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> CapsuleType:
        return self.scan().__arrow_c_schema__()

    def register(self, connection: duckdb.DuckDBPyConnection, name: str | None = None) -> None:
        """Makes the collection a view of a DuckDB connection, under its own name or another.

        Queries read the collection as it is then, and only the columns they use.
        """
        from .exchange import register

        register(self, connection, name or self.name)

    def fields(self) -> Fields:
        """What is known of each path of the documents: a list of dictionaries.

        A dictionary has the `path`, its `type`, the `share` of documents that have it (in a list,
        of its elements), about how many `distinct` values there are, the smallest and the largest
        as `min` and `max`, up to three `examples`, and the numbers of values by `kinds`. Long
        strings are cut. Documents that were replaced or deleted count too, until `compact` or
        `reindex`. Printed, the list is a table.
        """
        from .fields import Fields

        return Fields(self._fields())

    def __iter__(self) -> Iterator[str]:
        return iter(self.ids())

    def keys(self) -> list[str]:
        """All ids, in file order."""
        return self.ids()

    def values(self) -> Scan:
        """All documents, streaming."""
        return self.scan()

    def items(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """All pairs of id and document, streaming."""
        return ((document["_id"], document) for document in self.scan())

    def __repr__(self) -> str:
        from .table import collection_text

        return collection_text(self)

    def _repr_html_(self) -> str:
        from .table import collection_html

        return collection_html(self)


def warn_of_broken_lines(collection: Collection, stacklevel: int) -> None:
    """Warns of each line of the file that is not a document."""
    broken = collection._broken_lines()
    if broken:
        from warnings import warn

        for text in broken:
            warn(text, FolioWarning, stacklevel=stacklevel + 1)


def _names(fields: Iterable[str] | None) -> list[str] | None:
    if fields is None:
        return None
    return [fields] if isinstance(fields, str) else list(fields)


def progress_of(progress: Progress | bool | None) -> Progress | None:
    """The receiver of progress: `True` is a line on standard error."""
    if progress is True:
        from .progress import Line

        return Line()
    return progress or None
