"""The command `folio` that the package brings: how its process differs from that of a program.

What the command does is tested elsewhere; `scripts/test` runs those tests with this script, too.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

SCRIPT = "import sys; from foliodb_command import main; sys.exit(main())"
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}

unix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither")


def start(folder: Path, *arguments: str, **options: Any) -> subprocess.Popen[str]:
    pipes = {name: subprocess.PIPE for name in ("stdin", "stdout", "stderr")}
    command = [sys.executable, "-c", SCRIPT, *arguments]
    return subprocess.Popen(command, cwd=folder, env=ENVIRONMENT, text=True, **{**pipes, **options})


def run(folder: Path, *arguments: str, **options: Any) -> tuple[int, str]:
    """The exit code and what was printed."""
    process = start(folder, *arguments, **options)
    said, errors = process.communicate(timeout=60)
    return process.returncode, (said or "") + (errors or "")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    assert run(tmp_path, "put", "db", "-c", "t", "a", "--data", '{"n": 1}') == (0, "inserted a\n")
    return tmp_path


def test_exit_codes(folder: Path) -> None:
    assert run(folder, "get", "db", "a") == (0, '{"_id":"a","n":1}\n')
    assert run(folder, "get", "db", "b")[0] == 1
    assert run(folder, "gett", "db", "a")[0] == 2


def test_a_module_to_run(folder: Path) -> None:
    command = [sys.executable, "-m", "foliodb", "get", "db", "a"]
    said = subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert said.stdout == '{"_id":"a","n":1}\n'


def test_the_script_imports_the_native_half_only(tmp_path: Path) -> None:
    script = "import sys; from foliodb_command import main; main(); print(*sys.modules, file=sys.stderr)"
    command = [sys.executable, "-c", script, "--version"]
    said = subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert said.stdout.startswith("folio ")
    assert [name for name in said.stderr.split() if name.startswith("foliodb")] == ["foliodb_command"]
    assert "typing" not in said.stderr.split()


@unix
def test_nothing_is_printed_into_a_database(folder: Path) -> None:
    """A stream that is closed leaves its number to the next file that is opened."""
    for number, closed in enumerate((">&-", "2>&-", "<&- >&- 2>&-")):
        shell = f'exec "$0" -c "$1" put db -c t "$2" --data "{{}}" {closed}'
        command = ["sh", "-c", shell, sys.executable, SCRIPT, str(number)]
        subprocess.run(command, cwd=folder, env=ENVIRONMENT, check=True)
    lines = (folder / "db/collections/t/meta/data.jsonl").read_text().splitlines()
    assert len(lines) == 4 and all(line.startswith('{"_id":') for line in lines), lines
    assert run(folder, "validate", "db")[0] == 0


@pytest.mark.skipif(sys.platform != "linux", reason="/proc says how far it is")
def test_control_c_ends_it_at_once(folder: Path) -> None:
    """Python's own handler would wait for the command, and that for its input."""
    process = start(folder, "put", "db", "-c", "t", "b")
    while "_foliodb" not in Path(f"/proc/{process.pid}/maps").read_text():
        assert process.poll() is None
        time.sleep(0.01)
    time.sleep(1)  # it waits for its input now
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == -signal.SIGINT
    assert process.stderr is not None and process.stderr.read() == ""


@unix
def test_a_reader_that_goes_is_no_error(folder: Path) -> None:
    text = "".join(f'{{"_id": "{n}"}}\n' for n in range(50_000))
    (folder / "many.jsonl").write_text(text)
    assert run(folder, "import", "-q", "db", "-c", "many", "many.jsonl")[0] == 0
    process = start(folder, "scan", "db", "-c", "many")
    assert process.stdout is not None and process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert (process.wait(timeout=60), process.stderr.read()) == (0, "")
