"""SQLite with orjson, through the standard library's module."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

import orjson

from . import Record, Store


class Sqlite(Store):
    """A table of id and document, without a second tree for row ids."""

    name = "sqlite3 + orjson"
    settings = "WAL, synchronous=NORMAL, WITHOUT ROWID, one transaction, executemany; checkpoint"

    @classmethod
    def version(cls) -> str:
        return sqlite3.sqlite_version

    def _connect(self) -> None:
        self.connection = sqlite3.connect(self.folder / "data.db")
        self.connection.execute("PRAGMA journal_mode=WAL")
        self.connection.execute("PRAGMA synchronous=NORMAL")

    def create(self) -> None:
        self.folder.mkdir()
        self._connect()
        self.connection.execute(
            "CREATE TABLE records (id TEXT PRIMARY KEY, document BLOB) WITHOUT ROWID"
        )

    def write(self, records: list[Record]) -> None:
        dumps = orjson.dumps
        rows = ((record["_id"], dumps(record)) for record in records)
        with self.connection:
            self.connection.executemany("INSERT INTO records VALUES (?, ?)", rows)

    def sync(self) -> None:
        self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def open(self) -> None:
        self._connect()

    def read_all(self) -> list[Record]:
        loads = orjson.loads
        rows = self.connection.execute("SELECT document FROM records")
        return [loads(document) for (document,) in rows]

    def lookup(self, ids: Iterable[str]) -> list[Record]:
        loads, execute = orjson.loads, self.connection.execute
        query = "SELECT document FROM records WHERE id = ?"
        return [loads(execute(query, (name,)).fetchone()[0]) for name in ids]

    def close(self) -> None:
        self.connection.close()


STORE = Sqlite
