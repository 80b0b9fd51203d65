package enginelog

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cgemu/cgemu/emu"
)

// writeStep writes an instruction that was executed, and the registers that it changed.
func writeStep(w io.Writer, code []byte, before, after *emu.CPU, at Place) {
	_, text := decode(uint64(before.RIP), code)
	place := fmt.Sprintf("%s:%d", at.Func, at.Line)
	line := fmt.Sprintf("%d %x  %-24s  %-40s  %s", at.PID, uint64(before.RIP), place, text, strings.Join(changes(before, after), " "))
	fmt.Fprintln(w, strings.TrimRight(line, " "))
}

var (
	regNames  = strings.Fields("rax rcx rdx rbx rsp rbp rsi rdi r8 r9 r10 r11 r12 r13 r14 r15")
	flagNames = map[int]string{0: "C", 2: "P", 4: "A", 6: "Z", 7: "S", 8: "T", 10: "D", 11: "O", 18: "AC", 21: "ID"}
)

// changes lists the registers that differ, with their new values. RIP is not among them.
func changes(before, after *emu.CPU) (list []string) {
	for i, name := range regNames {
		if after.Regs[i] != before.Regs[i] {
			list = append(list, fmt.Sprintf("%s=%x", name, after.Regs[i]))
		}
	}
	if after.Flags != before.Flags {
		list = append(list, "flags="+flags(after.Flags))
	}
	for _, base := range []struct {
		name          string
		before, after uint64
	}{{"fs", before.FSBase, after.FSBase}, {"gs", before.GSBase, after.GSBase}} {
		if base.before != base.after {
			list = append(list, fmt.Sprintf("%sbase=%x", base.name, base.after))
		}
	}
	return append(list, vectorChanges(before.FP, after.FP)...)
}

// vectorChanges lists the registers of x87, SSE, AVX and AVX-512 that differ: all of a ymm or zmm register if its upper
// half does.
func vectorChanges(before, after *emu.XState) (list []string) {
	if *before == *after {
		return nil
	}
	changed := func(off, n int) bool { return !bytes.Equal(before[off:off+n], after[off:off+n]) }
	for _, r := range []struct {
		name   string
		off, n int
	}{{"fcw", emu.XOffFCW, 2}, {"fsw", emu.XOffFSW, 2}, {"ftw", emu.XOffFTW, 1}, {"mxcsr", emu.XOffMXCSR, 4}} {
		if changed(r.off, r.n) {
			list = append(list, r.name+"="+number(after[r.off:r.off+r.n]))
		}
	}
	for i := range 8 {
		if off := emu.XOffST + 16*i; changed(off, 10) {
			list = append(list, fmt.Sprintf("st%d=%s", i, number(after[off:off+10])))
		}
	}
	for i := range 16 {
		low, high, highest := emu.XOffXMM+16*i, emu.XOffYMMH+16*i, emu.XOffZMMH+32*i
		switch {
		case changed(highest, 32):
			list = append(list, fmt.Sprintf("zmm%d=%s%s%s", i, number(after[highest:highest+32]), number(after[high:high+16]), number(after[low:low+16])))
		case changed(high, 16):
			list = append(list, fmt.Sprintf("ymm%d=%s%s", i, number(after[high:high+16]), number(after[low:low+16])))
		case changed(low, 16):
			list = append(list, fmt.Sprintf("xmm%d=%s", i, number(after[low:low+16])))
		}
	}
	for i := range 16 {
		if off := emu.XOffHiZMM + 64*i; changed(off, 64) {
			list = append(list, fmt.Sprintf("zmm%d=%s", 16+i, number(after[off:off+64])))
		}
	}
	for i := range 8 {
		if off := emu.XOffOpmask + 8*i; changed(off, 8) {
			list = append(list, fmt.Sprintf("k%d=%s", i, number(after[off:off+8])))
		}
	}
	return list
}

// number returns a little-endian number in hexadecimal, with all its digits.
func number(b []byte) string {
	b = slices.Clone(b)
	slices.Reverse(b)
	return hex.EncodeToString(b)
}

// flags names the flags that are set.
func flags(x uint64) (s string) {
	for bit := range 22 {
		if x>>bit&1 != 0 {
			s += flagNames[bit]
		}
	}
	return "[" + s + "]"
}
