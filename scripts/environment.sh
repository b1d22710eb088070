# What every script shares: strict mode, the repository's root as the working
# directory, and a target directory outside of the checkout, so that a fresh
# clone finds the dependencies of the last one compiled. Sourced, not run.
# shellcheck shell=bash

set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$ROOT"

CACHE=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/foliodb
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$CACHE/target}

# Cargo knows a crate of this workspace by its name and the age of its files, not by its
# clone: where another clone has built here since, its crates would pass for ours. A file
# that is newer than they are makes Cargo compile ours again.
if [ -d "$CARGO_TARGET_DIR" ] && [ "$(cat "$CARGO_TARGET_DIR/clone" 2>/dev/null)" != "$ROOT" ]; then
    find . -name '*.rs' -not -path './build/*' -not -path '*/node_modules/*' -exec touch {} +
fi
mkdir -p "$CARGO_TARGET_DIR"
printf '%s\n' "$ROOT" >"$CARGO_TARGET_DIR/clone"

# The switches that break the stores on purpose: the tests of their reliability, lints and the
# documentation have them. Everything else is built and tested without, so that it compiles once.
# shellcheck disable=SC2034 # read by the scripts that source this file
TEST_FEATURES=folio-document/planted-bugs,folio-table/planted-bugs

# The command and the Node package are built together, whichever is asked for: built
# apart, each would have a feature set of its own, and everything below compile twice.
# shellcheck disable=SC2034
ARTEFACTS=(--package folio-cli --package folio-node)

say() {
    if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
        printf '\n\033[1m%s\033[0m\n' "$*"
    else
        printf '\n%s\n' "$*"
    fi
}

fail() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# publish: from here on artefacts are built as they are published. Link-time optimisation takes
# minutes for each and a tenth of its size; a test that packs sets the variable to false first.
publish() {
    export CARGO_PROFILE_RELEASE_LTO=${CARGO_PROFILE_RELEASE_LTO:-fat}
}

# size_max: the most that a command, wheel or addon may have, in bytes: what they have, and
# little more, so that none grows unseen.
size_max() {
    case ${CARGO_PROFILE_RELEASE_LTO:-} in
    fat) echo 28400000 ;;
    *) echo 32400000 ;;
    esac
}

# shrink FILE: takes out what only debuggers read, and fails if too much is left. They
# find it in the target directory.
shrink() {
    if ! command -v strip >/dev/null; then
        echo "WARNING: strip is missing; $1 keeps what only debuggers read"
        return 0
    fi
    case $(uname -s) in
    Darwin) strip -x "$1" ;;
    *) strip "$1" ;;
    esac
    check_size "$1" "$(wc -c <"$1")"
}

# check_size NAME BYTES
check_size() {
    [ "$2" -le "$(size_max)" ] ||
        fail "$1 has $2 bytes, more than $(size_max); see docs/decisions/0003-size.md for what keeps it small"
}

# has_chromium: whether there is a browser to test pages in: the one that CHROMIUM names, or Debian's,
# which is installed where it can be.
has_chromium() {
    [ -z "${CHROMIUM:-}" ] || return 0
    command -v chromium >/dev/null && return
    command -v apt-get >/dev/null || return 1
    say "installing chromium"
    apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null
}
