# Everything a contributor runs. `make test` is the whole check and needs Go and git only.
GO ?= go
FUZZTIME ?= 60s
BIN := bin/reprise

.PHONY: all build test check generate fuzz bench clean

all: build

build: ## the program, in bin/
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags="-s -w" -o $(BIN) ./cmd/reprise

test: check ## formatting, vet, and every test with the race detector where cgo is there
	$(GO) test $(RACE) ./...

# The race detector needs a C compiler; without one the tests run without it.
RACE := $(shell command -v gcc >/dev/null 2>&1 && echo -race)

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

bench: build ## speed, beside a peer in the same run
	$(GO) test -run '^$$' -bench . -benchmem ./...
	REPRISE_BENCH=1 $(GO) test -run '^TestBench' -v -count 1 ./internal/bench

clean:
	rm -rf bin
