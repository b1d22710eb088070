"""Collections: every operation, what it answers, and what it refuses."""

from __future__ import annotations

import json
import os
import pickle
import warnings
from decimal import Decimal
from pathlib import Path

import foliodb
import pytest


def test_put_get_delete(users: foliodb.Collection) -> None:
    assert users.put("u1", {"name": "Ann"}) == "inserted"
    assert users.put("u1", {"name": "Bob"}) == "replaced"
    assert users.get("u1") == {"_id": "u1", "name": "Bob"}
    assert list(users.get("u1")) == ["_id", "name"]
    assert users.delete("u1") is True
    assert users.delete("u1") is False
    assert users.get("u1") is None
    assert users.get("u1", 7) == 7


def test_mapping(users: foliodb.Collection) -> None:
    users["b"] = {"n": 1}
    users["a"] = {"n": 2}
    assert users["b"] == {"_id": "b", "n": 1}
    assert "a" in users and "c" not in users and 5 not in users
    assert len(users) == 2 and bool(users)
    assert list(users) == users.keys() == users.ids() == ["b", "a"]
    assert dict(users.items())["a"]["n"] == 2
    assert [document["n"] for document in users.values()] == [1, 2]
    del users["b"]
    assert list(users) == ["a"]
    with pytest.raises(KeyError, match='no document "b" in collection "users"'):
        users["b"]
    with pytest.raises(foliodb.NotFoundError):
        del users["b"]


def test_get_after_put_needs_no_flush(users: foliodb.Collection) -> None:
    users.put("u1", {"n": 1})
    assert users.exists("u1") and users.count() == 1
    assert [document["_id"] for document in users.scan()] == ["u1"]


def test_an_update_moves_to_the_end(users: foliodb.Collection) -> None:
    users.put_many({"a": {}, "b": {}, "c": {}})
    users.put("a", {"again": True})
    assert users.ids() == ["b", "c", "a"]


def test_reopen(path: Path) -> None:
    with foliodb.open(path) as db:
        db["users"].put("u1", {"n": 1})
    with foliodb.open(path, "r") as db:
        assert db["users"]["u1"] == {"_id": "u1", "n": 1}
        with pytest.raises(foliodb.ReadOnlyError):
            db["users"].put("u2", {})
    lines = (path / "collections/users/meta/data.jsonl").read_text()
    assert lines == '{"_id":"u1","n":1}\n'


def test_put_many_takes_what_is_at_hand(users: foliodb.Collection) -> None:
    counts = users.put_many([{"_id": "a", "n": 1}, {"n": 2, "_id": "b"}])
    assert (counts.inserted, counts.replaced) == (2, 0)
    users.put_many((f"c{n}", {"n": n}) for n in range(3))
    users.put_many({"d": {"n": 9}})
    users.put_many([{"email": "ann@example.com"}, {"email": "bob"}], id="email")
    users.put_many([{"n": 5}], id=lambda document: f"n{document['n']}")
    assert users.put_many([{"key": 7}], id="key").inserted == 1
    ids = users.ids()
    assert ids[:6] == ["a", "b", "c0", "c1", "c2", "d"]
    assert ids[6].startswith("ann-example.com-") and ids[7:] == ["bob", "n5", "7"]
    assert users["b"] == {"_id": "b", "n": 2}


def test_put_many_is_all_or_nothing(users: foliodb.Collection) -> None:
    users.put("kept", {})
    with pytest.raises(foliodb.InvalidInputError, match="not a dict"):
        users.put_many([{"_id": "a"}, 1])

    def broken():
        yield {"_id": "a"}
        raise RuntimeError("the source is gone")

    with pytest.raises(RuntimeError, match="the source is gone"):
        users.put_many(broken())
    assert users.ids() == ["kept"]


def test_put_many_refuses_a_write_from_inside(users: foliodb.Collection) -> None:
    def greedy():
        yield {"_id": "a"}
        users.put("b", {})

    with pytest.raises(foliodb.ConflictError, match="batch open in this thread"):
        users.put_many(greedy())
    assert users.count() == 0


def test_put_many_reports_progress(users: foliodb.Collection) -> None:
    steps: list[tuple[int, int]] = []
    users.put_many([{"_id": str(n)} for n in range(10)], progress=lambda *step: steps.append(step))
    assert steps[-1] == (10, 10)


def test_batch(users: foliodb.Collection) -> None:
    users.put("old", {})
    with users.batch() as batch:
        batch.put("a", {"n": 1})
        batch.put_raw(None, '{"_id": "b", "x": 1.10}')
        batch.delete("old")
        assert batch.exists("a") and not batch.exists("old")
        assert users.get("a") is None
    assert users.ids() == ["a", "b"]
    with pytest.raises(foliodb.ClosedError):
        batch.put("c", {})
    with pytest.raises(RuntimeError), users.batch() as batch:
        batch.put("lost", {})
        raise RuntimeError
    assert "lost" not in users


