"""`foliodb.aio`: the same names, awaited; an event loop that goes on; cancellation."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import foliodb
import pytest
from foliodb import aio

# A statement that takes seconds, unless it is interrupted.
LONG = "select count(*) from generate_series(1, 30000) a(x), generate_series(1, 30000) b(y) where x * y % 7 = 3"

# What has no use in a program of asyncio, or is a word of Python's for it.
BLOCKING_ONLY = {
    "Collection": {"dataset", "register"},
    "Database": set(),
    "PartitionedWriter": set(),
    "PartWriter": set(),
    "Session": set(),
    "Prepared": set(),
    "Transaction": set(),
    "Answer": set(),
    "Scan": set(),
    "Batch": set(),
    "Tables": set(),
}
AWAITED_ONLY = {"Database": {"blocking"}, "Session": {"set_autocommit"}}


def public(kind: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(kind) if not name.startswith("_")}


@pytest.mark.parametrize("name", BLOCKING_ONLY)
def test_the_same_names(name: str) -> None:
    blocking = getattr(foliodb, name, None) or getattr(foliodb._foliodb, name)
    awaited = getattr(aio, f"Async{name}")
    own = public(awaited) - AWAITED_ONLY.get(name, set())
    # What an instance is given when it is made.
    own |= {"database", "name", "session"} & public(blocking)
    assert own == public(blocking) - BLOCKING_ONLY[name]
    for member in own & public(awaited):
        method = getattr(awaited, member)
        if inspect.iscoroutinefunction(method):
            assert method.__doc__ and method.__name__ == member
        if "__wrapped__" in vars(method if callable(method) else type):
            assert inspect.signature(method) == inspect.signature(getattr(blocking, member))
        elif callable(method) and inspect.isfunction(getattr(blocking, member)):
            given = list(inspect.signature(method).parameters)
            names = list(inspect.signature(getattr(blocking, member)).parameters)
            assert given == names or given[-1] == "options"


def test_a_database_that_was_not_awaited_says_so(tmp_path: Path) -> None:
    opening: Any = aio.open(tmp_path / "data")
    with pytest.raises(TypeError, match=r"await foliodb\.aio\.open"):
        opening["users"]
    with pytest.raises(AttributeError, match=r"await foliodb\.aio\.open"):
        opening.collections()


def run(path: Path, work: Callable[[aio.AsyncDatabase], Awaitable[Any]]) -> Any:
    """Runs work on a database, on a loop of its own."""

    async def main() -> Any:
        async with aio.open(path) as db:
            return await work(db)

    return asyncio.run(main())


def test_documents(path: Path) -> None:
    async def work(db: aio.AsyncDatabase) -> None:
        users = db["users"]
        assert await users.is_created is False and users.name == "users" and users.database is db
        assert await users.put("ann", {"name": "Ann", "age": 34}) == "inserted"
        assert (await users.put_many({f"u{n}": {"age": n} for n in range(2_500)})).inserted == 2_500
        assert await users.get("ann") == {"_id": "ann", "name": "Ann", "age": 34}
        assert await users.get("nobody", 5) == 5 and await users.exists("u7")
        assert await users.pop("u7") == {"_id": "u7", "age": 7} and await users.pop("u7", None) is None
        assert await users.update("age > ?", {"old": True}, [2_490]) == 9
        assert await users.count() == 2_500 == len([name async for name in users])
        assert (await users.keys())[0] == "ann" and await users.is_writable
        assert [name async for name in db] == ["users"] == await db.collections()
        ages = [user["age"] async for user in users.scan(where="age < ?", params=[3])]
        assert ages == [0, 1, 2]
        scan = await users.scan(["age"], limit=5)
        assert (await scan.next_batch(2))[1] == {"_id": "u0", "age": 0}
        assert [user["age"] async for user in scan] == [1, 2, 3] and await scan.next_batch(3) == []
        assert [line async for line in users.scan_raw(limit=1)] == ['{"_id":"ann","name":"Ann","age":34}']
        assert [name async for name, _ in users.items()][:2] == ["ann", "u0"]
        assert (await users.check()).is_clean and (await users.stats()).document_count == 2_500
        strict = await db.collection("strict", strict=True)
        await strict.put("a", {"n": 1})
        with pytest.raises(foliodb.TypeMismatchError):
            await strict.put("b", {"n": "x"})
        with pytest.raises(foliodb.InvalidInputError):
            await db.collection("../evil")
        with pytest.raises(foliodb.NotFoundError):
            await users.pop("u7")
        await db.rename_collection("strict", "other")
        await users.export_file(path / "../users.jsonl")
        assert (await db["again"].import_file(path / "../users.jsonl")).inserted == 2_500

    run(path, work)
    assert foliodb.open(path)["again"].count() == 2_500


def test_statements(path: Path) -> None:
    async def work(db: aio.AsyncDatabase) -> None:
        await db.sql("create table t (id int primary key, name text)")
        assert (await db.sql("insert into t select g, 'n' || g from generate_series(1, 3000) s(g)")).count == 3_000
        answer = await db.sql("select id, name from t where id > ? order by id", [2])
        assert repr(answer) == "AsyncAnswer(columns=['id', 'name'])"
        assert answer.columns == ["id", "name"] and answer.types == ["integer", "text"]
        assert await answer.fetchone() == (3, "n3") and await answer.fetchmany(2) == [(4, "n4"), (5, "n5")]
        assert len([row async for row in answer]) == 2_995 and await answer.fetchone() is None
        answer = await db.sql("select id from t order by id limit 2")
        assert await answer.dicts() == [{"id": 1}, {"id": 2}]
        assert await (await db.sql("select 1 as a")).tuples() == [(1,)]
        with pytest.raises(foliodb.InvalidInputError, match="did not end it"):
            await db.sql("begin; delete from t")
        assert await (await db.sql("select count(*) from t")).fetchall() == [(3_000,)]
        prepared = await db.prepare("select name from t where id = ?")
        assert await (await prepared.execute([7])).fetchall() == [("n7",)]
        await db.create_function("twice", lambda x: 2 * x, ["int"], "int")
        assert await (await db.sql("select twice(id) from t where id = 5")).fetchone() == (10,)
        async with db.session(autocommit=False) as session:
            assert await session.autocommit is False
            await session.sql("delete from t where id = 1")
            assert await session.is_in_transaction
            await session.sql("rollback")
            await session.set_autocommit(True)
            assert await session.autocommit
        await db.apply_schema("Person ( name: str, age: int = 0 )")
        await (await db.ziql("ADD Person (name = $name, age = 3)", name="Ann")).fetchall()
        assert await (await db.ziql("GRAB Person [name]")).fetchall() == [{"name": "Ann"}]
        assert await db.ziql("GRAB Person [name]", model=dict) == [{"name": "Ann"}]
        assert (await db.tables().list())[0].name and (await db.tables().check()).is_clean

    run(path, work)


def test_limits_of_statements(path: Path) -> None:
    async def work(db: aio.AsyncDatabase) -> None:
        with pytest.raises(foliodb.StatementTimeoutError):
            await (await db.sql(LONG, timeout=0.05)).fetchall()
        large = "select string_agg(repeat('x', 1000), '') from generate_series(1, 100000)"
        with pytest.raises(foliodb.MemoryLimitError):
            await (await db.sql(large, memory_limit=1 << 20)).fetchall()
        # The limits of one statement are not those of the next.
        assert len((await (await db.sql(large.replace("100000", "10000"))).fetchall())[0][0]) == 10_000_000
        async with db.session(timeout=0.05, memory_limit=1 << 20) as session:
            with pytest.raises(foliodb.StatementTimeoutError):
                await (await session.sql(LONG)).fetchall()
            assert await (await session.sql("select 1")).fetchall() == [(1,)]

    run(path, work)


def test_partitions(path: Path) -> None:
    async def work(db: aio.AsyncDatabase) -> None:
        docs = db["docs"]
        await docs.put_many({f"d{n}": {"n": n} for n in range(5_000)})
        assert await db.partition_count("docs", 4) == foliodb.open(path).partition_count("docs", 4)
        parts = await db.partitions("docs", 3, columns=["n"], filter="n >= 10")
        answers = await asyncio.gather(*(db.read_partition(part) for part in parts))
        found = [row[0] for answer in answers for row in await answer.fetchall()]
        assert sorted(found) == list(range(10, 5_000))
        job = await db["copies"].partitioned_writer()
        assert str(job) == str(foliodb._foliodb.PartitionedWriter(str(job))) and job.collection == "copies"

        async def write(task: int) -> foliodb._foliodb.WrittenPart:
            part = await job.part(task)
            await part.put_json(f'[{{"_id": "t{task}"}}]')
            return await part.finish()

        counts = await job.commit(await asyncio.gather(*(write(task) for task in range(4))))
        assert counts.inserted == await db["copies"].count() == 4
        other = await db["copies"].partitioned_writer()
        await (await other.part(0)).put_json('[{"_id": "never"}]')
        await other.abort()
        assert not await db["copies"].exists("never")

    run(path, work)


def test_frames(path: Path) -> None:
    pytest.importorskip("pyarrow")

    async def work(db: aio.AsyncDatabase) -> None:
        await db["users"].put_many({"a": {"n": 1}, "b": {"n": 2}})
        assert (await db["users"].scan().arrow())["n"].to_pylist() == [1, 2]
        answer = await db.sql("select n from users order by n")
        assert (await answer.arrow()).to_pydict() == {"n": [1, 2]}
        answer = await db.sql("select n from users order by n")
        await answer.fetchone()
        assert len((await answer.arrow())["n"]) == 1
        answer = await db.sql("select n from users order by n")
        async for _ in answer:
            break
        with pytest.raises(foliodb.InvalidInputError, match="were iterated before"):
            await answer.arrow()

    run(path, work)


def test_transactions(path: Path) -> None:
    async def work(db: aio.AsyncDatabase) -> None:
        await db.sql("create table t (id int primary key)")
        async with db.transaction() as tx:
            await tx.sql("insert into t values (1)")
            with pytest.raises(ZeroDivisionError):
                async with tx.transaction() as part:
                    await part.sql("insert into t values (2)")
                    raise ZeroDivisionError
        with pytest.raises(foliodb.ConflictError):
            async with db.transaction() as tx:
                await tx.sql("insert into t values (3)")
                await tx.sql("insert into t values (1)")
        assert await (await db.sql("select id from t")).fetchall() == [(1,)]

        # More of them than there are threads: each has one, and all come to their end.
        async def add(n: int) -> None:
            async with db.transaction() as tx:
                found = await (await tx.sql("select count(*) from t")).fetchone()
                await tx.sql("insert into t values (?)", [n])
                assert found is not None

        await asyncio.gather(*(add(n) for n in range(10, 60)))
        assert await (await db.sql("select count(*) from t")).fetchone() == (51,)

    run(path, work)


def test_batches(path: Path) -> None:
    async def work(db: aio.AsyncDatabase) -> None:
        users = db["users"]
        async with users.batch() as batch:
            await batch.put("a", {"n": 1})
            assert await batch.exists("a") and await users.get("a") is None
            # It would wait for itself, and says so instead.
            with pytest.raises(foliodb.ConflictError, match="batch open"):
                await users.put("b", {})
            with pytest.raises(foliodb.ConflictError, match="a batch is open"):
                await db.sql("insert into users (_id) values ('c')")
            async with db["others"].batch() as other:
                await other.put("x", {})
                with pytest.raises(foliodb.ConflictError, match="batch open"):
                    await users.put("b", {})
        assert await users.ids() == ["a"] and await db["others"].count() == 1
        await users.put("b", {})
        with pytest.raises(ZeroDivisionError):
            async with users.batch() as batch:
                await batch.delete("a")
                raise ZeroDivisionError
        assert await users.ids() == ["a", "b"]
        # Others wait for the batch, more of them than there are threads.
        open_batch = asyncio.Event()

        async def wait_and_put(n: int) -> None:
            await open_batch.wait()
            await users.put(f"w{n}", {})

        puts = [asyncio.create_task(wait_and_put(n)) for n in range(40)]
        async with users.batch() as batch:
            open_batch.set()
            await asyncio.sleep(0.1)
            assert not any(put.done() for put in puts)
            await batch.put("last", {})
        await asyncio.gather(*puts)
        assert await users.count() == 43

    run(path, work)


async def longest_pause(work: Awaitable[Any]) -> float:
    """How long the loop stood still at most while something was awaited, in seconds."""
    task = asyncio.ensure_future(work)
    longest = 0.0
    while not task.done():
        started = time.monotonic()
        await asyncio.sleep(0.001)
        longest = max(longest, time.monotonic() - started)
    await task
    return longest


def test_the_loop_goes_on(path: Path) -> None:
    async def work(db: aio.AsyncDatabase) -> None:
        query = LONG.replace("30000", "4000")
        started = time.monotonic()
        pause = await longest_pause(db.sql(query + " order by 1"))
        answer = await db.sql(query)
        pause = max(pause, await longest_pause(answer.fetchall()))
        assert pause < max(0.3, (time.monotonic() - started) / 3)
        # A put waits for a batch of another thread, and the loop does not.
        users = db["users"]
        await users.put("first", {})
        is_open, may_end = threading.Event(), threading.Event()

        def hold() -> None:
            with foliodb.open(path)["users"].batch() as batch:
                is_open.set()
                may_end.wait(10)
                batch.put("held", {})

        holder = threading.Thread(target=hold)
        holder.start()
        is_open.wait()
        put = asyncio.create_task(users.put("a", {}))
        assert await longest_pause(asyncio.sleep(0.2)) < 0.2 and not put.done()
        may_end.set()
        await put
        holder.join()

    run(path, work)


@pytest.mark.parametrize("owner", ["database", "change", "session", "transaction", "prepared"])
def test_a_cancelled_task_interrupts_its_statement(path: Path, owner: str) -> None:
    async def work(db: aio.AsyncDatabase) -> None:
        await db.sql("create table t (id int primary key)")
        session = db.session()

        async def state() -> Any:
            if owner == "database":
                return await (await db.sql(LONG)).fetchall()
            if owner == "change":
                return await session.sql(f"insert into t {LONG.replace('count(*)', 'x').replace('= 3', '= 9')}")
            if owner == "prepared":
                return await (await (await session.prepare(LONG)).execute()).fetchall()
            if owner == "session":
                return await (await session.sql(LONG)).fetchall()
            async with session.transaction() as tx:
                await tx.sql("insert into t values (1)")
                return await (await tx.sql(LONG)).fetchall()

        task = asyncio.create_task(state())
        await asyncio.sleep(0.3)
        assert not task.done()
        started = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        # The session goes on at once, and its thread is free.
        for runner in (db, session):
            assert await (await runner.sql("select count(*) from t")).fetchall() == [(0,)]
        assert time.monotonic() - started < 5
        await session.close()

    run(path, work)


@pytest.mark.parametrize("delay", [0, 0.0005, 0.002, 0.01, 0.05])
def test_a_cancelled_transaction_or_batch_leaves_nothing_open(path: Path, delay: float) -> None:
    async def work(db: aio.AsyncDatabase) -> None:
        await db.sql("create table t (id int primary key)")
        session = db.session()

        async def change() -> None:
            for n in range(1_000):
                async with session.transaction() as tx:
                    await tx.sql("insert into t values (?)", [n])
                async with db["users"].batch() as batch:
                    await batch.put(f"u{n}", {})

        task = asyncio.create_task(change())
        await asyncio.sleep(delay)
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not await session.is_in_transaction
        await asyncio.wait_for(db["users"].put("after", {}), 5)
        await asyncio.wait_for(db.sql("insert into t values (-1)"), 5)
        rows = await (await db.sql("select count(*) from t")).fetchone()
        assert rows[0] - await db["users"].count() in (0, 1)

    run(path, work)


def test_a_timeout_ends_iteration(path: Path) -> None:
    async def work(db: aio.AsyncDatabase) -> None:
        async def rows() -> None:
            async for _ in await db.sql(LONG.replace("count(*)", "x").replace("= 3", "= 9")):
                raise AssertionError("no row is ever found")

        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(rows(), 0.3)

    run(path, work)


def test_what_a_cancelled_fetch_brought_is_not_lost(path: Path) -> None:
    async def work(db: aio.AsyncDatabase) -> None:
        users = db["users"]
        await users.put_many({f"u{n}": {"n": n} for n in range(50)})
        is_slow = threading.Event()

        def accept(document: dict[str, Any]) -> bool:
            if not is_slow.is_set():
                time.sleep(0.01)
            return True

        scan = users.scan(filter=accept)
        task = asyncio.create_task(scan.next_batch(20))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        is_slow.set()
        assert [user["n"] async for user in scan] == list(range(50))
        # Two tasks may share one.
        scan = users.scan()

        async def take() -> list[int]:
            return [user["n"] async for user in scan]

        parts = await asyncio.gather(take(), take(), take())
        assert sorted(sum(parts, [])) == list(range(50))

    run(path, work)


def test_long_work_stops_at_its_next_step(path: Path) -> None:
    async def work(db: aio.AsyncDatabase) -> None:
        made = []

        def documents() -> Any:
            for n in range(10_000_000):
                made.append(n)
                yield {"_id": f"d{n}", "n": n}

        task = asyncio.create_task(db["users"].put_many(documents()))
        await asyncio.sleep(0.3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert 0 < len(made) < 10_000_000 and await db["users"].count() == 0
        told = []
        await db["users"].put_many(({"n": n} for n in range(10)), progress=lambda *step: told.append(step))
        assert told[-1][0] == 10

    run(path, work)


def test_closed(path: Path) -> None:
    async def main() -> None:
        db = await aio.open(path)
        session, users = db.session(), db["users"]
        await users.put("a", {"n": 1})
        await (await session.sql("select 1")).fetchall()
        await db.close()
        await db.close()
        for call in (users.get("a"), db.sql("select 1"), session.sql("select 1"), db.collections()):
            with pytest.raises(foliodb.ClosedError):
                await call
        await session.close()
        await session.close()
        async with aio.open(path) as again:
            assert await again["users"].get("a") == {"_id": "a", "n": 1}
            with pytest.raises(foliodb.NotFoundError):
                await aio.open(path / "nothing", "r")
        name = f"foliodb.aio.open({str(path)!r}, mode='rw')['users']"
        assert repr(again["users"]) == name
        assert repr(again["users"].scan()) == f"AsyncScan({name}, 0 documents fetched)"

    asyncio.run(main())


def test_one_database_for_several_loops(path: Path) -> None:
    db = asyncio.run(opened(path))
    assert asyncio.run(db["users"].put("a", {})) == "inserted"
    assert asyncio.run(db["users"].count()) == 1
    asyncio.run(db.close())


async def opened(path: Path) -> aio.AsyncDatabase:
    return await aio.open(path)


def test_what_goes_on_when_the_loop_ends_is_quiet(path: Path) -> None:
    script = """
import asyncio, sys, time
from foliodb import aio

async def main():
    db = await aio.open(sys.argv[1])
    users = db["users"]
    await users.put("a", {})
    slow = lambda value: time.sleep(0.5) or str(value)
    put = asyncio.create_task(users.put("b", {"x": object()}, default=slow))
    scan = users.scan(filter=lambda document: time.sleep(0.5) or True)
    fetch = asyncio.create_task(scan.next_batch(5))
    await asyncio.sleep(0.1)

asyncio.run(main())
"""
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-c", script, str(path)], capture_output=True, text=True, check=True
    )
    assert done.stderr == "" and set(foliodb.open(path)["users"].ids()) == {"a", "b"}


def test_ctrl_c_ends_the_statement(path: Path) -> None:
    script = f"""
import asyncio, os, signal, sys, threading
from foliodb import aio

async def main():
    async with aio.open(sys.argv[1]) as db:
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        await (await db.sql({LONG!r})).fetchall()

try:
    asyncio.run(main())
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "interrupted\n" and done.stderr == ""
