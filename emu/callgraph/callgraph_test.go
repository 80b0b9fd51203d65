package callgraph

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
)

// Functions of the tests are 0x100 bytes long; those from passing on are on the way to others. Stacks are 0x1000 bytes
// long.
const passing = 0x9000

func functionAt(a emu.Addr) emu.Function {
	lo := a &^ 0xff
	return emu.Function{ID: lo, Lo: lo, Hi: lo + 0x100, Passes: a >= passing && a < passing+0x1000}
}

// A guest is what a Recorder is told of. Each step counts one instruction first.
type guest struct {
	*Recorder
	cpu *emu.CPU
}

func newGuest() *guest {
	g := &guest{cpu: emu.NewCPU()}
	g.Recorder = New(emu.Events(emu.Ir), functionAt, func(a emu.Addr) (lo, hi emu.Addr) { return a.PageDown(), a.PageDown() + emu.PageSize })
	g.cpu.RIP, g.cpu.Regs[emu.RSP] = 0x1000, 0x70800
	g.Begin(g.cpu)
	return g
}

func (g *guest) call(site, target, sp emu.Addr) { g.Totals[0]++; g.Call(site, target, sp, true) }
func (g *guest) ret(site, target, rsp emu.Addr) { g.Totals[0]++; g.Return(site, target, rsp, true) }
func (g *guest) flow(site, target, rsp emu.Addr) {
	g.Totals[0]++
	g.Flow(site, target, rsp, true)
}
func (g *guest) jump(site, target emu.Addr) { g.Totals[0]++; g.Jump(site, target, true) }

// arcs are what was counted, page by page.
func arcs(r *Recorder) (list []string) {
	r.Collect(0, ^emu.Addr(0), func(s Sum) {
		list = append(list, fmt.Sprintf("%x-%x %d %d", uint64(s.Site), uint64(s.Target), s.Calls, s.Costs[0]))
	})
	return list
}

// TestCountJump counts jumps within a function, which are no calls, and have no costs.
func TestCountJump(t *testing.T) {
	g := newGuest()
	g.call(0x1010, 0x2000, 0x707f8)
	for range 3 {
		g.Totals[0]++
		g.CountJump(0x2010, 0x2020)
		g.CountJump(0x2010, 0x3000) // into another
	}
	var list []string
	g.Collect(0, ^emu.Addr(0), func(s Sum) {
		list = append(list, fmt.Sprintf("%x-%x %v %d %d", uint64(s.Site), uint64(s.Target), s.Jump, s.Calls, s.Costs[0]))
	})
	require.Equal(t, []string{"1010-2000 false 1 3", "2010-2020 true 3 0"}, list)
}

