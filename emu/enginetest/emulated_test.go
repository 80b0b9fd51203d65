//go:build linux && amd64

package enginetest

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

// TestEmulated has the instructions that must not show the host give what the model and the environment say.
func TestEmulated(t *testing.T) {
	model := richModel(t)
	for _, u := range engines[:1] {
		m := newRefuser(t, u, model)
		r := rand.New(rand.NewPCG(1, 2))
		random := testEnv{}.Random()
		done := map[int]bool{}
		for _, tmpl := range templates() {
			effect := emulatedEffects[tmpl.inst.Op]
			if effect == nil {
				continue
			}
			done[tmpl.form] = true
			for range 30 {
				_, inst, code := tmpl.vary(r, nil)
				for i := range m.job.Regs {
					m.job.Regs[i] = integer(r)
				}
				m.job.Regs[emu.RSP] = uint64(worlds[0]) + stackOff + 128
				m.job.Regs[emu.RCX] &= 7
				want := m.job
				wantFault := effect(model, &inst, &want, random)
				o := m.execute(code)
				if wantFault != 0 {
					require.Equal(t, wantFault, o.fault.Vector, "% x", code)
					require.Equal(t, want.RIP, o.state.RIP, "% x", code)
				} else {
					require.Equal(t, uint8(emu.VecBP), o.fault.Vector, "% x", code)
				}
				require.Equal(t, want.Regs, o.state.Regs, "%v % x", inst.Op, code)
				require.Equal(t, want.Flags, o.state.Flags, "%v % x", inst.Op, code)
				require.Equal(t, want.FP[:24], o.state.FP[:24])
			}
		}
		require.Len(t, done, 8)
	}
}

// TestInterrupts has the instructions that are breakpoints and overflows raise them, with RIP behind them.
func TestInterrupts(t *testing.T) {
	for _, tt := range []struct {
		code []byte
		want emu.Fault
	}{
		{[]byte{0xf1}, emu.Fault{Vector: emu.VecDB, Int1: true}},
		{[]byte{0xcc}, emu.Fault{Vector: emu.VecBP}},
		{[]byte{0xcd, 3}, emu.Fault{Vector: emu.VecBP}},
		{[]byte{0xcd, 4}, emu.Fault{Vector: emu.VecOF}},
	} {
		for _, u := range engines {
			m := newRefuser(t, u, u.model(t))
			o := m.execute(tt.code)
			require.Equal(t, tt.want, o.fault, "%s: % x", u.name, tt.code)
			require.Equal(t, worlds[0]+emu.Addr(len(tt.code)), o.state.RIP, "%s: % x", u.name, tt.code)
			require.NoError(t, m.engine.Close())
			require.NoError(t, m.space.Close())
		}
	}
}

// emulatedEffects do to a state what an instruction should, and return the vector of the fault it should raise.
var emulatedEffects = map[x86.Op]func(m *emu.Model, i *x86.Inst, s *nativeState, random uint64) uint8{
	x86.CPUID: func(m *emu.Model, i *x86.Inst, s *nativeState, _ uint64) uint8 {
		a, b, c, d := m.CPUID(uint32(s.Regs[emu.RAX]), uint32(s.Regs[emu.RCX]))
		s.Regs[emu.RAX], s.Regs[emu.RBX], s.Regs[emu.RCX], s.Regs[emu.RDX] = uint64(a), uint64(b), uint64(c), uint64(d)
		return 0
	},
	x86.XGETBV: func(m *emu.Model, i *x86.Inst, s *nativeState, _ uint64) uint8 {
		if uint32(s.Regs[emu.RCX]) != 0 {
			return emu.VecGP
		}
		s.Regs[emu.RAX], s.Regs[emu.RDX] = 7, 0
		return 0
	},
	x86.RDTSC:  readTSC,
	x86.RDTSCP: readTSC,
	x86.RDRAND: readRandom,
	x86.RDSEED: readRandom,
	x86.RDPID: func(m *emu.Model, i *x86.Inst, s *nativeState, _ uint64) uint8 {
		s.Regs[i.Args[0].Reg] = 0
		return 0
	},
	x86.PAUSE: func(*emu.Model, *x86.Inst, *nativeState, uint64) uint8 { return 0 },
}

func readTSC(m *emu.Model, i *x86.Inst, s *nativeState, _ uint64) uint8 {
	tsc := testEnv{}.TSC()
	s.Regs[emu.RAX], s.Regs[emu.RDX] = tsc&0xffffffff, tsc>>32
	if i.Op == x86.RDTSCP {
		s.Regs[emu.RCX] = 0
	}
	return 0
}

func readRandom(m *emu.Model, i *x86.Inst, s *nativeState, random uint64) uint8 {
	r := &s.Regs[i.Args[0].Reg]
	switch i.OpSize {
	case 2:
		*r = *r&^0xffff | random&0xffff
	case 4:
		*r = random & 0xffffffff
	default:
		*r = random
	}
	s.Flags = s.Flags&^uint64(x86.StatusFlags) | emu.FlagCF
	return 0
}

// TestSyscall has SYSCALL stop with RCX and R11 set.
func TestSyscall(t *testing.T) {
	for _, u := range engines {
		m := newRefuser(t, u, u.model(t))
		m.space.Poke(worlds[0], []byte{0x0f, 0x05})
		c := m.cpu
		*c.FP = m.job.FP
		c.Regs, c.RIP, c.Flags = m.job.Regs, worlds[0], m.job.Flags
		require.Equal(t, emu.StopSyscall, m.engine.Run(c, u.budget).Reason)
		want := m.job.Regs
		want[emu.RCX], want[emu.R11] = uint64(worlds[0]+2), m.job.Flags
		require.Equal(t, want, c.Regs)
		require.Equal(t, worlds[0]+2, c.RIP)
		require.NoError(t, m.engine.Close())
		require.NoError(t, m.space.Close())
	}
}
