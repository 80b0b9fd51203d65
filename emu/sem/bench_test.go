package sem

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/emu/x86"
)

// BenchmarkVector executes vector instructions that libraries' loops consist of.
func BenchmarkVector(b *testing.B) {
	for _, test := range []struct {
		name string
		code []byte
	}{
		{"movdqa xmm0, xmm1", []byte{0x66, 0x0f, 0x6f, 0xc1}},
		{"movdqu xmm0, [rsi]", []byte{0xf3, 0x0f, 0x6f, 0x06}},
		{"vmovdqu ymm0, [rsi]", []byte{0xc5, 0xfe, 0x6f, 0x06}},
		{"movups [rsi], xmm0", []byte{0x0f, 0x11, 0x06}},
		{"movd xmm0, eax", []byte{0x66, 0x0f, 0x6e, 0xc0}},
		{"pxor xmm0, xmm1", []byte{0x66, 0x0f, 0xef, 0xc1}},
		{"vpxor ymm0, ymm1, ymm2", []byte{0xc5, 0xf5, 0xef, 0xc2}},
		{"pcmpeqb xmm0, xmm1", []byte{0x66, 0x0f, 0x74, 0xc1}},
		{"pcmpeqb xmm0, [rsi]", []byte{0x66, 0x0f, 0x74, 0x06}},
		{"vpcmpeqb ymm0, ymm1, [rsi]", []byte{0xc5, 0xf5, 0x74, 0x06}},
		{"pminub xmm0, xmm1", []byte{0x66, 0x0f, 0xda, 0xc1}},
		{"pmovmskb eax, xmm0", []byte{0x66, 0x0f, 0xd7, 0xc0}},
		{"vpmovmskb eax, ymm0", []byte{0xc5, 0xfd, 0xd7, 0xc0}},
		{"paddd xmm0, xmm1", []byte{0x66, 0x0f, 0xfe, 0xc1}},
		{"pshufb xmm0, xmm1", []byte{0x66, 0x0f, 0x38, 0x00, 0xc1}},
		{"pshufd xmm0, xmm1, 0x1b", []byte{0x66, 0x0f, 0x70, 0xc1, 0x1b}},
		{"punpcklbw xmm0, xmm1", []byte{0x66, 0x0f, 0x60, 0xc1}},
		{"pslld xmm0, 7", []byte{0x66, 0x0f, 0x72, 0xf0, 7}},
		{"psrldq xmm0, 3", []byte{0x66, 0x0f, 0x73, 0xd8, 3}},
		{"pmuludq xmm0, xmm1", []byte{0x66, 0x0f, 0xf4, 0xc1}},
		{"pmaddwd xmm0, xmm1", []byte{0x66, 0x0f, 0xf5, 0xc1}},
		{"packuswb xmm0, xmm1", []byte{0x66, 0x0f, 0x67, 0xc1}},
		{"palignr xmm0, xmm1, 5", []byte{0x66, 0x0f, 0x3a, 0x0f, 0xc1, 5}},
		{"pcmpistri xmm0, xmm1, 0x1a", []byte{0x66, 0x0f, 0x3a, 0x63, 0xc1, 0x1a}},
		{"aesenc xmm0, xmm1", []byte{0x66, 0x0f, 0x38, 0xdc, 0xc1}},
		{"pclmulqdq xmm0, xmm1, 0", []byte{0x66, 0x0f, 0x3a, 0x44, 0xc1, 0}},
		{"movsd xmm0, [rsi]", []byte{0xf2, 0x0f, 0x10, 0x06}},
		{"pmovzxbw xmm0, xmm1", []byte{0x66, 0x0f, 0x38, 0x30, 0xc1}},
		{"ptest xmm0, xmm1", []byte{0x66, 0x0f, 0x38, 0x17, 0xc1}},
		{"vpbroadcastb ymm0, xmm1", []byte{0xc4, 0xe2, 0x7d, 0x78, 0xc1}},
		{"pblendvb xmm0, xmm1, xmm0", []byte{0x66, 0x0f, 0x38, 0x10, 0xc1}},
		{"vpermq ymm0, ymm1, 0xd8", []byte{0xc4, 0xe3, 0xfd, 0x00, 0xc1, 0xd8}},
		{"crc32 rax, rbx", []byte{0xf2, 0x48, 0x0f, 0x38, 0xf1, 0xc3}},
		{"paddb mm0, mm1", []byte{0x0f, 0xfc, 0xc1}},
	} {
		b.Run(test.name, func(b *testing.B) {
			benchmark(b, test.code, func(i int) byte { return byte(7 * i) })
		})
	}
}

