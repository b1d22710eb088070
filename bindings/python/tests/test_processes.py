"""Threads, forks, spawns, pickles, and handles in any order: right, or a clear error."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import foliodb
import pytest

COUNT = 5_000

# A child that hangs is a failure.
SECONDS = 60


@pytest.fixture
def many(users: foliodb.Collection) -> foliodb.Collection:
    """A collection with some thousand documents, on disk."""
    users.put_many({f"u{n}": {"n": n, "tags": ["x", str(n)]} for n in range(COUNT)})
    users.flush()
    return users


def read_everything(users: foliodb.Collection) -> int:
    """A sum over all documents, by every way of reading."""
    ids = users.ids()
    by_scan = sum(document["n"] for document in users.scan())
    by_batch = sum(document["n"] for document in users.get_many(ids))
    assert by_scan == by_batch and users[ids[7]]["n"] == 7
    return by_scan


def in_process(kind: str, work: Any, *arguments: Any) -> Any:
    """What `work` answers in another process."""
    context = multiprocessing.get_context(kind)
    answers = context.SimpleQueue()
    process = context.Process(target=answer, args=(answers, work, arguments))
    process.start()
    process.join(SECONDS)
    if process.is_alive():
        process.kill()
        pytest.fail(f"the {kind} child hangs")
    assert process.exitcode == 0
    return answers.get()


def answer(answers: Any, work: Any, arguments: tuple[Any, ...]) -> None:
    try:
        answers.put(work(*arguments))
    except Exception as error:
        answers.put(repr(error))


@pytest.mark.parametrize("kind", multiprocessing.get_all_start_methods())
def test_children_read(many: foliodb.Collection, kind: str) -> None:
    expected = read_everything(many)
    assert in_process(kind, read_everything, many) == expected
    assert read_everything(many) == expected


def write_one(users: foliodb.Collection) -> Any:
    users.put("child", {"n": 0})
    users.flush()
    return users.count()


@pytest.mark.parametrize("kind", multiprocessing.get_all_start_methods())
def test_children_write(many: foliodb.Collection, kind: str) -> None:
    assert in_process(kind, write_one, many) == COUNT + 1
    many.refresh()
    assert many["child"]["n"] == 0
    many.put("parent", {})
    assert many.count() == COUNT + 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_leaves_the_parents_lock_alone(path: Path) -> None:
    db = foliodb.open(path, timeout=0.2)
    users = db["users"]
    users.put("held", {})
    assert "LockedError" in in_process("fork", write_one, users)
    users.put("more", {})
    db.close()
    with foliodb.open(path) as again:
        assert again["users"].ids() == ["held", "more"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_scan_from_before_the_fork(many: foliodb.Collection) -> None:
    scan = many.scan()
    next(scan)
    assert "start a new one" in in_process("fork", lambda: list(scan))
    assert len(list(scan)) == COUNT - 1


def test_eight_readers_and_a_writer(many: foliodb.Collection) -> None:
    errors: list[BaseException] = []
    done = threading.Event()

    def read() -> None:
        try:
            while not done.is_set():
                # What was there before comes first, whole, whatever is written meanwhile.
                found = [document["n"] for document in many.scan()]
                assert found[:COUNT] == list(range(COUNT))
                assert many["u7"]["tags"] == ["x", "7"]
        except BaseException as error:
            errors.append(error)

    readers = [threading.Thread(target=read) for _ in range(8)]
    for reader in readers:
        reader.start()
    for number in range(200):
        many.put(f"w{number}", {"n": number})
    many.put_many({f"x{n}": {"n": n} for n in range(2_000)})
    done.set()
    for reader in readers:
        reader.join(SECONDS)
    assert not errors and many.count() == COUNT + 2_200


def test_one_scan_in_two_threads(many: foliodb.Collection) -> None:
    scan = many.scan(filter=lambda _: next(scan))
    with pytest.raises(ValueError, match="in use"):
        next(scan)


def test_pickles(many: foliodb.Collection) -> None:
    for handle in (many, many.database):
        again = pickle.loads(pickle.dumps(handle))
        assert type(again) is type(handle)
    assert pickle.loads(pickle.dumps(many))["u7"]["n"] == 7


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_keeps_no_lock_of_a_parent_that_ended(path: Path) -> None:
    program = (
        "import os, sys, foliodb; db = foliodb.open(sys.argv[1]); db.sql('create table t (a int)'); "
        "db['docs'].put('a', {}); child = os.fork(); child == 0 and sys.stdin.read(); os._exit(0)"
    )
    command = [sys.executable, "-c", program, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as parent:
        assert parent.wait(SECONDS) == 0  # its child has not read to the end yet
        with foliodb.open(path, timeout=0.5) as db:
            assert db.sql("insert into t values (1)").count == 1
            db["docs"].put("b", {})


def test_what_is_left_open_keeps_nobody_from_writing(path: Path) -> None:
    db = foliodb.open(path, timeout=0.5)
    db.sql("create table t (a int primary key)")
    db.sql("insert into t select g from generate_series(1, 20000) as s(g)")
    rows = iter(db.sql("select a from t"))
    first = next(rows)
    session = db.session()
    session.sql("begin")
    session.sql("delete from t")
    db.close()
    with foliodb.open(path, timeout=0.5) as other:
        assert other.sql("delete from t").count == 20_000
    with pytest.raises(foliodb.ClosedError):
        session.sql("commit")
    assert len([first, *rows]) == 20_000


def test_statements_in_a_loop_give_others_a_turn(path: Path) -> None:
    with foliodb.open(path) as db:
        db["c"]["x"] = {"n": 0}
    program = f"""
