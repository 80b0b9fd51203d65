package sem

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/emu/soft"
	"github.com/cgemu/cgemu/emu/x86"
)

// emu/enginetest compares these instructions with the host's. Here is what their rules are, on any host.

// Where executed code is, and data that can be written or not.
const (
	codeAt     = emu.Addr(0x10000)
	dataAt     = emu.Addr(0x20000)
	readOnlyAt = emu.Addr(0x30000)
)

// execute executes code, which is hexadecimal, on c.
func execute(t *testing.T, c *emu.CPU, code string) *emu.Fault {
	space, err := mem.New()
	require.NoError(t, err)
	t.Cleanup(func() { space.Close() })
	for a, prot := range map[emu.Addr]mem.Prot{codeAt: mem.Read | mem.Exec, dataAt: mem.Read | mem.Write, readOnlyAt: mem.Read} {
		require.NoError(t, space.Map(mem.VMA{Lo: a, Hi: a + emu.PageSize, Prot: prot}, nil))
	}
	b, err := hex.DecodeString(code)
	require.NoError(t, err)
	require.Equal(t, len(b), space.Poke(codeAt, b))
	var all [256]bool
	for i := range all {
		all[i] = true
	}
	var g guest.Insn
	require.True(t, guest.NewDecoder(space, &all, "engine").Decode(&g, codeAt))
	require.Equal(t, len(b), int(g.Len), "more than one instruction")
	c.RIP = codeAt + emu.Addr(len(b))
	c.Regs[emu.RSI], c.Regs[emu.RDI] = uint64(dataAt), uint64(readOnlyAt)
	return (&Machine{Mem: space, Model: testModel}).Execute(c, &g)
}

func doubles(xs ...float64) (v vec) {
	for i, x := range xs {
		v[i] = math.Float64bits(x)
	}
	return v
}

// newFloatCPU returns a CPU with an MXCSR and the registers from XMM0 on.
func newFloatCPU(mxcsr uint32, regs ...vec) *emu.CPU {
	c := emu.NewCPU()
	binary.LittleEndian.PutUint32(c.FP[emu.XOffMXCSR:], mxcsr)
	for i, v := range regs {
		setVecReg(c.FP, x86.Reg(i), v)
	}
	return c
}

// TestFloatUpperElements has what instructions do to the elements that they do not compute.
func TestFloatUpperElements(t *testing.T) {
	a, b := doubles(1, 2, 3, 4), doubles(10, 20, 30, 40)
	for _, tt := range []struct {
		name, code string
		want       vec
	}{
		{"ADDPD", "660f58c1", doubles(11, 22, 3, 4)},
		{"VADDPD of 128 bits", "c5f958c1", doubles(11, 22)},
		{"VADDPD of 256 bits", "c5fd58c1", doubles(11, 22, 33, 44)},
		{"ADDSD", "f20f58c1", doubles(11, 2, 3, 4)},
		{"VADDSD", "c5fb58c1", doubles(11, 2)},
		{"VSQRTSD takes them of the first source", "c5f351c0", doubles(1, 20)},
		{"CVTPD2PS", "660f5ac1", vec{0x41a0000041200000, 0, a[2], a[3]}},
		{"ROUNDPD", "660f3a09c100", doubles(10, 20, 3, 4)},
		{"VHADDPD", "c5fd7cc1", doubles(3, 30, 7, 70)},
		{"VDPPD", "c4e37941c131", doubles(50, 0)},
		{"VFMADDSUB231PD", "c4e2fdb6c1", doubles(10-1, 40+2, 90-3, 160+4)},
		{"VCMPLT_OQPD", "c5fdc2c111", vec{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}},
	} {
		c := newFloatCPU(0x1f80, a, b)
		require.Nil(t, execute(t, c, tt.code), tt.name)
		require.Equal(t, tt.want, vecReg(c.FP, 0), tt.name)
	}
}

// TestUnmaskedExceptions has what instructions change whose exceptions are not masked: flags of MXCSR, and registers
// never.
func TestUnmaskedExceptions(t *testing.T) {
	const (
		all      = 0x1f80
		denormal = 1
	)
	mask := func(e uint16) uint32 { return all &^ (uint32(e) << 7) }
	for _, tt := range []struct {
		name, code string
		mxcsr      uint32
		a, b       vec
		raised     uint16
	}{
		{"of all elements", "660f5ec1", mask(soft.PE), doubles(1, 1), doubles(3, 0), soft.PE | soft.ZE},
		{"those of operands come first", "660f5ec1", mask(soft.ZE), doubles(1, 1), doubles(3, 0), soft.ZE},
		{"underflow, exactly", "f20f59c1", mask(soft.UE), vec{0x0010000000000000}, doubles(0.5), soft.UE},
		{"products come before sums", "660f3a41c131", mask(soft.DE), vec{denormal}, doubles(1), soft.DE},
		{"a product's exception ends it", "660f3a41c1f1", mask(soft.PE | soft.DE), vec{0x0010000000000001, 0}, doubles(0.5), soft.UE | soft.PE},
		{"a comparison", "660f2ec1", mask(soft.IE), vec{0x7ff0000000000001}, vec{}, soft.IE},
		{"to an integer", "f20f2dc0", mask(soft.PE), doubles(1.5), vec{}, soft.PE},
	} {
		c := newFloatCPU(tt.mxcsr, tt.a, tt.b)
		c.Flags |= emu.FlagSF
		c.Regs[emu.RAX] = 77
		fault := execute(t, c, tt.code)
		require.NotNil(t, fault, tt.name)
		require.Equal(t, uint8(emu.VecXM), fault.Vector, tt.name)
		require.Equal(t, tt.mxcsr|uint32(tt.raised), uint32(mxcsr(c.FP)), tt.name)
		require.Equal(t, tt.a, vecReg(c.FP, 0), tt.name)
		require.Equal(t, uint64(77), c.Regs[emu.RAX], tt.name)
		require.NotZero(t, c.Flags&emu.FlagSF, tt.name)
	}
}

// TestConversionFaults has the order of faults, and what of the x87 state changes.
func TestConversionFaults(t *testing.T) {
	withTop := func(c *emu.CPU) *emu.CPU {
		c.FP[emu.XOffFSW+1] = 5 << 3
		return c
	}
	const unmasked = 0
	c := withTop(newFloatCPU(unmasked, doubles(1.5)))
	require.Equal(t, &emu.Fault{Vector: emu.VecXM}, execute(t, c, "660f2cc0"), "CVTTPD2PI")
	require.Equal(t, []byte{0, 0, 0xff}, c.FP[emu.XOffFSW:emu.XOffFTW+1], "the state is MMX's already")

	c = withTop(newFloatCPU(0x1f80))
	require.Nil(t, execute(t, c, "0f2a06"), "CVTPI2PS xmm0, [rsi]")
	require.Equal(t, []byte{0, 5 << 3, 0}, c.FP[emu.XOffFSW:emu.XOffFTW+1], "memory is no business of MMX")

	c = newFloatCPU(unmasked, vec{uint64(math.Float32bits(1e-6))})
	require.Equal(t, &emu.Fault{Vector: emu.VecXM}, execute(t, c, "c4e3791d0700"), "VCVTPS2PH [rdi], xmm0, 0: the exception comes in front of the store")

	c = newFloatCPU(0x1f80)
	require.Equal(t, &emu.Fault{Vector: emu.VecGP}, execute(t, c, "0f58460c"), "ADDPS xmm0, [rsi+12]")
	require.Nil(t, execute(t, c, "c5f858460c"), "VADDPS xmm0, xmm0, [rsi+12]")
}
