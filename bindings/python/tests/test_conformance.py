"""Runs the scripts under `conformance/documents`, in both layouts.

What a script means stands in `conformance/README.md`; this is the runner of Python.
"""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import foliodb
import pytest

SCRIPTS = Path(__file__).parents[3] / "conformance" / "documents"
CAN = {"handle", "batch", "schema", "sets", "parts"}


@dataclass
class Step:
    """One operation with what must come of it."""

    line: int
    operation: str
    arguments: list[Any]
    text: str | None = None
    expected: list[str] = field(default_factory=list)


def sections() -> Iterator[Any]:
    """Every section in every layout it is for."""
    for path in sorted(SCRIPTS.glob("*.txt")):
        for name, needs, steps in parse(path):
            for layout in sorted({"lines", "files"} & needs or {"lines", "files"}):
                if needs <= CAN | {layout}:
                    yield pytest.param(layout, steps, id=f"{path.stem}: {name} ({layout})")


def parse(path: Path) -> Iterator[tuple[str, set[str], list[Step]]]:
    """The sections of a script: name, needs and steps."""
    found: list[tuple[str, set[str], list[Step]]] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if line.startswith("== "):
            name, _, needs = line[3:].partition(" [")
            found.append((name, set(needs.rstrip("]").split()), []))
        elif line.startswith("|"):
            step = found[-1][2][-1]
            step.text = (step.text or "") + line[2:] + "\n"
        elif line[:1] in ("=", ":", "!"):
            found[-1][2][-1].expected.append(normal(line))
        elif line and not line.startswith("#"):
            operation, _, arguments = line.partition(" ")
            found[-1][2].append(Step(number, operation, json.loads(arguments or "[]")))
    yield from found


def normal(line: str) -> str:
    """An answer line with its JSON written one way; the order of fields counts."""
    return f"= {json.dumps(json.loads(line[2:]))}" if line.startswith("=") else line.rstrip("\n")


