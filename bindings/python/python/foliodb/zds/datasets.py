"""Data sets with the names of ZDS: those of `foliodb`, without `_id`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from ..collection import Collection
from ..dataset import Dataset
from ..streaming import StreamingDataset
from .stores import FastZDSStore, _Store

Record = dict[str, Any]


def _collection(store: _Store | Collection) -> Collection:
    return store._documents if isinstance(store, _Store) else store


def _without_id(document: Any) -> Any:
    if isinstance(document, dict):
        document.pop("_id", None)
    return document


class ZDataset(Dataset):
    """Any document by position; a slice gives a list."""

    def __init__(self, store: _Store | Collection, ids: Any = None, **settings: Any) -> None:
        settings.setdefault("_steps", (_without_id,))
        super().__init__(_collection(store), ids, **settings)

    @classmethod
    def from_store(
        cls, root: str | os.PathLike[str], collection: str = "default"
    ) -> ZDataset:
        """The data set of a collection by the directory of its database."""
        return cls(FastZDSStore.open(root, collection))


class ZIterableDataset(StreamingDataset):
    """The documents as a stream."""

    def __init__(self, store: _Store | Collection, **settings: Any) -> None:
        super().__init__(_collection(store), **settings)

    @classmethod
    def from_store(
        cls, root: str | os.PathLike[str], collection: str = "default"
    ) -> ZIterableDataset:
        """The data set of a collection by the directory of its database."""
        return cls(FastZDSStore.open(root, collection))

    def _documents(self) -> Iterator[Any]:
        return map(_without_id, (document.to_dict() for document in super()._documents()))

    def shuffle(self, buffer_size: int = 1000, seed: int | None = None) -> ZIterableDataset:
        """Gives a random one of the next `buffer_size` documents each time."""
        return super().shuffle(buffer_size, seed or 0)  # type: ignore[return-value]
