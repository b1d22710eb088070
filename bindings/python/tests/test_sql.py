"""SQL from Python: parameters, types, transactions, threads, signals, lifetimes."""

from __future__ import annotations

import datetime
import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import foliodb
import pytest

UTC = datetime.timezone.utc

# Ten seconds of work for anybody who is not interrupted.
LONG = "select count(*) from generate_series(1, 30000) a, generate_series(1, 300000) b"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[foliodb.Database]:
    with foliodb.open(tmp_path / "data", durability="none") as database:
        database.sql("create table t (id bigint primary key, name text)")
        yield database


VALUES = [
    None,
    True,
    -(2**63),
    2**63 - 1,
    0.1,
    float("inf"),
    "text with 'quotes', \0 and 🦉",
    b"\0\xff",
    Decimal("1.10"),
    Decimal("-99999999999999999999999999999.999999999"),
    datetime.date(1, 1, 1),
    datetime.time(23, 59, 59, 999999),
    datetime.datetime(9999, 12, 31, 23, 59, 59, 999999),
    datetime.datetime(1969, 12, 31, 23, 59, 59, 1, UTC),
    foliodb.Interval(14, -3, 1),
    uuid.UUID("01890000-0000-7000-8000-000000000001"),
    [1, None, 3],
    [[1.5], [2.0, 3.0]],
    [Decimal("1.5"), Decimal("2.25")],
    ["a", "b"],
    [],
    [None],
    [[], None],
    {"a": [1, {"b": None}], "c": 2**70},
]


def test_the_missing_time_of_pandas_is_null(db: foliodb.Database) -> None:
    pandas = pytest.importorskip("pandas")
    for missing in (pandas.NaT, pandas.NA):
        assert db.sql("select ?, cast(? as timestamp)", [missing, missing]).fetchall() == [(None, None)]
        assert db.sql("select :at", {"at": missing}).fetchall() == [(None,)]
        assert db.sql("select count(*) from unnest(?) as n(x)", [[1, missing]]).fetchall() == [(2,)]


def test_half_of_a_surrogate_pair_is_named(db: foliodb.Database) -> None:
    half = "a" * 99 + "\ud800"
    for use in (
        lambda: db.sql(f"select '{half}'"),
        lambda: db.sql("select ?", [half]),
        lambda: db.sql("select ?", [[half]]),
        lambda: db.sql("select :a", {"a": half}),
        lambda: db.sql("select 1", {half: 1}),
        lambda: db.ziql(f"GRAB {half}"),
        lambda: db.ziql("GRAB t [id] {name = $a}", a=half),
        lambda: db[half],
        lambda: db["c"].update(f"a = '{half}'", {}),
        lambda: db["c"].get(half),
        lambda: list(db["c"].scan(where=f"a = '{half}'")),
        lambda: db.session().prepare(f"select '{half}'"),
        lambda: db.partitions(half, 1),
    ):
        with pytest.raises(foliodb.InvalidInputError, match=r"a\\ud800.*half of a surrogate pair"):
            use()


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_come_back_equal(db: foliodb.Database, value: Any) -> None:
    for answer in (db.sql("select ?", [value]), db.sql("select :v", {"v": value})):
        ((found,),) = answer.fetchall()
        assert found == value
        assert type(found) is type(value)


def test_values_are_stored_with_their_types(db: foliodb.Database) -> None:
    db.sql(
        "create table v (b boolean, i smallint, f double precision, n numeric(10, 2), x bytea, "
        "d date, h time, ts timestamp, tz timestamptz, u uuid, j json, a integer[])"
    )
    row = (
        True,
        7,
        2,
        Decimal("1.5"),
        bytearray(b"x"),
        datetime.date(2024, 2, 29),
        datetime.time(1, 2),
        datetime.datetime(2024, 1, 1, 2),
        datetime.datetime(2024, 1, 1, 2, tzinfo=datetime.timezone(datetime.timedelta(hours=2))),
        uuid.uuid4(),
        [1, 2],
        (1, 2),
    )
    row = (*row[:10], {"k": [1]}, row[11])
    db.sql(f"insert into v values ({', '.join('?' * 12)})", row)
    found = db.sql("select * from v").fetchone()
    assert found == (
        *row[:2],
        2.0,
        Decimal("1.50"),
        b"x",
        *row[5:8],
        datetime.datetime(2024, 1, 1, 0, tzinfo=UTC),
        row[9],
        {"k": [1]},
        [1, 2],
    )
    assert isinstance(found[2], float)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (2**63, "beyond 64 bits"),
        (Decimal("NaN"), "numeric cannot represent"),
        (Decimal("1e40"), "more than 38 digits"),
        (object(), "has no SQL type"),
        ([1, "a"], "mixed types"),
        (datetime.time(1, tzinfo=UTC), "with a time zone"),
    ],
    ids=repr,
)
def test_values_without_a_type_are_refused(db: foliodb.Database, value: Any, words: str) -> None:
    with pytest.raises(foliodb.InvalidInputError, match=words):
        db.sql("select ?", [value])


