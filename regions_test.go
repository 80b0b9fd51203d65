//go:build linux && amd64

package cgemu_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/cachesim"
	"github.com/cgemu/cgemu/cgout"
)

var off = cgemu.Regions{NotInstr: true}

// TestRequestsCount counts regions to the instruction: a request that starts does not count, one
// that stops does.
func TestRequestsCount(t *testing.T) {
	for _, tt := range []struct {
		name, code string
		regions    cgemu.Regions
		want       uint64
		dumps      []uint64
	}{
		{name: "start and stop", regions: off, want: 10 + 3, code: `N 5; REQ CG_START; N 10; REQ CG_STOP; N 7; EXIT`},
		{name: "on at start", want: 5 + 3 + 10 + 3, code: `N 5; REQ CG_START; N 10; REQ CG_STOP; N 7; EXIT`},
		{name: "Callgrind's", regions: off, want: 10 + 3, code: `N 5; REQ CT_START; N 10; REQ CT_STOP; N 7; EXIT`},
		{name: "ours", regions: off, want: 10 + 3, code: `N 5; REQ CE_START; N 10; REQ CE_STOP; N 7; EXIT`},
		{name: "never", regions: off, code: `N 5; EXIT`},
		{name: "to the end", regions: off, want: 3 + 3, code: `N 5; REQ CG_START; N 3; EXIT`},
		{name: "from the start", want: 5 + 3, code: `N 5; REQ CG_STOP; N 3; EXIT`},
		{
			name: "redundant", regions: off, want: 3 + 3 + 4 + 3,
			code: `REQ CG_STOP; REQ CG_START; N 3; REQ CG_START; N 4; REQ CG_STOP; N 5; REQ CG_STOP; EXIT`,
		},
		{name: "twice", regions: off, want: 2 + 3 + 4 + 3, code: `
			REQ CG_START; N 2; REQ CG_STOP; N 3; REQ CG_START; N 4; REQ CG_STOP; EXIT`},
		{name: "in a loop", regions: off, want: 1000 * (3 + 3), code: `
			mov $1000, %ebp
		1:	REQ CG_START; N 3; REQ CG_STOP; N 2
			dec %ebp
			jnz 1b
			EXIT`},
		{name: "across a loop", regions: off, want: 1 + 2*1000 + 2 + 1000*5 + 1 + 3, code: `
			mov $1000, %ebp
		1:	dec %ebp; jnz 1b
			REQ CG_START
			mov $1000, %ebp
		1:	dec %ebp; jnz 1b
			N 2
			mov $1000, %ebp
		1:	N 3; dec %ebp; jnz 1b
			REQ CG_STOP
			mov $1000, %ebp
		1:	N 3; dec %ebp; jnz 1b
			EXIT`},
		{name: "in a function", regions: off, want: 4 + 1 + 2 + 1 + 4 + 1 + 1 + 3, code: `
			call f; call f
			REQ CG_START; call f; N 2; call f; REQ CG_STOP
			call f; EXIT
			FN f; N 4; ret`},
		{name: "toggled", want: 5 + 3 + 7 + 3, code: `N 5; REQ CT_TOGGLE; N 10; REQ CT_TOGGLE; N 7; EXIT`},
		{
			name: "toggled, off at start", regions: cgemu.Regions{NotCollecting: true}, want: 10 + 3,
			code: `N 5; REQ CE_TOGGLE; N 10; REQ CE_TOGGLE; N 7; EXIT`,
		},
		{name: "both", regions: off, want: 4 + 3 + 6 + 3, code: `
			REQ CE_START; N 4; REQ CE_TOGGLE; N 5; REQ CE_STOP; REQ CE_TOGGLE; REQ CE_START; N 6; REQ CE_STOP; EXIT`},
		{name: "zero", want: 10 + 3, code: `N 5; REQ CT_ZERO; N 10; EXIT`},
		{name: "our zero", want: 10 + 3, code: `N 5; REQ CE_ZERO; N 10; EXIT`},
		{name: "dumps", want: 3, dumps: []uint64{5 + 3, 10 + 3}, code: `N 5; REQ CT_DUMP; N 10; REQ CE_DUMP; EXIT`},
		{name: "dumps with names", want: 3, dumps: []uint64{5 + 3, 10 + 3}, code: `
			.pushsection .data; name: .asciz "a name"; .popsection
			N 5; REQ CT_DUMP_AT, name; N 10; REQ CE_DUMP_AT, name; EXIT`},
		{name: "dumps while off", regions: off, want: 2 + 3, dumps: []uint64{0, 0, 3 + 3, 3}, code: `
			REQ CT_DUMP; REQ CT_DUMP; REQ CE_START; N 3; REQ CT_DUMP; REQ CE_ZERO; REQ CT_DUMP
			N 2; EXIT`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var dumps []uint64
			r := start(t, cgemu.Config{
				Args: []string{assemble(t, tt.code)}, Regions: tt.regions,
				OnDump: func(_ int, p *cgout.Profile) { dumps = append(dumps, p.Total("Ir")) },
			})
			assert.Equal(t, tt.want, r.total())
			assert.Equal(t, tt.dumps, dumps)
		})
	}
}