// BenchmarkFloat has numbers that are normal as singles and as doubles.
func BenchmarkFloat(b *testing.B) {
	for _, test := range []struct {
		name string
		code []byte
	}{
		{"addsd xmm0, xmm1", []byte{0xf2, 0x0f, 0x58, 0xc1}},
		{"mulsd xmm0, [rsi]", []byte{0xf2, 0x0f, 0x59, 0x06}},
		{"vaddsd xmm0, xmm1, xmm2", []byte{0xc5, 0xf3, 0x58, 0xc2}},
		{"mulpd xmm0, xmm1", []byte{0x66, 0x0f, 0x59, 0xc1}},
		{"addps xmm0, xmm1", []byte{0x0f, 0x58, 0xc1}},
		{"vfmadd231pd ymm0, ymm1, ymm2", []byte{0xc4, 0xe2, 0xf5, 0xb8, 0xc2}},
		{"vfmadd231sd xmm0, xmm1, xmm2", []byte{0xc4, 0xe2, 0xf1, 0xb9, 0xc2}},
		{"ucomisd xmm0, xmm1", []byte{0x66, 0x0f, 0x2e, 0xc1}},
		{"vcmppd ymm0, ymm1, ymm2, 1", []byte{0xc5, 0xf5, 0xc2, 0xc2, 1}},
		{"cvtsi2sd xmm0, rax", []byte{0xf2, 0x48, 0x0f, 0x2a, 0xc0}},
		{"cvttsd2si rax, xmm0", []byte{0xf2, 0x48, 0x0f, 0x2c, 0xc0}},
		{"cvtps2pd xmm0, xmm1", []byte{0x0f, 0x5a, 0xc1}},
		{"roundsd xmm0, xmm1, 1", []byte{0x66, 0x0f, 0x3a, 0x0b, 0xc1, 1}},
		{"vdpps xmm0, xmm1, xmm2, 0xff", []byte{0xc4, 0xe3, 0x71, 0x40, 0xc2, 0xff}},
	} {
		b.Run(test.name, func(b *testing.B) {
			number := [8]byte{0, 0, 0x80, 0x3f, 0, 0, 0xf0, 0x3f}
			benchmark(b, test.code, func(i int) byte { return number[i%8] })
		})
	}
}

// benchmark executes code with vector registers that begin with these bytes.
func benchmark(b *testing.B, code []byte, bytes func(i int) byte) {
	space, err := mem.New()
	require.NoError(b, err)
	defer space.Close()
	const at = emu.Addr(0x10000)
	require.NoError(b, space.Map(mem.VMA{Lo: at, Hi: at + emu.PageSize, Prot: mem.Read | mem.Write}, nil))
	_, err = space.Perms() // as emu/interp has them
	require.NoError(b, err)
	m, c := Machine{Mem: space, Model: testModel}, emu.NewCPU()
	c.Regs[emu.RSI] = uint64(at)
	for i := range 256 {
		c.FP[emu.XOffXMM+i] = bytes(i)
		c.FP[emu.XOffYMMH+i] = bytes(i)
	}
	var g guest.Insn
	require.NoError(b, x86.Decode(code, &g.Inst))
	execute := Of(&g)
	b.ReportAllocs()
	for b.Loop() {
		if execute(&m, c, &g) != nil {
			b.Fatal("it faults")
		}
	}
}
