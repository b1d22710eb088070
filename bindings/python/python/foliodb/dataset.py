"""Map-style data sets: any document by position, for training and evaluation.

A data set is a list of ids and a list of positions in it: selecting, shuffling and sharding
copy positions, never documents, and a document is read on access. Works in a PyTorch
`DataLoader`: `__getitems__` reads a whole batch in one call, workers may fork or spawn, and a
pickle holds the ids and reopens the collection by path.

Methods named as in HuggingFace's `datasets` have the same meaning, as far as documents without
a schema allow.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from .columns import Mapped, chosen, distinct, names_of, sorted_places, values_of
from .errors import InvalidInputError, NotFoundError
from .order import keyed_order
from .tensors import Format, formatter

if TYPE_CHECKING:
    import pandas

    from .collection import Collection

Record = dict[str, Any]
Names = str | Sequence[str]

# Documents read at a time by operations over all of them.
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
    """The documents of a collection by position, as of when the data set was created.

    `ds[0]`, `ds[-1]`, `ds[2:5]` and `ds[[4, 1]]` give documents, `ds["name"]` a column.
    `select`, `shuffle`, `sort`, `filter`, `take`, `skip`, `shard`, `train_test_split` and `map`
    return new data sets and do not change this one. A document is read as it is at that time; a
    deleted one raises `NotFoundError`.
    """

    def __init__(
        self,
        collection: Collection,
        ids: Sequence[str] | None = None,
        *,
        _indices: array[int] | None = None,
        _steps: tuple[Callable[[list[Any]], list[Any]], ...] = (),
        _format: Format | None = None,
    ) -> None:
        self._collection = collection
        self._ids = Ids(collection.ids()) if ids is None else ids
        self._indices = array("Q", range(len(self._ids))) if _indices is None else _indices
        self._steps = _steps
        self._format = _format
        self._names: list[str] | None = None

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

    @property
    def num_rows(self) -> int:
        """The number of documents: `len`, under HuggingFace's name."""
        return len(self)

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
        """The documents at several positions, read in one call, for `DataLoader`."""
        return self._read([self._indices[int(key)] for key in keys])

    def __iter__(self) -> Iterator[Any]:
        for start in range(0, len(self), _BATCH_ROWS):
            yield from self[start : start + _BATCH_ROWS]

    def _read(self, indices: Iterable[int]) -> list[Any]:
        names = [self._ids[index] for index in indices]
        documents: list[Any] = self._collection.get_many(names)
        for name, document in zip(names, documents):
            if document is None:
                raise NotFoundError(
                    f"document {name!r} was deleted since the data set was created; create it again"
                )
        for step in self._steps:
            documents = step(documents)
        convert = formatter(self._format)
        return documents if convert is None else [convert(document) for document in documents]

    @property
    def _plain(self) -> Dataset:
        """The same without tensors, for operations on values."""
        return self if self._format is None else self._with(_format=None)

    @property
    def column_names(self) -> list[str]:
        """The fields of all documents, in order of first appearance.

        Reads all documents at the first call, because their fields may differ.
        """
        if self._names is None:
            self._names = names_of(self._plain)
        return list(self._names)

    def column(self, name: str) -> list[Any]:
        """The values of one field, `None` for a document without it.

        Raises `NotFoundError`, which is a `KeyError`, for a field that no document has.
        """
        return values_of(self, name)

    def unique(self, column: str) -> list[Any]:
        """The distinct values of one field, including `None`, in order of first appearance."""
        return distinct(self._plain.column(column))

    @property
    def features(self) -> dict[str, str]:
        """The fields of the first document, with the names of their types."""
        if not len(self):
            return {}
        return {key: type(value).__name__ for key, value in self[0].items()}

    def to_pandas(self) -> pandas.DataFrame:
        """The documents as a pandas frame, in this order (needs pandas)."""
        import pandas

        plain = self._plain
        return pandas.DataFrame(list(plain), columns=None if len(plain) else self.column_names)

    def to_list(self) -> list[Any]:
        """The documents as a list."""
        return list(self)

    def select(self, positions: Iterable[int]) -> Dataset:
        """The documents at these positions, in this order."""
        indices = self._indices
        return self._with(_indices=array("Q", (indices[int(place)] for place in positions)))

    def shuffle(self, seed: int = 0) -> Dataset:
        """All documents in random order: the same for the same seed, on every machine.

        The order depends on the ids and the seed alone. It is the same after updates and
        compaction, and adding or deleting a document does not change the order of the others.
        """
        return self.select(keyed_order(seed, (self._ids[index] for index in self._indices)))

    def sort(
        self,
        column_names: Names,
        reverse: bool | Sequence[bool] = False,
        null_placement: Literal["at_start", "at_end"] = "at_end",
    ) -> Dataset:
        """Ordered by one or more fields; the sort is stable.

        `reverse` is for all fields or one for each. Documents without the field, or with `None`
        or NaN, are placed by `null_placement`, reversed or not. Reads all documents now. Raises
        `TypeMismatchError` for values that have no order.
        """
        names = [column_names] if isinstance(column_names, str) else list(column_names)
        columns = {name: self._plain.column(name) for name in names}
        return self.select(sorted_places(columns, reverse, null_placement))

    def train_test_split(
        self,
        test_size: float | None = None,
        train_size: float | None = None,
        *,
        shuffle: bool = True,
        seed: int = 0,
    ) -> dict[str, Dataset]:
        """Two data sets that share no document, as `{"train": …, "test": …}`.

        Sizes are fractions of the whole (`0.2`) or numbers of documents (`500`). By default the
        test set is a quarter; if one size is given, the other set is the rest. A document stays
        on its side of the split when documents are updated, and nearly all do when documents
        are added or deleted: see `shuffle`.
        """
        train_count, test_count = _split_counts(len(self), train_size, test_size)
        whole = self.shuffle(seed) if shuffle else self
        indices = whole._indices
        if not shuffle:
            ends = (indices[:train_count], indices[train_count : train_count + test_count])
        else:
            ends = (indices[test_count : test_count + train_count], indices[:test_count])
        return {"train": self._with(_indices=ends[0]), "test": self._with(_indices=ends[1])}

    def map(
        self,
        function: Callable[..., Any],
        *,
        batched: bool = False,
        input_columns: Names | None = None,
        remove_columns: Names | None = None,
        fn_kwargs: Mapping[str, Any] | None = None,
    ) -> Dataset:
        """Applies a function to every document when it is read.

        If the function returns a dict, its fields are added to the document or replace those of
        the same name; `remove_columns` names fields to drop. `None` leaves the document
        unchanged, and any other result replaces it. `batched` calls the function with a dict of
        lists, for as many documents as are read at once, and must return one with lists of the
        same length. `input_columns` are the fields that it is called with, instead of the
        document; `fn_kwargs` are passed to every call.
        """
        step = Mapped(function, batched, chosen(input_columns), chosen(remove_columns), fn_kwargs)
        return self._with(_steps=(*self._steps, step))

    def filter(
        self,
        function: Callable[..., object],
        *,
        batched: bool = False,
        input_columns: Names | None = None,
        fn_kwargs: Mapping[str, Any] | None = None,
    ) -> Dataset:
        """Keeps the documents that a function accepts. Reads all of them now.

        The other arguments are those of `map`; a `batched` function returns a list.
        """
        step = Mapped(function, batched, chosen(input_columns), None, fn_kwargs)
        plain = self._plain
        kept: array[int] = array("Q")
        for start in range(0, len(self), _BATCH_ROWS):
            answers = step.answers(plain[start : start + _BATCH_ROWS])
            indices = self._indices[start : start + _BATCH_ROWS]
            kept.extend(index for index, answer in zip(indices, answers) if answer)
        return self._with(_indices=kept)

    def take(self, count: int) -> Dataset:
        """The first documents."""
        return self._with(_indices=self._indices[: _count(count)])

    def skip(self, count: int) -> Dataset:
        """All but the first documents."""
        return self._with(_indices=self._indices[_count(count) :])

    def shard(self, num_shards: int, index: int) -> Dataset:
        """Every `num_shards`-th document, starting at `index`: together the shards are the
        whole."""
        if not 0 <= index < num_shards:
            raise InvalidInputError(f"shard {index} of {num_shards} does not exist")
        return self._with(_indices=self._indices[index::num_shards])

    def batch(self, size: int, *, drop_last: bool = False) -> Iterator[list[Any]]:
        """Lists of `size` documents; the last may be shorter, or is dropped."""
        if size < 1:
            raise InvalidInputError(f"a batch of {size} documents is empty; give 1 or more")
        whole = len(self) - len(self) % size if drop_last else len(self)
        return (self[start : start + size] for start in range(0, whole, size))

    def with_format(self, name: Format | None) -> Dataset:
        """Numbers as PyTorch tensors (`"torch"`) or NumPy arrays (`"numpy"`)."""
        formatter(name)
        return self._with(_format=name)

    def __repr__(self) -> str:
        collection = self._collection
        place = f"{collection.database!r}[{collection.name!r}]"
        return f"{type(self).__name__}({place}, {len(self):,} documents)"