// TestRequestResults checks what requests leave in RDX: the default, 77, if nobody knows them.
func TestRequestResults(t *testing.T) {
	for code, want := range map[string]int{
		"CG_START": 0, "CG_STOP": 0, "CG_STOP+1": 77, "CT_DUMP": 0, "CT_ZERO": 0, "CT_TOGGLE": 0, "CT_START": 0,
		"CT_STOP": 0, "CT_STOP+1": 77, "CE_START": 0, "CE_ZERO": 0, "CE_RUNNING": 1, "CE_RUNNING+1": 77, "0x1001": 1,
	} {
		r := start(t, cgemu.Config{Args: []string{assemble(t, "REQ "+code+"\n EXIT %edx")}})
		assert.Equal(t, want, r.Exit.Code, code)
	}
	// Cachegrind knows its own only.
	for code, want := range map[string]int{"CT_ZERO": 77, "CG_START": 0} {
		r := start(t, cgemu.Config{Args: []string{assemble(t, "REQ "+code+"\n EXIT %edx")}, Compat: true})
		assert.Equal(t, want, r.Exit.Code, code)
		assert.EqualValues(t, 6, r.total(), code)
	}
}

// calls is a program of functions with known costs.
const calls = `
	N 5
	call f
	N 3
	call f
	call g
	mov $10, %ecx
	call loops
	mov $5, %ecx
	call recursive
	call tail
	EXIT
	FN f; N 4; ret                       // 5
	FN g; N 2; call f; N 1; ret          // 5 and f's
	FN loops; dec %ecx; jnz loops; ret   // begins with the target of a jump
	FN recursive; dec %ecx; jz 1f; call recursive; 1: ret
	FN tail; N 6; jmp f                  // 7 and f's
`

// TestToggleCollect counts what functions cost with what they call.
func TestToggleCollect(t *testing.T) {
	const f, loops, recursive = 5, 10*2 + 1, 5*2 + 4 + 5
	for _, tt := range []struct {
		toggle []string
		want   uint64
	}{
		{[]string{"f"}, 4 * f},
		{[]string{"g"}, 5 + f},
		{[]string{"f", "g"}, 2*f + 5 + f}, // in g f is off
		{[]string{"?"}, 2*f + 5 + f},
		{[]string{"loops"}, loops},
		{[]string{"recursive"}, recursive},
		{[]string{"r*e"}, recursive},
		{[]string{"tail"}, 7 + f},
		{[]string{"tail", "f"}, 2*f + f + 7}, // tail's jump to f turns it off
		{[]string{"_start"}, 8 + 6 + 2 + 3 + 4*f + 5 + loops + recursive + 7},
		{[]string{"nothing"}, 0},
	} {
		r := start(t, cgemu.Config{Args: []string{assemble(t, calls)}, Regions: cgemu.Regions{Toggle: tt.toggle}})
		assert.Equal(t, tt.want, r.total(), tt.toggle)
	}
}

