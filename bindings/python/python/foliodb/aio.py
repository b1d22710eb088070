"""The same database for programs of `asyncio`: the same names, awaited.

    import foliodb.aio

    async with foliodb.aio.open("mydata") as db:
        users = db["users"]
        await users.put("ann", {"name": "Ann", "age": 34})
        async for user in users.scan(where="age > ?", params=[30]):
            print(user)
        await (await db.sql("select count(*) from users")).fetchone()

Each class wraps one of `foliodb` and has its methods, made from the tables that the classes
here are: a method runs on a thread, without the interpreter's lock while the engine works, and
the event loop goes on. Properties that look into files are awaited too. Arguments, answers and
errors are those of the method that is wrapped.

Threads: a database has some, which its collections share, and each session and each batch has
one of its own. So a transaction and a batch always come to their end, however many others wait
for them. Code within `async with users.batch()` runs on the batch's thread, which refuses what
would wait for itself, as it does without `asyncio`.

A task that is cancelled interrupts its statement, and waits until it has ended. Work with a
`progress` argument stops at its next step. Anything else goes on to its end on its thread, and
what a fetch brought is there for the next. Functions of the program that the engine calls
(`filter`, `default`, `progress`, `create_function`) are called on these threads.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import os
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from . import _foliodb
from .collection import Collection, Scan, told_by
from .database import Database
from .database import open as _open
from .errors import ClosedError, InvalidInputError
from .exit import flush_on_terminate
from .session import Session, Transaction

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from .collection import Filter
    from .database import Durability, Mode

    Model = TypeVar("Model")

__all__ = [
    "AsyncAnswer",
    "AsyncBatch",
    "AsyncCollection",
    "AsyncDatabase",
    "AsyncPrepared",
    "AsyncScan",
    "AsyncSession",
    "AsyncTables",
    "AsyncTransaction",
    "open",
]

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
Default = TypeVar("Default")

# Threads of a database. They are made as they are needed.
_THREADS_MAX = 32

# Idle sessions that a database keeps for `sql` and `ziql`.
_SESSIONS_MAX = 8

# Rows and documents fetched at a time by `async for`.
_BATCH_ROWS = 1_000

# Seconds between two interrupts of a statement that is to end: the first may come too early.
_INTERRUPT_EVERY = 0.02


class _Threads:
    """Threads that calls run on, and how a call is cancelled."""

    def __init__(self, count: int) -> None:
        self._pool = ThreadPoolExecutor(count, "foliodb")
        self.is_closed = False

    def submit(self, call: Callable[[], T]) -> Future[T]:
        """Starts a call with the variables of this context."""
        own = _batch_threads.get()
        # A task that was begun within a batch may outlive it.
        threads = self if own is None or own.is_closed else own
        if self.is_closed:
            raise ClosedError("the handle was closed; open it again")
        return threads._pool.submit(contextvars.copy_context().run, call)

    async def run(
        self,
        call: Callable[[], T],
        interrupt: Callable[[], None] | None = None,
        *,
        is_whole: bool = False,
    ) -> T:
        """Runs a call on a thread. A cancelled task interrupts it and waits for its end, and
        for one that is `is_whole` without interrupting it."""
        work = self.submit(call)
        waiter = asyncio.wrap_future(work)
        try:
            return await asyncio.shield(waiter)
        except asyncio.CancelledError:
            # This keeps the call from beginning, and from telling a loop that is gone by then.
            waiter.cancel()
            if not work.cancelled() and (is_whole or interrupt is not None):
                await _ended(work, interrupt)
            raise

    def close(self) -> None:
        """Lets go of the threads, once they have done what was asked."""
        self.is_closed = True
        self._pool.shutdown(wait=False)


# The thread of the batch that code runs within.
_batch_threads: contextvars.ContextVar[_Threads | None] = contextvars.ContextVar(
    "foliodb.batch", default=None
)


async def _ended(work: Future[Any], interrupt: Callable[[], None] | None) -> None:
    """Waits for a call to end, and interrupts it until it does."""
    while not work.done():
        if interrupt is not None:
            interrupt()
        await asyncio.sleep(_INTERRUPT_EVERY)


class _Twin:
    """An object of `foliodb` behind an awaited one."""

    _threads: _Threads

    def _blocking(self) -> Any:
        """The object itself. Called on a thread: it may have to be opened."""
        raise NotImplementedError

    def _interrupt(self) -> Callable[[], None] | None:
        """What ends the call under way."""
        return None


class _Awaited(Generic[P, R]):
    """A line of a class's table: the method of the twin, awaited."""

    def __init__(
        self, function: Callable[Concatenate[Any, P], R], *, is_whole: bool = False
    ) -> None:
        self.function = function
        self.is_whole = is_whole

    def __set_name__(self, owner: type, name: str) -> None:
        function, is_whole = self.function, self.is_whole
        stops = "progress" in (getattr(function, "__text_signature__", None) or "") or (
            "progress" in getattr(getattr(function, "__code__", None), "co_varnames", ())
        )

        @functools.wraps(function, assigned=("__doc__",), updated=())
        async def awaited(self: _Twin, /, *args: Any, **kwargs: Any) -> Any:
            interrupt = self._interrupt()
            if stops:
                interrupt = _stopped_by_progress(kwargs)

            def call() -> Any:
                return function(self._blocking(), *args, **kwargs)

            return await self._threads.run(call, interrupt, is_whole=is_whole)

        awaited.__name__ = name
        awaited.__qualname__ = f"{owner.__qualname__}.{name}"
        setattr(owner, name, awaited)

    if TYPE_CHECKING:

        @overload
        def __get__(self, owner: None, kind: type) -> _Awaited[P, R]: ...

        @overload
        def __get__(self, owner: Any, kind: type) -> Callable[P, Coroutine[Any, Any, R]]: ...

        def __get__(self, owner: Any, kind: type) -> Any: ...


