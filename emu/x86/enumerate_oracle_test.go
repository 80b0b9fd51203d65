//go:build oracles

package x86

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// stride is the distance between enumerated encodings; what an encoding leaves
// is filled with NOPs, so that objdump is in step again at the next one.
const stride = 16

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

func compareEnumerated(t *testing.T, enumerate func(add func(...byte))) {
	var code []byte
	enumerate(func(b ...byte) {
		require.LessOrEqual(t, len(b), stride)
		code = append(code, b...)
		for range stride - len(b) {
			code = append(code, 0x90)
		}
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

// legacyPrefixes are the combinations put in front of legacy opcodes.
var legacyPrefixes = [][]byte{
	{}, {0x66}, {0xf3}, {0xf2}, {0x48}, {0x41}, {0x44}, {0x66, 0x48}, {0xf3, 0x48}, {0xf2, 0x48}, {0x67},
	{0x66, 0xf3}, {0x66, 0xf2}, {0xf0}, {0x64},
}

// modRMs are enough ModRM bytes and SIBs to tell forms apart: each reg, with
// memory of each kind and with two registers.
func modRMs(yield func(...byte)) {
	for reg := byte(0); reg < 8; reg++ {
		r := reg << 3
		yield(0x00 | r)
		yield(0x04|r, 0x88)
		yield(0x04|r, 0x25, 0x78, 0x56, 0x34, 0x12)
		yield(0x05|r, 0x78, 0x56, 0x34, 0x12)
		yield(0x43|r, 0x80)
		yield(0x86|r, 0x78, 0x56, 0x34, 0x92)
		yield(0xc0 | r)
		yield(0xc5 | r)
	}
}

func enumerateLegacy(add func(...byte), escape []byte) {
	for _, p := range legacyPrefixes {
		for op := range 256 {
			b := byte(op)
			if escape == nil && (prefixClass[b] != notPrefix && b != 0x8f) || len(escape) == 1 && (b == 0x38 || b == 0x3a) {
				continue
			}
			modRMs(func(m ...byte) {
				if b == 0x8f && escape == nil && m[0]&0x18 != 0 {
					return // XOP
				}
				add(append(append(append(append([]byte{}, p...), escape...), b), m...)...)
			})
		}
	}
}

// enumerateModRM tries every ModRM byte where whole bytes select forms.
func enumerateModRM(add func(...byte)) {
	for _, op := range [][]byte{
		{0xd8}, {0xd9}, {0xda}, {0xdb}, {0xdc}, {0xdd}, {0xde}, {0xdf}, {0xc6}, {0xc7}, {0x0f, 0x01}, {0x0f, 0xae}, {0x0f, 0xc7},
		{0x0f, 0x1e}, {0x0f, 0x1c}, {0x0f, 0xa6}, {0x0f, 0xa7}, {0x0f, 0x00}, {0x0f, 0x18}, {0x0f, 0x0d}, {0xff}, {0xfe}, {0xf6}, {0x8e}, {0x8c},
	} {
		for _, p := range legacyPrefixes {
			for m := range 256 {
				add(append(append(append([]byte{}, p...), op...), byte(m))...)
			}
		}
	}
	for m := range 256 { // every SIB
		for sib := range 256 {
			if m&7 == 4 && m < 0xc0 && m&0x38 == 0 {
				add(0x8b, byte(m), byte(sib))
				add(0x4b, 0x8b, byte(m), byte(sib))
			}
		}
	}
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

func enumerateVEX(add func(...byte)) {
	for m := byte(1); m <= 3; m++ {
		for last := range 16 { // W, one bit of vvvv, L, pp
			for w := byte(0); w < 2; w++ {
				vvvv := byte(15 - last>>3*5)
				b := w<<7 | vvvv<<3 | byte(last&7)
				for op := range 256 {
					modRMs(func(modrm ...byte) {
						add(append([]byte{0xc4, 0xe0 | m, b, byte(op)}, modrm...)...)
						if m == 1 && w == 0 {
							add(append([]byte{0xc5, 0x80 | b, byte(op)}, modrm...)...)
						}
					})
					add(0xc4, m, b, byte(op), 0xd1)
				}
			}
		}
	}
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
					for _, last := range []byte{0x08, 0x28, 0x48, 0x0a, 0x4a, 0x18, 0x58, 0x02} {
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
