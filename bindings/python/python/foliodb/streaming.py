"""Iterable data sets: documents in a stream, shuffled through a buffer, with resume.

A data set is a collection and a list of operations; each iteration is a new scan through them.
Collection, seed and epoch determine everything, so a stream resumes by running again and
skipping the items it already yielded. Skipping is fast, because documents are parsed on first
access only. A state identifies its stream, and another stream refuses it.

A buffered shuffle depends on the order of the file, which changes with documents.
Without a buffer the order comes from the ids (see `order`), which are in memory, and
documents are looked up instead of scanned.

With workers (PyTorch's `DataLoader`, `torch.distributed`) each gets its share: the
stream is divided after the last operation that concerns the stream as a whole
(`shuffle`, `take`, `skip`, `batch`), so `take(100)` is a hundred documents however
many workers there are; later operations, usually `map`, run on each share only.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from ._foliodb import Document
from .columns import Mapped, chosen
from .dataset import Ids
from .errors import ConflictError, InvalidInputError, NotFoundError
from .order import SplitMix, keyed_order, whole_seed
from .tensors import Format, formatter

if TYPE_CHECKING:
    from .collection import Collection
    from .dataset import Names

# An operation: its name and arguments.
Step = tuple[str, Any]

_WHOLE_STREAM = frozenset({"shuffle", "take", "skip", "batch"})

# The version of states. A state of an older release has none.
_STATE_VERSION = 2

# Documents looked up at a time.
_BATCH_ROWS = 1_000


class StreamingDataset(Iterable[Any]):
    """The documents of a collection as a stream.

    Operations return new data sets and do not change this one. `state_dict()` is the state of
    the current iteration, `load_state_dict()` makes the next one continue from there;
    `set_epoch(n)` gives every epoch a different shuffle.
    """

    def __init__(self, collection: Collection, *, _steps: tuple[Step, ...] = ()) -> None:
        self._collection = collection
        self._steps = _steps
        self._epoch = 0
        # The start of the next iteration, and the position of the current one.
        self._start = 0
        self._given = 0
        # The fingerprint of the iterated data.
        self._data: str | None = None

    def _with(self, name: str, argument: Any) -> StreamingDataset:
        changed = type(self)(self._collection, _steps=(*self._steps, (name, argument)))
        changed._epoch = self._epoch
        return changed

    def shuffle(self, buffer_size: int | None = 10_000, seed: int = 0) -> StreamingDataset:
        """Yields a random one of the next `buffer_size` documents each time.

        `None` shuffles the whole collection by its ids, as the first operation: the order is
        then the same after updates of documents. It holds all ids in memory and 16 bytes more
        for each, a few times that while sorting, and looks up documents instead of scanning.
        """
        if buffer_size is None and self._steps:
            raise InvalidInputError("a shuffle without a buffer is the first operation; put it there")
        size = None if buffer_size is None else _positive(buffer_size)
        return self._with("shuffle", (size, whole_seed(seed)))

    def map(
        self,
        function: Callable[..., Any],
        *,
        input_columns: Names | None = None,
        remove_columns: Names | None = None,
        fn_kwargs: Mapping[str, Any] | None = None,
    ) -> StreamingDataset:
        """Applies a function to every document.

        The fields of a dict that it returns are added to the document; see `Dataset.map`, also
        for the other arguments.
        """
        step = Mapped(function, False, chosen(input_columns), chosen(remove_columns), fn_kwargs)
        return self._with("map", step)

    def filter(
        self,
        function: Callable[..., object],
        *,
        input_columns: Names | None = None,
        fn_kwargs: Mapping[str, Any] | None = None,
    ) -> StreamingDataset:
        """Keeps the documents that a function accepts."""
        return self._with("filter", Mapped(function, False, chosen(input_columns), None, fn_kwargs))

    def take(self, count: int) -> StreamingDataset:
        """The first documents."""
        return self._with("take", _positive(count, 0))

    def skip(self, count: int) -> StreamingDataset:
        """All but the first documents."""
        return self._with("skip", _positive(count, 0))

    def batch(self, size: int, *, drop_last: bool = False) -> StreamingDataset:
        """Lists of `size` documents; the last may be shorter, or is dropped."""
        return self._with("batch", (_positive(size), drop_last))

    def shard(self, num_shards: int, index: int) -> StreamingDataset:
        """Every `num_shards`-th document, from `index` on."""
        if not 0 <= index < num_shards:
            raise InvalidInputError(f"shard {index} of {num_shards} does not exist")
        return self._with("shard", (num_shards, index))

    def with_format(self, name: Format | None) -> StreamingDataset:
        """Numbers as PyTorch tensors (`"torch"`) or NumPy arrays (`"numpy"`)."""
        return self if formatter(name) is None else self._with("format", name)

    def set_epoch(self, epoch: int) -> None:
        """Sets the next epoch; each has a different shuffle."""
        self._epoch = epoch

    def state_dict(self) -> dict[str, Any]:
        """The state of the iteration, to be saved with the model.

        Contains only texts and numbers: the operations with their seeds and sizes, the epoch,
        the number of items yielded, and a fingerprint of the data. Functions are not part of
        it.
        """
        data = self._data if self._data is not None else self._fingerprint()
        return {
            "version": _STATE_VERSION,
            "collection": self._collection.name,
            "data": data,
            "steps": self._described(),
            "epoch": self._epoch,
            "given": self._given,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Makes the next iteration continue where `state` was taken.

        Raises `ConflictError` if the state has other operations, another seed or buffer,
        another collection or other data. Raises `InvalidInputError` for anything that is not
        a state, or a state of another release.
        """
        self._check(state)
        self._epoch = state["epoch"]
        self._start = self._given = state["given"]
        self._data = state["data"]

    def _described(self) -> list[list[Any]]:
        """The operations as plain values; functions are left out."""
        described: list[list[Any]] = []
        for name, argument in self._steps:
            settings = argument if isinstance(argument, tuple) else (argument,)
            described.append([name, *(part for part in settings if not isinstance(part, Mapped))])
        return described

    def _fingerprint(self) -> str:
        """The fingerprint of the data; a copy has the same."""
        return f"{self._collection.count()}-{self._collection._fingerprint():016x}"

    def _check(self, state: Mapping[str, Any]) -> None:
        counts = [state.get(name) for name in ("epoch", "given")] if isinstance(state, Mapping) else [None]
        if not all(isinstance(count, int) and count >= 0 for count in counts):
            raise InvalidInputError("the state was not returned by state_dict")
        version = state.get("version", 1)
        if version != _STATE_VERSION:
            raise InvalidInputError(
                f"the state has version {version}, and this release knows {_STATE_VERSION}; "
                "start the epoch again with set_epoch"
            )
        steps = state.get("steps")
        if not isinstance(steps, list) or not all(isinstance(step, list) and step for step in steps):
            raise InvalidInputError("the state was not returned by state_dict: it names no operations")
        difference = _difference(steps, self._described())
        if state.get("collection") != self._collection.name:
            difference = f"the collection is {self._collection.name!r}, and was {state.get('collection')!r}"
        if difference:
            raise ConflictError(
                f"the state is of another data set: {difference}; create the data set as it was, "
                "or start the epoch again with set_epoch"
            )
        # Nothing was yielded, so nothing can have changed since.
        if state["given"]:
            self._check_data(state.get("data"))

    def _check_data(self, data: Any) -> None:
        now = self._fingerprint()
        if data == now:
            return
        count, before = now.partition("-")[0], str(data).partition("-")[0]
        change = "the same number of them" if count == before else f"{before} then and {count} now"
        raise ConflictError(
            f"the documents of collection {self._collection.name!r} have changed since the state "
            f"was taken, {change}; start the epoch again with set_epoch"
        )

    def __iter__(self) -> Iterator[Any]:
        start, self._start = self._start, 0
        if start:
            self._check_data(self._data)
        self._data = None
        stream = self._stream()
        self._given = start
        self._data = self._fingerprint()
        for item in islice(stream, start, None):
            self._given += 1
            yield item
        self._given = 0

    def _documents(self) -> Iterator[Any]:
        """The documents, unparsed until they are accessed."""
        return self._collection.scan(lazy=True)

    def _looked_up(self, ids: Ids, order: Iterable[int]) -> Iterator[Any]:
        """The documents of some ids, looked up in batches."""
        places = iter(order)
        while batch := [ids[place] for place in islice(places, _BATCH_ROWS)]:
            for name, document in zip(batch, self._collection.get_many(batch)):
                if document is None:
                    raise NotFoundError(
                        f"document {name!r} was deleted since the iteration began; start it again"
                    )
                yield document

    def _stream(self) -> Iterator[Any]:
        whole = [at for at, (name, _) in enumerate(self._steps) if name in _WHOLE_STREAM]
        deal_at = whole[-1] + 1 if whole else 0
        share, shares = _share()
        steps = self._steps[:deal_at]
        if steps and steps[0][0] == "shuffle" and steps[0][1][0] is None:
            order = self._order_of_ids(steps[0][1][1])
            steps = steps[1:]
            if not steps:
                # The rest runs per share: a worker looks up only what it yields.
                order, shares = (order[0], order[1][share::shares]), 1
            stream = self._looked_up(*order)
        else:
            stream = self._documents()
        for step in steps:
            stream = self._apply(stream, step)
        if shares > 1:
            stream = islice(stream, share, None, shares)
        for step in self._steps[deal_at:]:
            stream = self._apply(stream, step)
        return map(_parsed, stream)

    def _order_of_ids(self, seed: int) -> tuple[Ids, array[int]]:
        """All ids, and their positions in an order that depends on them and on the epoch."""
        ids = Ids(self._collection.ids())
        seed_of_epoch = SplitMix(seed, self._epoch).next()
        return ids, array("Q", keyed_order(seed_of_epoch, ids))

    def _apply(self, stream: Iterator[Any], step: Step) -> Iterator[Any]:
        name, argument = step
        if name == "shuffle":
            buffer_size, seed = argument
            return _shuffled(stream, buffer_size, SplitMix(seed, self._epoch))
        if name == "map":
            return map(argument.one, map(_parsed, stream))
        if name == "filter":
            return filter(argument.accepts, map(_parsed, stream))
        if name == "format":
            return map(formatter(argument), map(_parsed, stream))  # type: ignore[arg-type]
        if name == "batch":
            return _batches(stream, *argument)
        if name == "shard":
            shards, index = argument
            return islice(stream, index, None, shards)
        return islice(stream, argument) if name == "take" else islice(stream, argument, None)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.__dict__.copy())

    # `DataLoader` checks for PyTorch's iterable data sets. This is one once PyTorch is imported;
    # `isinstance` looks here for that (see `object.__class__`).
    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return _torch_class(type(self))

    def __repr__(self) -> str:
        steps = "".join(f".{name}(…)" for name, _ in self._steps)
        place = f"{self._collection.database!r}[{self._collection.name!r}]"
        return f"{type(self).__name__}({place}){steps}"


