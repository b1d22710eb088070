"""SQL over a collection: DuckDB reads its Arrow stream, as it is at each query.

Prints:

    Turin: 2 users, mean age 42.5
    Paris: 1 users, mean age 28.0
    after a new user: 3 in Turin
    joined with a table: [('Ann', 'Italy'), ('Bob', 'Italy'), ('Dan', 'Italy'), ('Eve', 'France')]
    stored: {'_id': 'Turin', 'users': 3}
"""

from __future__ import annotations

import sys

import foliodb

try:
    import duckdb
    import pyarrow  # noqa: F401
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(77)


def main() -> None:
    """A view, an aggregate, a join, and a result stored as documents."""
    with foliodb.open("people") as db:
        users = db["users"]
        users["ann"] = {"name": "Ann", "age": 34, "address": {"city": "Turin"}}
        users["bob"] = {"name": "Bob", "age": 51, "address": {"city": "Turin"}}
        users["eve"] = {"name": "Eve", "age": 28, "address": {"city": "Paris"}}

        sql = duckdb.connect()
        users.register(sql)
        by_city = "SELECT address.city AS city, count(*) AS users FROM users GROUP BY city"
        means = sql.execute(
            "SELECT address.city AS city, count(*), avg(age) FROM users GROUP BY city ORDER BY city DESC"
        )
        for city, count, age in means.fetchall():
            print(f"{city}: {count} users, mean age {age}")

        users["dan"] = {"name": "Dan", "age": 40, "address": {"city": "Turin"}}
        print(f"after a new user: {dict(sql.execute(by_city).fetchall())['Turin']} in Turin")

        sql.execute("CREATE TABLE cities AS SELECT * FROM (VALUES ('Turin', 'Italy'), ('Paris', 'France')) AS c(city, country)")
        joined = sql.execute(
            "SELECT name, country FROM users JOIN cities ON address.city = cities.city ORDER BY name"
        )
        print(f"joined with a table: {joined.fetchall()}")

        foliodb.to_folio(sql.sql(by_city).to_arrow_table().rename_columns(["_id", "users"]), db, "by_city")
        print(f"stored: {db['by_city']['Turin']}")


if __name__ == "__main__":
    main()
