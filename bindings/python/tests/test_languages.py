"""Runs the files under `conformance/sql` and `conformance/ziql`.

What they mean stands in `conformance/README.md` and in `ziql/script.rs`; this is the
runner of Python, which sees values, not text.
"""

from __future__ import annotations

import datetime
import json
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import foliodb
import pytest

FOLDER = Path(__file__).parents[3] / "conformance"


@dataclass
class Record:
    """One statement of an `.slt` file with what must come of it."""

    line: int
    words: list[str]
    sql: str
    expected: list[str]


def records(path: Path, names: tuple[str, ...] = ("foliodb", "postgresql")) -> Iterator[Record]:
    """The records of a file for an engine that answers to some names."""
    blocks = re.split(r"\n\n+", "\n" + path.read_text(encoding="utf-8"))
    line, is_skipped = 0, False
    for block in blocks:
        first = line
        line += block.count("\n") + 2
        lines = [text for text in block.strip("\n").split("\n") if not text.startswith("#")]
        while lines and lines[0].split()[:1] in (["skipif"], ["onlyif"]):
            word, name = lines.pop(0).split()[:2]
            is_skipped |= (word == "skipif") == (name in names)
        if not lines or not lines[0]:
            continue
        if lines == ["halt"] and not is_skipped:
            return
        if not is_skipped:
            end = lines.index("----") if "----" in lines else len(lines)
            yield Record(first, lines[0].split(), "\n".join(lines[1:end]), lines[end + 1 :])
        is_skipped = False


def shown(value: Any, kind: str) -> str:
    """A value as the files write it."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        text = str(int(value)) if kind == "I" else str(value).lower()
    elif kind == "R" and isinstance(value, (int, float, Decimal)):
        text = f"{float(value):.3f}"
    elif kind == "I" and isinstance(value, (float, Decimal)):
        text = str(int(value))
    else:
        text = plain(value)
    return text.replace("\n", " ").replace("\t", " ") or "(empty)"


def plain(value: Any) -> str:
    """A value as a cast to text writes it, as far as the files have such values."""
    match value:
        case datetime.datetime():
            text = value.isoformat(" ")
            text = re.sub(r"(\.\d*?)0+(?=\+|$)", r"\1", text)
            return text.replace("+00:00", "+00")
        case datetime.time():
            return re.sub(r"(\.\d*?)0+$", r"\1", value.isoformat())
        case float():
            text = repr(value).removesuffix(".0").replace("e+", "e")
            return text.replace("inf", "Infinity").replace("nan", "NaN")
        case bytes():
            return "\\x" + value.hex()
        case list():
            return "[" + ",".join(element(item) for item in value) + "]"
        case dict():
            return json.dumps(value, separators=(",", ":"))
        case Decimal():
            return f"{value:f}"
    return str(value)


def element(value: Any) -> str:
    return json.dumps(value) if isinstance(value, (str, bool)) or value is None else plain(value)


def compact(lines: list[str]) -> list[str]:
    """JSON in the files with no more spaces than the runner writes."""
    return [re.sub(r"([:,]) (?=[\"\[{\d])", r"\1", line) if "{" in line else line for line in lines]


# Spelled by types that Python has none of: they are compared as text by the other runners.
SPELLED = re.compile(r"interval|age\(|json|row\(|::real|real\b|explain", re.IGNORECASE)


@pytest.mark.parametrize("path", sorted((FOLDER / "sql").glob("*.slt")), ids=lambda path: path.stem)
def test_sql(tmp_path: Path, path: Path) -> None:
    seen = 0
    with foliodb.open(tmp_path / "data", durability="none") as db, db.session() as session:
        for record in records(path):
            seen += 1
            problem = run_record(session, record)
            assert problem is None, f"{path.name}:{record.line}: {record.sql}\n{problem}"
    assert seen > 5


def run_record(session: foliodb.Session, record: Record) -> str | None:
    """What is wrong with a record, if anything."""
    expects_error = record.words[1] == "error"
    try:
        answer = session.sql(record.sql)
        rows = answer.fetchall()
    except foliodb.FolioError as error:
        wanted = "\n".join(record.expected)
        return None if expects_error and wanted in str(error) else f"failed: {error}"
    if expects_error:
        return "did not fail"
    if record.words[0] == "statement":
        wanted_count = record.words[2] if record.words[1] == "count" else None
        return None if wanted_count in (None, str(answer.count)) else f"changed {answer.count}"
    kinds, order = record.words[1], record.words[2] if len(record.words) > 2 else ""
    if len(kinds) != len(answer.columns):
        return f"{len(answer.columns)} columns"
    if SPELLED.search(record.sql) or not {"interval", "json", "real"}.isdisjoint(answer.types):
        return None if len(rows) == len(record.expected) else f"{len(rows)} rows"
    found = ["\t".join(shown(v, k) for v, k in zip(row, kinds)) for row in rows]
    wanted_rows = record.expected
    if order == "rowsort":
        found, wanted_rows = sorted(found), sorted(wanted_rows)
    return None if compact(found) == compact(wanted_rows) else f"answered {found}"


@dataclass
class Step:
    """One line of a script with the lines that belong to it."""

    line: int
    kind: str
    text: str
    params: dict[str, Any] = field(default_factory=dict)
    expected: list[str] = field(default_factory=list)


def sections() -> Iterator[Any]:
    for path in sorted((FOLDER / "ziql").glob("*.txt")):
        found: list[tuple[str, list[Step]]] = []
        params: dict[str, Any] = {}
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            if line.startswith("== "):
                found.append((line[3:], []))
            elif line.startswith("$ "):
                name, _, value = line[2:].partition("=")
                params[name] = json.loads(value)
            elif line.startswith(("schema", "show")):
                found[-1][1].append(Step(number, line, ""))
            elif line.startswith("| "):
                found[-1][1][-1].text += line[2:] + "\n"
            elif line.startswith("> "):
                found[-1][1][-1].text += "\n" + line[2:]
            elif line.startswith("? "):
                found[-1][1].append(Step(number, "ziql", line[2:], params))
                params = {}
            elif line.startswith("sql "):
                found[-1][1].append(Step(number, "sql", line[4:]))
            elif line[:2] in ("= ", "~ ", "! ", ": ") or line in ("!", ":"):
                found[-1][1][-1].expected.append(line)
        for name, steps in found:
            yield pytest.param(steps, id=f"{path.stem}: {name}")


def as_json(value: Any) -> Any:
    """A value as the answer's JSON has it."""
    match value:
        case dict():
            return {name: as_json(item) for name, item in value.items()}
        case list():
            return [as_json(item) for item in value]
        case datetime.datetime():
            return value.isoformat().replace("+00:00", "Z")
        case datetime.date() | datetime.time():
            return value.isoformat()
        case uuid.UUID():
            return str(value)
        case Decimal():
            return float(value)
        case foliodb.Interval():
            return list(value)
    return value