// TestFromTo counts from the first entry of a function to that of another.
func TestFromTo(t *testing.T) {
	const program = `
		N 5; call f; N 3; call g; N 2; call f; call g; EXIT
		FN f; N 4; ret
		FN g; N 7; ret`
	const all = 5 + 1 + 5 + 3 + 1 + 8 + 2 + 1 + 5 + 1 + 8 + 3
	for _, tt := range []struct {
		from, to []string
		want     uint64
	}{
		{[]string{"f"}, nil, all - 6},
		{[]string{"g"}, nil, all - (6 + 5 + 4)},
		{[]string{"g", "f"}, nil, all - 6},
		{nil, []string{"g"}, 6 + 5 + 4},
		{nil, []string{"_start"}, 0},
		{[]string{"f"}, []string{"g"}, 5 + 4},
		{[]string{"g"}, []string{"f"}, 8 + 3},
		{[]string{"g"}, []string{"g"}, 0},
		{[]string{"nothing"}, nil, 0},
		{nil, []string{"nothing"}, all},
	} {
		r := start(t, cgemu.Config{Args: []string{assemble(t, program)}, Regions: cgemu.Regions{From: tt.from, To: tt.to}})
		assert.Equal(t, tt.want, r.total(), "%v %v", tt.from, tt.to)
	}
}

// onlyInside checks that a profile has the cost of the function inside, some instructions of main's, and no more.
func onlyInside(t *testing.T, p *cgout.Profile) {
	t.Helper()
	assert.Equal(t, []uint64{1000}, max1(lineCosts(p, "inside")))
	assert.Empty(t, lineCosts(p, "outside"))
	assert.Less(t, p.Total("Ir"), uint64(1000+40))
}

// max1 returns the largest cost of lines.
func max1(lines map[int]uint64) []uint64 {
	var most []uint64
	for _, n := range lines {
		if most == nil || n > most[0] {
			most = []uint64{n}
		}
	}
	return most
}

// TestHeaders compiles a program with each of the headers, as C and as C++.
func TestHeaders(t *testing.T) {
	for header, file := range map[string]string{
		"1": "include/cgemu.h", "2": "/usr/include/valgrind/valgrind.h", "3": "/usr/include/valgrind/callgrind.h",
	} {
		for compiler, std := range map[string]string{"gcc": "-std=c11", "g++": "-std=c++11"} {
			for _, level := range []string{"-O0", "-O2"} {
				t.Run(strings.Join([]string{compiler, level, file}, " "), func(t *testing.T) {
					needFile(t, file)
					p := compile(t, compiler, "-Wall", "-Wextra", "-Werror", std, level, "-g", "-DHEADER="+header, "testdata/regions/region.c", "-o")
					onlyInside(t, start(t, cgemu.Config{Args: []string{p}, Regions: off}).Profile)
					all := start(t, cgemu.Config{Args: []string{p}})
					assert.NotEmpty(t, lineCosts(all.Profile, "outside"))
				})
			}
		}
	}
	// Natively, and where there are no requests, the macros do nothing.
	for _, flags := range []string{"-O2", "-U__x86_64__"} {
		p := compile(t, "gcc", "-Wall", "-Wextra", "-Werror", "-pedantic", "-std=c99", flags, "-xc", "-DHEADER=1", "testdata/regions/region.c", "-o")
		require.Empty(t, native(t, p))
	}
}

