package lockstep

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/emu/x86"
)

var regNames = [16]string{
	"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
}

// registers shows the general registers.
func registers(c *emu.CPU) string {
	var b strings.Builder
	for i, name := range regNames {
		fmt.Fprintf(&b, "%s %#x ", name, c.Regs[i])
	}
	fmt.Fprintf(&b, "flags %#x", c.Flags)
	return b.String()
}

// compareRuns says in what two runs that began alike differ, "" if in nothing. Status flags may: instructions
// leave some undefined. What a program makes of defined ones shows in its jumps.
func compareRuns(a, b emu.Stop, c, d *emu.CPU) string {
	var diff []string
	add := func(name string, x, y any) { diff = append(diff, fmt.Sprintf("%s %v, %v", name, x, y)) }
	x, y := a, b
	x.Fault.Unsupported, y.Fault.Unsupported = "", ""
	if x != y {
		add("stop", describeStop(a), describeStop(b))
	}
	if c.RIP != d.RIP {
		add("rip", c.RIP, d.RIP)
	}
	for i, name := range regNames {
		p, q := c.Regs[i], d.Regs[i]
		if i == emu.R11 && a.Reason == emu.StopSyscall { // it has the flags
			p, q = p&^uint64(x86.StatusFlags), q&^uint64(x86.StatusFlags)
		}
		if p != q {
			add(name, fmt.Sprintf("%#x", p), fmt.Sprintf("%#x", q))
		}
	}
	if p, q := c.Flags&^uint64(x86.StatusFlags), d.Flags&^uint64(x86.StatusFlags); p != q {
		add("flags", fmt.Sprintf("%#x", p), fmt.Sprintf("%#x", q))
	}
	if c.FSBase != d.FSBase || c.GSBase != d.GSBase {
		add("fs, gs", fmt.Sprintf("%#x %#x", c.FSBase, c.GSBase), fmt.Sprintf("%#x %#x", d.FSBase, d.GSBase))
	}
	return strings.Join(append(diff, compareFloat(c.FP, d.FP)...), "; ")
}

func describeStop(s emu.Stop) string {
	if s.Reason != emu.StopFault {
		return fmt.Sprintf("for reason %d", s.Reason)
	}
	return strings.TrimRight(s.Fault.Error()+" "+s.Fault.Unsupported, " ")
}

// compareFloat compares x87 and SSE state, but for the exceptions that were recorded: libunicorn records
// none for SSE, and not all for x87.
func compareFloat(a, b *emu.XState) (diff []string) {
	part := func(name string, off, n int) {
		if x, y := a[off:off+n], b[off:off+n]; !bytes.Equal(x, y) {
			diff = append(diff, fmt.Sprintf("%s % x, % x", name, x, y))
		}
	}
	part("fcw", emu.XOffFCW, 2)
	part("ftw", emu.XOffFTW, 1)
	const top = 0x3800
	tops := [2]uint16{binary.LittleEndian.Uint16(a[emu.XOffFSW:]) & top, binary.LittleEndian.Uint16(b[emu.XOffFSW:]) & top}
	if tops[0] != tops[1] {
		diff = append(diff, fmt.Sprintf("x87 top %d, %d", tops[0]>>11, tops[1]>>11))
	}
	if a[emu.XOffMXCSR]&0xc0 != b[emu.XOffMXCSR]&0xc0 || a[emu.XOffMXCSR+1] != b[emu.XOffMXCSR+1] {
		part("mxcsr", emu.XOffMXCSR, 4)
	}
	for i := range 8 {
		if phys := (int(tops[0]>>11) + i) & 7; a[emu.XOffFTW]>>phys&1 != 0 {
			part(fmt.Sprintf("st%d", i), emu.XOffST+16*i, 10)
		}
	}
	for i := range 16 {
		part(fmt.Sprintf("xmm%d", i), emu.XOffXMM+16*i, 16)
	}
	return diff
}

// compareMemory compares what can be written and is not shared.
func compareMemory(a, b *mem.Space) string {
	var x, y [64 << 10]byte
	for _, v := range a.VMAs() {
		if v.Shared || v.Prot&mem.Write == 0 {
			continue
		}
		for at := v.Lo; at < v.Hi; at += emu.Addr(len(x)) {
			size := min(uint64(v.Hi-at), uint64(len(x)))
			n, m := a.Read(at, x[:size]), b.Read(at, y[:size])
			if n != m {
				return fmt.Sprintf("memory at %v can be read, and not in the other engine", at+emu.Addr(min(n, m)))
			}
			if bytes.Equal(x[:n], y[:n]) {
				continue
			}
			i := unequal(x[:n], y[:n])
			if i < 0 {
				continue
			}
			end := min(i+16, n)
			return fmt.Sprintf("memory at %v % x, % x", at+emu.Addr(i), x[i:end], y[i:end])
		}
	}
	return ""
}

// unequal returns where x and y begin to differ, -1 if they do not; the exceptions in an MXCSR that FXSAVE
// stored may.
func unequal(x, y []byte) int {
	const exceptions = 0x3f
	for i := range x {
		mxcsr := (x[i]^y[i])&^exceptions == 0 && i%16 == emu.XOffMXCSR%16 && i+8 <= len(x) &&
			bytes.Equal(x[i+1:i+8], y[i+1:i+8]) && binary.LittleEndian.Uint32(x[i+4:]) == emu.MXCSRMask
		if x[i] != y[i] && !mxcsr {
			return i
		}
	}
	return -1
}
