package x86

// stride is the distance between enumerated encodings; what an encoding leaves
// is filled, so that a disassembler is in step again at the next one.
const stride = 16

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

// decodesWithoutPrefixes reports whether code is an instruction once its 66,
// F2 and F3 are taken away.
func decodesWithoutPrefixes(code []byte) bool {
	var rest []byte
	for i, b := range code {
		if class := prefixClass[b]; class == notPrefix || class >= prefixVEX2 {
			rest = append(rest, code[i:]...)
			break
		}
		if b != 0x66 && b != 0xf2 && b != 0xf3 {
			rest = append(rest, b)
		}
	}
	var inst Inst
	return len(rest) < len(code) && Decode(rest, &inst) == nil
}
