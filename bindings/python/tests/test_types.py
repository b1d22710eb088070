"""Types: the package checks strictly, its stubs say what the native half has."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import foliodb
import pytest

pytest.importorskip("mypy")

SETTINGS = Path(__file__).parents[1] / "pyproject.toml"


def check(*arguments: str, folder: Path) -> None:
    """Runs a checker outside of the checkout, so that it sees the installed package."""
    command = [sys.executable, "-m", *arguments]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_stubs(tmp_path: Path) -> None:
    check("mypy.stubtest", "foliodb._foliodb", "--mypy-config-file", str(SETTINGS), folder=tmp_path)


def test_package(tmp_path: Path) -> None:
    # By name: given a folder inside site-packages, mypy takes all of them for ours.
    options = ["--config-file", str(SETTINGS), "--cache-dir", ".cache"]
    check("mypy", *options, "--package", "foliodb", "--package", "foliodb_command", folder=tmp_path)


PROGRAM = """
import foliodb
from foliodb.zds import ZDSStore

with foliodb.open("mydata", "rw", durability="every_put") as db:
    users = db["users"]
    reveal_type(users)
    reveal_type(users["a"])
    reveal_type(users.put("a", {}))
    reveal_type(users.put_many([{}]).inserted)
    reveal_type(users.scan(["name"], lazy=True))
    reveal_type(users.dataset())
    reveal_type(users.dataset(streaming=True))
    reveal_type(users.check().invalid[0].line)
    reveal_type(db.sql("select ?", [1]))
    reveal_type(db.ziql("GRAB User", model=Exception))
    reveal_type(db.transaction())
reveal_type(ZDSStore.open("old").count())
foliodb.open("mydata", "w")
users.put(5.0, {})


async def main() -> None:
    async with foliodb.aio.open("mydata") as db:
        reveal_type(await foliodb.aio.open("mydata"))
        users = db["users"]
        reveal_type(await users.get("a"))
        reveal_type(await users.put_many([{}], progress=True))
        reveal_type(await users.is_created)
        reveal_type([user async for user in users.scan(lazy=True)])
        reveal_type(await (await db.sql("select 1")).dicts())
        reveal_type(await db.ziql("GRAB User", model=Exception))
        async with db.transaction() as tx:
            reveal_type((await tx.sql("select 1")).count)
        await users.put(5.0, {})
        await users.delete()
"""

SEEN = [
    'Revealed type is "foliodb.collection.Collection"',
    'Revealed type is "dict[str, Any]"',
    "Revealed type is \"Literal['inserted'] | Literal['replaced']\"",
    'Revealed type is "int"',
    'Revealed type is "foliodb.collection.Scan"',
    'Revealed type is "foliodb.dataset.Dataset"',
    'Revealed type is "foliodb.streaming.StreamingDataset"',
    'Revealed type is "int"',
    'Revealed type is "foliodb._foliodb.Answer"',
    'Revealed type is "list[Exception]"',
    'Revealed type is "foliodb.session.Transaction"',
    'Revealed type is "int"',
    'Argument 2 to "open" has incompatible type',
    'Argument 1 to "put" of "Collection" has incompatible type',
    'Revealed type is "foliodb.aio.database.AsyncDatabase"',
    'Revealed type is "Any"',
    'Revealed type is "foliodb._foliodb.BatchCounts"',
    'Revealed type is "bool"',
    'Revealed type is "list[Any]"',
    'Revealed type is "list[dict[str, Any]]"',
    'Revealed type is "list[Exception]"',
    'Revealed type is "int | None"',
    'Argument 1 has incompatible type "float"; expected "str | int"',
    "Too few arguments",
]


def test_what_a_program_sees(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "program.py"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    lines = [line for line in result.stdout.replace("builtins.", "").splitlines()]
    assert len(lines) == len(SEEN), result.stdout
    for line, expected in zip(lines, SEEN):
        assert expected in line


def test_every_name_has_a_type(tmp_path: Path) -> None:
    names = [name for name in dir(foliodb) if not name.startswith("_")]
    program = ["import foliodb", *(f"reveal_type(foliodb.{name})" for name in names)]
    (tmp_path / "names.py").write_text("\n".join(program))
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "names.py"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    lines = result.stdout.splitlines()
    assert len(lines) == len(names) and not [line for line in lines if '"Any"' in line or ": error:" in line]
