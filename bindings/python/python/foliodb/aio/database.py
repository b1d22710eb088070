"""Databases, awaited: opening them, and operations on a whole database."""

from __future__ import annotations

import functools
import os
from collections.abc import AsyncIterator, Callable, Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .. import _foliodb
from ..database import Database
from ..database import open as _open
from ..exit import flush_on_terminate
from ..session import Session
from .collection import AsyncCollection
from .rows import AsyncAnswer
from .session import AsyncPrepared, AsyncSession, AsyncTransaction, Statements
from .threads import AsyncWrapper, Awaited, Threads

if TYPE_CHECKING:
    from ..database import Durability, Mode

# Threads of a database, started on demand.
_THREADS_MAX = 32

# Idle sessions that a database caches for `sql` and `ziql`.
_SESSIONS_MAX = 8

_NOT_OPEN = (
    "the database is not open yet; write `await foliodb.aio.open(...)`, or `async with` instead"
)


def open(
    path: str | os.PathLike[str],
    mode: Mode = "rw",
    *,
    create: bool = True,
    durability: Durability = "on_flush",
    timeout: float = 5.0,
    write_behind: float | None = 1.0,
    cache_size: int = 64 << 20,
) -> _Opening:
    """Opens a database: `db = await open(path)`, or `async with open(path) as db`.

    The arguments and errors are those of `foliodb.open`.
    """
    if mode == "rw":
        flush_on_terminate()
    return _Opening(
        functools.partial(
            _open,
            path,
            mode,
            create=create,
            durability=durability,
            timeout=timeout,
            write_behind=write_behind,
            cache_size=cache_size,
        )
    )


class _Opening:
    """A database that is being opened: awaited, or used as a context."""

    def __init__(self, call: Callable[[], Database]) -> None:
        self._call = call
        self._opened: AsyncDatabase | None = None

    async def _open(self) -> AsyncDatabase:
        threads = Threads(_THREADS_MAX)
        return AsyncDatabase(await threads.run(self._call, is_whole=True), threads)

    def __await__(self) -> Generator[Any, Any, AsyncDatabase]:
        return self._open().__await__()

    async def __aenter__(self) -> AsyncDatabase:
        self._opened = await self._open()
        return self._opened

    async def __aexit__(self, *raised: object) -> None:
        if self._opened is not None:
            await self._opened.close()

    if not TYPE_CHECKING:  # a type checker names what is missing

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(_NOT_OPEN)

        def __getitem__(self, name: str) -> Any:
            raise TypeError(_NOT_OPEN)