def test_a_parameter_of_ziql_is_called_as_the_text_does(db: foliodb.Database) -> None:
    with pytest.raises(foliodb.InvalidInputError, match=r"parameter \$l .*mixed types"):
        db.ziql("GRAB User {age IN $l}", l=[1, "a"])


@pytest.mark.parametrize(
    ("text", "params", "words"),
    [
        ("select ?", [], "parameter 1 has no value: 0 were given"),
        ("select ?", [1, 2], "2 values were given to a statement that takes 1"),
        ("select :a", {"b": 1}, "parameter :a has no value"),
        ("select :a", {"a": 1, "b": 2}, "given for :b"),
        ("select ?", {"a": 1}, "given by name"),
        ("select ?", "x", "params is text"),
        ("select ?", 5, "neither a sequence nor a dict"),
    ],
)
def test_parameters_must_fit(db: foliodb.Database, text: str, params: Any, words: str) -> None:
    with pytest.raises(foliodb.InvalidInputError, match=words):
        db.sql(text, params)


def test_names_go_by_name_whatever_their_order(db: foliodb.Database) -> None:
    for params in ({"a": 1, "b": 2}, {"b": 2, "a": 1}):
        assert db.sql("select :b - :a, :a", params).fetchall() == [(1, 1)]


def test_errors_show_the_place(db: foliodb.Database) -> None:
    with pytest.raises(foliodb.NotFoundError) as caught:
        db.sql("select nam from t")
    assert caught.value.code == "not_found"
    assert str(caught.value).split("\n")[1:] == [
        "  select nam from t",
        '         ^^^  help: did you mean "name"?',
    ]
    with pytest.raises(foliodb.FolioSyntaxError):
        db.sql("select 1 frm t where")
    with pytest.raises(foliodb.ConflictError):
        db.sql("insert into t values (1, 'a'), (1, 'b')")
    with pytest.raises(foliodb.TypeMismatchError):
        db.sql("select 1 + true")
    assert db.sql("select count(*) from t").fetchone() == (0,)


def test_answers_in_every_form(db: foliodb.Database) -> None:
    insert = db.sql("insert into t select g, 'n' || g from generate_series(1, 5) as s(g)")
    assert (insert.count, insert.columns, insert.fetchall()) == (5, [], [])
    query = "select id, name from t order by id"
    answer = db.sql(query)
    assert (answer.count, answer.columns, answer.types) == (None, ["id", "name"], ["bigint", "text"])
    assert (answer.fetchone(), answer.fetchmany(2)) == ((1, "n1"), [(2, "n2"), (3, "n3")])
    assert answer.dicts() == [{"id": 4, "name": "n4"}, {"id": 5, "name": "n5"}]
    assert answer.fetchone() is None
    assert "<td>n5</td>" in db.sql(query)._repr_html_()
    shown = db.sql(query)
    shown._repr_html_()
    assert len(shown.fetchall()) == 5
    assert "5 rows changed" in db.sql("update t set name = name")._repr_html_()
    assert db.sql("delete from t where id > 3 returning id").fetchall() == [(4,), (5,)]


def test_answers_as_columns(db: foliodb.Database) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    db.sql("insert into t select g, 'n' || g from generate_series(1, 10000) as s(g)")
    table = db.sql("select id, name, gen_random_uuid() as u from t order by id").arrow()
    assert table.num_rows == 10000
    assert table["id"].to_pylist()[-1] == 10000
    assert table.schema.types[:2] == [pyarrow.int64(), pyarrow.string()]
    assert db.sql("select id from t where id = ?", [3]).arrow().to_pylist() == [{"id": 3}]
    answer = db.sql("select id from t order by id")
    assert answer.fetchone() == (1,)
    assert answer.arrow().num_rows == 9999
    polars, pandas = pytest.importorskip("polars"), pytest.importorskip("pandas")
    assert isinstance(db.sql("select id from t").pl(), polars.DataFrame)
    assert isinstance(db.sql("select id from t").df(), pandas.DataFrame)
    frame = polars.DataFrame({"id": [1]})
    assert frame.join(db.sql("select * from t").pl(), on="id").rows() == [(1, "n1")]


