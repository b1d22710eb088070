"""Run the guide's Python and SQL, in order, as a newcomer would: every block must succeed."""

import os
import pathlib
import re
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "perf"))

from connection import EXTENSION  # noqa: E402

GUIDE = HERE.parent.parent.parent / "docs" / "guide" / "duckdb.md"


def main():
    blocks = re.findall(r"```(python|sql)\n(.*?)```", GUIDE.read_text(), re.DOTALL)
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
    assert len(blocks) >= 5, "the guide has lost its examples"
    print(f"test result: {len(blocks)} passed, 0 failed (blocks of the guide)")


if __name__ == "__main__":
    main()