class _Property(Generic[R]):
    """A line of a class's table: a property of the twin, awaited."""

    def __init__(self, kind: type[R], doc: str) -> None:
        self.doc = doc

    def __set_name__(self, owner: type, name: str) -> None:
        def read(self: _Twin) -> Coroutine[Any, Any, Any]:
            return self._threads.run(lambda: getattr(self._blocking(), name))

        setattr(owner, name, property(read, doc=self.doc))

    if TYPE_CHECKING:

        def __get__(self, owner: Any, kind: type) -> Coroutine[Any, Any, R]: ...


class _Stopped(Exception):
    """Raised by a progress function of a task that was cancelled."""


def _stopped_by_progress(arguments: dict[str, Any]) -> Callable[[], None]:
    """Has the work's next step end it once the function that is answered was called."""
    stopped = False
    told = told_by(arguments.get("progress"))

    def step(done: int, total: int) -> None:
        if stopped:
            raise _Stopped
        if told is not None:
            told(done, total)

    def stop() -> None:
        nonlocal stopped
        stopped = True

    arguments["progress"] = step
    return stop


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
    """A database that is being opened: awaited, or the context of its use."""

    def __init__(self, call: Callable[[], Database]) -> None:
        self._call = call
        self._opened: AsyncDatabase | None = None

    async def _open(self) -> AsyncDatabase:
        threads = _Threads(_THREADS_MAX)
        return AsyncDatabase(await threads.run(self._call, is_whole=True), threads)

    def __await__(self) -> Generator[Any, Any, AsyncDatabase]:
        return self._open().__await__()

    async def __aenter__(self) -> AsyncDatabase:
        self._opened = await self._open()
        return self._opened

    async def __aexit__(self, *raised: object) -> None:
        if self._opened is not None:
            await self._opened.close()


