# Everything a contributor runs. `make test` is the whole check and needs Go and git only.
GO ?= go
FUZZTIME ?= 60s
BIN := bin/reprise

# One set of build flags for everything but the race detector, so that vet, the tests and
# the program that the tests start are compiled once.
export CGO_ENABLED := 0
export GOFLAGS := $(filter-out -trimpath,$(shell $(GO) env GOFLAGS)) -trimpath

# What is vetted and tested carries no tables for debuggers: they are a quarter of the time
# that compiling takes.
check test: export GOFLAGS := $(GOFLAGS) -ldflags=-w -gcflags=all=-dwarf=false

# Compilers, tests and the programs that they start collect garbage as the program does.
export GOGC ?= 400

.PHONY: all build test race nightly mutants check generate picture fuzz crash soak bench contract fit clean agents agents-all test-agents record-agents test-web release-snapshot test-release cross


# What the tests choose at random: something else for every commit, and the same for
# everybody who tests it.
export REPRISE_SEED ?= $(shell printf '%d' 0x$$(git rev-parse --short=12 HEAD 2>/dev/null || echo 1))
# That of the property tests is the same one; 0 is another one each time.
export RAPID_SEED ?= $(REPRISE_SEED)

all: build

build: ## the program, in bin/
	$(GO) build -ldflags="-s -w" -o $(BIN) ./cmd/reprise

# The packages that share memory between goroutines: make nightly tests them under the race
# detector. That compiles whatever they import a second time, a tenth of what make test costs,
# so a package that starts no goroutine does not belong here. eventrun starts some for large
# logs only: the test of that is run under the detector, all of them without.
CONCURRENT := ./internal/tree ./internal/proc ./agent/script ./internal/shim
RACE = CGO_ENABLED=1 $(TRY) -race

# Tests make their folders in memory where there is room for that and programs may run.
# No promise needs more: power cuts are tried on a simulated disk, and make nightly works
# on the real one. The compiler's folders stay on disk, and TRY hides their place from the
# tests, which would make theirs there.
IN_MEMORY = t=/dev/shm/reprise-test.$$$$; \
	if { test "$$(df -Pk /dev/shm | awk 'END {print $$4}')" -gt 4000000 && cp /bin/sh $$t && $$t -c :; } 2>/dev/null; then \
	  export GOTMPDIR="$${GOTMPDIR:-$${TMPDIR:-/tmp}}" TMPDIR=/dev/shm; fi; rm -f $$t;
TRY = $(GO) test -vet=off -exec 'env -u GOTMPDIR'

# The tests of the engine and of the commands take longest, and begin first. They wait for
# what they start more often than they work: one package more than there are processors is
# tested at a time.
SIDE_BY_SIDE = $(shell echo $$(($$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2) + 1)))
test: check ## formatting, vet, and every test; of kills, power cuts and damage a sample
	@for a in $(PINNED); do test -e $(AGENTS)/$$a || echo "agents: $$a is not here, the tests that drive it are left out; make agents fetches it"; done
	@command -v chromium >/dev/null || test -n "$$REPRISE_BROWSER" || echo "chromium: it is not here, the tests of the pages in a browser are left out; apt-get install chromium"
	@test -e $(AXE) || echo "axe-core: it is not here, pages are not tested for who cannot see or point; make $(AXE) fetches it"
	@echo "REPRISE_SEED=$(REPRISE_SEED): one in $${REPRISE_DRAW:-8} of the scripts and tests that take long is drawn; REPRISE_DRAW=1 tries all of them"
	@$(IN_MEMORY) $(TRY) -p $(SIDE_BY_SIDE) -timeout 30m ./engine ./internal/cli ./...

race: ## what shares memory between goroutines, under the race detector; needs a C compiler
	$(RACE) -run _parallel_ ./convention/eventrun
	$(RACE) $(CONCURRENT)

nightly: cross race mutants crash soak fuzz test-release ## all of it: every kill, power cut, damage and mutant (a day)
	REPRISE_ALL=1 RAPID_SEED=0 $(GO) test -count 1 -timeout 12h ./...

mutants: ## known faults, built into the source one by one; the tests must find each (an hour)
	REPRISE_MUTANTS=1 $(GO) test -count 1 -timeout 4h -run '^TestEvery_mutant' -v ./internal/mutants

check:
	@test -z "$$(gofmt -l .)" || { echo "not formatted:"; gofmt -l .; exit 1; }
	$(GO) vet ./...

