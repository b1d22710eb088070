"""Databases: a directory of collections, or a `.zds` archive of one."""

from __future__ import annotations

import os

from . import _foliodb
from ._checking import TYPE_CHECKING, overload
from ._foliodb import Answer, Partition, Prepared, Tables
from .closing import Closing
from .collection import Collection, warn_of_broken_lines
from .errors import InvalidInputError
from .exit import flush_on_terminate
from .functions import annotated_types
from .places import absolute, is_url
from .session import Session, Transaction, answer_as

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import Any, Literal, TypeVar

    Model = TypeVar("Model")

    Mode = Literal["r", "rw"]
    Durability = Literal["none", "on_flush", "every_put"]


def open(
    path: str | os.PathLike[str],
    mode: Mode = "rw",
    *,
    create: bool = True,
    durability: Durability = "on_flush",
    timeout: float = 5.0,
    write_behind: float | None = 1.0,
    cache_size: int = 64 << 20,
) -> Database:
    """Opens a database: a directory, or a `.zds` archive, which opens read-only.

    A missing database is created at the first write, unless `create` is false. `durability`
    determines when a write reaches the device: `"on_flush"` at `flush`, `close` and the end of
    `put_many` and of a batch; `"every_put"` before each write returns; `"none"` whenever the
    system decides. `timeout` is the number of seconds that a write waits for another process to
    release the writer's lock; `cache_size` the number of bytes of recently read data that each
    collection caches.

    Puts are written to the file after at most `write_behind` seconds or a megabyte of them, so
    that a killed process loses no more; with `None` only `flush`, `close` and the end of the
    program write them.

    Raises `NotFoundError`, `UnsupportedError` for a newer format version, `InvalidInputError`
    if the path is something else, `IoError`.
    """
    if mode == "rw":
        flush_on_terminate()
    return Database(
        path,
        mode,
        create=create,
        durability=durability,
        timeout=timeout,
        write_behind=write_behind,
        cache_size=cache_size,
    )


