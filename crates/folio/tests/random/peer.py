"""SQLite behind a pipe: a statement per line as JSON, an answer per line as JSON.

Answers are {"rows": [[…]]}, {"count": n} or {"error": "…"}.
"""

import json
import sqlite3
import sys


def answer(connection: sqlite3.Connection, statement: str) -> dict[str, object]:
    try:
        cursor = connection.execute(statement)
        if cursor.description is not None:
            return {"rows": cursor.fetchall()}
        return {"count": max(cursor.rowcount, 0)}
    except sqlite3.Error as error:
        return {"error": str(error)}


def main() -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("PRAGMA case_sensitive_like = on")
    for line in sys.stdin:
        print(json.dumps(answer(connection, json.loads(line))), flush=True)


main()