generate: ## rewrite the schemas from the types, and the reference from the commands
	$(GO) test ./schema -update
	mkdir -p docs/reference/commands && rm -f docs/reference/commands/*.md
	$(GO) run ./internal/pages reference docs/reference/commands

# docs/img/terminal.svg is drawn from what the program prints on a terminal, and the pages
# are photographed in a browser, in a copy of the examples that git knows nothing of.
PICTURED := eventrun%3Aeventrun%2F.agent-memory%2Fruns%2F20260212-0915-csv-export-k3f9
PICTURE := reprise status examples; reprise check csv-export-k3f9 -C examples
picture: build ## the pictures of a terminal and of the pages, made anew; needs chromium
	d=$$(mktemp -d) && cp -r examples $$d && script -qec 'stty cols 96 rows 60; cd '$$d'; export PATH=$(abspath bin):$$PATH REPRISE_NOW=2026-03-20T12:00:00Z PAGER=cat; \
	  echo "$(PICTURE)" | tr ";" "\n" | while read -r line; do printf "\033[2m$$ \033[0m\033[1m%s\033[0m\n" "$$line"; eval "$$line"; echo; done' /dev/null \
	  | $(GO) run ./internal/pages picture > docs/img/terminal.svg; rm -r $$d
	d=$$(mktemp -d) && cp -r examples $$d; HOME=$$d REPRISE_NOW=2026-03-20T12:00:00Z $(BIN) serve $$d/examples --no-browser > $$d/at & served=$$!; \
	  until test -s $$d/at; do sleep 0.1; done; at=$$(cat $$d/at); \
	  REPRISE_SHOTS="$$(printf '$(abspath docs/img)/%s light %s\n' 'runs.webp 1200 760' "$$at" 'run.webp 1200 1100' "$${at%%/\?*}/run?project=0&run=$(PICTURED)")" \
	  $(GO) test -vet=off -count 1 -run '^TestPictures$$' ./internal/cli; made=$$?; kill $$served; rm -r $$d; exit $$made

fuzz: ## every fuzz target for FUZZTIME each
	@for pkg in $$($(GO) list ./...); do \
	  for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
	    echo "$$pkg $$target"; $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$pkg || exit 1; \
	  done; done

crash: ## every layout's recording, crashed at every operation and again in recovery (hours)
	REPRISE_CRASH=1 $(GO) test -timeout 12h -run '^TestD1_' -v ./journal

soak: ## the engine, killed before every operation and 150,000 times at random (hours)
	REPRISE_MATRIX=all REPRISE_KILLS=150000 $(GO) test -count 1 -timeout 48h -run '^TestO[14]_' -v ./engine

fit: ## the weights that rank stories, fitted to real histories with one project left out in turn
	REPRISE_CORPUS=1 $(GO) test -count 1 -timeout 1h -run '^TestRanking_Fits' -v ./convention/orchestrate

contract: build ## what this build says beside an earlier one: make contract OLD=FILE [FOLDERS=PATTERN:PATTERN]
	REPRISE_OLD="$(abspath $(OLD))" REPRISE_NEW="$(abspath $(BIN))" REPRISE_FOLDERS="$(FOLDERS)" $(GO) test -count 1 -timeout 1h -v ./internal/contract

bench: build ## speed, beside a peer in the same run; rewrites docs/benchmarks.md
	$(GO) test -run '^$$' -bench . -benchmem ./...
	REPRISE_BENCH=1 $(GO) test -run '^TestBench' -v -count 1 ./internal/bench ./engine ./core/run | tee bin/bench.log; \
	$(GO) run ./internal/pages benchmarks < bin/bench.log > docs/benchmarks.md && $(GO) run ./internal/pages chart < bin/bench.log > docs/img/benchmarks.svg && ! grep -q '^FAIL' bin/bench.log

# The coding agents the tests drive, pinned. They are fetched with the ordinary npm
# client into a folder that is never committed; where one is absent its tests say so.
AGENTS := bin/agents
PINNED := codex-0.166.0 claude-2.1.325
OTHERS := claude-2.1.197 opencode-1.18.33 gemini-0.61.0 qwen-0.24.4 qwen-0.15.10 copilot-1.0.102
PLATFORM := $(shell uname -s | tr A-Z a-z)-$(shell uname -m | sed 's/x86_64/x64/;s/aarch64/arm64/')

agents: $(PINNED:%=$(AGENTS)/%) ## two real agents, as single programs without Node

agents-all: agents $(OTHERS:%=$(AGENTS)/%) ## all of them and their earlier versions; needs Node

# One program out of a platform package, and what it needs beside it:
# $(call program,package,file in it,name,another file,its folder).
define program
	rm -rf $@.part && mkdir -p $@.part
	cd $@.part && npm pack --silent '$(1)' && tar -xzf ./*.tgz && rm ./*.tgz
	mv $@.part/package/$(2) $@.part/$(3)
	$(if $(4),for f in $@.part/package/$(4); do test ! -e $$f || install -D $$f $@.part/$(5)/$$(basename $$f); done)
	rm -rf $@.part/package
	mv $@.part $@
endef

$(AGENTS)/codex-%:
	$(call program,@openai/codex@$*-$(PLATFORM),vendor/*/bin/codex,codex,vendor/*/codex-resources/bwrap,codex-resources)

$(AGENTS)/claude-%:
	$(call program,@anthropic-ai/claude-code-$(PLATFORM)@$*,claude,claude)

$(AGENTS)/opencode-%:
	$(call program,opencode-$(PLATFORM)@$*,bin/opencode,opencode)

$(AGENTS)/gemini-%: PACKAGE = @google/gemini-cli
$(AGENTS)/qwen-%: PACKAGE = @qwen-code/qwen-code
$(AGENTS)/copilot-%: PACKAGE = @github/copilot
$(AGENTS)/gemini-% $(AGENTS)/qwen-% $(AGENTS)/copilot-%:
	rm -rf $@.part && npm install --silent --no-fund --no-audit --prefix $@.part '$(PACKAGE)@$*' && mv $@.part $@

test-agents: agents-all ## the tests that drive real agents, with all of them
	REPRISE_AGENTS=all $(GO) test -count 1 -timeout 30m -run '^TestAC_real' -v ./agent ./evidence ./engine ./internal/cli

# What tests whether people who do not see or point can use the pages, pinned.
AXE := bin/axe/axe.min.js

$(AXE):
	mkdir -p bin/axe.part && cd bin/axe.part && npm pack --silent axe-core@4.14.0 && tar -xzf ./*.tgz package/axe.min.js
	mkdir -p bin/axe && mv bin/axe.part/package/axe.min.js $@ && rm -rf bin/axe.part

test-web: $(AXE) ## every page in a real Chromium, which must be installed
	REPRISE_ALL=1 $(GO) test -count 1 -timeout 10m -run '^TestBrowser_' -v ./internal/cli

record-agents: agents-all ## what the real agents print, recorded anew for the replay tests; look at the changes
	REPRISE_RECORD=all $(GO) test -count 1 -timeout 30m -parallel 1 -run '^TestRecord$$' -v ./agent

# What packages are made with, pinned in a module of its own: its dependencies are not the
# program's. The first build takes some minutes; later ones need no network.
RELEASE_TOOLS := bin/goreleaser bin/cyclonedx-gomod
bin/goreleaser: release/go.mod
	cd release && $(GO) build -o ../$@ github.com/goreleaser/goreleaser/v2
bin/cyclonedx-gomod: release/go.mod
	cd release && $(GO) build -o ../$@ github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod

# goreleaser asks for a remote to name the commit by; a checkout without one gets one for
# this call alone.
NO_REMOTE = $(if $(shell git remote),,GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=remote.origin.url GIT_CONFIG_VALUE_0=https://example.com/reprise/reprise)

release-snapshot: export REPRISE_NEXT = $(shell sed -n '/^## [0-9]/{s/^## \([0-9.]*\).*/\1/p;q}' CHANGELOG.md)
release-snapshot: $(RELEASE_TOOLS) ## packages for every system from this commit, in bin/release; nothing is uploaded
	$(NO_REMOTE) PATH="$(abspath bin):$$PATH" goreleaser release --snapshot --clean --config release/goreleaser.yaml

test-release: release-snapshot ## packages are made twice, compared, unpacked and tried
	rm -rf bin/release.first && mv bin/release bin/release.first
	$(MAKE) release-snapshot
	cd release && $(GO) test -count 1 -timeout 10m ./...

# Windows reads, judges and briefs. What starts agents is compiled for it; its tests are not.
STARTS := /(agent|engine|upkeep|internal/bench)(/|$$)
cross: ## the program and its tests are vetted as other systems compile them
	GOOS=darwin $(GO) vet ./...
	GOOS=windows $(GO) build ./...
	GOOS=windows $(GO) vet $$($(GO) list ./... | grep -vE '$(STARTS)')

clean:
	rm -rf bin
