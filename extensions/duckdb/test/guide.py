"""Run the guide's Python and SQL, in order, as a newcomer would: every block must succeed.

The SQL runs in the DuckDB shell as well, if there is one of the version being tested. Words behind the
language in the fence name modules without which a block is skipped.
"""

import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "perf"))

from connection import EXTENSION  # noqa: E402

GUIDE = HERE.parent.parent.parent / "docs" / "guide" / "duckdb.md"


def main():
    found = re.findall(r"```(python|sql)([^\n]*)\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    blocks = [(language, code) for language, modules, code in found if all(map(importlib.util.find_spec, modules.split()))]
    scope = {}
    os.chdir(tempfile.mkdtemp())
    for language, code in blocks:
        code = code.replace("build/duckdb/ion.duckdb_extension", str(EXTENSION))
        if language == "python":
            exec(code, scope)
        else:
            for statement in code.split(";\n"):
                if statement.strip():
                    scope["connection"].execute(statement).fetchall()
    answer = scope["connection"].execute("SELECT sum(id) FROM 'users.10n'").fetchall()
    assert answer == [(499500,)], answer
    assert len(found) >= 9, "the guide has lost its examples"
    run_in_shell([code for language, code in blocks if language == "sql"])
    if len(blocks) < len(found):
        print(f"blocks of the guide whose modules are not here: {len(found) - len(blocks)}")
    print(f"test result: {len(blocks)} passed, 0 failed (blocks of the guide)")


def run_in_shell(blocks):
    import duckdb

    shell = find_shell()
    version = shell and subprocess.run([shell, "--version"], capture_output=True, text=True).stdout
    if not version or f"v{duckdb.__version__} " not in version:
        print(f"no DuckDB shell {duckdb.__version__} here: the guide's SQL ran in Python only")
        return
    script = "\n".join([f"LOAD '{EXTENSION}';", *blocks])
    said = subprocess.run([shell, "-unsigned", "-bail", ":memory:"], input=script, text=True, capture_output=True)
    if said.returncode or said.stderr:
        sys.exit(f"the guide fails in the DuckDB shell:\n{said.stderr}")
    print(f"test result: {len(blocks)} passed, 0 failed (blocks of the guide in the shell)")


def find_shell():
    """The shell of the package duckdb-cli, or one on the path."""
    package = importlib.util.find_spec("duckdb_cli")
    if package is None:
        return shutil.which("duckdb")
    return str(pathlib.Path(package.origin).parent / "duckdb")


if __name__ == "__main__":
    main()