def _again(kind: type[StreamingDataset], state: dict[str, Any]) -> StreamingDataset:
    dataset = kind.__new__(kind)
    dataset.__dict__.update(state)
    return dataset


@cache
def _subclass(kind: type, base: type) -> type:
    return type(kind.__name__, (kind, base), {"__module__": kind.__module__})


def _torch_class(kind: type) -> type:
    data = sys.modules.get("torch.utils.data")
    base = getattr(data, "IterableDataset", None)
    return kind if base is None else _subclass(kind, base)


def _parsed(item: Any) -> Any:
    if isinstance(item, Document):
        return item.to_dict()
    if isinstance(item, list):
        return [_parsed(member) for member in item]
    return item


def _shuffled(stream: Iterator[Any], size: int, random: SplitMix) -> Iterator[Any]:
    """A random item of a full buffer, for each item that arrives."""
    buffer = list(islice(stream, size))
    for item in stream:
        place = random.below(size)
        buffer[place], item = item, buffer[place]
        yield item
    while buffer:
        place = random.below(len(buffer))
        buffer[place], buffer[-1] = buffer[-1], buffer[place]
        yield buffer.pop()


def _batches(stream: Iterator[Any], size: int, drop_last: bool) -> Iterator[list[Any]]:
    for first in stream:
        batch = list(chain((first,), islice(stream, size - 1)))
        if len(batch) == size or not drop_last:
            yield batch


