package callgraph

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
)

// newSeparating returns a guest whose functions are told apart by callers: they are called by the page on which they
// are, in hexadecimal.
func newSeparating(callers int) *guest {
	g := &guest{cpu: emu.NewCPU()}
	g.Recorder = New(emu.Events(emu.Ir), functionAt, func(a emu.Addr) (lo, hi emu.Addr) { return a.PageDown(), a.PageDown() + emu.PageSize })
	g.SeparateCallers(callers, func(a emu.Addr) []uint32 { return []uint32{uint32(a >> 12)} })
	g.cpu.RIP, g.cpu.Regs[emu.RSP] = 0x1000, 0x70800
	g.Begin(g.cpu)
	return g
}

// name is what a context is called.
func (g *guest) name(c Context) string {
	var names []string
	for _, n := range g.List(c) {
		names = append(names, fmt.Sprintf("%x", n))
	}
	return strings.Join(names, "'")
}

// contextArcs are the calls that were counted, from context to context.
func (g *guest) contextArcs() (list []string) {
	g.Collect(0, ^emu.Addr(0), func(s Sum) {
		list = append(list, fmt.Sprintf("%s-%s %d %d", g.name(s.Caller), g.name(s.Callee), s.Calls, s.Costs[0]))
	})
	slices.Sort(list)
	return list
}

func TestContexts(t *testing.T) {
	for name, tt := range map[string]struct {
		do   func(g *guest)
		in   string // at the end
		want []string
	}{
		"as many callers as asked for": {func(g *guest) {
			g.call(0x1010, 0x2000, 0x707f8)
			g.call(0x2010, 0x3000, 0x707f0)
			g.call(0x3010, 0x4000, 0x707e8)
		}, "4'3'2", []string{"1-2'1 1 2", "2'1-3'2'1 1 1", "3'2'1-4'3'2 1 0"}},
		"a return": {func(g *guest) {
			g.call(0x1010, 0x2000, 0x707f8)
			g.ret(0x2010, 0x1015, 0x70800)
			g.call(0x1020, 0x2000, 0x707f8)
			g.call(0x2010, 0x3000, 0x707f0)
			g.ret(0x3010, 0x2015, 0x707f8)
		}, "2'1", []string{"1-2'1 1 1", "1-2'1 1 2", "2'1-3'2'1 1 1"}},
		"a function that calls itself": {func(g *guest) {
			g.call(0x1010, 0x2000, 0x707f8)
			g.call(0x2010, 0x2000, 0x707f0)
			g.call(0x2010, 0x2000, 0x707e8)
			g.call(0x2020, 0x3000, 0x707e0)
		}, "3'2'1", []string{"1-2'1 1 3", "2'1-2'1 2 3", "2'1-3'2'1 1 0"}},
		"functions that call each other": {func(g *guest) {
			g.call(0x1010, 0x2000, 0x707f8)
			g.call(0x2010, 0x3000, 0x707f0)
			g.call(0x3010, 0x2000, 0x707e8)
			g.call(0x2010, 0x3000, 0x707e0)
			g.call(0x3010, 0x2000, 0x707d8)
		}, "2'3'2", []string{"1-2'1 1 4", "2'1-3'2'1 1 3", "2'3'2-3'2'3 1 1", "3'2'1-2'3'2 1 2", "3'2'3-2'3'2 1 0"}},
		"a tail call, and a jump back": {func(g *guest) {
			g.call(0x1010, 0x2000, 0x707f8)
			g.jump(0x2010, 0x3000)
			g.jump(0x3010, 0x2000)
		}, "2'1", []string{"1-2'1 1 2", "2'1-3'2'1 1 1", "3'2'1-2'1 1 0"}},
		"what only passes": {func(g *guest) {
			g.call(0x1010, passing, 0x707f8)
			g.flow(passing+5, 0x2000, 0x707f8)
		}, "2'1", []string{"1-2'1 1 0", "1-9'1 1 1"}},
		"a signal handler": {func(g *guest) {
			g.call(0x1010, 0x2000, 0x707f8)
			g.cpu.RIP, g.cpu.Regs[emu.RSP] = 0x5000, 0x70700
			g.SignalBegins(g.cpu)
			g.call(0x5010, 0x3000, 0x706f8)
		}, "3'5", []string{"1-2'1 1 0", "5-3'5 1 0"}},
		"longjmp": {func(g *guest) {
			g.call(0x1010, 0x2000, 0x707f8)
			g.call(0x2010, 0x3000, 0x707f0)
			g.call(0x3010, 0x4000, 0x707e8)
			g.flow(0x4010, 0x1020, 0x70800)
		}, "1", []string{"1-2'1 1 3", "2'1-3'2'1 1 2", "3'2'1-4'3'2 1 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := newSeparating(2)
			tt.do(g)
			require.Equal(t, tt.in, g.name(g.Context()))
			require.Equal(t, tt.want, g.contextArcs())
		})
	}
}

// TestContextsInherited has another process go on in the contexts of its parent.
func TestContextsInherited(t *testing.T) {
	parent, child := newSeparating(2), newSeparating(2)
	parent.call(0x1010, 0x2000, 0x707f8)
	parent.call(0x2010, 0x3000, 0x707f0)
	child.Recorder.Reset()
	child.Inherit(parent.Recorder)
	child.Begin(child.cpu)
	require.Equal(t, "3'2'1", child.name(child.Context()))
	require.Equal(t, "2'1", child.name(child.ContextOf(0x2020)))
	child.call(0x3010, 0x4000, 0x707e8)
	require.Equal(t, "4'3'2", child.name(child.Context()))
}

// TestContextsLimit has more contexts than are told apart.
func TestContextsLimit(t *testing.T) {
	g := newSeparating(2)
	g.contexts.limit = 3
	for range 2 {
		g.call(0x1010, 0x2000, 0x707f8)
		g.call(0x2010, 0x3000, 0x707f0)
		require.False(t, g.ManyContexts())
		g.ret(0x3010, 0x2015, 0x707f8)
		g.ret(0x2020, 0x1015, 0x70800)
	}
	g.call(0x1010, 0x3000, 0x707f8)
	require.True(t, g.ManyContexts())
	require.Equal(t, "3", g.name(g.Context()))
	require.Contains(t, g.contextArcs(), "1-3 1 0")
}
