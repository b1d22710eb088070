"""The names of ZDS: what programs written for it do, over our engine."""

from __future__ import annotations

from pathlib import Path

import foliodb
import pytest
from foliodb.zds import (
    FastZDSStore,
    NativeStore,
    ZDataset,
    ZDSRoot,
    ZDSStore,
    ZIterableDataset,
    compute_schema_id,
    list_collections,
    validate_doc_id,
)


@pytest.fixture
def store(path: Path) -> ZDSStore:
    """A store with ten documents."""
    store = ZDSStore.open(path, collection="things")
    for number in range(10):
        store.put(f"doc{number}", {"n": number, "even": number % 2 == 0})
    return store


def test_store(store: ZDSStore, path: Path) -> None:
    assert store.get("doc3") == {"n": 3, "even": False}
    assert store["doc3"]["n"] == 3 and "doc3" in store and len(store) == 10
    assert list(store) == store.list_doc_ids() == [f"doc{n}" for n in range(10)]
    assert [doc["n"] for doc in store.scan(predicate={"even": True})] == [0, 2, 4, 6, 8]
    assert list(store.scan(["n"], predicate=lambda doc: doc == {"n": 4, "even": True})) == [{"n": 4}]
    store["x"] = {"n": -1}
    del store["x"]
    for call in (store.get, store.delete, store.__getitem__):
        with pytest.raises(KeyError):
            call("x")
    with store.bulk_write() as bulk:
        bulk.put("y", {"n": 1})
    assert store.exists("y") and store.preload() is store
    assert ZDSStore.open(path, "things").count() == 11
    with pytest.raises(KeyError):
        ZDSStore.open(path, "nothing", create=False)


@pytest.mark.parametrize("bad", ["", "../evil", ".hidden", "a/b"])
def test_bad_ids(store: ZDSStore, bad: str) -> None:
    with pytest.raises(ValueError):
        store.put(bad, {})
    with pytest.raises(ValueError):
        validate_doc_id(bad)


def test_strict_is_remembered(path: Path) -> None:
    with ZDSStore.open(path, strict=True) as store:
        store.put("a", {"name": "Ann", "age": 30})
        with pytest.raises(ValueError, match="Schema mismatch"):
            store.put("b", {"different": "schema"})
    with pytest.raises(ValueError, match="Schema mismatch"):
        ZDSStore.open(path).put("b", {"different": "schema"})


def test_native_store(path: Path) -> None:
    with NativeStore.open(path, "raw") as store:
        assert store.put_batch([("a", {"n": 1}), ("b", {"n": 2})]) == 2
        assert store.put_raw_batch([("c", '{"n": 3}'), ("d", b'{"n":4}')]) == 2
        assert store.write_jsonl(b'{"n":5}\n{"n":6}\n', ["e", "f"]) == 2
        with pytest.raises(ValueError):
            store.write_jsonl(b"{}\n", [])
        assert store.scan_raw()[2] == b'{"_id":"c","n":3}'
        assert store.read_jsonl_blob().count(b"\n") == 6
        assert list(store.scan_with_ids())[5] == ("f", {"n": 6})
        store.compact()
        store.flush()
        assert store.list_doc_ids() == list("abcdef")


def test_root(path: Path) -> None:
    with ZDSRoot.open(path, native=True) as root:
        assert root.root_path == path and root.batch_size == 5000 and root.is_writable
        assert root.list_collections() == [] and not root.collection_exists("train")
        root.collection("train", batch_size=7).put("a", {"n": 1})
        assert isinstance(root.collection("train"), NativeStore)
        assert root.list_collections() == ["train"] and "train" in repr(root)
    with ZDSRoot.open(path, mode="r") as root:
        assert root.mode == "r" and not root.is_writable
        with pytest.raises(foliodb.ReadOnlyError):
            root.collection("train").put("b", {})
    assert list_collections(path) == ["train"]


