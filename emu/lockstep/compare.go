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

// sameStop reports whether a and b are the same, but for why an instruction is not supported.
func sameStop(a, b emu.Stop) bool {
	if a.Reason != b.Reason || a.Left != b.Left || (a.Fault == nil) != (b.Fault == nil) {
		return false
	}
	if a.Fault == nil {
		return true
	}
	x, y := *a.Fault, *b.Fault
	x.Unsupported, y.Unsupported, x.Failure, y.Failure = "", "", "", ""
	return x == y
}

// compareRuns says in what two runs that began alike differ, "" if in nothing. Status flags may: see compareFlags.
func (e *Engine) compareRuns(a, b emu.Stop, c, d *emu.CPU) string {
	var diff []string
	add := func(name string, x, y any) { diff = append(diff, fmt.Sprintf("%s %v, %v", name, x, y)) }
	if !sameStop(a, b) {
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
	return strings.Join(append(diff, compareFloat(c.FP, d.FP, e.exceptions)...), "; ")
}

func describeStop(s emu.Stop) string {
	if s.Reason != emu.StopFault {
		return fmt.Sprintf("for reason %d, %d left", s.Reason, s.Left)
	}
	return strings.TrimRight(s.Fault.Error()+" "+s.Fault.Unsupported+s.Fault.Failure, " ")
}

// compareFloat compares x87, SSE, AVX and AVX-512 state; the exceptions that were recorded only if both engines do
// that: libunicorn records none for SSE, and not all for x87. C1 of x87 is as vendors like.
func compareFloat(a, b *emu.XState, exceptions bool) (diff []string) {
	part := func(name string, off, n int) {
		if x, y := a[off:off+n], b[off:off+n]; !bytes.Equal(x, y) {
			diff = append(diff, fmt.Sprintf("%s % x, % x", name, x, y))
		}
	}
	part("fcw", emu.XOffFCW, 2)
	part("ftw", emu.XOffFTW, 1)
	const top, c1 = 0x3800, 0x200
	status, csr := uint16(top), uint32(0xffc0)
	if exceptions {
		status, csr = ^uint16(c1), 1<<32-1
	}
	fsw := [2]uint16{binary.LittleEndian.Uint16(a[emu.XOffFSW:]), binary.LittleEndian.Uint16(b[emu.XOffFSW:])}
	if (fsw[0]^fsw[1])&status != 0 {
		diff = append(diff, fmt.Sprintf("fsw %#x, %#x", fsw[0]&status, fsw[1]&status))
	}
	if (binary.LittleEndian.Uint32(a[emu.XOffMXCSR:])^binary.LittleEndian.Uint32(b[emu.XOffMXCSR:]))&csr != 0 {
		part("mxcsr", emu.XOffMXCSR, 4)
	}
	for i := range 8 {
		if phys := (int(fsw[0]>>11) + i) & 7; a[emu.XOffFTW]>>phys&1 != 0 {
			part(fmt.Sprintf("st%d", i), emu.XOffST+16*i, 10)
		}
	}
	for i := range 16 {
		part(fmt.Sprintf("xmm%d", i), emu.XOffXMM+16*i, 16)
		part(fmt.Sprintf("ymm%d's upper half", i), emu.XOffYMMH+16*i, 16)
	}
	if (a.Components()|b.Components())&emu.XAVX512 == 0 {
		return diff
	}
	for i := range 16 {
		part(fmt.Sprintf("zmm%d's upper half", i), emu.XOffZMMH+32*i, 32)
		part(fmt.Sprintf("zmm%d", 16+i), emu.XOffHiZMM+64*i, 64)
	}
	for i := range 8 {
		part(fmt.Sprintf("k%d", i), emu.XOffOpmask+8*i, 8)
	}
	return diff
}

// compareChanges says where memory is not as the second engine left it.
func compareChanges(m *mem.Space, changes []mem.Change) string {
	var now [emu.PageSize]byte
	for i := range changes {
		c := &changes[i]
		m.Read(c.At, now[:])
		if bytes.Equal(now[:], c.After) {
			continue
		}
		if at := unequal(now[:], c.After); at >= 0 {
			end := min(at+16, len(now))
			return fmt.Sprintf("memory at %v % x, % x", c.At+emu.Addr(at), now[at:end], c.After[at:end])
		}
	}
	return ""
}

// undo makes pages as they were.
func undo(m *mem.Space, changes []mem.Change) {
	for i := range changes {
		c := &changes[len(changes)-1-i]
		m.Write(c.At, c.Before)
	}
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
