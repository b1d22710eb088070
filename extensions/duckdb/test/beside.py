"""Read a table with DuckDB while another process writes to it.

A program moves amounts from account to account, a commit each. Whatever a query sees, it is as of one
commit: the sum stays, in however many threads it is made.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "perf"))

from connection import connect  # noqa: E402

QUERIES = 60
SUM = 200_000


def main():
    program = os.environ["ION_MAKE_DATABASE"]
    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder) / "data")
        subprocess.run([program, path], check=True)
        writer = subprocess.Popen([program, path, "transfer"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            states = look(path)
        finally:
            said, _ = writer.communicate("")
        if writer.returncode or said.startswith("0 "):
            sys.exit(f"the writer failed: {said}")
    assert len(states) > 1, "the writer was never seen"
    print(f"test result: {QUERIES} passed, 0 failed (sums beside {said.strip()}, {len(states)} states seen)")


def look(path):
    """How many different states were seen, each of them whole."""
    connection = connect(threads=4)
    connection.execute(
        f"PREPARE amounts AS SELECT sum(amount), count(*), count(DISTINCT id), sum(id * amount) FROM read_folio('{path}', 'accounts')"
    )
    states = set()
    for _ in range(QUERIES):
        total, count, ids, state = connection.execute("EXECUTE amounts").fetchone()
        assert (total, count, ids) == (SUM, 20_000, 20_000), (total, count, ids)
        states.add(state)
    return states


if __name__ == "__main__":
    main()