func TestRecorder(t *testing.T) {
	for name, tt := range map[string]struct {
		do   func(g *guest)
		want []string
		in   emu.Addr // the function at the end
	}{
		"a call that returns": {func(g *guest) {
			g.call(0x1010, 0x2000, 0x707f8)
			g.call(0x2010, 0x3000, 0x707e8)
			g.ret(0x3010, 0x2015, 0x707f0)
			g.ret(0x2020, 0x1015, 0x70800)
		}, []string{"1010-2000 1 3", "2010-3000 1 1"}, 0x1000},
		"one that is active": {func(g *guest) {
			g.call(0x1010, 0x2000, 0x707f8)
			g.Totals[0] += 5
		}, []string{"1010-2000 1 5"}, 0x2000},
		"longjmp": {func(g *guest) {
			g.call(0x1010, 0x2000, 0x707f8)
			g.call(0x2010, 0x3000, 0x707e8)
			g.call(0x3010, 0x4000, 0x707d8)
			g.flow(0x4010, 0x1080, 0x70800)
		}, []string{"1010-2000 1 3", "2010-3000 1 2", "3010-4000 1 1"}, 0x1000},
		"a tail call": {func(g *guest) {
			g.call(0x1010, 0x2000, 0x707f8)
			g.jump(0x2010, 0x3000)
			g.ret(0x3010, 0x1015, 0x70800)
		}, []string{"1010-2000 1 2", "2010-3000 1 1"}, 0x1000},
		"a jump back": {func(g *guest) {
			g.call(0x1010, 0x2000, 0x707f8)
			g.jump(0x2010, 0x3010)
			g.jump(0x3020, 0x2020)
			g.ret(0x2030, 0x1015, 0x70800)
		}, []string{"1010-2000 1 3", "2010-3010 1 1"}, 0x1000},
		"tail calls in a circle": {func(g *guest) {
			g.call(0x1010, 0x2000, 0x707f8)
			for range 100 {
				g.jump(0x2010, 0x3000)
				g.jump(0x3010, 0x2000)
			}
			require.Len(t, g.Frames, 2)
			g.ret(0x2030, 0x1015, 0x70800)
		}, []string{"1010-2000 1 201", "2010-3000 100 100", "3010-2000 100 0"}, 0x1000},
		"a linkage table": {func(g *guest) {
			for range 2 {
				g.call(0x1010, passing, 0x707f8)
				g.flow(passing, 0x2000, 0x707f8)
				g.ret(0x2010, 0x1015, 0x70800)
			}
		}, []string{"1010-9000 2 2", "1010-2000 2 2"}, 0x1000},
		"a return that is a jump": {func(g *guest) {
			g.call(0x1010, 0x2000, 0x707f8)
			g.ret(0x2010, 0x3000, 0x707f8)
			g.ret(0x3010, 0x1015, 0x70800)
		}, []string{"1010-2000 1 2", "2010-3000 1 1"}, 0x1000},
		"a function on another stack": {func(g *guest) {
			g.call(0x1010, 0x2000, 0x507f8)
			g.ret(0x2010, 0x1015, 0x50800)
			g.flow(0x1020, 0x1030, 0x70800)
		}, []string{"1010-2000 1 1"}, 0x1000},
		"two stacks": {func(g *guest) {
			g.call(0x1010, 0x2000, 0x707f8)
			g.ret(0x2010, 0x3000, 0x50800) // the other one begins
			g.call(0x3010, 0x4000, 0x507f8)
			g.flow(0x4010, 0x2020, 0x707f8) // back
			g.ret(0x2030, 0x1015, 0x70800)
			g.call(0x1020, 0x2000, 0x707f8)
			g.flow(0x2010, 0x4020, 0x507f8)
			g.ret(0x4030, 0x3015, 0x50800)
		}, []string{"1010-2000 1 2", "3010-4000 1 2", "1020-2000 1 1"}, 0x3000},
		"a signal handler": {func(g *guest) {
			g.call(0x1010, 0x2000, 0x707f8)
			g.cpu.RIP, g.cpu.Regs[emu.RSP] = 0x5000, 0x70400
			g.SignalBegins(g.cpu)
			g.call(0x5010, 0x6000, 0x703f8)
			g.ret(0x6010, 0x5015, 0x70400)
			g.ret(0x5020, 0x7000, 0x70408)
			require.Equal(t, emu.Addr(0x7000), g.Function())
			g.cpu.RIP, g.cpu.Regs[emu.RSP] = 0x2010, 0x707f8
			g.SignalEnds(g.cpu, true)
			g.ret(0x2010, 0x1015, 0x70800)
		}, []string{"1010-2000 1 1", "5010-6000 1 1"}, 0x1000},
		"a handler that has what it interrupted call a function": {func(g *guest) {
			g.call(0x1010, 0x2000, 0x707f8)
			g.cpu.RIP, g.cpu.Regs[emu.RSP] = 0x5000, 0x70400
			g.SignalBegins(g.cpu)
			g.cpu.RIP, g.cpu.Regs[emu.RSP] = 0x6000, 0x707f0
			g.SignalEnds(g.cpu, true)
			g.call(0x6010, 0x3000, 0x707e8)
			g.ret(0x3010, 0x6015, 0x707f0)
			g.ret(0x6020, 0x2000, 0x707f8) // to where it was interrupted
		}, []string{"1010-2000 1 3", "2000-6000 1 3", "6010-3000 1 1"}, 0x2000},
		"a jump out of a handler on a stack of its own": {func(g *guest) {
			g.call(0x1010, 0x2000, 0x707f8)
			g.cpu.RIP, g.cpu.Regs[emu.RSP] = 0x5000, 0x30400
			g.SignalBegins(g.cpu)
			g.call(0x5010, 0x6000, 0x303f8)
			g.flow(0x6010, 0x1080, 0x70800)
			g.SignalEnds(g.cpu, true) // nobody waits for it
		}, []string{"1010-2000 1 0", "5010-6000 1 1"}, 0x1000},
		"and on the stack in use": {func(g *guest) {
			g.call(0x1010, 0x2000, 0x707f8)
			g.cpu.RIP, g.cpu.Regs[emu.RSP] = 0x5000, 0x70400
			g.SignalBegins(g.cpu)
			g.flow(0x5010, 0x1080, 0x70800)
		}, []string{"1010-2000 1 0"}, 0x1000},
		"counting begins": {func(g *guest) {
			g.Call(0x1010, 0x2000, 0x707f8, false)
			g.Call(0x2010, 0x3000, 0x707e8, false)
			g.cpu.RIP = 0x3000
			g.Counts(g.cpu)
			g.Totals[0] += 3
			g.Return(0x3010, 0x2015, 0x707f0, true)
			g.Call(0x2010, 0x3000, 0x707e8, false)
			g.Counts(g.cpu)
		}, []string{"1010-2000 1 3", "2010-3000 2 3"}, 0x3000},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGuest()
			tt.do(g)
			require.Equal(t, tt.in, g.Function())
			require.ElementsMatch(t, tt.want, arcs(g.Recorder))
			require.Empty(t, arcs(g.Recorder), "what was collected is gone")
		})
	}
}

