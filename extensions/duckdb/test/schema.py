"""The columns of `read_folio` are those that every surface shows: `conformance/types.txt`.

Run as `run.py` is.
"""

import json
import pathlib
import re
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "perf"))

from connection import connect  # noqa: E402

TYPES = pathlib.Path(__file__).parents[3] / "conformance/types.txt"
SPELLED = {"BOOLEAN": "boolean", "BIGINT": "bigint", "DOUBLE": "double precision", "VARCHAR": "text"}


def cases():
    for block in TYPES.read_text(encoding="utf-8").split("\n== ")[1:]:
        name, *lines = block.split("\n")
        documents = []
        for line in lines:
            if line.startswith("| "):
                documents.append(line[2:])
            elif line.startswith("* "):
                _, count, document = line.split(" ", 2)
                documents += [document.replace("#", str(n + 1)) for n in range(int(count))]
        yield name, documents, [line[2:].split(" ", 1) for line in lines if line.startswith(": ")]


def spelled(text):
    """A type of DuckDB as the file spells it."""
    text = re.sub(r"\b(BOOLEAN|BIGINT|DOUBLE|VARCHAR)\b", lambda found: SPELLED[found[0]], text)
    return text.replace('"', "").replace("STRUCT", "struct").replace("MAP(", "map(").replace("JSON", "json")


def main():
    connection = connect(threads=2)
    failed = 0
    for name, documents, types in cases():
        with tempfile.TemporaryDirectory() as folder:
            meta = pathlib.Path(folder) / "collections/docs/meta"
            meta.mkdir(parents=True)
            (meta / "data.jsonl").write_text("".join(f"{line}\n" for line in documents), encoding="utf-8")
            source = f"read_folio('{folder}', 'docs')"
            found = connection.execute(f"DESCRIBE FROM {source}").fetchall()
            found = [[column[0], spelled(column[1])] for column in found]
            # There is no type for nothing.
            expected = [[column, kind.replace("null", "json")] for column, kind in types]
            rows = connection.execute(f"FROM {source}").fetchall()
            if found != expected or len(rows) != len(documents):
                failed += 1
                print(f"{name}:\n  expected {expected}\n  found    {found}, {len(rows)} rows")
            ids = [json.loads(document)["_id"] for document in documents]
            assert sorted(row[[c[0] for c in found].index("_id")] for row in rows) == sorted(ids), name
    if failed:
        sys.exit(f"{failed} cases differ")
    print("test result: all passed, 0 failed (types of read_folio)")


if __name__ == "__main__":
    main()
