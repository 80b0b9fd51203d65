# What CI runs, and what developers run: .ci/run calls these targets and nothing
# else. Tools are pinned here.

STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME   ?= 10s
BENCH      ?= .
COUNT      ?= 10

# All is compiled as releases are, so that tests test what users run, and each package is compiled once. go build ./cmd/cgemu finds its profile, default.pgo, by itself.
FLAGS = -trimpath '-pgo=$(CURDIR)/cmd/cgemu/default.pgo'
export CGO_ENABLED = 0

# The same for what runs the go command itself.
ALLFLAGS = GOFLAGS="$$(go env GOFLAGS) $(FLAGS)"

.PHONY: all build unicorn demo pgo test test-all test-oracles tagged-oracles portable check check-fmt staticcheck bench fuzz golden cover web dist test-dist

all: build

# The binary is static and the same wherever it is built.
build:
	go build -trimpath -o bin/cgemu ./cmd/cgemu

# With the Unicorn engine besides: libunicorn is looked for when it is asked for. Needs glibc.
unicorn:
	go build -trimpath -tags unicorn -o bin/cgemu-unicorn ./cmd/cgemu

# The busiest functions and lines of a small program that is checked in.
demo: build
	bin/cgemu --cachegrind-out-file=bin/demo.out -- testdata/demo
	bin/cgemu annotate --threshold=2 --context=2 bin/demo.out
	@echo "(??? is what has no debug information here: the C library. The lines above are the program's own.)"

