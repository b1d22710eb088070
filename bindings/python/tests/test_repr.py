"""What a terminal and a notebook show of collections, scans and answers: rows, which stay."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import foliodb
import pytest


@pytest.fixture
def people(db: foliodb.Database) -> foliodb.Collection:
    """Documents of two shapes."""
    people = db["people"]
    people.put_many({f"p{n}": {"n": n, "name": f"name {n}"} for n in range(25)})
    people.put("last", {"n": None, "more": [1, {"a": "b"}]})
    return people


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal that has room for the titles of tests."""
    monkeypatch.setenv("COLUMNS", "200")


def body(text: str) -> list[str]:
    """The lines below the title."""
    return text.splitlines()[1:]


def test_collection(people: foliodb.Collection, db: foliodb.Database) -> None:
    lines = repr(people).splitlines()
    assert lines[0] == f"collection 'people' in {str(db.path)!r}: 26 documents"
    assert lines[1:4] == ["_id  n  name", "p0   0  name 0", "p1   1  name 1"]
    assert len(lines) == 13 and lines[-1] == "… 16 more"
    html = people._repr_html_()
    assert "<td>name 9</td>" in html and "name 10" not in html and "<p>… 16 more</p>" in html
    assert "26 documents" in html
    few = db["few"]
    assert repr(few).endswith(": 0 documents")
    few["a"] = {"_": True}
    assert repr(few).splitlines()[0].endswith(": 1 document")
    assert body(repr(few)) == ["_id  _", "a    True"]


def test_a_scan_is_not_consumed(people: foliodb.Collection) -> None:
    scan = people.scan()
    assert body(repr(scan))[1] == "p0   0  name 0" and repr(scan) == repr(scan)
    assert next(scan)["_id"] == "p0"
    assert body(repr(scan))[1] == "p1    1  name 1"
    assert body(repr(scan))[-1] == "… 15 more"
    assert "<td>p1</td>" in scan._repr_html_()
    assert len(list(scan)) == 25
    assert body(repr(scan)) == ["no documents left"]
    assert body(repr(people.scan_raw(limit=1))) == ['{"_id":"p0","n":0,"name":"name 0"}']
    assert body(repr(people.scan(["n"], where="n >= 24"))) == ["_id   n", "p24  24"]
    lazy = people.scan(lazy=True, where="n is null")
    assert body(repr(lazy)) == ["_id      n  more", "last  None  [1, {'a': 'b'}]"]
    assert next(lazy)["more"] == [1, {"a": "b"}]


def test_a_filter_is_called_once_for_each_document_that_is_shown(
    people: foliodb.Collection,
) -> None:
    called = []

    def accept(document: dict[str, Any]) -> bool:
        called.append(document["_id"])
        return True

    scan = people.scan(filter=accept)
    repr(scan), repr(scan), scan._repr_html_()
    assert called == [f"p{n}" for n in range(10)]
    assert body(repr(scan))[-1] == "… there may be more"
    assert [document["_id"] for document in scan] == called and len(called) == 26


def test_what_a_look_meets_is_raised_by_whoever_takes_the_rows(
    people: foliodb.Collection, db: foliodb.Database
) -> None:
    def accept(document: dict[str, Any]) -> bool:
        if document["n"] == 3:
            raise LookupError("three")
        return True

    scan = people.scan(filter=accept)
    assert body(repr(scan))[1:4] == ["p0   0  name 0", "p1   1  name 1", "p2   2  name 2"]
    assert [next(scan)["n"] for _ in range(3)] == [0, 1, 2]
    assert body(repr(scan)) == ["LookupError: three"] == body(repr(scan))
    with pytest.raises(LookupError, match="three"):
        next(scan)
    answer = db.sql("select 1 / (n - n) from people")
    assert "division by zero" in repr(answer) == repr(answer)
    with pytest.raises(foliodb.FolioError, match="division by zero"):
        answer.fetchall()


