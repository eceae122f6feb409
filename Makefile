# Everything a contributor runs. `make test` is the whole check and needs Go and git only.
GO ?= go
FUZZTIME ?= 60s
BIN := bin/reprise

.PHONY: all build test check generate fuzz crash bench clean

all: build

build: ## the program, in bin/
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags="-s -w" -o $(BIN) ./cmd/reprise

test: check ## formatting, vet, every test, and the concurrent packages under the race detector
	$(GO) test ./...
	@if command -v gcc >/dev/null 2>&1; then echo "$(GO) test -race $(CONCURRENT)"; $(GO) test -race $(CONCURRENT); \
	else echo "race detector: left out, it needs a C compiler"; fi

# The packages that share memory between goroutines.
CONCURRENT := ./internal/tree ./internal/proc ./evidence/... ./layout/eventrun

check:
	@test -z "$$(gofmt -l .)" || { echo "not formatted:"; gofmt -l .; exit 1; }
	$(GO) vet ./...

generate: ## rewrite the schemas from the types
	$(GO) test ./schema -update

fuzz: ## every fuzz target for FUZZTIME each
	@for pkg in $$($(GO) list ./...); do \
	  for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
	    echo "$$pkg $$target"; $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$pkg || exit 1; \
	  done; done

crash: ## every layout's recording, crashed at every operation and again in recovery (hours)
	REPRISE_CRASH=1 $(GO) test -timeout 12h -run '^TestD1_' -v ./journal

bench: build ## speed, beside a peer in the same run
	$(GO) test -run '^$$' -bench . -benchmem ./...
	REPRISE_BENCH=1 $(GO) test -run '^TestBench' -v -count 1 ./internal/bench

clean:
	rm -rf bin
