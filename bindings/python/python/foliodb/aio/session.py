"""Sessions, statements and transactions, awaited."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, overload

from .. import _foliodb
from ..session import Session, Transaction
from .rows import AsyncAnswer
from .threads import AsyncWrapper, Awaited, Property, T, Threads

if TYPE_CHECKING:
    from .database import AsyncDatabase

Model = TypeVar("Model")


class Statements(AsyncWrapper):
    """Runs statements: a database, a session or a transaction."""

    async def _answered(self, statement: Callable[[Session], _foliodb.Answer]) -> AsyncAnswer:
        """Runs a statement in a session."""
        raise NotImplementedError

    async def sql(self, text: str, params: Any = None) -> AsyncAnswer:
        """Runs SQL statements and returns the result of the last one; see `Database.sql`."""
        return await self._answered(lambda session: session.sql(text, params))

    @overload
    async def ziql(self, text: str, *, model: None = None, **params: Any) -> AsyncAnswer: ...

    @overload
    async def ziql(self, text: str, *, model: type[Model], **params: Any) -> list[Model]: ...

    async def ziql(self, text: str, *, model: Any = None, **params: Any) -> Any:
        """Runs a script of ZiQL and returns the result of its last statement; see
        `Database.ziql`."""
        answer = await self._answered(lambda session: session._ziql(text, params))
        return await answer._as(model)


class AsyncSession(Statements):
    """Runs statements, with its own transaction and thread; see `foliodb.Session`."""

    def __init__(
        self,
        database: AsyncDatabase,
        *,
        autocommit: bool = True,
        timeout: float | None = None,
        memory_limit: int | None = None,
    ) -> None:
        self.database = database
        self._threads = Threads(1)
        self._options: dict[str, Any] = {
            "autocommit": autocommit,
            "timeout": timeout,
            "memory_limit": memory_limit,
        }
        self._opened: Session | None = None

    def _blocking(self) -> Session:
        if self._opened is None:
            self._opened = Session(self.database.blocking, **self._options)
        return self._opened

    def _interrupt(self) -> Callable[[], None]:
        return self.interrupt

    def interrupt(self) -> None:
        """Cancels the running statement. Not awaited."""
        if self._opened is not None:
            self._opened.interrupt()

    schema = Awaited(Session.schema)
    check_schema = Awaited(Session.check_schema)
    apply_schema = Awaited(Session.apply_schema)
    is_in_transaction = Property(bool, "Whether a transaction is open.")
    autocommit = Property(bool, "Whether each statement that changes tables is its own transaction.")

    async def set_autocommit(self, autocommit: bool) -> None:
        """Sets `autocommit`."""
        await self._threads.run(lambda: setattr(self._blocking(), "autocommit", autocommit))

    async def _answered(self, statement: Callable[[Session], _foliodb.Answer]) -> AsyncAnswer:
        answer = await self._threads.run(lambda: statement(self._blocking()), self.interrupt)
        return AsyncAnswer(answer, self._threads, self.interrupt)

    async def prepare(self, text: str) -> AsyncPrepared:
        """Prepares one statement, to run it any number of times."""
        prepared = await self._threads.run(lambda: self._blocking().prepare(text))
        return AsyncPrepared(self, prepared)

    def transaction(self, *, read_only: bool = False) -> AsyncTransaction:
        """`async with session.transaction():` commits at the end, and rolls back if it raises."""
        return AsyncTransaction(self, read_only=read_only)

    async def close(self) -> None:
        """Ends the session and rolls back its transaction. Closing twice is allowed."""
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
    """A prepared statement of a session; see `foliodb.Prepared`."""

    def __init__(self, session: AsyncSession, prepared: _foliodb.Prepared) -> None:
        self._session = session
        self._prepared = prepared

    @property
    def text(self) -> str:
        """The text of the statement."""
        return self._prepared.text

    async def execute(self, params: Any = None) -> AsyncAnswer:
        """Runs the statement."""
        return await self._session._answered(lambda _: self._prepared.execute(params))

    async def execute_many(self, params: Any) -> int:
        """Runs the statement once for each element, all or nothing. Returns the total number of
        changed rows."""
        run, interrupt = self._session._threads.run, self._session.interrupt
        return await run(lambda: self._prepared.execute_many(params), interrupt)


class AsyncTransaction(Statements):
    """Statements that take effect as a whole or not at all; see `foliodb.Transaction`."""

    def __init__(
        self, session: AsyncSession, *, read_only: bool = False, owns: bool = False
    ) -> None:
        self.session = session
        self._read_only = read_only
        self._owns = owns
        self._opened: Any = None

    async def _answered(self, statement: Callable[[Session], _foliodb.Answer]) -> AsyncAnswer:
        return await self.session._answered(statement)

    async def prepare(self, text: str) -> AsyncPrepared:
        """Prepares a statement; see `Session.prepare`."""
        return await self.session.prepare(text)

    def transaction(self) -> AsyncTransaction:
        """A savepoint: a part of this transaction that can fail alone."""
        return AsyncTransaction(self.session)

    async def commit(self) -> None:
        """Commits the transaction now."""
        await self._run(lambda: self._opened.commit())

    async def rollback(self) -> None:
        """Rolls back the transaction now."""
        await self._run(lambda: self._opened.rollback())

    async def _run(self, call: Callable[[], T]) -> T:
        # Begin and end run as a whole: a cancelled half would leave an unknown state.
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
