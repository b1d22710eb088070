"""Spark: a standalone master and two worker processes on loopback answer what SQL answers in one
process, also when one of the workers is killed in the middle."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import foliodb
import pytest

pyspark = pytest.importorskip("pyspark")
if shutil.which("java") is None:
    pytest.skip("Spark needs java", allow_module_level=True)

import foliodb.spark  # noqa: E402
from pyspark import cloudpickle  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402, N812

from .conftest import ordered  # noqa: E402

# The workers do not have this module, so its functions travel whole.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

HOST = "127.0.0.1"


class Cluster:
    """The processes, by their ids."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        home = Path(pyspark.__file__).parent
        self.spark_class = home / "bin/spark-class"
        self.environment = {
            **os.environ,
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": HOST,
            "SPARK_WORKER_DIR": str(folder / "work"),
            "PYSPARK_PYTHON": sys.executable,
        }
        self.master = self.start(
            "org.apache.spark.deploy.master.Master",
            *("--host", HOST, "--port", str(self.port), "--webui-port", str(free_port())),
        )
        wait_for(self.port)
        self.workers = [self.add_worker(), self.add_worker()]

    def add_worker(self) -> subprocess.Popen[bytes]:
        return self.start(
            "org.apache.spark.deploy.worker.Worker",
            *("--host", HOST, "--cores", "1", "--memory", "1g"),
            *("--webui-port", str(free_port()), f"spark://{HOST}:{self.port}"),
        )

    def start(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        log = (self.folder / f"{name.rsplit('.', 1)[1]}.log").open("ab")
        return subprocess.Popen(
            [self.spark_class, name, *arguments], env=self.environment, stdout=log, stderr=log
        )

    def stop(self) -> None:
        for process in [*self.workers, self.master]:
            for pid in [*children(process.pid), process.pid]:
                kill(pid)
            process.wait()


def free_port() -> int:
    with socket.socket() as found:
        found.bind((HOST, 0))
        return int(found.getsockname()[1])


def wait_for(port: int) -> None:
    for _ in range(600):
        with socket.socket() as tried:
            if tried.connect_ex((HOST, port)) == 0:
                return
        time.sleep(0.1)
    raise TimeoutError(f"nothing listens on port {port}")


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def parent(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return 0
    return int(status.rsplit(")", 1)[1].split()[1])


def children(pid: int) -> list[int]:
    """The ids of all processes below one."""
    all_ids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    direct = [other for other in all_ids if parent(other) == pid]
    return [found for child in direct for found in [*children(child), child]]


def ancestors(pid: int) -> list[int]:
    found = []
    while pid > 1:
        found.append(pid)
        pid = parent(pid)
    return found


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    started = Cluster(tmp_path_factory.mktemp("cluster"))
    yield started
    started.stop()


@pytest.fixture(scope="module")
def spark(cluster: Cluster) -> Iterator[SparkSession]:
    os.environ.update(cluster.environment)
    settings = {
        "spark.driver.host": HOST,
        "spark.driver.bindAddress": HOST,
        "spark.ui.enabled": "false",
        "spark.executor.memory": "1g",
        "spark.executor.cores": "1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(cluster.folder / "warehouse"),
        # Both workers take part from the beginning.
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.cores.max": "2",
    }
    builder = SparkSession.builder.master(f"spark://{HOST}:{cluster.port}").appName("folio")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    foliodb.spark.register(session)
    yield session
    session.stop()


def load(spark: SparkSession, path: Path, relation: str, **options: str) -> Any:
    reader = spark.read.format("folio").option("collection", relation).options(**options)
    return reader.load(str(path))


@pytest.fixture(scope="module")
def views(spark: SparkSession, data: Path) -> SparkSession:
    for relation in ("events", "kinds", "users"):
        load(spark, data, relation).createOrReplaceTempView(relation)
    return spark


QUERIES = [
    "SELECT count(*) FROM events",
    "SELECT kind, count(*), sum(price), min(user), max(user) FROM events GROUP BY kind",
    "SELECT k.weight, count(*) FROM events e JOIN kinds k ON e.kind = k.kind GROUP BY k.weight",
    "SELECT user, kind FROM events WHERE price > 99.5 AND kind = 'view' AND user IN (3, 797)",
    "SELECT count(*) FROM events WHERE price IS NULL",
    "SELECT count(*) FROM events WHERE NOT (kind = 'view') OR price < 3",
    "SELECT count(*) FROM events WHERE price <> 1.25",
    "SELECT kind, user FROM events WHERE _id IN ('by hand', 'e5', 'e23', 'e17')",
    "SELECT count(*) FROM events WHERE kind LIKE 'ch%' AND user % 2 = 1",
    "SELECT place.city, count(*) FROM events WHERE place IS NOT NULL GROUP BY place.city",
    "SELECT count(*), sum(score), count(name) FROM users WHERE id BETWEEN 1000 AND 50000",
    "SELECT u.name, count(*) FROM events e JOIN users u ON e.user = u.id WHERE u.id < 12 GROUP BY u.name",
]


@pytest.mark.parametrize("text", QUERIES)
def test_answers_are_those_of_one_process(views: SparkSession, sql: Any, text: str) -> None:
    assert ordered(views.sql(text).collect()) == sql(text)


def test_both_workers_read(spark: SparkSession, data: Path, cluster: Cluster) -> None:
    assert seen(load(spark, data, "events", columns="user", partitions="12"), 0.2) == {
        worker.pid for worker in cluster.workers
    }


def seen(frame: Any, pause: float) -> set[int]:
    """The worker processes at work on a frame: the processes above those that map it."""

    def lineage(batches: Any) -> Any:
        import pyarrow

        for _ in batches:
            pass
        time.sleep(pause)
        yield pyarrow.RecordBatch.from_pydict({"pids": [ancestors(os.getpid())]})

    rows = frame.mapInArrow(lineage, "pids array<long>").collect()
    every = [set(row.pids) for row in rows]
    return {pid for pids in every for pid in pids if is_worker(pid)}


def is_worker(pid: int) -> bool:
    try:
        return b"deploy.worker.Worker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        return False


def test_columns_and_the_option_filter_are_evaluated_where_documents_are_read(
    spark: SparkSession, data: Path, sql: Any
) -> None:
    condition = "place.city = 'city 4' AND NOT \"user\" > 500"
    frame = load(spark, data, "events", columns="kind, user", filter=condition)
    assert frame.columns == ["kind", "user"]
    place = foliodb.spark._Place({"path": str(data), "collection": "events", "filter": condition})
    (partition, *_) = foliodb.spark._Reader(place, frame.schema).partitions()
    assert foliodb.Partition(partition.value).filter == condition
    assert ordered(frame.where("kind = 'view'").collect()) == sql(
        f"SELECT kind, user FROM events WHERE {condition} AND kind = 'view'"
    )
    wrong = load(spark, data, "events", filter="nowhere = 1")
    with pytest.raises(Exception, match='column "nowhere" does not exist'):
        wrong.count()


@pytest.mark.parametrize("pushed", ["false", "true"])
def test_the_filter_of_a_query_ends_with_it(
    spark: SparkSession, tmp_path: Path, pushed: str
) -> None:
    path = tmp_path / "mydata"
    with foliodb.open(path) as database:
        kind = ("click", "view", "other")
        database["events"].put_many((f"e{n}", {"n": n, "kind": kind[n % 3]}) for n in range(999))
    name = "spark.sql.python.filterPushdown.enabled"
    before = spark.conf.get(name)
    assert before == "false", "register() leaves Spark's setting as it is"
    spark.conf.set(name, pushed)
    try:
        events = load(spark, path, "events")
        events.createOrReplaceTempView("all_events")
        assert events.count() == 999
        click = "SELECT count(*) FROM all_events WHERE kind = 'click'"
        assert spark.sql(click).first()[0] == 333
        assert events.count() == 999
        clicks, views = events.where("kind = 'click'"), events.where("kind = 'view'")
        assert clicks.union(views).count() == 666
        pairs = clicks.alias("c").join(views.alias("v"), F.expr("c.n + 1 = v.n"))
        assert pairs.count() == 333
        assert events.join(clicks, "_id").count() == 333
        write(events, path, "copies")
        with foliodb.open(path, "r") as database:
            assert database["copies"].count() == 999
    finally:
        spark.conf.set(name, before)


def test_a_schema_reads_only_the_members_it_has(
    spark: SparkSession, data: Path, sql: Any
) -> None:
    schema = "kind string, place struct<city string>"
    frame = spark.read.format("folio").schema(schema).option("collection", "events").load(str(data))
    grouped = frame.where("kind = 'view'").groupBy("place.city").count()
    assert ordered(grouped.collect()) == sql(
        "SELECT place.city, count(*) FROM events WHERE kind = 'view' GROUP BY place.city"
    )
    assert frame.where("place IS NULL").count() == sql(
        "SELECT count(*) FROM events WHERE place IS NULL"
    )[0][0]
    place = foliodb.spark._Place({"path": str(data), "collection": "events"})
    (partition, *_) = foliodb.spark._Reader(place, frame.schema).partitions()
    assert foliodb.Partition(partition.value).columns == ["kind", "place.city"]
    narrow = load(spark, data, "events", columns="kind, place.tags[]")
    assert narrow.schema.simpleString() == "struct<kind:string,place:struct<tags:array<string>>>"
    assert narrow.where("get(place.tags, 0) = 'a'").count() == sql(
        "SELECT count(*) FROM events WHERE place.tags[1] = 'a'"
    )[0][0]


def test_nested_values_of_several_kinds(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "mixed"
    with foliodb.open(path) as database:
        database["docs"].put_many(
            (f"d{n}", {"in": {"x": n if n % 2 else "a", "y": {"z": n}}, "of": [{"a": n, "b": 1}]})
            for n in range(100)
        )
        database["docs"].put_many((f"e{n}", {"in": n, "n": n}) for n in range(10))
        texts = database.sql("SELECT \"in\".x FROM docs").fetchall()
    assert ordered(load(spark, path, "docs").select("in").collect())
    schema = "in struct<x string, y struct<z string>>, of array<struct<b bigint, a bigint>>, n bigint"
    frame = spark.read.format("folio").schema(schema).option("collection", "docs").load(str(path))
    found = [row[0] and json.loads(row[0]) for row in frame.select("in.x").collect()]
    assert sorted(found, key=repr) == sorted((row[0] for row in texts), key=repr)
    assert frame.where("in IS NULL").count() == 10
    assert frame.selectExpr("sum(of[0].a)", "sum(of[0].b)").first()[:] == (4950, 100)
    wrong = spark.read.format("folio").schema("n struct<x bigint>").option("collection", "docs")
    with pytest.raises(Exception, match="n is of type bigint and has no field"):
        wrong.load(str(path)).collect()


def test_times_and_intervals_of_a_table(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "times"
    with foliodb.open(path) as database:
        database.sql(
            "CREATE TABLE visits (id integer, at timestamptz, span interval, open time, "
            "spans interval[], by_day map(text, interval), opens time[])"
        )
        database.sql(
            "INSERT INTO visits VALUES (1, '2024-05-01 10:00:00+02', '1 month 2 days 3.5 seconds', "
            "'09:30', ARRAY[interval '1 day', NULL], CAST('{\"mo\": \"2 hours\"}' AS map(text, interval)), "
            "ARRAY[time '01:02:03']), (2, NULL, NULL, NULL, NULL, NULL, NULL)"
        )
    visits = load(spark, path, "visits").orderBy("id")
    first, second = visits.select("span", "open", "spans", "by_day", "opens").collect()
    assert (first.span, first.spans, first.by_day) == (
        "1 mon 2 days 00:00:03.5",
        ["1 day", None],
        {"mo": "02:00:00"},
    )
    assert first.open.startswith("09:30:00") and first.opens[0].startswith("01:02:03")
    assert second[:] == (None,) * 5
    assert visits.selectExpr("cast(at AS string)").first()[0] == "2024-05-01 08:00:00"
    assert load(spark, path, "visits", columns="id").count() == 2
    given = spark.read.format("folio").schema("id int, at timestamp").option("table", "visits")
    assert given.load(str(path)).where("at < '2024-05-01 09:00:00'").count() == 1


def test_a_table_is_not_written_to(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "tables"
    with foliodb.open(path) as database:
        database.sql("CREATE TABLE plain (id integer PRIMARY KEY)")
    frame = spark.createDataFrame([(77,)], "id int")
    for option in ("table", "collection"):
        writer = frame.write.format("folio").option(option, "plain").mode("append")
        with pytest.raises(Exception, match="insert by SQL"):
            writer.save(str(path))
    with foliodb.open(path) as database:
        assert database.sql("SELECT * FROM plain").fetchall() == []
        assert database.collections() == []


def test_a_write_is_published_once_and_whole(spark: SparkSession, data: Path) -> None:
    frame = load(spark, data, "events", columns="_id, kind, user, price", partitions="6")
    frame = frame.where(F.col("user") < 10)
    count = frame.count()
    write(frame, data, "copies")
    with foliodb.open(data, "r") as database:
        copies = database.sql("SELECT _id, kind, user, price FROM copies").fetchall()
        events = database.sql("SELECT _id, kind, user, price FROM events WHERE user < 10").fetchall()
    assert len(copies) == count
    assert ordered(copies) == ordered(events)
    # Again: the same ids, so the same documents.
    write(frame, data, "copies")
    with foliodb.open(data, "r") as database:
        assert database["copies"].count() == count
    assert not (data / "writing").exists()


def write(frame: Any, path: Path, name: str) -> None:
    frame.write.format("folio").option("collection", name).mode("append").save(str(path))


def test_a_task_that_fails_at_first_publishes_once(
    spark: SparkSession, data: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "failed"

    def failing_once(batches: Any) -> Any:
        for batch in batches:
            yield batch
            if not mark.exists():
                mark.touch()
                raise RuntimeError("a task that fails at first")

    frame = load(spark, data, "events", columns="kind, user", partitions="4").where("user = 3")
    count = frame.count()
    write(frame.mapInArrow(failing_once, frame.schema), data, "retried")
    assert mark.exists()
    with foliodb.open(data, "r") as database:
        assert database["retried"].count() == count


def test_a_write_that_fails_leaves_nothing(spark: SparkSession, data: Path) -> None:
    def failing(batches: Any) -> Any:
        yield from batches
        raise RuntimeError("a task that always fails")

    frame = load(spark, data, "events", columns="kind, user", partitions="4").where("user = 3")
    with pytest.raises(Exception, match="always fails"):
        write(frame.mapInArrow(failing, frame.schema), data, "never")
    assert not (data / "writing").exists()
    with foliodb.open(data, "r") as database:
        assert "never" not in database


def test_what_changes_in_the_middle_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "moving"
    with foliodb.open(path) as database:
        database["docs"].put_many((f"d{n}", {"n": n}) for n in range(5000))
    frame = load(spark, path, "docs", partitions="2")
    place = foliodb.spark._Place({"path": str(path), "collection": "docs", "partitions": "2"})
    reader = foliodb.spark._Reader(place, frame.schema)
    planned = reader.partitions()
    with foliodb.open(path) as database:
        database["docs"].put("d1", {"n": -1})
    with pytest.raises(foliodb.ConflictError, match="plan them again"):
        list(reader.read(planned[0]))


def test_a_killed_worker_changes_no_answer(
    spark: SparkSession, data: Path, sql: Any, cluster: Cluster
) -> None:
    def slowly(batches: Any) -> Any:
        time.sleep(0.5)
        yield from batches

    frame = load(spark, data, "events", columns="kind, user", partitions="16")
    frame = frame.mapInArrow(slowly, frame.schema)
    victim = cluster.workers[0]

    killed = threading.Event()

    def murder() -> None:
        killed.set()
        for pid in [*children(victim.pid), victim.pid]:
            kill(pid)

    timer = threading.Timer(2.5, murder)
    timer.start()
    answer = frame.groupBy("kind").count().collect()
    assert killed.is_set(), "it was killed before the end"
    timer.join()
    assert victim.wait(timeout=10) != 0
    assert ordered(answer) == sql("SELECT kind, count(*) FROM events GROUP BY kind")
