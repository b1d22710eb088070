"""FolioDB, as its documentation shows it."""

from __future__ import annotations

from collections.abc import Iterable

import foliodb

from . import Record, Store


class Folio(Store):
    """One collection; `put_many` is one atomic batch, durable when it returns."""

    name = "FolioDB"
    settings = "put_many, scan, get; the defaults"

    @classmethod
    def version(cls) -> str:
        return foliodb.__version__

    def create(self) -> None:
        self.db = foliodb.open(self.folder)
        self.db.create()

    def write(self, records: list[Record]) -> None:
        self.db["records"].put_many(records)

    def sync(self) -> None:
        self.db.flush()

    def open(self) -> None:
        self.db = foliodb.open(self.folder, "r")
        self.records = self.db["records"]

    def read_all(self) -> list[Record]:
        return list(self.records.scan())

    def lookup(self, ids: Iterable[str]) -> list[Record]:
        get = self.records.get
        return [get(name) for name in ids]

    def close(self) -> None:
        self.db.close()


STORE = Folio
