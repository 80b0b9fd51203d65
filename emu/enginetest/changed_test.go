package enginetest

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
)

// TestContextOfChangedCode changes the instruction in front of an indirect jump: one to a constant is no
// indirect branch, one to what was loaded is.
func TestContextOfChangedCode(t *testing.T) {
	const jump, target = 10, 12 // where they lie
	at := worlds[0]
	constant := binary.LittleEndian.AppendUint64([]byte{0x48, 0xb8}, uint64(at+target)) // mov $target,%rax
	// mov target+1(%rip),%rax; nopl (%rax)
	loaded := []byte{0x48, 0x8b, 0x05, target + 1 - 7, 0, 0, 0, 0x0f, 0x1f, 0x00}
	rest := binary.LittleEndian.AppendUint64([]byte{0xff, 0xe0, 0xcc}, uint64(at+target)) // jmp *%rax; int3
	for _, u := range engines {
		t.Run(u.name, func(t *testing.T) {
			m := newRefuser(t, u, u.model(t))
			for i, code := range [][]byte{constant, loaded, constant, loaded} {
				o := m.execute(append(code[:len(code):len(code)], rest...))
				require.Equal(t, at+target+1, o.state.RIP)
				var bi uint64
				m.engine.Collect(at+jump, at+target, func(_ emu.Addr, e emu.Event, n uint64) {
					if e == emu.Bi {
						bi += n
					}
				})
				want := uint64(0)
				if u.simulates && i%2 == 1 {
					want = 1
				}
				require.Equal(t, want, bi, i)
			}
		})
	}
}

// TestMaskedStoreToCode stores, by masks, to the page that holds the code itself: an engine that protects that page
// executes the instruction again, and counts its references once.
func TestMaskedStoreToCode(t *testing.T) {
	const at = emu.Addr(0x10000)
	for _, tt := range []struct {
		name   string
		code   []byte
		stores uint64
	}{
		{"vmaskmovps [rdi], ymm1, ymm2", []byte{0xc4, 0xe2, 0x75, 0x2e, 0x17, 0xcc}, 3},
		{"vmovdqu32 [rdi]{k1}, zmm2", []byte{0x62, 0xf1, 0x7e, 0x49, 0x7f, 0x17, 0xcc}, 3},
		{"vpscatterdd [rdi+zmm3*4]{k1}, zmm2", []byte{0x62, 0xf2, 0x7d, 0x49, 0xa0, 0x14, 0x9f, 0xcc}, 3},
	} {
		for _, u := range engines {
			if u.wide == nil || !u.simulates || u.name == "jit simulating" && !hostIsV4() {
				continue
			}
			t.Run(u.name+" "+tt.name, func(t *testing.T) {
				space := newSpace(t)
				defer space.Close()
				require.NoError(t, space.Map(mem.VMA{Lo: at, Hi: at + emu.PageSize, Prot: mem.Read | mem.Write | mem.Exec}, nil))
				require.Equal(t, len(tt.code), space.Poke(at, tt.code))
				e, err := u.make(space, u.wide(t), testEnv{})
				require.NoError(t, err)
				defer e.Close()
				space.OnInvalidate(e.Invalidate)
				c := emu.NewCPU()
				widen(newRand(tt.name), c.FP)
				c.RIP, c.Regs[emu.RDI] = at, uint64(at)+0x800
				for _, lane := range []int{0, 2, 3} {
					binary.LittleEndian.PutUint32(c.FP[emu.XOffXMM+16+4*lane:], 1<<31)
				}
				clear(c.FP[emu.XOffYMMH+16:][:16])
				binary.LittleEndian.PutUint64(c.FP[emu.XOffOpmask+8:], 0xd)
				for lane := range 4 {
					binary.LittleEndian.PutUint32(c.FP[emu.XOffXMM+16*3+4*lane:], uint32(4*lane))
				}
				stop := e.Run(c, emu.NoBudget)
				require.Equal(t, &emu.Fault{Vector: emu.VecBP}, stop.Fault)
				counts := map[emu.Event]uint64{}
				e.Collect(at, at+1, func(_ emu.Addr, ev emu.Event, n uint64) { counts[ev] += n })
				require.EqualValues(t, 1, counts[emu.Ir])
				require.Equal(t, tt.stores, counts[emu.Dw])
				require.Equal(t, tt.stores, counts[emu.Store4])
			})
		}
	}
}

