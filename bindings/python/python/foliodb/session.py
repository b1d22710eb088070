"""Sessions and transactions: SQL and ZiQL, one statement after the other."""

from __future__ import annotations

from . import _foliodb
from ._checking import TYPE_CHECKING, overload
from ._foliodb import Answer, Prepared
from .closing import Closing

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, TypeVar

    from .database import Database

    Model = TypeVar("Model")


def answer_as(model: Any, answer: Answer) -> Any:
    """The answer itself, or a list of instances of the model."""
    if model is None:
        return answer
    # Imported late: most programs never name a model.
    from .models import built

    return built(model, answer)


class Session(_foliodb.Session, Closing):
    """Runs statements, with its own transaction. Any number may be open.

    `db.sql` and `db.ziql` need no session. Use one for BEGIN and COMMIT over several calls, and
    for `interrupt`. Threads may share it: they wait for each other. Use it as a context
    manager, or `close` it; an open transaction is rolled back.
    """

    def __new__(
        cls,
        database: Database,
        *,
        autocommit: bool = True,
        timeout: float | None = None,
        memory_limit: int | None = None,
    ) -> Session:
        session = super().__new__(
            cls, database, autocommit=autocommit, timeout=timeout, memory_limit=memory_limit
        )
        session.database = database
        return session

    database: Database

    @overload
    def ziql(self, text: str, *, model: None = None, **params: Any) -> Answer: ...

    @overload
    def ziql(self, text: str, *, model: type[Model], **params: Any) -> list[Model]: ...

    def ziql(self, text: str, *, model: Any = None, **params: Any) -> Any:
        """Runs a script of ZiQL and returns the result of its last statement; see
        `Database.ziql`."""
        return answer_as(model, self._ziql(text, params))

    def prepare(self, text: str) -> Prepared:
        """Prepares one statement, to run it any number of times: `prepared.execute(params)`."""
        return self._prepare(text)

    def transaction(self, *, read_only: bool = False) -> Transaction:
        """`with session.transaction():` commits at the end, and rolls back if it raises.

        Inside a transaction it is a savepoint: if it raises, only its own changes are undone.
        """
        return Transaction(self, read_only=read_only)

    def __repr__(self) -> str:
        return f"{self.database!r}.session()"


class Transaction:
    """Statements that take effect as a whole or not at all; see `Database.transaction`."""

    def __init__(self, session: Session, *, read_only: bool = False, owns: bool = False) -> None:
        self.session = session
        self._read_only = read_only
        self._owns = owns
        self._savepoint: str | None = None
        self._is_open = False

    def sql(self, text: str, params: Any = None) -> Answer:
        """Runs SQL statements and returns the result of the last one; see `Database.sql`."""
        return self.session.sql(text, params)

    @overload
    def ziql(self, text: str, *, model: None = None, **params: Any) -> Answer: ...

    @overload
    def ziql(self, text: str, *, model: type[Model], **params: Any) -> list[Model]: ...

    def ziql(self, text: str, *, model: Any = None, **params: Any) -> Any:
        """Runs a script of ZiQL and returns the result of its last statement; see
        `Database.ziql`."""
        return self.session.ziql(text, model=model, **params)

    def prepare(self, text: str) -> Prepared:
        """Prepares a statement; see `Session.prepare`."""
        return self.session.prepare(text)

    def transaction(self) -> Transaction:
        """A savepoint: a part of this transaction that can fail alone."""
        return Transaction(self.session)

    def commit(self) -> None:
        """Commits the transaction now."""
        self._end("RELEASE" if self._savepoint else "COMMIT")

    def rollback(self) -> None:
        """Rolls back the transaction now."""
        self._end("ROLLBACK TO" if self._savepoint else "ROLLBACK")

    def __enter__(self) -> Transaction:
        if self.session.is_in_transaction:
            self._savepoint = f"part_{id(self)}"
            self.session.sql(f"SAVEPOINT {self._savepoint}")
        else:
            self.session.sql("BEGIN READ ONLY" if self._read_only else "BEGIN")
        self._is_open = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if not self._is_open:
                return
            if kind is None:
                self.commit()
            else:
                self.rollback()
        finally:
            if self._owns:
                self.session.close()

    def _end(self, word: str) -> None:
        self._is_open = False
        self.session.sql(f"{word} {self._savepoint}" if self._savepoint else word)
