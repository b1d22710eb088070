"""Parity: the names in `conformance/surface.toml` are those of Rust, the command and Python.

The file is what the surfaces agree on. A public operation that is missing there, and
a name there that does not exist, fail.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import foliodb
import foliodb._foliodb
import pytest

ROOT = Path(__file__).parents[3]

# What Python's own protocols ask for, or other libraries; no other surface has it.
PYTHONS_OWN = {
    "Collection": {"keys", "values", "items", "dataset", "register", "database"},
    "Database": {"mode", "durability"},
    "Document": {"get", "keys", "values", "items", "from_raw"},
    "Scan": {"arrow", "df", "pl"},
    "Batch": set(),
    "Session": {"database"},
    "Prepared": set(),
    "Tables": set(),
    "Answer": {"fetchone", "fetchmany", "fetchall", "dicts", "tuples", "arrow", "df", "pl"},
}

# Parts of the facade that are reached another way in Python, or not at all.
RUSTS_OWN = {
    "Database": {
        "open",
        "collection_with",
        "existing_collection",
        "read_only",
        "links",
        "saved_statements",
        "save_statement",
        "remove_statement",
    },
    "Collection": {"import_position", "put_encoded", "try_get_raw"},
    "Batch": {"put_array", "put_encoded", "put_line", "size", "set_import_position", "work_ahead"},
    "Documents": set(),
    "Session": {
        "execute",
        "execute_prepared",
        "sql_alone",
        "set_watch",
        "set_autocommit",
        "confine",
        "window",
        "count_window",
        "order_window",
        "window_at",
        "is_current",
        "facet",
        "histogram",
        "columns",
        "set_level",
        "relations",
        "definition",
    },
    "Prepared": set(),
    "Tables": set(),
    "Table": set(),
}


def operations() -> list[dict[str, str]]:
    """The entries of the file, whose TOML is plain enough to be read line by line."""
    text = (ROOT / "conformance/surface.toml").read_text()
    entries = text.split("[[operation]]")[1:]
    return [dict(re.findall(r'^(\w+) = "(.*)"$', entry, re.MULTILINE)) for entry in entries]


def named(surface: str) -> set[str]:
    return {entry[surface] for entry in operations() if surface in entry}


def public(kind: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(kind) if not name.startswith("_")}


@pytest.mark.parametrize("kind", list(PYTHONS_OWN))
def test_python_names(kind: str) -> None:
    owner: Any = getattr(foliodb, kind, None) or getattr(foliodb._foliodb, kind)
    listed = {name.split(".")[1] for name in named("python") if name.startswith(f"{kind}.")}
    assert public(owner) - PYTHONS_OWN[kind] == listed


def test_functions_exist() -> None:
    for name in named("python"):
        owner: Any = foliodb
        for part in name.split("."):
            owner = getattr(owner, part, None) or getattr(foliodb._foliodb, part)


@pytest.mark.parametrize("kind", list(RUSTS_OWN))
def test_rust_names(kind: str) -> None:
    blocks = [
        block
        for path in (ROOT / "crates/folio/src").rglob("*.rs")
        for block in re.findall(rf"^impl {kind} \{{$.*?^\}}$", path.read_text(), re.M | re.S)
    ]
    found = set(re.findall(r"^    pub fn (\w+)", "".join(blocks), re.M)) - RUSTS_OWN[kind]
    listed = {name.split("::")[1] for name in named("rust") if name.startswith(f"{kind}::")}
    assert found <= listed, "public in Rust, missing in conformance/surface.toml"
    assert listed <= found, "in conformance/surface.toml, missing in Rust"


def test_commands() -> None:
    reference = (ROOT / "docs/cli.md").read_text()
    commands = set(re.findall(r"^## folio (\w+)$", reference, re.MULTILINE))
    assert commands - {"completions"} == named("cli")


def test_one_name_for_one_operation() -> None:
    def words(name: str) -> str:
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", re.split(r"::|\.", name)[-1]).lower()

    for entry in operations():
        names = {words(entry[s]) for s in ("rust", "cli", "python", "node") if s in entry}
        assert len(names) == 1 or "why" in entry, f"{entry['does']}: {names}"
        assert not (len(names) == 1 and "why" in entry), f"{entry['does']} needs no reason"
