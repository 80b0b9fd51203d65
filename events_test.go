//go:build linux && amd64

package cgemu_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/cachesim"
)

// byLine returns the counts of some events, by the line of one file.
func (r ran) byLine(file string, events ...string) map[int][]uint64 {
	columns := map[string]int{}
	for i, e := range r.Profile.Events {
		columns[e] = i
	}
	costs := map[int][]uint64{}
	r.Profile.Each(func(fl, _ string, line int, counts []uint64) {
		if !strings.HasSuffix(fl, file) {
			return
		}
		if costs[line] == nil {
			costs[line] = make([]uint64, len(events))
		}
		for i, e := range events {
			costs[line][i] += counts[columns[e]]
		}
	})
	return costs
}

// TestAllocs compares with what the lines of a program say of themselves.
func TestAllocs(t *testing.T) {
	const source = "testdata/regions/allocs.cc"
	text, err := os.ReadFile(source)
	require.NoError(t, err)
	expected := regexp.MustCompile(`// (\d+ \d+ \d+)$`)
	for _, flags := range [][]string{{"-O0"}, {"-O0", "-static"}, {"-O0", "-no-pie"}} {
		args := append([]string{"g++", "-std=c++17", "-g", "-fno-builtin"}, flags...)
		p := compile(t, append(args, source, "-o")...)
		r := start(t, cgemu.Config{Args: []string{p}, Events: []string{"allocs"}})
		require.Zero(t, r.Exit.Status())
		assert.Equal(t, []string{"Ir", "Alloc", "AllocB", "Free"}, r.Profile.Events)
		lines := r.byLine("allocs.cc", "Alloc", "AllocB", "Free")
		for i, line := range strings.Split(string(text), "\n") {
			want := "0 0 0"
			if m := expected.FindStringSubmatch(line); m != nil {
				want = m[1]
			}
			got := lines[i+1]
			if got == nil {
				got = make([]uint64, 3)
			}
			assert.Equal(t, want, strings.Trim(fmt.Sprint(got), "[]"), "%v: line %d: %s", flags, i+1, line)
		}
		// Watching changes no other count.
		assert.Equal(t, start(t, cgemu.Config{Args: []string{p}}).total(), r.total())
	}
}

// TestAllocsCallGraph has calls that allocate cost their callers something, once: a function's inclusive cost is its
// own and that of its calls.
func TestAllocsCallGraph(t *testing.T) {
	for _, flags := range [][]string{{"-O0"}, {"-O0", "-static"}, {"-O0", "-Wl,-z,now"}} {
		p := compile(t, append(append([]string{"g++", "-std=c++17", "-g", "-fno-builtin"}, flags...), "testdata/regions/allocs.cc", "-o")...)
		for _, cfg := range []cgemu.Config{{Engine: "jit"}, {Engine: "interp"}, {Engine: "interp", SeparateCallers: 2}} {
			cfg.Args, cfg.Events, cfg.CallGraph = []string{p}, []string{"allocs"}, true
			r := start(t, cfg)
			for f, sum := range functionSums(r.Profile) {
				for e, n := range sum.rest[1:] {
					require.Contains(t, []uint64{0, r.Profile.Totals()[1+e]}, n, "%v: %s: %s that no call to it has", flags, f.Name, r.Profile.Events[1+e])
				}
			}
			bytes := map[string]uint64{}
			for c := range r.Profile.Graph.Calls {
				name, _, _ := strings.Cut(c.Callee.Name, "'")
				bytes[name] += c.Counts[slices.Index(r.Profile.Events, "AllocB")]
			}
			require.EqualValues(t, 100, bytes["wrapped(unsigned long)"])
			require.Zero(t, bytes["malloc"])
		}
	}
}

