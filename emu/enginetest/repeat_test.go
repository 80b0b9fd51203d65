package enginetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
)

// A longRepeat is a repeated string instruction that is executed in pieces. RSI and RDI are at repeatFrom and repeatTo,
// or down by one element from repeatEnd beyond them if it goes backwards.
type longRepeat struct {
	name  string
	code  []byte
	size  int // of an element
	count int
	down  bool
	// unequal is the element whose comparison ends it, faults the one that it cannot access; -1 for none.
	unequal, faults int
	marked          bool
}

const (
	repeatCode           = emu.Addr(0x10000)
	repeatStack          = emu.Addr(0x20000)
	repeatFrom           = emu.Addr(0x100000)
	repeatTo             = emu.Addr(0x400000)
	repeatSize  emu.Addr = 0x200000
)

var longRepeats = []longRepeat{
	{name: "movsb", code: []byte{0xf3, 0xa4}, size: 1, count: 200_000, unequal: -1, faults: -1},
	{name: "movsb down", code: []byte{0xf3, 0xa4}, size: 1, count: 200_000, down: true, unequal: -1, faults: -1},
	{name: "movsb, few", code: []byte{0xf3, 0xa4}, size: 1, count: emu.MaxRepeat, unequal: -1, faults: -1},
	{name: "movsb, one more", code: []byte{0xf3, 0xa4}, size: 1, count: emu.MaxRepeat + 1, unequal: -1, faults: -1},
	{name: "movsb, many", code: []byte{0xf3, 0xa4}, size: 1, count: 2_000_000, unequal: -1, faults: -1},
	{name: "stosq", code: []byte{0xf3, 0x48, 0xab}, size: 8, count: 150_000, unequal: -1, faults: -1},
	{name: "stosq that faults", code: []byte{0xf3, 0x48, 0xab}, size: 8, count: 1 << 40, unequal: -1, faults: int(repeatSize) / 8},
	{name: "lodsw", code: []byte{0x66, 0xf3, 0xad}, size: 2, count: 100_000, unequal: -1, faults: -1},
	{name: "lodsw, marked", code: []byte{0x66, 0xf3, 0xad}, size: 2, count: 100_000, unequal: -1, faults: -1, marked: true},
	{name: "scasb", code: []byte{0xf3, 0xae}, size: 1, count: 300_000, unequal: 123_456, faults: -1},
	{name: "scasb to the end", code: []byte{0xf3, 0xae}, size: 1, count: 300_000, unequal: -1, faults: -1},
	{name: "scasb that faults", code: []byte{0xf3, 0xae}, size: 1, count: 1 << 40, unequal: -1, faults: int(repeatSize)},
	{name: "cmpsl", code: []byte{0xf3, 0xa7}, size: 4, count: 1 << 40, unequal: 99_999, faults: -1},
	{name: "movsb, 32 bits", code: []byte{0xf3, 0x67, 0xa4}, size: 1, count: 100_000, unequal: -1, faults: -1},
	{name: "cmpsl, 32 bits", code: []byte{0xf3, 0x67, 0xa7}, size: 4, count: 1 << 20, unequal: 99_999, faults: -1},
	{name: "stosb, 32 bits, that faults", code: []byte{0xf3, 0x67, 0xaa}, size: 1, count: 1 << 31, unequal: -1, faults: int(repeatSize)},
}

// program is the instruction with two in front of it and, behind it, one and a call, which checks the budget.
func (l *longRepeat) program() []byte {
	code := append([]byte{0x90, 0x90}, l.code...)
	return append(code, 0x90, 0xe8, 0, 0, 0, 0, 0x0f, 0x0b)
}

// at is the address of the instruction.
func (*longRepeat) at() emu.Addr { return repeatCode + 2 }

// stops is what emu.Engine's contract says of runs with budgets of n: how each ends.
func (l *longRepeat) stops(n int64) (stops []string) {
	left, run, count := n, int64(2), l.count
	stop := func(reason emu.StopReason, at emu.Addr) {
		stops = append(stops, fmt.Sprint(reason, at, count, left))
		if run = 0; left < 0 {
			left = n
		}
	}
	if l.marked {
		stop(emu.StopMark, l.at())
	}
	run++
	for done := 0; count > 0; done++ {
		if done == l.faults {
			stop(emu.StopFault, l.at())
			return stops
		}
		count--
		if done == l.unequal {
			break
		}
		if count >= emu.MaxRepeat && !l.marked {
			left--
		}
		if left < 0 && count > 0 {
			stop(emu.StopBudget, l.at())
			run++
		}
	}
	if slices.Contains(l.code, 0x67) {
		run = 0 // engines emulate it, which ends a straight run
	}
	next := l.at() + emu.Addr(len(l.code))
	for run++; ; {
		run++
		if left -= run; left >= 0 {
			break
		}
		stop(emu.StopBudget, next+1)
	}
	stop(emu.StopFault, next+6)
	return stops
}

// repeatRun is what a run of a longRepeat left.
type repeatRun struct {
	stops  []string
	regs   [16]uint64
	flags  uint64
	counts map[emu.Addr]map[emu.Event]uint64
	data   [2][]byte
}

