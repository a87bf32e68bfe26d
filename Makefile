# Everything is done with Go and a C compiler; the tests also start redis-server. Tools are pinned here and run by
# version, so that go.mod holds only what the product needs.

GO          = go
LINT        = github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GOVULNCHECK = golang.org/x/vuln/cmd/govulncheck@v1.9.0
BENCHSTAT   = golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da

PKG      ?= ./...
ARGS     ?=
BENCH    ?= .
COUNT    ?= 10
FUZZTIME ?= 30s

.PHONY: help run build test test-net test-disk check format vet lint race fuzz bench vuln clean services networks

help: ## say what each target does
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## start a server for this machine; make run ARGS="--log-level debug"
	./bin/lifelined $(ARGS)

build: ## build every command into bin/
	@mkdir -p bin
	$(GO) build -o bin/ ./cmd/...

test: services ## run every test, fuzz seeds and vectors included; installs redis-server if there is none
	$(GO) test $(PKG)

# The namespaces are the test's own, so no rights are needed but those to install what it calls.
test-net: export PATH := $(PATH):/usr/sbin:/sbin
test-net: networks ## try server and client on real networks: NAT, loss, pulled cables; installs nftables if there is none
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
	$(GO) test -c -tags nettest -o "$$dir/nettest" ./cmd/lifelined && \
	LIFELINED_NETTEST=1 unshare -Urnm "$$dir/nettest" -test.run '^TestNet$$' -test.parallel 32 -test.timeout 170s

test-disk: ## fill a real filesystem, which the test mounts for itself, and see the store survive it
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
	$(GO) test -c -tags fulldisk -o "$$dir/disktest" ./store/pebblestore && \
	unshare -Urm "$$dir/disktest" -test.run '^TestFullDisk$$' -test.timeout 60s

networks:
	@command -v nft >/dev/null && command -v ip >/dev/null && exit; \
	root=; [ "$$(id -u)" = 0 ] || root=sudo; \
	command -v apt-get >/dev/null || { echo "the test needs nft and ip, and there is no apt-get to install them"; exit 1; }; \
	echo "installing nftables and iproute2, which make the test's networks"; \
	$$root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=60 update && \
	$$root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=60 install -y --no-install-recommends nftables iproute2

check: format vet lint test race ## everything a change must pass

format:
	@changed=$$(git ls-files -co --exclude-standard '*.go' | xargs -r gofmt -l); \
	if [ -n "$$changed" ]; then echo "gofmt would change:"; echo "$$changed"; exit 1; fi

vet:
	$(GO) vet -tags nettest,fulldisk $(PKG)

lint:
	$(GO) run $(LINT) run --build-tags nettest,fulldisk $(PKG)

race: services
	$(GO) test -race $(PKG)

# Tests start real servers of their own; nothing here starts one.
services:
	@command -v redis-server >/dev/null && exit; \
	root=; [ "$$(id -u)" = 0 ] || root=sudo; \
	command -v apt-get >/dev/null || { echo "the tests need redis-server, and there is no apt-get to install it"; exit 1; }; \
	echo "installing redis-server, which the tests start"; \
	$$root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=60 update && \
	$$root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=60 install -y --no-install-recommends redis-server

fuzz: ## fuzz every target for FUZZTIME (30s, or 2000x) each
	@.ci/fuzz $(FUZZTIME) $(PKG)

bench: ## run benchmarks COUNT times into bin/bench.txt; make bench PKG=./protocol BASE=old.txt compares
	@mkdir -p bin
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -count=$(COUNT) $(PKG) > bin/bench.txt || { cat bin/bench.txt; exit 1; }
	$(GO) run $(BENCHSTAT) $(BASE) bin/bench.txt

vuln: ## known faults of dependencies; needs a network
	$(GO) run $(GOVULNCHECK) $(PKG)

clean:
	rm -rf bin
