"""Spark over a collection beside Spark's own JSON source over the same file, and over more workers.

    python bench/python/spark.py EVENTS.jsonl            # per core
    python bench/python/spark.py EVENTS.jsonl --workers  # one, two and four worker processes

EVENTS.jsonl are events of JSONBench, or such as the suite `asking` writes where `ASKING_FILES` says. They
are imported once into databases in `--folder`. Needs pyspark and Java, `foliodb` and the command `folio`;
the environment of the engines' tests, build/engines, has what is Python's.

Per core: what is compared is the processor time of all processes, the driver, the JVM and the workers
of Python, because a source in Python is two processes that work at once. Other programs on the machine
change it less than they change the time on the clock. Every configuration is a process of its own
that may use one processor only, and they take turns. Both sources get the same schema, of just the
fields that a query uses, so that neither infers anything, and neither hands anything else to Spark: of
`commit` both read the members in the schema. Spark evaluates the filters over the rows of both. Answers
must be equal. The first runs of each query warm up and do not count.

Inside the timer: planning the partitions, starting tasks and workers of Python, reading, what Spark does
with the rows, and collecting the answer. Outside: the import, the index of columns, the session, and
`load` with its schema. Both sources choose the number of their tasks themselves.

Workers: a standalone master of Spark on loopback with worker processes of one core each, `local-cluster`.
On a machine with fewer cores than workers more of them cannot be faster.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HOST = "127.0.0.1"

# Queries of JSONBench: a count with a filter, groups, and the first few. With the fields they use.
QUERIES = {
    "count": ("kind string", "SELECT count(*) AS n FROM events WHERE kind = 'commit'"),
    "group": (
        "commit struct<collection: string>",
        "SELECT commit.collection AS event, count(*) AS n FROM events GROUP BY event "
        "ORDER BY n DESC, event",
    ),
    "top": (
        "did string, time_us bigint, kind string, "
        "commit struct<operation: string, collection: string>",
        "SELECT did, min(time_us) AS first FROM events WHERE kind = 'commit' "
        "AND commit.operation = 'create' AND commit.collection = 'app.bsky.feed.post' "
        "GROUP BY did ORDER BY first, did LIMIT 3",
    ),
}

SOURCES = ("Spark's JSON", "folio", "folio, columns index")

# Runs before the ones that count: the JVM compiles what it runs often. After two, a query of one
# million events still takes twice the processor time that it takes after twelve, of which the half
# is the compiler's.
WARM_UPS = 12


def main() -> None:
    options = arguments()
    if options.child:
        print(json.dumps(measure(options)))
        return
    prepare(options)
    if options.workers:
        report_workers(options)
    else:
        report_cores(options)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("events", type=Path)
    parser.add_argument("--folder", type=Path, default=Path("build/bench/spark"))
    parser.add_argument("--folio", default="folio", help="the command that imports")
    parser.add_argument("-r", "--repeat", type=int, default=3, help="runs in each turn")
    parser.add_argument("-t", "--turns", type=int, default=2)
    parser.add_argument("-o", "--output", type=Path, help="also write all samples, as JSON")
    parser.add_argument("--workers", action="store_true")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--master", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.folder = options.folder.resolve()
    return options


def prepare(options: argparse.Namespace) -> None:
    """Makes the databases, unless an earlier run has: without and with an index of columns. Both know
    the types of their documents, as every database does that was queried once."""
    import foliodb

    for source in SOURCES[1:]:
        path = database_of(options, source)
        if path.exists():
            continue
        made = path.with_name(path.name + ".part")
        shutil.rmtree(made, ignore_errors=True)
        made.parent.mkdir(parents=True, exist_ok=True)
        command = [options.folio, "import", "-c", "events", "--generate-ids", "--quiet"]
        subprocess.run([*command, str(made), str(options.events)], check=True)
        with foliodb.open(made) as database:
            database["events"].fields()
            if source != "folio":
                database.sql("CREATE INDEX ON events USING columns")
        made.rename(path)


def database_of(options: argparse.Namespace, source: str) -> Path:
    return options.folder / ("columns" if source == "folio, columns index" else "lines")


def report_cores(options: argparse.Namespace) -> None:
    print(
        f"{options.events.name}, one processor, median processor time of "
        f"{options.turns * options.repeat} runs in seconds\n"
    )
    found = in_turns(
        options, {source: (source, "local[1]", True) for source in SOURCES}
    )
    print(f"{'':24}" + "".join(f"{name:>18}" for name in QUERIES))
    base = medians(found[SOURCES[0]], "cpu")
    for source, result in found.items():
        seconds = medians(result, "cpu")
        cells = (f"{seconds[name]:8.2f} ({base[name] / seconds[name]:5.2f}x)" for name in QUERIES)
        print(f"{source:24}" + "".join(f"{cell:>18}" for cell in cells))


def report_workers(options: argparse.Namespace) -> None:
    print(
        f"{options.events.name}, worker processes of one core on {os.cpu_count()} processors, "
        f"median of {options.turns * options.repeat} runs in seconds (efficiency)\n"
    )
    found = in_turns(
        options,
        {
            f"{source:24}{workers:8}": (source, f"local-cluster[{workers},1,1024]", False)
            for source in SOURCES[:2]
            for workers in (1, 2, 4)
        },
    )
    print(f"{'':24}{'workers':>8}" + "".join(f"{name:>18}" for name in QUERIES))
    for label, result in found.items():
        source, workers = label[:24], int(label[24:])
        seconds, first = medians(result, "wall"), medians(found[f"{source}{1:8}"], "wall")
        cells = (
            f"{seconds[name]:8.2f} ({first[name] / seconds[name] / workers:5.0%})"
            for name in QUERIES
        )
        print(label + "".join(f"{cell:>18}" for cell in cells))


def in_turns(
    options: argparse.Namespace, configurations: dict[str, tuple[str, str, bool]]
) -> dict[str, list[dict[str, Any]]]:
    """The results of each configuration, one for each turn. All answers must be equal."""
    found: dict[str, list[dict[str, Any]]] = {label: [] for label in configurations}
    for _ in range(options.turns):
        for label, configuration in configurations.items():
            found[label].append(run_child(options, *configuration))
    for name in QUERIES:
        results = (result for turns in found.values() for result in turns)
        answers = {json.dumps(result[name]["answer"]) for result in results}
        if len(answers) != 1:
            raise SystemExit(f"the answers of {name!r} differ: {answers}")
    if options.output:
        options.output.write_text(json.dumps(found, indent=1) + "\n")
    return found


def medians(turns: list[dict[str, Any]], clock: str) -> dict[str, float]:
    return {
        name: statistics.median(sample for turn in turns for sample in turn[name][clock])
        for name in QUERIES
    }


def run_child(
    options: argparse.Namespace, source: str, master: str, pinned: bool
) -> dict[str, Any]:
    """The figures of a source in a process of its own, which may use one processor if `pinned`."""
    command = [sys.executable, __file__, str(options.events), "--folder", str(options.folder)]
    command += ["--repeat", str(options.repeat), "--child", source, "--master", master]
    processor = {min(os.sched_getaffinity(0))}
    result = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        check=True,
        preexec_fn=(lambda: os.sched_setaffinity(0, processor)) if pinned else None,
    )
    return json.loads(result.stdout.splitlines()[-1])


def measure(options: argparse.Namespace) -> dict[str, Any]:
    spark = session(options)
    found = {}
    for name, (schema, text) in QUERIES.items():
        frame = load(spark, options, schema)
        frame.createOrReplaceTempView("events")
        wall, cpu, answer = [], [], None
        for _ in range(WARM_UPS + options.repeat):
            started, used = time.perf_counter(), processor_time()
            answer = [list(row) for row in spark.sql(text).collect()]
            wall.append(time.perf_counter() - started)
            cpu.append(processor_time() - used)
        found[name] = {"wall": wall[WARM_UPS:], "cpu": cpu[WARM_UPS:], "answer": answer}
    spark.stop()
    return found


def processor_time() -> float:
    """Seconds that this process and all below it have used, ended ones included."""
    parents, ticks = {}, {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        parents[int(entry.name)] = int(fields[1])
        ticks[int(entry.name)] = sum(map(int, fields[11:15]))
    total, family = 0, {os.getpid()}
    while family:
        total += sum(ticks.get(process, 0) for process in family)
        family = {process for process, parent in parents.items() if parent in family}
    return total / os.sysconf("SC_CLK_TCK")


def session(options: argparse.Namespace) -> Any:
    import foliodb.spark
    import pyspark
    from pyspark.sql import SparkSession

    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    os.environ["SPARK_LOCAL_IP"] = HOST
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.driver.host": HOST,
        "spark.driver.bindAddress": HOST,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.executor.memory": "1g",
        "spark.executor.cores": "1",
        "spark.sql.shuffle.partitions": "2",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    }
    builder = SparkSession.builder.master(options.master).appName("folio-bench")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    foliodb.spark.register(spark)
    return spark


def load(spark: Any, options: argparse.Namespace, schema: str) -> Any:
    if options.child == SOURCES[0]:
        lines = database_of(options, "folio") / "collections/events/meta/data.jsonl"
        return spark.read.schema(schema).json(str(lines))
    reader = spark.read.schema(schema).format("folio").option("collection", "events")
    return reader.load(str(database_of(options, options.child)))


if __name__ == "__main__":
    main()
