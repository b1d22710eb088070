"""The end of a program, in processes of their own: what was put is in the file."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import foliodb

# A scan with a condition leaves a session behind that holds the collection.
BEGIN = """
import os, signal, sys, threading, time
import foliodb
u = foliodb.open("data", **OPTIONS)["u"]
u["a"] = {"n": 1}
list(u.scan(where="n = 1"))
u["b"] = {"n": 2}
"""


def start(folder: Path, program: str, **options: object) -> subprocess.Popen[str]:
    text = BEGIN.replace("OPTIONS", repr(options)) + program
    return subprocess.Popen(
        [sys.executable, "-c", text],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def lines(folder: Path) -> list[str]:
    file = folder / "data/collections/u/meta/data.jsonl"
    return file.read_text().splitlines() if file.exists() else []


def ids(folder: Path) -> list[str]:
    return [json.loads(line)["_id"] for line in lines(folder)]


ENDS = {
    "the last statement": ("", 0),
    "sys.exit": ("sys.exit(3)", 3),
    "an uncaught error": ("raise ValueError('oops')", 1),
    "a thread that runs on": ("threading.Thread(target=time.sleep, args=(60,), daemon=True).start()", 0),
    "SIGTERM": ("os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)", -signal.SIGTERM),
    "SIGINT": ("os.kill(os.getpid(), signal.SIGINT); time.sleep(60)", -signal.SIGINT),
}
if hasattr(signal, "SIGHUP"):  # not on Windows
    ENDS["SIGHUP"] = ("os.kill(os.getpid(), signal.SIGHUP); time.sleep(60)", -signal.SIGHUP)


@pytest.mark.parametrize("program", ENDS)
def test_puts_survive(tmp_path: Path, program: str) -> None:
    text, code = ENDS[program]
    process = start(tmp_path, text, write_behind=None)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == code, errors
    assert ids(tmp_path) == ["a", "b"]


def test_many_puts_after_a_scan(tmp_path: Path) -> None:
    process = start(tmp_path, "for n in range(100_000):\n    u[f'n{n}'] = {'n': n}\n")
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert len(lines(tmp_path)) == 100_002


def test_a_handler_of_the_program_stays(tmp_path: Path) -> None:
    program = """
def handle(number, frame):
    print("handled")
    sys.exit(0)
signal.signal(signal.SIGTERM, handle)
foliodb.open("other")["u"].put("x", {})
os.kill(os.getpid(), signal.SIGTERM)
time.sleep(60)
"""
    out, _ = start(tmp_path, program).communicate(timeout=60)
    assert out == "handled\n"
    assert ids(tmp_path) == ["a", "b"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_child_flushes_its_own_and_nothing_of_its_parent(tmp_path: Path) -> None:
    program = """
child = os.fork()
if child == 0:
    foliodb.open("child")["u"].put("c", {})
    sys.exit(0)
os.waitpid(child, 0)
print(os.path.exists("data/collections/u/meta/data.jsonl") and open("data/collections/u/meta/data.jsonl").read().count("\\n"))
"""
    out, errors = start(tmp_path, program, write_behind=None).communicate(timeout=60)
    # The scan has written the first; the second is the parent's to write.
    assert out == "1\n", errors
    assert ids(tmp_path) == ["a", "b"]
    assert foliodb.open(tmp_path / "child")["u"].get("c") == {"_id": "c"}


@pytest.mark.parametrize("write_behind", [None, 0.5])
@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_database_that_was_removed_is_a_warning(tmp_path: Path, is_replaced: bool, write_behind: float | None) -> None:
    program = "import shutil; u['c'] = {}; shutil.rmtree('data')\n" + "os.mkdir('data')\n" * is_replaced
    process = start(tmp_path, program + f"time.sleep({2 * (write_behind or 0)})", write_behind=write_behind)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert ("FolioWarning: the database" in errors) is not is_replaced, errors
    # The interpreter prints it, and lets nobody set the status by then.
    assert ("foliodb.errors.ConflictError" in errors) is is_replaced, errors


def wait_for(folder: Path, count: int, seconds: float) -> float:
    begun = time.monotonic()
    while len(lines(folder)) < count:
        assert time.monotonic() - begun < seconds, f"{len(lines(folder))} lines of {count}"
        time.sleep(0.01)
    return time.monotonic() - begun


def test_a_kill_loses_a_second_at_most(tmp_path: Path) -> None:
    process = start(tmp_path, "print('put', flush=True); time.sleep(60)")
    assert process.stdout is not None
    process.stdout.readline()
    wait_for(tmp_path, 2, seconds=5)
    process.kill()
    process.communicate(timeout=60)
    assert ids(tmp_path) == ["a", "b"]


def test_a_kill_loses_a_megabyte_at_most(tmp_path: Path) -> None:
    program = """
