#!/bin/sh
# Write the tables of the performance suite as text Ion, binary Ion and JSON Lines.
#
#   ROWS=2000000 WIDE_ROWS=500000 OUT_DIR=perf/data perf/perf_generate.sh
set -eu
cd "$(dirname "$0")/.."
exec "${PYTHON:-python3}" perf/generate.py