def test_tables_collections_and_files_in_one_statement(db: foliodb.Database, tmp_path: Path) -> None:
    db.sql("insert into t values (1, 'Oslo'), (2, 'Bergen')")
    db["visits"].put("a", {"city": 2, "tags": ["x", 1]})
    (tmp_path / "more.csv").write_text("city,cost\n2,5\n")
    text = (
        "select t.name, v.tags, m.cost from visits v join t on t.id = v.city "
        f"join '{tmp_path}/more.csv' m on m.city = t.id"
    )
    assert db.sql(text).fetchall() == [("Bergen", ["x", 1], 5)]
    assert db.sql("select _doc from visits").fetchone() == (
        {"_id": "a", "city": 2, "tags": ["x", 1]},
    )


def test_columns_of_one_name(db: foliodb.Database, tmp_path: Path) -> None:
    db.sql("insert into t values (1, 'Oslo'), (2, null)")
    text = "select count(*), count(name), 7 as count_1, count(name) from t"
    names, values = ["count", "count_2", "count_1", "count_3"], [2, 1, 7, 1]
    assert db.sql(text).columns == names
    assert db.sql(text).dicts() == [dict(zip(names, values))]

    assert db.sql(text).arrow().column_names == names
    assert db.sql(text).pl().rows() == [tuple(values)]
    assert db.sql(text).df().to_dict("records") == [dict(zip(names, values))]
    for name in ("out.jsonl", "out.json", "out.parquet", "out.arrow", "out.csv", "out.ion"):
        db.sql(f"copy ({text}) to '{tmp_path}/{name}'")
        assert db.sql(f"select * from '{tmp_path}/{name}'").dicts() == [dict(zip(names, values))]