func TestSyscallEvents(t *testing.T) {
	p := assemble(t, `
		mov $100, %ebp
	1:	mov $39, %eax
		syscall
		dec %ebp
		jnz 1b
		REQ CG_STOP
		mov $39, %eax
		syscall
		REQ CG_START
		EXIT`)
	r := start(t, cgemu.Config{Args: []string{p}, Events: []string{"syscalls"}})
	assert.Equal(t, []string{"Ir", "Sys"}, r.Profile.Events)
	assert.EqualValues(t, 101, r.Profile.Total("Sys"))
	var most uint64
	r.Profile.Each(func(_, _ string, _ int, counts []uint64) {
		most = max(most, counts[1])
		if counts[1] == 100 {
			assert.EqualValues(t, 100, counts[0], "the line of the instruction")
		}
	})
	assert.EqualValues(t, 100, most)
}

// TestEngineEvents counts what the engine sees.
func TestEngineEvents(t *testing.T) {
	p := assemble(t, `
		mov $100, %ebp
	1:	dec %ebp
		jnz 1b                      // taken 99 times
		je 2f                       // and once
	2:	jne 3f
	3:	lea data(%rip), %rsi
		lea data(%rip), %rdi
		mov $10, %ecx
		rep movsb                   // 10 iterations, 10 loads and stores of 1
		mov $3, %ecx
		rep stosq                   // 3 iterations, 3 stores of 8
		mov $5, %ecx
		repe cmpsb                  // equal: 5 iterations, 10 loads of 1
		movb (%rsi), %al
		movw (%rsi), %ax
		movl (%rsi), %eax
		movq (%rsi), %rax
		movdqu (%rsi), %xmm0
		vmovdqu (%rsi), %ymm0
		fldt (%rsi)
		fstpt (%rsi)
		movw %ax, (%rsi)
		movl %eax, (%rsi)
		movdqu %xmm0, (%rsi)
		vmovdqu %ymm0, (%rsi)
		incl (%rsi)                 // a load and a store of 4
		push %rax
		pop %rax
		EXIT
		.data
	data:	.skip 256`)
	r := start(t, cgemu.Config{Args: []string{p}, Events: []string{"stores", "loads", "taken", "rep"}})
	got := map[string]uint64{}
	for i, n := range r.Profile.Totals() {
		if i > 0 {
			got[r.Profile.Events[i]] = n
		}
	}
	assert.Equal(t, map[string]uint64{
		"Rep": 18, "Taken": 100,
		"Ld1": 10 + 10 + 1, "Ld2": 1, "Ld4": 2, "Ld8": 2, "Ld16": 1, "Ld32": 1, "LdN": 1,
		"St1": 10, "St2": 1, "St4": 2, "St8": 3 + 1, "St16": 1, "St32": 1, "StN": 1,
	}, got)
	assert.Equal(t, start(t, cgemu.Config{Args: []string{p}}).total(), r.total())
}

func TestEventErrors(t *testing.T) {
	_, err := cgemu.Run(t.Context(), cgemu.Config{Args: []string{demo}, Path: demo, Events: []string{"x"}})
	assert.ErrorContains(t, err, `events "x"`)
	_, err = cgemu.Run(t.Context(), cgemu.Config{Args: []string{demo}, Path: demo, Cycles: true})
	assert.ErrorContains(t, err, "no cache simulation")
}

// TestAllEvents counts all there is, twice, of a program with threads.
func TestAllEvents(t *testing.T) {
	cfg := cgemu.Config{Args: []string{guest, "threads"}, Events: cgemu.EventGroups()}
	once, again := start(t, cfg), start(t, cfg)
	sameProfile(t, once.profile, again.profile)
	for _, e := range []string{"Sys", "Taken", "Ld8", "St8"} {
		assert.NotZero(t, once.Profile.Total(e), e)
	}
	assert.Equal(t, start(t, cgemu.Config{Args: []string{guest, "threads"}}).total(), once.total())

	cfg.Caches = &cachesim.Default
	r := start(t, cfg)
	var loads uint64
	for _, e := range r.Profile.Events {
		if strings.HasPrefix(e, "Ld") {
			loads += r.Profile.Total(e)
		}
	}
	assert.Equal(t, r.Profile.Total("Dr"), loads)
}
