"""A DuckDB connection with the built extension loaded."""

import os
import pathlib

import duckdb

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
EXTENSION = pathlib.Path(os.environ.get("ION_EXTENSION", ROOT / "build/duckdb/ion.duckdb_extension")).resolve()


def connect(threads=None):
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    connection.execute(f"LOAD '{EXTENSION}'")
    if threads:
        connection.execute(f"SET threads = {threads}")
    return connection