def test_a_begin_that_fails_ends_its_text(tmp_path: Path) -> None:
    with foliodb.open(tmp_path / "data") as db:
        db.sql("create table t (id int)")
    program = (
        "import sys, foliodb; db = foliodb.open(sys.argv[1]); tx = db.session();"
        "tx.sql('begin'); tx.sql('insert into t values (1)'); print('ready', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "data")]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdin is not None and holder.stdout is not None
    assert holder.stdout.readline() == b"ready\n"
    with foliodb.open(tmp_path / "data") as db, db.session() as session:
        text = "begin; insert into t values (2); commit; insert into t values (3)"
        with pytest.raises(foliodb.LockedError):
            session.sql(text)
        holder.stdin.close()
        holder.wait()
        assert not session.is_in_transaction
        assert session.sql("select count(*) from t").fetchone() == (0,)


def test_transactions(db: foliodb.Database) -> None:
    with db.transaction() as tx:
        tx.sql("insert into t values (1, 'a')")
        assert tx.sql("select count(*) from t").fetchone() == (1,)
        assert db.sql("select count(*) from t").fetchone() == (0,)
        with pytest.raises(KeyError), tx.transaction():
            tx.sql("insert into t values (2, 'b')")
            raise KeyError
        with tx.transaction():
            tx.sql("insert into t values (3, 'c')")
    assert db.sql("select id from t order by id").fetchall() == [(1,), (3,)]
    with pytest.raises(KeyError), db.transaction() as tx:
        tx.sql("delete from t")
        raise KeyError
    with db.transaction() as tx:
        tx.sql("delete from t")
        tx.rollback()
    with db.transaction(read_only=True) as tx, pytest.raises(foliodb.ReadOnlyError):
        tx.sql("delete from t")
    assert db.sql("select count(*) from t").fetchone() == (2,)


def test_a_transaction_needs_a_session(db: foliodb.Database) -> None:
    with pytest.raises(foliodb.InvalidInputError, match="rolled back"):
        db.sql("begin; insert into t values (1, 'a')")
    db.sql("begin; insert into t values (2, 'b'); commit")
    assert db.sql("select id from t").fetchall() == [(2,)]
    with db.session() as session:
        session.sql("begin")
        session.sql("delete from t")
    assert db.sql("select count(*) from t").fetchone() == (1,)
    with pytest.raises(foliodb.ClosedError):
        session.sql("select 1")


def test_prepared(db: foliodb.Database) -> None:
    insert = db.prepare("insert into t values (?, ?)")
    assert insert.execute([1, "a"]).count == 1
    assert insert.execute_many((i, None) for i in range(2, 100)) == 98
    find = db.prepare("select name from t where id = :id")
    assert find.execute({"id": 1}).fetchall() == [("a",)]
    db.sql("alter table t add column more int default 7")
    assert db.prepare("select more from t where id = ?").execute([1]).fetchall() == [(7,)]
    with pytest.raises(foliodb.InvalidInputError):
        db.prepare("select 1; select 2")


def test_execute_many_is_all_or_nothing(db: foliodb.Database) -> None:
    insert = db.prepare("insert into t values (?, ?)")
    count = "select count(*) from t"
    with pytest.raises(foliodb.ConflictError, match=r"^element 3: "):
        insert.execute_many([[1, "a"], [2, "b"], [1, "c"], [3, "d"]])
    with pytest.raises(foliodb.InvalidInputError, match=r"^element 2: parameter 2 is a object"):
        insert.execute_many([[1, "a"], [2, object()]])

    def failing() -> Iterator[list[object]]:
        yield [1, "a"]
        # Statements of other sessions, and of this one, run in between.
        assert db.sql(count).fetchone() == (0,)
        assert session.sql(count).fetchone() == (1,)
        raise KeyError

    session = db.session()
    with pytest.raises(KeyError):
        session.prepare("insert into t values (?, ?)").execute_many(failing())
    assert not session.is_in_transaction
    assert db.sql(count).fetchone() == (0,)
    with session.transaction():
        many = session.prepare("insert into t values (?, ?)")
        assert many.execute_many([[1, "a"]]) == 1
        with pytest.raises(foliodb.ConflictError):
            many.execute_many([[2, "b"], [1, "c"]])
    assert db.sql(count).fetchone() == (1,)
    # A transaction changes no collection.
    db["docs"].put("a", {})
    with pytest.raises(foliodb.ConflictError, match="^element 2 .what those before it changed stays"):
        db.prepare("insert into docs (_id) values (?)").execute_many([["b"], ["a"]])
    assert db["docs"].count() == 2


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C as at a terminal: what runs in a shell's background is born deaf to it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_leaves_a_usable_session(db: foliodb.Database) -> None:
    for run in (db.sql, db.session().sql):
        began = time.monotonic()
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            run(LONG).fetchall()
        assert time.monotonic() - began < 5
        assert run("select 42").fetchall() == [(42,)]


def test_interrupt_from_another_thread(db: foliodb.Database) -> None:
    session = db.session()
    threading.Timer(0.2, session.interrupt).start()
    with pytest.raises(foliodb.CancelledError):
        session.sql(LONG).fetchall()
    assert session.sql("select 42").fetchall() == [(42,)]


def test_a_statement_has_limits(db: foliodb.Database) -> None:
    huge = "select sum(n) over () from generate_series(1, 1000000) s(n)"
    for run in (
        lambda text, **limits: db.sql(text, **limits),
        lambda text, **limits: db.session(**limits).sql(text),
    ):
        with pytest.raises(foliodb.StatementTimeoutError) as caught:
            run(LONG, timeout=0.1).fetchall()
        assert isinstance(caught.value, TimeoutError)
        assert caught.value.code == "timeout"
        with pytest.raises(foliodb.MemoryLimitError) as over:
            run(huge, memory_limit=1 << 20).fetchall()
        assert over.value.code == "memory_limit"
    # The next statement of an idle session has none.
    assert db.sql("show statement_timeout").fetchall() == [(0,)]
    assert len(db.sql(huge).fetchall()) == 1_000_000
    infinite = float("inf")
    for limits in ({"timeout": 0}, {"timeout": -1.0}, {"timeout": infinite}):
        with pytest.raises(foliodb.InvalidInputError, match="no number of seconds .* None for no"):
            db.session(**limits)
    for limit in (0, -1, 2**70):
        with pytest.raises(foliodb.InvalidInputError, match=f"memory_limit {limit} is no number"):
            db.sql("select 1", memory_limit=limit)


def test_a_value_without_an_object_is_named_by_its_column(db: foliodb.Database) -> None:
    for value, says in (("time '24:00:00'", "ends before 24:00"), ("date '20000-01-01'", "years")):
        for text in (f"select 1, {value} as late", f"select 1, [{value}] as late"):
            with pytest.raises(foliodb.InvalidInputError, match=f'column "late": .*{says}.*cast'):
                db.sql(text).fetchall()


def test_deep_statements_are_answered_or_refused_on_a_small_stack(db: foliodb.Database) -> None:
    deep = [
        "select 1" + "::int" * 10_000,
        "select " + "(" * 10_000 + "1" + ")" * 10_000,
        "with c0 as (select 1 as x)"
        + "".join(f", c{n} as (select * from c{n - 1})" for n in range(1, 800))
        + " select * from c799",
        "select " + "case when true then " * 10_000 + "1" + " end" * 10_000,
    ]
    said: list[str] = []

    def run() -> None:
        for text in deep:
            try:
                said.append(str(db.sql(text).fetchall()))
            except foliodb.UnsupportedError as error:
                said.append(str(error).splitlines()[0])

    before = threading.stack_size(512 << 10)
    try:
        thread = threading.Thread(target=run)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    assert said == ["[(1,)]"] * 3 + ["the statement nests too deep"]


def test_the_lock_of_the_interpreter_is_free(db: foliodb.Database) -> None:
    session, counted, done = db.session(), [0], threading.Event()

    def count() -> None:
        while not done.is_set():
            counted[0] += 1

    counter = threading.Thread(target=count)
    counter.start()
    threading.Timer(0.3, session.interrupt).start()
    with pytest.raises(foliodb.CancelledError):
        session.sql(LONG).fetchall()
    seen = counted[0]
    done.set()
    counter.join()
    assert seen > 1000


def test_eight_readers_beside_a_writer(db: foliodb.Database) -> None:
    db.sql("insert into t select g, '0' from generate_series(1, 100) as s(g)")
    done, problems = threading.Event(), list[str]()

    def read() -> None:
        with db.session() as session:
            while not done.is_set():
                rows = session.sql("select name, count(*) from t group by name").fetchall()
                # A statement sees a commit as a whole: all rows were changed by one of them.
                if len(rows) != 1 or rows[0][1] != 100:
                    problems.append(str(rows))

    readers = [threading.Thread(target=read) for _ in range(8)]
    for reader in readers:
        reader.start()
    for turn in range(1, 41):
        with db.transaction() as tx:
            tx.sql("update t set name = ? where id <= 50", [str(turn)])
            tx.sql("update t set name = ? where id > 50", [str(turn)])
    done.set()
    for reader in readers:
        reader.join()
    assert problems == []
    assert db.sql("select distinct name from t").fetchall() == [("40",)]


def test_a_session_is_shared_by_taking_turns(db: foliodb.Database) -> None:
    with db.session() as session:
        def add(first: int) -> None:
            for i in range(first, first + 50):
                session.sql("insert into t values (?, 'x')", [i])

        threads = [threading.Thread(target=add, args=(n * 50,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert db.sql("select count(*) from t").fetchone() == (200,)


def test_closed(db: foliodb.Database) -> None:
    db.sql("insert into t select g, 'n' from generate_series(1, 20000) as s(g)")
    session, prepared = db.session(), db.prepare("select 1")
    answer = db.sql("select id from t")
    next(answer)
    db.close()
    for call in (lambda: db.sql("select 1"), lambda: session.sql("select 1"), prepared.execute):
        with pytest.raises(foliodb.ClosedError):
            call()
    # Rows that were asked for before are those of their moment, or an error; never a crash.
    try:
        assert len(answer.fetchall()) == 19999
    except foliodb.ClosedError:
        pass


@pytest.mark.parametrize("order", range(6))
def test_collected_in_any_order(tmp_path: Path, order: int) -> None:
    db = foliodb.open(tmp_path / "data", durability="none")
    db.sql("create table t (id int primary key)")
    session = db.session()
    session.sql("begin")
    session.sql("insert into t values (1)")
    prepared = session.prepare("select id from t")
    things: list[Any] = [db, session, prepared, prepared.execute(), session.sql("select * from t")]
    del db, session, prepared
    for _ in range(len(things)):
        things.pop(order % len(things))
        gc.collect()
    with foliodb.open(tmp_path / "data") as db:
        assert db.sql("select count(*) from t").fetchone() == (0,)


def child(db: foliodb.Database, session: foliodb.Session, queue: Any) -> None:
    try:
        session.sql("select 1")
    except foliodb.ClosedError as error:
        queue.put((str(error), db.sql("select count(*) from t").fetchone()))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_has_sessions_of_its_own(db: foliodb.Database) -> None:
    db.sql("insert into t values (1, 'a')")
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=child, args=(db, db.session(), queue))
    process.start()
    text, count = queue.get(timeout=30)
    process.join()
    assert (text, count) == ("the session was opened before the fork; open another", (1,))
    assert db.sql("select count(*) from t").fetchone() == (1,)


def test_nothing_heavy_is_imported() -> None:
    program = (
        "import sys, foliodb, foliodb.dbapi; db = foliodb.open(sys.argv[1]); "
        "db.sql('select 1').fetchall(); "
        "print([m for m in ('pyarrow', 'pandas', 'polars', 'pydantic') if m in sys.modules])"
    )
    command = [sys.executable, "-c", program, os.devnull + ".none"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_an_open_batch_is_not_waited_for(db: foliodb.Database) -> None:
    docs = db["docs"]
    with docs.batch() as batch:
        batch.put("a", {"n": 1})
        assert db.sql("select count(*) from t").fetchone() == (0,)
        for change in (lambda: db.sql("update docs set n = 2"), lambda: db.session().sql("delete from docs")):
            with pytest.raises(foliodb.ConflictError, match="batch is open"):
                change()
    assert db.sql("update docs set n = 2").count == 1


def test_scan_where(db: foliodb.Database, tmp_path: Path) -> None:
    users = db["users"]
    users.put_many({f"u{n}": {"n": n, "name": "Ann" if n % 2 else None} for n in range(10)})
    text = "n > 5 and name like 'A%'"
    assert [user["_id"] for user in users.scan(where=text)] == ["u7", "u9"]
    assert [user["n"] for user in users.scan(["n"], where=text, limit=1)] == [7]
    assert [user["n"] for user in users.scan(where="n > 5", filter=lambda user: user["n"] < 8)] == [6, 7]
    assert len(list(users.scan_raw(where="name is null -- a comment"))) == 5
    assert users.export_file(tmp_path / "out.jsonl", where=text).document_count == 2
    pytest.importorskip("pyarrow")
    assert users.scan(["n"], where=text).arrow()["n"].to_pylist() == [7, 9]
    with pytest.raises(foliodb.NotFoundError, match="did you mean"):
        users.scan(where="nam = 'Ann'")
    for wrong in ("n > 5); delete from users; select (1", "n > 5 order by n", ""):
        with pytest.raises(foliodb.FolioError):
            users.scan(where=wrong)
    assert users.count() == 10


def test_tables(db: foliodb.Database, tmp_path: Path) -> None:
    tables = db.tables()
    assert tables.exist()
    db.sql("insert into t select g, 'name' from generate_series(1, 5000) as s(g)")
    (summary,) = tables.list()
    assert (summary.name, summary.row_count, summary.columns) == ("t", 5000, ["id", "name"])
    db.sql("delete from t where id > 10")
    report = tables.check()
    assert report is not None and report.is_clean and report.row_count == 10
    statistics = tables.statistics()
    assert statistics is not None and statistics.page_size >= 4096
    assert tables.checkpoint()
    assert tables.inspect(1).page == 1
    db.sql("create unique index by_name on t (name, id desc); create index copy on t using columns")
    by_name, copy = tables.indexes("t")
    assert (by_name.name, by_name.fields, by_name.unique) == ("by_name", ["name", "id desc"], True)
    assert by_name.entry_count == 10 and by_name.size >= 8192 and by_name.is_ready
    assert (copy.name, copy.fields, copy.entry_count, copy.is_ready) == ("copy", [], 10, True)
    assert copy.size > 0
    with pytest.raises(foliodb.NotFoundError):
        tables.indexes("none")
    assert tables.reindex() == 1 and tables.take_notices() == []
    vacuumed = tables.vacuum()
    assert vacuumed is not None and vacuumed.size_after < vacuumed.size_before
    assert db.sql("select count(*) from t").fetchone() == (10,)
    db.close()
    saved = foliodb.salvage(tmp_path / "data", tmp_path / "saved")
    assert [(table.name, table.row_count) for table in saved.tables] == [("t", 10)]
    with foliodb.open(tmp_path / "empty") as empty:
        assert not empty.tables().exist() and empty.tables().check() is None
        with pytest.raises(foliodb.NotFoundError):
            empty.tables().inspect(0)
