package callgraph

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
)

// What the tests have of Go's scheduler: mcall gives a goroutine up and calls park, whose stack is the thread's own;
// gogo goes on with one.
const (
	mcall = 0xa000
	park  = 0xb000
	gogo  = 0xc000
)

func newGoGuest() *guest {
	g := newGuest()
	g.lookup = func(a emu.Addr) emu.Function {
		f := functionAt(a)
		f.Parks, f.Resumes = f.ID == mcall, f.ID == gogo
		return f
	}
	return g
}

func (g *guest) resume(goroutine uint64, target, rsp emu.Addr) {
	g.Totals[0]++
	g.Resume(goroutine, target, rsp)
}

// waits has the function at site wait: RSP is rsp in front of the call.
func (g *guest) waits(site, rsp emu.Addr) {
	g.call(site, mcall, rsp-8)
	g.call(mcall+0x10, park, 0x70700)
	g.jump(park+0x10, gogo)
}

func TestGoroutines(t *testing.T) {
	for name, tt := range map[string]struct {
		do   func(g *guest)
		want []string
		in   emu.Addr
	}{
		"that wait for each other": {func(g *guest) {
			g.resume(1, 0x2000, 0x50800)
			g.call(0x2010, 0x3000, 0x507f0)
			g.waits(0x3010, 0x507f0)
			g.resume(2, 0x4000, 0x50400)
			g.waits(0x4010, 0x50400)
			g.resume(1, 0x3015, 0x507f0)
			g.ret(0x3020, 0x2015, 0x507f8)
			g.waits(0x2020, 0x50800)
			g.resume(2, 0x4015, 0x50400)
		}, []string{
			"2010-3000 1 5", "3010-a000 1 3", "a010-b000 3 6", "b010-c000 3 3", "4010-a000 1 3", "2020-a000 1 3",
		}, 0x4000},
		"whose stack moves": {func(g *guest) {
			g.resume(1, 0x2000, 0x50800)
			g.call(0x2010, 0x3000, 0x507f0)
			g.call(0x3010, 0x4000, 0x507e0)
			g.waits(0x4010, 0x507d8)
			g.resume(1, 0x4015, 0x500d8)
			g.call(0x4020, 0x5000, 0x500d0)
			g.ret(0x5010, 0x4025, 0x500d8)
			g.ret(0x4030, 0x3015, 0x500e8)
			require.EqualValues(t, 0x500f8, g.top().SP)
			g.ret(0x3020, 0x2015, 0x500f8)
		}, []string{
			"2010-3000 1 9", "3010-4000 1 7", "4010-a000 1 3", "a010-b000 1 2", "b010-c000 1 1", "4020-5000 1 1",
		}, 0x2000},
		"that another thread goes on with at once": {func(g *guest) {
			g.resume(1, 0x2000, 0x50800)
			g.call(0x2010, mcall, 0x507f8)
			g.call(mcall+0x10, park, 0x70700)
			other := emu.NewCPU()
			other.RIP, other.Regs[emu.RSP] = gogo, 0x60800
			g.Begin(other)
			g.resume(1, 0x2015, 0x50800)
			g.call(0x2020, 0x3000, 0x507f8)
			g.Begin(g.cpu)
			g.call(park+0x10, 0x4000, 0x706f8)
			g.ret(0x4010, park+0x15, 0x70700)
			g.jump(park+0x20, gogo)
			g.resume(2, 0x5000, 0x50400)
			g.Begin(other)
			g.ret(0x3010, 0x2025, 0x50800)
		}, []string{"2010-a000 1 1", "a010-b000 1 4", "2020-3000 1 1", "b010-4000 1 1", "b020-c000 1 1"}, 0x2000},
		"that recovers from a panic": {func(g *guest) {
			g.resume(1, 0x2000, 0x50800)
			g.call(0x2010, 0x3000, 0x507f8)
			g.call(0x3010, 0x4000, 0x507e8)
			g.waits(0x4010, 0x507e0)
			g.resume(1, 0x2050, 0x50800)
		}, []string{"2010-3000 1 5", "3010-4000 1 4", "4010-a000 1 3", "a010-b000 1 2", "b010-c000 1 1"}, 0x2000},
		"of which one takes another's place": {func(g *guest) {
			g.resume(1, 0x2000, 0x50800)
			g.waits(0x2010, 0x50800)
			g.resume(1, 0x3000, 0x50400)
			require.Len(t, g.Frames, 1)
			g.waits(0x3010, 0x50400)
			g.resume(1, 0x6000+0x10, 0x50400) // nothing of it is known
		}, []string{"2010-a000 1 3", "a010-b000 2 4", "b010-c000 2 2", "3010-a000 1 3"}, 0x6000},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGoGuest()
			tt.do(g)
			require.Equal(t, tt.in, g.Function())
			require.ElementsMatch(t, tt.want, arcs(g.Recorder))
		})
	}
}
