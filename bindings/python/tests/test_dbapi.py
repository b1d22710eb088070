"""The DB-API 2.0 module, as PEP 249 describes it."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path

import foliodb
import pytest
from foliodb import dbapi


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[dbapi.Connection]:
    connection = dbapi.connect(tmp_path / "data", durability="none")
    connection.execute("create table t (id int primary key, name text, at date)")
    connection.commit()
    yield connection
    connection.close()


def test_module() -> None:
    assert (dbapi.apilevel, dbapi.threadsafety, dbapi.paramstyle) == ("2.0", 2, "qmark")
    assert issubclass(dbapi.IntegrityError, dbapi.DatabaseError)
    assert issubclass(dbapi.DatabaseError, dbapi.Error)
    assert issubclass(dbapi.InterfaceError, dbapi.Error)
    assert not issubclass(dbapi.Warning, dbapi.Error)
    assert dbapi.Date(2024, 1, 31) == datetime.date(2024, 1, 31)
    assert dbapi.Binary(b"x") == b"x"


def test_cursor(connection: dbapi.Connection) -> None:
    cursor = connection.cursor()
    cursor.execute("insert into t values (?, ?, ?)", (1, "a", dbapi.Date(2024, 1, 1)))
    assert (cursor.rowcount, cursor.description) == (1, None)
    cursor.executemany("insert into t (id, name) values (:id, :name)", [{"id": 2, "name": "b"}, {"name": "c", "id": 3}])
    assert cursor.rowcount == 2
    cursor.execute("select * from t order by id")
    assert cursor.rowcount == -1
    assert cursor.description is not None
    assert [(column[0], len(column)) for column in cursor.description] == [("id", 7), ("name", 7), ("at", 7)]
    kinds = [column[1] for column in cursor.description]
    assert kinds[0] == dbapi.NUMBER and kinds[1] == dbapi.STRING and kinds[2] == dbapi.DATETIME
    assert kinds[0] != dbapi.STRING
    assert cursor.fetchone() == (1, "a", datetime.date(2024, 1, 1))
    assert cursor.fetchmany() == [(2, "b", None)]
    assert cursor.fetchall() == [(3, "c", None)]
    assert cursor.fetchone() is None
    assert list(connection.execute("select id from t where id > ?", [1])) == [(2,), (3,)]


def test_transactions(connection: dbapi.Connection) -> None:
    other = dbapi.connect(connection.database)
    count = "select count(*) from t"
    connection.execute(count)
    assert not connection.in_transaction
    connection.execute("insert into t (id) values (1)")
    assert connection.in_transaction
    assert other.execute(count).fetchone() == (0,)
    connection.rollback()
    assert connection.execute(count).fetchone() == (0,)
    connection.execute("insert into t (id) values (1)")
    connection.commit()
    assert other.execute(count).fetchone() == (1,)
    other.close()
    connection.commit()
    connection.rollback()


def test_executemany_is_all_or_nothing(connection: dbapi.Connection) -> None:
    cursor = connection.cursor()
    cursor.execute("insert into t (id) values (1)")
    with pytest.raises(dbapi.IntegrityError, match="^element 2: "):
        cursor.executemany("insert into t (id) values (?)", [(2,), (1,), (3,)])
    cursor.executemany("insert into t (id) values (?)", [(4,)])
    assert connection.in_transaction
    connection.commit()
    assert connection.execute("select id from t order by id").fetchall() == [(1,), (4,)]


def test_with(tmp_path: Path) -> None:
    with dbapi.connect(tmp_path / "data") as connection:
        connection.execute("create table t (id int primary key)")
    with pytest.raises(KeyError), dbapi.connect(tmp_path / "data") as connection:
        connection.execute("insert into t values (1)")
        raise KeyError
    with dbapi.connect(tmp_path / "data", autocommit=True) as connection:
        connection.execute("insert into t values (2)")
        assert not connection.in_transaction
        connection.execute("begin")
        connection.execute("insert into t values (3)")
        connection.rollback()
        assert connection.execute("select * from t").fetchall() == [(2,)]


def test_collections_change_at_once(connection: dbapi.Connection) -> None:
    connection.database["docs"].put("a", {"n": 1})
    connection.execute("update docs set n = 2")
    assert not connection.in_transaction
    assert connection.execute("select n from docs").fetchall() == [(2,)]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("select nothing", dbapi.ProgrammingError),
        ("selec 1", dbapi.ProgrammingError),
        ("select 1 + true", dbapi.DataError),
        ("insert into t (id) values (1), (1)", dbapi.IntegrityError),
        ("create trigger x", dbapi.ProgrammingError),
        ("select 1 / 0", dbapi.DataError),
        ("select 2147483647 + 1", dbapi.DataError),
        ("select cast('x' as int)", dbapi.DataError),
        ("select date '2024-02-30'", dbapi.DataError),
        ("select interval 'x'", dbapi.DataError),
        ("select sqrt(-1)", dbapi.DataError),
        ("select repeat('x', 1000000000000)", dbapi.DataError),
        ("insert into t (id) values (99999999999)", dbapi.DataError),
        ("select ?", dbapi.ProgrammingError),
        ('create table u ("is out of range" int, "is out of range" int)', dbapi.ProgrammingError),
        ("create table t (id int)", dbapi.ProgrammingError),
        ("create view t as select 1", dbapi.ProgrammingError),
        ("alter table t add column id int", dbapi.ProgrammingError),
        ("begin; begin", dbapi.ProgrammingError),
        ("rollback", dbapi.ProgrammingError),
        ("create table k (a int not null); insert into k values (null)", dbapi.IntegrityError),
    ],
)
def test_errors(connection: dbapi.Connection, text: str, kind: type[dbapi.Error]) -> None:
    with pytest.raises(kind) as caught:
        connection.execute(text).fetchall()
    assert isinstance(caught.value.__cause__, foliodb.FolioError)
    assert caught.value.code == caught.value.__cause__.code


def test_limits(tmp_path: Path) -> None:
    with foliodb.open(tmp_path / "data") as database:
        connection = dbapi.connect(database)
        connection.execute("set statement_timeout = 50")
        long = "select count(*) from generate_series(1, 30000) a(x), generate_series(1, 30000) b(y) where x * y % 7 = 3"
        with pytest.raises(dbapi.OperationalError) as caught:
            connection.execute(long).fetchall()
        assert caught.value.code == "timeout"
        connection.execute("set statement_timeout = 0")
        connection.execute("set memory_limit = '1MB'")
        large = "select string_agg(repeat('x', 1000), '') from generate_series(1, 100000)"
        with pytest.raises(dbapi.OperationalError) as caught:
            connection.execute(large).fetchall()
        assert caught.value.code == "memory_limit"


def test_a_statement_that_fails_has_no_rows(connection: dbapi.Connection) -> None:
    for fail in ("execute", "executemany"):
        cursor = connection.cursor()
        cursor.execute("select 1 as a")
        with pytest.raises(dbapi.ProgrammingError):
            getattr(cursor, fail)("selec", [])
        assert (cursor.description, cursor.rowcount) == (None, -1)
        with pytest.raises(dbapi.ProgrammingError, match="there are no rows"):
            cursor.fetchall()


def test_the_missing_time_of_pandas_is_null(connection: dbapi.Connection) -> None:
    pandas = pytest.importorskip("pandas")
    day = pandas.Timestamp(2024, 1, 31)
    text = "select cast(? as timestamp), cast(? as timestamp)"
    found = connection.execute(text, (pandas.NaT, day)).fetchall()
    assert found == [(None, datetime.datetime(2024, 1, 31))]
    assert connection.execute("select :at", {"at": pandas.NaT}).fetchall() == [(None,)]
    cursor = connection.cursor()
    cursor.executemany("insert into t (id, at) values (?, ?)", [(1, pandas.NaT), (2, day.date())])
    assert cursor.execute("select at from t order by id").fetchall() == [(None,), (day.date(),)]


def test_closed(connection: dbapi.Connection) -> None:
    cursor = connection.cursor()
    with pytest.raises(dbapi.ProgrammingError):
        cursor.fetchone()
    cursor.close()
    with pytest.raises(dbapi.InterfaceError):
        cursor.execute("select 1")
    connection.close()
    connection.close()
    with pytest.raises(dbapi.InterfaceError):
        connection.cursor()
