"""Objects whose keys are data are maps, and answer as DuckDB's maps do: in collections, in files in
FROM, in tables, in Parquet files, and as Arrow streams."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import foliodb
import pytest

duckdb = pytest.importorskip("duckdb")

COUNT = 1_500

# Each with FolioDB's text, and DuckDB's where that differs. Rows are compared in their order.
QUERIES = [
    ("select _id, votes['u7'] from <docs> order by _id", None),
    ("select votes['u7'] as v, count(*) from <docs> group by v order by v nulls last", None),
    ("select sum(votes['x']), avg(votes['none']), count(votes['x']) from <docs>", None),
    ("select _id from <docs> where votes['x'] > 3 order by _id", None),
    ("select _id, cardinality(votes) from <docs> order by _id", None),
    ("select max(cardinality(who)), min(cardinality(who)) from <docs>", None),
    ("select _id, who['k3'].n, who['k3'].s from <docs> where who['k3'].n is not null order by _id", None),
    ("select n, votes from <docs> where n < 40 order by n", None),
    ("select k, count(*) as c from <docs>, unnest(map_keys(votes)) as u(k) group by k order by c desc, k", None),
    (
        "select e.key, sum(e.value) as s from <docs>, unnest(map_entries(votes)) as u(e)"
        " group by e.key order by s desc nulls last, e.key limit 50",
        None,
    ),
    ("select a.n, b.n from <docs> a join <docs> b on a.votes['u7'] = b.n order by 1, 2 limit 50", None),
    ("select count(distinct votes['x']) from <docs>", None),
    ("select votes ->> 'x' from <docs> order by n", "select votes['x']::varchar from <docs> order by n"),
]


def documents(random: Random) -> list[dict[str, Any]]:
    def votes() -> dict[str, int | None] | None:
        names = random.sample(["x", "y", "u7", *(f"u{random.randrange(3_000)}" for _ in range(5))], 4)
        found = {name: random.choice([None, *range(8)]) for name in names}
        return random.choice([found, found, found, {}, None])

    def who() -> dict[str, dict[str, Any]]:
        return {
            f"k{random.randrange(2_000) if random.randrange(9) else 3}": {"n": random.randrange(9), "s": "é\""}
            for _ in range(random.randrange(4))
        }

    found = [{"_id": f"d{n:05}", "n": n, "votes": votes(), "who": who()} for n in range(COUNT)]
    # Every key once, so that there are enough of them.
    for n, document in enumerate(found):
        document["votes"] = {**(document["votes"] or {}), f"u{n}": n % 9} if n % 3 else document["votes"]
    return found


@pytest.mark.parametrize("seed", [1, 2])
def test_answers_are_those_of_duckdb(tmp_path: Path, seed: int) -> None:
    lines = tmp_path / "docs.jsonl"
    stored = documents(Random(seed))
    lines.write_text("".join(json.dumps(document) + "\n" for document in stored))
    duck = duckdb.connect()
    duck.execute(
        f"create table docs as select * from read_json('{lines}', columns = {{_id: 'VARCHAR', n: 'BIGINT',"
        " votes: 'MAP(VARCHAR, BIGINT)', who: 'MAP(VARCHAR, STRUCT(n BIGINT, s VARCHAR))'})"
    )
    with foliodb.open(tmp_path / "db") as db:
        db["docs"].put_many({document["_id"]: document for document in stored})
        assert db.sql("select votes, who from docs").types == [
            "map(text, bigint)",
            "map(text, struct(n bigint, s text))",
        ]
        db.sql("create table copied as select * from docs")
        db.sql(f"copy (select * from docs) to '{tmp_path}/docs.parquet'")
        places = ["docs", f"'{lines}'", "copied", f"'{tmp_path}/docs.parquet'"]
        for folio, other in QUERIES:
            expected = duck.execute((other or folio).replace("<docs>", "docs")).fetchall()
            for place in places:
                found = db.sql(folio.replace("<docs>", place)).fetchall()
                assert found == expected, (place, folio)
        kept = duck.execute(f"select typeof(votes), typeof(who) from '{tmp_path}/docs.parquet' limit 1").fetchone()
        assert kept == ("MAP(VARCHAR, BIGINT)", "MAP(VARCHAR, STRUCT(n BIGINT, s VARCHAR))")


def test_arrow_has_maps(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    stored = {f"d{n}": {"m": {"z": None, f"u{n}": n, "a": 1}} for n in range(1_100)}
    with foliodb.open(tmp_path / "db") as db:
        docs = db["docs"]
        docs.put_many(stored)
        expected = [[("a", 1), (f"u{n}", n), ("z", None)] for n in range(1_100)]
        for table in (docs.scan().arrow(), db.sql("select m from docs").arrow()):
            assert pyarrow.types.is_map(table.schema.field("m").type)
            assert table.column("m").to_pylist() == expected
        # Maps of the program have any order, and keys twice.
        given = pyarrow.array([[("b", 1), ("a", 2), ("b", 3)], None], pyarrow.map_(pyarrow.string(), pyarrow.int32()))
        db.register("given", pyarrow.table({"m": given}))
        assert db.sql("select m, m['b'] from given").fetchall() == [({"a": 2, "b": 3}, 3), (None, None)]
        assert db.sql("select typeof(m) from given limit 1").fetchall() == [("map(text, integer)",)]
        assert [row["path"] for row in docs.fields()] == ["_id", "m", "m.*"]
