"""What a program gives SQL: rows under a name, and functions."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import foliodb
import pytest

UTC = datetime.timezone.utc


@pytest.fixture
def db(tmp_path: Path) -> Iterator[foliodb.Database]:
    with foliodb.open(tmp_path / "data", durability="none") as database:
        database.sql("create table t (id bigint primary key, name text)")
        yield database


def test_frames_of_the_program_have_names(db: foliodb.Database) -> None:
    polars, pandas = pytest.importorskip("polars"), pytest.importorskip("pandas")
    pyarrow = pytest.importorskip("pyarrow")
    db.sql("insert into t values (1, 'Oslo'), (2, 'Bergen')")
    shades = pandas.DataFrame({"id": [2, 3], "shade": pandas.Categorical(["red", None])})
    assert db.register("shades", shades) == 2
    assert db.sql("select name, shade from t join shades using (id)").fetchall() == [("Bergen", "red")]
    assert db.register("Shades", polars.DataFrame({"id": [1], "tags": [["a", None]]})) == 1
    assert db.sql("select name, tags from t join shades using (id)").fetchall() == [("Oslo", ["a", None])]
    table = pyarrow.table({"at": pyarrow.array([datetime.datetime(2024, 2, 29)], pyarrow.timestamp("s"))})
    db.register("moments", table.to_reader())
    assert db.sql("select * from moments").fetchall() == [(datetime.datetime(2024, 2, 29),)]
    db.register("again", db.sql("select id from t"))
    assert db.sql("select sum(id) from again").fetchone() == (3,)
    assert db.unregister("shades") and not db.unregister("shades")
    with pytest.raises(foliodb.NotFoundError):
        db.sql("select * from shades")


def test_what_cannot_be_registered(db: foliodb.Database) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    with pytest.raises(foliodb.InvalidInputError, match="list has no Arrow stream"):
        db.register("rows", [{"id": 1}])
    with pytest.raises(foliodb.ConflictError):
        db.register("T", pyarrow.table({"id": [1]}))
    durations = pyarrow.table({"took": pyarrow.array([1], pyarrow.duration("s"))})
    with pytest.raises(foliodb.UnsupportedError, match="took"):
        db.register("rows", durations)
    reader = pyarrow.table({"id": [1]}).to_reader()
    stream = reader.__arrow_c_stream__()
    db._register("rows", stream)
    with pytest.raises(foliodb.InvalidInputError):
        db._register("rows", stream)
    db.close()
    with pytest.raises(foliodb.ClosedError):
        db.register("rows", pyarrow.table({"id": [1]}))


def test_functions_of_the_program(db: foliodb.Database) -> None:
    db.sql("insert into t values (1, 'Oslo'), (2, null)")

    def initial(name: str) -> str:
        return name[0]

    db.create_function("initial", initial)
    assert db.sql("select initial(name) from t order by id").fetchall() == [("O",), (None,)]
    seen: list[Any] = []

    def note(at: Any, price: Any, tags: Any) -> dict[str, Any]:
        seen.append((at, price, tags))
        return {"tags": tags}

    db.create_function("note", note, ["timestamptz", "numeric(6,2)", "text[]"], "json", takes_null=True)
    text = "select note(timestamptz '2024-02-29T00:00:00Z', 1.5, array['a', null]), note(null, null, null)"
    assert db.sql(text).fetchall() == [({"tags": ["a", None]}, {"tags": None})]
    moment = datetime.datetime(2024, 2, 29, tzinfo=UTC)
    assert seen == [(moment, Decimal("1.50"), ["a", None]), (None, None, None)]
    db.create_function("third", lambda n: Decimal(n) / 3, ["bigint"], "numeric(10, 4)")
    assert db.sql("select third(10)").fetchone() == (Decimal("3.3333"),)
    db.create_function("half", lambda n: n // 2, ["bigint"], "double precision")
    assert db.sql("select half(5)").fetchone() == (2.0,)
    assert db.drop_function("half") and not db.drop_function("half")


def test_functions_that_fail(db: foliodb.Database) -> None:
    db.sql("insert into t values (1, 'a')")
    db.create_function("fail", lambda n: n / 0, ["bigint"], "double precision")
    with pytest.raises(foliodb.InvalidInputError, match="function fail: ZeroDivisionError"):
        db.sql("update t set name = fail(id)::text").count  # noqa: B018
    assert db.sql("select name from t").fetchone() == ("a",)
    db.create_function("quarter", lambda n: Decimal(n) / 4, ["bigint"], "bigint")
    with pytest.raises(foliodb.InvalidInputError, match="0.25 is not a valid bigint"):
        db.sql("select quarter(1)").fetchall()
    assert db.sql("select quarter(8)").fetchone() == (2,)
    db.create_function("odd", lambda n: object(), ["bigint"], "bigint")
    with pytest.raises(foliodb.InvalidInputError, match="its result is a object"):
        db.sql("select odd(1)").fetchall()
    with pytest.raises(foliodb.InvalidInputError, match="give parameters and returns"):
        db.create_function("bare", lambda n: n)
    with pytest.raises(foliodb.FolioSyntaxError, match="not the name of a type"):
        db.create_function("bad", lambda n: n, ["bigint), (1"], "bigint")
    for name in ["upper", "coalesce", "iif", "cast"]:
        with pytest.raises(foliodb.ConflictError):
            db.create_function(name, lambda n: n, ["text"], "text")


def test_functions_on_several_threads(db: foliodb.Database) -> None:
    db.sql("create table many (id bigint primary key)")
    db.sql("insert into many select g from generate_series(1, 300000) s(g)")
    db.create_function("even", lambda n: n % 2 == 0, ["bigint"], "boolean")
    assert db.sql("select count(*) from many where even(id)").fetchone() == (150000,)


def test_threads_of_a_session(db: foliodb.Database) -> None:
    session = db.session()
    session.sql("set threads to 3")
    assert session.sql("show threads").fetchall() == [(3,)]
    assert db.sql("set threads = 7; show threads").fetchall() == [(7,)]
    assert db.sql("show threads").fetchall() != [(7,)]