class AsyncDatabase(_Twin):
    """An open database; see `foliodb.Database`. `db["users"]` is a collection, opened at its
    first use; `await db.collection("users")` opens it now."""

    def __init__(self, blocking: Database, threads: _Threads | None = None) -> None:
        self.blocking = blocking
        self._threads = threads or _Threads(_THREADS_MAX)
        self._sessions: list[Session] = []

    blocking: Database
    """The database that is wrapped, for what is not awaited."""

    def _blocking(self) -> Database:
        return self.blocking

    collections = _Awaited(Database.collections)
    drop_collection = _Awaited(Database.drop_collection)
    rename_collection = _Awaited(Database.rename_collection)
    create = _Awaited(Database.create)
    flush = _Awaited(Database.flush, is_whole=True)
    backup = _Awaited(Database.backup)
    import_sqlite = _Awaited(Database.import_sqlite)
    pack = _Awaited(Database.pack)
    take_notices = _Awaited(Database.take_notices)
    register = _Awaited(Database.register)
    unregister = _Awaited(Database.unregister)
    create_function = _Awaited(Database.create_function)
    drop_function = _Awaited(Database.drop_function)
    schema = _Awaited(Database.schema)
    check_schema = _Awaited(Database.check_schema)
    apply_schema = _Awaited(Database.apply_schema)

    @property
    def path(self) -> Any:
        """The path as it was given."""
        return self.blocking.path

    @property
    def mode(self) -> Mode:
        """`"r"` or `"rw"`, as it was opened."""
        return self.blocking.mode

    @property
    def durability(self) -> Durability:
        """When a write reaches the device."""
        return self.blocking.durability

    @property
    def is_writable(self) -> bool:
        """Whether the handle takes writes."""
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

    async def sql(self, text: str, params: Any = None) -> AsyncAnswer:
        """Runs SQL statements and answers the last one; see `Database.sql`."""
        return await self._alone(lambda session: session._sql_alone(text, params))

    @overload
    async def ziql(self, text: str, *, model: None = None, **params: Any) -> AsyncAnswer: ...

    @overload
    async def ziql(self, text: str, *, model: type[Model], **params: Any) -> list[Model]: ...

    async def ziql(self, text: str, *, model: Any = None, **params: Any) -> Any:
        """Runs a script of ZiQL and answers its last statement; see `Database.ziql`."""
        answer = await self._alone(lambda session: session._ziql(text, params))
        return await answer._as(model)

    async def _alone(self, statement: Callable[[Session], _foliodb.Answer]) -> AsyncAnswer:
        """Runs a statement in an idle session, which comes back when the rows have been taken."""
        own = self._sessions.pop() if self._sessions else None

        def call() -> _foliodb.Answer:
            nonlocal own
            own = own or Session(self.blocking)
            return statement(own)

        def interrupt() -> None:
            if own is not None:
                own.interrupt()

        def done() -> None:
            if own is not None and len(self._sessions) < _SESSIONS_MAX:
                self._sessions.append(own)

        try:
            answer = await self._threads.run(call, interrupt)
        except Exception:
            done()
            raise
        return AsyncAnswer(answer, self._threads, interrupt, done)

    def session(self, *, autocommit: bool = True) -> AsyncSession:
        """A session of its own; see `Database.session`."""
        return AsyncSession(self, autocommit=autocommit)

    async def prepare(self, text: str) -> AsyncPrepared:
        """Makes a statement ready to run, in a session of its own; see `Session.prepare`."""
        return await self.session().prepare(text)

    def transaction(self, *, read_only: bool = False) -> AsyncTransaction:
        """`async with db.transaction() as tx:` commits at the end, and rolls back if it raises."""
        return AsyncTransaction(self.session(), read_only=read_only, owns=True)

    def tables(self) -> AsyncTables:
        """The tables, to look after them; see `Database.tables`."""
        return AsyncTables(self)

    async def close(self) -> None:
        """Flushes and closes; closing twice is fine."""
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


