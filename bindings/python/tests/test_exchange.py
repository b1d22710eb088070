"""Frames, Arrow tables, DuckDB and HuggingFace: values arrive in the rows they belong to."""

from __future__ import annotations

import datetime
import math
from pathlib import Path
from typing import Any

import foliodb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

ROWS = [
    {"_id": "a", "n": 1, "x": 0.5, "on": True, "tags": ["p", "q"], "at": {"source": "web", "k": 1}},
    {"_id": "b", "n": 2**62, "x": -1.0, "on": None, "tags": [], "at": {"source": "api", "k": None}},
    {"_id": "c", "n": -3, "x": None, "on": False, "tags": ["r"], "at": None},
]


@pytest.fixture
def things(db: foliodb.Database) -> foliodb.Collection:
    """A collection with most of what a document can hold."""
    db["things"].put_many(ROWS)
    return db["things"]


def test_arrow(things: foliodb.Collection) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(things.scan())
    assert table.to_pylist() == things.scan().arrow().to_pylist() == ROWS
    names = {field.name: str(field.type) for field in table.schema}
    assert names["n"] == "int64" and names["x"] == "double" and names["on"] == "bool"
    assert things.scan(["n", "at.source"], limit=1).arrow().to_pylist() == [
        {"_id": "a", "n": 1, "at": {"source": "web"}}
    ]
    kept = things.scan(filter=lambda document: document["n"] < 2).arrow()
    assert kept.column("_id").to_pylist() == ["a", "c"]
    with pytest.raises(ZeroDivisionError):
        things.scan(filter=lambda _: 1 / 0).arrow()


def test_arrow_of_nothing_and_of_mixtures(db: foliodb.Database) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    assert pyarrow.table(db["empty"].scan()).num_rows == 0
    db["mixed"].put_many([{"_id": "a", "v": 1}, {"_id": "b", "v": "one"}, {"_id": "c"}])
    column = pyarrow.table(db["mixed"].scan()).column("v")
    assert column.cast(pyarrow.string()).to_pylist() == ["1", '"one"', None]


def test_arrow_of_a_scan_that_several_threads_read(db: foliodb.Database) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    many = db["many"]
    many.put_many({"_id": f"m{n}", "n": n, "text": f"number {n} " * 30} for n in range(40_000))
    many.put("m7", {"n": -7, "text": "moved to the end"})
    many.delete("m20000")
    table = pyarrow.table(many.scan())
    assert table.to_pylist() == list(many.scan())
    assert str(table.schema.field("n").type) == "int64"
    assert pyarrow.table(many.scan(["n"])).to_pylist() == list(many.scan(["n"]))
    # One document near the end is not what the first suggest, and brings a member of its own.
    many.put("m39000", {"n": 0.5, "text": "moved too", "late": True})
    wider = pyarrow.table(many.scan())
    assert str(wider.schema.field("n").type) == "double"
    assert wider.num_rows == 39_999 and wider.column("late").null_count == 39_998
    assert wider.column("_id").to_pylist() == list(many.ids())
    assert wider.to_pylist()[-1] == {"_id": "m39000", "n": 0.5, "text": "moved too", "late": True}


SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text("aé\n\"\\", max_size=4)
COLUMNS = st.sampled_from(
    [st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False)]
    + [st.text(st.characters(codec="utf-8"), max_size=5), st.lists(st.integers(0, 9), max_size=3)]
)