// TestReturnIntoAnotherFunction has a CALL that ends its function, and one that returns near the place it was called
// from, but into the next function.
func TestReturnIntoAnotherFunction(t *testing.T) {
	g := newGuest()
	g.call(0x1010, 0x2000, 0x707f8)
	g.call(0x20fb, 0x3000, 0x707e8)
	g.ret(0x3010, 0x2100, 0x707f0)
	require.Equal(t, emu.Addr(0x2100), g.Function())
	g.ret(0x2110, 0x1015, 0x70800)
	require.Equal(t, []string{"1010-2000 1 3", "20fb-2100 1 1", "20fb-3000 1 1"}, arcs(g.Recorder))
}

// TestManyStacks has a stack looked up among many by a few questions, however many they are.
func TestManyStacks(t *testing.T) {
	g := newGuest()
	asked, mapping := 0, g.mapping
	g.mapping = func(a emu.Addr) (lo, hi emu.Addr) {
		asked++
		return mapping(a)
	}
	const stacks = 1000
	at := func(i int) emu.Addr { return 0x100800 + emu.Addr(i*7919%stacks)*emu.PageSize }
	for i := range stacks { // each begins, calls, and gives way to the next
		g.flow(0x1010, 0x2000, at(i))
		g.call(0x2010, 0x3000, at(i)-8)
	}
	for i := range stacks {
		g.flow(0x3010, 0x3020, at(i)-8)
		g.ret(0x3030, 0x2015, at(i))
	}
	require.Less(t, asked, 2*stacks*20)
	list := arcs(g.Recorder)
	require.Len(t, list, 1)
	require.Regexp(t, "^2010-3000 1000 ", list[0])
}

// TestThreads has two threads, of which one waits while the other runs.
func TestThreads(t *testing.T) {
	g := newGuest()
	g.call(0x1010, 0x2000, 0x707f8)
	other := emu.NewCPU()
	other.RIP, other.Regs[emu.RSP] = 0x4000, 0x60800
	g.Begin(other)
	g.call(0x4010, 0x5000, 0x607f8)
	g.Begin(g.cpu)
	g.ret(0x2010, 0x1015, 0x70800)
	g.Begin(other)
	g.Totals[0] += 7
	g.End(other)
	require.Equal(t, []string{"1010-2000 1 1", "4010-5000 1 7"}, arcs(g.Recorder))
	g.End(g.cpu)
	require.Empty(t, g.Frames)
	g.SignalBegins(g.cpu)
	g.SignalEnds(g.cpu, true)
	require.Empty(t, g.Frames, "a thread that has executed nothing has no functions")
}

