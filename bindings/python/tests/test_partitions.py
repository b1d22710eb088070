"""Partitions and partitioned writes across processes."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import foliodb
import pytest


def fill(path: Path, count: int) -> None:
    with foliodb.open(path) as db:
        docs = db["docs"]
        docs.put_many((f"d{n}", {"n": n, "text": "x" * (n % 90)}) for n in range(count))
        docs.put_many((f"d{n}", {"n": -n}) for n in range(0, count, 7))
        docs.delete("d1")


def rows_of(partition: foliodb.Partition) -> list[tuple[object, ...]]:
    return foliodb.read_partition(partition).fetchall()


def test_other_processes_read_what_sql_reads(path: Path) -> None:
    fill(path, 5000)
    with foliodb.open(path, "r") as db:
        parts = db.partitions("docs", 6, columns=["n", "_id"], filter="n < 100")
        expected = db.sql("SELECT n, _id FROM docs WHERE n < 100").fetchall()
        assert sum(part.row_count for part in parts) == db["docs"].count()
    assert len(parts) > 1
    assert all(len(pickle.dumps(str(part))) < 400 for part in parts)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        found = [row for rows in pool.map(rows_of, parts) for row in rows]
    assert sorted(found) == sorted(expected)


def test_paths_read_parts_of_columns(path: Path) -> None:
    with foliodb.open(path) as db:
        docs = (
            {
                "commit": None if n % 5 == 0 else {"collection": f"c{n % 3}", "rev": n},
                "cart": [{"sku": f"s{n}", "price": n}] * (n % 3),
                "a.b": {"c": n, "d": n},
                "mixed": {"x": n} if n % 2 else "a text",
            }
            for n in range(3000)
        )
        db["docs"].put_many((f"d{n}", document) for n, document in enumerate(docs))
        wanted = ["commit.collection", "cart[].sku", '"a.b".c', "mixed.x"]
        parts = db.partitions("docs", 4, columns=wanted, filter="commit.rev < 2000")
        assert parts[0].columns == wanted and len(parts) > 1
        expected = db.sql('SELECT commit, cart, "a.b", mixed FROM docs WHERE commit.rev < 2000')
        expected_rows = [
            (
                {"collection": commit["collection"]},
                [{"sku": item["sku"]} for item in cart],
                {"c": ab["c"]},
                {"x": mixed["x"]} if isinstance(mixed, dict) else None,
            )
            for commit, cart, ab, mixed in expected.fetchall()
        ]
        with pytest.raises(foliodb.NotFoundError, match='did you mean "collection"'):
            db.partitions("docs", 4, columns=["commit.colection"])
        with pytest.raises(foliodb.InvalidInputError, match="neither a column nor a path"):
            db.partitions("docs", 4, columns=["commit..rev"])
        assert db.partition_count("docs", 8) == 1
    found = [row for part in parts for row in rows_of(part)]
    assert sorted(found, key=repr) == sorted(expected_rows, key=repr)


def test_a_partition_is_its_text(path: Path) -> None:
    fill(path, 2000)
    with foliodb.open(path) as db:
        (part, *_) = db.partitions("docs", 2)
        again = pickle.loads(pickle.dumps(part))
        assert again == part and hash(again) == hash(part)
        assert foliodb.Partition(str(part)) == part
        assert Path(part.uri) == path and part.relation == "docs"
        assert (part.columns, part.filter) == (None, None)
        assert part.size is not None and part.size > part.row_count
        db.backup(path.with_name("copy"))
        db["docs"].put("d2", {"n": 0})
        with pytest.raises(foliodb.ConflictError, match="plan them again"):
            db.read_partition(part)
    copied = foliodb.read_partition(part, path.with_name("copy")).fetchall()
    assert len(copied) == part.row_count


def write(job: foliodb._foliodb.PartitionedWriter, task: int) -> foliodb._foliodb.WrittenPart:
    part = job.part(task)
    part.put_json(json.dumps([{"_id": f"t{task}-{n}", "n": n} for n in range(100)]))
    return part.finish()


def test_many_processes_write_and_one_commit_publishes(path: Path) -> None:
    with foliodb.open(path) as db:
        job = db["docs"].partitioned_writer()
        with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
            parts = [found.result() for found in [pool.submit(write, job, n) for n in range(4)]]
        parts.append(write(job, 2))  # tried again
        late = write(job, 4)
        assert db["docs"].count() == 0
        assert job.commit(parts).inserted == 400
        assert job.commit(parts).inserted == 0
        with pytest.raises(foliodb.InvalidInputError, match="committed or aborted"):
            job.commit([late])
        assert db["docs"].count() == 400


def test_rows_of_arrow_are_documents_without_their_nulls(path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    with foliodb.open(path) as db:
        job = db["docs"].partitioned_writer()
        part = job.part(0)
        rows = [{"_id": "a", "n": 1, "in": {"x": None}}, {"_id": "b", "n": None, "in": None}]
        part.put_arrow(pyarrow.Table.from_pylist(rows))
        job.commit([part.finish()])
        with pytest.raises(foliodb.InvalidInputError, match="finished"):
            part.finish()
        assert db["docs"].get_raw("a") == '{"_id":"a","n":1,"in":{"x":null}}'
        assert db["docs"].get_raw("b") == '{"_id":"b"}'


def test_importing_the_package_imports_no_engine() -> None:
    text = "import foliodb, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not loaded & {"pyspark", "ray", "dask", "polars", "pandas", "pyarrow"}


TRAINER = """
import itertools, json, os, signal, sys
import foliodb

