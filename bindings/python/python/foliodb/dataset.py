"""Map-style data sets: any document by position, for training and evaluation.

A data set is a list of ids and a list of positions in it: selecting, shuffling and
sharding copy positions, never documents, and a document is read when it is asked
for. Goes into a PyTorch `DataLoader` as it is: `__getitems__` reads a whole batch
in one call, workers may fork or spawn, and a pickle holds the ids and reopens the
collection by path.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

from .errors import InvalidInputError, NotFoundError
from .order import shuffled
from .tensors import Format, formatter

if TYPE_CHECKING:
    from .collection import Collection

Record = dict[str, Any]

# Documents read at a time by whatever goes through all of them.
_BATCH_ROWS = 1_000


class Ids(Sequence[str]):
    """Ids in one piece of memory, which forked workers share without copying."""

    def __init__(self, ids: Iterable[str]) -> None:
        encoded = [name.encode() for name in ids]
        self.text = b"".join(encoded)
        self.ends = array("Q", [0])
        end = 0
        for name in encoded:
            end += len(name)
            self.ends.append(end)

    def __len__(self) -> int:
        return len(self.ends) - 1

    def __getitem__(self, index: Any) -> Any:
        return self.text[self.ends[index] : self.ends[index + 1]].decode()


class Dataset(Sequence[Any]):
    """The documents of a collection by position, as of when the data set was made.

    `ds[0]`, `ds[-1]`, `ds[2:5]` and `ds[[4, 1]]` give documents, `ds["name"]` a column.
    `select`, `shuffle`, `filter`, `take`, `skip`, `shard` and `map` give data sets and
    leave this one as it is. Documents that are updated later are read as they are
    then; one that was deleted raises `NotFoundError`.
    """

    def __init__(
        self,
        collection: Collection,
        ids: Sequence[str] | None = None,
        *,
        _indices: array[int] | None = None,
        _steps: tuple[Callable[[Any], Any], ...] = (),
        _format: Format | None = None,
    ) -> None:
        self._collection = collection
        self._ids = Ids(collection.ids()) if ids is None else ids
        self._indices = array("Q", range(len(self._ids))) if _indices is None else _indices
        self._steps = _steps
        self._format = _format

    def _with(self, **changes: Any) -> Dataset:
        settings: dict[str, Any] = {
            "_indices": self._indices,
            "_steps": self._steps,
            "_format": self._format,
        }
        settings.update(changes)
        return type(self)(self._collection, self._ids, **settings)

    @property
    def collection(self) -> Collection:
        """The collection it reads."""
        return self._collection

    def __len__(self) -> int:
        return len(self._indices)

    @overload
    def __getitem__(self, key: int) -> Any: ...

    @overload
    def __getitem__(self, key: slice | Sequence[int] | str) -> list[Any]: ...

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return self.column(key)
        if isinstance(key, slice):
            return self._read(self._indices[key])
        if hasattr(key, "__index__"):
            return self._read([self._indices[key.__index__()]])[0]
        return self.__getitems__(key)

    def __getitems__(self, keys: Iterable[int]) -> list[Any]:
        """The documents at several positions, read in one call, as `DataLoader` asks."""
        return self._read([self._indices[int(key)] for key in keys])

    def __iter__(self) -> Iterator[Any]:
        for start in range(0, len(self), _BATCH_ROWS):
            yield from self[start : start + _BATCH_ROWS]

    def _read(self, indices: Iterable[int]) -> list[Any]:
        names = [self._ids[index] for index in indices]
        documents = self._collection.get_many(names)
        for name, document in zip(names, documents):
            if document is None:
                raise NotFoundError(
                    f"document {name!r} was deleted since the data set was made; make it anew"
                )
        for step in self._steps:
            documents = [step(document) for document in documents]
        convert = formatter(self._format)
        return documents if convert is None else [convert(document) for document in documents]

    def column(self, name: str) -> list[Any]:
        """The values of one field, `None` where a document lacks it."""
        return [document.get(name) for document in self]

    @property
    def features(self) -> dict[str, str]:
        """The fields of the first document, with the names of their types."""
        if not len(self):
            return {}
        return {key: type(value).__name__ for key, value in self[0].items()}

    def select(self, positions: Iterable[int]) -> Dataset:
        """The documents at these positions, in this order."""
        indices = self._indices
        return self._with(_indices=array("Q", (indices[int(place)] for place in positions)))

    def shuffle(self, seed: int = 0) -> Dataset:
        """All documents in random order: the same for the same seed, on every machine."""
        return self._with(_indices=shuffled(self._indices, seed))

    def map(self, function: Callable[[Any], Any]) -> Dataset:
        """Applies a function to every document when it is read."""
        return self._with(_steps=(*self._steps, function))

    def filter(self, predicate: Callable[[Any], object]) -> Dataset:
        """Keeps the documents that a function accepts. Reads all of them now."""
        kept = (index for index, document in zip(self._indices, self) if predicate(document))
        return self._with(_indices=array("Q", kept))

    def take(self, count: int) -> Dataset:
        """The first documents."""
        return self._with(_indices=self._indices[: _count(count)])

    def skip(self, count: int) -> Dataset:
        """All but the first documents."""
        return self._with(_indices=self._indices[_count(count) :])

    def shard(self, num_shards: int, index: int) -> Dataset:
        """Every `num_shards`-th document, from `index` on: the shards make up the whole."""
        if not 0 <= index < num_shards:
            raise InvalidInputError(f"shard {index} of {num_shards} does not exist")
        return self._with(_indices=self._indices[index::num_shards])

    def batch(self, size: int, *, drop_last: bool = False) -> Iterator[list[Any]]:
        """Lists of `size` documents; the last may be shorter, or is dropped."""
        if size < 1:
            raise InvalidInputError(f"a batch of {size} documents is none; give 1 or more")
        whole = len(self) - len(self) % size if drop_last else len(self)
        return (self[start : start + size] for start in range(0, whole, size))

    def with_format(self, name: Format | None) -> Dataset:
        """Numbers as PyTorch tensors (`"torch"`) or NumPy arrays (`"numpy"`)."""
        formatter(name)
        return self._with(_format=name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._collection!r}, {len(self):,} documents)"


def _count(count: int) -> int:
    if count < 0:
        raise InvalidInputError(f"{count} documents are none; give 0 or more")
    return count