def test_answers(people: foliodb.Collection, db: foliodb.Database) -> None:
    answer = db.sql("select n, name, n / 2.0 as half from people where n < 12 order by n")
    lines = repr(answer).splitlines()
    assert lines[0].split() == ["n", "name", "half"] and lines[1].split()[:3] == ["0", "name", "0"]
    assert len(lines) == 12 and re.fullmatch("… at least 2 more", lines[-1])
    assert answer.fetchone()[0] == 0 and repr(answer).splitlines()[1].startswith(" 1  name 1")
    assert len(answer.fetchall()) == 11
    assert repr(answer).splitlines()[1] == "no rows left"
    # Rows that come in several batches.
    both = db.sql("select 1 as a union all select null union all select 3")
    assert repr(both).split() == ["a", "1", "None", "3"]
    assert both.fetchall() == [(1,), (None,), (3,)]
    assert repr(db.sql("select 'x' as a, 5 as b")).splitlines() == ["a  b", "x  5"]
    assert repr(db.sql("create table t (id int primary key)")) == "Answer(count=0)"
    assert repr(db.sql("insert into t values (1), (2)")) == "Answer(count=2)"
    assert repr(db.sql("insert into t values (3) returning id")).splitlines() == [
        "1 row changed",
        "id",
        " 3",
    ]
    assert repr(db.sql("select 1 where false")).endswith("no rows left")


def test_an_answer_runs_once(db: foliodb.Database) -> None:
    called = []
    db.create_function("noted", lambda n: called.append(n) or n, ["int"], "int", volatile=True)
    answer = db.sql("select noted(x) from (values (1), (2), (3)) as v(x)")
    repr(answer), answer._repr_html_(), repr(answer)
    assert called == [1, 2, 3]
    assert answer.fetchall() == [(1,), (2,), (3,)] and called == [1, 2, 3]


def test_an_answer_that_was_looked_at_gives_whole_frames(db: foliodb.Database) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    answer = db.sql("select 1 as a union all select 2 union all select 3")
    repr(answer)
    assert pyarrow.table(answer).to_pydict() == {"a": [1, 2, 3]}


@pytest.mark.parametrize("width", [1, 2, 5, 20, 79])
def test_columns_are_cut_to_the_terminal(
    db: foliodb.Database, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    wide = db["wide"]
    wide.put("a", {f"column {n}": "x" * n for n in range(60)})
    wide.put("b", {"column 1": "漢字かな" * 20, "column 2": "e\u0301" * 50})
    for shown in (wide, wide.scan(), wide.scan_raw(), db.sql("select * from wide")):
        for line in repr(shown).splitlines():
            assert len(line) <= width and line.isprintable()
    assert width < 20 or "…" in repr(wide).splitlines()[1]


def test_nothing_moves_the_cursor(db: foliodb.Database) -> None:
    db["x"].put("a", {"text": "a\nb\x1b[2J\u202e\r\ttab", "k\ney": 1})
    text = repr(db["x"])
    assert len(text.splitlines()) == 3 and all(line.isprintable() for line in text.splitlines())
    assert "a\\nb\\x1b[2J\\u202e\\r\\ttab" in text and "<td>a\\nb" in db["x"]._repr_html_()


def test_a_closed_handle_says_so(path: Path) -> None:
    db = foliodb.open(path)
    users = db["users"]
    users.put("a", {"n": 1})
    scan, answer = users.scan(), db.sql("select n from users")
    db.close()
    assert body(repr(users))[0].startswith("ClosedError: database")
    assert "closed" in users._repr_html_()
    for shown in (scan, answer):
        assert isinstance(repr(shown), str) and isinstance(shown._repr_html_(), str)


def test_a_look_takes_time_by_what_is_shown(db: foliodb.Database) -> None:
    many = db["many"]
    many.put_many({"_id": f"d{n}", "n": n, "text": "x" * 100} for n in range(100_000))
    list(many.scan(limit=1))
    started = time.process_time()
    whole = list(many.scan())
    of_all = time.process_time() - started
    started = time.process_time()
    for _ in range(5):
        repr(many), repr(many.scan()), repr(many.scan(filter=lambda document: True))
    assert len(whole) == 100_000 and (time.process_time() - started) / 5 < of_all / 3
