"""`load_remote` and its kin: local paths, URLs, git repositories, and what to do about the rest."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import foliodb
import pytest
from foliodb import zds
from foliodb.zds import ZDataset, ZDSStore, ZIterableDataset, dataset_info, load_remote
from foliodb.zds.hub import list_remote_collections
from foliodb.zds.providers import GIT_HOSTS, GitProvider, ProviderRegistry
from foliodb.zds.providers.git import Place

has_git = pytest.mark.skipif(not GitProvider.is_available(), reason="needs git")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own, and a git without settings of anybody's."""
    cache = tmp_path / "cache"
    monkeypatch.setenv("ZDS_CACHE_DIR", str(cache))
    for name in ("GIT_TOKEN", "GITHUB_TOKEN", "GITLAB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    return cache


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A directory with two collections."""
    path = tmp_path / "data"
    for name, count in (("test", 1), ("train", 3)):
        store = ZDSStore.open(path, collection=name)
        for n in range(count):
            store.put(f"d{n}", {"n": n, "in": name})
    store.close()
    return path


def git(*arguments: str, folder: Path) -> str:
    """Runs git as somebody."""
    who = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *who, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def repository(data: Path) -> Path:
    """The data in a git repository: tag `v1`, then a fourth document of `train` on `main`."""
    git("init", "-q", folder=data)
    git("add", ".", folder=data)
    git("commit", "-q", "-m", "first", folder=data)
    git("tag", "-a", "v1", "-m", "first", folder=data)
    add(data, 3)
    return data


def add(repository: Path, n: int) -> str:
    """One more document, as a commit."""
    with ZDSStore.open(repository, collection="train") as store:
        store.put(f"d{n}", {"n": n, "in": "train"})
    git("commit", "-q", "-a", "-m", f"d{n}", folder=repository)
    return git("rev-parse", "HEAD", folder=repository)


def test_local_paths(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train = load_remote(data, "train")
    assert isinstance(train, ZDataset) and train[2] == {"n": 2, "in": "train"}
    assert load_remote(str(data))[0]["in"] == "test", "the first there is"
    stream = load_remote(str(data), split="train", streaming=True)
    assert isinstance(stream, ZIterableDataset) and len(list(stream)) == 3
    assert len(load_remote(tmp_path, "train", subpath="data")) == 3  # type: ignore[arg-type]
    monkeypatch.setenv("HOME", str(tmp_path))
    assert len(load_remote("~/data", "train")) == 3  # type: ignore[arg-type]
    foliodb.open(data).pack(tmp_path / "data.zds")
    assert len(load_remote(tmp_path / "data.zds", "train")) == 3  # type: ignore[arg-type]
    assert list_remote_collections(data) == ["test", "train"]
    info = dataset_info(data)
    assert (info.name, info.provider, info.uri) == ("data", "local", str(data))
    assert info.description == "2 collections, 4 documents" and (info.size_bytes or 0) > 100
    for missing in (tmp_path / "nothing", "/nothing/here", "./nothing", "~/nothing"):
        with pytest.raises(FileNotFoundError, match="there is no data set at"):
            load_remote(missing)
    with pytest.raises(FileNotFoundError, match="no collection 'trian'.*'test', 'train'"):
        load_remote(data, "trian")
    for outside in ("nothing", "../..", "/etc"):
        with pytest.raises(FileNotFoundError, match="there is no"):
            load_remote(data, subpath=outside)


@has_git
def test_repositories(repository: Path, cache: Path) -> None:
    url = f"file://{repository}"
    assert len(load_remote(url, "train")) == 4  # type: ignore[arg-type]
    assert len(load_remote(f"{url}@v1", "train")) == 3  # type: ignore[arg-type]
    assert len(load_remote(url, "train", revision="v1")) == 3  # type: ignore[arg-type]
    assert len(load_remote(f"{repository}@v1", "train")) == 3  # type: ignore[arg-type]
    assert len(load_remote(repository, "train", revision="main")) == 4  # type: ignore[arg-type]
    first = git("rev-parse", "v1^{commit}", folder=repository)
    for revision in (first, first[:10]):
        assert len(load_remote(url, "train", revision=revision)) == 3  # type: ignore[arg-type]
    bare = repository.parent / "bare.git"
    git("clone", "-q", "--bare", str(repository), str(bare), folder=repository)
    assert len(load_remote(bare, "train")) == 4  # type: ignore[arg-type]
    assert dataset_info(bare).name.startswith("bare-") and dataset_info(bare).provider == "git"
    # What stands in the repository is never written to.
    assert git("status", "--porcelain", folder=repository) == ""
    info = dataset_info(url)
    assert info.path is not None and info.path.startswith(str(cache)) and (info.size_bytes or 0) > 100
    with pytest.raises(foliodb.IoError, match="git could not fetch file://.* at nothing; it says: fatal"):
        load_remote(url, revision="nothing")
    with pytest.raises(foliodb.IoError, match="git could not fetch"):
        load_remote(f"file://{repository.parent}/none.git")
    assert [path.name for path in cache.rglob(".fetching-*")] == []


@has_git
def test_copies_are_brought_up_to_date(
    repository: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"file://{repository}"
    held = load_remote(url, "train")
    add(repository, 4)
    assert len(load_remote(url, "train")) == 5 and len(held) == 4  # type: ignore[arg-type]
    assert len(load_remote(url, "train", force_download=True)) == 5  # type: ignore[arg-type]
    # The repository is gone, and the copy is there.
    os.rename(repository, repository.with_name("moved"))
    with pytest.warns(UserWarning, match="is used as it is: git could not fetch"):
        assert len(load_remote(url, "train")) == 5  # type: ignore[arg-type]
    with pytest.raises(foliodb.IoError):
        load_remote(url, "train", force_download=True)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(foliodb.UnsupportedError, match="no git command; install git, or clone"):
        load_remote(url, "train", force_download=True)


@has_git
def test_the_cache_is_cleared(repository: Path, cache: Path, tmp_path: Path) -> None:
    url = f"file://{repository}"
    mine = cache / "mine.txt"
    load_remote(url), load_remote(f"{url}@v1")
    mine.write_text("not a copy")
    zds.clear_cache(f"{url}@v1")
    assert dataset_info(url).path and not dataset_info(f"{url}@v1").path
    load_remote(f"{url}@v1")
    zds.clear_cache(url)
    assert not dataset_info(url).path and not dataset_info(f"{url}@v1").path
    load_remote(url)
    zds.clear_cache()
    assert not dataset_info(url).path and mine.exists() and repository.exists()
    zds.clear_cache(), zds.clear_cache("owner/none")
    load_remote(url, cache_dir=tmp_path / "other")
    assert not (cache / "git").exists() and (tmp_path / "other/git").exists()
    zds.clear_cache(cache_dir=tmp_path / "other")
    assert not (tmp_path / "other/git").exists()


@has_git
def test_a_repository_is_somebody_elses(repository: Path, tmp_path: Path) -> None:
    """Its links lead nowhere, its hooks do not run, and its names are no options of git's."""
    secret = tmp_path / "secret.jsonl"
    secret.write_text('{"_id":"x","password":"p"}\n')
    collection = repository / "collections/stolen/meta"
    collection.mkdir(parents=True)
    (collection / "data.jsonl").symlink_to(secret)
    (repository / "away").symlink_to(tmp_path)
    git("add", ".", folder=repository)
    git("commit", "-q", "-m", "links", folder=repository)
    url = f"file://{repository}"
    assert len(load_remote(url, "stolen")) == 0  # type: ignore[arg-type]
    with pytest.raises((FileNotFoundError, foliodb.FolioError)):
        load_remote(url, subpath="away/data")
    for revision in ("--upload-pack=touch x", "-x", "a b", "v1;touch x", ""):
        with pytest.raises((foliodb.InvalidInputError, foliodb.IoError)):
            load_remote(f"{url}/", revision=revision) if revision else load_remote(f"{url}@")
    for address in ("../../x/y", "owner/..", "-x/--y@--z", "ext::sh -c touch% x"):
        with pytest.raises((foliodb.FolioError, FileNotFoundError)):
            load_remote(address)
    assert not list(tmp_path.rglob("x"))


def test_a_token_is_told_to_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    """A git that notes what it is called with stands in for the real one."""
    noted = tmp_path / "noted"
    fake = tmp_path / "bin/git"
    fake.parent.mkdir()
    fake.write_text(f'#!/bin/sh\necho "$@ | $GIT_CONFIG_COUNT $GIT_CONFIG_KEY_0 $GIT_CONFIG_VALUE_0" >> {noted}\necho "fatal: no" >&2; [ "$7" = init ]\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    with pytest.raises(foliodb.IoError) as raised:
        load_remote("owner/name", token="s3cret")
    assert "s3cret" not in str(raised.value) and "https://github.com/owner/name.git" in str(raised.value)
    lines = noted.read_text().splitlines()
    assert all("s3cret" not in line.partition("|")[0] for line in lines)
    assert lines[1].endswith("| 1 http.https://github.com/.extraHeader Authorization: Basic eC1hY2Nlc3MtdG9rZW46czNjcmV0")
    with pytest.raises(foliodb.IoError) as raised:
        load_remote("https://ann:s3cret@example.com/data.git")
    assert "s3cret" not in str(raised.value) and "s3cret" not in dataset_info("https://ann:s3cret@example.com/data.git").uri
    noted.unlink()
    monkeypatch.setenv("GITLAB_TOKEN", "other")
    for address in ("owner/name", "gitlab.com/owner/name"):
        with pytest.raises(foliodb.IoError):
            load_remote(address)
    assert ["Basic" in line for line in noted.read_text().splitlines() if "fetch" in line] == [False, True]


def test_addresses(cache: Path) -> None:
    parse = GitProvider().parse_uri
    assert parse("ann/data") == {"host": "github.com", "owner": "ann", "repo": "data", "revision": None}
    assert parse("ann/data@feature/x")["revision"] == "feature/x"
    assert parse("gitlab.com/group/sub/data.git@v1") == {
        "host": "gitlab.com",
        "owner": "group/sub",
        "repo": "data",
        "revision": "v1",
    }
    assert parse("git.example.com:8443/team/data")["host"] == "git.example.com:8443"
    assert parse("bitbucket/team/data")["host"] == "bitbucket.org" and GIT_HOSTS["gl"] == "gitlab.com"
    for wrong in ("invalid", "", "a b/c", "/", "owner/", "a/../b", "a/b@"):
        with pytest.raises(ValueError, match="Invalid Git URI"):
            parse(wrong)
    for address, uri, name in (
        ("ann/data", "https://github.com/ann/data.git", "ann/data"),
        ("gl://ann/data", "https://gitlab.com/ann/data.git", "ann/data"),
        ("git://gitlab.com/ann/data", "https://gitlab.com/ann/data.git", "ann/data"),
        ("https://github.com/ann/data", "https://github.com/ann/data", "ann/data"),
        ("https://example.com/x/data.git@v2", "https://example.com/x/data.git", "x/data"),
        ("git@example.com:ann/data.git", "ssh://example.com/ann/data.git", "ann/data"),
        ("ssh://git@example.com/ann/data.git@v1", "ssh://example.com/ann/data.git", "ann/data"),
    ):
        info = dataset_info(address)
        assert (info.provider, info.uri, info.name) == ("git", uri, name), address
        assert info.path is None and not cache.exists()
    place = Place.of(GitProvider(), "ann/data@feature/x", None)
    assert place.folder(Path("c")) == Path("c/git/github.com/ann/data/@feature%2Fx")


def test_what_to_do_instead() -> None:
    scheme, uri = ProviderRegistry.parse_uri("ftp://host/data")
    provider = ProviderRegistry.get_instance(scheme)
    assert type(provider) is zds.FTPProvider and provider.parse_uri(uri) == {"host": "host", "path": "/data"}
    way = "not yet implemented(?s:.*)wget .* ftp://host/data(?s:.*)load_remote"
    for call in (load_remote, dataset_info, list_remote_collections):
        with pytest.raises(NotImplementedError, match=way) as raised:
            call("ftp://host/data")
        assert isinstance(raised.value, foliodb.UnsupportedError)
    zds.clear_cache("ftp://host/data")


@pytest.mark.parametrize(
    ("address", "provider", "url", "name"),
    [
        ("s3://bucket/data", zds.S3Provider, "s3://bucket/data", "data"),
        ("gs://bucket/data", zds.GCSProvider, "gs://bucket/data", "data"),
        ("gcs://bucket/data/", zds.GCSProvider, "gs://bucket/data/", "data"),
        ("azure://box/data", zds.AzureProvider, "az://box/data", "data"),
        ("https://ann:secret@host/data.zds?sig=secret", zds.HTTPProvider, "https://host/data.zds", "data.zds"),
        ("http://host/data.zds", zds.HTTPProvider, "http://host/data.zds", "data.zds"),
        ("hf://ann/data", zds.HuggingFaceProvider, "hf://datasets/ann/data", "data"),
        ("hf://datasets/ann/data/x.zds", zds.HuggingFaceProvider, "hf://datasets/ann/data/x.zds", "x.zds"),
    ],
)
def test_what_is_read_where_it_is(
    address: str, provider: type[zds.Provider], url: str, name: str
) -> None:
    scheme, uri = ProviderRegistry.parse_uri(address)
    found = ProviderRegistry.get_instance(scheme)
    assert type(found) is provider and found.parse_uri(uri)
    info = dataset_info(address)
    assert (info.provider, info.uri, info.name) == (provider.name, url, name)
    with pytest.raises(foliodb.UnsupportedError, match="read where it is, not copied") as raised:
        found.download(uri)
    assert "secret" not in str(raised.value)
    zds.clear_cache(address)


def test_revisions_and_folders_of_urls() -> None:
    hub, bucket = zds.HuggingFaceProvider(), zds.S3Provider()
    assert hub.url("ann/data@v1/x", "refs/pr/1", "y/") == "hf://datasets/ann/data@refs%2Fpr%2F1/x/y"
    assert zds.HTTPProvider().url("host/a?k=v", path="b") == "https://host/a/b?k=v"
    with pytest.raises(foliodb.InvalidInputError, match="s3:// has no revisions, and 'v1'"):
        bucket.url("bucket/data", "v1")
    with pytest.raises(foliodb.InvalidInputError, match="read from the environment"):
        load_remote("s3://bucket/data", token="t")


def test_providers_of_ones_own(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Here(zds.Provider):
        name = "here"

        def parse_uri(self, uri: str) -> dict[str, str]:
            return {"uri": uri}

        def get_info(self, uri: str, **settings: object) -> zds.DatasetInfo:
            return zds.DatasetInfo(uri, self.name, f"here://{uri}")

        def download(self, uri: str, *arguments: object, **settings: object) -> Path:
            return data

    monkeypatch.setattr(ProviderRegistry, "_providers", dict(ProviderRegistry._providers))
    ProviderRegistry.register("here", Here)
    assert len(load_remote("here://x", "train")) == 3  # type: ignore[arg-type]
    assert dataset_info("HERE://x").uri == "here://x"
    with pytest.raises(ValueError, match="Unknown provider scheme 'nowhere'; use one of az"):
        load_remote("nowhere://x")
    monkeypatch.setattr(ProviderRegistry, "_default_provider", "github")
    ProviderRegistry.set_default("here")
    assert dataset_info("ann/data").provider == "here"


def test_hugging_face_by_path(data: Path) -> None:
    pytest.importorskip("datasets")
    assert zds.to_hf(data, collection="train")["n"][:] == [0, 1, 2]
    assert zds.to_hf(str(data)).column_names == ["n", "in"] and len(zds.to_hf(str(data))) == 1
    assert zds.to_hf(foliodb.open(data)["train"])["n"][:] == [0, 1, 2]
    with pytest.raises(KeyError):
        zds.to_hf(data, collection="none")
    shutil.rmtree(data / "collections")
    with pytest.raises(KeyError):
        zds.to_hf(data)
