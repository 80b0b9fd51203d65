//go:build linux && amd64

package cgemu

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
)

func TestGlob(t *testing.T) {
	for _, tt := range []struct {
		pattern, s string
		want       bool
	}{
		{"main", "main", true}, {"main", "mai", false}, {"main", "main2", false}, {"", "", true}, {"", "a", false},
		{"*", "", true}, {"*", "main", true}, {"ma*", "ma", true}, {"*in", "main", true}, {"*x*", "main", false},
		{"a*b*c", "abbbcbc", true}, {"a*b*c", "abbbcb", false}, {"m?in", "main", true}, {"m?in", "min", false},
		{"?", "", false}, {"a**", "a", true}, {"net/http.(*Server).Serve", "net/http.(*Server).Serve", true},
		{"f[0]", "f[0]", true}, {"f[0]", "f0", false},
	} {
		assert.Equal(t, tt.want, glob(tt.pattern, tt.s), "%q %q", tt.pattern, tt.s)
	}
}

func TestFunctionMatches(t *testing.T) {
	for _, tt := range []struct {
		pattern, symbol string
		want            bool
	}{
		{"main", "main", true}, {"main", "main2", false},
		{"ns::f", "_ZN2ns1fEi", true}, {"ns::f(int)", "_ZN2ns1fEi", true}, {"_ZN2ns1fEi", "_ZN2ns1fEi", true},
		{"ns::*", "_ZN2ns1fEi", true}, {"ns::f()", "_ZN2ns1fEi", false}, {"f", "_ZN2ns1fEi", false},
		{"A::operator()", "_ZN1AclEv", true}, {"A::operator()()", "_ZN1AclEv", true},
		{"(anonymous namespace)::f", "_ZN12_GLOBAL__N_11fEv", true},
		{"foo::bar", "_RNvC3foo3bar", true},
	} {
		f := function{symbol: tt.symbol}
		assert.Equal(t, tt.want, f.matches(tt.pattern), "%q %q", tt.pattern, tt.symbol)
	}
}

func TestExtraColumns(t *testing.T) {
	columns, err := extraColumns([]string{"allocs", "syscalls", "syscalls"})
	require.NoError(t, err)
	var names []string
	for _, c := range columns {
		names = append(names, c.name)
	}
	assert.Equal(t, []string{"Sys", "Alloc", "AllocB", "Free"}, names)
	_, err = extraColumns([]string{"rep", "nothing"})
	assert.EqualError(t, err, `cgemu: events "nothing": not one of syscalls, rep, taken, loads, stores, allocs`)
	// Every event has one column, and no name is used twice.
	seen := map[string]bool{}
	for _, g := range eventGroups {
		for _, c := range g.columns {
			assert.False(t, seen[c.name], c.name)
			seen[c.name] = true
		}
	}
	assert.Len(t, seen, int(numEvents-1)-int(emu.Taken))
}

func TestEstimateCycles(t *testing.T) {
	p := cgout.New("Ir", "I1mr", "ILmr", "Dr", "D1mr", "DLmr", "Dw", "D1mw", "DLmw", "Bc", "Bcm", "Bi", "Bim", "Sys", "Cy")
	p.Add("f", "g", 1, 1000, 1, 2, 500, 3, 4, 500, 5, 6, 7, 8, 9, 10, 11)
	estimateCycles(p)
	estimateCycles(p) // again: the same
	assert.EqualValues(t, 1000+10*(1+3+5)+100*(2+4+6)+10*(8+10), p.Total("Cy"))
	p = cgout.New("Ir")
	p.Add("f", "g", 1, 5)
	estimateCycles(p)
	assert.Equal(t, []uint64{5}, p.Totals())
}

// A fakeEngine runs no code: it is moved from place to place.
type fakeEngine struct {
	emu.Engine
	marks    map[emu.Addr]bool
	counting emu.Counting
}

func (e *fakeEngine) SetMark(a emu.Addr, on bool) {
	if on {
		e.marks[a] = true
	} else {
		delete(e.marks, a)
	}
}
func (e *fakeEngine) SetCounting(c emu.Counting)                                           { e.counting = c }
func (e *fakeEngine) Collect(lo, hi emu.Addr, add func(a emu.Addr, e emu.Event, n uint64)) {}

