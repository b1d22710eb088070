"""How calls run on threads, and how a class's table of methods becomes a class of awaited ones.

A cancelled call ends in one of four ways: it never began; it is interrupted and awaited; it is
awaited, because its outcome would be unknown otherwise; or it continues by itself.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from ..collection import progress_of
from ..errors import ClosedError

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

# Seconds between two interrupts of a statement: the first may come too early.
_INTERRUPT_EVERY = 0.02


class Threads:
    """Threads that calls run on, and how a call is cancelled."""

    def __init__(self, count: int) -> None:
        self._pool = ThreadPoolExecutor(count, "foliodb")
        self.is_closed = False

    def submit(self, call: Callable[[], T]) -> Future[T]:
        """Starts a call with the variables of this context."""
        own = batch_threads.get()
        # A task that was started within a batch may outlive it.
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
        """Runs a call on a thread. A cancelled task interrupts it and waits for its end. With
        `is_whole` it is not interrupted, and starts in any case."""
        work = self.submit(call)
        waiter = asyncio.wrap_future(work)
        try:
            return await asyncio.shield(waiter)
        except asyncio.CancelledError:
            if is_whole:
                await _done(work)
                raise
            # The call then does not start, and does not report to a closed loop.
            waiter.cancel()
            if interrupt is not None:
                await ended(work, interrupt)
            raise

    def close(self) -> None:
        """Releases the threads after their calls have finished."""
        self.is_closed = True
        self._pool.shutdown(wait=False)


# The thread of the batch that code runs within.
batch_threads: contextvars.ContextVar[Threads | None] = contextvars.ContextVar(
    "foliodb.batch", default=None
)


async def ended(work: Future[Any], interrupt: Callable[[], None]) -> None:
    """Interrupts a call until it ends. A caller cancelled meanwhile stops waiting."""
    while not work.done():
        interrupt()
        await asyncio.sleep(_INTERRUPT_EVERY)


async def _done(work: Future[Any]) -> None:
    """Waits for a call to end, however often the task is cancelled meanwhile."""
    while not work.done():
        try:
            await asyncio.sleep(_INTERRUPT_EVERY)
        except asyncio.CancelledError:
            pass


class AsyncWrapper:
    """The object of `foliodb` that an awaited one wraps."""

    _threads: Threads

    def _blocking(self) -> Any:
        """The object itself. Called on a thread, since it may have to be opened."""
        raise NotImplementedError

    def _interrupt(self) -> Callable[[], None] | None:
        """The function that ends the running call."""
        return None


class Awaited(Generic[P, R]):
    """A line of a class's table: the wrapped method, awaited."""

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
        async def awaited(self: AsyncWrapper, /, *args: Any, **kwargs: Any) -> Any:
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
        def __get__(self, owner: None, kind: type) -> Awaited[P, R]: ...

        @overload
        def __get__(self, owner: Any, kind: type) -> Callable[P, Coroutine[Any, Any, R]]: ...

        def __get__(self, owner: Any, kind: type) -> Any: ...


class Property(Generic[R]):
    """A line of a class's table: a wrapped property, awaited."""

    def __init__(self, kind: type[R], doc: str) -> None:
        self.doc = doc

    def __set_name__(self, owner: type, name: str) -> None:
        def read(self: AsyncWrapper) -> Coroutine[Any, Any, Any]:
            return self._threads.run(lambda: getattr(self._blocking(), name))

        setattr(owner, name, property(read, doc=self.doc))

    if TYPE_CHECKING:

        def __get__(self, owner: Any, kind: type) -> Coroutine[Any, Any, R]: ...


class _Stopped(Exception):
    """Raised by a progress function of a task that was cancelled."""


def _stopped_by_progress(arguments: dict[str, Any]) -> Callable[[], None]:
    """Returns a progress function, and a function whose call ends the work at its next step."""
    stopped = False
    report = progress_of(arguments.get("progress"))

    def step(done: int, total: int) -> None:
        if stopped:
            raise _Stopped
        if report is not None:
            report(done, total)

    def stop() -> None:
        nonlocal stopped
        stopped = True

    arguments["progress"] = step
    return stop
