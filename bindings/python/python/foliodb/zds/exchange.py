"""Frames, Arrow tables and HuggingFace data sets, with the names of ZDS."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .. import exchange
from ..collection import Collection
from ..database import open
from ..errors import NotFoundError
from .datasets import ZDataset
from .stores import FastZDSStore, _Store

if TYPE_CHECKING:
    import datasets
    import duckdb
    import pandas
    import pyarrow

    from .._foliodb import BatchCounts

Path = str | os.PathLike[str]


def list_collections(root: Path | str) -> list[str]:
    """The names of the collections in a directory, or at a URL."""
    return open(root, create=False).collections()


def first_collection(root: Path | str) -> str:
    """The name of the first collection in a directory, or at a URL."""
    names = list_collections(root)
    if not names:
        raise NotFoundError(f"there are no collections in {str(root)!r}")
    return names[0]


def existing(root: Path, collection: str) -> Collection:
    """An existing collection, including what this process has not flushed yet."""
    database = open(root, create=False)
    if collection not in database:
        raise NotFoundError(f"no collection {collection!r} in {str(root)!r}")
    return database[collection]


def read_zds(
    root: Path, collection: str = "default", columns: Iterable[str] | None = None
) -> pandas.DataFrame:
    """A collection as a pandas frame."""
    return _bare(existing(root, collection).scan(columns).arrow()).to_pandas()


def to_zds(
    df: Any, root: Path, collection: str = "default", doc_id_column: str | None = None
) -> int:
    """Stores the rows of a frame; returns how many. Ids are row numbers unless a column is
    named."""
    return _written(exchange.to_folio(df, root, collection, id=doc_id_column, if_exists="upsert"))


def to_arrow(source: Path | _Store | Collection, collection: str = "default") -> pyarrow.Table:
    """A collection, by store or by directory, as an Arrow table."""
    if isinstance(source, _Store):
        return _bare(source._documents.scan().arrow())
    if isinstance(source, Collection):
        return _bare(source.scan().arrow())
    return _bare(existing(source, collection).scan().arrow())


def from_arrow(
    table: Any, root: Path, collection: str = "default", doc_id_column: str | None = None
) -> int:
    """Stores the rows of an Arrow table; returns how many."""
    return to_zds(table, root, collection, doc_id_column)


def copy_to_zds(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    root: Path,
    collection: str = "default",
    id_column: str | None = None,
) -> int:
    """Stores a table of a DuckDB connection; returns the number of rows."""
    rows = connection.table(table).to_arrow_table()
    return to_zds(rows, root, collection, id_column)


def from_hf(
    dataset: Any, root: Path, collection: str = "default", id_column: str | None = None
) -> ZDataset | dict[str, ZDataset]:
    """Stores a HuggingFace data set, or a dict of splits as a collection each."""
    counts = exchange.from_hf(dataset, root, collection, id=id_column, if_exists="upsert")
    stored = {name: ZDataset(FastZDSStore.open(root, name)) for name in counts}
    return stored if hasattr(dataset, "keys") else stored[collection]


def to_hf(
    source: ZDataset | _Store | Collection | Path, collection: str | None = None
) -> datasets.Dataset:
    """A data set, a store, or a collection by directory, as a HuggingFace data set.

    `collection` is by default the first of the directory.
    """
    import datasets

    if isinstance(source, ZDataset):
        return datasets.Dataset.from_list(list(source))
    if isinstance(source, (str, os.PathLike)):
        return exchange.to_hf(to_arrow(source, collection or first_collection(source)))
    return exchange.to_hf(to_arrow(source))


def to_hf_dict(root: Path, collections: Iterable[str] | None = None) -> datasets.DatasetDict:
    """The collections of a directory as splits."""
    import datasets

    names = list_collections(root) if collections is None else list(collections)
    return datasets.DatasetDict({name: exchange.to_hf(to_arrow(root, name)) for name in names})


def _bare(table: pyarrow.Table) -> pyarrow.Table:
    return table.drop_columns(["_id"]) if "_id" in table.column_names else table


def _written(counts: BatchCounts) -> int:
    return counts.inserted + counts.replaced
