"""Iterable data sets: documents in a stream, shuffled through a buffer, with resume.

A data set is a collection and a list of operations; each iteration is a new scan
through them. Everything is determined by the collection, the seed and the epoch, so
a stream is resumed by running it again and passing over what was given before:
documents stay unparsed until something looks into them, which makes that quick.

With workers (PyTorch's `DataLoader`, `torch.distributed`) each gets its share: the
stream is dealt out behind the last operation that concerns the stream as a whole
(`shuffle`, `take`, `skip`, `batch`), so `take(100)` is a hundred documents however
many workers there are; what follows, usually `map`, is done for its own share only.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from ._foliodb import Document
from .errors import InvalidInputError
from .order import SplitMix
from .tensors import Format, formatter

if TYPE_CHECKING:
    from .collection import Collection

# An operation: its name, and what it was given.
Step = tuple[str, Any]

_WHOLE_STREAM = frozenset({"shuffle", "take", "skip", "batch"})


class StreamingDataset(Iterable[Any]):
    """The documents of a collection as a stream.

    Operations give new data sets and leave this one as it is. `state_dict()` says how
    far the iteration under way has come, `load_state_dict()` makes the next one go
    on from there; `set_epoch(n)` gives every epoch a shuffle of its own.
    """

    def __init__(self, collection: Collection, *, _steps: tuple[Step, ...] = ()) -> None:
        self._collection = collection
        self._steps = _steps
        self._epoch = 0
        # Where the next iteration begins, and how far the present one has come.
        self._start = 0
        self._given = 0

    def _with(self, name: str, argument: Any) -> StreamingDataset:
        changed = type(self)(self._collection, _steps=(*self._steps, (name, argument)))
        changed._epoch = self._epoch
        return changed

    def shuffle(self, buffer_size: int = 10_000, seed: int = 0) -> StreamingDataset:
        """Gives a random one of the next `buffer_size` documents each time."""
        return self._with("shuffle", (_positive(buffer_size), seed))

    def map(self, function: Callable[[Any], Any]) -> StreamingDataset:
        """Applies a function to every document."""
        return self._with("map", function)

    def filter(self, predicate: Callable[[Any], object]) -> StreamingDataset:
        """Keeps the documents that a function accepts."""
        return self._with("filter", predicate)

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
        """Says which epoch comes next; shuffles are different in each."""
        self._epoch = epoch

    def state_dict(self) -> dict[str, int]:
        """How far the iteration has come: plain numbers, to be saved with the model."""
        return {"epoch": self._epoch, "given": self._given}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Makes the next iteration go on where `state` was taken."""
        self._epoch = state["epoch"]
        self._start = self._given = state["given"]

    def __iter__(self) -> Iterator[Any]:
        start, self._start = self._start, 0
        self._given = start
        for item in islice(self._stream(), start, None):
            self._given += 1
            yield item
        self._given = 0

    def _documents(self) -> Iterator[Any]:
        """The documents, unparsed as long as nothing looks into them."""
        return self._collection.scan(lazy=True)

    def _stream(self) -> Iterator[Any]:
        whole = [at for at, (name, _) in enumerate(self._steps) if name in _WHOLE_STREAM]
        deal_at = whole[-1] + 1 if whole else 0
        stream = self._documents()
        for step in self._steps[:deal_at]:
            stream = self._apply(stream, step)
        share, shares = _share()
        if shares > 1:
            stream = islice(stream, share, None, shares)
        for step in self._steps[deal_at:]:
            stream = self._apply(stream, step)
        return map(_parsed, stream)

    def _apply(self, stream: Iterator[Any], step: Step) -> Iterator[Any]:
        name, argument = step
        if name == "shuffle":
            buffer_size, seed = argument
            return _shuffled(stream, buffer_size, SplitMix(seed, self._epoch))
        if name == "map":
            return map(argument, map(_parsed, stream))
        if name == "filter":
            return filter(argument, map(_parsed, stream))
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

    # `DataLoader` asks whether this is one of PyTorch's iterable data sets. It is, once
    # PyTorch is there; `isinstance` looks here for that (see `object.__class__`).
    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return _torch_class(type(self))

    def __repr__(self) -> str:
        steps = "".join(f".{name}(…)" for name, _ in self._steps)
        return f"{type(self).__name__}({self._collection!r}){steps}"


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
    """A random item of a full buffer, each time one comes in."""
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
    """Which share of how many this worker of this process has. PyTorch is asked if it is there."""
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


def _positive(count: int, least: int = 1) -> int:
    if count < least:
        raise InvalidInputError(f"{count} is too few; give {least} or more")
    return count
