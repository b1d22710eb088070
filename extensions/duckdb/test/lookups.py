"""Look documents up by their ids: what is read is what was asked for, not the collection.

The scan's own count of rows is the measure, as `profile := true` prints it.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "perf"))

from connection import connect  # noqa: E402

COUNT = 30_000
SOURCE = "read_folio('{path}', 'things', profile := true{option})"

# What is asked, what is answered, and how many documents are read for it.
BY_OPTION = [
    (", id := 'd7'", "", [("d7", 7)], 1),
    (", id := ['d7', 'd9', 'nobody', 'd7']", "", [("d7", 7), ("d9", 9)], 2),
    (", id := ['d9', 'd7']", "WHERE n < 9", [("d7", 7)], 2),
    (", id := []", "", [], 0),
    (", id := ['', '../x']", "", [], 0),
    (", id := 'changed'", "", [("changed", 2)], 1),
    (", id := 'gone'", "", [], 0),
    (", id := 41", "", [("41", -1)], 1),
    (", id := 'd7', columns := {_id: 'VARCHAR', n: 'INTEGER'}", "", [("d7", 7)], 1),
]
BY_FILTER = [
    ("", "WHERE _id = 'd7'", [("d7", 7)], 1),
    ("", "WHERE 'd7' = _id", [("d7", 7)], 1),
    ("", "WHERE _id IN ('d7', 'd9', 'nobody')", [("d7", 7), ("d9", 9)], 2),
    ("", "WHERE _id = 'd7' OR _id = 'd9'", [("d7", 7), ("d9", 9)], 2),
    ("", "WHERE _id IN ('d7', 'd8') AND _id IN ('d8', 'd9')", [("d8", 8)], 1),
    ("", "WHERE _id = 'd7' AND n > 7", [], 1),
    ("", "WHERE _id = ''", [], 0),
    ("", "WHERE _id = 'gone'", [], 0),
    (", id := ['d7', 'd8']", "WHERE _id = 'd8'", [("d8", 8)], 1),
]
# Left to DuckDB, which looks at every document.
BY_DUCKDB = [
    ("", "WHERE _id = 'd7' OR n = 9", [("d7", 7), ("d9", 9)]),
    ("", "WHERE n = 7", [("d7", 7)]),
    ("", "WHERE _id LIKE 'd29999%'", [("d29999", 29_999)]),
    ("", "WHERE _id = 'd7' COLLATE NOCASE", [("d7", 7)]),
    ("", "WHERE _id < 'a' OR _id = 'd7'", [("41", -1), ("d7", 7)]),
]


def main():
    interface = os.environ.get("ION_INTERFACE", "stable")
    with tempfile.TemporaryDirectory() as folder:
        path = make(pathlib.Path(folder) / "data")
        connection = connect(threads=4)
        total = COUNT + 2
        for option, condition, wanted, read in BY_OPTION:
            check(connection, path, option, condition, wanted, read)
        for option, condition, wanted, read in BY_FILTER:
            # The stable interface tells no filters; the option counts there alone.
            told = read if interface == "pinned" else 2 if option else total
            check(connection, path, option, condition, wanted, told)
        for option, condition, wanted in BY_DUCKDB:
            check(connection, path, option, condition, wanted, total)
        count = len(BY_OPTION) + len(BY_FILTER) + len(BY_DUCKDB) + several_in_one(connection, path)
        count += keys(connection, interface)
        count += prepared(connection, path) + explained(connection, path, interface) + edited(connection, path)
    print(f"test result: {count} passed, 0 failed (lookups by id)")


def make(path):
    """A database of one collection, written by hand."""
    folder = path / "collections" / "things" / "meta"
    folder.mkdir(parents=True)
    lines = [{"_id": "changed", "n": 1}, {"_id": "gone", "n": 1}, {"_id": "41", "n": -1}]
    lines += [{"_id": f"d{n}", "n": n} for n in range(COUNT)]
    lines += [{"_id": "changed", "n": 2}]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "data.jsonl").write_text(text + '{"_tombstone":"gone"}\n')
    return str(path)


def check(connection, path, option, condition, wanted, read):
    sql = f"SELECT _id, n FROM {SOURCE.format(path=path, option=option)} {condition} ORDER BY _id"
    rows, found = rows_and_read(connection, sql)
    assert rows == wanted, (sql, rows, wanted)
    assert found == [read], (sql, found, read)


def rows_and_read(connection, sql, parameters=None):
    """The answer, and how many rows each scan of it has read."""
    sys.stdout.flush()
    kept = os.dup(1)
    with tempfile.TemporaryFile() as said:
        os.dup2(said.fileno(), 1)
        try:
            rows = connection.execute(sql, parameters).fetchall()
        finally:
            os.dup2(kept, 1)
            os.close(kept)
        said.seek(0)
        return rows, [int(rows) for rows in re.findall(r"rows (\d+)", said.read().decode())]


def several_in_one(connection, path):
    """Several scans of one call each read their own documents."""
    source = SOURCE.format(path=path, option="")
    query = (
        f"WITH t AS {{}} (SELECT * FROM {source}) "
        "SELECT (SELECT n FROM t WHERE _id = 'd7'), (SELECT n FROM t WHERE _id = 'd9'), (SELECT count(*) FROM t)"
    )
    queries = [query.format(how) for how in ("", "MATERIALIZED", "NOT MATERIALIZED")]
    connection.execute(f"CREATE VIEW things AS SELECT * FROM {source}")
    queries.append(
        "SELECT a.n, b.n, (SELECT count(*) FROM things) FROM things a, things b WHERE a._id = 'd7' AND b._id = 'd9'"
    )
    for sql in queries:
        rows, _ = rows_and_read(connection, sql)
        assert rows == [(7, 9, COUNT + 2)], (sql, rows)
    return len(queries)


def prepared(connection, path):
    """A statement that is kept reads anew at each run."""
    source = SOURCE.format(path=path, option="")
    connection.execute(f"PREPARE one AS SELECT n FROM {source} WHERE _id = $1")
    for n in (7, 9, 7):
        rows, _ = rows_and_read(connection, f"EXECUTE one('d{n}')")
        assert rows == [(n,)], rows
    by_option = f"SELECT n FROM {SOURCE.format(path=path, option=', id := ?')}"
    rows, read = rows_and_read(connection, by_option, ["d7"])
    assert (rows, read) == ([(7,)], [1]), (rows, read)
    return 4


def keys(connection, interface):
    """Rows of a table are looked up by its key."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder) / "tables")
        subprocess.run([os.environ["ION_MAKE_DATABASE"], path], check=True)
        cases = [
            (", id := 7", "", 1, 1),
            (", id := [7, 8, -1, 7]", "", 2, 2),
            ("", "WHERE id = 7", 1, 1),
            ("", "WHERE id IN (7, 8, -1)", 2, 2),
            ("", "WHERE id = 7 OR name = 'number 8'", 2, None),
            ("", "WHERE amount = -7", 1, None),
        ]
        for option, condition, count, read in cases:
            sql = f"SELECT id, name FROM read_folio('{path}', 'numbers', profile := true{option}) {condition}"
            rows, found = rows_and_read(connection, sql)
            told = option or interface == "pinned"
            assert len(rows) == count, (sql, rows)
            assert found == [read if read and told else 100_000], (sql, found)
    return len(cases)


