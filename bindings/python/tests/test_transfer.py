"""Files are what their names say: every name of `conformance/files` is written and read, and
other libraries read what was written."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import foliodb
import pytest

FILES = Path(__file__).parents[3] / "conformance/files"
ROWS = [
    line.split()
    for line in (FILES / "names.txt").read_text().splitlines()
    if not line.startswith("#")
]
KNOWN = [row for row in ROWS if row[1] != "refused"]


def lines(name: str) -> list[str]:
    return (FILES / name).read_text().splitlines()


@pytest.fixture
def documents(tmp_path: Path) -> foliodb.Collection:
    collection = foliodb.open(tmp_path / "data")["documents"]
    collection.import_file(FILES / "documents.jsonl")
    return collection


@pytest.mark.parametrize(("extension", "expected"), KNOWN)
def test_every_name(
    documents: foliodb.Collection, tmp_path: Path, extension: str, expected: str
) -> None:
    path = tmp_path / f"out.{extension}"
    report = documents.export_file(path)
    assert (report.document_count, report.size) == (4, path.stat().st_size)
    db = foliodb.open(tmp_path / "data")
    db["back"].import_file(path)
    assert list(db["back"].scan_raw()) == lines(expected)
    with path.open("rb") as file:
        db["opened"].import_file(file)
    assert list(db["opened"].scan_raw()) == lines(expected)
    copied = tmp_path / f"copied.{extension}"
    db.sql(f"copy (select * from '{path}') to '{copied}'")
    query = f"select _id, n, code, note from '{copied}' order by _id"
    found = [list(row) for row in db.sql(query).fetchall()]
    documents_of = [json.loads(line) for line in lines(expected)]
    assert found == [[row.get(name) for name in ("_id", "n", "code", "note")] for row in documents_of]
    # Compressed data that breaks off is an error that names the file.
    if "." in extension:
        path.write_bytes(path.read_bytes()[:-5])
        with pytest.raises(foliodb.FolioError, match=path.name):
            db["cut"].import_file(path)
        assert len(db["cut"]) == 0


@pytest.mark.parametrize("extension", [row[0] for row in ROWS if row[1] == "refused"])
def test_other_names_are_refused(
    documents: foliodb.Collection, tmp_path: Path, extension: str
) -> None:
    with pytest.raises(foliodb.InvalidInputError, match=r"out.*\.parquet"):
        documents.export_file(tmp_path / f"out.{extension}")
    with pytest.raises(foliodb.InvalidInputError, match="jsonl, json, csv"):
        documents.export_file(tmp_path / "out.csv", format="xlsx")  # type: ignore[arg-type]
    with pytest.raises(foliodb.InvalidInputError, match="the format is csv"):
        documents.export_file(tmp_path / "out.parquet", format="csv")
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def plain(value: Any) -> Any:
    """A value as the other libraries have it: JSON as its text, NaN as None."""
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return None if value != value else value


def expected_rows() -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in lines("columns.jsonl")]
    return [{name: plain(value) for name, value in row.items()} for row in rows]


def test_pyarrow_reads_what_was_written(documents: foliodb.Collection, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    for name in ("out.parquet", "out.arrow", "out.feather", "out.parquet.zst", "out.arrow.gz"):
        documents.export_file(tmp_path / name)
    tables = [
        pyarrow.parquet.read_table(tmp_path / "out.parquet"),
        pa.ipc.open_file(tmp_path / "out.arrow").read_all(),
        pyarrow.feather.read_table(tmp_path / "out.feather"),
        pyarrow.parquet.read_table(
            pa.BufferReader(pa.CompressedInputStream(tmp_path / "out.parquet.zst", "zstd").read())
        ),
        pa.ipc.open_file(gzip.decompress((tmp_path / "out.arrow.gz").read_bytes())).read_all(),
    ]
    for table in tables:
        rows = [{name: plain(value) for name, value in row.items()} for row in table.to_pylist()]
        assert rows == expected_rows()
        assert table.schema.field("n").type == pa.int64()
        assert table.schema.field("ok").type == pa.bool_()


def test_pandas_polars_and_duckdb_read_what_was_written(
    documents: foliodb.Collection, tmp_path: Path
) -> None:
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    duckdb = pytest.importorskip("duckdb")
    for extension, _ in KNOWN:
        documents.export_file(tmp_path / f"out.{extension}")
    at = str(tmp_path / "out")
    frame = pandas.read_parquet(f"{at}.parquet")
    assert frame["code"].tolist() == [row["code"] for row in expected_rows()]
    for frame in (pandas.read_csv(f"{at}.csv.gz"), pandas.read_csv(f"{at}.tsv.gz", sep="\t")):
        assert frame["name"].tolist() == [row["name"] for row in expected_rows()]
        assert frame["at"].iloc[0] == expected_rows()[0]["at"]
    assert pandas.read_json(f"{at}.jsonl.gz", lines=True)["_id"].tolist() == list("abcd")
    assert polars.read_parquet(f"{at}.parquet").rows(named=True) == expected_rows()
    assert polars.read_ipc(f"{at}.arrow")["n"].to_list()[1] == -9007199254740993
    assert polars.read_csv(f"{at}.csv.zst")["name"].to_list()[1] == expected_rows()[1]["name"]
    for name in ("csv", "csv.gz", "csv.zst", "tsv", "tsv.gz", "jsonl", "jsonl.gz", "jsonl.zst", "json", "json.zst", "parquet"):
        reader = {"csv": "read_csv", "tsv": "read_csv", "jsonl": "read_json", "json": "read_json"}
        read = reader.get(name.split(".")[0], "read_parquet")
        query = f"select _id, n, name from {read}('{at}.{name}') order by _id"
        rows = duckdb.sql(query).fetchall()
        expected = [(row["_id"], row["n"], row["name"]) for row in expected_rows()]
        assert [(row[0], row[1], row[2]) for row in rows] == expected, name


def test_the_standard_library_reads_what_was_written(
    documents: foliodb.Collection, tmp_path: Path
) -> None:
    documents.export_file(tmp_path / "out.jsonl.gz")
    with gzip.open(tmp_path / "out.jsonl.gz", "rt", encoding="utf-8") as file:
        assert file.read().splitlines() == lines("documents.jsonl")
