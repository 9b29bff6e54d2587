# Needs Go and a POSIX shell. `make` lists what there is.

GOLANGCI_LINT = v2.15.0
GOFUMPT       = v0.12.0
# v1.9.0 names a version of a dependency that has been withdrawn.
GOVULNCHECK   = v1.8.0
NFPM          = v2.45.0
GOTESTSUM     = v1.13.0

# Without VCS stamps: asking git fails where another user owns the checkout.
STATIC    = CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '-s -w'
# mlget's HTTP/2 is internal/fetch's. net/http only serves metrics, pushes them and serves the
# proxy, which HTTP/1.1 does: its own HTTP/2 would be 0.6 MB of the phone's program. Inlining is
# for what downloaded bytes pass through; elsewhere it would be 0.6 MB: handshakes and certificates
# do without. One line: .ci/repro reads it.
LEAN      = -tags nethttpomithttp2 -gcflags=all=-l -gcflags=runtime= -gcflags=internal/runtime/...= -gcflags=internal/bytealg= -gcflags=internal/sync= -gcflags=sync= -gcflags=sync/atomic= -gcflags=internal/poll= -gcflags=io= -gcflags=bufio= -gcflags=bytes= -gcflags=crypto/cipher= -gcflags=crypto/sha256= -gcflags=crypto/internal/fips140/aes/...= -gcflags=crypto/internal/fips140/sha256= -gcflags=crypto/internal/fips140/sha512= -gcflags=crypto/internal/fips140/subtle= -gcflags=crypto/internal/fips140/alias= -gcflags=crypto/internal/fips140/bigmod= -gcflags=crypto/internal/fips140/edwards25519/...= -gcflags=crypto/internal/fips140deps/...= -gcflags=hash/...= -gcflags=math/...= -gcflags=math/big=-l -gcflags=github.com/mlget/mlget/internal/engine/...= -gcflags=github.com/mlget/mlget/internal/fetch= -gcflags=github.com/mlget/mlget/pkg/scheduler/...=
TOOLS     = .cache/bin
# vet compiles with -trimpath too, so that cross compiles everything once only.
SYSTEMS   = linux/amd64 linux/arm64 linux/arm linux/386 android/arm64 \
            darwin/amd64 darwin/arm64 windows/amd64 windows/arm64 freebsd/amd64
DEMO_SIZE = 100MB
FUZZTIME  = 20s

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

.PHONY: build
build: ## build bin/mlget (and, on Linux, bin/linklab), static
	@mkdir -p bin
	@$(STATIC) $(LEAN) -o bin/mlget ./cmd/mlget
	@if [ "$$(go env GOOS)" = linux ]; then $(STATIC) -o bin/linklab ./cmd/linklab; fi
	@echo "bin/mlget: $$(wc -c < bin/mlget | tr -d ' ') bytes"

.PHONY: demo
demo: build ## download 100 MB over two emulated links and show the report
	@sh .ci/demo $(DEMO_SIZE)

# What is pure, and takes less than a minute: for while one is writing.
QUICK = ./internal/android/... ./internal/cli/... ./internal/dataset ./internal/deptest ./internal/energy ./internal/engine/accept ./internal/event/... ./internal/identity ./internal/joblist \
	./internal/linklab/battery ./internal/linklab/emu ./internal/linklab/scenario ./internal/metrics ./internal/netrc ./internal/page ./internal/papers \
	./internal/plot ./internal/power ./internal/progress ./internal/record ./internal/replay ./internal/report ./internal/sim ./internal/store \
	./internal/terms ./internal/units ./pkg/...
.PHONY: quick
quick: ## vet, and the tests of what only computes: less than a minute
	@go vet -trimpath ./...
	@go test -trimpath -short -vet=off $(QUICK)

# Fuzz targets run with their seeds, and with what was found once, as tests do.
.PHONY: test
test: $(TOOLS)/gotestsum-$(GOTESTSUM) ## run all tests: five to six minutes on two cores
	@go vet -trimpath ./...
	@.ci/test $(TOOLS)/gotestsum-$(GOTESTSUM)

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (20s)
	@sh .ci/fuzz $(FUZZTIME)

