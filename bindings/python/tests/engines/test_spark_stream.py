"""Streams of Spark: what other processes put into a collection arrives once, also when the query starts
again, and a file that was rewritten is an error."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import foliodb
import pytest

pytest.importorskip("pyspark")
if shutil.which("java") is None:
    pytest.skip("Spark needs java", allow_module_level=True)

import foliodb.spark  # noqa: E402
from pyspark.errors import StreamingQueryException  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402

HOST = "127.0.0.1"

Rows = list[tuple[str, int]]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    os.environ["SPARK_LOCAL_IP"] = HOST
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.driver.host": HOST,
        "spark.driver.bindAddress": HOST,
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }
    builder = SparkSession.builder.master("local[2]").appName("folio-stream")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    foliodb.spark.register(session)
    yield session
    session.stop()


class Stream:
    """A collection that another process writes, and a query that starts again and again."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.path = folder / "mydata"
        self.checkpoint = folder / "checkpoint"
        self.output = folder / "output"
        self.options: dict[str, str] = {}
        self.schema: str | None = None

    def change(self, text: str) -> None:
        """Runs a program of another process, with the collection as `docs`."""
        program = f"import foliodb\nwith foliodb.open({str(self.path)!r}) as db:\n"
        program += "    docs = db['docs']\n"
        program += "".join(f"    {line}\n" for line in text.splitlines())
        subprocess.run([sys.executable, "-c", program], check=True)

    def put(self, ids: range, add: int = 0) -> None:
        text = f"docs.put_many((f'd{{n}}', {{'n': n + {add}}}) for n in {ids!r})"
        self.change(text)

    def frame(self) -> Any:
        reader = self.spark.readStream.format("folio").option("collection", "docs")
        if self.schema is not None:
            reader = reader.schema(self.schema)
        return reader.options(**self.options).load(str(self.path))

    def writer(self) -> Any:
        return self.frame().writeStream.option("checkpointLocation", str(self.checkpoint))

    def read_available(self) -> Rows:
        """What a query adds to its output, which reads what there is, and ends."""
        before = self.rows()
        query = self.writer().format("parquet").option("path", str(self.output))
        run_to_end(query.trigger(availableNow=True).start())
        after = self.rows()
        for row in before:
            after.remove(row)
        return after

    def rows(self) -> Rows:
        if not (self.output / "_spark_metadata").exists():
            return []
        found = self.spark.read.parquet(str(self.output)).select("_id", "n").collect()
        return sorted(tuple(row) for row in found)

    def each_batch(self, work: Callable[[Rows, int], None]) -> Any:
        """A query that keeps running."""

        def take(frame: Any, batch: int) -> None:
            work(sorted(tuple(row) for row in frame.select("_id", "n").collect()), batch)

        return self.writer().foreachBatch(take).trigger(processingTime="100 milliseconds").start()


def run_to_end(query: Any) -> None:
    try:
        assert query.awaitTermination(120), "the query has not ended"
    finally:
        query.stop()


@pytest.fixture
def stream(spark: SparkSession, tmp_path: Path) -> Stream:
    return Stream(spark, tmp_path)


def numbered(ids: range, add: int = 0) -> Rows:
    return sorted((f"d{n}", n + add) for n in ids)


def test_a_stream_has_the_documents_of_its_filter(stream: Stream) -> None:
    stream.options["filter"] = "n % 2 = 0"
    stream.put(range(10))
    assert stream.read_available() == sorted((f"d{n}", n) for n in range(0, 10, 2))
    stream.put(range(10, 14))
    assert stream.read_available() == [("d10", 10), ("d12", 12)]


def test_a_query_goes_on_where_it_was(stream: Stream) -> None:
    stream.put(range(5000))
    assert stream.read_available() == numbered(range(5000))
    assert stream.read_available() == []
    stream.put(range(5000, 5100))
    stream.put(range(3), 7000)  # new versions
    stream.change("docs.delete('d4')")
    assert stream.read_available() == sorted(numbered(range(5000, 5100)) + numbered(range(3), 7000))
    stream.change("docs.delete('d5')")
    assert stream.read_available() == []