// TestDumpRequests makes all requests of a header.
func TestDumpRequests(t *testing.T) {
	needFile(t, "/usr/include/valgrind/callgrind.h")
	for _, header := range []string{"1", "3"} {
		p := compile(t, "gcc", "-O1", "-g", "-Wall", "-Werror", "-DHEADER="+header, "testdata/regions/requests.c", "-o")
		var dumps []*cgout.Profile
		r := start(t, cgemu.Config{Args: []string{p}, OnDump: func(_ int, p *cgout.Profile) { dumps = append(dumps, p) }})
		assert.Equal(t, "1 1\n", r.stdout)
		require.Len(t, dumps, 2)
		parts := []*cgout.Profile{dumps[0], dumps[1], r.Profile}
		for fn, want := range map[string][]uint64{
			"forgotten": {0, 0, 0}, "first": {200, 0, 0}, "second": {0, 300, 0}, "skipped": {0, 0, 0}, "last": {0, 0, 500},
		} {
			for i, p := range parts {
				got := append(max1(lineCosts(p, fn)), 0)[0]
				assert.Equal(t, want[i], got/100*100, "%s in part %d", fn, i) // and a RET
			}
		}
		assert.Equal(t, []string{"Trigger: Client Request"}, dumps[0].Desc)
		assert.Equal(t, []string{"Trigger: Client Request: the second"}, dumps[1].Desc)
		assert.Empty(t, r.Profile.Desc)
		assert.Equal(t, p, dumps[0].Cmd)
	}
}

// TestOtherLanguages marks regions from Go and from Rust.
func TestOtherLanguages(t *testing.T) {
	for _, tt := range []struct {
		compiler []string
		// overhead is how many instructions, besides work's, a part may have. Go's runtime works too.
		overhead uint64
	}{
		{[]string{"go", "build", "-o", "./testdata/regions/gomark"}, 20_000},
		{[]string{"rustc", "-O", "-g", "testdata/regions/region.rs", "-o"}, 100},
	} {
		t.Run(tt.compiler[0], func(t *testing.T) {
			p := compile(t, tt.compiler...)
			require.Equal(t, "false true\n", native(t, p))
			var dumps []*cgout.Profile
			r := start(t, cgemu.Config{
				Args: []string{p}, Regions: off, OnDump: func(_ int, p *cgout.Profile) { dumps = append(dumps, p) },
			})
			assert.Equal(t, "true true\n", r.stdout)
			require.Len(t, dumps, 1)
			for i, p := range []*cgout.Profile{dumps[0], r.Profile} {
				n := []uint64{100_000, 1000}[i]
				var work uint64
				p.Each(func(_, fn string, _ int, counts []uint64) {
					assert.NotContains(t, fn, "other")
					if strings.HasSuffix(fn, "work") {
						work += counts[0]
					}
				})
				// The loop has from 7 to 12 instructions, or is unrolled.
				assert.Greater(t, work, 6*n)
				assert.Less(t, work, 12*n+50)
				assert.Less(t, p.Total("Ir"), work+tt.overhead)
			}
		})
	}
}

// TestRegionsAndPrograms follows functions into the program that execve loads, and into
// libraries that are loaded where others were.
func TestRegionsAndPrograms(t *testing.T) {
	first := assemble(t, `
		call f
		mov 16(%rsp), %rdi
		lea 16(%rsp), %rsi
		xor %edx, %edx
		mov $59, %eax
		syscall
		EXIT $1
		FN f; N 4; ret`)
	second := assemble(t, `N 9; call f; EXIT; FN f; N 6; ret`)
	toggle := cgemu.Regions{Toggle: []string{"f", "plug"}}
	r := start(t, cgemu.Config{Args: []string{first, second}, Regions: toggle})
	require.Zero(t, r.Exit.Code)
	assert.EqualValues(t, 5+7, r.total())

	p := compile(t, "gcc", "-O1", "testdata/regions/plug.c", "-ldl", "-o")
	var libs []string
	for _, text := range []string{"plug: .rept 100; nop; .endr; ret", "g: ret; ret; ret; plug: .rept 200; nop; .endr; ret", "plug: ret"} {
		source := filepath.Join(t.TempDir(), "lib.S")
		require.NoError(t, os.WriteFile(source, []byte(".globl plug; .type plug, @function; "+text+"\n"), 0o644))
		libs = append(libs, compile(t, "gcc", "-shared", "-nostdlib", source, "-o"))
	}
	r = start(t, cgemu.Config{Args: []string{p, libs[0], libs[1], libs[0], libs[2], libs[1]}, Regions: toggle})
	require.Zero(t, r.Exit.Code)
	assert.EqualValues(t, 2*(101+201+101+1+201), r.total())
}