.PHONY: lint
lint: $(TOOLS)/golangci-lint-$(GOLANGCI_LINT) $(TOOLS)/gofumpt-$(GOFUMPT) ## linters, formatting, go.mod
	@$(TOOLS)/gofumpt-$(GOFUMPT) -l . | awk '{ print $$0 ": not formatted: run gofumpt -w" } END { exit NR > 0 }'
	@go mod tidy -diff
	@$(TOOLS)/golangci-lint-$(GOLANGCI_LINT) run ./...

.PHONY: vuln
vuln: $(TOOLS)/govulncheck-$(GOVULNCHECK) ## look for known vulnerabilities; needs vuln.go.dev
	@out=$$($(TOOLS)/govulncheck-$(GOVULNCHECK) ./... 2>&1) && { echo "$$out"; exit 0; }; \
	echo "$$out"; \
	case $$out in \
	*'fetching vulnerabilities'*) echo 'make vuln: NOTHING WAS CHECKED: the database cannot be reached from here' ;; \
	*) exit 1 ;; \
	esac

.PHONY: cross
cross: ## build for all systems into dist/, and vet the tests for them
	@mkdir -p dist
	@for s in $(SYSTEMS); do \
		GOOS=$${s%/*} GOARCH=$${s#*/} GOARM=7; export GOOS GOARCH GOARM; \
		CGO_ENABLED=0 go vet -trimpath $(LEAN) ./... || exit 1; \
		exe=; [ $$GOOS = windows ] && exe=.exe; \
		for p in mlget linklab; do \
			[ $$p = linklab ] && [ $$GOOS != linux ] && continue; \
			lean=; [ $$p = mlget ] && lean='$(LEAN)'; \
			f=dist/$$p-$$GOOS-$$GOARCH$$exe; \
			$(STATIC) $$lean -o $$f ./cmd/$$p || exit 1; \
			printf '%10d  %s\n' "$$(wc -c < $$f)" $$f; \
		done; \
	done

# What is handed out. The phone's programs have a limit; all of it is tried.
.PHONY: dist
dist: cross $(TOOLS)/nfpm-$(NFPM) ## the same, with packages for Termux and Linux, recipes, install.sh for adb, licences, checksums
	@sh internal/release/dist.sh $(TOOLS)/nfpm-$(NFPM)
	@for f in dist/mlget-linux-arm64 dist/mlget-android-arm64; do [ "$$(wc -c < $$f)" -lt 16000000 ] || \
		{ echo "$$f has $$(wc -c < $$f) bytes: 16 MB are the limit" >&2; exit 1; }; done
	@sh internal/release/try.sh dist
	@MLGET_DIST="$(CURDIR)/dist" go test -count=1 -run TestDist ./internal/release

# testdata/replay/README.md says what is compared.
.PHONY: replay replay-accept replay-record
replay: ## compare the scheduler's answers with those stored in testdata/replay
	@go test -count=1 ./internal/replay -args -full
replay-accept: ## store the answers of a changed scheduler, and print what the change does
	@go test -count=1 -v ./internal/replay -run 'Runs$$' -args -accept
	@go test -count=1 ./internal/sim -run 'Regression|Wild$$|Crowded' -args -update
replay-record: build ## record real runs over linklab's links anew
	@mkdir -p .cache/replay
	@.ci/record-replays "$(CURDIR)/.cache/replay"
	@go test -count=1 ./internal/replay -run Import -args -import "$(CURDIR)/.cache/replay"

# From another folder, by another user's cache, at another time. One system
# stands for all; the other one is a static program.
.PHONY: repro
repro: ## build the phone's programs once more elsewhere, and compare with dist/
	@sh .ci/repro

# What depends on the processor. test-arm-all: everything that does not need the kernel's
# own network namespaces.
.PHONY: test-arm test-arm-all
test-arm: ## run what depends on the processor as linux/386, and linux/arm and linux/arm64 under qemu-user
	@sh .ci/test-arm
test-arm-all: ## run nearly all tests for linux/arm and linux/arm64 under qemu-user
	@sh .ci/test-arm all

