"""FolioDB: an embedded database whose data you can read.

    import foliodb

    db = foliodb.open("mydata")
    users = db["users"]
    users["u1"] = {"name": "Ann", "age": 34}
    users["u1"]                           # {'_id': 'u1', 'name': 'Ann', 'age': 34}

Documents live in JSON Lines files that people can `cat`, `grep`, `jq` and edit.
Importing this package imports nothing but the standard library; pandas, polars
and their like are imported when they are asked for.
"""

from __future__ import annotations

import os as _os
from collections.abc import Mapping as _Mapping

from . import _foliodb
from ._foliodb import Document, unpack
from .collection import Collection, Scan
from .database import Database, open
from .errors import (
    CancelledError,
    ClosedError,
    ConflictError,
    CorruptedError,
    DocumentSyntaxError,
    FolioError,
    InvalidInputError,
    IoError,
    LockedError,
    NotFoundError,
    PoisonedError,
    ReadOnlyError,
    TypeMismatchError,
    UnsupportedError,
)

__version__: str = _foliodb.__version__

__all__ = [
    "CancelledError",
    "ClosedError",
    "Collection",
    "ConflictError",
    "CorruptedError",
    "Database",
    "Document",
    "DocumentSyntaxError",
    "FolioError",
    "InvalidInputError",
    "IoError",
    "LockedError",
    "NotFoundError",
    "PoisonedError",
    "ReadOnlyError",
    "Scan",
    "TypeMismatchError",
    "UnsupportedError",
    "open",
    "unpack",
]

_Mapping.register(Document)

# A child process must not use its parent's handles; see the native module `fork`.
if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(after_in_child=_foliodb._forked)
