"""One collection has one schema, as `conformance/types.txt` says: in Arrow streams, in SQL, and
through the command."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import foliodb
import pytest

ROOT = Path(__file__).parents[3]
TYPES = ROOT / "conformance/types.txt"
FOLIO = Path(os.environ.get("FOLIO_COMMAND") or ROOT / "build/bin/folio")

SPELLED = {"bool": "boolean", "int64": "bigint", "double": "double precision", "string": "text"}


def cases() -> list[Any]:
    """Each case: its documents, and the names and types of their members."""
    found = []
    for block in TYPES.read_text().split("\n== ")[1:]:
        name, *lines = block.split("\n")
        documents = [document for line in lines for document in documents_of(line)]
        types = [line[2:].split(" ", 1) for line in lines if line.startswith(": ")]
        found.append(pytest.param(documents, types, id=name))
    assert len(found) >= 5
    return found


def documents_of(line: str) -> list[str]:
    match line.split(" ", 1)[0]:
        case "|":
            return [line[2:]]
        case "*":
            _, count, document = line.split(" ", 2)
            return [document.replace("#", str(n + 1)) for n in range(int(count))]
    return []


def spelled(field: Any) -> str:
    """The type of an Arrow field as the file spells it."""
    import pyarrow

    kind = field.type
    if isinstance(kind, pyarrow.BaseExtensionType) or b"ARROW:extension:name" in (
        field.metadata or {}
    ):
        return "json"
    if pyarrow.types.is_list(kind):
        return f"{spelled(kind.value_field)}[]"
    if pyarrow.types.is_map(kind):
        return f"map({spelled(kind.key_field)}, {spelled(kind.item_field)})"
    if pyarrow.types.is_struct(kind):
        fields = (f"{kind.field(i).name} {spelled(kind.field(i))}" for i in range(kind.num_fields))
        return f"struct({', '.join(fields)})"
    return SPELLED.get(str(kind), str(kind))


@pytest.mark.parametrize("layout", ["lines", "files"])
@pytest.mark.parametrize(("documents", "types"), cases())
def test_schema(
    db: foliodb.Database, documents: list[str], types: list[list[str]], layout: Any
) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    docs = db.collection("docs", layout=layout)
    for document in documents:
        docs.put_raw(json.loads(document)["_id"], document)
    for _ in range(2):  # before and after the collection knows its types
        table = docs.scan().arrow()
        assert [[field.name, spelled(field)] for field in table.schema] == types
        assert table.num_rows == len(documents)
        schema = pyarrow.schema(docs.scan())
        assert [[field.name, spelled(field)] for field in schema] == types
        assert db.sql("select count(*) from docs").fetchall() == [(len(documents),)]


def test_what_comes_late_keeps_its_digits(db: foliodb.Database) -> None:
    """The first thousand documents suggest the types, which later ones do not fit."""
    pyarrow = pytest.importorskip("pyarrow")
    wide = 2**53 + 1
    for late, expected in [
        ([wide, 0.5], "json"),
        ([0.5, wide], "json"),
        ([0.5, 2**60], "double precision"),
        ([2**63], "json"),
        (["x"], "json"),
    ]:
        docs = db["late"]
        docs.clear()
        docs.put_many({f"d{n}": {"n": n} for n in range(1_500)})
        docs.put_many({f"late{n}": {"n": value} for n, value in enumerate(late)})
        table = pyarrow.table(docs.scan())
        assert spelled(table.schema.field("n")) == expected, late
        found = table.column("n").to_pylist()[1_500:]
        assert [json.loads(v) if isinstance(v, str) else v for v in found] == late
        columns = db.sql("select n from late").types
        assert columns == [expected], late


def test_objects_that_are_empty_at_first(db: foliodb.Database) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    docs = db["docs"]
    docs.put_many({f"d{n}": {"o": {}} for n in range(1_500)})
    assert spelled(pyarrow.table(docs.scan()).schema.field("o")) == "json"
    docs["more"] = {"o": {"a": 1}}
    assert spelled(pyarrow.table(docs.scan()).schema.field("o")) == "struct(a bigint)"


@pytest.mark.skipif(not FOLIO.exists(), reason="the command is not built")
@pytest.mark.parametrize(("documents", "types"), cases())
def test_schema_of_the_command(
    tmp_path: Path, documents: list[str], types: list[list[str]]
) -> None:
    """What `folio export` writes, and what `folio sql` says of the collection."""
    parquet = pytest.importorskip("pyarrow.parquet")

    def folio(*arguments: str) -> str:
        command = [str(FOLIO), *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    (tmp_path / "docs.jsonl").write_text("".join(f"{line}\n" for line in documents))
    folio("import", "data", "-c", "docs", "docs.jsonl")
    for extension in ("parquet", "csv"):
        folio("export", "data", "-c", "docs", "-o", f"out.{extension}")
    in_files = [[name, kind.replace("null", "json")] for name, kind in types]
    schema = parquet.read_schema(tmp_path / "out.parquet")
    assert [[field.name, spelled(field)] for field in schema] == in_files
    header = (tmp_path / "out.csv").read_text().split("\n")[0]
    assert header == ",".join(name for name, _ in types)
    for name, kind in in_files:
        query = f"select distinct typeof({name}) as t from docs"
        assert folio("sql", "data", query, "-o", "jsonl") == f'{{"t":"{kind}"}}\n', name


@pytest.mark.skipif(not FOLIO.exists(), reason="the command is not built")
@pytest.mark.parametrize(("documents", "types"), cases())
def test_generated_types_take_the_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, documents: list[str], types: list[list[str]]
) -> None:
    """What `folio schema types` writes, loaded by pydantic, takes each document and keeps its values."""
    pydantic = pytest.importorskip("pydantic", reason="pydantic is missing: generated models are not loaded")
    monkeypatch.syspath_prepend(str(tmp_path))

    def written(*options: str) -> Any:
        command = [str(FOLIO), "schema", "types", "data", "-c", "docs", "--lang", "py", *options]
        text = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True).stdout
        # Before Python 3.12 pydantic reads typed dictionaries of this module only.
        text = text.replace(b"from typing import", b"from typing_extensions import")
        name = "written" + "".join(options).replace("-", "_")
        (tmp_path / f"{name}.py").write_bytes(text)
        # Each case has its own module of this name.
        monkeypatch.delitem(sys.modules, name, raising=False)
        importlib.invalidate_caches()
        return importlib.import_module(name).Docs

    with foliodb.open(tmp_path / "data") as db:
        for document in documents:
            db["docs"].put_raw(json.loads(document)["_id"], document)
        live = list(db["docs"].scan())
    model, typed = written("--style", "pydantic"), pydantic.TypeAdapter(written())
    for document in live:
        loaded = model.model_validate(document)
        kept = loaded.model_dump(by_alias=True, exclude_unset=True)
        assert kept == document
        assert typed.validate_python(document, strict=True) == document
    # A document of other types is refused: by a member that all have, as text.
    with pytest.raises(pydantic.ValidationError):
        model.model_validate({**live[0], "_id": None})
    missing = {name: value for name, value in live[0].items() if name != "_id"}
    with pytest.raises(pydantic.ValidationError):
        typed.validate_python(missing, strict=True)
