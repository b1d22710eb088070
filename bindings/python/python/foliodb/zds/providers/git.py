"""Data sets in git repositories, through the command `git`.

A revision of a repository is fetched alone, without its history, and checked out into a folder
of the cache under its name: `git/<host>/<owner>/<repository>/<revision>`. It is built beside
the folder and renamed, so a folder with the name is always complete. The command gets its
arguments in a list, never through a shell; it prompts for nothing and creates no links. A token
is passed through the environment, so that no list of processes and no file of the copy contains
it.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import warnings
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ...errors import InvalidInputError, IoError, UnsupportedError
from .base import DatasetInfo, DatasetNotFoundError, Provider, default_cache_dir

GIT_HOSTS = {
    "github": "github.com",
    "gh": "github.com",
    "github.com": "github.com",
    "gitlab": "gitlab.com",
    "gl": "gitlab.com",
    "gitlab.com": "gitlab.com",
    "bitbucket": "bitbucket.org",
    "bb": "bitbucket.org",
    "bitbucket.org": "bitbucket.org",
    "codeberg": "codeberg.org",
    "codeberg.org": "codeberg.org",
}

# The variables with tokens, by host. `GIT_TOKEN` is for any.
_TOKENS = {"github.com": "GITHUB_TOKEN", "gitlab.com": "GITLAB_TOKEN"}

_REPOSITORY = re.compile(
    r"(?:(?P<host>[\w-]+(?:\.[\w-]+)+(?::\d+)?|" + "|".join(map(re.escape, GIT_HOSTS)) + r")/)?"
    r"(?P<owner>[\w.~-]+(?:/[\w.~-]+)*?)/(?P<repo>[\w.-]+?)(?:\.git)?/?(?:@(?P<revision>.+))?"
)
_URL = re.compile(
    r"(?:git\+)?(?P<scheme>https?|ssh|git|file)://(?P<rest>(?:[^@/]+@)?[^@]+)(?:@(?P<revision>[^@]+))?"
)
_REVISION = re.compile(r"[\w.][\w./+~^-]*")

# What git must never do with foreign data.
_SETTINGS = ("-c", "core.symlinks=false", "-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false")


class GitProvider(Provider):
    """Git repositories: `owner/name` of GitHub, `host/owner/name`, addresses, and local paths."""

    name = "git"
    default_host = "github.com"

    def parse_uri(self, uri: str) -> dict[str, Any]:
        """Host, owner, repository and revision of `[host/]owner/repository[@revision]`.

        Raises `ValueError` for any other text.
        """
        match = _REPOSITORY.fullmatch(uri)
        if match is None or ".." in uri:
            raise InvalidInputError(
                f"Invalid Git URI {uri!r}; use 'owner/repository', 'owner/repository@revision' "
                "or 'host/owner/repository'"
            )
        host = match["host"] or self.default_host
        return {
            "host": GIT_HOSTS.get(host, host),
            "owner": match["owner"],
            "repo": match["repo"],
            "revision": match["revision"],
        }

    def get_info(self, uri: str, **settings: Any) -> DatasetInfo:
        """Name and address of a repository, and its cached copy. Contacts no server."""
        place = Place.of(self, uri, settings.get("revision"))
        folder = place.folder(Path(settings.get("cache_dir") or default_cache_dir()))
        is_here = folder.is_dir()
        return DatasetInfo(
            name=place.name,
            provider=self.name,
            uri=place.shown,
            revision=place.revision,
            path=str(folder) if is_here else None,
            size_bytes=size_of(folder) if is_here else None,
        )

    def download(
        self,
        uri: str,
        cache_dir: str | os.PathLike[str] | None = None,
        revision: str | None = None,
        path: str | None = None,
        force: bool = False,
        token: str | None = None,
        **settings: Any,
    ) -> Path:
        """The folder of a revision, a branch, a tag or a commit; the default branch without any.

        A cached copy is updated, or used unchanged with a warning if the repository cannot be
        reached. `token` is for `https`, and is looked for in `GIT_TOKEN`, `GITHUB_TOKEN` and
        `GITLAB_TOKEN` otherwise. Raises `IoError` for an error of git.
        """
        place = Place.of(self, uri, revision)
        folder = place.folder(self.get_cache_dir(cache_dir))
        token = token or os.environ.get("GIT_TOKEN") or os.environ.get(_TOKENS.get(place.host, ""))
        if force or not folder.is_dir():
            _fetch(place, folder, token)
        else:
            try:
                if _remote_commit(place, token) != _git(["rev-parse", "HEAD"], folder).strip():
                    _fetch(place, folder, token)
            except IoError as error:
                warnings.warn(f"the copy in {str(folder)!r} is used as it is: {error}", stacklevel=2)
        return inside(folder, path)

    @staticmethod
    def is_available() -> bool:
        """Whether the command `git` is installed."""
        return shutil.which("git") is not None


class Place:
    """A revision of a repository: its source and the place of its copy."""

    def __init__(self, url: str, host: str, parts: list[str], revision: str | None) -> None:
        if revision is not None and not _REVISION.fullmatch(revision):
            raise InvalidInputError(f"{revision!r} is not the name of a revision")
        self.url = url
        self.host = host
        self.parts = parts
        self.revision = revision
        self.name = "/".join(parts)

    @property
    def shown(self) -> str:
        """The URL, without a user's name and password."""
        return re.sub(r"(?<=://)[^/@]*@", "", self.url)

    @classmethod
    def of(cls, provider: GitProvider, uri: str, revision: str | None) -> Place:
        """The meaning of an address: a URL, a local path, or host, owner and name."""
        match = _URL.fullmatch(uri)
        if match is not None:
            revision = revision or match["revision"]
            if match["scheme"] == "file":
                return cls._local(match["rest"], revision)
            address = re.sub(r"^[^/@]*@", "", match["rest"]).removesuffix("/").removesuffix(".git")
            host, _, path = address.partition("/")
            return cls(f"{match['scheme']}://{match['rest']}", host, path.split("/"), revision)
        if os.path.isabs(uri):
            return cls._local(uri, revision)
        parsed = provider.parse_uri(uri)
        host, owner, name = parsed["host"], parsed["owner"], parsed["repo"]
        url = f"https://{host}/{owner}/{name}.git"
        return cls(url, host, [*owner.split("/"), name], revision or parsed["revision"])

    @classmethod
    def _local(cls, path: str, revision: str | None) -> Place:
        real = os.path.realpath(path)
        # Distinguishes folders with the same name.
        digest = hashlib.sha256(real.encode()).hexdigest()[:12]
        name = os.path.basename(real).removesuffix(".git") or "root"
        return cls(f"file://{real}", "localhost", [f"{name}-{digest}"], revision)

    def repository(self, cache: Path) -> Path:
        """The folder of all its revisions."""
        return cache.joinpath("git", *(_file_name(part) for part in (self.host, *self.parts)))

    def folder(self, cache: Path) -> Path:
        """The folder of this revision."""
        # Neither a revision name nor a repository name starts with this character.
        return self.repository(cache) / f"@{_file_name(self.revision or 'HEAD')}"


