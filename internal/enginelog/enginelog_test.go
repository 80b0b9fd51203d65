package enginelog

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
)

func place(emu.Addr) Place { return Place{1000, "main", "a.c", 3} }

func TestNothing(t *testing.T) {
	require.Nil(t, Writers{}.New(place))
	var b bytes.Buffer
	require.Nil(t, Writers{Trace: &b}.New(place).Block)
	require.Nil(t, Writers{PerfMap: &b}.New(place).Step)
	require.Nil(t, Writers{PerfMap: &b}.New(place).Code)
}

func TestProfile(t *testing.T) {
	var b bytes.Buffer
	d := Writers{Profile: &b}.New(place)
	require.Nil(t, d.Block)
	d.Code([]emu.Code{{Addr: 0x7f0000000100, Size: 14, Purpose: "guest"}, {Addr: 0x7f0000000200, Size: 3, Purpose: "D1", Far: true}})
	require.Equal(t, "7f0000000100 e guest\n7f0000000200 3 D1, far\n", b.String())
}

func TestBlocks(t *testing.T) {
	var blocks, perf bytes.Buffer
	d := Writers{Blocks: &blocks, PerfMap: &perf}.New(place)
	d.Block(&emu.Block{
		Insns: []emu.BlockInsn{
			{At: 0x401000, Guest: []byte{0x8b, 0x07}, Host: []byte{0x65, 0x8b, 0x05, 0xf9, 0xff, 0xff, 0xff}},
			{At: 0x401002, Guest: []byte{0x0f, 0x05}, Host: []byte{0x90, 0x06}},
		},
		Tail: []byte{0xe9, 0, 0, 0, 0}, End: "leaves", Once: true, Off: 0x100, Addr: 0x7f0000000100,
		Counters: []emu.BlockCounter{{Number: 7, Insn: 1, What: "entries"}},
	})
	require.Equal(t, `1000 block 401000 main (a.c:3): 2 instructions, 14 bytes, runs once; ends: leaves
  counter 7 of 401002: entries
  401000  8b07                            mov eax,DWORD PTR [rdi]
      100  658b05f9ffffff                  mov eax,DWORD PTR gs:[rip-0x7] # 100
  401002  0f05                            syscall
      107  90                              nop
      108  06                              (bad)
  behind it
      109  e900000000                      jmp 0x10e
`, blocks.String())
	require.Equal(t, "7f0000000100 e guest:main\n", perf.String())
}

func TestTrace(t *testing.T) {
	for _, tt := range []struct {
		name, code string
		change     func(c *emu.CPU)
		want       string
	}{
		{"nothing", "\x90", func(*emu.CPU) {}, "nop"},
		{"a register", "\x48\xff\xc0", func(c *emu.CPU) { c.Regs[emu.RAX] = 0x12; c.Flags |= emu.FlagCF | emu.FlagOF },
			"inc rax                                   rax=12 flags=[CO]"},
		{"bases", "\x0f\x05", func(c *emu.CPU) { c.FSBase, c.GSBase = 1, 2 }, "syscall                                   fsbase=1 gsbase=2"},
		{"x87", "\xd9\xe8", func(c *emu.CPU) {
			c.FP[emu.XOffFSW+1], c.FP[emu.XOffFTW], c.FP[emu.XOffST+9] = 0x38, 0x80, 0x3f
		}, "fld1                                      fsw=3800 ftw=80 st0=3f000000000000000000"},
		{"vectors", "\xc5\xf8\x77", func(c *emu.CPU) {
			c.FP[emu.XOffXMM], c.FP[emu.XOffXMM+16], c.FP[emu.XOffYMMH+16], c.FP[emu.XOffMXCSR] = 1, 2, 3, 0x20
		}, "vzeroupper                                mxcsr=00001f20 xmm0=00000000000000000000000000000001 " +
			"ymm1=0000000000000000000000000000000300000000000000000000000000000002"},
		{"AVX-512", "\x62\xf1\x6c\xda\x58\x08", func(c *emu.CPU) {
			c.FP[emu.XOffXMM], c.FP[emu.XOffZMMH], c.FP[emu.XOffHiZMM+64], c.FP[emu.XOffOpmask+8] = 1, 2, 3, 4
		}, "vaddps zmm1{k2}{z},zmm2,DWORD BCST [rax]  zmm0=" + strings.Repeat("0", 63) + "2" + strings.Repeat("0", 63) + "1 zmm17=" +
			strings.Repeat("0", 127) + "3 k1=0000000000000004"},
		{"no instruction", "\x06", func(*emu.CPU) {}, "(bad)"},
	} {
		var b bytes.Buffer
		before, after := emu.NewCPU(), emu.NewCPU()
		before.RIP = 0x401000
		tt.change(after)
		Writers{Trace: &b}.New(place).Step([]byte(tt.code), before, after)
		require.Equal(t, "1000 401000  main:3                    "+tt.want+"\n", b.String(), tt.name)
	}
}
