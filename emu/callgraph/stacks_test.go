package callgraph

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
)

// oneMapping is a guest all of whose stacks are in one mapping, with main's at 0x70800. Functions from 0x4000 on, 0x100
// bytes long, are its coroutines'; 0x3000 is what changes stacks.
func oneMapping() *guest {
	g := newGuest()
	g.mapping = func(emu.Addr) (lo, hi emu.Addr) { return 0x10000, 0x90000 }
	return g
}

// TestStacksInOneMapping changes between stacks that share a mapping.
func TestStacksInOneMapping(t *testing.T) {
	const main, high, low = 0x70800, 0x80800, 0x60800 // where RSP begins
	// resume is a call in main of what changes stacks, yield that in a coroutine at top, two calls further in.
	resume := func(g *guest) { g.call(0x1010, 0x3000, main-8) }
	yield := func(g *guest, top emu.Addr) {
		g.call(0x4010, 0x5000, top-0x28)
		g.call(0x5010, 0x3000, top-0x48)
	}
	for name, tt := range map[string]struct {
		do    func(g *guest)
		want  []string
		roots int // how many functions nobody called
	}{
		"one that lies above": {func(g *guest) {
			resume(g)
			g.ret(0x3010, 0x4000, high)
			yield(g, high)
			g.ret(0x3010, 0x1015, main)
			g.Totals[0] += 10
			g.call(0x1020, 0x3000, main-8)
			g.ret(0x3010, 0x5015, high-0x40)
			g.ret(0x5020, 0x4015, high-0x20)
		}, []string{"1010-3000 1 1", "4010-5000 1 3", "5010-3000 1 1", "1020-3000 1 1"}, 2},
		"one that lies below": {func(g *guest) {
			resume(g)
			g.ret(0x3010, 0x4000, low)
			yield(g, low)
			g.ret(0x3010, 0x1015, main)
			g.Totals[0] += 10
			g.call(0x1020, 0x3000, main-8)
			g.ret(0x3010, 0x5015, low-0x40)
			g.ret(0x5020, 0x4015, low-0x20)
		}, []string{"1010-3000 1 1", "4010-5000 1 3", "5010-3000 1 1", "1020-3000 1 1"}, 2},
		"one that begins by a jump is called, until it gives way": {func(g *guest) {
			resume(g)
			g.flow(0x3010, 0x4000, low)
			yield(g, low)
			g.flow(0x3010, 0x1015, main)
			g.Totals[0] += 10
			g.call(0x1020, 0x3000, main-8)
			g.flow(0x3010, 0x5015, low-0x40)
			g.ret(0x5020, 0x4015, low-0x20)
		}, []string{"1010-3000 1 4", "3010-4000 1 3", "4010-5000 1 3", "5010-3000 1 1", "1020-3000 1 1"}, 2},
		"and where one has begun the next one begins": {func(g *guest) {
			resume(g)
			g.flow(0x3010, 0x4000, high)
			yield(g, high)
			g.flow(0x3010, 0x4000, low)
			yield(g, low)
			g.flow(0x3010, 0x5015, high-0x40)
			g.ret(0x5020, 0x4015, high-0x20)
		}, []string{"1010-3000 1 1", "4010-5000 2 5", "5010-3000 2 2"}, 3},
		"functions that change stacks themselves": {func(g *guest) {
			g.call(0x1010, 0x3000, main-8)
			g.ret(0x3010, 0x4000, high)
			g.call(0x4010, 0x3000, high-0x28)
			g.ret(0x3010, 0x3018, main-0x40)
			g.ret(0x3020, 0x1015, main)
			g.call(0x1020, 0x3000, main-8)
			g.ret(0x3010, 0x3018, high-0x60)
			g.ret(0x3020, 0x4015, high-0x20)
		}, []string{"1010-3000 1 2", "4010-3000 1 2", "1020-3000 1 1"}, 2},
		"setjmp and longjmp": {func(g *guest) {
			g.call(0x1010, 0x2000, main-8)
			g.ret(0x2010, 0x4000, high)
			g.call(0x4010, 0x5000, high-0x28)
			g.call(0x5010, 0x3000, high-0x48) // longjmp, to behind a setjmp in main
			g.flow(0x3010, 0x1080, main)
			g.call(0x1090, 0x3000, main-8)
			g.flow(0x3010, 0x5080, high-0x40)
			g.ret(0x5090, 0x4015, high-0x20)
		}, []string{"1010-2000 1 1", "4010-5000 1 3", "5010-3000 1 1", "1090-3000 1 1"}, 2},
		"memory used again": {func(g *guest) {
			resume(g)
			g.ret(0x3010, 0x4000, high)
			yield(g, high)
			g.ret(0x3010, 0x1015, main)
			g.call(0x1020, 0x3000, main-8)
			g.ret(0x3010, 0x6000, high)
			g.call(0x6010, 0x7000, high-0x28)
			g.ret(0x7010, 0x6015, high-0x20)
		}, []string{"1010-3000 1 1", "4010-5000 1 2", "5010-3000 1 1", "1020-3000 1 1", "6010-7000 1 1"}, 2},
		"a jump in a large frame": {func(g *guest) {
			g.call(0x1010, 0x2000, main-8)
			g.flow(0x2010, 0x3050, low)
			g.ret(0x3060, 0x1015, main)
		}, []string{"1010-2000 1 2", "2010-3050 1 1"}, 1},
		"longjmp up the stack": {func(g *guest) {
			g.call(0x1010, 0x2000, main-8)
			g.call(0x2010, 0x3000, low)
			g.flow(0x3010, 0x1080, main)
		}, []string{"1010-2000 1 2", "2010-3000 1 1"}, 1},
		"a handler that changes to a new stack": {func(g *guest) {
			g.call(0x1010, 0x2000, main-8)
			g.cpu.RIP, g.cpu.Regs[emu.RSP] = 0x6000, main-0x400
			g.SignalBegins(g.cpu)
			g.call(0x6010, 0x3000, main-0x408)
			g.ret(0x3010, 0x4000, high)
			g.call(0x4010, 0x3000, high-0x28)
			g.ret(0x3010, 0x6015, main-0x400)
			g.cpu.RIP = 0x2010
			g.SignalEnds(g.cpu, true)
			g.ret(0x2010, 0x1015, main)
		}, []string{"1010-2000 1 1", "6010-3000 1 1", "4010-3000 1 1"}, 2},
		"longjmp on another stack that a coroutine calls with": {func(g *guest) {
			resume(g)
			g.ret(0x3010, 0x4000, low)
			g.call(0x4010, 0x5000, high)
			g.call(0x5010, 0x3000, high-0x808)
			g.flow(0x3010, 0x5080, high-0x10)
			g.ret(0x5090, 0x4015, high+8)
		}, []string{"1010-3000 1 1", "4010-5000 1 3", "5010-3000 1 1"}, 2},
		"a jump out of a handler to another stack": {func(g *guest) {
			resume(g)
			g.ret(0x3010, 0x4000, high)
			g.call(0x4010, 0x5000, high-0x28)
			g.cpu.RIP, g.cpu.Regs[emu.RSP] = 0x6000, 0x20800
			g.SignalBegins(g.cpu)
			g.call(0x6010, 0x3000, 0x207f8)
			g.flow(0x3010, 0x4080, high-0x20)
		}, []string{"1010-3000 1 1", "4010-5000 1 0", "6010-3000 1 1"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			g := oneMapping()
			tt.do(g)
			require.ElementsMatch(t, tt.want, arcs(g.Recorder))
			require.Len(t, stacksOf(g), tt.roots)
		})
	}
}