def _file_name(part: str) -> str:
    """A part of an address as a safe file name."""
    if not part.strip("."):
        raise InvalidInputError(f"{part!r} is not part of an address")
    return quote(part, safe="@+~")


def _fetch(place: Place, folder: Path, token: str | None) -> None:
    """Creates the folder, or replaces it, once the copy is complete."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix=".fetching-", dir=folder.parent))
    try:
        _git(["init", "--quiet"], new)
        try:
            _git(["fetch", "--quiet", "--depth=1", "--no-tags", place.url, place.revision or "HEAD"], new, place, token)
            _git(["checkout", "--quiet", "--detach", "FETCH_HEAD"], new)
        except IoError:
            # A server need not serve single commits by hash, and never by a short hash.
            if place.revision is None or not re.fullmatch("[0-9a-f]{4,64}", place.revision):
                raise
            _git(["fetch", "--quiet", place.url, "+refs/*:refs/all/*"], new, place, token)
            _git(["checkout", "--quiet", "--detach", place.revision], new)
        _replace(new, folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _replace(new: Path, folder: Path) -> None:
    """Replaces a folder by another."""
    if folder.exists():
        old = Path(tempfile.mkdtemp(prefix=".replaced-", dir=folder.parent))
        os.rename(folder, old / "was")
        shutil.rmtree(old, ignore_errors=True)
    try:
        os.rename(new, folder)
    except OSError:
        if not folder.is_dir():
            raise
        # Another process has made the same copy first.


def _remote_commit(place: Place, token: str | None) -> str:
    """The current commit of a revision; a hash is its own commit."""
    if place.revision is not None and re.fullmatch("[0-9a-f]{40,64}", place.revision):
        return place.revision
    lines = _git(["ls-remote", place.url, place.revision or "HEAD"], None, place, token).splitlines()
    found = {name: commit for commit, _, name in (line.partition("\t") for line in lines)}
    # An annotated tag has its commit under a second name.
    for name in (f"refs/tags/{place.revision}^{{}}", f"refs/heads/{place.revision}", f"refs/tags/{place.revision}", "HEAD"):
        if name in found:
            return found[name]
    return ""


def _git(
    arguments: list[str], folder: Path | None, place: Place | None = None, token: str | None = None
) -> str:
    """Runs git and returns its output."""
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    # Ignores the repository that this process runs in.
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        environment.pop(name, None)
    environment.setdefault("GIT_SSH_COMMAND", "ssh -o BatchMode=yes")
    if token and place is not None and place.url.startswith("https://"):
        given = base64.b64encode(f"x-access-token:{token}".encode()).decode()
        environment["GIT_CONFIG_COUNT"] = "1"
        environment["GIT_CONFIG_KEY_0"] = f"http.https://{place.host}/.extraHeader"
        environment["GIT_CONFIG_VALUE_0"] = f"Authorization: Basic {given}"
    try:
        done = subprocess.run(
            ["git", *_SETTINGS, *arguments],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except FileNotFoundError:
        raise UnsupportedError(
            "there is no git command; install git, or clone the repository and load its folder"
        ) from None
    if done.returncode == 0:
        return done.stdout
    said = [line for line in done.stderr.splitlines() if line.strip()]
    reason = next((line for line in said if line.startswith(("fatal:", "error:"))), said[-1] if said else "nothing")
    what = "git" if place is None else f"git could not fetch {place.shown} at {place.revision or 'its default branch'}; it"
    raise IoError(f"{what} says: {reason}")


def inside(folder: Path, path: str | None) -> Path:
    """A folder in another. Raises `DatasetNotFoundError` if it is missing or outside."""
    if not path:
        return folder
    found = (folder / path).resolve()
    if not found.exists() or folder.resolve() not in (found, *found.parents):
        raise DatasetNotFoundError(f"there is no {path!r} in {str(folder)!r}")
    return folder / path


def size_of(folder: Path) -> int:
    """The size of the files in a folder, without those of git."""
    total = 0
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != ".git"]
        total += sum(os.lstat(os.path.join(place, name)).st_size for name in names)
    return total
