"""Runs the Python blocks of Markdown files: what they claim must be so.

    python blocks.py FILE…

The blocks of a file run in order, in one namespace, in an empty folder. A comment
behind an expression is a claim: `users["ann"]  # {'_id': 'ann'}` must be the value's
`repr`, in which `...` stands for anything. Words behind `python` in the opening fence
name modules that a block needs; where one is missing, the block is skipped, aloud.
Needs nothing but the standard library, so that it runs where only the package is.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import sys
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FENCE = re.compile(r"^```python(?: (?P<needs>[\w ]+))?\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


class Failure(Exception):
    """A claim that is not so, or a block that raised."""


def blocks(text: str) -> Iterator[tuple[int, list[str], str]]:
    """Line number, needed modules and code of every block."""
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        yield line, (match["needs"] or "").split(), match["code"]


def run_block(code: str, name: str, line: int, namespace: dict[str, Any]) -> int:
    """Runs a block, statement by statement; answers how many claims it makes."""
    lines = code.splitlines()
    claims = 0
    for statement in ast.parse(code).body:
        claim = claim_behind(statement, lines)
        ast.increment_lineno(statement, line)
        if claim is None:
            exec(compile(ast.Module([statement], []), name, "exec"), namespace)
            continue
        assert isinstance(statement, ast.Expr)
        value = repr(eval(compile(ast.Expression(statement.value), name, "eval"), namespace))
        if not matches(value, claim):
            raise Failure(f"{name}:{statement.lineno}: claims {claim}\n    but it is {value}")
        claims += 1
    return claims


def claim_behind(statement: ast.stmt, lines: list[str]) -> str | None:
    """The comment behind an expression."""
    if not isinstance(statement, ast.Expr) or statement.end_lineno is None:
        return None
    # Positions are in bytes of UTF-8.
    rest = lines[statement.end_lineno - 1].encode()[statement.end_col_offset :].decode().strip()
    return rest.lstrip("# ") if rest.startswith("#") else None


def matches(value: str, claim: str) -> bool:
    """Whether a value is as claimed; white space does not count."""
    parts = (re.escape("".join(part.split())) for part in claim.split("..."))
    return re.fullmatch(".*".join(parts), "".join(value.split()), re.DOTALL) is not None


def run_file(path: Path) -> tuple[int, int, int]:
    """Runs the blocks of a file; answers blocks run, claims and blocks skipped."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    run = claims = skipped = 0
    for line, needs, code in blocks(path.read_text(encoding="utf-8")):
        missing = [module for module in needs if importlib.util.find_spec(module) is None]
        if missing:
            print(f"SKIPPED {path.name}:{line}: needs {', '.join(missing)}")
            skipped += 1
            continue
        try:
            claims += run_block(code, path.name, line, namespace)
        except Failure:
            raise
        except Exception as error:
            raise Failure(f"{path.name}, block at {line}:\n{traceback.format_exc()}") from error
        run += 1
    if run + skipped == 0:
        raise Failure(f"{path} has no Python blocks")
    return run, claims, skipped


def main(arguments: list[str]) -> int:
    """Runs every file in a folder of its own."""
    back = os.getcwd()
    for path in [Path(argument).resolve() for argument in arguments]:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                run, claims, skipped = run_file(path)
            except Failure as failure:
                print(failure, file=sys.stderr)
                return 1
            finally:
                os.chdir(back)
        print(f"{path.name}: {run} blocks, {claims} claims, {skipped} skipped")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
