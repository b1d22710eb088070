"""Scans long enough that a thread reads them ahead: whole, in order, or an error."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import foliodb
import pytest

COUNT = 20_000
TEXT = "x" * 100


@pytest.fixture
def many(users: foliodb.Collection) -> foliodb.Collection:
    """Some megabytes of documents."""
    users.put_many({f"u{n:05}": {"n": n, "text": TEXT} for n in range(COUNT)})
    return users


def data_file(users: foliodb.Collection) -> Path:
    return Path(users.database.path) / "collections/users/meta/data.jsonl"


def numbers(scan: Any) -> list[int]:
    return [document["n"] for document in scan]


def test_every_form_gives_everything(many: foliodb.Collection) -> None:
    expected = list(range(COUNT))
    assert numbers(many.scan()) == numbers(many.scan(lazy=True)) == expected
    assert numbers(many.scan(["n"])) == numbers(many.scan(where="n >= 0")) == expected
    assert numbers(many.scan(limit=COUNT - 5)) == expected[:-5]
    assert [many.get_raw(f"u{n:05}") for n in (0, 9_999, COUNT - 1)] == [
        line for n, line in enumerate(many.scan_raw()) if n in (0, 9_999, COUNT - 1)
    ]
    scan, taken = many.scan(), 0
    while batch := scan.next_batch(777):
        assert numbers(batch) == expected[taken : taken + len(batch)]
        taken += len(batch)
    assert taken == COUNT and next(scan, None) is None and next(scan, None) is None


def test_lazy_documents_outlive_the_scan(many: foliodb.Collection) -> None:
    scan = many.scan(lazy=True)
    kept = [document for document in scan if document["n"] % 1000 == 0]
    del scan
    assert [document["text"] for document in kept] == [TEXT] * (COUNT // 1000)


def test_progress(many: foliodb.Collection) -> None:
    scan = many.scan()
    done, total = scan.progress()
    assert done == 0 and total == data_file(many).stat().st_size
    while scan.next_batch(1000):
        before, done = done, scan.progress()[0]
        assert before <= done <= total
    assert done == total


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts threads as Linux shows them")
def test_a_scan_that_is_dropped_leaves_no_thread(many: foliodb.Collection) -> None:
    before = len(os.listdir("/proc/self/task"))
    scans = [many.scan() for _ in range(5)]
    for scan in scans:
        assert len(scan.next_batch(COUNT // 2)) == COUNT // 2
    assert len(os.listdir("/proc/self/task")) > before
    del scan, scans
    # A thread that was joined is a moment longer in the list.
    deadline = time.monotonic() + 10
    while len(os.listdir("/proc/self/task")) > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(os.listdir("/proc/self/task")) <= before


def test_a_scan_sees_the_collection_as_it_was(many: foliodb.Collection) -> None:
    scan = many.scan()
    first = scan.next_batch(10)
    with data_file(many).open("a") as file:
        file.write('{"_id":"later","n":-1}\n')
    assert numbers(first) + numbers(scan) == list(range(COUNT))
    many.refresh()
    assert numbers(many.scan())[-1] == -1


def test_an_editor_that_replaces_the_file(many: foliodb.Collection) -> None:
    scan = many.scan()
    first = scan.next_batch(10)
    path = data_file(many)
    copy = path.with_suffix(".edited")
    copy.write_text(path.read_text().replace('"n":19999,', '"n":0,'))
    copy.rename(path)
    assert numbers(first) + numbers(scan) == list(range(COUNT))
    many.refresh()
    assert numbers(many.scan())[-1] == 0


def test_a_file_that_is_cut_under_the_scan(many: foliodb.Collection) -> None:
    scan = many.scan()
    first = scan.next_batch(10)
    path = data_file(many)
    lines = path.read_bytes().splitlines(keepends=True)
    with path.open("r+b") as file:
        file.truncate(sum(map(len, lines[: COUNT // 2])))
    found = len(first)
    with pytest.raises(foliodb.ConflictError, match="repeat the scan"):
        for document in scan:
            assert document["n"] == found
            found += 1
    assert found < COUNT // 2 + 1
    assert numbers(many.scan()) == list(range(COUNT // 2))


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_fork_in_the_middle(many: foliodb.Collection) -> None:
    scan = many.scan()
    first = scan.next_batch(COUNT // 2)
    child = os.fork()
    if child == 0:
        try:
            list(scan)
        except foliodb.ClosedError:
            del scan
            os._exit(0 if len(numbers(many.scan())) == COUNT else 2)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert numbers(first) + numbers(scan) == list(range(COUNT))


def test_damage_is_an_error_wherever_a_scan_meets_it(tmp_path: Path) -> None:
    with foliodb.open(tmp_path / "db") as database:
        database["a"].put_many((f"a{n:05}", {"n": n, "pad": "x" * 100}) for n in range(12_000))
        database.pack(tmp_path / "a.zds")
    whole = (tmp_path / "a.zds").read_bytes()
    first, last = (whole.index(b'"n":%d,' % n) for n in (0, 11_999))
    for at in range(first, last, 16 << 10):
        damaged = bytearray(whole)
        at = whole.index(b'"n":', at) + 4
        damaged[at] ^= 1
        (tmp_path / "b.zds").write_bytes(damaged)
        with foliodb.open(tmp_path / "b.zds") as database, pytest.raises(foliodb.CorruptedError):
            assert sum(1 for _ in database["a"].scan()) < 0
