"""The guide, the tours and the examples: every block runs, every claim holds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import blocks
import pytest

ROOT = Path(__file__).parents[3]
PAGES = ["docs/guide/python.md", "docs/guide/scale.md", "docs/guide/studio.md", "docs/guide/tinydb.md", "docs/guide/zds.md", "README.md", "bindings/python/README.md"]
EXAMPLES = sorted((ROOT / "examples/python").glob("*.py"))

# The exit status of an example that lacks a library.
SKIPPED = 77


@pytest.mark.parametrize("page", PAGES)
def test_page(page: str) -> None:
    command = [sys.executable, blocks.__file__, str(ROOT / page)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    print(result.stdout)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_example(tmp_path: Path, example: Path) -> None:
    command = [sys.executable, str(example)]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    if result.returncode == SKIPPED:
        pytest.skip(result.stderr.strip())
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.strip() == shown(example), "the example prints something else than it says"


def shown(example: Path) -> str:
    """What an example says that it prints: the text behind `Prints:` in its docstring."""
    text = example.read_text(encoding="utf-8").split('"""')[1].split("Prints:")[1]
    return "\n".join(line.removeprefix("    ") for line in text.strip("\n").splitlines()).strip()


def test_a_false_claim_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nx = {'a': 1}\nx  # {'a': 2}\n```\n")
    with pytest.raises(blocks.Failure, match="page.md:3: claims {'a': 2}"):
        blocks.run_file(page)
    page.write_text("```python nowhere_to_be_found\n1 / 0\n```\n```python\n1, 'é', 3  # (1, ..., 3)\n```\n")
    assert blocks.run_file(page) == (1, 1, 1)
    page.write_text("no blocks")
    with pytest.raises(blocks.Failure, match="no Python blocks"):
        blocks.run_file(page)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 6
