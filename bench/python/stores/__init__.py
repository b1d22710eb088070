"""The systems, one file each, behind one class.

Every system is given the same dicts and gives back equal ones; turning them into
what it stores, and back, is its own work and inside the timer.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

Record = dict[str, Any]

# In the order of the tables.
MODULES = (
    "folio",
    "lines",
    "lmdb_orjson",
    "sqlite",
    "parquet",
    "huggingface",
    "pandas_csv",
    "duck",
)


class Store(ABC):
    """One system, on one folder."""

    name: ClassVar[str]
    settings: ClassVar[str]
    # What a bulk write means for the device once `sync` has returned.
    durability: ClassVar[str] = "synced at the end"
    has_lookup: ClassVar[bool] = True

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def is_asked_for(cls, parts: str) -> bool:
        """Whether the name has one of the parts, which commas separate; without any it has."""
        return any(part.strip().lower() in cls.name.lower() for part in parts.split(","))

    @classmethod
    @abstractmethod
    def version(cls) -> str:
        """The version of the package."""

    def create(self) -> None:
        """Makes an empty store; not timed."""

    @abstractmethod
    def write(self, records: list[Record]) -> None:
        """Stores all records, in bulk."""

    def sync(self) -> None:
        """Brings what was written to the device."""

    @abstractmethod
    def open(self) -> None:
        """Opens what is there for reading."""

    @abstractmethod
    def read_all(self) -> list[Record]:
        """All records, as dicts."""

    def lookup(self, ids: Iterable[str]) -> list[Record]:
        """The records of these ids, asked for one by one."""
        raise NotImplementedError

    def close(self) -> None:
        """Lets go of everything."""


def available() -> tuple[list[type[Store]], list[str]]:
    """The systems that are installed, and why others are not."""
    stores, missing = [], []
    for module in MODULES:
        try:
            stores.append(importlib.import_module(f"stores.{module}").STORE)
        except ImportError as error:
            missing.append(f"{module}: {error}")
    return stores, missing
