#!/bin/sh
# Run the performance suite: read_ion on text and binary against read_json on the same rows.
#
#   DATA_DIR=perf/data OUT_DIR=perf/results ION_PROFILE=1 CONTINUE=1 perf/perf_run.sh
set -eu
cd "$(dirname "$0")/.."
exec "${PYTHON:-python3}" perf/run.py
