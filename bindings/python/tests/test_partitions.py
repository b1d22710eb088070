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
        assert db["docs"].count() == 0
        assert job.commit(parts).inserted == 400
        assert job.commit(parts).inserted == 0
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
