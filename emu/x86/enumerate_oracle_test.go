//go:build oracles

package x86

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestObjdumpEnumerated compares encodings made of prefixes, opcodes of every
// map and ModRM bytes.
func TestObjdumpEnumerated(t *testing.T) {
	for _, tt := range []struct {
		name string
		make func(add func(...byte))
	}{
		{"onebyte", func(add func(...byte)) { enumerateLegacy(add, nil) }},
		{"0F", func(add func(...byte)) { enumerateLegacy(add, []byte{0x0f}) }},
		{"0F38", func(add func(...byte)) { enumerateLegacy(add, []byte{0x0f, 0x38}) }},
		{"0F3A", func(add func(...byte)) { enumerateLegacy(add, []byte{0x0f, 0x3a}) }},
		{"modrm", enumerateModRM},
		{"prefixes", enumeratePrefixes},
		{"VEX", enumerateVEX},
		{"XOP", enumerateXOP},
		{"EVEX", enumerateEVEX},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			compareEnumerated(t, tt.make)
		})
	}
}

// compareEnumerated compares encodings, each with a NOP and a long PAUSE behind it: two lines of objdump's. Wherever it
// takes an encoding to end it finds a PAUSE to the next one, and as operands these bytes are negative.
func compareEnumerated(t *testing.T, enumerate func(add func(...byte))) {
	var code []byte
	enumerate(func(b ...byte) {
		require.LessOrEqual(t, len(b), stride-2)
		code = append(append(code, b...), 0x90)
		for range stride - len(b) - 2 {
			code = append(code, 0xf3)
		}
		code = append(code, 0x90)
	})
	// The last encodings must not run into the end.
	code = append(code, make([]byte, stride)...)
	file := filepath.Join(t.TempDir(), "code")
	require.NoError(t, os.WriteFile(file, code, 0o600))
	c := newTally()
	objdump(t, func(l line) {
		if l.addr%stride == 0 && l.addr+stride < uint64(len(code)) {
			c.compare(l, code[l.addr:])
		}
	}, "-D", "-z", "-b", "binary", "-m", "i386:x86-64", file)
	require.Equal(t, len(code)/stride-1, c.total, "out of step")
	c.report(t)
}

// enumeratePrefixes tries up to four prefixes in every order.
func enumeratePrefixes(add func(...byte)) {
	prefixes := []byte{0x66, 0x67, 0xf2, 0xf3, 0x2e, 0x64, 0x65, 0x48, 0x41, 0xf0}
	var rest func(p []byte)
	rest = func(p []byte) {
		add(append(p[:len(p):len(p)], 0x89, 0x43, 0x10)...)
		add(append(p[:len(p):len(p)], 0x01, 0x43, 0x10)...)
		add(append(p[:len(p):len(p)], 0x0f, 0x10, 0x43, 0x10)...)
		add(append(p[:len(p):len(p)], 0xa4)...)
		if len(p) < 4 {
			for _, b := range prefixes {
				rest(append(p[:len(p):len(p)], b))
			}
		}
	}
	rest(nil)
}

func enumerateXOP(add func(...byte)) {
	for m := byte(8); m <= 10; m++ {
		for _, b := range []byte{0x78, 0xf8, 0x7c, 0x50, 0x79} {
			for op := range 256 {
				modRMs(func(modrm ...byte) { add(append([]byte{0x8f, 0xe0 | m, b, byte(op)}, modrm...)...) })
			}
		}
	}
}

func enumerateEVEX(add func(...byte)) {
	for _, m := range []byte{1, 2, 3, 5, 6} {
		for op := range 256 {
			for pp := byte(0); pp < 4; pp++ {
				for w := byte(0); w < 2; w++ {
					for _, last := range []byte{0x08, 0x28, 0x48, 0x0a, 0x2a, 0x4a, 0x18, 0x38, 0x58, 0x78, 0x5a, 0x88, 0xca, 0xda, 0x02} {
						for _, vvvv := range []byte{15, 10} {
							for _, modrm := range [][]byte{{0x43, 0x02}, {0x44, 0x90, 0x02}, {0x05}, {0xca}, {0x73, 0x02}, {0xe9}, {0xd1}} {
								p := []byte{0x62, 0xf0 | m, w<<7 | vvvv<<3 | 4 | pp, last, byte(op)}
								add(append(p, modrm...)...)
							}
						}
					}
				}
			}
		}
	}
	for p0 := range 16 { // register extensions
		for _, v2 := range []byte{0, 8} {
			for _, modrm := range []byte{0xc0, 0xd1, 0x04} {
				add(0x62, byte(p0)<<4|1, 0x6c, 0x40|v2, 0x58, modrm, 0x91)
				add(0x62, byte(p0)<<4|2, 0x7d, 0x41|v2, 0x92, modrm, 0x91, 0x11)
			}
		}
	}
}
