"""JSON Lines by hand: a file, orjson, and a dict of offsets for lookups."""

from __future__ import annotations

import os
from collections.abc import Iterable

import orjson

from . import Record, Store


class Lines(Store):
    """What one writes in a few lines; no atomicity, no deletes, no other readers."""

    name = "JSONL + orjson by hand"
    settings = "one write per record into a buffered file, fdatasync; offsets in a dict"

    @classmethod
    def version(cls) -> str:
        return orjson.__version__

    @property
    def path(self) -> str:
        return str(self.folder / "data.jsonl")

    def create(self) -> None:
        self.folder.mkdir()
        self.file = open(self.path, "wb", buffering=1 << 20)

    def write(self, records: list[Record]) -> None:
        write, dumps, newline = self.file.write, orjson.dumps, orjson.OPT_APPEND_NEWLINE
        for record in records:
            write(dumps(record, option=newline))

    def sync(self) -> None:
        self.file.flush()
        os.fdatasync(self.file.fileno())

    def open(self) -> None:
        self.file = open(self.path, "rb", buffering=1 << 20)
        self.offsets: dict[str, tuple[int, int]] = {}

    def read_all(self) -> list[Record]:
        self.file.seek(0)
        loads = orjson.loads
        return [loads(line) for line in self.file]

    def lookup(self, ids: Iterable[str]) -> list[Record]:
        if not self.offsets:
            self._index()
        pread, descriptor, offsets = os.pread, self.file.fileno(), self.offsets
        loads = orjson.loads
        found = []
        for name in ids:
            offset, size = offsets[name]
            found.append(loads(pread(descriptor, size, offset)))
        return found

    def _index(self) -> None:
        """The id stands first in the line, so that nothing need be parsed."""
        offset = 0
        self.file.seek(0)
        for line in self.file:
            self.offsets[line[8 : line.index(b'"', 8)].decode()] = (offset, len(line))
            offset += len(line)

    def close(self) -> None:
        self.file.close()


STORE = Lines
