"""Positions: a program that reads a collection from position to position has the newest version of every
document, and is told when the file is not what it was."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import foliodb
import pytest


def rows(database: foliodb.Database, parts: list[foliodb.Partition]) -> list[tuple[str, int]]:
    found = []
    for part in parts:
        for row in database.read_partition(foliodb.Partition(str(part))).fetchall():
            found.append((row[0], row[1]))
    return found


def plan(database: foliodb.Database, count: int = 2, **between: Any) -> list[foliodb.Partition]:
    return database.partitions("docs", count, columns=["_id", "n"], **between)


def test_from_position_to_position_each_version_is_read_once(tmp_path: Path) -> None:
    numbers = random.Random(11)
    truth: dict[str, int] = {}
    seen: dict[str, int] = {}
    versions: set[int] = set()
    position = None
    version = 0
    with foliodb.open(tmp_path / "mydata") as database:
        docs = database["docs"]
        for turn in range(40):
            # What is put in the first turns is larger than the index, later it is smaller.
            for _ in range(numbers.randrange(3000 if turn < 3 else 150)):
                version += 1
                key = f"id{numbers.randrange(4000)}"
                if numbers.randrange(10) == 0:
                    docs.delete(key)
                    truth.pop(key, None)
                else:
                    docs.put(key, {"n": version, "text": "x" * numbers.randrange(60)})
                    truth[key] = version
            until = docs.position()
            parts = plan(database, 1 + turn % 4, since=position, until=until)
            arrived = rows(database, parts)
            assert len(arrived) == sum(part.row_count for part in parts)
            for key, value in arrived:
                assert truth[key] == value
                assert value not in versions
                versions.add(value)
                seen[key] = value
            assert {key: seen[key] for key in truth} == truth
            position = until
        assert plan(database, since=position) == []


def test_a_position_holds_in_another_process(tmp_path: Path) -> None:
    path = tmp_path / "mydata"
    with foliodb.open(path) as database:
        database["docs"].put("a", {"n": 1})
        position = database["docs"].position()
        database["docs"].put("b", {"n": 2})
    program = (
        "import foliodb, sys\n"
        "db = foliodb.open(sys.argv[1], 'r')\n"
        "for part in db.partitions('docs', 2, since=sys.argv[2]):\n"
        "    print(foliodb.read_partition(part).fetchall())\n"
    )
    command = [sys.executable, "-c", program, str(path), position]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout == "[('b', 2)]\n"


def test_what_is_replaced_before_it_is_read_comes_later(tmp_path: Path) -> None:
    with foliodb.open(tmp_path / "mydata") as database:
        docs = database["docs"]
        docs.put_many((f"d{n}", {"n": n}) for n in range(5))
        first = docs.position()
        parts = plan(database, until=first)
        docs.put("d3", {"n": 33})
        docs.put("new", {"n": 5, "and": "a column"})
        docs.delete("d4")
        assert rows(database, parts) == [("d0", 0), ("d1", 1), ("d2", 2)]
        assert rows(database, plan(database, since=first)) == [("d3", 33), ("new", 5)]


def test_a_collection_without_documents_has_a_position(tmp_path: Path) -> None:
    path = tmp_path / "mydata"
    with foliodb.open(path) as database:
        docs = database["docs"]
        docs.put("a", {"n": 1})
        docs.clear()
        docs.compact()
        position = docs.position()
        assert plan(database, since=position, until=position) == []
        docs.put("b", {"n": 2})
        assert rows(database, plan(database, since=position)) == [("b", 2)]


def test_a_line_without_an_end_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "mydata"
    with foliodb.open(path) as database:
        database["docs"].put("a", {"n": 1})
    with (path / "collections/docs/meta/data.jsonl").open("a") as file:
        file.write('{"_id":"hand","n":2}')
    with foliodb.open(path) as database:
        position = database["docs"].position()
        assert rows(database, plan(database, until=position)) == [("a", 1), ("hand", 2)]
        database["docs"].put("b", {"n": 3})
        assert rows(database, plan(database, since=position)) == [("b", 3)]


def test_a_position_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mydata"
    file = path / "collections/docs/meta/data.jsonl"
    with foliodb.open(path) as database:
        docs = database["docs"]
        docs.put_many((f"d{n}", {"n": n}) for n in range(3000))
        early = docs.position()
        docs.put("d1", {"n": -1})
        late = docs.position()
        with pytest.raises(foliodb.InvalidInputError, match="exchange them"):
            plan(database, since=late, until=early)
        for text in ("", "5", "5-x-y", "1-2-3-4"):
            with pytest.raises(foliodb.InvalidInputError, match="is not a position"):
                plan(database, since=text)
        with pytest.raises(foliodb.ConflictError, match="begin again without a position"):
            plan(database, since=f"{late.split('-')[0]}-1-2")
    file.write_text(file.read_text().replace('"n":2999}', '"n":2998}', 1))
    with foliodb.open(path) as database:
        with pytest.raises(foliodb.ConflictError, match="compacted, rewritten or edited"):
            plan(database, since=late)
        docs = database["docs"]
        before = docs.position()
        docs.compact()
        for between in ({"since": before}, {"until": before}, {"since": before, "until": docs.position()}):
            with pytest.raises(foliodb.ConflictError):
                plan(database, **between)


def test_what_has_no_lines_has_no_positions(tmp_path: Path) -> None:
    with foliodb.open(tmp_path / "mydata") as database:
        database["docs"].put("a", {"n": 1})
        database.sql("CREATE TABLE plain (n integer)")
        with pytest.raises(foliodb.InvalidInputError, match="only collections have positions"):
            database.partitions("plain", 1, since=database["docs"].position())
        files = database.collection("files", layout="files")
        files.put("a", {"n": 1})
        with pytest.raises(foliodb.InvalidInputError, match="positions are between lines"):
            files.position()
