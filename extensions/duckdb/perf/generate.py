"""The tables of the performance suite, each as .ion, binary .ion and .jsonl from the same rows."""

import os
import pathlib

from connection import connect

ROWS = int(os.environ.get("ROWS", 2_000_000))
WIDE_ROWS = int(os.environ.get("WIDE_ROWS", ROWS // 4))
OUT_DIR = pathlib.Path(os.environ.get("OUT_DIR", "perf/data"))

NARROW = """
    SELECT range AS id,
           'category_' || (hash(range) % 50)::VARCHAR AS category,
           ((hash(range + 1) % 1000000) / 100)::DECIMAL(18, 2) AS amount,
           hash(range + 2) % 2 = 0 AS flag,
           TIMESTAMP '2024-01-01' + to_seconds((hash(range + 3) % 31536000)::BIGINT) AS ts,
           {'sub_id': (hash(range + 4) % 100000)::BIGINT, 'sub_name': 'name_' || (range % 1000)::VARCHAR} AS nested,
           ['tag_' || (range % 10)::VARCHAR, 'tag_' || (range % 7)::VARCHAR] AS tags
    FROM range({rows})
"""


def wide():
    columns = ["range AS id"]
    columns += [f"(hash(range * 50 + {i}) % 1000000)::BIGINT AS int_{i}" for i in range(16)]
    columns += [f"'value_' || (hash(range * 60 + {i}) % 10000)::VARCHAR AS str_{i}" for i in range(16)]
    columns += [f"(hash(range * 70 + {i}) % 1000000) / 1000.0::DOUBLE AS dbl_{i}" for i in range(16)]
    return "SELECT " + ", ".join(columns) + " FROM range({rows})"


def write(connection, name, query):
    connection.execute(f"CREATE OR REPLACE TABLE source AS {query}")
    names = [row[0] for row in connection.execute("DESCRIBE source").fetchall()]
    listed = ", ".join(f"'{column}'" for column in names)
    for file, options in [
        (f"{name}.ion", f"FORMAT ion, COLUMNS [{listed}]"),
        (f"{name}_binary.ion", f"FORMAT ion, BINARY, COLUMNS [{listed}]"),
        (f"{name}.jsonl", "FORMAT json"),
    ]:
        connection.execute(f"COPY source TO '{OUT_DIR / file}' ({options})")
        print(f"{OUT_DIR / file}: {(OUT_DIR / file).stat().st_size / 1e6:.0f} MB")


def main():
    OUT_DIR.mkdir(parents=True, exist_ok=True)
    connection = connect()
    write(connection, "data", NARROW.replace("{rows}", str(ROWS)))
    write(connection, "data_wide", wide().replace("{rows}", str(WIDE_ROWS)))


if __name__ == "__main__":
    main()
