package main

import (
	"fmt"
	"strings"
)

// In the cases of vector instructions $dv0 to $dv3 are the words of vector register d, and so on with s and x. A memory
// operand of 16 or 32 bytes is read by $loadv(16) into v0 and v1, by $loadv(32) into v2 and v3 as well; $storev(n, …)
// writes that many bytes.

// encodings: SSE's leave the upper half of the register alone, AVX's on 128 bits clear it.
var encodings = []struct {
	name  string
	words int
	clear bool
}{{"Legacy", 2, false}, {"Vex", 2, true}, {"Vex256", 4, false}}

// wordOps are instructions that do the same to each word.
var wordOps = []struct{ name, text string }{
	{"Xor", "p ^ q"}, {"Or", "p | q"}, {"And", "p & q"}, {"Andn", "^p & q"}, {"Words", "f(p, q)"},
}

func vectors(add func(name, body string)) {
	for _, enc := range encodings {
		for _, o := range wordOps {
			for _, form := range []string{"RR", "RM"} {
				first := firstSource(enc.name, form)
				var b strings.Builder
				if o.name == "Words" {
					b.WriteString("f := b.words[u.imm]\n")
				}
				if form == "RM" {
					fmt.Fprintf(&b, "a := %s\n$loadv(%d)\n", vectorAddress, 8*enc.words)
				}
				for i := range enc.words {
					q := fmt.Sprintf("$sv%d", i)
					if form == "RM" {
						q = fmt.Sprintf("v%d", i)
					}
					fmt.Fprintf(&b, "r%d := %s\n", i, strings.NewReplacer("p", fmt.Sprintf("$%sv%d", first, i), "q", q).Replace(o.text))
				}
				for i := range enc.words {
					fmt.Fprintf(&b, "$dv%d = r%d\n", i, i)
				}
				b.WriteString(cleared(enc.clear))
				add("opV"+o.name+form+enc.name, b.String())
			}
		}
		var move, load strings.Builder
		fmt.Fprintf(&load, "a := $a\nif a&u.imm != 0 {\ne.failed = misplaced\ngoto fault\n}\n$loadv(%d)\n", 8*enc.words)
		for i := range enc.words {
			fmt.Fprintf(&move, "$dv%d = $sv%d\n", i, i)
			fmt.Fprintf(&load, "$dv%d = v%d\n", i, i)
		}
		add("opVMov"+enc.name, move.String()+cleared(enc.clear))
		add("opVLoad"+enc.name, load.String()+cleared(enc.clear))
	}
	add("opVStore16", "a := $a\nif a&u.imm != 0 {\ne.failed = misplaced\ngoto fault\n}\n$storev(16)")
	add("opVStore32", "a := $a\nif a&u.imm != 0 {\ne.failed = misplaced\ngoto fault\n}\n$storev(32)")
	// Parts of a register. The other ones are cleared, those above 16 bytes with AVX only, where u.imm is 1.
	for _, n := range []int{4, 8} {
		rest := "\nif u.imm != 0 {\n$dv2, $dv3 = 0, 0\n}"
		add(fmt.Sprintf("opVLoadLow%d", n), fmt.Sprintf("a := $a; $load(v, %d)\n$dv0, $dv1 = v, 0%s", n, rest))
		add(fmt.Sprintf("opVFromReg%d", n), fmt.Sprintf("$dv0, $dv1 = %s, 0%s", reg("$s", n), rest))
		add(fmt.Sprintf("opVStoreLow%d", n), fmt.Sprintf("a := $a; $store(%d, $sv0);", n))
		add(fmt.Sprintf("opVToReg%d", n), fmt.Sprintf("$d = uint64(uint<%d>($sv0))", n))
	}
	add("opVMoveLow8", "$dv0, $dv1 = $sv0, 0\nif u.imm != 0 {\n$dv2, $dv3 = 0, 0\n}")
	add("opVStoreHigh8", "a := $a; $store(8, $sv1);")
	add("opVSigns16", "$d = sem.SignsOfBytes($sv0) | sem.SignsOfBytes($sv1)<<8")
	add("opVSigns32", "$d = sem.SignsOfBytes($sv0) | sem.SignsOfBytes($sv1)<<8 | sem.SignsOfBytes($sv2)<<16 | sem.SignsOfBytes($sv3)<<24")
	add("opVZeroUpper", "*(*[256]byte)(unsafe.Add(fp, emu.XOffYMMH)) = [256]byte{}")
	add("opVZeroBeyond", "*(*[32]byte)(unsafe.Add(fp, uintptr(u.imm))) = [32]byte{}")
	add("opVZeroBeyondAll", "*(*[512]byte)(unsafe.Add(fp, emu.XOffZMMH)) = [512]byte{}")
}

// firstSource is the field that has the first source: the destination's with SSE, otherwise the one that the second
// source leaves.
func firstSource(encoding, form string) string {
	switch {
	case encoding == "Legacy":
		return "d"
	case form == "RM":
		return "s"
	}
	return "x"
}

// vectorAddress is the address of an operand. SSE wants it aligned: bit 7 of shift says so.
const vectorAddress = "$a\nif a&15 != 0 && u.shift&0x80 != 0 {\ne.failed = misplaced\ngoto fault\n}"

func cleared(yes bool) string {
	if yes {
		return "$dv2, $dv3 = 0, 0\n"
	}
	return ""
}

// expandVector replaces what vector instructions have besides.
func (v variant) expandVector(body string) string {
	for _, n := range []int{16, 32} {
		slow, fast, direct := "e.slowLoad16(a)", "v0, v1 =", "*(*uint64)(unsafe.Add(memory, a)), *(*uint64)(unsafe.Add(memory, a+8))"
		decl, put := "v0, v1", "$sv0, $sv1"
		if n == 32 {
			slow, fast, decl = "e.slowLoad32(a)", "v0, v1, v2, v3 =", "v0, v1, v2, v3"
			direct += ", *(*uint64)(unsafe.Add(memory, a+16)), *(*uint64)(unsafe.Add(memory, a+24))"
			put = "$sv0, $sv1, $sv2, $sv3"
		}
		check := fmt.Sprintf("a < limit && *(*uint8)(unsafe.Add(perms, a>>12))&%%d != 0 && a&4095 <= 4096-%d", n)
		body = strings.ReplaceAll(body, fmt.Sprintf("$loadv(%d)", n), fmt.Sprintf(`
		var %s uint64
		if %s {
			%s %s
		} else if %s %s; e.failed != nil {
			goto fault
		}%s`, decl, fmt.Sprintf(check, 1), fast, direct, fast, slow, v.reference(fmt.Sprint(n), "emu.D1mr")))
		body = strings.ReplaceAll(body, fmt.Sprintf("$storev(%d)", n), fmt.Sprintf(`
		if %s {
			%s = %s
		} else {
			if e.slowStoreVector(a, %d, [4]uint64{%s}); e.failed != nil {
				goto fault
			}
			if b.dropped {
				%s
				goto stale
			}
		}%s`, fmt.Sprintf(check, 2), direct, put, n, put, v.reference(fmt.Sprint(n), "emu.D1mw"), v.reference(fmt.Sprint(n), "emu.D1mw")))
	}
	return vectorRegister.ReplaceAllStringFunc(body, func(r string) string {
		word := int(r[3] - '0')
		off := 160 + 8*word
		if word >= 2 {
			off = 576 + 8*(word-2)
		}
		return fmt.Sprintf("(*(*uint64)(unsafe.Add(fp, uintptr(u.%c)+%d)))", r[1], off)
	})
}
