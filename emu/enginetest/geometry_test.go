//go:build linux && amd64

package enginetest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/cachesim"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/interp"
	"github.com/cgemu/cgemu/emu/jit"
	"github.com/cgemu/cgemu/emu/mem"
)

// geometries are caches of one and of many sets, of ways that fill vectors and that do not, of short lines and long ones.
var geometries = []cachesim.Config{
	cachesim.Default,
	{I1: geometry(32768, 8, 64), D1: geometry(49152, 12, 64), LL: geometry(196608, 12, 64)},
	{I1: geometry(16384, 4, 32), D1: geometry(16384, 16, 32), LL: geometry(65536, 16, 64)},
	{I1: geometry(1024, 1, 64), D1: geometry(1024, 1, 64), LL: geometry(16384, 2, 64)},
	{I1: geometry(4096, 64, 64), D1: geometry(4096, 64, 64), LL: geometry(65536, 32, 64)},
	{I1: geometry(2048, 2, 128), D1: geometry(2048, 2, 128), LL: geometry(32768, 8, 128)},
	{I1: geometry(24576, 6, 64), D1: geometry(24576, 6, 64), LL: geometry(98304, 12, 64)},
	{I1: geometry(2048, 16, 64), D1: geometry(2048, 16, 64), LL: geometry(8192, 8, 64)},
	{I1: geometry(1024, 16, 64), D1: geometry(1024, 16, 64), LL: geometry(1024, 16, 64)},
	{I1: geometry(65536, 4, 256), D1: geometry(65536, 4, 256), LL: geometry(262144, 16, 256)},
}

func geometry(size, assoc, line int) cachesim.Geometry {
	return cachesim.Geometry{Size: size, Assoc: assoc, Line: line}
}

// wanders refers to random places of the 256 KiB at RDI, RCX times: places in one line and in two, near ones in a row, known ones, and with flags that must stay. R9 has the stack's end.
var wanders = []byte{
	0x48, 0x69, 0xc0, 0x6d, 0x4e, 0xc6, 0x41, // loop: imul rax, rax, 0x41c64e6d
	0x48, 0x05, 0x39, 0x30, 0x00, 0x00, // add rax, 12345
	0x89, 0xc2, 0xc1, 0xea, 0x09, // mov edx, eax; shr edx, 9
	0x81, 0xe2, 0xff, 0xff, 0x03, 0x00, // and edx, 0x3ffff
	0x48, 0x8b, 0x34, 0x17, // mov rsi, [rdi+rdx]
	0x8a, 0x5c, 0x17, 0x01, // mov bl, [rdi+rdx+1]
	0x66, 0x89, 0x74, 0x17, 0x11, // mov [rdi+rdx+17], si
	0xc5, 0xfe, 0x6f, 0x44, 0x17, 0x40, // vmovdqu ymm0, [rdi+rdx+64]
	0x81, 0xe2, 0xff, 0x3f, 0x00, 0x00, // and edx, 0x3fff
	0x48, 0x8d, 0x14, 0x17, // lea rdx, [rdi+rdx]
	0x89, 0x02, // mov [rdx], eax
	0xc5, 0xf8, 0x10, 0x4a, 0x30, // vmovups xmm1, [rdx+48]
	0x39, 0xc8, // cmp eax, ecx
	0x53, 0x5b, // push rbx; pop rbx
	0x48, 0x8b, 0x35, 0x00, 0x20, 0x00, 0x00, // mov rsi, [rip+0x2000]
	0x48, 0x8b, 0x35, 0x38, 0x20, 0x00, 0x00, // mov rsi, [rip+0x2038]
	0x72, 0x03, // jb on
	0xff, 0x4a, 0x78, // dec dword [rdx+120]
	0x80, 0x02, 0x01, // on: add byte [rdx], 1
	0xff, 0xc9, // dec ecx
	0x75, 0xa6, // jnz loop
	0xcc, // int3
}

// TestGeometries has the engines miss the same in caches of all kinds.
func TestGeometries(t *testing.T) {
	const code, data, stack = 0x10000, 0x100000, 0x800000
	model := leanModel(t)
	run := func(t *testing.T, caches *cachesim.Config, make func(*mem.Space, emu.Config) (emu.Engine, error)) map[string]uint64 {
		space, err := mem.New()
		require.NoError(t, err)
		defer space.Close()
		e, err := make(space, emu.Config{Model: model, Caches: caches, Branches: true, Events: ^emu.EventSet(0)})
		require.NoError(t, err)
		defer e.Close()
		space.OnInvalidate(e.Invalidate)
		for _, v := range []mem.VMA{{Lo: code, Hi: code + 0x1000, Prot: mem.Read | mem.Exec}, {Lo: code + 0x2000, Hi: code + 0x4000, Prot: mem.Read},
			{Lo: data, Hi: data + 0x41000, Prot: mem.Read | mem.Write}, {Lo: stack - 0x1000, Hi: stack, Prot: mem.Read | mem.Write}} {
			require.NoError(t, space.Map(v, nil))
		}
		require.Equal(t, len(wanders), space.Poke(code, wanders))
		c := emu.NewCPU()
		c.RIP = code
		c.Regs[emu.RDI], c.Regs[emu.RCX], c.Regs[emu.RSP] = data, 20_000, stack
		stop := e.Run(c, emu.NoBudget)
		require.Equal(t, emu.StopFault, stop.Reason)
		require.EqualValues(t, code+len(wanders), c.RIP)
		require.EqualValues(t, emu.VecBP, stop.Fault.Vector)
		counts := map[string]uint64{}
		e.Collect(0, ^emu.Addr(0), func(a emu.Addr, ev emu.Event, n uint64) { counts[fmt.Sprintf("%x %v", uint64(a), ev)] += n })
		return counts
	}
	for i := range geometries {
		g := &geometries[i]
		t.Run(fmt.Sprintf("%v", *g), func(t *testing.T) {
			want := run(t, g, func(m *mem.Space, c emu.Config) (emu.Engine, error) { return interp.New(m, c) })
			require.Greater(t, len(want), 40)
			require.Equal(t, want, run(t, g, func(m *mem.Space, c emu.Config) (emu.Engine, error) { return jit.New(m, c) }))
			require.Equal(t, want, run(t, g, func(m *mem.Space, c emu.Config) (emu.Engine, error) { return jit.NewWithoutAVX512(m, c) }), "without AVX-512")
		})
	}
}
