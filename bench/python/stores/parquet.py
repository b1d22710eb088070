"""Parquet through pyarrow. It has no lookup by key."""

from __future__ import annotations

import os

import pyarrow as pa
import pyarrow.parquet as pq

from . import Record, Store


class Parquet(Store):
    """One file, written and read whole."""

    name = "pyarrow, parquet"
    settings = "Table.from_pylist, write_table, read_table, to_pylist; fsync"
    has_lookup = False

    @classmethod
    def version(cls) -> str:
        return pa.__version__

    @property
    def path(self) -> str:
        return str(self.folder / "data.parquet")

    def create(self) -> None:
        self.folder.mkdir()

    def write(self, records: list[Record]) -> None:
        pq.write_table(pa.Table.from_pylist(records), self.path)

    def sync(self) -> None:
        descriptor = os.open(self.path, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)

    def open(self) -> None:
        pass

    def read_all(self) -> list[Record]:
        return pq.read_table(self.path).to_pylist()


STORE = Parquet
