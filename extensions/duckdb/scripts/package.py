"""Append the footer that makes a shared library a DuckDB extension.

usage: package.py LIBRARY OUTPUT stable|pinned

A library with the stable interface names the oldest one it needs, a pinned library the one DuckDB it
is made for. The footer is a WebAssembly custom section (so that a Wasm build can carry it too): a header, eight
fields of 32 bytes, last field first, and room for a signature.
"""

import pathlib
import platform
import re
import sys

MANIFEST = pathlib.Path(__file__).resolve().parent.parent / "Cargo.toml"


def platform_name():
    machine = {"x86_64": "amd64", "AMD64": "amd64", "aarch64": "arm64", "arm64": "arm64"}[platform.machine()]
    system = {"Linux": "linux", "Darwin": "osx", "Windows": "windows"}[platform.system()]
    # DuckDB's own name for Alpine and its like.
    libc = "_musl" if system == "linux" and platform.libc_ver()[0] != "glibc" else ""
    return f"{system}_{machine}{libc}"


def footer(abi, extension_version, api_version):
    fields = ["", "", "", abi, extension_version, api_version, platform_name(), "4"]
    body = b"".join(field.encode().ljust(32, b"\0") for field in fields)
    header = b"\x00\x93\x04\x10duckdb_signature\x80\x04"
    return header + body + b"\0" * 256


def extension_version():
    return "v" + re.search(r'^version = "(.+)"', MANIFEST.read_text(), re.MULTILINE).group(1)


def main():
    library, output, interface = sys.argv[1:]
    abi, version = {"stable": ("C_STRUCT", "v1.5.6"), "pinned": ("C_STRUCT_UNSTABLE", "v2.0.0")}[interface]
    with open(library, "rb") as source:
        content = source.read()
    with open(output, "wb") as target:
        target.write(content + footer(abi, extension_version(), version))


if __name__ == "__main__":
    main()
