"""A store that any surface has written reads the same through every other.

The surfaces are this package, the command `folio` and, where it is built, the package
for Node; what they are given and what they answer is JSON text.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Protocol

import foliodb
import pytest

ROOT = Path(__file__).parents[3]
FOLIO = os.environ.get("FOLIO_COMMAND") or ROOT / "build/bin/folio"
LAYOUTS = ("lines", "files")

# What is lost first, where something is lost: digits, escapes, order of keys, odd ids.
FIRST = {
    "plain": '{"name":"Ann","tags":["x",{"y":null}],"on":true}',
    "größe-Ω.1": '{"text":"\\u0000 \\"quoted\\" \\\\ \\u2028 é 🦀","empty":{},"none":[]}',
    "numbers": '{"big":12345678901234567890123,"exact":1.10,"tiny":5e-324,"zero":-0.0}',
    "gone": '{"n":1}',
    "order": '{"z":1,"a":2,"10":3,"9":4}',
}
SECOND = {"plain": '{"name":"Bob"}', "late": '{"n":2}'}
LEFT = {**FIRST, **SECOND}
del LEFT["gone"]


class Surface(Protocol):
    """What every surface can do, on a database that is not open."""

    def put(self, path: Path, layout: str, documents: dict[str, str]) -> None:
        """Stores JSON text under ids, one by one."""

    def delete(self, path: Path, name: str) -> None:
        """Deletes a document."""

    def lines(self, path: Path) -> list[str]:
        """The exact lines of all documents."""

    def pack(self, path: Path, target: Path) -> None:
        """Packs the database into an archive."""


class Python:
    """This package."""

    def put(self, path: Path, layout: str, documents: dict[str, str]) -> None:
        with foliodb.open(path) as db:
            for name, text in documents.items():
                db.collection("docs", layout=layout).put_raw(name, text)  # type: ignore[arg-type]

    def delete(self, path: Path, name: str) -> None:
        with foliodb.open(path) as db:
            del db["docs"][name]

    def lines(self, path: Path) -> list[str]:
        with foliodb.open(path, "r") as db:
            docs = db["docs"]
            found = list(docs.scan_raw())
            assert [docs.get_raw(name) for name in docs.ids()] == found
            assert docs.check().is_clean or path.suffix == ".zds"
        return found

    def pack(self, path: Path, target: Path) -> None:
        with foliodb.open(path) as db:
            db.pack(target)


class Command:
    """The command, a process per operation."""

    @staticmethod
    def run(*arguments: object) -> str:
        command = [str(argument) for argument in (FOLIO, *arguments)]
        result = subprocess.run(command, capture_output=True, check=False)
        assert result.returncode == 0, (command, result.stderr.decode())
        return result.stdout.decode()

    def put(self, path: Path, layout: str, documents: dict[str, str]) -> None:
        for name, text in documents.items():
            self.run("put", path, "-c", "docs", "--layout", layout, name, "--data", text)

    def delete(self, path: Path, name: str) -> None:
        self.run("delete", path, "-c", "docs", name)

    def lines(self, path: Path) -> list[str]:
        return self.run("scan", path, "-c", "docs", "--jsonl").split("\n")[:-1]

    def pack(self, path: Path, target: Path) -> None:
        self.run("pack", path, target)


class Node:
    """The package for Node."""

    @staticmethod
    def run(script: str, *arguments: object) -> str:
        script = f"const [path, ...given] = JSON.parse(process.argv[1]); {script}"
        given = json.dumps(arguments, default=str)
        command = ["node", "-e", "const {open} = require('foliodb');" + script, given]
        result = subprocess.run(command, capture_output=True, cwd=ROOT, check=False)
        assert result.returncode == 0, result.stderr.decode()
        return result.stdout.decode()

    def put(self, path: Path, layout: str, documents: dict[str, str]) -> None:
        self.run(
            "const [layout, documents] = given; const db = open(path);"
            "const docs = db.collection('docs', {layout});"
            "for (const [id, text] of documents) docs.putRaw(id, text);"
            "db.close()",
            path, layout, list(documents.items()),
        )  # fmt: skip

    def delete(self, path: Path, name: str) -> None:
        script = "const db = open(path); db.collection('docs').delete(given[0]); db.close()"
        self.run(script, path, name)

    def lines(self, path: Path) -> list[str]:
        script = (
            "const docs = open(path, {mode: 'r'}).collection('docs');"
            "for (const document of docs.scan({lazy: true})) console.log(document.raw)"
        )
        return self.run(script, path).split("\n")[:-1]

    def pack(self, path: Path, target: Path) -> None:
        self.run("const db = open(path); db.pack(given[0]); db.close()", path, target)


def has_node() -> bool:
    if not shutil.which("node"):
        return False
    command = ["node", "-e", "require('foliodb')"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode == 0


HERE = {
    Python: True,
    Command: Path(FOLIO).exists(),
    Node: has_node(),
}
SURFACES = [
    pytest.param(kind(), id=kind.__name__, marks=pytest.mark.skipif(not is_here, reason="not built"))
    for kind, is_here in HERE.items()
]


def expected(documents: dict[str, str]) -> list[str]:
    """The lines, with the id in front of what was given."""
    return sorted(
        f'{{"_id":{json.dumps(name, ensure_ascii=False)},{text[1:]}'
        for name, text in documents.items()
    )


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("reader", SURFACES)
@pytest.mark.parametrize("writer", SURFACES)
def test_pair(tmp_path: Path, writer: Surface, reader: Surface, layout: str) -> None:
    path = tmp_path / "db"
    writer.put(path, layout, FIRST)
    assert sorted(reader.lines(path)) == expected(FIRST)
    writer.put(path, layout, SECOND)
    writer.delete(path, "gone")
    assert sorted(reader.lines(path)) == expected(LEFT)
    # And the other way: the reader writes into what the writer made.
    reader.put(path, "lines", {"back": '{"n":3}'})
    reader.delete(path, "late")
    both = {**LEFT, "back": '{"n":3}'}
    del both["late"]
    assert writer.lines(path) == reader.lines(path)
    assert sorted(writer.lines(path)) == expected(both)
    # The reader's own `layout` must not have changed that of the collection.
    assert (path / "collections/docs/docs/back.json").exists() == (layout == "files")
    archive = tmp_path / "db.zds"
    writer.pack(path, archive)
    assert sorted(reader.lines(archive)) == expected(both)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_all_have_the_same_order(tmp_path: Path, layout: str) -> None:
    here = [kind() for kind, is_here in HERE.items() if is_here]
    path = tmp_path / "db"
    for number, surface in enumerate(here * 2):
        surface.put(path, layout, {f"d{number % 4}": f'{{"n":{number}}}'})
    first, *others = [surface.lines(path) for surface in here]
    assert len(first) == min(4, 2 * len(here)) and all(lines == first for lines in others)