for n in range(3_000):
    u[f"n{n}"] = {"text": "x" * 1_000}
os.kill(os.getpid(), signal.SIGKILL)
"""
    start(tmp_path, program, write_behind=None).communicate(timeout=60)
    size = sum(len(line) + 1 for line in lines(tmp_path))
    assert 3_000 * 1_000 - size <= 1 << 20, size


def test_an_idle_process_lets_others_write(tmp_path: Path) -> None:
    process = start(tmp_path, "print('put', flush=True); time.sleep(60)")
    assert process.stdout is not None
    process.stdout.readline()
    with foliodb.open(tmp_path / "data", timeout=10) as db:
        db["u"]["c"] = {"n": 3}
    assert ids(tmp_path) == ["a", "b", "c"]
    process.kill()
    process.communicate(timeout=60)


def test_a_delay_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(foliodb.InvalidInputError, match="write_behind -1"):
        foliodb.open(tmp_path / "data", write_behind=-1)


# Busy for longer than either is ready to wait.
TURNS = """
import sys, time, foliodb
name, n = sys.argv[1], 0
db = foliodb.open("data", timeout=3)
db.sql("create table if not exists t (name text, n int, primary key (name, n))")
begun = time.monotonic()
while time.monotonic() - begun < 5:
    db.sql("insert into t values (?, ?)", [name, n])
    db["docs"][f"{name}-{n}"] = {"n": n}
    n += 1
assert db.sql("select count(*) from t where name = ?", [name]).fetchall() == [(n,)]
print(n)
"""


def test_two_busy_processes_take_turns(tmp_path: Path) -> None:
    foliodb.open(tmp_path / "data").create()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", TURNS, name],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("a", "b")
    ]
    counts = [int(process.communicate(timeout=120)[0]) for process in started]
    assert [process.returncode for process in started] == [0, 0]
    with foliodb.open(tmp_path / "data") as db:
        rows = db.sql("select name, count(*), max(n) + 1 from t group by name order by name")
        assert rows.fetchall() == [("a", counts[0], counts[0]), ("b", counts[1], counts[1])]
        assert db["docs"].count() == sum(counts) and db["docs"].check().is_clean
        assert db.tables().check().is_clean


def test_an_idle_handle_keeps_nobody_from_the_tables(tmp_path: Path) -> None:
    program = """
db = foliodb.open("data")
db.sql("create table t (n int primary key)")
db.sql("insert into t values (1)")
print("idle", flush=True)
sys.stdin.readline()
db.sql("insert into t values (3)")
print(db.sql("select n from t order by n").fetchall())
"""
    process = subprocess.Popen(
        [sys.executable, "-c", "import sys, foliodb" + program],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "idle\n"
    with foliodb.open(tmp_path / "data", timeout=10) as db:
        db.sql("insert into t values (2)")
    out, _ = process.communicate("go on\n", timeout=60)
    assert out == "[(1,), (2,), (3,)]\n"


def test_an_open_transaction_keeps_its_place(tmp_path: Path) -> None:
    program = """
db = foliodb.open("data")
db.sql("create table t (n int primary key)")
with db.transaction() as tx:
    tx.sql("insert into t values (1)")
    print("open", flush=True)
    sys.stdin.readline()
print("done", flush=True)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", "import sys, foliodb" + program],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    with foliodb.open(tmp_path / "data", timeout=2.5) as db:
        with pytest.raises(foliodb.LockedError):
            db.sql("insert into t values (2)")
        process.communicate("commit\n", timeout=60)
        db.sql("insert into t values (2)")
        assert db.sql("select n from t order by n").fetchall() == [(1,), (2,)]
