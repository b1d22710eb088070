"""Run sqllogictest files against the built extension.

usage: run.py [--accept] [FILE …]

Files in `sql` are for both interfaces, those in `sql/stable` and `sql/pinned` for the one that
`ION_INTERFACE` names.

Knows `statement ok`, `statement error` (the expected text is a part of the message), `query` with
rows separated by tabs, and `sort` behind it. Each file gets a new database; paths are relative to
this folder, `__TMP__` is a folder of the file's own, `__TABLES__` a FolioDB database with tables, which
the program that `ION_MAKE_DATABASE` names has made. `--accept` rewrites expectations with what was
found, to be read in review.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "perf"))

from connection import connect  # noqa: E402


def blocks(text):
    """Paragraphs of a test file, comments kept."""
    return [block for block in text.split("\n\n") if block.strip()]


def show(value):
    if value is None:
        return "NULL"
    if value == "":
        return "(empty)"
    return str(value)


def run_block(connection, block, folders):
    """The block as it should read, given what happened."""
    lines = block.strip("\n").split("\n")
    first = next(index for index, line in enumerate(lines) if not line.startswith("#"))
    head, body = lines[: first + 1], lines[first + 1 :]
    words = head[-1].split()
    cut = body.index("----") if "----" in body else len(body)
    sql, expected = "\n".join(body[:cut]), body[cut + 1 :]
    try:
        result = connection.execute(spelt(sql, folders))
        rows = [[show(value) for value in row] for row in result.fetchall()] if result.description else []
        error = None
    except Exception as raised:
        rows, error = [], named(str(raised), folders)
    if words[0] == "statement" and words[1] == "ok":
        if error:
            return "\n".join(head + body[:cut]) + f"\nFAILED: {error}"
        return block.strip("\n")
    if words[0] == "statement":
        if error and expected and all(part in error for part in expected):
            return block.strip("\n")
        found = error.split("\n")[0] if error else "no error"
        return "\n".join(head + body[:cut] + ["----", found])
    if error:
        return "\n".join(head + body[:cut]) + f"\nFAILED: {error}"
    shown = [named("\t".join(row), folders) for row in rows]
    if "sort" in words:
        shown.sort()
    return "\n".join(head + body[:cut] + ["----"] + shown)


def spelt(text, folders):
    """The text with folders for their names."""
    for name, folder in folders.items():
        text = text.replace(name, folder)
    return text


def named(text, folders):
    """The text with names for the folders."""
    for name, folder in folders.items():
        text = text.replace(folder, name)
    return text


def run_file(path, accept, tables):
    connection = connect()
    connection.execute("SET TimeZone = 'UTC'")
    text = path.read_text()
    failures = 0
    found = []
    with tempfile.TemporaryDirectory() as tmp:
        for block in blocks(text):
            if all(line.startswith("#") for line in block.strip("\n").split("\n")):
                found.append(block.strip("\n"))
                continue
            actual = run_block(connection, block, {"__TMP__": tmp, "__TABLES__": tables})
            if actual != block.strip("\n"):
                failures += 1
                if not accept or "FAILED" in actual:
                    print(f"--- {path.name}: expected\n{block.strip()}\n--- found\n{actual}\n")
            found.append(actual)
    if accept and not any("FAILED" in block for block in found):
        path.write_text("\n\n".join(found) + "\n")
    return len(found), failures


def main():
    arguments = sys.argv[1:]
    accept = "--accept" in arguments
    named = [pathlib.Path(argument).resolve() for argument in arguments if argument != "--accept"]
    os.chdir(HERE)
    interface = os.environ.get("ION_INTERFACE", "stable")
    paths = named or [*sorted((HERE / "sql").glob("*.test")), *sorted((HERE / "sql" / interface).glob("*.test"))]
    total = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        tables = str(pathlib.Path(folder) / "tables")
        subprocess.run([os.environ["ION_MAKE_DATABASE"], tables], check=True)
        for path in paths:
            count, failures = run_file(path, accept, tables)
            total, failed = total + count, failed + failures
    import duckdb

    print(f"test result: {total - failed} passed, {failed} failed (duckdb {duckdb.__version__}, {len(paths)} files)")
    sys.exit(1 if failed and not accept else 0)


if __name__ == "__main__":
    main()