def test_datasets(store: ZDSStore, path: Path) -> None:
    dataset = ZDataset(store)
    assert len(dataset) == 10 and dataset[0] == {"n": 0, "even": True} and dataset[-1]["n"] == 9
    assert [doc["n"] for doc in dataset[2:4]] == [2, 3]
    assert isinstance(dataset.shuffle(seed=1).take(3), ZDataset)
    chained = dataset.filter(lambda doc: doc["even"]).map(lambda doc: {**doc, "m": doc["n"] * 2})
    assert [doc["m"] for doc in chained] == [0, 4, 8, 12, 16]
    assert [len(batch) for batch in dataset.batch(3)] == [3, 3, 3, 1]
    assert dataset.features == {"n": "int", "even": "bool"}
    with pytest.raises(IndexError):
        dataset[100]
    assert len(ZDataset.from_store(path, "things")) == 10
    stream = ZIterableDataset(store)
    assert list(stream) == list(stream) == list(store.scan())
    shuffled = stream.shuffle(buffer_size=4, seed=42)
    assert list(shuffled) == list(shuffled) != list(stream)
    assert [doc["n"] for doc in stream.filter(lambda doc: doc["n"] > 7)] == [8, 9]
    assert len(list(ZIterableDataset.from_store(path, "things").skip(2).take(3))) == 3
    assert len(store.to_dataset()) == len(list(store.to_iterable_dataset())) == 10


def test_schema_ids() -> None:
    assert compute_schema_id({"a": 1, "b": "x"}) == compute_schema_id({"b": "y", "a": 2})
    assert compute_schema_id({"a": 1}) != compute_schema_id({"a": "1"})


def test_frames_and_arrow(store: ZDSStore, path: Path) -> None:
    pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    from foliodb.zds import from_arrow, read_zds, to_arrow, to_zds

    frame = read_zds(path, "things")
    assert list(frame.columns) == ["n", "even"] and frame.n.sum() == 45
    assert to_zds(frame, path, "copy") == 10
    assert from_arrow(to_arrow(store), path, "table", doc_id_column="n") == 10
    assert ZDSStore.open(path, "table")["7"] == {"n": 7, "even": False}
    people = pandas.DataFrame({"name": ["Ann", "Bob"], "age": [3, 4]})
    to_zds(people, path, "people", doc_id_column="name")
    assert ZDSStore.open(path, "people")["Bob"]["age"] == 4


def test_queries(store: ZDSStore, path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    from foliodb.zds import (
        ZDSConnection,
        aggregate,
        copy_to_zds,
        count_where,
        export_query_to_zds,
        query_zds,
        register_zds,
        sql,
    )

    store.flush()
    assert sql(path, "things", "SELECT COUNT(*) FROM data") == [(10,)]
    assert query_zds(path, "things", "SELECT * FROM data WHERE n = ?", [3]) == [(3, False, "doc3")]
    assert sorted(aggregate(path, "things", "even", "SUM(n)")) == [(False, 25), (True, 20)]
    assert count_where(path, "things", "n > 7") == 2
    connection = duckdb.connect()
    register_zds(connection, path, "things", view_name="t")
    rows = "SELECT n AS id, even FROM t WHERE n < 2"
    assert export_query_to_zds(connection, rows, path, "few", id_column="id") == 2
    connection.execute("CREATE TABLE local AS SELECT 5 AS a")
    assert copy_to_zds(connection, "local", path, "local") == 1
    assert FastZDSStore.open(path, "few").list_doc_ids() == ["0", "1"]
    with ZDSConnection(path) as zds:
        zds.register("things")
        assert zds.export("SELECT _id, n FROM things LIMIT 5", collection="sample") == 5


def test_hugging_face(store: ZDSStore, path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    from foliodb.zds import from_hf, to_hf, to_hf_dict

    table = to_hf(ZDataset(store).take(4))
    assert table.column_names == ["n", "even"] and len(table) == 4
    assert len(to_hf(store)) == 10
    stored = from_hf(datasets.DatasetDict({"a": table, "b": table}), path / "hf")
    assert stored["b"][1] == {"n": 1, "even": False}
    assert from_hf(table, path / "hf", "c", id_column="n")[0]["n"] == 0
    assert set(to_hf_dict(path / "hf")) == {"a", "b", "c"}