class AsyncCollection(_Twin):
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

    put = _Awaited(Collection.put)
    put_raw = _Awaited(Collection.put_raw)
    put_many = _Awaited(Collection.put_many)
    add = _Awaited(Collection.add)
    patch = _Awaited(Collection.patch)
    update = _Awaited(Collection.update)
    delete = _Awaited(Collection.delete)
    clear = _Awaited(Collection.clear)
    get = _Awaited(Collection.get)
    get_raw = _Awaited(Collection.get_raw)
    get_many = _Awaited(Collection.get_many)
    exists = _Awaited(Collection.exists)
    count = _Awaited(Collection.count)
    ids = _Awaited(Collection.ids)
    keys = _Awaited(Collection.keys)
    flush = _Awaited(Collection.flush, is_whole=True)
    refresh = _Awaited(Collection.refresh)
    compact = _Awaited(Collection.compact)
    check = _Awaited(Collection.check)
    reindex = _Awaited(Collection.reindex)
    stats = _Awaited(Collection.stats)
    take_notices = _Awaited(Collection.take_notices)
    import_file = _Awaited(Collection.import_file)
    export_file = _Awaited(Collection.export_file)
    close = _Awaited(Collection.close, is_whole=True)
    is_created = _Property(bool, "Whether the collection is there yet: the first write creates it.")
    is_writable = _Property(bool, "Whether the handle takes writes.")

    @overload
    async def pop(self, id: str | int, /) -> dict[str, Any]: ...

    @overload
    async def pop(self, id: str | int, default: Default, /) -> dict[str, Any] | Default: ...

    async def pop(self, id: str | int, /, *default: Any) -> Any:
        """Deletes a document and answers it; see `Collection.pop`."""
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
        """The documents, as of when the first is asked for; see `Collection.scan`."""
        options = {
            "where": where,
            "params": params,
            "filter": filter,
            "limit": limit,
            "decimal": decimal,
            "lazy": lazy,
        }
        return AsyncScan(self, lambda: self._blocking().scan(fields, **options))

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
        return AsyncScan(self, lambda: self._blocking().scan_raw(fields, **options))

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


class AsyncBatch(_Twin):
    """An open batch, on a thread of its own; see `Collection.batch`."""

    def __init__(
        self, collection: AsyncCollection, default: Callable[[Any], Any] | None = None
    ) -> None:
        self._collection = collection
        self._default = default
        # Within another batch it shares that one's thread, which knows of both.
        self._around = _batch_threads.get()
        self._threads = self._around or _Threads(1)
        self._opened: _foliodb.Batch | None = None

    def _blocking(self) -> _foliodb.Batch:
        if self._opened is None:
            self._opened = self._collection._blocking().batch(default=self._default)
        return self._opened

    put = _Awaited(_foliodb.Batch.put)
    put_raw = _Awaited(_foliodb.Batch.put_raw)
    delete = _Awaited(_foliodb.Batch.delete)
    exists = _Awaited(_foliodb.Batch.exists)
    commit = _Awaited(_foliodb.Batch.commit, is_whole=True)
    rollback = _Awaited(_foliodb.Batch.rollback, is_whole=True)

    async def __aenter__(self) -> AsyncBatch:
        try:
            await self._threads.run(self._blocking, is_whole=True)
        except BaseException:
            await self._threads.run(self._abandon, is_whole=True)
            raise
        _batch_threads.set(self._threads)
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
            _batch_threads.set(self._around)
            if self._around is None:
                self._threads.close()


