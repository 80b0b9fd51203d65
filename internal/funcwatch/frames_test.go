package funcwatch

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
)

// A fakeEngine runs no code: it is moved from place to place.
type fakeEngine struct {
	emu.Engine
	marks map[emu.Addr]bool
}

func (e *fakeEngine) SetMark(a emu.Addr, on bool) {
	if on {
		e.marks[a] = true
	} else {
		delete(e.marks, a)
	}
}

// A scene is a thread in a space with two stacks, in front of watched functions that toggle.
type scene struct {
	t   *testing.T
	eng *fakeEngine
	w   *Watcher
	cpu *emu.CPU
}

const (
	mainStack = 0x100000 // 64 KiB
	altStack  = 0x200000 // 64 KiB
)

func newScene(t *testing.T) *scene {
	t.Helper()
	m, err := mem.New()
	require.NoError(t, err)
	t.Cleanup(func() { m.Close() })
	for _, lo := range []emu.Addr{mainStack, altStack} {
		require.NoError(t, m.Map(mem.VMA{Lo: lo, Hi: lo + 1<<16, Prot: mem.Read | mem.Write}, nil))
	}
	s := &scene{t: t, eng: &fakeEngine{marks: map[emu.Addr]bool{}}, cpu: emu.NewCPU()}
	s.w = New(s.eng, m, nil, []*Probe{{}})
	return s
}

// inverted checks whether collection is the other way round now.
func (s *scene) inverted(want bool) {
	s.t.Helper()
	assert.Equal(s.t, want, s.w.Inverted(s.cpu))
}

// enter is a call of the function at fn, by a CALL that returns to ret, with the stack pointer sp behind it.
func (s *scene) enter(fn, ret, sp emu.Addr) {
	s.t.Helper()
	require.True(s.t, s.w.space.WriteUint64(sp, uint64(ret)))
	s.cpu.RIP, s.cpu.Regs[emu.RSP] = fn, uint64(sp)
	s.w.popLeft(s.cpu)
	(&Entry{CPU: s.cpu, w: s.w}).Push(Toggles)
}

// land is an arrival at a, by a return or another way.
func (s *scene) land(a, sp emu.Addr) {
	s.t.Helper()
	s.cpu.RIP, s.cpu.Regs[emu.RSP] = a, uint64(sp)
	require.True(s.t, s.eng.marks[a], "%v is not marked", a)
	s.w.Reached(s.cpu)
}

func TestToggleReturns(t *testing.T) {
	s := newScene(t)
	const f, g, sp = 0x1000, 0x2000, mainStack + 0x8000
	s.inverted(false)
	s.enter(f, 0x5000, sp)
	s.inverted(true)
	s.enter(f, 0x5000, sp) // a jump to its own first instruction
	s.inverted(true)
	// Recursion, by the same call each time.
	for i := range emu.Addr(100) {
		s.enter(f, 0x1010, sp-16-16*i)
		s.inverted(true)
	}
	s.enter(g, 0x1020, sp-0x4000)
	s.inverted(false)
	s.enter(f, 0x2010, sp-0x4010) // it is active already
	s.inverted(false)
	s.land(0x2010, sp-0x4008)
	s.inverted(false)
	s.land(0x1020, sp-0x4000+8)
	s.inverted(true)
	for i := range emu.Addr(100) {
		s.land(0x1010, sp-16-16*(99-i)+8)
		s.inverted(true)
	}
	s.land(0x5000, sp+8)
	s.inverted(false)
	assert.Empty(t, s.w.threads)
	// In a jump from f to g both are left by one return.
	s.enter(f, 0x5000, sp)
	s.enter(g, 0x5000, sp)
	s.inverted(false)
	s.land(0x5000, sp+8)
	s.inverted(false)
	assert.Empty(t, s.w.threads)
	// A breakpoint nobody returns to is given up, not at once.
	for i := range maxIdle + 1 {
		require.True(t, s.eng.marks[0x5000], "%d", i)
		s.land(0x5000, sp-0x1000)
	}
	assert.False(t, s.eng.marks[0x5000])
}

func TestToggleJumps(t *testing.T) {
	s := newScene(t)
	const f, sp = 0x1000, mainStack + 0x8000
	s.w.breakpointAt(0x6000).target = true
	// longjmp out of it, and to a place inside it.
	s.enter(f, 0x5000, sp)
	s.land(0x6000, sp-0x100)
	s.inverted(true)
	s.land(0x6000, sp+0x100)
	s.inverted(false)
	// A handler on another stack interrupts it, and returns or not.
	s.enter(f, 0x5000, sp)
	s.land(0x6000, altStack+0x8000)
	s.inverted(true)
	s.enter(f, 0x5100, altStack+0x7000)
	s.land(0x5100, altStack+0x7008)
	s.inverted(true)
	s.land(0x5000, sp+8)
	s.inverted(false)
	// Another thread is in nothing.
	s.enter(f, 0x5000, sp)
	other := emu.NewCPU()
	assert.False(t, s.w.Inverted(other))
	s.inverted(true)
	// A new program: all is forgotten.
	s.w.Reset()
	s.inverted(false)
	assert.Empty(t, s.eng.marks)
}