// A scene is a thread in a space with two stacks, in front of watched functions.
type scene struct {
	t   *testing.T
	eng *fakeEngine
	c   *counted
	cpu *emu.CPU
}

const (
	mainStack = 0x100000 // 64 KiB
	altStack  = 0x200000 // 64 KiB
)

func newScene(t *testing.T, r Regions) *scene {
	t.Helper()
	m, err := mem.New()
	require.NoError(t, err)
	t.Cleanup(func() { m.Close() })
	for _, lo := range []emu.Addr{mainStack, altStack} {
		require.NoError(t, m.Map(mem.VMA{Lo: lo, Hi: lo + 1<<16, Prot: mem.Read | mem.Write}, nil))
	}
	cfg := Config{Args: []string{"x"}, Regions: r, Log: io.Discard}
	s := &scene{t: t, eng: &fakeEngine{marks: map[emu.Addr]bool{}}, cpu: emu.NewCPU()}
	s.c = newCounted(s.eng, m, &cfg, newCosts(newProfile(&cfg), &cfg, newObjects(cfg.Names)))
	return s
}

// counts checks what counts now.
func (s *scene) counts(want emu.Counting) {
	s.t.Helper()
	assert.Equal(s.t, want, s.c.counting(s.cpu))
}

// enter is a call of the function at fn, by a CALL that returns to ret, with the stack pointer sp behind it.
func (s *scene) enter(fn, ret, sp emu.Addr) {
	s.t.Helper()
	require.True(s.t, s.c.space.WriteUint64(sp, uint64(ret)))
	s.cpu.RIP, s.cpu.Regs[emu.RSP] = fn, uint64(sp)
	s.c.watch.leave(s.cpu)
	s.c.watch.enter(entry{w: s.c.watch, cpu: s.cpu, at: fn}, frame{toggles: true})
}

// land is an arrival at a, by a return or another way.
func (s *scene) land(a, sp emu.Addr) {
	s.t.Helper()
	s.cpu.RIP, s.cpu.Regs[emu.RSP] = a, uint64(sp)
	require.True(s.t, s.eng.marks[a], "%v is not marked", a)
	s.c.watch.reached(s.cpu)
}

func TestToggleReturns(t *testing.T) {
	s := newScene(t, Regions{Toggle: []string{"f", "g"}})
	const f, g, sp = 0x1000, 0x2000, mainStack + 0x8000
	s.counts(emu.CountNothing)
	s.enter(f, 0x5000, sp)
	s.counts(emu.CountAll)
	s.enter(f, 0x5000, sp) // a jump to its own first instruction
	s.counts(emu.CountAll)
	// Recursion, by the same call each time.
	for i := range emu.Addr(100) {
		s.enter(f, 0x1010, sp-16-16*i)
		s.counts(emu.CountAll)
	}
	s.enter(g, 0x1020, sp-0x4000)
	s.counts(emu.CountNothing)
	s.enter(f, 0x2010, sp-0x4010) // it is active already
	s.counts(emu.CountNothing)
	s.land(0x2010, sp-0x4008)
	s.counts(emu.CountNothing)
	s.land(0x1020, sp-0x4000+8)
	s.counts(emu.CountAll)
	for i := range emu.Addr(100) {
		s.land(0x1010, sp-16-16*(99-i)+8)
		s.counts(emu.CountAll)
	}
	s.land(0x5000, sp+8)
	s.counts(emu.CountNothing)
	assert.Empty(t, s.c.watch.threads)
	// In a jump from f to g both are left by one return.
	s.enter(f, 0x5000, sp)
	s.enter(g, 0x5000, sp)
	s.counts(emu.CountNothing)
	s.land(0x5000, sp+8)
	s.counts(emu.CountNothing)
	assert.Empty(t, s.c.watch.threads)
	// A point nobody returns to is given up, not at once.
	for i := range maxIdle + 1 {
		require.True(t, s.eng.marks[0x5000], "%d", i)
		s.land(0x5000, sp-0x1000)
	}
	assert.False(t, s.eng.marks[0x5000])
}