class _Rows(Generic[T]):
    """Items that are fetched many at a time. What a cancelled task fetched is not lost."""

    def __init__(
        self,
        threads: _Threads,
        fetch: Callable[[int], list[T]],
        interrupt: Callable[[], None] | None = None,
        done: Callable[[], None] | None = None,
    ) -> None:
        self._threads = threads
        self._fetch = fetch
        self._interrupt = interrupt
        self._done = done
        self.ahead: deque[T] = deque()
        self._work: Future[list[T]] | None = None

    async def fill(self, count: int) -> bool:
        """Sees to it that there are items ahead; `False` at the end."""
        while not self.ahead:
            if self._work is None:
                self._work = self._threads.submit(functools.partial(self._fetch, count))
            work = self._work
            waiter = asyncio.wrap_future(work)
            try:
                found = await asyncio.shield(waiter)
            except asyncio.CancelledError:
                waiter.cancel()
                if work.cancelled():
                    self._work = None
                elif self._interrupt is not None:
                    await _ended(work, self._interrupt)
                raise
            except BaseException:
                self._work = None
                raise
            if work is not self._work:
                continue  # another task has taken them
            self._work = None
            self.ahead.extend(found)
            if not found:
                if self._done is not None:
                    self._done()
                    self._done = None
                return False
        return True

    async def next(self) -> T:
        """The next item."""
        if not await self.fill(_BATCH_ROWS):
            raise StopAsyncIteration
        return self.ahead.popleft()

    async def take(self, count: int) -> list[T]:
        """The next items, at most so many."""
        taken: list[T] = []
        while len(taken) < count and await self.fill(max(count - len(taken), 1)):
            while self.ahead and len(taken) < count:
                taken.append(self.ahead.popleft())
        return taken

    async def take_all(self) -> list[T]:
        """All items that are left."""
        taken: list[T] = []
        while await self.fill(_BATCH_ROWS):
            taken.extend(self.ahead)
            self.ahead.clear()
        return taken


class AsyncScan(_Twin):
    """Documents of a collection in file order; see `foliodb.Scan`.

    `async for` fetches them many at a time. Awaiting the scan begins it, which the first
    document does otherwise.
    """

    def __init__(self, collection: AsyncCollection, begin: Callable[[], Scan]) -> None:
        self._threads = collection._threads
        self._begin = begin
        self._begun: Scan | None = None
        self._rows: _Rows[Any] = _Rows(self._threads, lambda count: self._blocking().next_batch(count))

    def _blocking(self) -> Scan:
        if self._begun is None:
            self._begun = self._begin()
        return self._begun

    arrow = _Awaited(Scan.arrow)
    df = _Awaited(Scan.df)
    pl = _Awaited(Scan.pl)

    async def next_batch(self, count: int) -> list[Any]:
        """The next documents, at most `count` of them; empty at the end."""
        return await self._rows.take(count)

    progress = _Awaited(Scan.progress)

    def __await__(self) -> Generator[Any, Any, AsyncScan]:
        async def begun() -> AsyncScan:
            await self._threads.run(self._blocking)
            return self

        return begun().__await__()

    def __aiter__(self) -> AsyncScan:
        return self

    async def __anext__(self) -> Any:
        return await self._rows.next()


class AsyncAnswer:
    """What a statement answered; see `foliodb.Answer`. `async for` fetches many rows at a time."""

    def __init__(
        self,
        answer: _foliodb.Answer,
        threads: _Threads,
        interrupt: Callable[[], None],
        done: Callable[[], None] | None = None,
    ) -> None:
        self._answer = answer
        self._threads = threads
        self._interrupt = interrupt
        self._rows: _Rows[Any] = _Rows(threads, answer.fetchmany, interrupt, done)
        if not answer.columns and done is not None:
            done()
            self._rows._done = None

    @property
    def count(self) -> int | None:
        """How many rows were inserted, changed or deleted; `None` for other statements."""
        return self._answer.count

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._answer.columns

    @property
    def types(self) -> list[str]:
        """The types of the columns, as SQL calls them."""
        return self._answer.types

    def __aiter__(self) -> AsyncAnswer:
        return self

    async def __anext__(self) -> Any:
        return await self._rows.next()

    async def fetchone(self) -> Any:
        """The next row, or `None`."""
        rows = await self._rows.take(1)
        return rows[0] if rows else None

    async def fetchmany(self, size: int = 1) -> list[Any]:
        """The next rows, at most so many, in a list."""
        return await self._rows.take(size)

    async def fetchall(self) -> list[Any]:
        """All rows that are left, in a list."""
        return await self._rows.take_all()

    async def dicts(self) -> list[dict[str, Any]]:
        """All rows that are left, as dicts."""
        columns = self.columns
        rows = await self._rows.take_all()
        return [row if isinstance(row, dict) else dict(zip(columns, row)) for row in rows]

    async def tuples(self) -> list[tuple[Any, ...]]:
        """All rows that are left, as tuples."""
        rows = await self._rows.take_all()
        return [tuple(row.values()) if isinstance(row, dict) else row for row in rows]

    async def arrow(self) -> pyarrow.Table:
        """The rows as a pyarrow table (needs pyarrow), before any are iterated."""
        return await self._whole(self._answer.arrow)

    async def df(self) -> pandas.DataFrame:
        """The rows as a pandas frame (needs pandas and pyarrow), before any are iterated."""
        return await self._whole(self._answer.df)

    async def pl(self) -> polars.DataFrame:
        """The rows as a polars frame (needs polars), before any are iterated."""
        return await self._whole(self._answer.pl)

    async def _whole(self, call: Callable[[], T]) -> T:
        if self._rows.ahead or self._rows._work is not None:
            raise InvalidInputError("rows were iterated before; ask for the frame first, or run the statement again")
        return await self._threads.run(call, self._interrupt)

    async def _as(self, model: Any) -> Any:
        """The answer as it is, or as a list of a model's instances."""
        if model is None:
            return self
        from .models import instance

        return [instance(model, row) for row in await self.fetchall()]