class Runner:
    """A database in a folder of its own, and the collection that operations are about."""

    def __init__(self, folder: Path, layout: str) -> None:
        self.path = folder / "data"
        self.layout = layout
        self.db = foliodb.open(self.path)
        self.db.create()
        self.docs = self.db.collection("docs", layout=layout)

    def run(self, step: Step) -> list[str]:
        """The answer lines of an operation."""
        try:
            answer = getattr(self, step.operation)(*step.arguments, *self.texts(step))
        except foliodb.FolioError as error:
            return [f"! {error.code}"]
        return [] if answer is None else list(answer)

    def texts(self, step: Step) -> list[str]:
        """The text of a step, as its last argument. Files end it with a line feed."""
        return [] if step.text is None else [step.text]

    @staticmethod
    def values(*values: Any) -> list[str]:
        return [f"= {json.dumps(value)}" for value in values]

    def put(self, name: str, document: Any) -> list[str]:
        return self.values(self.docs.put(name, document))

    def put_raw(self, name: str, text: str) -> list[str]:
        return self.values(self.docs.put_raw(name, text))

    def put_many(self, pairs: list[Any]) -> list[str]:
        counts = self.docs.put_many(tuple(pair) for pair in pairs)
        return self.values({"inserted": counts.inserted, "replaced": counts.replaced})

    def batch(self, changes: list[Any]) -> list[str]:
        batch = self.docs.batch()
        for operation, *arguments in changes:
            getattr(batch, operation)(*arguments)
        counts = batch.commit()
        names = ("inserted", "replaced", "deleted")
        return self.values({name: getattr(counts, name) for name in names})

    def get(self, name: str) -> list[str]:
        return self.values(self.docs.get(name))

    def get_raw(self, name: str) -> list[str]:
        text = self.docs.get_raw(name)
        return self.values(None) if text is None else [f": {text}"]

    def patch(self, name: str, patch: Any) -> list[str]:
        return self.values(self.docs.patch(name, patch))

    def delete(self, name: str) -> list[str]:
        return self.values(self.docs.delete(name))

    def add(self, document: Any) -> list[str]:
        name = self.docs.add(document)
        return self.values(name if "_id" in document else f"{len(name)} characters")

    def pop(self, name: str) -> list[str]:
        return self.values(self.docs.pop(name, None))

    def clear(self) -> list[str]:
        return self.values(self.docs.clear())

    def update(self, where: str, patch: Any, params: Any = None) -> list[str]:
        return self.values(self.docs.update(where, patch, params))

    def drop(self, name: str) -> None:
        self.db.drop_collection(name)

    def rename(self, name: str, new_name: str) -> None:
        self.db.rename_collection(name, new_name)

    def exists(self, name: str) -> list[str]:
        return self.values(self.docs.exists(name))

    def count(self) -> list[str]:
        return self.values(self.docs.count())

    def ids(self) -> list[str]:
        return self.values(*self.docs.ids())

    def scan(self, options: dict[str, Any] | None = None) -> list[str]:
        return self.values(*self.docs.scan(**(options or {})))

    def collection(self, name: str, options: dict[str, Any] | None = None) -> None:
        self.docs = self.db.collection(name, layout=self.layout, **(options or {}))

    def collections(self) -> list[str]:
        return self.values(*self.db.collections())

    def sql(self, text: str) -> list[str]:
        return self.values(*self.db.sql(text).dicts())

    def partitions(
        self, name: str, count: int, options: dict[str, Any] | None = None
    ) -> list[str]:
        self.planned = self.db.partitions(name, count, **(options or {}))
        return self.values(sum(part.row_count for part in self.planned))

    def read_partitions(self) -> list[str]:
        sent = pickle.loads(pickle.dumps(self.planned))
        rows = [row for part in sent for row in self.db.read_partition(part).dicts()]
        return self.values(*rows)

    def ziql(self, text: str) -> list[str]:
        return self.values(*self.db.ziql(text).dicts())

    def flush(self) -> None:
        self.db.flush()

    def refresh(self) -> None:
        self.docs.refresh()

    def reopen(self, mode: str = "rw") -> None:
        self.db.close()
        self.db = foliodb.open(self.path, mode)
        self.docs = self.db.collection(self.docs.name, layout=self.layout)

    def archive(self) -> None:
        target = self.path.with_suffix(".zds")
        self.db.pack(target)
        self.path = target
        self.reopen("r")

    def compact(self) -> list[str]:
        report = self.docs.compact()
        names = ("document_count", "rejected_count")
        return self.values({name: getattr(report, name) for name in names})

    def reindex(self) -> None:
        self.docs.reindex()

    def check(self) -> list[str]:
        report = self.docs.check()
        names = ("is_clean", "document_count", "superseded_count", "tombstone_count")
        answer = {name: getattr(report, name) for name in names}
        return self.values({**answer, "invalid_lines": [line.line for line in report.invalid]})

    def file(self, name: str) -> Path:
        return self.path / "collections" / self.docs.name / name

    def read_file(self, name: str) -> list[str]:
        text = self.file(name).read_bytes().decode()
        return [f": {line}" for line in text.removesuffix("\n").split("\n")]

    def write_file(self, name: str, content: str) -> None:
        with open(self.file(name), "wb") as file:
            file.write(content.encode())

    def append_file(self, name: str, content: str) -> None:
        with open(self.file(name), "ab") as file:
            file.write(content.encode())

    def replace_file(self, name: str, content: str) -> None:
        path = self.file(name)
        other = path.with_suffix(".other")
        other.write_bytes(content.encode())
        os.replace(other, path)

    def edit_file(self, name: str, old: str, new: str) -> None:
        self.replace_file(name, self.file(name).read_bytes().decode().replace(old, new))

    def remove_file(self, name: str) -> None:
        self.file(name).unlink()


@pytest.mark.parametrize(("layout", "steps"), list(sections()))
def test_script(tmp_path: Path, layout: str, steps: list[Step]) -> None:
    runner = Runner(tmp_path, layout)
    for step in steps:
        answer = runner.run(step)
        expected = step.expected
        assert answer == expected, f"line {step.line}: {step.operation} {step.arguments}"


def test_scripts_are_there() -> None:
    assert len(list(sections())) > 80
