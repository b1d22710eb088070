"""A scan with projection over `s3://` beside the same scan of a local file and the transfer of its bytes.

    python bench/python/s3_scan.py EVENTS.jsonl

EVENTS.jsonl are events of JSONBench, or such as the suite `asking` writes where `ASKING_FILES` says.
They are imported and packed into an archive once, in `--folder`, which moto's server on loopback then
has in a bucket. Needs `foliodb`, the command `folio`, moto and boto3: what is Python's is in the
environment of the engines' tests, build/engines.

Each sample is a process of its own, so nothing is cached but by the system. Inside the timer: opening the
archive and the statement, which groups by a field and counts; the transfer is boto3's download of the
archive with its defaults, parts of 8 MiB on ten threads, into memory. The sources take turns. Answers must
be equal. The server shares the machine: it takes most of the time.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BUCKET = "events"
KEY = "events.zds"
STATEMENT = (
    "SELECT commit.collection AS event, count(*) AS n FROM events WHERE kind = 'commit' "
    "GROUP BY event ORDER BY n DESC, event"
)
SOURCES = ("local", "transfer", "s3")


def main() -> None:
    options = arguments()
    if options.child:
        print(json.dumps(measure(options.child, options.folder / KEY)))
        return
    archive = prepare(options)
    found: dict[str, list[float]] = {source: [] for source in SOURCES}
    with served(archive):
        for turn in range(options.turns + 1):
            answers = set()
            for source in SOURCES:
                seconds, answer = run_child(options, source)
                answers |= {json.dumps(answer)} if answer else set()
                if turn > 0:  # the first one warms up
                    found[source].append(seconds)
            if len(answers) != 1:
                raise SystemExit(f"the answers differ: {answers}")
    report(archive, found)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("events", type=Path, nargs="?")
    parser.add_argument("--folder", type=Path, default=Path("build/bench/s3"))
    parser.add_argument("--folio", default="folio", help="the command that imports")
    parser.add_argument("-t", "--turns", type=int, default=5)
    parser.add_argument("--child", choices=SOURCES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.folder = options.folder.resolve()
    return options


def prepare(options: argparse.Namespace) -> Path:
    """Makes the archive, unless an earlier run has. It has the types of its documents, as every database
    has that was queried once."""
    import foliodb

    archive = options.folder / KEY
    if not archive.exists():
        options.folder.mkdir(parents=True, exist_ok=True)
        path = options.folder / "database"
        command = [options.folio, "import", "-c", "events", "--generate-ids", "--quiet"]
        subprocess.run([*command, str(path), str(options.events)], check=True)
        with foliodb.open(path) as database:
            database["events"].fields()
            database.pack(archive)
    return archive


@contextmanager
def served(archive: Path) -> Iterator[None]:
    """A server of S3, in a process of its own, that has the archive."""
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        address = next(word for line in server.stderr for word in line.split() if "http://" in word)
        # A server whose log nobody reads stops when the pipe is full.
        threading.Thread(target=server.stderr.read, daemon=True).start()
        os.environ |= {
            "AWS_ENDPOINT_URL": address,
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "any",
            "AWS_SECRET_ACCESS_KEY": "any",
        }
        client = s3_client()
        client.create_bucket(Bucket=BUCKET)
        client.upload_file(str(archive), BUCKET, KEY)
        yield
    finally:
        server.kill()


def s3_client() -> Any:
    import boto3

    return boto3.client("s3", region_name=os.environ["AWS_REGION"])


def run_child(options: argparse.Namespace, source: str) -> tuple[float, Any]:
    command = [sys.executable, __file__, "--folder", str(options.folder), "--child", source]
    result = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return tuple(json.loads(result.stdout))


def measure(source: str, archive: Path) -> tuple[float, Any]:
    """The seconds of a sample, and its answer."""
    import foliodb

    if source == "transfer":
        client, received = s3_client(), io.BytesIO()
        started = time.perf_counter()
        client.download_fileobj(BUCKET, KEY, received)
        return time.perf_counter() - started, None
    place = f"s3://{BUCKET}/{KEY}" if source == "s3" else archive
    started = time.perf_counter()
    with foliodb.open(place, mode="r") as database:
        rows = [list(row) for row in database.sql(STATEMENT)]
    return time.perf_counter() - started, rows


def report(archive: Path, found: dict[str, list[float]]) -> None:
    seconds = {source: statistics.median(samples) for source, samples in found.items()}
    print(f"{KEY}, {archive.stat().st_size / 1e6:.0f} MB, medians of {len(found['s3'])} in seconds\n")
    for source, own in seconds.items():
        print(f"{source:10}{own:8.2f}   {min(found[source]):.2f} to {max(found[source]):.2f}")
    ratio = seconds["s3"] / (seconds["local"] + seconds["transfer"])
    print(f"\ns3 / (local + transfer): {ratio:.2f}")


if __name__ == "__main__":
    main()
