"""S3: databases in a bucket of moto's server, which checks the signature of each request."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import foliodb
import pytest
from serving import Answering, served

pytest.importorskip("moto")
boto3 = pytest.importorskip("boto3")

from moto.core.authorization import enable_iam_authentication  # noqa: E402
from moto.server import ThreadedMotoServer  # noqa: E402

BUCKET = "some-bucket"
POLICY = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}],
}


class Gate(Answering):
    """Hands requests to the server behind it, or does wrong what it was told."""

    behind: tuple[str, int]
    # What to do with a request, by its method and query: a status, "cut" after it was handed on,
    # or nothing. And what was asked.
    fault: Callable[[str, str], int | str | None]
    asked: list[tuple[str, str]]

    def handle_request(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"] or 0))
        query = self.path.partition("?")[2]
        self.asked.append((self.command, query))
        fault = type(self).fault(self.command, query)
        if isinstance(fault, int):
            return self.answer(fault)
        connection = http.client.HTTPConnection(*self.behind)
        connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        if fault == "cut":
            self.close_connection = True
            return None
        return self.answer(answer.status, content, **dict(answer.headers))

    do_GET = do_PUT = do_POST = do_DELETE = handle_request  # noqa: N815


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A bucket with a directory and an archive; the environment says where, and who asks."""
    folder = tmp_path_factory.mktemp("s3")
    with foliodb.open(folder / "mydata") as database:
        database["größe"].put_many((f"a{n}", {"n": n}) for n in range(10_000))
        database["few"]["x"] = {"n": 1}
        database.pack(folder / "my data.zds")
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        patch.setenv("AWS_REGION", "eu-central-1")
        patch.setenv("AWS_CONFIG_FILE", os.devnull)
        patch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
        admin = {"aws_access_key_id": "any", "aws_secret_access_key": "any"}
        s3 = boto3.client("s3", region_name="eu-central-1", **admin)
        s3.create_bucket(
            Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"}
        )
        fill(s3, folder)
        iam = boto3.client("iam", region_name="eu-central-1", **admin)
        iam.create_user(UserName="reader")
        iam.put_user_policy(
            UserName="reader", PolicyName="read", PolicyDocument=json.dumps(POLICY)
        )
        keys = iam.create_access_key(UserName="reader")["AccessKey"]
        patch.setenv("AWS_ACCESS_KEY_ID", keys["AccessKeyId"])
        patch.setenv("AWS_SECRET_ACCESS_KEY", keys["SecretAccessKey"])
        # From now on the server checks who asks.
        with enable_iam_authentication():
            own = {"aws_access_key_id": keys["AccessKeyId"], "aws_secret_access_key": keys["SecretAccessKey"]}
            yield boto3.client("s3", region_name="eu-central-1", endpoint_url=f"http://{host}:{port}", **own)
    server.stop()


