"""Roots: a database with the methods of ZDS."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ..closing import Closing
from ..database import Database, open
from .stores import FastZDSStore, NativeStore

if TYPE_CHECKING:
    from typing_extensions import Self


class ZDSRoot(Closing):
    """A directory of collections."""

    def __init__(self, database: Database, batch_size: int, native: bool) -> None:
        self._database = database
        self._native = native
        self.batch_size = batch_size

    @classmethod
    def open(
        cls,
        root: str | os.PathLike[str],
        batch_size: int = 5000,
        native: bool = False,
        mode: Literal["r", "rw"] = "rw",
    ) -> Self:
        """Opens a directory. `native` stores are `NativeStore`s; the engine is the same."""
        return cls(open(root, mode), batch_size, native)

    @property
    def root_path(self) -> Path:
        """The directory."""
        return Path(self._database.path)

    @property
    def mode(self) -> str:
        """`"r"` or `"rw"`."""
        return self._database.mode

    @property
    def is_writable(self) -> bool:
        """Whether collections may be written."""
        return self._database.is_writable

    def collection(
        self, name: str, batch_size: int | None = None, strict: bool = False
    ) -> FastZDSStore:
        """A store on one collection."""
        kind = NativeStore if self._native else FastZDSStore
        return kind(self._database, name, strict, batch_size or self.batch_size)

    def list_collections(self) -> list[str]:
        """The names of all collections."""
        return self._database.collections()

    def collection_exists(self, name: str) -> bool:
        """Whether a collection exists."""
        return name in self._database

    def close(self) -> None:
        """Flushes and closes."""
        self._database.close()

    def __repr__(self) -> str:
        return f"ZDSRoot({str(self.root_path)!r}, collections={self.list_collections()})"