// TestInheritNothing has a child of vfork execute a program at once: that begins on an empty stack.
func TestInheritNothing(t *testing.T) {
	g := newGuest()
	g.call(0x1010, 0x2000, 0x707f8)
	child := newGuest()
	child.Recorder.Reset()
	child.Inherit(g.Recorder)
	child.Reset()
	child.Begin(child.cpu)
	child.jump(0x1020, 0x3000)
	child.Totals[0] += 4
	child.End(child.cpu)
	require.Equal(t, []string{"1020-3000 1 4"}, arcs(child.Recorder))
}

// TestInheritBeforeMemory has a child of vfork execute the parent's program, in memory of its own: it inherits frames
// while nothing is mapped there. Calls of the new program at the same addresses are of its functions all the same.
func TestInheritBeforeMemory(t *testing.T) {
	g, child := newGuest(), newGuest()
	g.call(0x1010, 0x2000, 0x707f8)
	child.End(child.cpu)
	lookup, mapping, mapped := child.lookup, child.mapping, false
	child.lookup = func(a emu.Addr) emu.Function {
		if !mapped {
			return emu.Function{ID: 3, Lo: a, Hi: a + 1}
		}
		return lookup(a)
	}
	child.mapping = func(a emu.Addr) (lo, hi emu.Addr) {
		if !mapped {
			return 0, 0
		}
		return mapping(a)
	}
	child.forgetFunctions()
	child.Inherit(g.Recorder)
	child.Reset()
	mapped = true
	child.Begin(child.cpu)
	child.call(0x1010, 0x2000, 0x707f8)
	child.jump(0x2010, 0x2020)
	child.ret(0x2030, 0x1015, 0x70800)
	require.Equal(t, []string{"1010-2000 1 2"}, arcs(child.Recorder), "a jump within a function is no call")
	require.Equal(t, child.function(0x2000), child.function(0x2010), "nothing is remembered")
}

// TestInherit has a process that is a copy of another: what its functions cost from there on is its own.
func TestInherit(t *testing.T) {
	g, child := newGuest(), newGuest()
	g.call(0x1010, 0x2000, 0x707f8)
	g.Totals[0] += 100
	child.End(child.cpu)
	child.Inherit(g.Recorder)
	child.Begin(emu.NewCPU())
	child.Totals[0] += 5
	child.ret(0x2010, 0x1015, 0x70800)
	require.Equal(t, []string{"1010-2000 0 6"}, arcs(child.Recorder))
	require.Equal(t, []string{"1010-2000 1 100"}, arcs(g.Recorder))
}

// TestInheritStacks has the copy in a signal handler, with a coroutine that waits: both go on in the child.
func TestInheritStacks(t *testing.T) {
	g, child := newGuest(), newGuest()
	g.call(0x1010, 0x3000, 0x707f8)
	g.ret(0x3010, 0x4000, 0x50800)
	g.call(0x4010, 0x3000, 0x507f8)
	g.ret(0x3010, 0x1015, 0x70800)
	g.call(0x1020, 0x2000, 0x707f8)
	g.cpu.RIP, g.cpu.Regs[emu.RSP] = 0x5000, 0x70400
	g.SignalBegins(g.cpu)
	g.call(0x5010, 0x6000, 0x703f8)
	child.End(child.cpu)
	child.Inherit(g.Recorder)
	cpu := emu.NewCPU()
	child.Begin(cpu)
	child.ret(0x6010, 0x5015, 0x70400)
	cpu.RIP = 0x2010
	child.SignalEnds(cpu, true)
	child.call(0x2010, 0x3000, 0x707d8)
	child.ret(0x3010, 0x4015, 0x50800)
	child.call(0x4020, 0x3000, 0x507f8)
	child.ret(0x3010, 0x2015, 0x707e0)
	child.ret(0x2020, 0x1025, 0x70800)
	require.ElementsMatch(t, []string{"1020-2000 0 3", "5010-6000 0 1", "2010-3000 1 1", "4020-3000 1 1"}, arcs(child.Recorder))
	require.Equal(t, emu.Addr(0x1000), child.Function())

	child.Inherit(g.Recorder)
	child.Retire()
	require.Empty(t, child.entries)
}

