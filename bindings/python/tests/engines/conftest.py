"""Data that all engines read: documents of which some were replaced, deleted and edited by hand, and
a table to join them with. What SQL answers in one process is what each engine must answer."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import foliodb
import pytest

# Spark starts many Java machines in these tests, and none lives long enough for what the second compiler
# and several threads of the collector cost.
os.environ["JAVA_TOOL_OPTIONS"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
# Ray ends a worker that had nothing to do for a second, and a new one imports everything again.
os.environ["RAY_idle_worker_killing_time_threshold_ms"] = "600000"

COUNT = int(os.environ.get("FOLIO_ENGINE_ROWS", "1000000"))


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of the database, which no process has open."""
    path = tmp_path_factory.mktemp("engines") / "mydata"
    with foliodb.open(path) as database:
        events = database["events"]
        events.put_many(documents())
        # Lines that are superseded, and lines that delete.
        changed = {f"e{n}": {"user": n % 1000, "kind": "changed"} for n in range(0, COUNT, 17)}
        events.put_many(changed.items())
        with events.batch() as batch:
            for n in range(0, COUNT, 23):
                batch.delete(f"e{n}")
            batch.commit()
        database.sql("CREATE TABLE kinds (kind text PRIMARY KEY, weight integer)")
        database.sql("INSERT INTO kinds VALUES ('view', 1), ('click', 2), ('changed', 3)")
        database.sql(
            "CREATE TABLE users (id integer PRIMARY KEY, name text, score double precision)"
        )
        database.sql(
            "INSERT INTO users SELECT n, CASE WHEN n % 7 > 0 THEN 'user ' || n END, n / 7.0 "
            "FROM generate_series(0, 99999) AS s(n)"
        )
    # Edits by hand: one in the middle, one at the end.
    file = path / "collections/events/meta/data.jsonl"
    with file.open("r+b") as stream:
        content = stream.read()
        at = content.index(b'"kind":"view"', len(content) // 3)
        stream.seek(at)
        stream.write(b'"kind":"VIEW"')
        stream.seek(0, os.SEEK_END)
        stream.write(b'{"_id":"by hand","user":7,"kind":"view","price":1.25}\n')
    # The index is made once, by whoever writes next.
    with foliodb.open(path) as database:
        database["events"].reindex()
    return path


def documents() -> Iterator[tuple[str, dict[str, Any]]]:
    for n in range(COUNT):
        document: dict[str, Any] = {
            "user": n % 1000,
            "kind": "click" if n % 3 == 0 else "view",
            "price": n % 800 / 8,
        }
        if n % 5 == 0:
            del document["price"]
        if n % 4 == 0:
            document["place"] = {"city": f"city {n % 9}", "tags": ["a", "b"][: n % 3]}
        yield f"e{n}", document


@pytest.fixture
def sql(data: Path) -> Any:
    """Rows of a statement in one process, sorted."""

    def run(text: str) -> list[tuple[Any, ...]]:
        with foliodb.open(data, "r") as database:
            return ordered(database.sql(text).fetchall())

    return run


def ordered(rows: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in rows), key=repr)
