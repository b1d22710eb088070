"""Makes files of SQLite, with SQLite, and writes beside each what its tables hold.

    python3 make.py DIR

`NAME.sqlite` is a file, perhaps with a log beside it. `NAME.rows` holds its tables: a line
`= name` for each, then a line for each row in the order of the table, its values separated
by blanks: `n` is null, `i7` an integer, `r` a real as the digits of its bits, `t` a text and
`b` a blob as the digits of their bytes.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

CHANCE = random.Random(7)
INTEGERS = [0, 1, -1, 127, -128, 32767, -32769, 2**23, -(2**23) - 1, 2**31, 2**47, -(2**47) - 1]
REALS = [0.0, -0.0, 1.0, 0.1, -1e300, 5e-324, 1e15, 123456.789, float("inf")]
TEXTS = ["", "a", "é𝄞", "line\nline", "x" * 700, "'\"", "NULL"]


def value() -> Any:
    """Any value, rarely a large one."""
    size = CHANCE.choice([0, 1, 10, 100, 3000])
    return CHANCE.choice(
        [
            None,
            CHANCE.choice([*INTEGERS, 2**63 - 1, -(2**63)]),
            CHANCE.choice(REALS),
            CHANCE.choice(TEXTS),
            CHANCE.randbytes(size),
            "y" * size,
        ]
    )


def fill(connection: sqlite3.Connection, count: int) -> None:
    """Tables of every kind, with rows of every kind, some of them deleted again."""
    connection.executescript(
        """
        CREATE TABLE plain (a, b, c, d);
        CREATE TABLE keyed (id INTEGER PRIMARY KEY, r REAL, t TEXT, b BLOB);
        CREATE TABLE "odd [name]" ("a b" INT, [select] TEXT, `c"d` NUMERIC);
        CREATE TABLE by_text (v, k TEXT, n INT, PRIMARY KEY (k, n)) WITHOUT ROWID;
        CREATE TABLE descending (n INT, t TEXT, PRIMARY KEY (n DESC)) WITHOUT ROWID;
        CREATE TABLE empty (a);
        CREATE INDEX by_t ON keyed (t);
        CREATE VIEW seen AS SELECT id FROM keyed;
        """
    )
    rows = range(count)
    connection.executemany("INSERT INTO plain VALUES (?,?,?,?)", [[value() for _ in "abcd"] for _ in rows])
    connection.executemany(
        "INSERT INTO keyed VALUES (?,?,?,?)",
        [[row * 7 - 50, CHANCE.choice([row, row / 3]), value(), value()] for row in rows],
    )
    connection.executemany('INSERT INTO "odd [name]" VALUES (?,?,?)', [[value() for _ in "abc"] for _ in rows])
    keys = [f"{CHANCE.randrange(count)}" * CHANCE.choice([1, 3, 200]) for _ in rows]
    connection.executemany(
        "INSERT INTO by_text VALUES (?,?,?)", [[value(), key, row] for row, key in enumerate(keys)]
    )
    connection.executemany("INSERT INTO descending VALUES (?,?)", [[row, value()] for row in rows])
    connection.execute("DELETE FROM plain WHERE rowid % 5 = 1")
    connection.execute("DELETE FROM keyed WHERE id BETWEEN 30 AND 300")
    connection.execute("DELETE FROM by_text WHERE n % 3 = 0")
    connection.commit()


def written(item: Any) -> str:
    """A value as the expectation has it."""
    if item is None:
        return "n"
    if isinstance(item, int):
        return f"i{item}"
    if isinstance(item, float):
        return "r" + struct.pack(">d", item).hex()
    kind, content = item[:1].decode(), item[1:]
    return kind + content.hex()


def expect(connection: sqlite3.Connection, target: Path) -> None:
    """Writes what SQLite says of every table."""
    connection.text_factory = bytes
    names = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY rowid"
    lines = []
    for (name,) in connection.execute(names).fetchall():
        quoted = '"' + name.decode().replace('"', '""') + '"'
        lines.append(f"= {name.decode()}")
        # Bytes say their class themselves: text and blobs look alike otherwise.
        columns = connection.execute(f"SELECT * FROM {quoted} LIMIT 0").description
        classes = ", ".join(f'typeof("{column[0]}")' for column in columns if '"' not in column[0])
        classes += "".join(', typeof(`c"d`)' for column in columns if '"' in column[0])
        for row in connection.execute(f"SELECT *, {classes} FROM {quoted}"):
            half = len(row) // 2
            items = zip(row[:half], row[half:], strict=True)
            lines.append(
                " ".join(
                    written(kind[:1] + item if isinstance(item, bytes) else item) for item, kind in items
                )
            )
    target.write_text("\n".join(lines) + "\n")


def plain(size: int, encoding: str, vacuum: str, count: int) -> Callable[[Path], None]:
    """A file of these settings."""

    def make(path: Path) -> None:
        connection = sqlite3.connect(path)
        connection.execute(f"PRAGMA page_size = {size}")
        connection.execute(f"PRAGMA encoding = '{encoding}'")
        connection.execute(f"PRAGMA auto_vacuum = {vacuum}")
        fill(connection, count)
        expect(connection, path.with_suffix(".rows"))
        connection.close()

    return make


def large(path: Path) -> None:
    """Many rows, and values that go on over many pages."""
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE many (id INTEGER PRIMARY KEY, a INT, b TEXT, c REAL)")
    rows = ([row, row * 3, f"row {row}", row / 7] for row in range(200_000))
    connection.executemany("INSERT INTO many VALUES (?,?,?,?)", rows)
    connection.execute("CREATE TABLE long (a, b)")
    for size in [1, 4000, 4096, 100_000, 3_000_000]:
        connection.execute("INSERT INTO long VALUES (?, ?)", ["z" * size, CHANCE.randbytes(size)])
    connection.commit()
    expect(connection, path.with_suffix(".rows"))
    connection.close()


def altered(path: Path) -> None:
    """Rows that are older than their columns; columns that are computed, renamed, dropped."""
    connection = sqlite3.connect(path)
    connection.executescript(
        """
        CREATE TABLE t (a INTEGER PRIMARY KEY, gone, b);
        INSERT INTO t VALUES (1, 2, 3), (4, 5, 6);
        ALTER TABLE t ADD COLUMN c TEXT DEFAULT 5;
        ALTER TABLE t ADD COLUMN d REAL NOT NULL DEFAULT (-2);
        ALTER TABLE t ADD COLUMN e DEFAULT x'00ff';
        ALTER TABLE t ADD COLUMN f;
        ALTER TABLE t RENAME COLUMN b TO "new b";
        ALTER TABLE t DROP COLUMN gone;
        INSERT INTO t VALUES (7, 8, 'c', 1, NULL, 9);
        CREATE TABLE w (a, b INT, c TEXT, PRIMARY KEY (c, b)) WITHOUT ROWID;
        INSERT INTO w VALUES (1, 2, 'x'), (3, 4, 'y');
        ALTER TABLE w ADD COLUMN d INT DEFAULT '7';
        CREATE TABLE s (a INT, b INT GENERATED ALWAYS AS (a * 2) STORED, c TEXT);
        INSERT INTO s (a, c) VALUES (1, 'one'), (2, 'two');
        CREATE TABLE u (a INTEGER PRIMARY KEY DESC, b);
        INSERT INTO u VALUES (10, 1), (5, 2);
        CREATE TABLE x (a INTEGER, b, PRIMARY KEY (a DESC));
        INSERT INTO x VALUES (10, 1), (5, 2);
        CREATE TABLE "r" AS SELECT a, b * 1.5 AS c FROM s;
        """
    )
    expect(connection, path.with_suffix(".rows"))
    connection.close()


def with_log(size: int, work: Callable[[sqlite3.Connection], None], name: str) -> Callable[[Path], None]:
    """A file whose log has what the file has not. Copied while it is open, since SQLite
    empties the log when it closes."""

    def make(path: Path) -> None:
        own = path.with_name(f"{name}.open")
        connection = sqlite3.connect(own)
        connection.execute(f"PRAGMA page_size = {size}")
        connection.execute("PRAGMA journal_mode = wal")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        fill(connection, 60)
        connection.execute("PRAGMA cache_size = 5")
        work(connection)
        for ending in ["", "-wal"]:
            shutil.copy(f"{own}{ending}", f"{path}{ending}")
        reader = sqlite3.connect(own)
        expect(reader, path.with_suffix(".rows"))
        reader.close()
        connection.close()
        own.unlink()

    return make


def nothing(_: sqlite3.Connection) -> None:
    """Nothing more: all is in the log."""


def checkpoint(connection: sqlite3.Connection) -> None:
    """A log that began anew: old frames stand behind the new ones."""
    connection.execute("PRAGMA wal_checkpoint(full)")
    connection.execute("UPDATE keyed SET t = 'newer' WHERE id % 2 = 0")
    connection.commit()


def uncommitted(connection: sqlite3.Connection) -> None:
    """Frames of a transaction that has not ended."""
    connection.execute("UPDATE plain SET a = 'committed'")
    connection.commit()
    rows = [[value() for _ in "abcd"] for _ in range(400)]
    connection.executemany("INSERT INTO plain VALUES (?,?,?,?)", rows)


def smaller(connection: sqlite3.Connection) -> None:
    """A file that got smaller in the log."""
    connection.execute("PRAGMA wal_checkpoint(full)")
    connection.execute("DELETE FROM plain")
    connection.commit()
    connection.execute("VACUUM")


def main() -> None:
    """Makes all files."""
    folder = Path(sys.argv[1])
    encodings = ["UTF-8", "UTF-16le", "UTF-16be"]
    vacuums = ["NONE", "FULL", "INCREMENTAL"]
    makers: dict[str, Callable[[Path], None]] = {"large": large, "altered": altered}
    for step in range(8):
        size, encoding, vacuum = 512 << step, encodings[step % 3], vacuums[step // 2 % 3]
        makers[f"pages_{size}"] = plain(size, encoding, vacuum, 300)
    makers["small_utf16"] = plain(512, "UTF-16be", "NONE", 25)
    makers["small"] = plain(512, "UTF-8", "FULL", 25)
    for work in [nothing, checkpoint, uncommitted, smaller]:
        name = f"log_{work.__name__}"
        makers[name] = with_log(1024, work, name)
    for name, make in makers.items():
        make(folder / f"{name}.sqlite")


if __name__ == "__main__":
    main()
