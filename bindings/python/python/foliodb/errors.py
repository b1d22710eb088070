"""Exceptions: a class per error code, each also a subclass of a matching built-in.

`error.code` is stable and the same in every language; the text is for people.

    try:
        users["nobody"]
    except KeyError:          # or foliodb.NotFoundError
        ...
"""

from __future__ import annotations


class FolioWarning(UserWarning):
    """A line of a data file is not a document, usually after an edit by hand; or, at the end of the
    program, a database was removed while it was open.

    Of a line, the warning names file and number. Every process that opens the collection issues it until the
    line is fixed. The other documents are readable. `Collection.take_notices` returns the same
    for programs.
    """


class FolioError(Exception):
    """The root of all exceptions of this package."""

    code: str = "error"

    def __str__(self) -> str:
        # `KeyError` would print the text in quotes.
        return Exception.__str__(self)


class NotFoundError(FolioError, KeyError):
    """A document, collection, table, column, database or file does not exist."""

    code = "not_found"


class ConflictError(FolioError):
    """Something already exists, violates a constraint, or a batch is open."""

    code = "conflict"


class CorruptedError(FolioError):
    """Stored bytes are damaged; the text names file, offset and repair."""

    code = "corrupted"


class ReadOnlyError(FolioError, PermissionError):
    """A write through a read-only handle, archive or file system."""

    code = "read_only"


class LockedError(FolioError, TimeoutError):
    """Another process holds the writer's lock; the text names its pid."""

    code = "locked"


class PoisonedError(FolioError, OSError):
    """A sync failed earlier; reads continue, writes are refused until reopened."""

    code = "poisoned"


class InvalidInputError(FolioError, ValueError):
    """An id, name, option, parameter or value that breaks a rule; the text names it."""

    code = "invalid_input"


class FolioSyntaxError(FolioError, ValueError):
    """Invalid JSON, SQL or ZiQL; the text names the place."""

    code = "syntax"


class TypeMismatchError(FolioError, ValueError):
    """A value that does not fit a schema, a column or an operator."""

    code = "type_mismatch"


class UnsupportedError(FolioError):
    """A format version, or a part of a language, that this release does not know."""

    code = "unsupported"


class ClosedError(FolioError, ValueError):
    """The handle was closed."""

    code = "closed"


class CancelledError(FolioError):
    """The operation was cancelled."""

    code = "cancelled"


class StatementTimeoutError(FolioError, TimeoutError):
    """A statement took longer than its limit."""

    code = "timeout"


class MemoryLimitError(FolioError, MemoryError):
    """A statement needs more memory than its limit."""

    code = "memory_limit"


class IoError(FolioError, OSError):
    """An error of the operating system; the text includes its message."""

    code = "io"


BY_CODE: dict[str, type[FolioError]] = {
    error.code: error
    for error in (
        NotFoundError,
        ConflictError,
        CorruptedError,
        ReadOnlyError,
        LockedError,
        PoisonedError,
        InvalidInputError,
        FolioSyntaxError,
        TypeMismatchError,
        UnsupportedError,
        ClosedError,
        CancelledError,
        StatementTimeoutError,
        MemoryLimitError,
        IoError,
    )
}