// TestRepeatOverCode has a REP STOS write over the page that it lies in, and stop at the end of budgets: what counts by
// data that the instruction refers to is as it is without stops.
func TestRepeatOverCode(t *testing.T) {
	const (
		at   = emu.Addr(0x10000)
		n    = 512 << 10
		from = at + 0x800
	)
	for _, u := range engines {
		if !u.simulates || u.tolerates != nil {
			continue
		}
		t.Run(u.name, func(t *testing.T) {
			count := func(budget uint64) (counts map[emu.Event]uint64, stops int) {
				space := newSpace(t)
				defer space.Close()
				require.NoError(t, space.Map(mem.VMA{Lo: at, Hi: at + 0x100000, Prot: mem.Read | mem.Write | mem.Exec}, nil))
				code := []byte{0xf3, 0xaa, 0xcc} // rep stosb; int3
				require.Equal(t, len(code), space.Poke(at, code))
				e, err := u.make(space, u.model(t), testEnv{})
				require.NoError(t, err)
				defer e.Close()
				counts = map[emu.Event]uint64{}
				collect := func(lo, hi emu.Addr) {
					e.Collect(lo, hi, func(_ emu.Addr, ev emu.Event, n uint64) { counts[ev] += n })
				}
				space.OnInvalidate(e.Invalidate)
				c := emu.NewCPU()
				c.RIP, c.Regs[emu.RDI], c.Regs[emu.RCX] = at, uint64(from), n
				for {
					stop := e.Run(c, budget)
					if stop.Reason == emu.StopFault {
						require.Equal(t, &emu.Fault{Vector: emu.VecBP}, stop.Fault)
						collect(at, at+0x20000)
						return counts, stops
					}
					require.Equal(t, emu.StopBudget, stop.Reason)
					stops++
				}
			}
			want, _ := count(1 << 40)
			require.EqualValues(t, n/64, want[emu.D1mw])
			got, stops := count(100_000)
			require.Greater(t, stops, 3)
			require.Equal(t, want, got)
		})
	}
}

// TestRepeatOverItself has a REP MOVS write other code over itself, again and again, so that the page is no longer
// guarded: it counts what it did, not what the new code would. The source ends where nothing is mapped; with one byte
// more it faults behind that.
func TestRepeatOverItself(t *testing.T) {
	const at, source = emu.Addr(0x10000), emu.Addr(0x20000)
	over := map[string][]byte{
		"nops":      {0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xcc},
		"a gather":  {0xc4, 0xe2, 0x65, 0x90, 0x0c, 0x90, 0xcc},
		"a REP":     {0xf3, 0xa6, 0x90, 0x90, 0x90, 0x90, 0xcc},
		"no code":   {0xc5, 0xf8, 0xff, 0xc0, 0x90, 0x90, 0xcc},
		"a syscall": {0x0f, 0x05, 0x90, 0x90, 0x90, 0x90, 0xcc},
	}
	for name, code := range over {
		for _, beyond := range []int{0, 1} {
			var want map[emu.Event]uint64
			for _, u := range engines {
				if !u.simulates || u.tolerates != nil {
					continue
				}
				counts := repeatOverItself(t, u, at, source, code, beyond)
				if want == nil {
					want = counts
				}
				require.Equal(t, want, counts, "%s over it, %d bytes too many, %s", name, beyond, u.name)
			}
		}
	}
}

// repeatOverItself copies code from the end of the page before source over the REP MOVS at at, with some bytes beyond,
// 40 times, and returns what that counts.
func repeatOverItself(t *testing.T, u engineUnderTest, at, source emu.Addr, code []byte, beyond int) map[emu.Event]uint64 {
	space := newSpace(t)
	defer space.Close()
	for _, lo := range []emu.Addr{at, source - emu.PageSize} {
		require.NoError(t, space.Map(mem.VMA{Lo: lo, Hi: lo + emu.PageSize, Prot: mem.Read | mem.Write | mem.Exec}, nil))
	}
	require.Equal(t, len(code), space.Poke(source-emu.Addr(len(code)), code))
	e, err := u.make(space, u.model(t), testEnv{})
	require.NoError(t, err)
	defer e.Close()
	space.OnInvalidate(e.Invalidate)
	c := emu.NewCPU()
	for range 40 {
		repeat := []byte{0xf3, 0xa4, 0x90, 0x90, 0x90, 0x90, 0xcc} // rep movsb; nops; int3
		require.Equal(t, len(repeat), space.Poke(at, repeat))
		c.RIP, c.Regs[emu.RDI], c.Regs[emu.RSI], c.Regs[emu.RCX] = at, uint64(at), uint64(source)-uint64(len(code)), uint64(len(code)+beyond)
		stop := e.Run(c, 1<<40)
		require.Equal(t, emu.StopFault, stop.Reason)
		want := emu.Fault{Vector: emu.VecBP}
		if beyond > 0 {
			want = emu.Fault{Vector: emu.VecPF, Addr: source}
		}
		require.Equal(t, &want, stop.Fault)
		require.EqualValues(t, beyond, c.Regs[emu.RCX])
	}
	counts := map[emu.Event]uint64{}
	e.Collect(at, at+emu.PageSize, func(_ emu.Addr, ev emu.Event, n uint64) { counts[ev] += n })
	return counts
}