def test_a_running_query_sees_what_other_processes_put(stream: Stream) -> None:
    stream.put(range(10))
    arrived: Rows = []
    batches: list[int] = []

    def take(rows: Rows, batch: int) -> None:
        arrived.extend(rows)
        batches.append(batch)

    for start in (0, 100):
        query = stream.each_batch(take)
        try:
            for step in range(3):
                first = start + step * 20
                stream.put(range(10 + first, 30 + first))
                query.processAllAvailable()
                assert numbered(range(10 + first, 30 + first))[0] in arrived
        finally:
            query.stop()
    expected = [*range(70), *range(110, 170)]
    assert sorted(arrived) == sorted((f"d{n}", n) for n in expected)
    assert batches == sorted(set(batches)), "no batch ran twice"


def test_a_batch_that_failed_runs_again(stream: Stream) -> None:
    stream.put(range(50))
    tried: list[tuple[int, Rows]] = []

    def take(rows: Rows, batch: int) -> None:
        tried.append((batch, rows))
        if len(tried) == 2:
            raise RuntimeError("a batch that fails at first")

    query = stream.each_batch(take)
    query.processAllAvailable()
    stream.put(range(50, 80))
    with pytest.raises(StreamingQueryException, match="fails at first"):
        query.processAllAvailable()
        query.awaitTermination(60)
    # What comes meanwhile is not in the batch, and what replaces a document of it is not lost.
    stream.put(range(80, 90))
    stream.put(range(50, 51), 1000)
    query = stream.each_batch(take)
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    (first, _), (failed, then), (again, now), (after, last) = tried
    assert (failed, again, after) == (first + 1, first + 1, first + 2)
    assert then == numbered(range(50, 80))
    assert now == numbered(range(51, 80))
    assert last == sorted(numbered(range(80, 90)) + [("d50", 1050)])


REWRITES = {
    "compaction": "docs.compact()",
    "an edit by hand": """
db.close()
file = {path!r} + '/collections/docs/meta/data.jsonl'
text = open(file).read()
open(file, 'w').write(text.replace('"n":77}}', '"n":78}}', 1))
""",
    "a file cut short": """
db.close()
file = {path!r} + '/collections/docs/meta/data.jsonl'
lines = open(file).readlines()
open(file, 'w').writelines(lines[:-1])
""",
    "another collection of the name": "db.drop_collection('docs')\ndb['docs'].put('d', {{'n': 1}})",
}


@pytest.mark.parametrize("text", REWRITES.values(), ids=REWRITES)
def test_a_file_that_was_rewritten_is_an_error(stream: Stream, text: str) -> None:
    stream.put(range(100))
    stream.put(range(10), 500)
    assert len(stream.read_available()) == 100
    stream.change(text.format(path=str(stream.path)))
    stream.put(range(200, 210))
    for _ in range(2):  # the error stays
        with pytest.raises(StreamingQueryException, match="new checkpointLocation"):
            stream.read_available()
    stream.checkpoint = stream.checkpoint.with_name("another")
    stream.output = stream.output.with_name("another output")
    with foliodb.open(stream.path, "r") as database:
        expected = database.sql("SELECT _id, n FROM docs").fetchall()
    assert stream.read_available() == sorted(tuple(row) for row in expected)


def test_a_query_may_begin_at_a_position(stream: Stream) -> None:
    stream.put(range(10))
    with foliodb.open(stream.path, "r") as database:
        stream.options["since"] = database["docs"].position()
    stream.put(range(10, 20))
    assert stream.read_available() == numbered(range(10, 20))


def test_columns_that_no_document_has_yet_are_null(stream: Stream) -> None:
    stream.schema = "_id string, n int, later string"
    stream.change("docs.put('d0', {})\ndb.flush()")
    arrived: list[tuple[Any, ...]] = []

    def take(frame: Any, batch: int) -> None:
        del batch
        arrived.extend(tuple(row) for row in frame.collect())

    query = stream.writer().foreachBatch(take).start()
    try:
        query.processAllAvailable()
        stream.change("docs.put('d1', {'n': 1, 'later': 'x'})")
        query.processAllAvailable()
    finally:
        query.stop()
    assert arrived == [("d0", None, None), ("d1", 1, "x")]


def test_a_batch_is_divided_among_tasks(stream: Stream) -> None:
    stream.change(
        "docs.put_many((f'd{n}', {'n': n, 'text': 'x' * 200}) for n in range(5000))"
    )
    stream.options["partitions"] = "4"
    counts: list[int] = []

    def take(frame: Any, batch: int) -> None:
        del batch
        counts.append(frame.rdd.getNumPartitions())
        assert frame.count() == 5000

    run_to_end(stream.writer().foreachBatch(take).trigger(availableNow=True).start())
    assert counts == [4]