import foliodb, time
db = foliodb.open({str(path)!r})
print("begins", flush=True)
end = time.monotonic() + {SECONDS}
while time.monotonic() < end:
    db.sql("UPDATE c SET n = n + 1")
"""
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None and child.stdout.readline() == "begins\n"
        with foliodb.open(path, timeout=20) as db:
            for number in range(3):
                db["c"][f"y{number}"] = {}
                db.flush()
    finally:
        child.kill()
        child.wait()


def test_closed_handles(path: Path) -> None:
    db = foliodb.open(path)
    users = db["users"]
    users.put("a", {})
    scan = users.scan()
    batch = users.batch()
    batch.rollback()
    db.close()
    db.close()
    for call in (
        lambda: users.get("a"),
        lambda: users.put("a", {}),
        lambda: users.scan(),
        lambda: users.count(),
        lambda: users.put_many([]),
        lambda: db.collections(),
        lambda: db["users"],
    ):
        with pytest.raises(foliodb.ClosedError):
            call()
    batch.rollback()
    with pytest.raises(foliodb.ClosedError):
        batch.commit()
    assert len(list(scan)) <= 1  # a scan under way ends well or not at all
    assert foliodb.open(path)["users"].count() == 1


@pytest.mark.parametrize("order", range(6))
def test_garbage_in_any_order(path: Path, order: int) -> None:
    import itertools

    db = foliodb.open(path)
    db["users"].put_many({f"u{n}": {"n": n} for n in range(100)})
    held: dict[str, Any] = {"db": db, "users": db["users"], "scan": db["users"].scan(lazy=True)}
    document = next(held["scan"])
    del db
    for name in list(itertools.permutations(held))[order]:
        del held[name]
        gc.collect()
    assert document["n"] == 0


def test_a_second_writer_is_told_who_holds_the_lock(path: Path) -> None:
    import subprocess

    with foliodb.open(path) as db:
        db["users"].put("a", {})
        script = (
            "import sys, foliodb\n"
            "foliodb.open(sys.argv[1], timeout=0.1)['users'].put('b', {})\n"
        )
        command = [sys.executable, "-c", script, str(path)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "LockedError" in result.stderr and str(os.getpid()) in result.stderr
