"""pandas and a CSV file; what nests is JSON in a column."""

from __future__ import annotations

import os
from collections.abc import Iterable

import orjson
import pandas as pd

from . import Record, Store

NESTED = ("tags", "metadata")


class PandasCsv(Store):
    """Lookups go through the frame's index."""

    name = "pandas CSV"
    settings = "to_csv, read_csv, to_dict; nested values as JSON; fsync"

    @classmethod
    def version(cls) -> str:
        return pd.__version__

    @property
    def path(self) -> str:
        return str(self.folder / "data.csv")

    def create(self) -> None:
        self.folder.mkdir()

    def write(self, records: list[Record]) -> None:
        frame = pd.DataFrame(records)
        for column in NESTED:
            frame[column] = frame[column].map(lambda value: orjson.dumps(value).decode())
        frame.to_csv(self.path, index=False)

    def sync(self) -> None:
        descriptor = os.open(self.path, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)

    def open(self) -> None:
        self.frame: pd.DataFrame | None = None

    def _load(self) -> pd.DataFrame:
        frame = pd.read_csv(self.path)
        for column in NESTED:
            frame[column] = frame[column].map(orjson.loads)
        return frame

    def read_all(self) -> list[Record]:
        return self._load().to_dict("records")

    def lookup(self, ids: Iterable[str]) -> list[Record]:
        if self.frame is None:
            self.frame = self._load().set_index("_id", drop=False)
        rows = self.frame.loc
        return [rows[name].to_dict() for name in ids]


STORE = PandasCsv
