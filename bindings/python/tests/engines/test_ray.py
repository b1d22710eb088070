"""Ray: two worker processes answer what SQL answers in one process, also when one is killed."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import foliodb
import pytest

ray = pytest.importorskip("ray")
if "FOLIO_ALONE" not in os.environ:
    reason = "Ray listens on every address; scripts/engines gives it a network of its own"
    pytest.skip(reason, allow_module_level=True)

import foliodb.ray  # noqa: E402
from ray import cloudpickle  # noqa: E402
from ray.data.aggregate import Count, Sum  # noqa: E402

from .conftest import ordered  # noqa: E402

# The workers do not have this module, so its functions travel whole.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


@pytest.fixture(scope="module", autouse=True)
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        _node_ip_address="127.0.0.1",
        object_store_memory=512 << 20,
        log_to_driver=False,
    )
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    # Ray's own are 200 of each, for clusters.
    context.read_op_min_num_blocks = 8
    context.default_hash_shuffle_parallelism = 2
    yield
    ray.shutdown()


def rows(dataset: Any) -> list[tuple[Any, ...]]:
    return ordered(row.values() for row in dataset.take_all())


def test_answers_are_those_of_one_process(data: Path, sql: Any) -> None:
    events = foliodb.ray.read(data, "events", columns=["kind", "user", "price"])
    assert events.count() == sql("SELECT count(*) FROM events")[0][0]
    grouped = events.groupby("kind").aggregate(Count(), Sum("user"))
    assert rows(grouped) == sql("SELECT kind, count(*), sum(user)::bigint FROM events GROUP BY kind")
    condition = "price > 99.5 AND NOT kind = 'click'"
    filtered = foliodb.ray.read(data, "events", columns=["kind", "user"], filter=condition)
    assert rows(filtered) == sql(f"SELECT kind, user FROM events WHERE {condition}")
    users = foliodb.ray.read(data, "users", filter="name IS NULL")
    assert users.count() == sql("SELECT count(*) FROM users WHERE name IS NULL")[0][0]


def test_a_join(data: Path, sql: Any) -> None:
    events = foliodb.ray.read(data, "events", columns=["kind", "user"], filter="user < 20")
    kinds = foliodb.ray.read(data, "kinds")
    joined = events.join(kinds, join_type="inner", num_partitions=2, on=("kind",))
    assert ordered([(joined.sum("weight"), joined.count())]) == sql(
        "SELECT sum(weight)::bigint, count(*) FROM events JOIN kinds USING (kind) WHERE user < 20"
    )


def pids(batch: Any) -> dict[str, Any]:
    time.sleep(0.3)
    return {"pid": [os.getpid()], "rows": [len(batch["user"])]}


def test_both_workers_read_and_a_killed_one_changes_no_answer(data: Path, sql: Any) -> None:
    events = foliodb.ray.read(data, "events", columns=["user"], override_num_blocks=12)
    found = events.map_batches(pids, batch_size=None).take_all()
    (count,) = sql("SELECT count(*) FROM events")[0]
    assert sum(row["rows"] for row in found) == count
    seen = {row["pid"] for row in found}
    assert len(seen) >= 2, "two worker processes"
    victims = []

    def kill_once(batch: Any) -> dict[str, Any]:
        mark = data.parent / "killed"
        if not mark.exists():
            mark.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return {"rows": [len(batch["user"])]}

    again = events.map_batches(kill_once, batch_size=None).take_all()
    victims.append(int((data.parent / "killed").read_text()))
    assert victims and sum(row["rows"] for row in again) == count


def test_a_write_is_published_once_and_whole(data: Path) -> None:
    wanted = ["_id", "kind", "user", "price"]
    events = foliodb.ray.read(data, "events", columns=wanted, filter="user < 10")
    foliodb.ray.write(events, data, "ray_copies")
    with foliodb.open(data, "r") as database:
        copies = database.sql("SELECT _id, kind, user, price FROM ray_copies").fetchall()
        origin = database.sql("SELECT _id, kind, user, price FROM events WHERE user < 10").fetchall()
    assert ordered(copies) == ordered(origin)
    assert not (data / "writing").exists()

    def failing(batch: Any) -> Any:
        raise RuntimeError("a task that always fails")

    with pytest.raises(Exception, match="always fails"):
        foliodb.ray.write(events.map_batches(failing), data, "never")
    assert not (data / "writing").exists()
    with foliodb.open(data, "r") as database:
        assert "never" not in database


def test_blocks_without_rows_are_written_as_nothing(tmp_path: Path) -> None:
    path = tmp_path / "mydata"
    numbers = ray.data.range(40, override_num_blocks=4)
    foliodb.ray.write(numbers.filter(lambda row: row["id"] < 3), path, "few")
    foliodb.ray.write(numbers.filter(lambda row: row["id"] < 0), path, "none")
    with foliodb.open(path, "r") as database:
        assert sorted(database.sql("SELECT id FROM few").fetchall()) == [(0,), (1,), (2,)]
        assert "none" not in database or database["none"].count() == 0


def test_a_table_is_not_written_to(tmp_path: Path) -> None:
    path = tmp_path / "mydata"
    with foliodb.open(path) as database:
        database.sql("CREATE TABLE plain (id integer)")
    with pytest.raises(Exception, match="insert by SQL"):
        foliodb.ray.write(ray.data.range(3), path, "plain")
    with foliodb.open(path) as database:
        assert database.collections() == []
