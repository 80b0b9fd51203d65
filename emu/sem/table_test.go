package sem

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/emu/x86"
)

// testModel is the CPU of tests that are not about what a CPU has.
var testModel = func() *emu.Model {
	m, err := emu.ModelByName("v3")
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return m
}()

// TestTable decodes every opcode with every prefix that matters: each instruction that is to be emulated has semantics,
// and each function of the table is used.
func TestTable(t *testing.T) {
	m, err := mem.New()
	require.NoError(t, err)
	defer m.Close()
	const at = emu.Addr(0x10000)
	require.NoError(t, m.Map(mem.VMA{Lo: at, Hi: at + emu.PageSize, Prot: mem.Read | mem.Write | mem.Exec}, nil))
	var all [256]bool
	for i := range all {
		all[i] = true
	}
	d := guest.NewDecoder(m, &all, "engine")
	emulated, plain, evex := map[x86.Op]bool{}, map[x86.Op]bool{}, map[x86.Op]bool{}
	eachEncoding(func(code []byte) {
		require.Equal(t, len(code), m.Poke(at, code))
		d.Forget()
		var g guest.Insn
		require.True(t, d.Decode(&g, at))
		switch {
		case g.Enc == x86.EVEX:
			evex[g.Op] = true
		case g.Kind == guest.Emulated:
			require.NotNil(t, Of(&g), "no semantics of % x: %s", code, g.Op)
			emulated[g.Op] = true
		default:
			plain[g.Op] = true
		}
	})
	for i, r := range table() {
		op := x86.Op(i)
		require.True(t, r.emulated == nil || emulated[op], "%s is emulated, but nothing needs it", op)
		require.True(t, r.plain == nil || plain[op], "%s has semantics, but there is no such instruction", op)
		require.True(t, r.evex == nil || evex[op], "%s has semantics with an EVEX prefix, but there is no such instruction", op)
	}
}

// TestComplete has semantics for every instruction that a guest of a model may execute, and of which an engine is not
// told otherwise.
func TestComplete(t *testing.T) {
	for name, ops := range map[string]int{"v3": 700, "v4": 1000} {
		t.Run(name, func(t *testing.T) { requireComplete(t, name, ops) })
	}
}

// requireComplete is TestComplete of a model, which has more than so many operations.
func requireComplete(t *testing.T, name string, ops int) {
	m, err := mem.New()
	require.NoError(t, err)
	defer m.Close()
	const at = emu.Addr(0x10000)
	require.NoError(t, m.Map(mem.VMA{Lo: at, Hi: at + emu.PageSize, Prot: mem.Read | mem.Write | mem.Exec}, nil))
	model, err := emu.ModelByName(name)
	require.NoError(t, err)
	d := guest.NewDecoder(m, guest.Features(model), "engine")
	found := map[x86.Op]bool{}
	eachEncoding(func(code []byte) {
		require.Equal(t, len(code), m.Poke(at, code))
		d.Forget()
		var g guest.Insn
		require.True(t, d.Decode(&g, at))
		switch g.Kind {
		case guest.Plain, guest.Push, guest.Pop, guest.Leave, guest.Lea, guest.String, guest.Rep, guest.Emulated:
			require.NotNil(t, Of(&g), "no semantics of % x: %s", code, g.Op)
			found[g.Op] = true
		}
	})
	require.Greater(t, len(found), ops)
}

// eachEncoding calls f with instructions of all opcodes and ModRM bytes' kinds of operands, filled up with zeros.
func eachEncoding(f func(code []byte)) {
	prefixes := []string{"", "\x66", "\xf2", "\xf3", "\x48", "\x66\x48", "\xf3\x48", "\x64", "\x67", "\xf0"}
	maps := []string{"", "\x0f", "\x0f\x38", "\x0f\x3a"}
	vex := []string{
		"\xc5\xf8", "\xc5\xf9", "\xc5\xfa", "\xc5\xfb", "\xc5\xfc", "\xc5\xfd",
		"\xc4\xe1\xf8", "\xc4\xe1\xf9", "\xc4\xe1\xfb", "\xc4\xe1\xfc", "\xc4\xe1\xfd",
		"\xc4\xe2\x78", "\xc4\xe2\x79", "\xc4\xe2\x7a", "\xc4\xe2\x7b", "\xc4\xe2\x7d", "\xc4\xe2\xf9", "\xc4\xe2\xfd", "\xc4\xe2\xfb",
		"\xc4\xe3\x79", "\xc4\xe3\x7b", "\xc4\xe3\x7d", "\xc4\xe3\xf9", "\xc4\xe3\xfd",
	}
	for _, prefix := range prefixes {
		for _, m := range maps {
			eachOpcode(prefix+m, f)
		}
	}
	for _, m := range vex {
		eachOpcode(m, f)
	}
	for m := byte(1); m <= 3; m++ {
		for _, p := range []byte{0x7c, 0x7d, 0x7e, 0x7f, 0xfc, 0xfd, 0xfe, 0xff} { // W, vvvv 1111, pp; then with vvvv another register
			for _, length := range []byte{0x08, 0x28, 0x48, 0x49} { // 16, 32, 64 bytes; the last with mask k1
				eachEVEXOpcode([]byte{0x62, 0xf0 | m, p, length}, f)
				eachEVEXOpcode([]byte{0x62, 0xf0 | m, p &^ 0x38, length}, f)
			}
		}
	}
}

// eachEVEXOpcode calls f with all opcodes behind an EVEX prefix, with memory and with registers.
func eachEVEXOpcode(prefix []byte, f func(code []byte)) {
	for opcode := range 256 {
		for _, modrm := range []byte{0x04, 0xc0} {
			for reg := range byte(8) {
				if reg > 0 && opcode>>2 != 0x71>>2 && opcode>>1 != 0xc6>>1 { // of others ModRM.reg selects no form
					break
				}
				var code [x86.MaxLen]byte
				copy(code[:], prefix)
				code[4], code[5], code[6] = byte(opcode), modrm|reg<<3, 0x08 // index 1, other than the result's 0
				f(code[:])
			}
		}
	}
}

func eachOpcode(start string, f func(code []byte)) {
	for opcode := range 256 {
		for _, mod := range []byte{0x00, 0xc0} {
			for reg := range byte(8) {
				rms := []byte{3, 4} // 4: with a SIB byte, which gathers need
				if mod == 0xc0 {
					rms = []byte{0, 1, 2, 3, 4, 5, 6, 7} // x87 and others take it for a part of the opcode
				}
				for _, rm := range rms {
					var code [x86.MaxLen]byte
					n := copy(code[:], start)
					code[n], code[n+1] = byte(opcode), mod|reg<<3|rm
					if mod == 0 && rm == 4 {
						code[n+2] = 0x08 // index 1, other than the mask's 0
					}
					f(code[:])
				}
			}
		}
	}
}