def test_scan(users: foliodb.Collection) -> None:
    users.put_many({f"u{n}": {"n": n, "deep": {"a": n, "b": -n}} for n in range(1000)})
    assert [document["n"] for document in users.scan()] == list(range(1000))
    assert next(users.scan(["deep.b"])) == {"_id": "u0", "deep": {"b": 0}}
    assert len(list(users.scan(limit=7))) == 7
    even = users.scan(["n"], filter=lambda document: document["deep"]["a"] % 2 == 0, limit=3)
    assert [document["n"] for document in even] == [0, 2, 4]
    scan = users.scan()
    assert len(scan.next_batch(10)) == 10
    assert next(scan)["n"] == 10
    assert len(scan.next_batch(10**6)) == 989 and scan.next_batch(1) == []


def test_a_filter_that_raises(users: foliodb.Collection) -> None:
    users.put_many({"a": {"n": 1}, "b": {}})
    scan = users.scan(filter=lambda document: document["n"])
    assert next(scan)["_id"] == "a"
    with pytest.raises(KeyError, match="'n'"):
        next(scan)


def test_raw_keeps_the_text(users: foliodb.Collection) -> None:
    users.put_raw("x", '{ "b": 1.10, "a": 12345678901234567890123 }')
    line = '{"_id":"x","b":1.10,"a":12345678901234567890123}'
    assert users.get_raw("x") == line
    assert list(users.scan_raw()) == [line]
    assert users["x"] == {"_id": "x", "b": 1.1, "a": 12345678901234567890123}
    assert str(users.get("x", decimal=True)["b"]) == "1.10"
    assert next(users.scan(decimal=True))["b"] == Decimal("1.10")
    assert users.get_raw("y") is None
    with pytest.raises(foliodb.FolioSyntaxError):
        users.put_raw("x", "[1]")


def test_lazy_documents(users: foliodb.Collection) -> None:
    import copy
    import pickle

    users.put("x", {"a": [1, {"b": 2}], "c": "é\n"})
    for document in (users.get("x", lazy=True), next(users.scan(lazy=True))):
        assert document["a"] == [1, {"b": 2}] and document["c"] == "é\n"
        assert document.id == "x" and document.get("d", 5) == 5 and "c" in document
        assert document == users["x"] and document == copy.copy(document)
        assert dict(document) == users["x"] and len(document) == 3
        assert pickle.loads(pickle.dumps(document)) == document
        assert json.loads(document.raw) == users["x"]
        with pytest.raises(KeyError, match="'d'"):
            document["d"]
    users.put("x", next(users.scan(lazy=True)))
    assert users["x"]["c"] == "é\n"


def test_patch(users: foliodb.Collection) -> None:
    users.put("x", {"a": 1, "b": {"c": 2, "d": 3}})
    assert users.patch("x", {"a": None, "b": {"c": 5}}) == {"_id": "x", "b": {"c": 5, "d": 3}}
    assert users.patch("y", {"a": 1}) is None


def test_upkeep(users: foliodb.Collection, path: Path) -> None:
    users.put_many({f"u{n}": {"n": n} for n in range(100)})
    users.put_many({f"u{n}": {"n": -n} for n in range(50)})
    users.flush()
    assert users.check().is_clean and users.check().superseded_count == 50
    report = users.compact()
    assert report.document_count == 100 and report.size_after < report.size_before
    users.reindex()
    assert users.stats().document_count == 100
    assert users.create_index("n", name="by_n", unique=True) == "by_n"
    with pytest.raises(foliodb.ConflictError, match="by_n"):
        users["other"] = {"n": 60}
    (index,) = users.indexes()
    assert (index.name, index.fields, index.unique, index.is_ready) == ("by_n", ["n"], True, True)
    assert users.check_index("by_n").problems == []
    assert [document["n"] for document in users.scan(where="n between 60 and 62")] == [60, 61, 62]
    users.drop_index("by_n")
    users.create_index("tags[]", "n desc", where="n > 60 and active is not null")
    (index,) = users.indexes()
    assert index.fields == ["tags[]", "n desc"]
    assert index.condition == "n > 60 AND active IS NOT NULL"
    users.drop_index(index.name)
    with pytest.raises(foliodb.UnsupportedError, match="the function now"):
        users.create_index("n", where="n > now()")
    with pytest.raises(foliodb.NotFoundError):
        users.drop_index("by_n")
    with pytest.raises(foliodb.NotFoundError):
        list(users.scan(where="town is null"))
    users.set_open_paths(True)
    assert users.has_open_paths()
    assert len(list(users.scan(where="town is null and n < 10"))) == 50
    users.set_open_paths(False)
    assert not users.has_open_paths()
    with open(path / "collections/users/meta/data.jsonl", "a") as file:
        file.write('{"_id":"hand","n":0}\nnonsense\n')
    users.refresh()
    assert users["hand"] == {"_id": "hand", "n": 0}
    assert users.check().invalid_count == 1 and not users.check().is_clean
    assert any("data.jsonl" in notice for notice in users.take_notices())