// TestInheritSignal has a signal be the first thing that the copy sees.
func TestInheritSignal(t *testing.T) {
	g, child := newGuest(), newGuest()
	g.call(0x1010, 0x2000, 0x707f8)
	child.End(child.cpu)
	child.Inherit(g.Recorder)
	cpu := emu.NewCPU()
	cpu.RIP, cpu.Regs[emu.RSP] = 0x5000, 0x70400
	child.SignalBegins(cpu)
	child.Begin(cpu)
	child.Totals[0] += 10
	cpu.RIP = 0x2010
	child.SignalEnds(cpu, true)
	child.ret(0x2010, 0x1015, 0x70800)
	require.Equal(t, []string{"1010-2000 0 1"}, arcs(child.Recorder))
}

// TestInvalidate has code that changes: what was counted is collected before that, and functions are looked up anew.
func TestInvalidate(t *testing.T) {
	g := newGuest()
	size := emu.Addr(0x100)
	g.lookup = func(a emu.Addr) emu.Function { return emu.Function{ID: a &^ (size - 1), Lo: a, Hi: a + 1} }
	g.call(0x1010, 0x2000, 0x707f8)
	n := 0
	g.Collect(0x8000, 0x9000, func(Sum) { n++ })
	require.Zero(t, n)
	g.Invalidate(0x2000, 0x3000)
	size = 0x10
	require.Equal(t, emu.Addr(0x2000), g.Function())
	g.jump(0x2004, 0x2020)
	require.Equal(t, emu.Addr(0x2020), g.Function())
	require.Equal(t, []string{"1010-2000 1 1", "2004-2020 1 0"}, arcs(g.Recorder))
	g.Reset()
	require.Empty(t, g.Frames)
}

// TestSettle has the mapping of a callee, which is not active, change: what the place of the arc says is its function
// then, unless nothing is mapped there.
func TestSettle(t *testing.T) {
	g := newGuest()
	size, mapping, mapped := emu.Addr(0x100), g.mapping, true
	g.lookup = func(a emu.Addr) emu.Function { return emu.Function{ID: a &^ (size - 1), Lo: a, Hi: a + 1} }
	g.mapping = func(a emu.Addr) (lo, hi emu.Addr) {
		if !mapped {
			return 0, 0
		}
		return mapping(a)
	}
	place := g.Arc(0x1010, 0x2010)
	was := g.row(place)[Function]
	require.EqualValues(t, g.Number(0x2000), was)
	for _, mapped = range []bool{true, false} {
		size = 0x10
		g.Invalidate(0x2000, 0x3000)
		g.Settle()
		if mapped {
			require.EqualValues(t, g.Number(0x2010), g.row(place)[Function])
		} else {
			require.Zero(t, g.row(place)[Function])
		}
		require.Empty(t, g.unsettled)
	}
	mapped = true
	require.Equal(t, place, g.Arc(0x1010, 0x2010))
	require.EqualValues(t, g.Number(0x2010), g.row(place)[Function], "who asks is told")
}

// TestArcsWithin asks for the arcs on pages of which a part is wanted: each comes once.
func TestArcsWithin(t *testing.T) {
	g := newGuest()
	g.call(0x3800, 0x2000, 0x707f8)
	g.call(0x2010, 0x9000, 0x707f0)
	for _, tt := range []struct {
		lo, hi emu.Addr
		want   int
	}{{0x2000, 0x3010, 2}, {0x2800, 0x2801, 2}, {0x3ff0, 0x4000, 1}, {0x4000, 0x9000, 0}, {0x9fff, 0xa000, 1}, {0, ^emu.Addr(0), 3}} {
		seen := map[int]bool{}
		for i := range g.arcs.within(tt.lo, tt.hi) {
			require.False(t, seen[i], "%#x", tt)
			seen[i] = true
		}
		require.Len(t, seen, tt.want, "%#x", tt)
	}
}
