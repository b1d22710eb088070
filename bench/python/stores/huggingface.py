"""HuggingFace datasets on disk; looked up by position, which its users keep by id."""

from __future__ import annotations

from collections.abc import Iterable

import datasets

from . import Record, Store

datasets.disable_progress_bars()


class HuggingFace(Store):
    """A data set saved to disk, which maps it."""

    name = "HF datasets"
    settings = "Dataset.from_list, save_to_disk, load_from_disk; positions in a dict"
    durability = "not synced"

    @classmethod
    def version(cls) -> str:
        return datasets.__version__

    def write(self, records: list[Record]) -> None:
        datasets.Dataset.from_list(records).save_to_disk(str(self.folder))

    def open(self) -> None:
        self.data = datasets.load_from_disk(str(self.folder))
        self.positions: dict[str, int] = {}

    def read_all(self) -> list[Record]:
        return list(self.data)

    def lookup(self, ids: Iterable[str]) -> list[Record]:
        if not self.positions:
            self.positions = {name: index for index, name in enumerate(self.data["_id"])}
        data, positions = self.data, self.positions
        return [data[positions[name]] for name in ids]

    def close(self) -> None:
        self.data = None


STORE = HuggingFace
