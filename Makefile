# make check is what a change must pass. Each step also runs alone: make vet, make race, …
# Steps that need more than Go (a C compiler, readelf, root) say what they leave out, and why;
# with CI set they fail instead.

GO ?= go
FUZZTIME ?= 10s
PLATFORMS := linux/arm64 darwin/arm64 windows/amd64
# The packages whose code runs on several goroutines.
CONCURRENT := . ./internal/exec ./internal/backend ./selector ./device/opencl

.PHONY: check fmt vet lint test race noasm tools static cross fuzz build

check: fmt vet lint test race noasm tools static cross
	@echo "== check: all steps passed"

fmt:
	@echo "== fmt: gofmt changes nothing"
	@bad=$$(gofmt -l .); [ -z "$$bad" ] || { echo "fmt: got unformatted files, want none:"; echo "$$bad"; exit 1; }

vet:
	@echo "== vet: with and without assembly"
	$(GO) vet ./...
	$(GO) vet -tags noasm ./...

lint:
	@echo "== lint: arrows, lengths, comments, documents"
	$(GO) test ./internal/lint

test:
	@echo "== test: everything"
	$(GO) test ./...

race:
	@echo "== race: what runs on several goroutines, under the race detector"
	@if command -v $$($(GO) env CC) >/dev/null 2>&1; then \
		echo "$(GO) test -race -short $(CONCURRENT)"; CGO_ENABLED=1 $(GO) test -race -short $(CONCURRENT); \
	elif [ -n "$$CI" ]; then \
		echo "race: got no C compiler, want one (apt-get install gcc libc6-dev)"; exit 1; \
	else \
		echo "race: left out: the race detector needs a C compiler (apt-get install gcc libc6-dev)"; \
	fi

noasm:
	@echo "== noasm: the same tests, short, without assembly and without cgo"
	CGO_ENABLED=0 $(GO) test -short -tags noasm ./...

tools:
	@echo "== tools: the modules below the root"
	@set -e; for m in $$(find . -mindepth 2 -name go.mod -not -path '*/testdata/*'); do \
		d=$$(dirname $$m); echo "$$d"; (cd $$d && $(GO) vet ./... && $(GO) test ./...); done

static:
	@echo "== static: the command needs no library and no file"
	@GO="$(GO)" sh scripts/static-check.sh

cross:
	@echo "== cross: other platforms compile, tests too"
	@set -e; for p in $(PLATFORMS); do \
		echo "$$p"; export CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/}; $(GO) build ./...; $(GO) vet ./...; done

fuzz:
	@echo "== fuzz: every target for $(FUZZTIME)"
	@GO="$(GO)" sh scripts/fuzz.sh $(FUZZTIME)

build:
	CGO_ENABLED=0 $(GO) build ./cmd/stowage
