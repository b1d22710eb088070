"""Collections and batches, awaited."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, overload

from .. import _foliodb
from ..collection import Collection
from .rows import AsyncScan
from .threads import AsyncWrapper, Awaited, Property, Threads, batch_threads
from .writing import AsyncPartitionedWriter

if TYPE_CHECKING:
    from ..collection import Filter
    from .database import AsyncDatabase

Default = TypeVar("Default")


class AsyncCollection(AsyncWrapper):
    """A collection of documents; see `foliodb.Collection`. Iterates over its ids."""

    def __init__(self, database: AsyncDatabase, name: str, options: Mapping[str, Any]) -> None:
        self.database = database
        self.name = name
        self._threads = database._threads
        self._options = options
        self._opened: Collection | None = None

    def _blocking(self) -> Collection:
        if self._opened is None:
            self._opened = self.database.blocking.collection(self.name, **self._options)
        return self._opened

    put = Awaited(Collection.put)
    put_raw = Awaited(Collection.put_raw)
    put_many = Awaited(Collection.put_many)
    add = Awaited(Collection.add)
    patch = Awaited(Collection.patch)
    update = Awaited(Collection.update)
    delete = Awaited(Collection.delete)
    clear = Awaited(Collection.clear)
    get = Awaited(Collection.get)
    get_raw = Awaited(Collection.get_raw)
    get_many = Awaited(Collection.get_many)
    exists = Awaited(Collection.exists)
    count = Awaited(Collection.count)
    ids = Awaited(Collection.ids)
    keys = Awaited(Collection.keys)
    flush = Awaited(Collection.flush, is_whole=True)
    refresh = Awaited(Collection.refresh)
    compact = Awaited(Collection.compact)
    check = Awaited(Collection.check)
    reindex = Awaited(Collection.reindex)
    create_index = Awaited(Collection.create_index)
    indexes = Awaited(Collection.indexes)
    drop_index = Awaited(Collection.drop_index)
    check_index = Awaited(Collection.check_index)
    set_open_paths = Awaited(Collection.set_open_paths)
    has_open_paths = Awaited(Collection.has_open_paths)
    position = Awaited(Collection.position)
    stats = Awaited(Collection.stats)
    fields = Awaited(Collection.fields)
    take_notices = Awaited(Collection.take_notices)
    import_file = Awaited(Collection.import_file)
    export_file = Awaited(Collection.export_file)
    close = Awaited(Collection.close, is_whole=True)
    is_created = Property(bool, "Whether the collection exists yet; the first write creates it.")
    is_writable = Property(bool, "Whether the handle accepts writes.")

    @overload
    async def pop(self, id: str | int, /) -> dict[str, Any]: ...

    @overload
    async def pop(self, id: str | int, default: Default, /) -> dict[str, Any] | Default: ...

    async def pop(self, id: str | int, /, *default: Any) -> Any:
        """Deletes a document and returns it; see `Collection.pop`."""
        return await self._threads.run(lambda: self._blocking().pop(id, *default))

    def scan(
        self,
        fields: Any = None,
        *,
        where: str | None = None,
        params: Any = None,
        filter: Filter | None = None,
        limit: int | None = None,
        decimal: bool = False,
        lazy: bool = False,
    ) -> AsyncScan:
        """The documents, as of the first one fetched; see `Collection.scan`."""
        options = {
            "where": where,
            "params": params,
            "filter": filter,
            "limit": limit,
            "decimal": decimal,
            "lazy": lazy,
        }
        return AsyncScan(self._threads, repr(self), lambda: self._blocking().scan(fields, **options))

    def scan_raw(
        self,
        fields: Any = None,
        *,
        where: str | None = None,
        params: Any = None,
        filter: Filter | None = None,
        limit: int | None = None,
    ) -> AsyncScan:
        """The exact lines of the documents; see `Collection.scan_raw`."""
        options = {"where": where, "params": params, "filter": filter, "limit": limit}
        return AsyncScan(self._threads, repr(self), lambda: self._blocking().scan_raw(fields, **options))

    async def partitioned_writer(self) -> AsyncPartitionedWriter:
        """A job whose parts many tasks write; see `Collection.partitioned_writer`."""
        job = await self._threads.run(lambda: self._blocking().partitioned_writer(), is_whole=True)
        return AsyncPartitionedWriter(self._threads, job)

    def values(self) -> AsyncScan:
        """All documents, streaming."""
        return self.scan()

    async def items(self) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        """All pairs of id and document, streaming."""
        async for document in self.scan():
            yield document["_id"], document

    async def __aiter__(self) -> AsyncIterator[str]:
        for name in await self.ids():
            yield name

    def batch(self, *, default: Callable[[Any], Any] | None = None) -> AsyncBatch:
        """`async with users.batch() as batch:` commits at the end; see `Collection.batch`."""
        return AsyncBatch(self, default)

    def __repr__(self) -> str:
        return f"{self.database!r}[{self.name!r}]"


class AsyncBatch(AsyncWrapper):
    """An open batch, on a thread of its own; see `Collection.batch`."""

    def __init__(
        self, collection: AsyncCollection, default: Callable[[Any], Any] | None = None
    ) -> None:
        self._collection = collection
        self._default = default
        # A nested batch shares the thread of the outer one, which checks for it.
        self._around = batch_threads.get()
        self._threads = self._around or Threads(1)
        self._opened: _foliodb.Batch | None = None

    def _blocking(self) -> _foliodb.Batch:
        if self._opened is None:
            self._opened = self._collection._blocking().batch(default=self._default)
        return self._opened

    put = Awaited(_foliodb.Batch.put)
    put_raw = Awaited(_foliodb.Batch.put_raw)
    delete = Awaited(_foliodb.Batch.delete)
    exists = Awaited(_foliodb.Batch.exists)
    commit = Awaited(_foliodb.Batch.commit, is_whole=True)
    rollback = Awaited(_foliodb.Batch.rollback, is_whole=True)

    async def __aenter__(self) -> AsyncBatch:
        try:
            await self._threads.run(self._blocking, is_whole=True)
        except BaseException:
            await self._threads.run(self._abandon, is_whole=True)
            raise
        batch_threads.set(self._threads)
        return self

    def _abandon(self) -> None:
        if self._opened is not None:
            self._opened.rollback()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        call = functools.partial(self._blocking().__exit__, kind, value, traceback)
        try:
            await self._threads.run(call, is_whole=True)
        finally:
            batch_threads.set(self._around)
            if self._around is None:
                self._threads.close()