def explained(connection, path, interface):
    """EXPLAIN shows how many rows a scan will give, EXPLAIN ANALYZE how many it gave."""
    by_option = f"SELECT n FROM read_folio('{path}', 'things', id := ['d7', 'd9'])"
    by_filter = f"SELECT n FROM read_folio('{path}', 'things') WHERE _id = 'd7'"
    assert scanned(connection, f"EXPLAIN {by_option}") == 2
    assert scanned(connection, f"EXPLAIN ANALYZE {by_option}") == 2
    assert scanned(connection, f"EXPLAIN ANALYZE {by_filter}") == (1 if interface == "pinned" else COUNT + 2)
    return 3


def scanned(connection, sql):
    """The rows that a plan shows for its scan."""
    plan = connection.execute(sql).fetchall()[0][1]
    shown = re.search(r"READ_FOLIO.*?([\d,]+) rows?", plan.rpartition("Function:")[2], re.DOTALL)
    return int(shown[1].replace(",", ""))


def edited(connection, path):
    """A line that somebody has changed is what is found."""
    data = pathlib.Path(path) / "collections" / "things" / "meta" / "data.jsonl"
    data.write_text(data.read_text().replace('{"_id": "d7", "n": 7}', '{"_id": "d7", "n": 77}'))
    check(connection, path, ", id := 'd7'", "", [("d7", 77)], 1)
    return 1


if __name__ == "__main__":
    main()