@pytest.fixture
def gate(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Gate]]:
    """A gate before the server."""
    host, port = os.environ["AWS_ENDPOINT_URL"].removeprefix("http://").split(":")
    Gate.behind, Gate.asked, Gate.fault = (host, int(port)), [], lambda *_: None
    with served(Gate) as at:
        monkeypatch.setenv("AWS_ENDPOINT_URL", at)
        yield Gate


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database whose archive is sent in three parts."""
    path = tmp_path_factory.mktemp("large") / "large"
    with foliodb.open(path) as database:
        database["a"].put_many((f"a{n}", {"n": n, "pad": "x" * 200}) for n in range(80_000))
        database.collection("b", layout="files")["x"] = {"n": 1}
        database.pack(path.with_suffix(".zds"))
    return path


def fill(s3: Any, folder: Path) -> None:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            s3.upload_file(str(path), BUCKET, f"some/{path.relative_to(folder).as_posix()}")


@pytest.mark.parametrize("name", ["mydata", "mydata/", "my data.zds"])
def test_a_database_in_a_bucket(bucket: None, name: str) -> None:
    with foliodb.open(f"s3://{BUCKET}/some/{name}") as database:
        assert database.collections() == ["few", "größe"]
        assert database["größe"]["a77"] == {"_id": "a77", "n": 77}
        assert database["größe"].get("absent") is None
        assert sum(1 for _ in database["größe"]) == 10_000
        assert database.sql('SELECT sum(n) FROM "größe"').fetchall() == [(49_995_000,)]
        with pytest.raises(foliodb.ReadOnlyError, match="copy it from its URL"):
            database["few"]["y"] = {}


@pytest.mark.parametrize("faults", [[], [503, 500, 503, 429]])
def test_a_scan_fetches_ahead(gate: type[Gate], bucket: Any, large: Path, faults: list[int]) -> None:
    bucket.upload_file(str(large.with_suffix(".zds")), BUCKET, "scanned.zds")
    with foliodb.open(f"s3://{BUCKET}/scanned.zds") as database:
        assert database["a"]["a77"]["n"] == 77
        gate.asked.clear()
        left = list(faults)
        gate.fault = lambda *_: left.pop() if left else None
        query = "SELECT count(*), sum(n), sum(length(pad)) FROM a"
        assert database.sql(query).fetchall() == [(80_000, 3_199_960_000, 16_000_000)]
        assert not left
        assert len(gate.asked) <= 14 + len(faults)
        gate.asked.clear()
        # All of it is in the cache.
        assert sum(1 for _ in database["a"]) == 80_000
        assert not gate.asked


def test_what_is_not_there(bucket: None) -> None:
    for name in ["none.zds", "none"]:
        with pytest.raises(foliodb.FolioError):
            foliodb.open(f"s3://{BUCKET}/{name}")
    with foliodb.open(f"s3://{BUCKET}/some/mydata") as database, pytest.raises(
        foliodb.FolioError, match="did you mean"
    ):
        database.collection("fex")


def test_a_wrong_key_is_refused_and_not_shown(
    bucket: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong-secret")
    url = f"s3://{BUCKET}/some/my data.zds"
    with foliodb.open(":memory:") as database:
        for use in (
            lambda: foliodb.open(url),
            lambda: database.sql(f"FROM '{url}.jsonl'"),
            lambda: database["few"].import_file(f"{url}.jsonl"),
        ):
            with pytest.raises(foliodb.FolioError, match="answered 403") as raised:
                use()
            assert url in str(raised.value)
            assert "wrong-secret" not in str(raised.value)


def test_an_archive_is_packed_into_a_bucket(gate: type[Gate], bucket: Any, large: Path) -> None:
    url = f"s3://{BUCKET}/packed/an archive.zds"
    done: list[int] = []
    with foliodb.open(large) as database:
        report = database.pack(url, progress=lambda now, _: done.append(now))
    parts = [query for method, query in gate.asked if method == "PUT"]
    assert [query.partition("&")[0] for query in sorted(parts)] == ["partNumber=1", "partNumber=2", "partNumber=3"]
    assert done == sorted(done) and len(done) > 3
    # It has the bytes of one on this machine.
    packed = large.with_suffix(".zds").read_bytes()
    assert bucket.get_object(Bucket=BUCKET, Key="packed/an archive.zds")["Body"].read() == packed
    assert report.size == len(packed)
    with foliodb.open(url) as database:
        assert database.collections() == ["a", "b"]
        assert database["a"]["a77"]["n"] == 77
    # A small one is a single request, and replaces it.
    gate.asked.clear()
    with foliodb.open(":memory:") as database:
        database["c"]["x"] = {"n": 1}
        database.pack(url, compress=True)
    assert [method for method, _ in gate.asked if method != "GET"] == ["PUT"]
    with foliodb.open(url) as database:
        assert database.collections() == ["c"]


@pytest.mark.parametrize(("layout", "compress"), [("lines", True), ("files", False), ("files", True)])
def test_every_form_of_archive_is_sent_in_parts(
    gate: type[Gate], bucket: Any, tmp_path: Path, layout: Any, compress: bool
) -> None:
    with foliodb.open(tmp_path / "db") as database:
        # Text that does not compress to less than two parts, in members of many sizes.
        documents = ((f"a{n}", {"pad": os.urandom(n * 37 % 30_000).hex()}) for n in range(800))
        database.collection("a", layout=layout).put_many(documents)
        database.pack(tmp_path / "a.zds", compress=compress)
        database.pack(f"s3://{BUCKET}/packed/form.zds", compress=compress)
    assert len([query for method, query in gate.asked if query.startswith("partNumber=")]) >= 2
    packed = (tmp_path / "a.zds").read_bytes()
    assert bucket.get_object(Bucket=BUCKET, Key="packed/form.zds")["Body"].read() == packed


def test_the_command_packs_into_a_bucket(bucket: Any, large: Path) -> None:
    url = f"s3://{BUCKET}/packed/by-command.zds"
    command = [sys.executable, "-m", "foliodb", "pack", str(large), url]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"packed 80001 documents of 2 collections into {url}" in done.stdout + done.stderr
    with foliodb.open(url) as database:
        assert database["a"].count() == 80_000


def is_part(number: int) -> Callable[[str, str], bool]:
    return lambda method, query: method == "PUT" and query.startswith(f"partNumber={number}&")


def is_completion(method: str, query: str) -> bool:
    return method == "POST" and query.startswith("uploadId=")


@pytest.mark.parametrize(
    ("is_hit", "fault", "count"),
    [(is_part(2), 503, 2), (is_part(1), "cut", 1), (is_completion, 500, 3), (is_completion, "cut", 1)],
)
def test_an_upload_goes_on_after_what_passes(
    gate: type[Gate], large: Path, is_hit: Any, fault: Any, count: int
) -> None:
    url = f"s3://{BUCKET}/packed/passes.zds"
    left = [fault] * count
    gate.fault = lambda method, query: left.pop() if is_hit(method, query) and left else None
    with foliodb.open(large, "r") as database:
        database.pack(url)
    assert not left
    with foliodb.open(url) as database:
        assert database["a"].count() == 80_000


@pytest.mark.parametrize(
    ("is_hit", "fault", "told"),
    [(is_part(2), 403, "answered 403"), (is_part(3), 503, "answered 503 .*5 times"), (is_completion, 403, "answered 403")],
)
def test_an_upload_that_fails_leaves_nothing(
    gate: type[Gate], bucket: Any, large: Path, is_hit: Any, fault: int, told: str
) -> None:
    key = "packed/fails.zds"
    bucket.put_object(Bucket=BUCKET, Key=key, Body=b"as before")
    gate.fault = lambda method, query: fault if is_hit(method, query) else None
    with foliodb.open(large, "r") as database, pytest.raises(foliodb.FolioError, match=told):
        database.pack(f"s3://{BUCKET}/{key}")
    check_nothing_is_left(bucket, key)


def test_an_upload_that_is_stopped_leaves_nothing(gate: type[Gate], bucket: Any, large: Path) -> None:
    key = "packed/stopped.zds"
    bucket.put_object(Bucket=BUCKET, Key=key, Body=b"as before")

    def stop(done: int, _: int) -> None:
        if done > 12 << 20:
            raise InterruptedError

    with foliodb.open(large, "r") as database, pytest.raises(InterruptedError):
        database.pack(f"s3://{BUCKET}/{key}", progress=stop)
    assert "PUT" in [method for method, _ in gate.asked], "a part was sent"
    check_nothing_is_left(bucket, key)


def check_nothing_is_left(bucket: Any, key: str) -> None:
    """No part of an upload, and the file as it was."""
    assert bucket.get_object(Bucket=BUCKET, Key=key)["Body"].read() == b"as before"
    assert bucket.list_multipart_uploads(Bucket=BUCKET).get("Uploads", []) == []


def test_an_upload_without_the_right_key(bucket: Any, large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong-secret")
    url = f"s3://{BUCKET}/packed/none.zds"
    with foliodb.open(large, "r") as database, pytest.raises(foliodb.FolioError, match="answered 403") as raised:
        database.pack(url)
    assert f'cannot upload "{url}"' in str(raised.value)
    assert "SignatureDoesNotMatch" in str(raised.value)
    assert "wrong-secret" not in str(raised.value)


def test_where_nothing_is_uploaded(bucket: Any, large: Path) -> None:
    with foliodb.open(large, "r") as database:
        for url, error, told in [
            ("https://me:hidden@host/a.zds", foliodb.UnsupportedError, "pack to a file, and copy it there"),
            ("hf://datasets/ann/data/a.zds", foliodb.UnsupportedError, "upload it by `hf upload`"),
            ("ftp://me:hidden@host/a.zds", foliodb.UnsupportedError, "ftp:// is not"),
            (f"s3://{BUCKET}", foliodb.InvalidInputError, "write s3://bucket/mydata.zds"),
            (f"s3://{BUCKET}/some/mydata", foliodb.InvalidInputError, "is a directory"),
            (f"s3://{BUCKET}/new/", foliodb.InvalidInputError, "is a directory"),
            ("s3://no-such-bucket/a.zds", foliodb.FolioError, "answered 40"),
        ]:
            with pytest.raises(error, match=told) as raised:
                database.pack(url)
            assert "hidden" not in str(raised.value)
