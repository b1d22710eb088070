"""Google Cloud Storage, Azure Blob Storage and the Hugging Face Hub, by a server that answers as they do.

The servers of these providers are in no package index, so this one has of each what a reader
needs: ranges, listings, redirects, and a look at who asks.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlencode, urlsplit
from xml.sax.saxutils import escape

import foliodb
import pytest
from foliodb import zds
from serving import Answering, served

TOKEN = "secret-token"
SIGNATURE = "secret+signature="
ACCOUNT_KEY = base64.b64encode(b"secret account key").decode()
SERVICE_ACCOUNT = Path(__file__).parents[3] / "conformance/clouds/service-account.json"

# The public half of the key in that file, of RFC 7515: a modulus; the exponent is 65537.
MODULUS = int.from_bytes(
    base64.urlsafe_b64decode(
        "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZ"
        "S-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2"
        "R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcD"
        "TW9gb54h4FRWyuXpoQ=="
    )
)

# What is before a SHA-256 sum that RSA signs (RFC 8017, 9.2).
DIGEST_INFO = bytes.fromhex("3031300d060960864801650304020105000420")


class Cloud(Answering):
    """The bucket `box` of each provider, and a repository, over a folder."""

    folder: Path
    asked: list[tuple[str, str | None]]
    # Parts of the upload that is under way.
    parts: dict[str, bytes] = {}
    # The tokens that are valid, what the next requests for one are answered, and for how long one is
    # said to be valid.
    tokens: set[str] = {TOKEN}
    faults: list[int] = []
    lifetime = 3600

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        path, query = unquote(url.path), parse_qs(url.query)
        authorization = self.headers["authorization"]
        self.asked.append((path, authorization))
        if path.startswith("/cdn/"):
            # Another host would not be told who asks.
            return self.send(path.removeprefix("/cdn/"))
        if path.startswith("/plain/") and authorization and query.get("sig") == ["hidden"]:
            return self.send(path.removeprefix("/plain/"))
        is_azure = path == "/azure/box" or path.startswith("/azure/box/")
        if refusal := self.refusal(is_azure, query, b""):
            return self.answer(refusal)
        if query.get("list-type") == ["2"] or query.get("comp") == ["list"]:
            return self.names(query["prefix"][0], is_azure, is_deep="delimiter" not in query)
        for start in ("/azure/box/", "/google/box/", "/files/"):
            if path.startswith(start):
                return self.send(path.removeprefix(start))
        start = "/api/datasets/ann/data/tree/v1"
        if path.startswith(start):
            return self.tree(path.removeprefix(start).strip("/"), int(query.get("cursor", ["0"])[0]))
        start = "/datasets/ann/data/resolve/v1/"
        if path.startswith(start):
            port = self.server.server_address[1]
            # Large files are on another host, small ones at another path.
            host = f"http://localhost:{port}/cdn/" if path.endswith(".zds") else "/files/"
            return self.answer(302, location=host + url.path.removeprefix(start))
        return self.answer(404)

    def change(self) -> None:
        """Writes of a bucket: whole files, and parts that appear with the last request."""
        body = self.rfile.read(int(self.headers["content-length"] or 0))
        url = urlsplit(self.path)
        path, query = unquote(url.path), parse_qs(url.query, keep_blank_values=True)
        if path == "/token":
            return self.token(parse_qs(body.decode()))
        is_azure = path.startswith("/azure/box/")
        name = path.removeprefix("/azure/box/" if is_azure else "/google/box/")
        what = query.get("comp", [""])[0]
        if refusal := self.refusal(is_azure, query, body):
            return self.answer(refusal)
        self.asked.append((f"{self.command} {what or ' '.join(query)}", None))
        if "uploads" in query:
            return self.answer(200, b"<Result><UploadId>a/b&amp;c</UploadId></Result>")
        if self.command == "PUT" and (what == "block" or "partNumber" in query):
            part = query["blockid"][0] if is_azure else query["partNumber"][0]
            self.parts[part] = body
            return self.answer(201, etag=f'"{hashlib.md5(body).hexdigest()}"')
        if what == "blocklist":
            body = b"".join(self.parts[part] for part in re.findall("<Latest>(.*?)</Latest>", body.decode()))
        elif "uploadId" in query:
            if query["uploadId"] != ["a/b&c"]:
                return self.answer(404)
            listed = re.findall('<PartNumber>(.*?)</PartNumber><ETag>"(.*?)"</ETag>', body.decode())
            assert all(hashlib.md5(self.parts[part]).hexdigest() == etag for part, etag in listed)
            body = b"".join(self.parts[part] for part, _ in listed)
        elif is_azure and self.headers["x-ms-blob-type"] != "BlockBlob":
            return self.answer(400)
        self.parts.clear()
        (self.folder / name).write_bytes(body)
        return self.answer(201)

    do_PUT = do_POST = change  # noqa: N815

    def refusal(self, is_azure: bool, query: dict[str, list[str]], body: bytes) -> int | None:
        """What is answered to who asks without a proof."""
        proof = self.headers["authorization"] or ""
        if is_azure:
            is_signed = proof == self.shared_key(query, body) or query.get("sig") == [SIGNATURE]
            return None if is_signed and self.headers["x-ms-version"] else 403
        return None if proof.removeprefix("Bearer ") in self.tokens else 401

    def shared_key(self, query: dict[str, list[str]], body: bytes) -> str:
        """The header of a request as Azure computes it."""
        names = "encoding language length md5 type".split()
        values = [self.headers[f"content-{name}"] for name in names]
        values[2] = str(len(body)) if body else None
        names = "date if-modified-since if-match if-none-match if-unmodified-since range".split()
        values += [self.headers[name] for name in names]
        own = sorted((name.lower(), value) for name, value in self.headers.items() if name.lower().startswith("x-ms-"))
        lines = [self.command, *(value or "" for value in values), *(f"{name}:{value}" for name, value in own)]
        lines.append(f"/ann{urlsplit(self.path).path}")
        lines += [f"{name}:{','.join(values)}" for name, values in sorted(query.items())]
        sum = hmac.digest(base64.b64decode(ACCOUNT_KEY), "\n".join(lines).encode(), "sha256")
        return f"SharedKey ann:{base64.b64encode(sum).decode()}"

    def token(self, form: dict[str, list[str]]) -> None:
        """A new token for who proves to be the account. Others stay valid."""
        self.asked.append(("/token", None))
        if self.faults:
            return self.answer(self.faults.pop(0))
        assert form["grant_type"] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]
        [assertion] = form["assertion"]
        text, _, signature = assertion.rpartition(".")
        head, claim = (json.loads(base64.urlsafe_b64decode(part + "==")) for part in text.split("."))
        signed = pow(int.from_bytes(base64.urlsafe_b64decode(signature + "=="), "big"), 65537, MODULUS)
        info = DIGEST_INFO + hashlib.sha256(text.encode()).digest()
        padded = b"\0\1" + b"\xff" * (253 - len(info)) + b"\0" + info
        is_known = claim["iss"] == "reader@example.iam.gserviceaccount.com" and abs(claim["iat"] - time.time()) < 60
        if head["alg"] != "RS256" or signed.to_bytes(256, "big") != padded or not is_known:
            return self.answer(400, b'{"error":"invalid_grant","error_description":"secret"}')
        assert claim["aud"] == f"http://{self.headers['host']}/token"
        assert claim["scope"] == "https://www.googleapis.com/auth/devstorage.read_write"
        assert claim["exp"] == claim["iat"] + 3600
        token = f"secret-{len(self.asked)}"
        type(self).tokens = self.tokens | {token}
        return self.answer(200, json.dumps({"access_token": token, "expires_in": self.lifetime}).encode())

    def send(self, name: str) -> None:
        file = self.folder / name
        if not file.is_file():
            return self.answer(404)
        body = file.read_bytes()
        tag = f'"{hashlib.md5(body).hexdigest()}"'
        first, last = self.headers["range"].removeprefix("bytes=").split("-")
        start = int(first) if first else max(0, len(body) - int(last))
        end = min(int(last) + 1 if first and last else len(body), len(body))
        if start >= end:
            return self.answer(416, **{"content-range": f"bytes */{len(body)}", "etag": tag})
        place = f"bytes {start}-{end - 1}/{len(body)}"
        return self.answer(206, body[start:end], **{"content-range": place, "etag": tag})

    def names(self, prefix: str, is_azure: bool, is_deep: bool) -> None:
        path = self.folder / prefix
        found = sorted(path.rglob("*") if is_deep else path.iterdir()) if path.is_dir() else []
        blob, folder = ("Blob", "BlobPrefix") if is_azure else ("Contents", "CommonPrefixes")
        key, start = ("Name", "Name") if is_azure else ("Key", "Prefix")

        def element(entry: Path) -> str:
            name = escape(prefix + entry.relative_to(path).as_posix())
            if entry.is_dir():
                return "" if is_deep else f"<{folder}><{start}>{name}/</{start}></{folder}>"
            body, time = entry.read_bytes(), "2026-11-28T10:00:00.000Z"
            tag, size = hashlib.md5(body).hexdigest(), len(body)
            about = (
                f"<Properties><Last-Modified>Sat, 28 Nov 2026 10:00:00 GMT</Last-Modified><Etag>{tag}</Etag>"
                f"<Content-Length>{size}</Content-Length></Properties>"
                if is_azure
                else f"<LastModified>{time}</LastModified><ETag>&quot;{tag}&quot;</ETag><Size>{size}</Size>"
            )
            return f"<{blob}><{key}>{name}</{key}>{about}</{blob}>"

        self.answer(200, f"<Names>{''.join(map(element, found))}</Names>".encode())

    def tree(self, name: str, start: int) -> None:
        """A page of two names of the Hub. The link to the next one is as a mirror would hand it on."""
        folder = self.folder / name
        if not folder.is_dir():
            return self.answer(404, b'{"error":"EntryNotFound"}')
        found = sorted(folder.iterdir())
        entries = [
            {
                "type": "directory" if entry.is_dir() else "file",
                "oid": "0",
                "size": 0,
                "path": entry.relative_to(self.folder).as_posix(),
            }
            for entry in found[start : start + 2]
        ]
        headers = {}
        if start + 2 < len(found):
            query = urlencode({"expand": "false", "cursor": start + 2})
            headers["link"] = f'<https://hub.invalid/api/datasets/ann/data/tree/v1?{query}>; rel="next"'
        self.answer(200, json.dumps(entries).encode(), **headers)


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[type[Cloud]]:
    """A folder with a directory and an archive; the environment says where, and who asks."""
    folder = tmp_path_factory.mktemp("cloud")
    with foliodb.open(folder / "mydata") as database:
        database["users"].put_many((f"a{n}", {"n": n}) for n in range(3_000))
        notes = database.collection("notes", layout="files")
        notes["x-y"] = {"n": 1}
        notes.put_many((f"n{n}", {"n": n}) for n in range(7))
        database.pack(folder / "my data.zds")
    Cloud.folder, Cloud.asked = folder, []
    with served(Cloud) as at, pytest.MonkeyPatch.context() as patch:
        patch.setenv("STORAGE_EMULATOR_HOST", f"{at}/google")
        patch.setenv("GOOGLE_OAUTH_ACCESS_TOKEN", TOKEN)
        patch.setenv("AZURE_STORAGE_ENDPOINT", f"{at}/azure")
        patch.setenv("AZURE_STORAGE_SAS_TOKEN", f"sv=1&sig={SIGNATURE}".replace("+", "%2B"))
        patch.setenv("HF_ENDPOINT", at)
        patch.setenv("HF_TOKEN", TOKEN)
        yield Cloud


@pytest.fixture
def service_account(cloud: type[Cloud], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """The file with the key of an account, in place of a token."""
    account = json.loads(SERVICE_ACCOUNT.read_text())
    account["token_uri"] = os.environ["HF_ENDPOINT"] + "/token"
    path = tmp_path / "account.json"
    path.write_text(json.dumps(account))
    monkeypatch.delenv("GOOGLE_OAUTH_ACCESS_TOKEN")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(path))
    cloud.tokens = set()
    yield path
    cloud.tokens, cloud.faults, cloud.lifetime = {TOKEN}, [], 3600


@pytest.fixture
def account_key(cloud: type[Cloud], monkeypatch: pytest.MonkeyPatch) -> None:
    """The key of an account, in place of a signature."""
    monkeypatch.delenv("AZURE_STORAGE_SAS_TOKEN")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT", "ann")
    monkeypatch.setenv("AZURE_STORAGE_KEY", ACCOUNT_KEY)


@pytest.fixture
def connection_string(cloud: type[Cloud], monkeypatch: pytest.MonkeyPatch) -> None:
    """The same in one variable, where the others are wrong."""
    parts = {"BlobEndpoint": os.environ["AZURE_STORAGE_ENDPOINT"], "AccountName": "ann", "AccountKey": ACCOUNT_KEY}
    text = ";".join(f"{name}={value}" for name, value in parts.items())
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", text)
    monkeypatch.setenv("AZURE_STORAGE_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", "sig=wrong")


@pytest.fixture(params=["gs token", "gs service_account", "az signature", "az account_key", "az connection_string"])
def bucket(cloud: type[Cloud], request: pytest.FixtureRequest) -> str:
    """Every kind of bucket, with every kind of proof."""
    scheme, proof = request.param.split()
    if proof not in ("token", "signature"):
        request.getfixturevalue(proof)
    return f"{scheme}://box"


@pytest.mark.parametrize("name", ["mydata", "my data.zds"])
def test_a_database_in_a_bucket(cloud: type[Cloud], bucket: str, name: str) -> None:
    with foliodb.open(f"{bucket}/{name}") as database:
        assert sorted(database.collections()) == ["notes", "users"]
        assert database["users"]["a7"] == {"_id": "a7", "n": 7}
        assert database["notes"]["x-y"]["n"] == 1
        assert database.sql("SELECT sum(n) FROM users").fetchone() == (4_498_500,)
        assert database.path == f"{bucket}/{name}"
        assert repr(database) == f"foliodb.open('{bucket}/{name}', mode='rw')"
        with pytest.raises(foliodb.ReadOnlyError):
            database["users"]["new"] = {}
        again = pickle.loads(pickle.dumps(database))
        assert again["users"]["a8"]["n"] == 8


@pytest.mark.parametrize("name", ["moved", "moved.zds"])
def test_a_new_handle_sees_what_is_in_a_bucket_now(cloud: type[Cloud], bucket: str, name: str, tmp_path: Path) -> None:
    place = cloud.folder / name

    def put(count: int) -> None:
        with foliodb.open(tmp_path / f"new{count}") as database:
            database["a"].put_many((f"a{n}", {"n": n}) for n in range(count))
            database["b"].put_many((f"b{n}", {"n": n, "pad": "x" * 999}) for n in range(count))
            if name.endswith(".zds"):
                database.pack(place)
        if not name.endswith(".zds"):
            shutil.rmtree(place, ignore_errors=True)
            shutil.copytree(tmp_path / f"new{count}", place)

    put(3_000)
    url = f"{bucket}/{name}"
    with foliodb.open(url) as before, foliodb.open(url) as same:
        assert before["a"]["a7"]["n"] == 7
        cloud.asked.clear()
        assert same["a"]["a7"]["n"] == 7
        assert cloud.asked == [], "what one handle has read another one need not ask for"
        put(5_000)
        with foliodb.open(url) as now:
            assert sum(1 for _ in now["a"]) == 5_000
            assert now.sql("SELECT sum(n) FROM a").fetchone() == (12_497_500,)
        # What was read is of one state, and what was not read yet is gone with it.
        assert before["a"]["a7"]["n"] == 7
        with pytest.raises(foliodb.ConflictError, match="open it again"):
            sum(1 for _ in before["b"])


def test_an_archive_is_packed_into_a_bucket(cloud: type[Cloud], bucket: str, tmp_path: Path) -> None:
    with foliodb.open(tmp_path / "large") as database:
        database["users"].put_many((f"a{n}", {"n": n, "pad": "x" * 2000}) for n in range(9_000))
        cloud.asked.clear()
        database.pack(f"{bucket}/packed.zds")
        changes = [text for text, _ in cloud.asked if not text.startswith("/")]
        assert len([text for text in changes if text.startswith("PUT")]) >= 3
        database.pack(tmp_path / "packed.zds")
    assert (cloud.folder / "packed.zds").read_bytes() == (tmp_path / "packed.zds").read_bytes()
    with foliodb.open(tmp_path / "small") as database:
        database["few"]["x"] = {"n": 1}
        database.pack(f"{bucket}/packed.zds")
    with foliodb.open(f"{bucket}/packed.zds") as database:
        assert database["few"]["x"]["n"] == 1
    (cloud.folder / "packed.zds").unlink()


def test_secrets_of_a_url_open_it_again_and_are_not_shown(cloud: type[Cloud]) -> None:
    host = os.environ["HF_ENDPOINT"].removeprefix("http://")
    database = foliodb.open(f"http://ann:hidden@{host}/plain/my data.zds?sig=hidden")
    assert pickle.loads(pickle.dumps(database))["users"]["a7"]["n"] == 7
    for text in (str(database.path), repr(database), database._repr_html_()):
        assert f"http://{host}/plain/my data.zds" in text
        assert "hidden" not in text
    database.close()
    with pytest.raises(foliodb.ClosedError) as raised:
        database["users"]["a7"]
    assert "hidden" not in str(raised.value)


def test_a_worker_has_the_secrets_of_a_url_in_its_environment(
    cloud: type[Cloud], monkeypatch: pytest.MonkeyPatch
) -> None:
    host = os.environ["HF_ENDPOINT"].removeprefix("http://")
    whole = f"http://ann:hidden@{host}/plain/my%20data.zds?sig=hidden"
    with foliodb.open(whole) as database:
        part = pickle.dumps(database.partitions("users", 1)[0])
    assert b"hidden" not in part
    with pytest.raises(foliodb.FolioError, match="answered 401.* set FOLIO_SECRET_URLS") as raised:
        foliodb.read_partition(pickle.loads(part))
    assert "hidden" not in str(raised.value)
    monkeypatch.setenv("FOLIO_SECRET_URLS", f"http://{host}/other?sig=other {whole}")
    assert ("a7", 7) in foliodb.read_partition(pickle.loads(part)).fetchall()


@pytest.mark.parametrize("name", ["mydata", "my data.zds"])
def test_a_database_in_a_repository(cloud: type[Cloud], name: str) -> None:
    cloud.asked.clear()
    with foliodb.open(f"hf://datasets/ann/data@v1/{name}") as database:
        assert database["users"]["a7"] == {"_id": "a7", "n": 7}
        assert sorted(database.collections()) == ["notes", "users"]
        assert sorted(database["notes"].keys()) == ["n0", "n1", "n2", "n3", "n4", "n5", "n6", "x-y"]
        assert database["notes"]["n3"]["n"] == 3
        assert "absent" not in database["notes"]
        with pytest.raises(foliodb.NotFoundError, match='did you mean "users"'):
            database.collection("user")
    told = {authorization for path, authorization in cloud.asked if path.startswith("/cdn/")}
    # The other host is asked for the archive only, and is not told the token.
    assert told == ({None} if name.endswith(".zds") else set())


def test_a_cache_on_disk(cloud: type[Cloud], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLIO_CACHE_DIR", str(tmp_path / "cache"))

    def requests() -> int:
        cloud.asked.clear()
        with foliodb.open("gs://box/mydata/") as database:
            assert database["users"]["a7"] == {"_id": "a7", "n": 7}
            assert sum(document["n"] for document in database["users"].values()) == 4_498_500
        return len(cloud.asked)

    first = requests()
    second = requests()
    assert second < first
    zds.clear_cache()
    assert not (tmp_path / "cache/ranges").exists()
    assert requests() == first
    monkeypatch.setenv("FOLIO_CACHE_SIZE", "much")
    with pytest.raises(foliodb.FolioError, match='FOLIO_CACHE_SIZE is a number of bytes, and not "much"'):
        requests()


def test_a_data_set_at_a_url(cloud: type[Cloud]) -> None:
    for place in ("gs://box/mydata", "azure://box/my data.zds", "hf://ann/data@v1/my data.zds"):
        assert sorted(zds.list_remote_collections(place)) == ["notes", "users"]
        assert zds.load_remote(place, "users")[7] == {"n": 7}
        with pytest.raises(FileNotFoundError, match='no collection "none" in .*; available: "notes" and "users"'):
            zds.load_remote(place, "none")
    directory = "hf://ann/data/mydata"
    assert zds.load_remote(directory, "users", revision="v1")[7] == {"n": 7}
    assert len(zds.load_remote(directory, revision="v1")) == 8  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError, match='no collection "none" in "hf://datasets/ann/data@v1/mydata"'):
        zds.load_remote(directory, "none", revision="v1")


def test_a_file_in_a_statement(cloud: type[Cloud]) -> None:
    lines = "mydata/collections/users/meta/data.jsonl"
    with foliodb.open(":memory:") as database:
        for place in ("gs://box", "az://box", "hf://datasets/ann/data@v1"):
            assert database.sql(f"SELECT count(*) FROM '{place}/{lines}'").fetchone() == (3_000,)


def test_a_file_is_imported(cloud: type[Cloud], tmp_path: Path) -> None:
    lines = "gs://box/mydata/collections/users/meta/data.jsonl"
    with foliodb.open(tmp_path / "db") as database:
        assert database["users"].import_file(lines).inserted == 3_000
    command = [sys.executable, "-m", "foliodb", "import", str(tmp_path / "db"), "-c", "again", lines]
    subprocess.run(command, check=True, capture_output=True)
    with foliodb.open(tmp_path / "db") as database:
        assert database["again"].count() == 3_000


@pytest.mark.parametrize(
    ("variable", "url"),
    [
        ("GOOGLE_OAUTH_ACCESS_TOKEN", "gs://box/mydata"),
        ("AZURE_STORAGE_SAS_TOKEN", "az://box/mydata"),
        ("HF_TOKEN", "hf://datasets/ann/data@v1/my data.zds"),
    ],
)
def test_who_asks_is_needed_and_never_printed(
    cloud: type[Cloud], monkeypatch: pytest.MonkeyPatch, variable: str, url: str
) -> None:
    monkeypatch.setenv(variable, "sig=wrong-secret")
    with pytest.raises(foliodb.FolioError) as raised:
        foliodb.open(url)["users"]["a7"]
    errors = [raised]
    if not url.startswith("hf:"):
        with foliodb.open(":memory:") as database, pytest.raises(foliodb.FolioError) as raised:
            database.pack(f"{url}.zds")
        errors.append(raised)
    for text in (str(error.value) for error in errors):
        assert "the server answered 40" in text
        assert url in text
        assert "secret" not in text


def test_a_token_of_a_service_account_is_used_until_it_ends(cloud: type[Cloud], service_account: Path) -> None:
    def tokens() -> int:
        return [path for path, _ in cloud.asked].count("/token")

    cloud.asked.clear()
    with foliodb.open("gs://box/mydata") as database:
        assert sum(1 for _ in database["users"]) == 3_000
        assert len(cloud.asked) > 4
        assert tokens() == 1
    # It is not used in its last minute. The next one lives long, however slow the machine is.
    cloud.lifetime = 61
    with foliodb.open("gs://box/mydata") as database:
        cloud.lifetime = 3600
        time.sleep(1.1)
        cloud.asked.clear()
        assert database["users"]["a7"]["n"] == 7
        assert len(cloud.asked) > 1
        assert tokens() == 1
    # A server of tokens that is busy is asked again; what it cannot find is no missing file.
    cloud.faults = [503, 429]
    foliodb.open("gs://box/mydata").close()
    cloud.faults = [404]
    with pytest.raises(foliodb.FolioError, match="no token for the service account: the server answered 404"):
        foliodb.open("gs://box/mydata")


def test_keys_are_checked_and_never_printed(
    cloud: type[Cloud], monkeypatch: pytest.MonkeyPatch, service_account: Path, account_key: None
) -> None:
    account = json.loads(service_account.read_text())
    secrets = [ACCOUNT_KEY, account["private_key"][100:120], "secret", "c2VjcmV0", "assertion"]

    def check(url: str, told: str) -> None:
        with pytest.raises(foliodb.FolioError, match=told) as raised:
            foliodb.open(url)["users"]["a7"]
        with foliodb.open(":memory:") as database, pytest.raises(foliodb.FolioError, match=told) as packed:
            database.pack(f"{url}.zds")
        with foliodb.open(":memory:") as database, pytest.raises(foliodb.FolioError, match=told) as asked:
            database.sql(f"FROM '{url}.jsonl'")
        with foliodb.open(":memory:") as database, pytest.raises(foliodb.FolioError, match=told) as imported:
            database["users"].import_file(f"{url}.jsonl")
        for error in (raised, packed, asked, imported):
            text = "".join(traceback.format_exception(error.value))
            assert not any(secret in str(error.value) for secret in secrets), text

    for change, told in [
        ({"client_email": "nobody"}, r"400 Bad Request \(invalid_grant\); check the key"),
        ({"private_key": "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----"}, "it is not an RSA key"),
        ({"private_key": "secret"}, "is not in PEM"),
        ({"type": "authorized_user"}, r"kind authorized_user(?s:.*)keys of service accounts are read"),
    ]:
        service_account.write_text(json.dumps(account | change))
        check("gs://box/mydata", told)
    service_account.unlink()
    check("gs://box/mydata", "GOOGLE_APPLICATION_CREDENTIALS names the file .* missing")
    for key, told in [("c2VjcmV0", "the server answered 403"), ("secret!", "not in base 64")]:
        monkeypatch.setenv("AZURE_STORAGE_KEY", key)
        check("az://box/mydata", told)


def test_what_is_not_named_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AZURE_STORAGE_ENDPOINT", "AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_ACCOUNT_NAME"):
        monkeypatch.delenv(name, raising=False)
    for url, told in [
        ("az://box/mydata", "set AZURE_STORAGE_ACCOUNT"),
        ("hf://datasets/ann", "write hf://datasets/owner/name/path"),
        ("gs:///mydata", "write gs://bucket/path"),
    ]:
        with pytest.raises(foliodb.InvalidInputError, match=told):
            foliodb.open(url)


class Elsewhere(Answering):
    """S3, which redirects to nowhere, and says in a header which region the bucket is in."""

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers["content-length"] or 0))
        self.answer(301, b"<Error><Code>PermanentRedirect</Code></Error>", **{"x-amz-bucket-region": "eu-north-1"})

    do_PUT = do_POST = do_GET  # noqa: N815


def test_the_settings_of_s3_say_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    database = foliodb.open(tmp_path / "db")

    def check(told: str) -> None:
        for use in (
            lambda: foliodb.open("s3://box/mydata"),
            lambda: foliodb.open("s3://box/mydata.zds"),
            lambda: database.sql("FROM 's3://box/x.jsonl'"),
            lambda: database.pack("s3://box/x.zds"),
        ):
            with pytest.raises(foliodb.FolioError) as raised:
                use()
            assert told in " ".join(str(raised.value).split()), told

    with served(Elsewhere) as at:
        monkeypatch.setenv("AWS_ENDPOINT_URL", at)
        check('the bucket is in the region "eu-north-1"; set AWS_REGION to it')
    monkeypatch.setenv("AWS_ENDPOINT_URL", "localhost:9000")
    check("set AWS_ENDPOINT_URL to one, such as https://localhost:9000")
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    check("check the name, or unset it")


# What a server does that is waited for: it takes no connection, or says nothing, or is busy.
WAITED_FOR = """
import os, signal, socket, sys, threading, time
import foliodb
server = socket.socket()
server.bind(("127.0.0.1", 0))
server.listen(0 if sys.argv[1] == "deaf" else 99)
at = f"127.0.0.1:{server.getsockname()[1]}"
if sys.argv[1] == "deaf":
    others = [socket.socket() for _ in range(4)]
    for other in others:
        other.setblocking(False)
        other.connect_ex(server.getsockname())
