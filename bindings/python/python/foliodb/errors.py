"""Exceptions: a class per error code, each also the built-in that fits.

`error.code` is stable and the same in every language; the text is for people.

    try:
        users["nobody"]
    except KeyError:          # or foliodb.NotFoundError
        ...
"""

from __future__ import annotations


class FolioWarning(UserWarning):
    """A line of a data file is no document: somebody has broken it by hand.

    Given by file and line, by every process that opens the collection, until the line is mended.
    The other documents are there. `Collection.take_notices` has the same for programs.
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
    """Something exists already, violates a constraint, or a batch is open."""

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
    """An id, name, option, parameter or value that breaks a rule; the text says which."""

    code = "invalid_input"


class FolioSyntaxError(FolioError, ValueError):
    """Text that is not the JSON, SQL or ZiQL it must be; the text names the place."""

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
    """The work was asked to stop."""

    code = "cancelled"


class StatementTimeoutError(FolioError, TimeoutError):
    """A statement took longer than it may."""

    code = "timeout"


class MemoryLimitError(FolioError, MemoryError):
    """A statement needs more memory than it may hold."""

    code = "memory_limit"


class IoError(FolioError, OSError):
    """The operating system refused; the text carries its words."""

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