class AsyncSession(_Twin):
    """Runs statements, and has a transaction and a thread of its own; see `foliodb.Session`."""

    def __init__(self, database: AsyncDatabase, *, autocommit: bool = True) -> None:
        self.database = database
        self._threads = _Threads(1)
        self._autocommit = autocommit
        self._opened: Session | None = None

    def _blocking(self) -> Session:
        if self._opened is None:
            self._opened = Session(self.database.blocking, autocommit=self._autocommit)
        return self._opened

    def _interrupt(self) -> Callable[[], None]:
        return self.interrupt

    def interrupt(self) -> None:
        """Ends the statement under way. Not awaited."""
        if self._opened is not None:
            self._opened.interrupt()

    schema = _Awaited(Session.schema)
    check_schema = _Awaited(Session.check_schema)
    apply_schema = _Awaited(Session.apply_schema)
    is_in_transaction = _Property(bool, "Whether a transaction is open.")
    autocommit = _Property(bool, "Whether each statement that changes tables is a transaction of its own.")

    async def set_autocommit(self, autocommit: bool) -> None:
        """Sets what `autocommit` says."""
        await self._threads.run(lambda: setattr(self._blocking(), "autocommit", autocommit))

    async def sql(self, text: str, params: Any = None) -> AsyncAnswer:
        """Runs SQL statements and answers the last one; see `Session.sql`."""
        return await self._answered(lambda: self._blocking().sql(text, params))

    @overload
    async def ziql(self, text: str, *, model: None = None, **params: Any) -> AsyncAnswer: ...

    @overload
    async def ziql(self, text: str, *, model: type[Model], **params: Any) -> list[Model]: ...

    async def ziql(self, text: str, *, model: Any = None, **params: Any) -> Any:
        """Runs a script of ZiQL and answers its last statement; see `Database.ziql`."""
        answer = await self._answered(lambda: self._blocking()._ziql(text, params))
        return await answer._as(model)

    async def _answered(self, call: Callable[[], _foliodb.Answer]) -> AsyncAnswer:
        answer = await self._threads.run(call, self.interrupt)
        return AsyncAnswer(answer, self._threads, self.interrupt)

    async def prepare(self, text: str) -> AsyncPrepared:
        """Makes one statement ready to run, any number of times."""
        prepared = await self._threads.run(lambda: self._blocking().prepare(text))
        return AsyncPrepared(self, prepared)

    def transaction(self, *, read_only: bool = False) -> AsyncTransaction:
        """`async with session.transaction():` commits at the end, and rolls back if it raises."""
        return AsyncTransaction(self, read_only=read_only)

    async def close(self) -> None:
        """Ends the session, and its transaction without a trace; closing twice is fine."""
        if self._opened is not None and not self._threads.is_closed:
            await self._threads.run(self._opened.close, is_whole=True)
        self._threads.close()

    async def __aenter__(self) -> AsyncSession:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"{self.database!r}.session()"


