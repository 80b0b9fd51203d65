package sem

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/emu/soft"
	"github.com/cgemu/cgemu/emu/x86"
)

// x87Code and x87Data are where a test has its code, and what RAX points to. The page behind the data cannot be
// written.
const (
	x87Code = emu.Addr(0x10000)
	x87Data = x87Code + 2*emu.PageSize - 128
)

// An x87Test executes instructions.
type x87Test struct {
	t       *testing.T
	m       *Machine
	c       *emu.CPU
	decoder *guest.Decoder
}

func newX87Test(t *testing.T) *x87Test {
	space, err := mem.New()
	require.NoError(t, err)
	t.Cleanup(func() { space.Close() })
	for i, prot := range []mem.Prot{mem.Read | mem.Exec, mem.Read | mem.Write, mem.Read} {
		lo := x87Code + emu.Addr(i)*emu.PageSize
		require.NoError(t, space.Map(mem.VMA{Lo: lo, Hi: lo + emu.PageSize, Prot: prot}, nil))
	}
	x := &x87Test{t: t, m: &Machine{Mem: space, Model: testModel, Piece: 1}, c: emu.NewCPU(), decoder: guest.NewDecoder(space, allFeatures(), "engine")}
	x.c.Regs[emu.RAX] = uint64(x87Data)
	return x
}

func allFeatures() *[256]bool {
	var all [256]bool
	for i := range all {
		all[i] = true
	}
	return &all
}

// execute executes code, and returns the fault of the instruction that raised one.
func (x *x87Test) execute(code ...byte) *emu.Fault {
	x.m.Mem.Poke(x87Code, code)
	x.decoder.Forget()
	for at := x87Code; at < x87Code+emu.Addr(len(code)); {
		var g guest.Insn
		require.True(x.t, x.decoder.Decode(&g, at))
		if f := x.m.Execute(x.c, &g); f != nil {
			return f
		}
		at = g.Next()
	}
	return nil
}

// run is execute for code that raises no fault.
func (x *x87Test) run(code ...byte) { require.Nil(x.t, x.execute(code...)) }

func (x *x87Test) state() x87 { return x87{x.c.FP} }

// put writes to memory at the displacement from RAX.
func (x *x87Test) put(at int, b ...byte) { x.m.Mem.Poke(x87Data+emu.Addr(at), b) }

func (x *x87Test) memory(at, n int) []byte {
	b := make([]byte, n)
	x.m.Mem.Read(x87Data+emu.Addr(at), b)
	return b
}

// setFCW has FLDCW load a control word.
func (x *x87Test) setFCW(cw uint16) {
	x.put(64, binary.LittleEndian.AppendUint16(nil, cw)...)
	x.run(0xd9, 0x68, 64)
}

// Instructions that tests are made of.
var (
	fld1        = []byte{0xd9, 0xe8}
	fldz        = []byte{0xd9, 0xee}
	fdivST1     = []byte{0xd8, 0xf1} // fdiv st, st(1)
	fstp32      = []byte{0xd9, 0x18} // fstp dword [rax]
	one         = soft.F80{Mant: 1 << 63, SE: 0x3fff}
	pendingBits = uint16(x87ES | x87B)
)

// TestX87Complete has semantics for each instruction of x87.
func TestX87Complete(t *testing.T) {
	x := newX87Test(t)
	ops := map[x86.Op]bool{}
	eachEncoding(func(code []byte) {
		if code[0]&^7 != 0xd8 && code[0] != 0x9b {
			return
		}
		x.m.Mem.Poke(x87Code, code)
		x.decoder.Forget()
		var g guest.Insn
		require.True(t, x.decoder.Decode(&g, x87Code))
		if g.Kind != guest.Unknown {
			ops[g.Op] = true
			require.NotNil(t, Of(&g), "%s % x", g.Op, code)
		}
	})
	require.Len(t, ops, 91)
}

// TestX87Stack fills the stack, and has one more register pushed and one more popped than there are, masked and not.
func TestX87Stack(t *testing.T) {
	x := newX87Test(t)
	for range 8 {
		x.run(fld1...)
	}
	require.Equal(t, uint16(0), x.state().fsw(), "the top is back where it was")
	require.Equal(t, byte(0xff), x.c.FP[emu.XOffFTW])
	x.run(fldz...)
	require.Equal(t, 7<<11|stackOverflow, x.state().fsw())
	require.Equal(t, defaultNaN, x.state().st(0))
	require.Equal(t, one, x.state().st(1))

	x = newX87Test(t)
	x.setFCW(0x37e)
	x.run(fstp32...)
	require.Equal(t, stackUnderflow|pendingBits, x.state().fsw(), "nothing was popped")
	require.Equal(t, make([]byte, 4), x.memory(0, 4), "nothing was stored")

	x = newX87Test(t)
	x.run(fstp32...)
	require.Equal(t, 1<<11|stackUnderflow, x.state().fsw())
	require.Equal(t, []byte{0, 0, 0xc0, 0xff}, x.memory(0, 4))

	x = newX87Test(t)
	x.run(fld1...)
	x.setFCW(0x37e)
	for range 7 {
		x.run(fld1...)
	}
	x.run(fldz...)
	require.Equal(t, stackOverflow|pendingBits, x.state().fsw(), "nothing was pushed")
}