def answered(db: foliodb.Database, step: Step) -> list[str]:
    """The answer lines of a step, with rows in one form."""
    try:
        if step.kind.startswith("schema"):
            lines = db.apply_schema(step.text, allow_drop=step.kind.endswith("drop"))
            return [f": {line}" for line in lines]
        if step.kind == "show":
            return [f": {line}" for line in db.schema().splitlines()]
        answer = db.sql(step.text) if step.kind == "sql" else db.ziql(step.text, **step.params)
        if not answer.columns:
            return []
        rows = [as_json(row) for row in answer.dicts()]
    except foliodb.FolioError as error:
        return [f"! {line}" for line in str(error).split("\n")]
    if any(line.startswith("~ ") for line in step.expected):
        return [f"~ {len(rows)}"]
    return [f"= {json.dumps(rows)}"]


def normal(line: str) -> str:
    """Times without the zeros behind their fraction, JSON written one way."""
    if not line.startswith("= "):
        return line
    text = json.dumps(json.loads(line[2:]))
    return re.sub(r"(:\d\d\.\d*?)0+(?=[Z\"])", r"\1", text)


@pytest.mark.parametrize("steps", list(sections()))
def test_ziql(tmp_path: Path, steps: list[Step]) -> None:
    with foliodb.open(tmp_path / "data", durability="none") as db:
        for step in steps:
            found = [normal(line) for line in answered(db, step)]
            expected = [normal(line) for line in step.expected]
            assert found == expected, f"line {step.line}: {step.text}"


def test_files_are_there() -> None:
    assert len(list(sections())) > 60
    assert len(list((FOLDER / "sql").glob("*.slt"))) > 8
