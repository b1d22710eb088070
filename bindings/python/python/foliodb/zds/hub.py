"""Data sets by path or address, with the names of ZDS: here, at a URL, or in a git repository.

A local path and a URL are read where they are. A repository is copied into a cache first, and the
copy is read.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from ..database import open
from ..errors import InvalidInputError, NotFoundError
from .datasets import ZDataset, ZIterableDataset
from .exchange import first_collection, list_collections
from .providers import DatasetInfo, GitProvider, ProviderRegistry
from .providers.base import DatasetNotFoundError, Provider, default_cache_dir
from .providers.git import GIT_HOSTS, Place, inside, size_of
from .providers.url import UrlProvider
from .stores import FastZDSStore

# Prefixes of paths, not of addresses.
_PATHS = ("/", "./", "../", "~", ".\\", "..\\")

# Schemes that are URLs of git as they are, and not a short form of `host/owner/name`.
_URL_SCHEMES = ("file", "ssh", "git+https", "git+http", "git+ssh", "git+file")


def load_remote(
    path: str | os.PathLike[str],
    collection: str | None = None,
    *,
    revision: str | None = None,
    subpath: str | None = None,
    split: str | None = None,
    streaming: bool = False,
    cache_dir: str | os.PathLike[str] | None = None,
    token: str | None = None,
    force_download: bool = False,
    **settings: Any,
) -> ZDataset | ZIterableDataset:
    """The data set of a collection, by path or address.

    `path` is a folder or an archive of this machine, a repository (`owner/name` of GitHub,
    `gitlab.com/owner/name`, `https://….git`, `git@host:owner/name`, `file:///path`), each with
    an optional `@revision`, or a URL (`https://host/data.zds`, `s3://`, `gs://`, `az://`,
    `hf://owner/name/data.zds`), whose data set is read where it is. `collection`, or `split`, is
    by default the first collection; where names cannot be listed, as over HTTP, it is needed.
    `subpath` is a folder in the repository or path. `token` is for git; those of URLs are in the
    environment. `streaming` returns a `ZIterableDataset`.
    Copies are cached in `cache_dir`, by default `ZDS_CACHE_DIR`, or the user's cache;
    `force_download` downloads again.

    Raises `DatasetNotFoundError`, a `FileNotFoundError`, if it does not exist; `IoError` for an
    error of git or of a server; `ProviderUnavailableError`, a `NotImplementedError`, with what to do instead.
    """
    folder = _resolve(
        path, revision=revision, subpath=subpath, cache_dir=cache_dir, token=token, force=force_download, **settings
    )
    name = collection or split or first_collection(folder)
    if isinstance(folder, Path) and name not in list_collections(folder):
        raise DatasetNotFoundError(f"no collection {name!r} in {str(folder)!r}; available: {_names(folder)}")
    try:
        store = FastZDSStore.open(folder, name)
    except NotFoundError as error:
        raise DatasetNotFoundError(str(error)) from error
    return ZIterableDataset(store) if streaming else ZDataset(store)


def list_remote_collections(path: str | os.PathLike[str], **settings: Any) -> list[str]:
    """The names of the collections of a data set, which is downloaded if it is remote."""
    return list_collections(_resolve(path, **settings))


def dataset_info(path: str | os.PathLike[str], **settings: Any) -> DatasetInfo:
    """Information about a data set, by path or address. Downloads nothing and contacts no
    server."""
    place = _local(path)
    if place is not None and not _is_git(place, settings.get("revision")):
        database = open(place, "r")
        names = database.collections()
        count = sum(database[name].count() for name in names)
        plural = "" if len(names) == 1 else "s"
        return DatasetInfo(
            name=place.resolve().name,
            provider="local",
            uri=str(place),
            path=str(place),
            size_bytes=size_of(place) if place.is_dir() else place.stat().st_size,
            description=f"{len(names)} collection{plural}, {count:,} documents",
        )
    provider, uri = _provider(path)
    return provider.get_info(uri, **settings)


def clear_cache(
    path: str | os.PathLike[str] | None = None, cache_dir: str | os.PathLike[str] | None = None
) -> None:
    """Removes the cached copies of a repository, of all revisions or of a named one; or all
    copies, and what `FOLIO_CACHE_DIR` has of files at URLs."""
    cache = default_cache_dir() if cache_dir is None else Path(cache_dir)
    if path is None:
        # Only our own copies: another program may use the folder too.
        shutil.rmtree(cache / "git", ignore_errors=True)
        ranges = os.environ.get("FOLIO_CACHE_DIR")
        if ranges and cache_dir is None:
            shutil.rmtree(Path(ranges) / "ranges", ignore_errors=True)
        return
    provider, uri = _provider(path)
    if isinstance(provider, GitProvider):
        place = Place.of(provider, uri, None)
        is_one = place.revision is not None
        shutil.rmtree(place.folder(cache) if is_one else place.repository(cache), ignore_errors=True)


def _resolve(
    path: str | os.PathLike[str],
    *,
    revision: str | None = None,
    subpath: str | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    token: str | None = None,
    force: bool = False,
    **settings: Any,
) -> Path | str:
    """The folder of a data set on this machine, or its URL."""
    place = _local(path)
    if place is not None and not _is_git(place, revision):
        return inside(place, subpath)
    provider, uri = _provider(path)
    if isinstance(provider, UrlProvider):
        if token is not None:
            raise InvalidInputError("a token for a URL is read from the environment, and one was given")
        return provider.url(uri, revision, subpath)
    return provider.download(
        uri,
        cache_dir=None if cache_dir is None else Path(cache_dir),
        revision=revision,
        path=subpath,
        force=force,
        token=token,
        **settings,
    )


def _local(path: str | os.PathLike[str]) -> Path | None:
    """The path of this machine, if it is one."""
    place = Path(path).expanduser()
    if place.exists():
        return place
    if isinstance(path, os.PathLike) or path.startswith(_PATHS):
        base, mark, _ = str(path).rpartition("@")
        if not mark or not Path(base).expanduser().exists():
            raise DatasetNotFoundError(f"there is no data set at {str(path)!r}")
    return None


def _is_git(place: Path, revision: str | None) -> bool:
    """Whether a local path is read through git: a bare repository, or an older revision."""
    is_bare = (place / "HEAD").is_file() and (place / "objects").is_dir()
    return is_bare or (revision is not None and (place / ".git").exists())


def _provider(path: str | os.PathLike[str]) -> tuple[Provider, str]:
    """The provider of an address, and the address in its form."""
    text = os.fspath(path)
    place = Path(text).expanduser()
    if place.exists() or text.startswith(_PATHS):
        base, mark, revision = text.rpartition("@")
        if mark and not place.exists():
            return GitProvider(), f"file://{Path(base).expanduser().resolve()}@{revision}"
        return GitProvider(), f"file://{place.resolve()}"
    if "://" not in text and ":" in text and "@" in text.partition(":")[0]:
        # git@host:owner/name, the form of ssh.
        return GitProvider(), "ssh://" + text.replace(":", "/", 1)
    scheme, uri = ProviderRegistry.parse_uri(text)
    if scheme in _URL_SCHEMES or _is_git_url(scheme, text):
        return GitProvider(), unquote(text) if scheme.endswith("file") else text
    if scheme in GIT_HOSTS and "://" in text:
        uri = f"{GIT_HOSTS[scheme]}/{uri}"
    if scheme == "http":
        uri = text
    return ProviderRegistry.get_instance(scheme), uri


def _is_git_url(scheme: str, text: str) -> bool:
    """Whether a web address is that of a repository."""
    if scheme not in ("http", "https"):
        return False
    parts = urlsplit(text)
    return parts.hostname in GIT_HOSTS or parts.path.partition("@")[0].rstrip("/").endswith(".git")


def _names(folder: Path) -> str:
    return ", ".join(map(repr, list_collections(folder))) or "none"
