"""FolioDB: an embedded database whose data you can read.

    import foliodb

    db = foliodb.open("mydata")
    users = db["users"]
    users["u1"] = {"name": "Ann", "age": 34}
    users["u1"]                           # {'_id': 'u1', 'name': 'Ann', 'age': 34}

Documents live in JSON Lines files that people can `cat`, `grep`, `jq` and edit. Importing this
package imports only the standard library; pandas, polars and others are imported when they are
used.
"""

from __future__ import annotations

import atexit as _atexit
import os as _os
from collections.abc import Mapping as _Mapping

from . import _foliodb
from ._checking import TYPE_CHECKING
from ._foliodb import Answer, Document, Partition, Prepared, Studio, Tables, salvage, unpack
from .collection import Collection, Scan
from .database import Database, open
from .errors import (
    CancelledError,
    ClosedError,
    ConflictError,
    CorruptedError,
    FolioError,
    FolioSyntaxError,
    FolioWarning,
    InvalidInputError,
    IoError,
    LockedError,
    MemoryLimitError,
    NotFoundError,
    PoisonedError,
    ReadOnlyError,
    StatementTimeoutError,
    TypeMismatchError,
    UnsupportedError,
)
from .session import Session, Transaction

if TYPE_CHECKING:
    from typing import Any as _Any

    from . import aio, dbapi, zds
    from .browser import studio
    from .dataset import Dataset
    from .exchange import from_hf, read, to_folio, to_hf
    from .partition import read_partition
    from .streaming import StreamingDataset
    from .values import Interval

__version__: str = _foliodb.__version__

__all__ = [
    "Answer",
    "CancelledError",
    "ClosedError",
    "Collection",
    "ConflictError",
    "CorruptedError",
    "Database",
    "Dataset",
    "Document",
    "FolioError",
    "FolioSyntaxError",
    "FolioWarning",
    "Interval",
    "InvalidInputError",
    "IoError",
    "LockedError",
    "MemoryLimitError",
    "NotFoundError",
    "Partition",
    "PoisonedError",
    "Prepared",
    "ReadOnlyError",
    "Scan",
    "Session",
    "StatementTimeoutError",
    "StreamingDataset",
    "Studio",
    "Tables",
    "Transaction",
    "TypeMismatchError",
    "UnsupportedError",
    "aio",
    "dbapi",
    "from_hf",
    "open",
    "read",
    "read_partition",
    "salvage",
    "studio",
    "to_folio",
    "to_hf",
    "unpack",
    "zds",
]

# Names that are imported on first use, by module.
_LATER = {
    "Dataset": "dataset",
    "Interval": "values",
    "StreamingDataset": "streaming",
    "from_hf": "exchange",
    "read": "exchange",
    "read_partition": "partition",
    "studio": "browser",
    "to_folio": "exchange",
    "to_hf": "exchange",
    "aio": "aio",
    "dbapi": "dbapi",
    "zds": "zds",
}


def __getattr__(name: str) -> _Any:
    if name not in _LATER:
        raise AttributeError(f"module 'foliodb' has no attribute {name!r}")
    from importlib import import_module

    module = import_module(f".{_LATER[name]}", __name__)
    value = module if name == _LATER[name] else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


_Mapping.register(Document)

# The end of a program flushes all open databases.
_atexit.register(_foliodb._flush_all)

# A child process must not use its parent's handles; see the native module `fork`.
if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(after_in_child=_foliodb._forked)