class AsyncPrepared:
    """A statement of a session, ready to run with other parameters; see `foliodb.Prepared`."""

    def __init__(self, session: AsyncSession, prepared: _foliodb.Prepared) -> None:
        self._session = session
        self._prepared = prepared

    @property
    def text(self) -> str:
        """The text."""
        return self._prepared.text

    async def execute(self, params: Any = None) -> AsyncAnswer:
        """Runs the statement."""
        return await self._session._answered(lambda: self._prepared.execute(params))

    async def execute_many(self, params: Any) -> int:
        """Runs the statement once for each element; how many rows were changed in all."""
        run, interrupt = self._session._threads.run, self._session.interrupt
        return await run(lambda: self._prepared.execute_many(params), interrupt)


class AsyncTransaction:
    """Statements that happen as a whole or not at all; see `foliodb.Transaction`."""

    def __init__(
        self, session: AsyncSession, *, read_only: bool = False, owns: bool = False
    ) -> None:
        self.session = session
        self._read_only = read_only
        self._owns = owns
        self._opened: Any = None

    async def sql(self, text: str, params: Any = None) -> AsyncAnswer:
        """Runs SQL statements and answers the last one; see `Database.sql`."""
        return await self.session.sql(text, params)

    @overload
    async def ziql(self, text: str, *, model: None = None, **params: Any) -> AsyncAnswer: ...

    @overload
    async def ziql(self, text: str, *, model: type[Model], **params: Any) -> list[Model]: ...

    async def ziql(self, text: str, *, model: Any = None, **params: Any) -> Any:
        """Runs a script of ZiQL and answers its last statement; see `Database.ziql`."""
        return await self.session.ziql(text, model=model, **params)

    async def prepare(self, text: str) -> AsyncPrepared:
        """Makes a statement ready to run; see `Session.prepare`."""
        return await self.session.prepare(text)

    def transaction(self) -> AsyncTransaction:
        """A part of this transaction, that can fail by itself."""
        return AsyncTransaction(self.session)

    async def commit(self) -> None:
        """Ends the transaction now and keeps what it did."""
        await self._run(lambda: self._opened.commit())

    async def rollback(self) -> None:
        """Ends the transaction now, with nothing done."""
        await self._run(lambda: self._opened.rollback())

    async def _run(self, call: Callable[[], T]) -> T:
        # A beginning and an end that are cut in two would leave nobody knowing.
        return await self.session._threads.run(call, is_whole=True)

    def _begin(self) -> None:
        opened = Transaction(self.session._blocking(), read_only=self._read_only)
        opened.__enter__()
        self._opened = opened

    async def __aenter__(self) -> AsyncTransaction:
        try:
            await self._run(self._begin)
        except BaseException:
            if self._opened is not None:
                await self.rollback()
            await self._let_go()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            await self._run(lambda: self._opened.__exit__(kind, value, traceback))
        finally:
            await self._let_go()

    async def _let_go(self) -> None:
        if self._owns:
            await self.session.close()


class AsyncTables(_Twin):
    """The tables of a database as a whole; see `Database.tables`."""

    def __init__(self, database: AsyncDatabase) -> None:
        self._database = database
        self._threads = database._threads

    def _blocking(self) -> _foliodb.Tables:
        return self._database.blocking.tables()

    exist = _Awaited(_foliodb.Tables.exist)
    list = _Awaited(_foliodb.Tables.list)
    statistics = _Awaited(_foliodb.Tables.statistics)
    check = _Awaited(_foliodb.Tables.check)
    inspect = _Awaited(_foliodb.Tables.inspect)
    checkpoint = _Awaited(_foliodb.Tables.checkpoint)
    vacuum = _Awaited(_foliodb.Tables.vacuum)