# .ci/wine-skips names what wine cannot do.
.PHONY: test-windows test-windows-all
test-windows: $(TOOLS)/gotestsum-$(GOTESTSUM) ## run the tests of windows/amd64, and mlget.exe, under wine
	@sh .ci/test-windows $(TOOLS)/gotestsum-$(GOTESTSUM)
test-windows-all: $(TOOLS)/gotestsum-$(GOTESTSUM) ## the same, with the packages that mostly compute
	@sh .ci/test-windows $(TOOLS)/gotestsum-$(GOTESTSUM) all

# The results stay in .cache/bench: when interrupted, `bin/linklab bench` with
# the same flags and --resume FILE goes on. Other pages: `bin/linklab bench --help`.
.PHONY: bench
bench: build ## compare with other tools over emulated links, quickly; writes docs/measured/benchmarks.md
	@mkdir -p .cache/bench
	@cd .cache/bench && ../../bin/linklab bench --quick --out ../../docs/measured/benchmarks.md

.PHONY: bench-full
bench-full: build ## the same with all tools, scenarios and TLS, 10 times: more than a day
	@bin/linklab bench --document benchmarks

# Reproducible: `make soak SEED=7`. One cell: bin/linklab faults --only NAME. Every line
# of it in some minutes: `make soak CELLS=200 CRASHES=1 SOAKTIME=10s`.
SEED    = 1
JOBS    = 8
CELLS   = 0
CRASHES = 50
.PHONY: soak
soak: build ## all cases of what only computes, losses of power, the whole matrix of faults, long runs; writes docs/measured/reliability.md
	@MLGET_SOAK=$(SOAKTIME) go test -timeout 1h ./internal/sim ./internal/papers ./pkg/...
	@MLGET_ADVERSARY_COUNT=20000 go test ./internal/adversary -timeout 1h
	@MLGET_SOAK=$(SOAKTIME) go test ./cmd/mlget -run 'TestEHTSettlesNearTheBest$$' -parallel 8 -timeout 30m
	@go test ./internal/store -run 'TestPowerLoss$$' -crashes $$((4 * $(CRASHES))) -crash-seed $(SEED) -timeout 30m
	@go test ./cmd/mlget -run 'TestPowerLoss$$' -crashes $(CRASHES) -crash-seed $(SEED) -timeout 30m
	@mkdir -p .cache/faults
	@bin/linklab faults --seed $(SEED) --jobs $(JOBS) --cells $(CELLS) --keep .cache/faults \
		--out .cache/faults/cells.md --page docs/measured/reliability.md
	@$(MAKE) --no-print-directory soak-day

# 24 hours at 50 Mbit/s are 540 GB; how many of them the time allows is said.
SOAKTIME = 5m
.PHONY: soak-day
soak-day: ## a day's stream over loopback, and jobs of 10,000 files, SOAKTIME (5m) each
	@mkdir -p .cache
	@MLGET_SOAK=$(SOAKTIME) go test -count=1 -timeout 1h -v -run 'TestSoakStream|TestSoakJobs' ./cmd/mlget ./internal/engine \
		> .cache/soak-day.txt 2>&1; status=$$?; grep -E '^ok|FAIL|_test.go:' .cache/soak-day.txt; exit $$status

.PHONY: clean
clean: ## remove what was built, tools included
	@rm -rf bin dist .cache

# A tool's file bears its version, so that a new version is a new file.
$(TOOLS)/golangci-lint-$(GOLANGCI_LINT):
	@$(call install,github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT))
$(TOOLS)/gofumpt-$(GOFUMPT):
	@$(call install,mvdan.cc/gofumpt@$(GOFUMPT))
$(TOOLS)/govulncheck-$(GOVULNCHECK):
	@$(call install,golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK))
$(TOOLS)/nfpm-$(NFPM):
	@$(call install,github.com/goreleaser/nfpm/v2/cmd/nfpm@$(NFPM))
$(TOOLS)/gotestsum-$(GOTESTSUM):
	@$(call install,gotest.tools/gotestsum@$(GOTESTSUM))
install = echo 'building $(1)'; GOBIN="$(CURDIR)/$(TOOLS)" go install $(1) && mv $(basename $(@D)/$(notdir $(firstword $(subst @, ,$(1))))) $@
