"""Scans and answers: fetched in batches and yielded one by one."""

from __future__ import annotations

import asyncio
import functools
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Generic

from .._foliodb import Answer
from ..collection import Scan
from ..errors import InvalidInputError
from .threads import AsyncWrapper, Awaited, T, Threads, ended

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

# Rows and documents fetched at a time by `async for`.
_BATCH_ROWS = 1_000


class Rows(Generic[T]):
    """Items fetched in batches. Items that a cancelled task fetched are not lost."""

    def __init__(
        self,
        threads: Threads,
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
        """Fetches items if none are left; `False` at the end."""
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
                    await ended(work, self._interrupt)
                raise
            except BaseException:
                self._work = None
                raise
            if work is not self._work:
                continue  # another task has consumed them
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
        """The next items, at most `count`."""
        taken: list[T] = []
        while len(taken) < count and await self.fill(max(count - len(taken), 1)):
            while self.ahead and len(taken) < count:
                taken.append(self.ahead.popleft())
        return taken

    async def take_all(self) -> list[T]:
        """All remaining items."""
        taken: list[T] = []
        while await self.fill(_BATCH_ROWS):
            taken.extend(self.ahead)
            self.ahead.clear()
        return taken


class AsyncScan(AsyncWrapper):
    """Documents of a collection in file order; see `foliodb.Scan`.

    `async for` fetches them in batches. Awaiting the scan starts it; otherwise the first
    document does.
    """

    def __init__(self, threads: Threads, place: str, begin: Callable[[], Scan]) -> None:
        self._threads = threads
        self._place = place
        self._begin = begin
        self._begun: Scan | None = None
        self._rows: Rows[Any] = Rows(self._threads, lambda count: self._blocking().next_batch(count))

    def _blocking(self) -> Scan:
        if self._begun is None:
            self._begun = self._begin()
        return self._begun

    arrow = Awaited(Scan.arrow)
    df = Awaited(Scan.df)
    pl = Awaited(Scan.pl)

    async def next_batch(self, count: int) -> list[Any]:
        """The next documents, at most `count` of them; empty at the end."""
        return await self._rows.take(count)

    progress = Awaited(Scan.progress)

    def __await__(self) -> Generator[Any, Any, AsyncScan]:
        async def begun() -> AsyncScan:
            await self._threads.run(self._blocking)
            return self

        return begun().__await__()

    def __aiter__(self) -> AsyncScan:
        return self

    async def __anext__(self) -> Any:
        rows = self._rows
        # The common case, without a second call.
        return rows.ahead.popleft() if rows.ahead else await rows.next()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._place}, {len(self._rows.ahead)} documents fetched)"


class AsyncAnswer:
    """The result of a statement; see `foliodb.Answer`. `async for` fetches rows in batches."""

    def __init__(
        self,
        answer: Answer,
        threads: Threads,
        interrupt: Callable[[], None] | None = None,
        done: Callable[[], None] | None = None,
    ) -> None:
        self._answer = answer
        self._threads = threads
        self._interrupt = interrupt
        self._rows: Rows[Any] = Rows(threads, answer.fetchmany, interrupt, done)
        if not answer.columns and done is not None:
            done()
            self._rows._done = None

    @property
    def count(self) -> int | None:
        """The number of rows inserted, changed or deleted; `None` for other statements."""
        return self._answer.count

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._answer.columns

    @property
    def types(self) -> list[str]:
        """The SQL types of the columns."""
        return self._answer.types

    def __aiter__(self) -> AsyncAnswer:
        return self

    async def __anext__(self) -> Any:
        rows = self._rows
        # The common case, without a second call.
        return rows.ahead.popleft() if rows.ahead else await rows.next()

    async def fetchone(self) -> Any:
        """The next row, or `None`."""
        rows = await self._rows.take(1)
        return rows[0] if rows else None

    async def fetchmany(self, size: int = 1) -> list[Any]:
        """The next rows, at most `size`, in a list."""
        return await self._rows.take(size)

    async def fetchall(self) -> list[Any]:
        """All remaining rows, in a list."""
        return await self._rows.take_all()

    async def dicts(self) -> list[dict[str, Any]]:
        """All remaining rows as dicts."""
        columns = self.columns
        rows = await self._rows.take_all()
        return [row if isinstance(row, dict) else dict(zip(columns, row)) for row in rows]

    async def tuples(self) -> list[tuple[Any, ...]]:
        """All remaining rows as tuples."""
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
        """The answer itself, or a list of instances of the model."""
        if model is None:
            return self
        from ..models import instance

        return [instance(model, row) for row in await self.fetchall()]

    def __repr__(self) -> str:
        count = "" if self.count is None else f"count={self.count}, "
        return f"{type(self).__name__}({count}columns={self.columns!r})"