plan, state, out, worker, limit = json.load(open(sys.argv[1])), sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
at = json.load(open(state)) if os.path.exists(state) else {"part": 0, "row": 0}
count = 0
with open(out, "a") as seen:
    for number, text in enumerate(plan[worker::2]):
        if number < at["part"]:
            continue
        rows = foliodb.read_partition(foliodb.Partition(text))
        for row, (id,) in enumerate(itertools.islice(rows, at["row"], None), at["row"]):
            if count == limit:
                os.kill(os.getpid(), signal.SIGKILL)
            count += 1
            seen.write(id + "\\n")
            seen.flush()
            with open(state + ".new", "w") as file:
                json.dump({"part": number, "row": row + 1}, file)
            os.replace(state + ".new", state)
        at["row"] = 0
"""


@pytest.mark.skipif(sys.platform == "win32", reason="kills by a signal")
def test_workers_go_on_where_they_were_killed(path: Path, tmp_path: Path) -> None:
    fill(path, 3000)
    with foliodb.open(path, "r") as db:
        ids = sorted(db["docs"].keys())
        plan = [str(part) for part in db.partitions("docs", 8, columns=["_id"])]
    (tmp_path / "plan").write_text(json.dumps(plan))

    def run(worker: int, limit: int) -> int:
        names = [str(tmp_path / name) for name in ("plan", f"state{worker}", f"seen{worker}")]
        command = [sys.executable, "-c", TRAINER, *names, str(worker), str(limit)]
        return subprocess.run(command, check=False).returncode

    # Each is killed twice: in the middle of a part, and after a few rows more.
    for worker in range(2):
        assert [run(worker, limit) != 0 for limit in (700, 5, -1)] == [True, True, False]
    seen = [line for worker in range(2) for line in (tmp_path / f"seen{worker}").read_text().split()]
    assert sorted(seen) == ids, "each row once"


@pytest.mark.parametrize("filter", [None, "n % 3 = 0"])
def test_the_rows_of_a_part_come_in_one_order(path: Path, filter: str | None) -> None:
    fill(path, 20_000)
    with foliodb.open(path) as db:
        parts = db.partitions("docs", 3, columns=["_id", "n"], filter=filter)
        before = [rows_of(part) for part in parts]
        assert [rows_of(part) for part in parts] == before
        # Nor does a copy in columns change it.
        db.sql("CREATE INDEX by_columns ON docs USING columns")
        db["docs"].put("later", {"n": 1})
        assert [rows_of(part) for part in parts] == before


def test_engines_write_no_table_and_nothing_for_no_rows(path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from foliodb.writing import begun, put_rows

    with foliodb.open(path) as db:
        db.sql("CREATE TABLE plain (id integer)")
        db.sql("CREATE VIEW seen AS SELECT 1 AS id")
        db["docs"].put("a", {"n": 1})
    for name in ("plain", "PLAIN", "seen"):
        with pytest.raises(foliodb.InvalidInputError, match="insert by SQL"):
            begun(str(path), name)
    job = foliodb._foliodb.PartitionedWriter(begun(str(path), "docs"))
    part = job.part(0)
    for rows in ({}, {"n": pyarrow.array([], "int64")}, {"n": [2, 3]}, {}):
        put_rows(part, pyarrow.table(rows))
    assert job.commit([part.finish()]).inserted == 2
    empty = foliodb._foliodb.PartitionedWriter(begun(str(path), "none"))
    part = empty.part(0)
    put_rows(part, pyarrow.table({}))
    assert empty.commit([part.finish()]).inserted == 0
    with foliodb.open(path, "r") as db:
        assert db["docs"].count() == 3