# Where cgemu takes time, for the compiler, which reads cmd/cgemu/default.pgo by itself: programs of which most code is translated, both engines, simulation, calls.
pgo: build
	rm -rf bin/pgo && mkdir bin/pgo
	gcc -E testdata/guest.c -o bin/guest.i
	@set -e; run() { echo "$$@"; bin/cgemu -q --cachegrind-out-file=bin/pgo/out --debug=cpu "$$@" >/dev/null & wait $$!; mv /tmp/cgemu-$$!.pprof bin/pgo; }; \
	for n in 1 2; do \
		for flags in --cache-sim=no --call-graph=yes "--cache-sim=yes --branch-sim=yes"; do \
			run $$flags /usr/bin/node -e 0; \
			run $$flags $$(gcc -print-prog-name=cc1) -quiet -O2 bin/guest.i -o /dev/null; \
		done; \
		run $$(readlink -f /usr/bin/clang) -c -O2 -o /dev/null testdata/guest.c; run $$(readlink -f /usr/bin/java) -version; run git log --oneline -500; \
	done; \
	for flags in --cache-sim=no "--cache-sim=yes --branch-sim=yes"; do \
		run --engine=interp $$flags /usr/bin/perl -e '$$x{$$_ % 1000} += $$_ for 1..200000'; \
		run --engine=interp $$flags /usr/bin/bzip2 -c docs/manual.md; \
		run --engine=interp $$flags /usr/bin/sqlite3 :memory: 'with recursive c(x) as (select 1 union all select x+1 from c where x<60000) select sum(x*x%7) from c'; \
	done
	go tool pprof -proto bin/pgo/*.pprof >cmd/cgemu/default.pgo

# Quick: no oracle, no race detector, no vet, which make check has. What takes longest begins first.
test:
	go test $(FLAGS) -vet=off -timeout 30m ./syscalls ./emu/enginetest ./...

# With the race detector, every test in an order of its own.
test-all:
	CGO_ENABLED=1 go test -pgo=off -race -shuffle=on -timeout 60m ./...

# Against other programs: Valgrind, gdb, objdump, c++filt, rustc, Unicorn, qemu, Wine,
# Chromium. A missing one is a failure. The packages are those that have such tests; what make test has
# of them and runs the same here is left out as far as it takes long. make check vets them.
test-oracles:
	@$(MAKE) --no-print-directory -j2 tagged-oracles portable

# With a profile, what only a package's tests import is compiled once more for them, unless it is imported by what go test is told besides. These import nearly all.
IMPORT_ALL = ./cmd/cgemu ./internal/browsertest

# Tests that take long and run the same without the tags: make test has them, or make check.
ALIKE = TestOtherHosts|TestImports|TestRecord|TestRecorded|TestScripts|TestDigests|TestCallGraphEngines|TestCallGraphLimits|TestGoroutineCalls|TestOverlayPrograms|TestRewrittenCode|TestWildData|TestWildJumps|TestCodeForEver|TestImageOfTooManyArcs|TestSchedules|TestConfinedPrograms|TestCollectJumps|TestCollectJumpsLimits|TestGuestEscapes|TestSecondWall|TestConcurrentRuns|TestManyAtOnce|FuzzCalls|FuzzNativeCalls
# Tests of each engine, of which Unicorn alone is new with the tags.
ALIKE_ENGINES = ^(TestLongRepeats|TestBudget)$$/^(interp|jit)

# Wine, which is the last of the package that takes longest, waits half of its time: one test more at a time than there are CPUs.
tagged-oracles:
	go test $(FLAGS) -vet=off -tags oracles,unicorn -parallel $$(($$(nproc) + 1)) -timeout 60m -skip '^($(ALIKE))$$|$(ALIKE_ENGINES)' $(IMPORT_ALL) $$(grep -rlE '^//go:build .*(oracles|unicorn)' --include='*_test.go' --exclude-dir=bin . | xargs -n1 dirname | sort -u)

# The layer of other hosts, on this one. Half of its time it waits. The root package has no such test, but imports the engines.
portable:
	go test $(FLAGS) -vet=off -tags portable -timeout 30m ./emu/mem ./syscalls/internal/...
	go test $(FLAGS) -vet=off -tags portable -timeout 30m -run '^TestConformance$$/^gcc$$' ./syscalls . -engine=interp

# Most files are there with the tags. Then come those that are not, with those of other hosts' layer, and Windows'. For each set of tags all of the standard library
# is gone through. staticcheck compiles it all once more, without a profile, to know the types: what it reads of that is the same if nothing is optimized. TestOtherHosts
# type-checks all packages and their tests for other hosts; make dist compiles the command for them. What go generate makes is compared by tests.
check: check-fmt staticcheck
	go vet $(FLAGS) -tags oracles,unicorn ./...
	go vet $(FLAGS) -tags portable ./emu/mem ./syscalls/... $$(grep -rlE '^//go:build .*!(oracles|unicorn)' --include='*.go' --exclude-dir=bin . | xargs -n1 dirname | sort -u)
	GOOS=windows go vet $(FLAGS) ./...
	GOFLAGS="$$(go env GOFLAGS) -trimpath '-gcflags=all=-N -l'" bin/staticcheck -tags oracles,unicorn ./...
	go test $(FLAGS) -vet=off -count=1 -tags oracles,unicorn -run '^(TestOtherHosts|TestImports)$$' . $(IMPORT_ALL)
	go mod tidy -diff

staticcheck:
	GOBIN='$(CURDIR)/bin' go install $(FLAGS) $(STATICCHECK)

check-fmt:
	@bad=$$(gofmt -l .); if [ -n "$$bad" ]; then echo "not gofmt-ed: $$bad" >&2; exit 1; fi

# For benchstat: make bench >old; …; make bench >new; benchstat old new
bench:
	go test $(FLAGS) -vet=off -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) ./...

# Every fuzz target for a while.
fuzz:
	@set -e; for pkg in $$(go list ./...); do \
		for f in $$(go test $(FLAGS) -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
			echo "$$pkg $$f"; \
			go test $(FLAGS) -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$pkg; \
		done; done

# Rewrites the golden files from what the tests get now: look at git diff.
golden:
	go test $(FLAGS) $$(grep -rl --include='*_test.go' 'Bool("update"' . | xargs -n1 dirname | sort -u) -update

cover:
	go test $(FLAGS) -coverprofile=cover.out ./... && go tool cover -func=cover.out | tail -1

# cgemu's reader of profiles for a browser: bin/cgemu-web.html, one file that needs nothing else.
web:
	GOOS=js GOARCH=wasm go build -trimpath -buildvcs=false -ldflags='-s -w -buildid=' -o bin/cgemu-web.wasm ./cmd/cgemu-web
	go run ./cmd/cgemu-web -program bin/cgemu-web.wasm -exec "$$(go env GOROOT)/lib/wasm/wasm_exec.js" -o bin/cgemu-web.html LICENSE "$$(go env GOROOT)/LICENSE" \
		$$(GOOS=js GOARCH=wasm go list -deps -f '{{with .Module}}{{if not .Main}}{{.Dir}}/LICENSE{{end}}{{end}}' ./cmd/cgemu-web | sort -u)
	@ls -l bin/cgemu-web.html

# What a release consists of, in dist: archives, packages, a container image, checksums. From what is committed; DIST=-dirty to try.
dist:
	cd packaging && go run . -out ../dist $(DIST)

# What dist makes is the same twice, for the platforms that other tests compile for as well: each of the other four takes 80 s of CPU time. From clones: tests
# that run meanwhile leave files in the tree. And the tests of packaging.
TRIED = -platforms linux/amd64,linux/arm64,windows/amd64
test-dist: export GOGC = 400
test-dist: staticcheck
	rm -rf bin/once bin/again && git clone -q . bin/once && git clone -q . bin/again
	cd bin/once/packaging && export $(ALLFLAGS) && go run . $(TRIED) -out ../dist && go vet . && '$(CURDIR)/bin/staticcheck' . && go mod tidy -diff && go test .
	cd bin/again/packaging && $(ALLFLAGS) go run . $(TRIED) -out ../dist && cmp ../dist/SHA256SUMS ../../once/dist/SHA256SUMS
	rm -rf bin/once bin/again
