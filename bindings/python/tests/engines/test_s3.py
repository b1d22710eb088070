"""S3: databases in a bucket of moto's server, which checks the signature of each request."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import foliodb
import pytest

pytest.importorskip("moto")
boto3 = pytest.importorskip("boto3")

from moto.core.authorization import enable_iam_authentication  # noqa: E402
from moto.server import ThreadedMotoServer  # noqa: E402

BUCKET = "some-bucket"
POLICY = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}],
}


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
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
            yield
    server.stop()


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
    with pytest.raises(foliodb.FolioError, match="answered 403") as raised:
        foliodb.open(f"s3://{BUCKET}/some/my data.zds")
    assert "wrong-secret" not in str(raised.value)