def refuse():
    while True:
        with server.accept()[0] as client:
            client.recv(65536)
            client.sendall(b"HTTP/1.1 503 x\\r\\ncontent-length: 0\\r\\nconnection: close\\r\\n\\r\\n")
if sys.argv[1] == "busy":
    threading.Thread(target=refuse, daemon=True).start()
os.environ["AWS_ENDPOINT_URL"] = f"http://{at}"
os.environ["AWS_CONFIG_FILE"] = os.environ["AWS_SHARED_CREDENTIALS_FILE"] = os.devnull
here = foliodb.open(":memory:")
here["a"]["x"] = {}
for use in (
    lambda: foliodb.open("s3://box/mydata"),
    lambda: foliodb.open(f"http://{at}/x.zds"),
    lambda: here.sql(f"FROM 'http://{at}/x.jsonl'").fetchall(),
    lambda: here["b"].import_file(f"http://{at}/x.jsonl"),
    lambda: here.pack("s3://box/x.zds"),
):
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    began = time.monotonic()
    try:
        use()
        print("done")
    except KeyboardInterrupt:
        print("interrupted" if time.monotonic() - began < 1 else "late")
    except foliodb.FolioError as error:
        print(error)
os._exit(0)
"""


@pytest.mark.parametrize("server", ["deaf", "silent", "busy"])
def test_control_c_ends_a_wait(server: str) -> None:
    done = subprocess.run([sys.executable, "-c", WAITED_FOR, server], capture_output=True, text=True, timeout=120)
    assert done.stdout.split("\n") == [*["interrupted"] * 5, ""], done.stderr
