"""The DB-API 2.0 (PEP 249), for tools that use it.

    from foliodb import dbapi

    with dbapi.connect("mydata") as connection:
        cursor = connection.cursor()
        cursor.execute("insert into cities values (?, ?)", (1, "Oslo"))
        cursor.execute("select name from cities where id = ?", (1,))
        cursor.fetchone()                     # ('Oslo',)

The first statement that changes tables begins a transaction, which `commit` or `rollback` ends;
leaving the `with` block does either. Collections are never part of a transaction. With
`connect(autocommit=True)` every statement is its own transaction. Parameters are `?`, `$1` and
`:name`, independent of `paramstyle`.
"""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import errors as _errors
from ._foliodb import Answer
from .closing import Closing
from .database import Database
from .database import open as _open
from .session import Session

if TYPE_CHECKING:
    from .database import Durability, Mode

apilevel = "2.0"
threadsafety = 2  # threads may share the module and connections, not cursors
paramstyle = "qmark"

Params = Sequence[Any] | Mapping[str, Any]


class Warning(Exception):  # noqa: A001 - the name that PEP 249 gives it
    """Never raised: FolioDB has errors instead of warnings."""


class Error(Exception):
    """The root of these exceptions. `error.code` is the code of `foliodb.FolioError`."""

    code: str = "error"


class InterfaceError(Error):
    """Misuse of this interface: a closed cursor or connection."""


class DatabaseError(Error):
    """An error of the database."""


class DataError(DatabaseError):
    """A value that does not fit: a division by zero, an overflow, a cast that fails."""


class OperationalError(DatabaseError):
    """Locks, files, limits, and statements that were cancelled."""


class IntegrityError(DatabaseError):
    """A constraint is violated."""


class InternalError(DatabaseError):
    """Stored bytes are damaged."""


class ProgrammingError(DatabaseError):
    """An error in the statement: its text, a name, a parameter, a transaction that is open
    already."""


class NotSupportedError(DatabaseError):
    """A part of SQL that is not supported."""


_CLASSES: dict[str, type[Error]] = {
    "not_found": ProgrammingError,
    "syntax": ProgrammingError,
    "invalid_input": ProgrammingError,
    "type_mismatch": DataError,
    "conflict": IntegrityError,
    "unsupported": NotSupportedError,
    "corrupted": InternalError,
    "closed": InterfaceError,
    "read_only": OperationalError,
    "locked": OperationalError,
    "poisoned": OperationalError,
    "cancelled": OperationalError,
    "timeout": OperationalError,
    "memory_limit": OperationalError,
    "io": OperationalError,
}

# Where PEP 249 has two classes for what is one code, the text decides: names are empty in it.
_BY_TEXT: tuple[tuple[str, re.Pattern[str], type[Error]], ...] = (
    (
        "invalid_input",
        re.compile(
            r"division by zero|out of range|outside the domain|is not a value of type"
            r"|is not an interval|is not a regular expression|would be longer than"
            r"|takes at most \d+ character|must not be negative$|has more than one row"
        ),
        DataError,
    ),
    (
        "conflict",
        re.compile(
            r'^[a-z ]* "" already exists|^a transaction is already open|^there is no transaction'
        ),
        ProgrammingError,
    ),
)
_NAME = re.compile(r'"(?:[^"\\]|\\.)*"')


def _class_of(error: _errors.FolioError) -> type[Error]:
    headline = _NAME.sub('""', str(error)).partition("\n")[0]
    for code, pattern, kind in _BY_TEXT:
        if code == error.code and pattern.search(headline):
            return kind
    return _CLASSES.get(error.code, DatabaseError)


class _Translated:
    """`with _translated:` raises the exceptions of this module instead of those of the
    package."""

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(value, _errors.FolioError):
            error = _class_of(value)(str(value))
            error.code = value.code
            raise error from value


_translated = _Translated()


class _TypeObject:
    """Equal to the names of several SQL types, as in `cursor.description`."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return other.split("(")[0] in self.names
        return self is other

    def __hash__(self) -> int:
        return hash(self.names)


STRING = _TypeObject("text", "varchar", "char", "json", "uuid")
BINARY = _TypeObject("bytea")
NUMBER = _TypeObject(
    "smallint", "integer", "bigint", "real", "double precision", "numeric", "boolean"
)
DATETIME = _TypeObject("date", "time", "timestamp", "timestamptz", "interval")
ROWID = _TypeObject()

Date = datetime.date
Time = datetime.time
Timestamp = datetime.datetime
Binary = bytes


def DateFromTicks(ticks: float) -> datetime.date:
    """The local day of a number of seconds since 1970."""
    return datetime.date.fromtimestamp(ticks)


def TimeFromTicks(ticks: float) -> datetime.time:
    """The local time of day of a number of seconds since 1970."""
    return datetime.datetime.fromtimestamp(ticks).time()


def TimestampFromTicks(ticks: float) -> datetime.datetime:
    """The local time of a number of seconds since 1970."""
    return datetime.datetime.fromtimestamp(ticks)


def connect(
    database: str | os.PathLike[str] | Database,
    mode: Mode = "rw",
    *,
    autocommit: bool = False,
    create: bool = True,
    durability: Durability = "on_flush",
    timeout: float = 5.0,
) -> Connection:
    """A connection to a database, given by its path or open."""
    with _translated:
        if isinstance(database, Database):
            return Connection(database, autocommit=autocommit, owns=False)
        opened = _open(database, mode, create=create, durability=durability, timeout=timeout)
        return Connection(opened, autocommit=autocommit, owns=True)


def _known(parameters: Params) -> Params:
    """The parameters, with null for pandas' missing time: a datetime without fields."""
    if isinstance(parameters, Mapping):
        return {name: _value(value) for name, value in parameters.items()}
    if isinstance(parameters, (list, tuple)):
        return [_value(value) for value in parameters]
    return parameters