class Database(_foliodb.Database, Closing):
    """An open database. Use it as a context manager, or `close` it, to make everything durable.

    `db["users"]` is a collection; `"users" in db`, `len(db)` and iteration use the
    names of existing collections. Threads may share it; a pickle of it, and a
    forked child, reopen it by path.
    """

    def collection(
        self,
        name: str,
        *,
        layout: Literal["lines", "files"] = "lines",
        strict: bool | Mapping[str, Any] | None = None,
    ) -> Collection:
        """A collection by name. Through a writable handle it need not exist yet.

        `layout="files"` stores each document in its own file, which suits version control; an
        existing collection keeps its layout. `strict=True` requires the fields and types of the
        first document, a dict requires that schema (a subset of JSON Schema); either is stored
        with the collection.

        Raises `InvalidInputError` for a bad name; `NotFoundError`, with the most similar name,
        through a read-only handle.
        """
        return self._collection(name, layout, strict)

    def sql(
        self,
        text: str,
        params: Any = None,
        *,
        timeout: float | None = None,
        memory_limit: int | None = None,
    ) -> Answer:
        """Runs SQL statements over tables, collections and files; returns the result of the
        last one.

        `params` are values: a sequence for `?` or `$1`, a dict for `:name`. The answer is an
        iterator over its rows, as tuples; `.dicts()`, `.fetchall()`, `.arrow()`, `.df()` and
        `.pl()` return them in other forms, `.count` is the number of changed rows. Rows are
        read on demand, as of when the statement ran. Each statement is its own transaction,
        outside of one in the text.

        Raises `FolioSyntaxError`, `NotFoundError` or `TypeMismatchError` for an error in the
        text, with its place under a caret; `ConflictError` for a violated constraint;
        `CancelledError`. A statement that takes longer than `timeout`, in seconds, ends with
        `StatementTimeoutError`, one that holds more than `memory_limit`, in bytes, with
        `MemoryLimitError`.
        """
        return self._sql(text, params, timeout, memory_limit)

    @overload
    def ziql(self, text: str, *, model: None = None, **params: Any) -> Answer: ...

    @overload
    def ziql(self, text: str, *, model: type[Model], **params: Any) -> list[Model]: ...

    def ziql(self, text: str, *, model: Any = None, **params: Any) -> Any:
        """Runs a script of ZiQL and returns the result of its last statement: an iterator over
        dicts.

        Parameters are keywords: `db.ziql("GRAB User {age > $min}", min=30)`. With a
        `model`, a dataclass or a pydantic model, the answer is a list of instances.
        """
        return answer_as(model, self._ziql(text, params))

    def partitions(
        self,
        relation: str,
        count: int,
        *,
        columns: Iterable[str] | None = None,
        filter: str | None = None,
        since: str | None = None,
        until: str | None = None,
    ) -> list[Partition]:
        """At most `count` parts of a collection or a table, for other processes and machines.

        Together they have all rows, and about the same size each. Each is small and can be
        pickled; `foliodb.read_partition` reads it where the same path leads to the database.
        `columns` and `filter`, a condition of SQL without subqueries, say what is read of each. A
        path of a column, such as `commit.collection`, `cart[].sku`, `visits.*.day` or `"a.b".c`,
        wants only that of it: `commit` is a struct of the members named.

        A partition whose documents are changed before it is read raises `ConflictError` there.

        `since` and `until`, positions of a collection (`Collection.position`), take only the
        documents that were put between them. Of those, what was replaced or deleted before a
        partition is read is left out. A position that does not fit the file any more, after
        compaction or an edit, raises `ConflictError`.
        """
        names = None if columns is None else list(columns)
        return self._partitions(relation, count, (names, filter), (since, until))

    def register(self, name: str, rows: Any) -> int:
        """Registers a frame or table of the program under a name for statements; returns its
        number of rows.

        `rows` is anything with an Arrow stream: a pandas frame (which needs pyarrow), a polars
        frame, a pyarrow table, an answer of another query. The rows stay in memory, belong to
        this handle, and are never written; `unregister` removes them, and registering others
        under the name replaces them.

            db.register("wanted", pandas.DataFrame({"id": [1, 2]}))
            db.sql("select * from users join wanted using (id)")

        Raises `InvalidInputError` for rows of another kind; `ConflictError` for the name of a
        table or collection; `UnsupportedError` for columns without an SQL type.
        """
        stream = getattr(rows, "__arrow_c_stream__", None)
        if stream is None:
            raise InvalidInputError(
                f"{type(rows).__name__} has no Arrow stream; register a frame of pandas or polars, or a pyarrow table"
            )
        return self._register(name, stream())

    def create_function(
        self,
        name: str,
        function: Callable[..., Any],
        parameters: Sequence[str] | None = None,
        returns: str | None = None,
        *,
        volatile: bool = False,
        takes_null: bool = False,
    ) -> None:
        """Makes a Python function available to statements, called with the values of a row.

        `parameters` and `returns` are types as SQL names them, by default from the function's
        annotations. Without `takes_null` it is not called for null arguments, and the result is
        null; `volatile` declares that its result may differ for the same arguments. An
        exception ends the statement.

            db.create_function("slug", lambda title: title.lower().replace(" ", "-"), ["text"], "text")
            db.sql("select slug(title) from posts")

        Raises `InvalidInputError` for missing or unknown types; `ConflictError` for
        the name of a function of SQL.
        """
        if parameters is None or returns is None:
            own, answer = annotated_types(function)
            parameters = own if parameters is None else parameters
            returns = answer if returns is None else returns
        self._create_function(name, function, list(parameters), returns, volatile, takes_null)

    def session(
        self,
        *,
        autocommit: bool = True,
        timeout: float | None = None,
        memory_limit: int | None = None,
    ) -> Session:
        """A new session. Without `autocommit` the first statement that changes tables begins a
        transaction. `timeout` and `memory_limit` hold for each statement, as in `sql`.
        """
        return Session(
            self, autocommit=autocommit, timeout=timeout, memory_limit=memory_limit
        )

    def prepare(self, text: str) -> Prepared:
        """Prepares a statement in a new session; see `Session.prepare`."""
        return self.session().prepare(text)

    def transaction(self, *, read_only: bool = False) -> Transaction:
        """`with db.transaction() as tx:` commits at the end, and rolls back if it raises.

        Statements run through `tx`: they see one state of the tables, and what the
        transaction changed. One transaction writes at a time; others wait for it.
        """
        return Transaction(self.session(), read_only=read_only, owns=True)

    def _collection(self, name: str, layout: Any, strict: Any) -> Collection:
        collection = Collection(self, name, layout=layout, strict=strict)
        warn_of_broken_lines(collection, stacklevel=3)
        return collection

    def __getitem__(self, name: str) -> Collection:
        return self._collection(name, "lines", None)

    def __contains__(self, name: object) -> bool:
        return name in self.collections()

    def __iter__(self) -> Iterator[str]:
        return iter(self.collections())

    def __len__(self) -> int:
        return len(self.collections())

    def __bool__(self) -> bool:
        return True

    @property
    def path(self) -> Path | str:
        """The path as given; a URL, without a password and a query, as text."""
        from pathlib import Path  # slower to import than the whole package

        return self._shown if is_url(self._shown) else Path(self._shown)

    def tables(self) -> Tables:
        """The tables, for maintenance. The database may have none."""
        return Tables(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (absolute(self._given), self.mode, self.durability)

    def __repr__(self) -> str:
        return f"foliodb.open({os.fspath(self.path)!r}, mode={self.mode!r})"

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(
            f"<tr><td>{escape(name)}</td><td>{self.collection(name).count():,}</td></tr>"
            for name in self.collections()
        )
        title = escape(os.fspath(self.path))
        head = "<tr><th>collection</th><th>documents</th></tr>"
        return f"<table><caption>{title}</caption>{head}{rows}</table>"


def _reopen(path: str, mode: Mode, durability: Durability) -> Database:
    return Database(path, mode, durability=durability)