// TestX87Pending has an exception wait for the next instruction that looks for it.
func TestX87Pending(t *testing.T) {
	x := newX87Test(t)
	x.setFCW(0x37b)
	x.run(append(append(fldz[:2:2], fld1...), fdivST1...)...)
	require.Equal(t, 6<<11|soft.ZE|pendingBits, x.state().fsw())
	require.Equal(t, one, x.state().st(0), "the operand stays")
	before := *x.c.FP
	for _, waits := range [][]byte{fld1, fstp32, {0x9b}, {0xd9, 0xd0}, {0xd9, 0x28}, {0xd9, 0xf7}, {0xdb, 0xf1}, {0xda, 0xc1}, {0xdd, 0xc0}, {0xd9, 0x20}} {
		require.Equal(t, &emu.Fault{Vector: emu.VecMF}, x.execute(waits...), "% x", waits)
		require.Equal(t, before, *x.c.FP, "% x", waits)
	}
	x.run(0xd9, 0x38, 0xdd, 0x78, 2) // fnstcw [rax]; fnstsw [rax+2]
	require.Equal(t, []byte{0x7b, 0x03, 0x84, 0xb0}, x.memory(0, 4))
	x.run(0xdb, 0xe2, 0x9b) // fnclex; fwait
	require.Equal(t, uint16(6<<11), x.state().fsw())
	x.run(fdivST1...)
	x.run(0xdb, 0xe3, 0x9b) // fninit; fwait
	require.Equal(t, uint16(0x37f), x.state().fcw())
	require.Equal(t, uint16(0), x.state().fsw())
	require.Zero(t, x.c.FP[emu.XOffFTW])
}

// TestX87Unmask has FLDCW make an exception pending that was masked before.
func TestX87Unmask(t *testing.T) {
	x := newX87Test(t)
	x.run(append(append(fldz[:2:2], fld1...), fdivST1...)...)
	require.Equal(t, 6<<11|soft.ZE, x.state().fsw())
	x.setFCW(0xe37b)
	require.Equal(t, 6<<11|soft.ZE|pendingBits, x.state().fsw())
	require.Equal(t, uint16(0x37b), x.state().fcw(), "reserved bits are fixed")
}

// TestX87Faults has memory fault before anything changes.
func TestX87Faults(t *testing.T) {
	const across = 126 // two bytes before the page that cannot be written
	for _, tt := range []struct {
		name string
		code []byte
		cw   uint16
	}{
		{"fstp dword", []byte{0xd9, 0x58, across}, 0x37f},
		{"fstp qword", []byte{0xdd, 0x58, across}, 0x37f},
		{"fstp tbyte", []byte{0xdb, 0x78, across}, 0x37f},
		{"fistp dword", []byte{0xdb, 0x58, across}, 0x37f},
		{"fisttp qword", []byte{0xdd, 0x48, across}, 0x37f},
		{"fbstp", []byte{0xdf, 0x70, across}, 0x37f},
	} {
		x := newX87Test(t)
		x.run(0xd9, 0xe8, 0xd9, 0xe0, 0xd9, 0xfa) // fld1; fchs; fsqrt: a NaN
		x.run(0xdb, 0xe2)
		x.setFCW(tt.cw)
		before := *x.c.FP
		require.Equal(t, &emu.Fault{Vector: emu.VecPF, Addr: x87Data + 128, Write: true}, x.execute(tt.code...), tt.name)
		require.Equal(t, before, *x.c.FP, tt.name)
		require.Equal(t, make([]byte, 2), x.memory(126, 2), tt.name)
	}
	x := newX87Test(t)
	x.setFCW(0x37e)
	require.Nil(t, x.execute(0xdb, 0x58, across), "fistp dword that stores nothing, of an empty register")
	require.NotZero(t, x.state().fsw()&soft.IE)
	x = newX87Test(t)
	x.run(0xd9, 0xe8) // fld1
	require.Equal(t, &emu.Fault{Vector: emu.VecPF, Addr: x87Data + 128, Write: true}, x.execute(0xdb, 0x78, 120), "fstp tbyte of which 8 bytes can be stored")
	require.Equal(t, []byte{0, 0, 0, 0, 0, 0, 0, 0x80}, x.memory(120, 8))
	x = newX87Test(t)
	before := *x.c.FP
	require.Equal(t, emu.VecPF, int(x.execute(0xd8, 0x80, 0, 0x20, 0, 0).Vector), "fadd of no memory, to an empty register")
	require.Equal(t, before, *x.c.FP)
}

// TestX87DenormalInMemory has a denormal operand be one in its own format, though it is none in ST(0)'s.
func TestX87DenormalInMemory(t *testing.T) {
	for _, code := range [][]byte{{0xd8, 0x00}, {0xdc, 0x00}, {0xd8, 0x10}, {0xd9, 0x00}, {0xdd, 0x00}} { // fadd, fcom, fld
		x := newX87Test(t)
		x.put(0, 1)
		x.run(append(fld1[:2:2], code...)...)
		require.Equal(t, soft.DE, x.state().fsw()&x87Exceptions&^soft.PE, "% x", code)
	}
	x := newX87Test(t)
	x.put(0, 1)
	x.run(append(fld1[:2:2], 0xda, 0x00)...) // fiadd
	require.Equal(t, soft.F80{Mant: 1 << 63, SE: 0x4000}, x.state().st(0))
	require.Zero(t, x.state().fsw()&x87Exceptions)
}

// TestX87Unchecked has D9 D8+i pop an empty register as if nothing were.
func TestX87Unchecked(t *testing.T) {
	x := newX87Test(t)
	x.run(fld1...)
	x.run(0xdd, 0xc0, 0xd9, 0xda) // ffree st(0); fstp1 st(2)
	require.Zero(t, x.state().fsw())
	require.Zero(t, x.c.FP[emu.XOffFTW])
	x.run(0xd9, 0xf6, 0xdd, 0xda) // fdecstp; fstp st(2)
	require.Equal(t, stackUnderflow, x.state().fsw())
	require.Equal(t, byte(1<<1), x.c.FP[emu.XOffFTW])
}