def _count(count: int) -> int:
    if count < 0:
        raise InvalidInputError(f"{count} is not a number of documents; give 0 or more")
    return count


# The default fraction of the documents for tests.
_TEST_SIZE = 0.25


def _split_counts(
    count: int, train_size: float | None, test_size: float | None
) -> tuple[int, int]:
    """The numbers of documents for training and for tests."""
    if train_size is None and test_size is None:
        test_size = _TEST_SIZE
    test = None if test_size is None else _part(count, test_size, "test_size", is_up=True)
    train = None if train_size is None else _part(count, train_size, "train_size", is_up=False)
    test = count - (train or 0) if test is None else test
    train = count - test if train is None else train
    both = (train_size, test_size)
    if train + test > count or (all(isinstance(size, float) for size in both) and sum(both) > 1):  # type: ignore[arg-type]
        raise InvalidInputError(
            f"train_size and test_size make {train + test:,} documents of {count:,}; give less"
        )
    if train == 0:
        raise InvalidInputError(
            f"the train set of {count:,} documents would be empty; give a smaller test_size"
        )
    return train, test


def _part(count: int, size: float, name: str, *, is_up: bool) -> int:
    """A size as a number of documents: a fraction of them, rounded, or the number itself."""
    if hasattr(size, "__index__") and not isinstance(size, bool):
        whole: int = size.__index__()
        if not 0 < whole < count:
            raise InvalidInputError(f"{name} {whole:,} of {count:,} documents leaves a set empty")
        return whole
    if not isinstance(size, float) or not 0 < size < 1:
        raise InvalidInputError(f"{name} {size!r} is neither a number of documents nor a fraction below 1")
    # 0.07 of 100 is 7, despite its binary form.
    exact = round(size * count, 6)
    return math.ceil(exact) if is_up else math.floor(exact)