class AsyncDatabase(Statements):
    """An open database; see `foliodb.Database`. `db["users"]` is a collection, opened on first
    use; `await db.collection("users")` opens it now."""

    def __init__(self, blocking: Database, threads: Threads | None = None) -> None:
        self.blocking = blocking
        self._threads = threads or Threads(_THREADS_MAX)
        self._sessions: list[Session] = []

    blocking: Database
    """The wrapped database, for calls that are not awaited."""

    def _blocking(self) -> Database:
        return self.blocking

    collections = Awaited(Database.collections)
    drop_collection = Awaited(Database.drop_collection)
    rename_collection = Awaited(Database.rename_collection)
    create = Awaited(Database.create)
    flush = Awaited(Database.flush, is_whole=True)
    backup = Awaited(Database.backup)
    import_sqlite = Awaited(Database.import_sqlite)
    pack = Awaited(Database.pack)
    take_notices = Awaited(Database.take_notices)
    register = Awaited(Database.register)
    unregister = Awaited(Database.unregister)
    create_function = Awaited(Database.create_function)
    drop_function = Awaited(Database.drop_function)
    schema = Awaited(Database.schema)
    check_schema = Awaited(Database.check_schema)
    apply_schema = Awaited(Database.apply_schema)
    partitions = Awaited(Database.partitions)
    partition_count = Awaited(Database.partition_count)

    @property
    def path(self) -> Any:
        """The path as given."""
        return self.blocking.path

    @property
    def mode(self) -> Mode:
        """The mode it was opened with, `"r"` or `"rw"`."""
        return self.blocking.mode

    @property
    def durability(self) -> Durability:
        """When a write reaches the device."""
        return self.blocking.durability

    @property
    def is_writable(self) -> bool:
        """Whether the handle accepts writes."""
        return self.blocking.is_writable

    async def collection(self, name: str, **options: Any) -> AsyncCollection:
        """A collection by name, opened; see `Database.collection`."""
        found = AsyncCollection(self, name, options)
        await self._threads.run(found._blocking)
        return found

    def __getitem__(self, name: str) -> AsyncCollection:
        return AsyncCollection(self, name, {})

    async def __aiter__(self) -> AsyncIterator[str]:
        for name in await self.collections():
            yield name

    async def sql(
        self,
        text: str,
        params: Any = None,
        *,
        timeout: float | None = None,
        memory_limit: int | None = None,
    ) -> AsyncAnswer:
        """Runs SQL statements and returns the result of the last one; see `Database.sql`."""
        return await self._answered(
            lambda session: session._sql_alone(text, params), timeout, memory_limit
        )

    async def read_partition(self, partition: _foliodb.Partition) -> AsyncAnswer:
        """Reads a partition of this database; see `Database.read_partition`."""
        answer = await self._threads.run(lambda: self.blocking.read_partition(partition))
        return AsyncAnswer(answer, self._threads)

    async def _answered(
        self,
        statement: Callable[[Session], _foliodb.Answer],
        timeout: float | None = None,
        memory_limit: int | None = None,
    ) -> AsyncAnswer:
        """Runs a statement in an idle session, which is idle again after the last row. A session
        with limits serves one statement."""
        is_limited = timeout is not None or memory_limit is not None
        own = self._sessions.pop() if self._sessions and not is_limited else None

        def call() -> _foliodb.Answer:
            nonlocal own
            own = own or Session(self.blocking, timeout=timeout, memory_limit=memory_limit)
            return statement(own)

        def interrupt() -> None:
            if own is not None:
                own.interrupt()

        def done() -> None:
            if own is not None and not is_limited and len(self._sessions) < _SESSIONS_MAX:
                self._sessions.append(own)

        try:
            answer = await self._threads.run(call, interrupt)
        except Exception:
            done()
            raise
        return AsyncAnswer(answer, self._threads, interrupt, done)

    def session(
        self,
        *,
        autocommit: bool = True,
        timeout: float | None = None,
        memory_limit: int | None = None,
    ) -> AsyncSession:
        """A new session; see `Database.session`."""
        return AsyncSession(
            self, autocommit=autocommit, timeout=timeout, memory_limit=memory_limit
        )

    async def prepare(self, text: str) -> AsyncPrepared:
        """Prepares a statement in a new session; see `Session.prepare`."""
        return await self.session().prepare(text)

    def transaction(self, *, read_only: bool = False) -> AsyncTransaction:
        """`async with db.transaction() as tx:` commits at the end, and rolls back if it raises."""
        return AsyncTransaction(self.session(), read_only=read_only, owns=True)

    def tables(self) -> AsyncTables:
        """The tables, for maintenance; see `Database.tables`."""
        return AsyncTables(self)

    async def close(self) -> None:
        """Flushes and closes; closing twice is allowed."""
        if self._threads.is_closed:
            return
        self._sessions.clear()
        await self._threads.run(self.blocking.close, is_whole=True)
        self._threads.close()

    async def __aenter__(self) -> AsyncDatabase:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"foliodb.aio.open({os.fspath(self.path)!r}, mode={self.mode!r})"


class AsyncTables(AsyncWrapper):
    """The tables of a database, for maintenance; see `Database.tables`."""

    def __init__(self, database: AsyncDatabase) -> None:
        self._database = database
        self._threads = database._threads

    def _blocking(self) -> _foliodb.Tables:
        return self._database.blocking.tables()

    exist = Awaited(_foliodb.Tables.exist)
    list = Awaited(_foliodb.Tables.list)
    indexes = Awaited(_foliodb.Tables.indexes)
    statistics = Awaited(_foliodb.Tables.statistics)
    check = Awaited(_foliodb.Tables.check)
    inspect = Awaited(_foliodb.Tables.inspect)
    checkpoint = Awaited(_foliodb.Tables.checkpoint)
    reindex = Awaited(_foliodb.Tables.reindex)
    take_notices = Awaited(_foliodb.Tables.take_notices)
    vacuum = Awaited(_foliodb.Tables.vacuum)
