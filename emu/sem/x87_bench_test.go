package sem

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/mem"
)

// BenchmarkX87 measures pairs of instructions that leave the stack as it was.
func BenchmarkX87(b *testing.B) {
	for _, bb := range []struct {
		name string
		code []byte
	}{
		{"FLD m64, FSTP m64", []byte{0xdd, 0x00, 0xdd, 0x18}},
		{"FLD m80, FSTP m80", []byte{0xdb, 0x28, 0xdb, 0x38}},
		{"FILD m64, FISTP m64", []byte{0xdf, 0x28, 0xdf, 0x38}},
		{"FLD ST, FADDP", []byte{0xd9, 0xc0, 0xde, 0xc1}},
		{"FLD ST, FMULP", []byte{0xd9, 0xc0, 0xde, 0xc9}},
		{"FXCH, FXCH", []byte{0xd9, 0xc9, 0xd9, 0xc9}},
		{"FMUL m64, FDIV m64", []byte{0xdc, 0x08, 0xdc, 0x30}},
		{"FADD m64, FSUB m64", []byte{0xdc, 0x00, 0xdc, 0x20}},
		{"FSQRT, FMUL ST", []byte{0xd9, 0xfa, 0xd8, 0xc8}},
		{"FCOMI, FUCOMI", []byte{0xdb, 0xf1, 0xdb, 0xe9}},
	} {
		b.Run(bb.name, func(b *testing.B) { benchmarkX87(b, bb.code) })
	}
}

func benchmarkX87(b *testing.B, code []byte) {
	space, err := mem.New()
	require.NoError(b, err)
	defer space.Close()
	const at = emu.Addr(0x10000)
	require.NoError(b, space.Map(mem.VMA{Lo: at, Hi: at + emu.PageSize, Prot: mem.Read | mem.Write | mem.Exec}, nil))
	space.Poke(at, append([]byte{0xd9, 0xe8, 0xd9, 0xe8}, code...)) // fld1; fld1
	_, err = space.Perms()                                          // as emu/interp has them
	require.NoError(b, err)
	m := &Machine{Mem: space, Model: testModel, Piece: 1}
	c := emu.NewCPU()
	d := guest.NewDecoder(space, allFeatures(), "engine")
	var insns [4]guest.Insn
	for i, a := 0, at; i < 4; i, a = i+1, insns[i].Next() {
		require.True(b, d.Decode(&insns[i], a))
	}
	c.Regs[emu.RAX] = uint64(at) + 2048
	space.Poke(at+2048, []byte{0, 0, 0, 0, 0, 0, 0xf8, 0x3f}) // 1.5
	for i := range 2 {
		require.Nil(b, m.Execute(c, &insns[i]))
	}
	first, second := Of(&insns[2]), Of(&insns[3])
	for b.Loop() {
		if first(m, c, &insns[2]) != nil || second(m, c, &insns[3]) != nil {
			b.Fatal("a fault")
		}
	}
}
