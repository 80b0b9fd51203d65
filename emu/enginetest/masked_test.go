package enginetest

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
)

// A maskedFault is an instruction that accesses four doublewords in front of the last page's end, and those beyond it,
// as far as a mask selects them.
type maskedFault struct {
	name        string
	code        string
	write, wide bool
	mask        uint64
	// made is how many elements are accessed in front of the one that faults. The fault's address is beyond bytes
	// behind the page: that one's, or, as Intel's CPUs tell it of a store, that of the last byte that is selected.
	made   uint64
	beyond emu.Addr
}

var maskedFaults = []maskedFault{
	{"vmaskmovps ymm2, ymm1, [rdi]", "\xc4\xe2\x75\x2c\x17", false, false, 0b11001010, 2, 8},
	{"vmaskmovps [rdi], ymm1, ymm2", "\xc4\xe2\x75\x2e\x17", true, false, 0b11001010, 2, 15},
	{"vmovdqu32 zmm2{k1}, [rdi]", "\x62\xf1\x7e\x49\x6f\x17", false, true, 0b11101010, 2, 4},
	{"vmovdqu32 [rdi]{k1}, zmm2", "\x62\xf1\x7e\x49\x7f\x17", true, true, 0b11101010, 2, 15},
	{"vpexpandd zmm2{k1}, [rdi]", "\x62\xf2\x7d\x49\x89\x17", false, true, 0b11111101010, 4, 0},
	{"vpcompressd [rdi]{k1}, zmm2", "\x62\xf2\x7d\x49\x8b\x17", true, true, 0b11111101010, 4, 15},
	{"vpgatherdd zmm2{k1}, [rdi+zmm3*4]", "\x62\xf2\x7d\x49\x90\x14\x9f", false, true, 0b11101010, 2, 4},
	{"vpscatterdd [rdi+zmm3*4]{k1}, zmm2", "\x62\xf2\x7d\x49\xa0\x14\x9f", true, true, 0b11101010, 2, 4},
}

// TestMaskedFault has of the references of an instruction that faults those count, and be looked up in the caches, that
// it made before; not those of elements that the mask does not select.
func TestMaskedFault(t *testing.T) {
	for _, u := range append(lesserEngines, engines...) {
		for _, tt := range maskedFaults {
			if !u.simulates || u.wide == nil || tt.wide && u.name == "jit simulating" && !hostIsV4() {
				continue
			}
			t.Run(u.name+" "+tt.name, func(t *testing.T) { tt.run(t, u) })
		}
	}
}

func (tt *maskedFault) run(t *testing.T, u engineUnderTest) {
	const at, data = emu.Addr(0x10000), emu.Addr(0x20000)
	space := newSpace(t)
	defer space.Close()
	for _, page := range []emu.Addr{at, data} {
		require.NoError(t, space.Map(mem.VMA{Lo: page, Hi: page + emu.PageSize, Prot: mem.Read | mem.Write | mem.Exec}, nil))
	}
	require.Equal(t, len(tt.code), space.Poke(at, []byte(tt.code)))
	e, err := u.make(space, u.wide(t), testEnv{})
	require.NoError(t, err)
	defer e.Close()
	space.OnInvalidate(e.Invalidate)
	c := emu.NewCPU()
	c.FP.SetComponents(emu.XFeatures | emu.XAVX512)
	c.RIP, c.Regs[emu.RDI] = at, uint64(data)+emu.PageSize-16
	for i := range 8 {
		vector := emu.XOffXMM
		if i >= 4 {
			vector = emu.XOffYMMH - 16
		}
		if tt.mask>>i&1 != 0 {
			binary.LittleEndian.PutUint32(c.FP[vector+16+4*i:], 1<<31)
		}
		binary.LittleEndian.PutUint32(c.FP[vector+3*16+4*i:], uint32(i))
	}
	binary.LittleEndian.PutUint64(c.FP[emu.XOffOpmask+8:], tt.mask)
	stop := e.Run(c, emu.NoBudget)
	require.Equal(t, &emu.Fault{Vector: emu.VecPF, Addr: data + emu.PageSize + tt.beyond, Write: tt.write}, stop.Fault)
	got := map[emu.Event]uint64{}
	e.Collect(at, at+1, func(_ emu.Addr, ev emu.Event, n uint64) { got[ev] += n })
	want := map[emu.Event]uint64{emu.Ir: 1, emu.I1mr: 1, emu.ILmr: 1, emu.Dr: tt.made, emu.Load4: tt.made, emu.D1mr: 1, emu.DLmr: 1}
	if tt.write {
		want = map[emu.Event]uint64{emu.Ir: 1, emu.I1mr: 1, emu.ILmr: 1, emu.Dw: tt.made, emu.Store4: tt.made, emu.D1mw: 1, emu.DLmw: 1}
	}
	require.Equal(t, want, got)
}