// TestRegionsOfThreads lets a thread wait in the region while others work: what they do does not count.
func TestRegionsOfThreads(t *testing.T) {
	p := compile(t, "gcc", "-O1", "-g", "-pthread", "testdata/regions/threads.c", "-o")
	r := start(t, cgemu.Config{Args: []string{p}, Regions: cgemu.Regions{Toggle: []string{"region"}}})
	assert.Empty(t, lineCosts(r.Profile, "work"))
	assert.Empty(t, lineCosts(r.Profile, "main"))
	all := start(t, cgemu.Config{Args: []string{p}})
	assert.NotEmpty(t, lineCosts(all.Profile, "work"))
	assert.Equal(t, lineCosts(all.Profile, "region"), lineCosts(r.Profile, "region"))
	again := start(t, cgemu.Config{Args: []string{p}, Regions: cgemu.Regions{Toggle: []string{"region"}}})
	sameProfile(t, r.profile, again.profile)
}

// TestRegionsAndLimits counts the same with a budget.
func TestRegionsAndLimits(t *testing.T) {
	cfg := cgemu.Config{Args: []string{assemble(t, calls)}, Regions: cgemu.Regions{Toggle: []string{"recursive"}}}
	want := start(t, cfg).total()
	cfg.MaxInsns = 1_000_000
	r := start(t, cfg)
	assert.False(t, r.Exit.Limit)
	assert.Equal(t, want, r.total())
	cfg.MaxInsns = 20
	r = start(t, cfg)
	assert.True(t, r.Exit.Limit)
}

// TestUnmatched names functions that no file has.
func TestUnmatched(t *testing.T) {
	var log strings.Builder
	p := assemble(t, calls)
	_, err := cgemu.Run(t.Context(), cgemu.Config{
		Path: p, Args: []string{p}, Log: &log,
		Regions: cgemu.Regions{Toggle: []string{"f", "none"}, From: []string{"x*", "_start"}, To: []string{"?"}},
	})
	require.NoError(t, err)
	assert.Equal(t, "cgemu: --toggle-collect=none: no program or library that was loaded has such a function\n"+
		"cgemu: --from=x*: no program or library that was loaded has such a function\n", log.String())
}

// TestSimulationInRegions checks that caches go on while nothing is collected, and stand while code
// is not instrumented.
func TestSimulationInRegions(t *testing.T) {
	const program = `
		mov data(%%rip), %%rax
		REQ %s
		mov data+64(%%rip), %%rax
		REQ %s
		mov data+64(%%rip), %%rax
		mov data(%%rip), %%rax
		jmp 1f
		.balign 4096
	1:	EXIT
		.data
		.balign 64
		data: .skip 128`
	for _, tt := range []struct {
		leave, enter string
		misses       uint64
	}{{"CE_STOP", "CE_START", 2}, {"CE_TOGGLE", "CE_TOGGLE", 1}} {
		r := start(t, cgemu.Config{
			Args: []string{assemble(t, fmt.Sprintf(program, tt.leave, tt.enter))}, Caches: &cachesim.Default, Cycles: true,
		})
		assert.EqualValues(t, 3, r.Profile.Total("Dr"))
		assert.Equal(t, tt.misses, r.Profile.Total("D1mr"), tt.leave)
		n := func(events ...string) (sum uint64) {
			for _, e := range events {
				sum += r.Profile.Total(e)
			}
			return sum
		}
		assert.Equal(t, n("Ir")+10*n("I1mr", "D1mr", "D1mw")+100*n("ILmr", "DLmr", "DLmw"), n("Cy"))
	}
}

// TestUnqualified names a function without its package.
func TestUnqualified(t *testing.T) {
	var log strings.Builder
	p := compile(t, "go", "build", "-o", "./testdata/goroutines")
	_, err := cgemu.Run(t.Context(), cgemu.Config{Path: p, Args: []string{p}, Log: &log, Stdout: io.Discard, Regions: cgemu.Regions{Toggle: []string{"main"}}})
	require.NoError(t, err)
	assert.Equal(t, "cgemu: --toggle-collect=main: no function has this name; did you mean 'main.main'? ('*main' means all whose names end so)\n", log.String())
}