// run runs l with budgets of n.
func (l *longRepeat) run(t *testing.T, u engineUnderTest, n int64, interrupted bool) repeatRun {
	space := newSpace(t)
	defer space.Close()
	e, err := u.make(space, u.model(t), testEnv{})
	require.NoError(t, err)
	defer e.Close()
	space.OnInvalidate(e.Invalidate)
	require.NoError(t, space.Map(mem.VMA{Lo: repeatCode, Hi: repeatCode + emu.PageSize, Prot: mem.Read | mem.Exec}, nil))
	c := emu.NewCPU()
	c.RIP = repeatCode
	c.Regs[emu.RSP] = uint64(repeatStack + emu.PageSize)
	c.Regs[emu.RSI], c.Regs[emu.RDI], c.Regs[emu.RCX] = uint64(repeatFrom), uint64(repeatTo), uint64(l.count)
	if l.down {
		c.Flags |= emu.FlagDF
		for _, r := range []int{emu.RSI, emu.RDI} {
			c.Regs[r] += uint64(repeatSize) - uint64(l.size)
		}
	}
	for _, lo := range []emu.Addr{repeatStack, repeatFrom, repeatTo} {
		hi := lo + repeatSize
		if lo == repeatStack {
			hi = lo + emu.PageSize
		}
		require.NoError(t, space.Map(mem.VMA{Lo: lo, Hi: hi, Prot: mem.Read | mem.Write}, nil))
	}
	require.Equal(t, len(l.program()), space.Poke(repeatCode, l.program()))
	if l.unequal >= 0 {
		space.Poke(repeatTo+emu.Addr(l.unequal*l.size), []byte{1})
	} else if l.size == 1 && l.faults < 0 {
		space.Poke(repeatFrom+12345, []byte{5})
	}
	e.SetMark(l.at(), l.marked)
	if interrupted {
		defer keepInterrupting(e)()
	}
	var got repeatRun
	for left := n; ; {
		stop := e.Run(c, uint64(left))
		if left = stop.Left; stop.Reason == emu.StopInterrupt {
			continue
		}
		got.stops = append(got.stops, fmt.Sprint(stop.Reason, c.RIP, c.Regs[emu.RCX], left))
		if stop.Reason == emu.StopFault {
			break
		}
		if left < 0 {
			left = n
		}
	}
	got.regs, got.flags, got.counts = c.Regs, c.Flags, map[emu.Addr]map[emu.Event]uint64{}
	e.Collect(0, ^emu.Addr(0), func(a emu.Addr, ev emu.Event, n uint64) {
		if got.counts[a] == nil {
			got.counts[a] = map[emu.Event]uint64{}
		}
		got.counts[a][ev] += n
	})
	for i, a := range []emu.Addr{repeatFrom, repeatTo} {
		got.data[i] = make([]byte, repeatSize)
		space.Read(a, got.data[i])
	}
	return got
}

// insns is what the instruction counts.
func (l *longRepeat) insns() uint64 {
	switch {
	case l.faults >= 0:
		return uint64(l.faults) + 1
	case l.unequal >= 0:
		return uint64(l.unequal) + 1
	}
	return uint64(l.count) + 1
}

// TestLongRepeats runs repeated string instructions with budgets: engines stop within them where the contract says, and
// all that they leave and count is as if they were executed in one go.
func TestLongRepeats(t *testing.T) {
	for _, u := range engines {
		budgets := []int64{1 << 40, 200_000, 77_777, 40_000, 7000}
		if u.budget == emu.NoBudget {
			budgets = []int64{emu.NoBudget}
		}
		for _, l := range longRepeats {
			t.Run(u.name+" "+l.name, func(t *testing.T) {
				whole := l.run(t, u, emu.NoBudget, false)
				require.Equal(t, l.insns(), whole.counts[l.at()][emu.Ir])
				for _, n := range budgets {
					for _, interrupted := range []bool{false, true} {
						if interrupted && n < 77_777 {
							continue
						}
						got := l.run(t, u, n, interrupted)
						if n < emu.NoBudget {
							require.Equal(t, l.stops(n), got.stops, "budget %d", n)
						}
						require.Equal(t, whole.regs, got.regs)
						if l.faults < 0 { // those in front of what was left when it stopped last, or behind the last iteration
							require.Equal(t, whole.flags, got.flags)
						}
						require.Equal(t, whole.counts, got.counts, "budget %d interrupted %v", n, interrupted)
						require.Equal(t, whole.data, got.data)
					}
				}
			})
		}
	}
}

// TestInterruptInRepeat interrupts an instruction that would take minutes.
func TestInterruptInRepeat(t *testing.T) {
	const count = 1 << 36
	for _, u := range engines {
		for name, code := range map[string][]byte{"lodsb": {0xf3, 0xac}, "lodsb with FS": {0xf3, 0x64, 0xac}} {
			t.Run(u.name+" "+name, func(t *testing.T) {
				space := newSpace(t)
				defer space.Close()
				e, err := u.make(space, u.model(t), testEnv{})
				require.NoError(t, err)
				defer e.Close()
				space.OnInvalidate(e.Invalidate)
				require.NoError(t, space.Map(mem.VMA{Lo: repeatCode, Hi: repeatCode + emu.PageSize, Prot: mem.Read | mem.Exec}, nil))
				require.NoError(t, space.Map(mem.VMA{Lo: repeatFrom, Hi: repeatFrom + count, Prot: mem.Read}, nil))
				require.Equal(t, len(code), space.Poke(repeatCode, code))
				c := emu.NewCPU()
				c.RIP, c.Regs[emu.RSI], c.Regs[emu.RCX] = repeatCode, uint64(repeatFrom), count
				defer keepInterrupting(e)()
				for c.Regs[emu.RCX] == count {
					require.Equal(t, emu.StopInterrupt, e.Run(c, u.budget).Reason)
				}
				require.NotZero(t, c.Regs[emu.RCX])
				require.Equal(t, repeatCode, c.RIP)
				done := count - c.Regs[emu.RCX]
				require.Equal(t, uint64(repeatFrom)+done, c.Regs[emu.RSI])
				require.Equal(t, done, e.Executed())
			})
		}
	}
}