func TestToggleJumps(t *testing.T) {
	s := newScene(t, Regions{Toggle: []string{"f"}})
	const f, sp = 0x1000, mainStack + 0x8000
	s.c.watch.point(0x6000).landing = true
	// longjmp out of it, and to a place inside it.
	s.enter(f, 0x5000, sp)
	s.land(0x6000, sp-0x100)
	s.counts(emu.CountAll)
	s.land(0x6000, sp+0x100)
	s.counts(emu.CountNothing)
	// A handler on another stack interrupts it, and returns or not.
	s.enter(f, 0x5000, sp)
	s.land(0x6000, altStack+0x8000)
	s.counts(emu.CountAll)
	s.enter(f, 0x5100, altStack+0x7000)
	s.land(0x5100, altStack+0x7008)
	s.counts(emu.CountAll)
	s.land(0x5000, sp+8)
	s.counts(emu.CountNothing)
	// Another thread is in nothing.
	s.enter(f, 0x5000, sp)
	other := emu.NewCPU()
	assert.Equal(t, emu.CountNothing, s.c.counting(other))
	s.counts(emu.CountAll)
	// A new program: all is forgotten.
	s.c.watch.reset()
	s.counts(emu.CountNothing)
	assert.Empty(t, s.eng.marks)
}

func TestRequests(t *testing.T) {
	s := newScene(t, Regions{})
	var log strings.Builder
	s.c.log = &log
	var dumped []*cgout.Profile
	s.c.onDump = func(_ int, p *cgout.Profile) { dumped = append(dumped, p) }
	ask := func(code uint64, args ...uint64) {
		t.Helper()
		var a [5]uint64
		copy(a[:], args)
		r, known := s.c.request(code, a)
		assert.True(t, known)
		assert.Zero(t, r)
	}
	s.counts(emu.CountAll)
	ask(cgStop)
	s.counts(emu.CountOff)
	ask(ctStop)
	ask(ceStop)
	assert.Empty(t, log.String())
	ask(cgStop)
	ask(cgStart)
	s.counts(emu.CountAll)
	ask(cgStart)
	assert.Equal(t, `==1000== warning: CACHEGRIND_STOP_INSTRUMENTATION called,
==1000==          but instrumentation is already disabled
==1000== warning: CACHEGRIND_START_INSTRUMENTATION called,
==1000==          but instrumentation is already enabled
`, log.String())
	log.Reset()
	ask(ctToggle)
	s.counts(emu.CountNothing)
	ask(ceToggle)
	s.counts(emu.CountAll)

	s.c.costs.add(s.c.space, 0, emu.Ir, 7)
	ask(ctZero)
	s.c.costs.add(s.c.space, 0, emu.Ir, 8)
	ask(ctDump)
	s.c.space.Write(mainStack, []byte("a\nb\x00c"))
	s.c.costs.add(s.c.space, 0, emu.Ir, 9)
	ask(ctDumpAt, mainStack)
	ask(ceDumpAt, mainStack, 5)
	ask(ceDumpAt, 0x10, 5) // nothing is mapped there
	require.Len(t, dumped, 4)
	assert.Equal(t, []uint64{8}, dumped[0].Totals())
	assert.Equal(t, []string{"Trigger: Client Request"}, dumped[0].Desc)
	assert.Equal(t, []uint64{9}, dumped[1].Totals())
	assert.Equal(t, []string{"Trigger: Client Request: a?b"}, dumped[1].Desc)
	assert.Equal(t, []string{"Trigger: Client Request: a?b?c"}, dumped[2].Desc)
	assert.Equal(t, []string{"Trigger: Client Request: "}, dumped[3].Desc)

	r, known := s.c.request(ceRunning, [5]uint64{})
	assert.True(t, known)
	assert.EqualValues(t, 1, r)
	for _, code := range []uint64{0x1001, ctStop + 1, ceRunning + 1} {
		_, known = s.c.request(code, [5]uint64{})
		assert.False(t, known, "%#x", code)
	}
	assert.Empty(t, log.String())
	_, known = s.c.request(cgStop+1, [5]uint64{})
	assert.False(t, known)
	assert.Equal(t, "==1000== Warning: unknown cachegrind client request code 43470002\n", log.String())
	// Cachegrind does not know Callgrind's.
	s.c.compat = true
	_, known = s.c.request(ctZero, [5]uint64{})
	assert.False(t, known)
}