def _share() -> tuple[int, int]:
    """The share of this worker of this process, and the number of shares. PyTorch is asked if
    it is imported."""
    torch = sys.modules.get("torch")
    if torch is None:
        return 0, 1
    rank, ranks = 0, 1
    distributed = getattr(torch, "distributed", None)
    if distributed and distributed.is_available() and distributed.is_initialized():
        rank, ranks = distributed.get_rank(), distributed.get_world_size()
    worker = torch.utils.data.get_worker_info()
    if worker is None:
        return rank, ranks
    return rank * worker.num_workers + worker.id, ranks * worker.num_workers


def _difference(then: list[list[Any]], now: list[list[Any]]) -> str:
    """The first operation that differs, in words; empty if all are the same."""
    for old, new in zip(then, now):
        if old[0] != new[0]:
            return f"{new[0]} replaces {old[0]}"
        for name, before, value in zip(_SETTINGS.get(old[0], ()), old[1:], new[1:]):
            if before != value:
                return f"the {name} of {old[0]} is {value!r}, and was {before!r}"
    if len(then) != len(now):
        extra, words = (now, "is new") if len(now) > len(then) else (then, "is missing")
        return f"{extra[min(len(then), len(now))][0]} {words}"
    return ""


# The names of the arguments of operations.
_SETTINGS = {
    "shuffle": ("buffer size", "seed"),
    "take": ("count",),
    "skip": ("count",),
    "batch": ("size", "drop_last"),
    "shard": ("number of shards", "index"),
    "format": ("name",),
}


def _positive(count: int, least: int = 1) -> int:
    if count < least:
        raise InvalidInputError(f"{count} is too few; give {least} or more")
    return count