def test_fields(users: foliodb.Collection) -> None:
    assert users.fields() == []
    users["a"] = {"n": 9007199254740993, "geo": {"lat": 1.5}, "tags": ["é", None]}
    users["b"] = {"n": -1, "geo": None}
    fields = users.fields()
    assert [field["path"] for field in fields] == ["_id", "n", "geo", "geo.lat", "tags", "tags[]"]
    assert fields[1] == {
        "path": "n",
        "type": "bigint",
        "share": 1,
        "distinct": 2,
        "min": -1,
        "max": 9007199254740993,
        "examples": [9007199254740993, -1],
        "kinds": {"integer": 2},
    }
    assert repr(fields).splitlines()[-2:] == [
        "tags     text[]            50.0%",
        'tags[]   text              50.0%   1         "é"',
    ]


def test_strict(db: foliodb.Database, path: Path) -> None:
    people = db.collection("people", strict=True)
    people.put("a", {"name": "Ann", "age": 3})
    with pytest.raises(foliodb.TypeMismatchError, match="Schema mismatch"):
        people.put("b", {"name": 5, "age": 3})
    with pytest.raises(ValueError, match="Schema mismatch"):
        people.put_many([{"_id": "c", "name": 5, "age": 3}])
    db.close()
    with foliodb.open(path) as again, pytest.raises(foliodb.TypeMismatchError):
        again["people"].put("b", {"name": 5, "age": 3})


def test_files_layout(db: foliodb.Database, path: Path) -> None:
    notes = db.collection("notes", layout="files")
    notes.put_many({"a": {"n": 1}, "b": {"n": 2}})
    notes.flush()
    assert (path / "collections/notes/docs/a.json").exists()
    assert [document["n"] for document in notes.scan()] == [1, 2]


@pytest.mark.parametrize("bad", ["", "a/b", "../x", ".x", "a b", 'a"b', "x" * 256])
def test_ids_are_checked(users: foliodb.Collection, bad: str) -> None:
    with pytest.raises(foliodb.InvalidInputError):
        users.put(bad, {})
    with pytest.raises(foliodb.InvalidInputError):
        users.put_many([{"_id": bad}])
    with pytest.raises(foliodb.InvalidInputError), users.batch() as batch:
        batch.put(bad, {})
    assert users.count() == 0


def test_ids_may_be_ints(users: foliodb.Collection) -> None:
    users[1] = {"n": 1}
    assert users["1"] == users[1] == users.get(1) == {"_id": "1", "n": 1}
    assert 1 in users and "1" in users and 2 not in users and True not in users
    assert users.get_many([1, "2"]) == [{"_id": "1", "n": 1}, None]
    assert users.add({"_id": 2, "n": 2}) == "2"
    users.put_many([{"_id": 3}, (4, {})])
    assert users.ids() == ["1", "2", "3", "4"]
    assert users.patch(1, {"n": 5}) == {"_id": "1", "n": 5}
    del users[1]
    assert users.pop(2)["n"] == 2 and users.delete(3) and users.pop(9, None) is None
    with pytest.raises(KeyError):
        users.pop(9)


def test_documents_without_ids_get_new_ones(users: foliodb.Collection) -> None:
    assert users.put_many([{"n": 1}, {"_id": "a"}, {"n": 2}]).inserted == 3
    first, second, third = users.ids()
    assert len(first) == len(third) == 36 and first < third and second == "a"


def test_models_and_dataclasses(users: foliodb.Collection) -> None:
    import dataclasses

    @dataclasses.dataclass
    class Place:
        city: str

    @dataclasses.dataclass
    class User:
        name: str
        place: Place

    ann = User("Ann", Place("Paris"))
    users["ann"] = ann
    users.put_many([ann], id="name")
    found = {"name": "Ann", "place": {"city": "Paris"}}
    assert users[users.add(ann)].items() >= found.items()
    assert users["ann"] == {"_id": "ann", **found} and users["Ann"]["place"] == {"city": "Paris"}
    with pytest.raises(foliodb.InvalidInputError, match="not a dict"):
        users.put("x", User)
    pydantic = pytest.importorskip("pydantic")

    class Model(pydantic.BaseModel):
        name: str
        at: int = 1

    users["model"] = Model(name="Bob")
    assert users["model"] == {"_id": "model", "name": "Bob", "at": 1}