@st.composite
def tables(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Rows of equal types by column, with nulls and gaps anywhere."""
    columns = draw(st.dictionaries(st.sampled_from("abcdef"), COLUMNS, max_size=4))
    row = st.fixed_dictionaries({}, optional={k: st.none() | v for k, v in columns.items()})
    return draw(st.lists(row, max_size=12))


@settings(max_examples=60)
@given(rows=tables())
def test_no_value_changes_its_row(tmp_path_factory: pytest.TempPathFactory, rows: Any) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    path = tmp_path_factory.mktemp("arrow") / "db"
    with foliodb.open(path, durability="none") as db:
        documents = [{"_id": str(number), **row} for number, row in enumerate(rows)]
        db["rows"].put_many(documents)
        found = pyarrow.table(db["rows"].scan()).to_pylist()
    assert len(found) == len(documents)
    for document, row in zip(documents, found):
        for key, value in row.items():
            expected = document.get(key)
            assert value == expected and (value is None) == (expected is None)
        assert all(key in row for key, value in document.items() if value is not None)


def test_pandas(things: foliodb.Collection, path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = things.scan().df()
    assert frame["_id"].tolist() == ["a", "b", "c"] and frame["n"].tolist() == [1, 2**62, -3]
    counts = foliodb.to_folio(frame, things.database, "copy")
    assert counts.inserted == 3 and things.database["copy"]["a"]["at"]["source"] == "web"
    assert math.isnan(frame["x"][2]) and things.database["copy"]["c"]["x"] is None
    frame = pandas.DataFrame(
        {
            "name": ["Ann", None],
            "day": [pandas.Timestamp("2025-01-02"), pandas.NaT],
            "n": pandas.array([1, None], dtype="Int64"),
            "f": [1.5, float("nan")],
        }
    )
    foliodb.to_folio(frame, things.database, "typed")
    typed = list(things.database["typed"].scan())
    assert [len(document.pop("_id")) for document in typed] == [36, 36]
    assert typed == [
        {"name": "Ann", "day": "2025-01-02T00:00:00", "n": 1, "f": 1.5},
        {"name": None, "day": None, "n": None, "f": None},
    ]
    frame.index = pandas.Index([7, 8], name="number")
    foliodb.to_folio(frame, things.database, "indexed")
    assert things.database["indexed"].ids() == ["7", "8"]
    assert things.database["indexed"][7]["number"] == 7


def test_rows_meet_documents(path: Path) -> None:
    db = foliodb.open(path / "meet")
    first, second = [{"n": 1}, {"n": 2}], [{"n": 2, "x": 1}, {"n": 3}]
    assert foliodb.to_folio(first, db, "c", id="n").inserted == 2
    with pytest.raises(foliodb.ConflictError, match='if_exists="append"'):
        foliodb.to_folio(second, db, "c", id="n")
    with pytest.raises(foliodb.ConflictError, match='document "2"'):
        foliodb.to_folio(second, db, "c", id="n", if_exists="append")
    assert list(db["c"].scan()) == [{"_id": "1", "n": 1}, {"_id": "2", "n": 2}]
    foliodb.to_folio(second, db, "c", id="n", if_exists="upsert")
    assert db["c"].ids() == ["1", "2", "3"] and db["c"]["2"]["x"] == 1
    foliodb.to_folio(first, db, "c", if_exists="append")
    assert db["c"].count() == 5, "rows without ids get new ones"
    foliodb.to_folio(first, db, "c", id="n", if_exists="replace")
    assert list(db["c"].scan()) == [{"_id": "1", "n": 1}, {"_id": "2", "n": 2}]
    with pytest.raises(foliodb.InvalidInputError, match="if_exists 'fail'"):
        foliodb.to_folio(first, db, "c", if_exists="fail")
    with pytest.raises(foliodb.InvalidInputError, match="no column 'm'"):
        foliodb.to_folio(first, db, "d", id="m")
    assert db["d"].count() == 0
    twins = [{"n": 5, "x": 1}, {"n": 5, "x": 2}]
    for if_exists in ("error", "append", "replace"):
        with pytest.raises(foliodb.ConflictError, match='document "5"'):
            foliodb.to_folio(twins, db, "d", id="n", if_exists=if_exists)
        assert db["d"].count() == 0, "no row is lost silently"
    foliodb.to_folio(twins, db, "d", id="n", if_exists="upsert")
    assert list(db["d"].scan()) == [{"_id": "5", "n": 5, "x": 2}]


def test_polars(things: foliodb.Collection) -> None:
    polars = pytest.importorskip("polars")
    frame = things.scan().pl()
    assert frame.to_dicts() == ROWS == polars.DataFrame(things.scan()).to_dicts()
    foliodb.to_folio(frame, things.database, "copy")
    assert list(things.database["copy"].scan()) == ROWS
    foliodb.to_folio(frame.lazy().select("n"), things.database, "lazy", id="n")
    assert things.database["lazy"].ids() == ["1", str(2**62), "-3"]


def test_arrow_in(db: foliodb.Database) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    day = datetime.date(2025, 1, 2)
    table = pyarrow.table({"key": ["a", "b"], "day": [day, None], "l": [[1], None]})
    reader = pyarrow.RecordBatchReader.from_batches(table.schema, table.to_batches())
    for name, data in (("table", table), ("reader", reader)):
        foliodb.to_folio(data, db, name, id="key")
        assert list(db[name].scan()) == [
            {"_id": "a", "key": "a", "day": "2025-01-02", "l": [1]},
            {"_id": "b", "key": "b", "day": None, "l": None},
        ]
    with pytest.raises(foliodb.InvalidInputError, match="bytes"):
        foliodb.to_folio(pyarrow.table({"b": [b"x"]}), db, "bytes")
    assert db["bytes"].count() == 0
    for data in (5, "text", {"a": 1}):
        with pytest.raises(foliodb.InvalidInputError, match="no rows"):
            foliodb.to_folio(data, db, "none")


def test_read(things: foliodb.Collection, path: Path) -> None:
    things.flush()
    assert list(foliodb.read(path, "things", fields=["n"], limit=1)) == [{"_id": "a", "n": 1}]
    with pytest.raises(foliodb.NotFoundError, match="things"):
        foliodb.read(path, "thing")


def test_duckdb(things: foliodb.Collection) -> None:
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    connection = duckdb.connect()
    things.register(connection)
    query = 'SELECT _id, things."at".source FROM things WHERE n > 0 ORDER BY n DESC'
    assert connection.execute(query).fetchall() == [("b", "api"), ("a", "web")]
    things.put("d", {"n": 7, "at": {"source": "cli"}})
    assert connection.execute("SELECT sum(n) - 4611686018427387904 FROM things").fetchone() == (5,)
    scan = things.scan(["n"])
    assert connection.execute("SELECT count(*) FROM scan").fetchone() == (4,)
    del scan


def test_a_collection_is_an_arrow_stream(things: foliodb.Collection) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    assert pyarrow.table(things).to_pylist() == ROWS
    assert pyarrow.schema(things).names == list(ROWS[0])
    assert pyarrow.RecordBatchReader.from_stream(things).read_all().num_rows == 3


def test_a_collection_in_polars(things: foliodb.Collection) -> None:
    polars = pytest.importorskip("polars")
    assert polars.DataFrame(things).rows(named=True) == ROWS
    # As Polars reads every stream that is not pyarrow's: a column of structs.
    assert polars.from_arrow(things).struct.unnest().rows(named=True) == ROWS


def test_a_collection_in_a_statement_of_duckdb(things: foliodb.Collection) -> None:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    count = connection.sql("SELECT count(*), sum(n % 10) FROM things").fetchall()
    assert count == [(3, 1 + 2**62 % 10 - 3)]
    # Each reference reads the collection anew, as it is then.
    twice = "SELECT a._id, b.n FROM things a JOIN things b USING (_id) ORDER BY b.n LIMIT 1"
    assert connection.execute(twice).fetchall() == [("c", -3)]
    things.put("d", {"n": 7})
    assert connection.sql("SELECT count(*) FROM things").fetchall() == [(4,)]
    connection.register("named", things)
    assert connection.sql("SELECT count(*) FROM named").fetchall() == [(4,)]


def test_what_a_column_would_change_is_stored_as_it_is(db: foliodb.Database) -> None:
    documents = {
        "m": {"votes": {f"k{number}": number for number in range(1_500)}},
        "a": {"v": 1, "o": {"x": 1}, "big": 2**70},
        "b": {"v": "x", "o": {"y": 2}},
    }
    db["c"].put_many(documents)
    foliodb.to_folio(db["c"].scan(), db, "copy")
    assert {found.pop("_id"): found for found in db["copy"].scan()} == documents
    pyarrow = pytest.importorskip("pyarrow")
    text, number = pyarrow.string(), pyarrow.int64()
    numbers = pyarrow.list_(pyarrow.struct([("n", number)]))
    maps = pyarrow.array([[("k", [{"n": 1}])], None], pyarrow.map_(text, numbers))
    lists = pyarrow.struct([("a", pyarrow.list_(pyarrow.map_(text, number)))])
    nested = pyarrow.array([{"a": [[("k", 1)]]}, None], lists)
    foliodb.to_folio(pyarrow.table({"_id": ["x", "y"], "m": maps, "n": nested}), db, "maps")
    assert db["maps"]["x"] == {"_id": "x", "m": {"k": [{"n": 1}]}, "n": {"a": [{"k": 1}]}}
    assert db["maps"]["y"] == {"_id": "y", "m": None, "n": None}


def test_what_rows_cannot_say_is_refused(db: foliodb.Database) -> None:
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    twice = pyarrow.Table.from_arrays([[1], [2]], names=["a", "a"])
    frame = pandas.DataFrame([[1, 2]], columns=[1, "1"])
    for data, name in ((twice, "a"), (frame, "1")):
        with pytest.raises(foliodb.InvalidInputError, match=f"two columns '{name}'"):
            foliodb.to_folio(data, db, "c")
    answer = db.sql("SELECT 1 AS id, interval '1 mon' AS iv")
    with pytest.raises(foliodb.InvalidInputError, match="column 'iv' has intervals"):
        foliodb.to_folio(answer, db, "c")
    assert "c" not in db


def test_a_collection_stored_in_another_keeps_its_types(db: foliodb.Database) -> None:
    db["mixed"].put_many([{"_id": "a", "v": 1}, {"_id": "b", "v": "one"}])
    foliodb.to_folio(db["mixed"], db, "copy")
    assert list(db["copy"].scan()) == list(db["mixed"].scan())


def test_hugging_face(things: foliodb.Collection, path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    data = foliodb.to_hf(things.scan(["n", "tags"]))
    assert data[1] == {"_id": "b", "n": 2**62, "tags": []}
    counts = foliodb.from_hf(datasets.DatasetDict({"train": data, "test": data}), path / "hf")
    assert set(counts) == {"train", "test"} and counts["train"].inserted == 3
    with foliodb.open(path / "hf", "r") as db:
        assert [document["n"] for document in db["test"].scan()] == [1, 2**62, -3]


@pytest.mark.parametrize("format", ["ion", "ion-binary", "jsonl", "json"])
def test_files(things: foliodb.Collection, path: Path, format: Any) -> None:
    target = path.with_name(f"things.{format.partition('-')[0]}")
    assert things.export_file(target, format=format).document_count == len(ROWS)
    copy = things.database["copy"]
    assert copy.import_file(target).inserted == len(ROWS)
    assert list(copy.scan()) == ROWS
    with pytest.raises(foliodb.InvalidInputError, match='"xml" is unknown; use one of jsonl'):
        things.export_file(target, format="xml")  # type: ignore[arg-type]