def _value(value: Any) -> Any:
    # No other datetime differs from itself.
    return None if isinstance(value, datetime.datetime) and value != value else value


class Connection:
    """A session with its own transaction."""

    Warning = Warning
    Error = Error
    InterfaceError = InterfaceError
    DatabaseError = DatabaseError
    DataError = DataError
    OperationalError = OperationalError
    IntegrityError = IntegrityError
    InternalError = InternalError
    ProgrammingError = ProgrammingError
    NotSupportedError = NotSupportedError

    def __init__(self, database: Database, *, autocommit: bool, owns: bool) -> None:
        self.database = database
        self.session: Session = database.session(autocommit=autocommit)
        self._owns = owns

    @property
    def autocommit(self) -> bool:
        """Whether each statement is its own transaction."""
        with _translated:
            return self.session.autocommit

    @autocommit.setter
    def autocommit(self, autocommit: bool) -> None:
        with _translated:
            self.session.autocommit = autocommit

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        with _translated:
            return self.session.is_in_transaction

    def cursor(self) -> Cursor:
        """A cursor. Those of one connection share its transaction."""
        with _translated:
            self.session.is_in_transaction  # noqa: B018 - raises when it was closed
        return Cursor(self)

    def execute(self, operation: str, parameters: Params = ()) -> Cursor:
        """A new cursor that has run a statement."""
        return self.cursor().execute(operation, parameters)

    def commit(self) -> None:
        """Commits the transaction, if there is one."""
        with _translated:
            if self.session.is_in_transaction:
                self.session.sql("COMMIT")

    def rollback(self) -> None:
        """Rolls back the transaction, if there is one."""
        with _translated:
            if self.session.is_in_transaction:
                self.session.sql("ROLLBACK")

    def close(self) -> None:
        """Closes; a transaction is rolled back. Closing twice is allowed."""
        with _translated:
            self.session.close()
            if self._owns:
                self.database.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self.commit()
            else:
                self.rollback()
        finally:
            self.close()


class Cursor(Closing):
    """Runs statements and iterates over their rows."""

    arraysize = 1

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._answer: Answer | None = None
        self._count = -1
        self._is_closed = False

    @property
    def description(self) -> list[tuple[str, str, None, None, None, None, None]] | None:
        """Name and type of each column; `None` without rows."""
        if self._answer is None or not self._answer.columns:
            return None
        columns = zip(self._answer.columns, self._answer.types)
        return [(name, kind, None, None, None, None, None) for name, kind in columns]

    @property
    def rowcount(self) -> int:
        """The number of changed rows; -1 for queries, whose rows are not counted in advance."""
        return self._count

    def execute(self, operation: str, parameters: Params = ()) -> Cursor:
        """Runs a statement. If it fails, the cursor has no rows."""
        session = self._emptied()
        with _translated:
            answer = session.sql(operation, _known(parameters))
        self._answer = answer
        self._count = -1 if answer.count is None else answer.count
        return self

    def executemany(self, operation: str, seq_of_parameters: Iterable[Params]) -> Cursor:
        """Runs a statement once for each element, all or nothing. It is prepared once."""
        session = self._emptied()
        with _translated:
            rows = (_known(parameters) for parameters in seq_of_parameters)
            self._count = session.prepare(operation).execute_many(rows)
        return self

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row."""
        with _translated:
            row: tuple[Any, ...] | None = self._rows().fetchone()
            return row

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """The next rows, `arraysize` of them unless `size` is given."""
        with _translated:
            return self._rows().fetchmany(self.arraysize if size is None else size)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All remaining rows."""
        with _translated:
            return self._rows().fetchall()

    def close(self) -> None:
        """Closes the cursor."""
        self._is_closed = True
        self._answer = None

    def setinputsizes(self, sizes: Sequence[Any]) -> None:
        """Does nothing: values have their own types."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Does nothing: values are read as a whole."""

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self

    def __next__(self) -> tuple[Any, ...]:
        row = self.fetchone()
        if row is None:
            raise StopIteration
        return row

    def _session(self) -> Session:
        if self._is_closed:
            raise InterfaceError("the cursor was closed; create another")
        return self.connection.session

    def _emptied(self) -> Session:
        """The session, after the rows of the statement before were forgotten."""
        session = self._session()
        self._answer = None
        self._count = -1
        return session

    def _rows(self) -> Answer:
        self._session()
        if self._answer is None or not self._answer.columns:
            raise ProgrammingError("there are no rows; execute a query first")
        return self._answer
