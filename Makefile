# The commands of the repository. Each is a script that says what it does;
# this file only names them.

.PHONY: help setup build demo packages test test-deep instructions duckdb ion-conformance bench test-pages test-studio test-vscode docs slt clean

help:             ## list the commands
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 18

setup:            ## install what is missing, build, and show on real data what it does
	@scripts/setup

build:            ## build the release artefacts: the command at build/bin/folio
	@scripts/build

demo:             ## show on real data what FolioDB promises, in a minute
	@scripts/demo

packages:         ## build wheel, npm packages, the extension and the archive of the command, try them where no compiler is
	@scripts/packages

test:             ## run every suite, with a summary last
	@scripts/test

test-deep:        ## run the long tests: more seeds, more crash states, minutes to hours
	@scripts/test --deep

instructions:     ## count the instructions of the hot paths, compared with the accepted counts
	@scripts/instructions test

duckdb:           ## build the DuckDB extension and test it in each DuckDB it is made for
	@scripts/duckdb test

ion-conformance:  ## run the official Ion test files: make ion-conformance DIR=…/ion-tests/iontestdata
	@ION_TESTS_DIR=$(abspath $(DIR)) cargo test --release --locked -p folio-ion --test conformance

slt:              ## run a folder of sqllogictest files: make slt DIR=…/test
	@scripts/slt "$(DIR)"

bench:            ## measure against the peers: make bench [QUICK=1] [ONLY="sql node"] [KEEP=1] [AGAIN=1]
	@scripts/bench $(if $(QUICK),--quick) $(if $(KEEP),--keep) $(if $(AGAIN),--again) $(ONLY)

test-pages:       ## try the page of the benchmarks in a headless Chromium, which this installs
	@scripts/pages

test-studio:      ## try the studio over a real database in a headless Chromium, which this installs
	@scripts/studio test

test-vscode:      ## try the extension for VS Code, its webview in a headless Chromium, which this installs
	@scripts/vscode test

docs:             ## build the API documentation
	@scripts/docs

clean:            ## remove what the other commands made in this folder
	@scripts/clean
