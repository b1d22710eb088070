"""Data sets with the names of ZDS: those of `foliodb`, without `_id`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..collection import Collection
from ..dataset import Dataset, Ids
from ..streaming import StreamingDataset
from .stores import FastZDSStore, _Store

Record = dict[str, Any]


def _collection(store: _Store | Collection) -> Collection:
    return store._documents if isinstance(store, _Store) else store


def _without_id(document: Record) -> Record:
    del document["_id"]
    return document


def _without_ids(documents: list[Record]) -> list[Record]:
    return [_without_id(document) for document in documents]


class _Replaced:
    """A function whose results replace the documents, as in ZDS."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def __call__(self, documents: list[Any]) -> list[Any]:
        return [self.function(document) for document in documents]

    def one(self, document: Any) -> Any:
        """The result of the function."""
        return self.function(document)


class ZDataset(Dataset):
    """Any document by position; a slice gives a list."""

    def __init__(self, store: _Store | Collection, ids: Any = None, **settings: Any) -> None:
        settings.setdefault("_steps", (_without_ids,))
        super().__init__(_collection(store), ids, **settings)

    def map(self, function: Callable[..., Any], **settings: Any) -> Dataset:
        """Applies a function to every document; its result replaces the document.

        With any option of `foliodb.Dataset.map` it behaves like that.
        """
        if settings:
            return super().map(function, **settings)
        return self._with(_steps=(*self._steps, _Replaced(function)))

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

    def _looked_up(self, ids: Ids, order: Iterable[int]) -> Iterator[Any]:
        return map(_without_id, super()._looked_up(ids, order))

    def map(self, function: Callable[..., Any], **settings: Any) -> StreamingDataset:
        """Applies a function to every document; its result replaces the document.

        With any option of `foliodb.StreamingDataset.map` it behaves like that.
        """
        if settings:
            return super().map(function, **settings)
        return self._with("map", _Replaced(function))

    def shuffle(
        self, buffer_size: int | None = 1000, seed: int | None = None
    ) -> ZIterableDataset:
        """Yields a random one of the next `buffer_size` documents each time."""
        return super().shuffle(buffer_size, seed or 0)  # type: ignore[return-value]