def test_a_line_broken_by_hand_is_warned_of_until_it_is_mended(path: Path) -> None:
    with foliodb.open(path) as db:
        db["users"].put_many({"a": {}, "b": {}})
    file = path / "collections/users/meta/data.jsonl"
    text = file.read_text()
    file.write_text(text + "oops\n")
    for _ in range(3):
        with foliodb.open(path) as db:
            with pytest.warns(foliodb.FolioWarning, match="data.jsonl:3: ") as warned:
                users = db["users"]
            assert warned[0].filename == __file__
            assert users.ids() == ["a", "b"] and len(users.take_notices()) >= 1
            users["c"] = {}  # an index that is published does not hide it
            del users["c"]
    file.write_text(file.read_text().replace("oops\n", ""))
    with foliodb.open(path) as db, warnings.catch_warnings():
        warnings.simplefilter("error")
        assert db["users"].ids() == ["a", "b"]


def test_a_database_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with foliodb.open(":memory:") as db, foliodb.open(":memory:") as other:
        db["users"]["a"] = {"n": 1}
        db.sql("create table t (n int)")
        db.sql("insert into t values (1)")
        assert db.sql("select count(*) from t, users").fetchall() == [(1,)]
        assert other.collections() == []
        db["users"].export_file("users.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["users.jsonl"]
    with pytest.raises(foliodb.InvalidInputError, match="ftp:// is not read"):
        foliodb.open("ftp://host/data")


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="lists open files in /proc")
def test_close_closes_the_files_of_collections_that_live(tmp_path: Path) -> None:
    path = tmp_path / "mydata"

    def opened() -> list[str]:
        names = [os.path.join("/proc/self/fd", name) for name in os.listdir("/proc/self/fd")]
        targets = [os.readlink(name) for name in names if os.path.lexists(name)]
        return [target for target in targets if target.startswith(str(path))]

    kept = []
    for mode in ("rw", "r", "rw"):
        with foliodb.open(path, mode) as db:
            docs = db["docs"]
            if mode == "rw":
                docs.put("a", {"n": 1})
            assert docs.get("a") == {"_id": "a", "n": 1}
            kept.append(docs)
        assert opened() == []
    for docs in kept:
        with pytest.raises(foliodb.ClosedError):
            docs.get("a")


def test_the_error_that_ends_a_block_is_seen(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="^mine$"):
        with foliodb.open(tmp_path / "mydata") as db:
            batch = db["docs"].batch()
            batch.put("a", {})
            raise ValueError("mine")
    batch.rollback()


def test_reports_can_be_pickled(users: foliodb.Collection, path: Path, tmp_path: Path) -> None:
    counts = users.put_many([{"_id": "a"}, {"_id": "b"}])
    with open(path / "collections/users/meta/data.jsonl", "a") as file:
        file.write("not json\n")
    checked = users.check()
    assert len(checked.invalid) == 1
    backup = users.database.backup(tmp_path / "copy")
    for report in (counts, users.stats(), checked, checked.invalid[0], users.compact(), backup):
        again = pickle.loads(pickle.dumps(report))
        assert again == report and type(again) is type(report)


def test_numbers_that_are_no_counts(users: foliodb.Collection, tmp_path: Path) -> None:
    users.put("a", {})
    for number in (-1, 2**70):
        for call in (
            lambda n: users.scan(limit=n),
            lambda n: users.scan().next_batch(n),
            lambda n: users.export_file(tmp_path / "x.jsonl", limit=n),
        ):
            with pytest.raises(foliodb.InvalidInputError, match="is no count"):
                call(number)
    assert len(users.scan().next_batch(2**63)) == 1


def test_many_ids_and_ids_that_are_numbers(users: foliodb.Collection) -> None:
    with users.batch() as batch:
        batch.put(5, {"n": 1})
        batch.put_raw(6, '{"n": 2}')
        batch.put(7, {})
        batch.delete(7)
        assert batch.exists(5) and not batch.exists(7)
    assert [found and found["n"] for found in users.get_many(n for n in (6, 5, 9))] == [2, 1, None]
    assert users.get_many({"5": 1}.keys()) == [{"_id": "5", "n": 1}]
    with pytest.raises(foliodb.InvalidInputError, match=r"write \[id\]"):
        users.get_many("5")
    with pytest.raises(TypeError):
        users.get_many(5)  # type: ignore[arg-type]
