package enginetest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
)

// An outcome is how a job ended.
type outcome struct {
	state nativeState // FP, Regs, RIP, Flags, FSBase, GSBase are valid
	fault emu.Fault
	dump  []byte // data page, stack page
	died  bool   // the native child did not survive it
}

// set makes o a copy of p.
func (o *outcome) set(p *outcome) {
	dump := append(o.dump[:0], p.dump...)
	*o = *p
	o.dump = dump
}

// A batch is code in slots and jobs that run it.
type batch struct {
	code [len(worlds)][codeSize]byte
	used [len(worlds)]int
	jobs []nativeState
	// wide has jobs start with the registers of AVX-512.
	wide bool
}

func newBatch() *batch {
	b := new(batch)
	b.clear()
	return b
}

// clear empties b; unused code is INT3.
func (b *batch) clear() {
	for w := range b.code {
		for i := range b.code[w] {
			b.code[w][i] = 0xcc
		}
		b.used[w] = 0
	}
	b.jobs = b.jobs[:0]
}

// full reports whether there is no room for n more jobs of one slot.
func (b *batch) full(n int) bool {
	return len(b.jobs)+n > maxJobs || b.used[0] == slots || b.used[1] == slots
}

// slot reserves a slot of world w and returns its address.
func (b *batch) slot(w int) emu.Addr {
	b.used[w]++
	return worlds[w] + emu.Addr((b.used[w]-1)*slotSize)
}

// put writes code into a slot.
func (b *batch) put(w int, at emu.Addr, code []byte) {
	if int(at-worlds[w])%slotSize+len(code) > slotSize {
		panic("BUG: a case is larger than its slot")
	}
	copy(b.code[w][at-worlds[w]:], code)
}

// testEnv answers what does not follow from CPU and memory.
type testEnv struct{}

func (testEnv) TSC() uint64     { return 0x123456789abc }
func (testEnv) TSCCounts() bool { return false }
func (testEnv) Random() uint64  { return 0xfedcba9876543210 }

// An emulated runs batches under an engine.
type emulated struct {
	t      testing.TB
	under  engineUnderTest
	model  *emu.Model
	engine emu.Engine
	space  *mem.Space
	images []byte
	cpu    *emu.CPU
	data   [len(worlds)][]byte
	stack  [len(worlds)][]byte
	// code is how much of each world's code differs from INT3; at first it is zero throughout.
	code [len(worlds)]int
	// counts has what the last batch executed, by address.
	counts map[emu.Addr]uint64
}

// newSpace returns an address space; on a host that has none yet the test is skipped.
func newSpace(t testing.TB) *mem.Space {
	m, err := mem.New()
	if errors.Is(err, mem.ErrNoHost) {
		t.Skip(err)
	}
	require.NoError(t, err)
	return m
}

func newEmulated(t testing.TB, u engineUnderTest, model *emu.Model, images, ro []byte) *emulated {
	space := newSpace(t)
	t.Cleanup(func() { space.Close() })
	m := &emulated{t: t, under: u, model: model, space: space, images: images, cpu: emu.NewCPU(), counts: map[emu.Addr]uint64{}}
	m.renew()
	t.Cleanup(func() { m.engine.Close() })
	for i, w := range worlds {
		for _, v := range []mem.VMA{
			{Lo: w, Hi: w + codeSize, Prot: mem.Read | mem.Exec},
			{Lo: w + dataOff, Hi: w + roOff, Prot: mem.Read | mem.Write},
			{Lo: w + roOff, Hi: w + roOff + emu.PageSize, Prot: mem.Read},
			{Lo: w + stackOff, Hi: w + stackOff + emu.PageSize, Prot: mem.Read | mem.Write},
		} {
			require.NoError(t, space.Map(v, nil))
		}
		require.Equal(t, len(ro), space.Poke(w+roOff, ro))
		m.code[i] = codeSize
		m.data[i] = space.View(w+dataOff, emu.PageSize, mem.Write).ForHost()
		m.stack[i] = space.View(w+stackOff, emu.PageSize, mem.Write).ForHost()
	}
	return m
}

// renew takes a new engine.
func (m *emulated) renew() {
	if m.engine != nil {
		require.NoError(m.t, m.engine.Close())
	}
	var err error
	m.engine, err = m.under.make(m.space, m.model, testEnv{})
	require.NoError(m.t, err)
	m.space.OnInvalidate(m.engine.Invalidate)
}

// run executes b.
func (m *emulated) run(b *batch, out []outcome) {
	clear(m.counts)
	m.load(b)
	for i := range b.jobs {
		m.one(&b.jobs[i], &out[i])
	}
	m.engine.Collect(0, ^emu.Addr(0), func(a emu.Addr, ev emu.Event, n uint64) {
		if ev == emu.Ir {
			m.counts[a] += n
		}
	})
}

// load puts b's code in its place.
func (m *emulated) load(b *batch) {
	for w := range b.code {
		used := b.used[w] * slotSize
		n := max(used, m.code[w])
		require.Equal(m.t, n, m.space.Poke(worlds[w], b.code[w][:n]))
		m.code[w] = used
	}
}

func (m *emulated) one(s *nativeState, o *outcome) {
	s.reset(m.images, m.data[s.World], m.stack[s.World])
	c := m.cpu
	*c.FP = s.FP
	c.Regs, c.RIP, c.Flags, c.FSBase, c.GSBase = s.Regs, s.RIP, s.Flags, s.FSBase, s.GSBase
	stop := m.engine.Run(c, m.under.budget)
	if stop.Reason != emu.StopFault {
		stop.Fault = &emu.Fault{Vector: 0xff, Unsupported: fmt.Sprintf("stopped for reason %d", stop.Reason)}
	}
	o.fault = *stop.Fault
	o.state = nativeState{FP: *c.FP, Regs: c.Regs, RIP: c.RIP, Flags: c.Flags, FSBase: c.FSBase, GSBase: c.GSBase}
	o.dump = append(append(o.dump[:0], m.data[s.World]...), m.stack[s.World]...)
}