// stacksOf are the stacks that the guest's thread has been on, by what its first function is.
func stacksOf(g *guest) (list []string) {
	first := func(f Frame) string { return fmt.Sprintf("%x", uint64(g.arcOf(f).function)) }
	list = append(list, first(g.Frames[0]))
	for _, s := range g.waiting {
		list = append(list, first(s.frames[0]))
	}
	return list
}

// TestStackUsedAgain has a coroutine begin on the stack of one that is done, by a return and by a jump, also if that is
// in a mapping of its own.
func TestStackUsedAgain(t *testing.T) {
	for _, g := range []*guest{newGuest(), oneMapping()} {
		for _, begin := range []func(site, target, rsp emu.Addr){g.ret, g.flow} {
			for _, f := range []emu.Addr{0x4000, 0x5000} {
				g.call(0x1010, 0x3000, 0x707f8)
				begin(0x3010, f, 0x80800)
				g.call(f+0x10, 0x3000, 0x80800) // the last of a coroutine may have nothing below its own begin
				g.ret(0x3010, 0x1015, 0x70800)
			}
		}
		require.Equal(t, []string{"1010-3000 4 4", "4010-3000 2 2", "5010-3000 2 2"}, arcs(g.Recorder))
	}
}

// TestStackOfAnotherThread has a coroutine go on in another thread than the one that it gave way in.
func TestStackOfAnotherThread(t *testing.T) {
	g := newGuest()
	g.call(0x1010, 0x3000, 0x707f8)
	g.ret(0x3010, 0x4000, 0x50800)
	g.call(0x4010, 0x5000, 0x507f8)
	g.call(0x5010, 0x3000, 0x507e8)
	g.ret(0x3010, 0x1015, 0x70800)
	other := emu.NewCPU()
	other.RIP, other.Regs[emu.RSP] = 0x2000, 0x60800
	g.Begin(other)
	g.call(0x2010, 0x3000, 0x607f8)
	g.ret(0x3010, 0x5015, 0x507f0)
	g.ret(0x5020, 0x4015, 0x50800)
	require.ElementsMatch(t, []string{"1010-3000 1 1", "4010-5000 1 3", "5010-3000 1 1", "2010-3000 1 1"}, arcs(g.Recorder))
	require.Len(t, g.waiting, 1)
	g.End(other)
	require.Empty(t, g.waiting, "its own stack is gone with the thread")
	require.Equal(t, emu.Addr(0x70800), g.threads[g.cpu].current.start)
}

// TestAlone says where generated code may take an indirect jump for one on the stack in use.
func TestAlone(t *testing.T) {
	g := oneMapping()
	lo, hi := g.Alone(0x70800)
	require.Equal(t, [2]emu.Addr{0x10000, 0x90000}, [2]emu.Addr{lo, hi})
	g.call(0x1010, 0x3000, 0x707f8)
	g.ret(0x3010, 0x4000, 0x80800)
	lo, hi = g.Alone(0x80800)
	require.Equal(t, lo, hi)
	g.ret(0x4010, 0x1015, 0x70800)
	lo, hi = g.Alone(0x70800)
	require.Equal(t, lo, hi)
}
