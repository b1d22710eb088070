"""LMDB with orjson."""

from __future__ import annotations

from collections.abc import Iterable

import lmdb
import orjson

from . import Record, Store


class Lmdb(Store):
    """One transaction; keys ascend, so they are appended, as its manual advises."""

    name = "lmdb + orjson"
    settings = "one transaction, putmulti(append=True), buffers=True; env.sync"

    @classmethod
    def version(cls) -> str:
        return lmdb.__version__

    def create(self) -> None:
        self.environment = lmdb.open(str(self.folder), map_size=4 << 30, sync=False)

    def write(self, records: list[Record]) -> None:
        dumps = orjson.dumps
        with self.environment.begin(write=True) as transaction:
            pairs = ((record["_id"].encode(), dumps(record)) for record in records)
            transaction.cursor().putmulti(pairs, append=True)

    def sync(self) -> None:
        self.environment.sync(True)

    def open(self) -> None:
        self.environment = lmdb.open(str(self.folder), readonly=True, lock=False, map_size=4 << 30)

    def read_all(self) -> list[Record]:
        loads = orjson.loads
        with self.environment.begin(buffers=True) as transaction:
            values = transaction.cursor().iternext(keys=False, values=True)
            return [loads(value) for value in values]

    def lookup(self, ids: Iterable[str]) -> list[Record]:
        loads = orjson.loads
        with self.environment.begin(buffers=True) as transaction:
            get = transaction.get
            return [loads(get(name.encode())) for name in ids]

    def close(self) -> None:
        self.environment.close()


STORE = Lmdb
