package main

import "fmt"

// Arithmetic of scalars: inline where operands and result are normal numbers, results are rounded to nearest, and
// nothing would become of their being inexact but a flag that is set already (soft.Mode). All else is package soft's.
var floatOps = []struct{ name, op string }{{"Add", "+"}, {"Sub", "-"}, {"Mul", "*"}, {"Div", "/"}}

func floats(add func(name, body string)) {
	for _, o := range floatOps {
		for _, size := range []int{4, 8} {
			for _, form := range []string{"RR", "RM"} {
				for _, enc := range encodings[:2] {
					first := firstSource(enc.name, form)
					text := "q := $sv0\n"
					if form == "RM" {
						text = fmt.Sprintf("a := $a; $load(q, %d)\n", size)
					}
					text += fmt.Sprintf("p := $%sv0\n", first)
					if size == 8 {
						text += fmt.Sprintf(`r := math.Float64bits(math.Float64frombits(p) %s math.Float64frombits(q))
							if *(*uint32)(unsafe.Add(fp, emu.XOffMXCSR))&exactModes != exactMode || (p>>52+1)&0x7fe == 0 || (q>>52+1)&0x7fe == 0 || (r>>52+1)&0x7fc == 0 {
								if r = e.softly(soft.%s64, p, q); e.failed != nil {
									goto fault
								}
							}`, o.op, o.name)
					} else {
						text += fmt.Sprintf(`w := math.Float32bits(math.Float32frombits(uint32(p)) %s math.Float32frombits(uint32(q)))
							if *(*uint32)(unsafe.Add(fp, emu.XOffMXCSR))&exactModes != exactMode || (p>>23+1)&0xfe == 0 || (q>>23+1)&0xfe == 0 || (w>>23+1)&0xfc == 0 {
								w = uint32(e.softly(soft.%s32, p&0xffffffff, q&0xffffffff))
								if e.failed != nil {
									goto fault
								}
							}
							r := p&^0xffffffff | uint64(w)`, o.op, o.name)
					}
					text += "\n$dv0 = r\n"
					if enc.clear {
						text += fmt.Sprintf("$dv1 = $%sv1\n", first) + cleared(true)
					}
					add(fmt.Sprintf("opF%s%d%s%s", o.name, size, form, enc.name), text)
				}
			}
		}
	}
	for _, size := range []int{4, 8} {
		// The status flags are those of a comparison of unsigned numbers; PF says that there is no order.
		compare := fmt.Sprintf("if e.compareFloats(p, q, %d, u.imm != 0); e.failed != nil {\n goto fault\n}", size)
		add(fmt.Sprintf("opFCompare%dRR", size), "p, q := $dv0, $sv0\n"+compare)
		add(fmt.Sprintf("opFCompare%dRM", size), fmt.Sprintf("a := $a; $load(q, %d)\n p := $dv0\n%s", size, compare))
	}
}
