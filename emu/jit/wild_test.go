//go:build linux && amd64

package jit

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/mem"
)

// craftedTargets are addresses at the borders of what the engine reserves, and such that their multiples by 8, which
// jump tables are indexed with, come around to code.
func craftedTargets() []uint64 {
	var list []uint64
	for _, at := range []uint64{0, uint64(codeAt), uint64(dataAt), uint64(stackAt)} {
		for bit := 32; bit < 64; bit++ {
			list = append(list, at|1<<bit, at|^uint64(0)<<bit, at-1<<bit)
		}
	}
	for _, at := range []uint64{
		uint64(maxCode), uint64(mem.FirstLimit), uint64(mem.MaxAddr), 1 << 47, 0xffff800000000000, ^uint64(mem.Guard) + 1,
		0xffffffff81000000, 0x4141414141414141, 0x8000000000000000, 0xffffffffff600000,
	} {
		for _, d := range []uint64{0, 1, 8, 4096} {
			list = append(list, at+d, at-d)
		}
	}
	return list
}

// wildTargets calls f for the crafted targets and n random ones: of 64 bits, canonical, and near code.
func wildTargets(n int, f func(target uint64)) {
	for _, target := range craftedTargets() {
		f(target)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for i := range n {
		x := r.Uint64()
		switch i % 4 {
		case 1:
			x >>= 17 + x%24
		case 2:
			x = uint64(int64(x) >> 17)
		case 3:
			x = uint64(codeAt) + x&0xfff | x<<(3+x%29)<<32
		}
		f(x)
	}
}

// wildRounds is how many random targets there are for each way to use them.
const wildRounds = 40_000

// requireWild requires what the fault of target is: a page fault with its address, or #GP if it is not canonical.
func requireWild(t *testing.T, target uint64, got emu.Fault, want emu.Fault) {
	want.Vector, want.Addr = emu.VecPF, emu.Addr(target)
	if !guest.Canonical(emu.Addr(target)) {
		want = emu.Fault{Vector: emu.VecGP}
	}
	if got != want { // require.Equal takes longer than the engine
		require.Equal(t, want, got, "%#x", target)
	}
}

// TestWildJumps has jumps, calls and returns to any address end there.
func TestWildJumps(t *testing.T) {
	for name, directory := range map[string]func() uintptr{"directory": directoryAt, "no room for a directory": func() uintptr { return 0 }} {
		defer func(was func() uintptr) { directoryAt = was }(directoryAt)
		directoryAt = directory
		for how, code := range map[string]string{"jmp": "ff e3", "call": "ff d3", "ret": "53 c3", "ret 8": "53 c2 08 00", "jmp [m]": "ff 27", "call [m]": "ff 17"} {
			t.Run(name+" "+how, func(t *testing.T) {
				m := newMachine(t, code)
				m.cpu.Regs[emu.RDI] = uint64(dataAt) + 8
				m.cpu.Regs[emu.RCX], m.cpu.Regs[emu.R10], m.cpu.Regs[emu.R11] = 9, 10, 11
				wildTargets(wildRounds, func(target uint64) {
					if emu.Addr(target)-codeAt < 0x2000 {
						return
					}
					m.cpu.Regs[emu.RBX], m.cpu.RIP, m.cpu.Regs[emu.RSP] = target, codeAt, uint64(stackAt)-64
					m.mem.WriteUint64(dataAt+8, target)
					m.cpu.Flags = emu.FlagR1 | emu.FlagIF | target&emu.FlagCF
					stop := m.Run(m.cpu, emu.NoBudget)
					requireWild(t, target, *stop.Fault, emu.Fault{Exec: true})
					if uint64(m.cpu.RIP) != target || m.cpu.Regs[emu.RCX] != 9 || m.cpu.Regs[emu.R10] != 10 || m.cpu.Regs[emu.R11] != 11 {
						t.Fatalf("%#x: at %v with %x", target, m.cpu.RIP, m.cpu.Regs)
					}
				})
			})
		}
	}
}

// mayMeetHost reports whether a lies beyond what is reserved around the guest's memory, but where the host's process
// may have something (manual, "Limits").
func (m *machine) mayMeetHost(a emu.Addr) bool {
	at := uintptr(a) + m.mem.Base()
	reserved := a < m.mem.Limit()+mem.GuardAbove-64 || a >= ^emu.Addr(mem.Guard)
	return !reserved && at < 1<<47
}

// TestWildData has loads and stores at any address fault with it, if they do not meet the host's memory.
func TestWildData(t *testing.T) {
	for how, tt := range map[string]struct {
		code  string
		write bool
		reg   int
		off   uint64 // of what is accessed
	}{
		"load":       {"48 8b 03", false, emu.RBX, 0},
		"store":      {"48 89 03", true, emu.RBX, 0},
		"add":        {"01 03", true, emu.RBX, 0},
		"load SSE":   {"f3 0f 6f 03", false, emu.RBX, 0},
		"store AVX":  {"c5 fe 7f 03", true, emu.RBX, 0},
		"push":       {"50", true, emu.RSP, ^uint64(7)},
		"pop":        {"58", false, emu.RSP, 0},
		"call":       {"e8 00 00 00 00", true, emu.RSP, ^uint64(7)},
		"ret":        {"c3", false, emu.RSP, 0},
		"leave":      {"c9", false, emu.RBP, 0},
		"lods":       {"ac", false, emu.RSI, 0},
		"stos":       {"aa", true, emu.RDI, 0},
		"rep stos":   {"f3 aa", true, emu.RDI, 0},
		"x87":        {"dd 03", false, emu.RBX, 0},
		"indexed":    {"48 8b 04 1a", false, emu.RBX, 0x30},
		"fxsave":     {"0f ae 03", true, emu.RBX, 0},
		"call [rbx]": {"ff 13", false, emu.RBX, 0},
	} {
		t.Run(how, func(t *testing.T) {
			m := newMachine(t, tt.code)
			wildTargets(wildRounds, func(target uint64) {
				a := emu.Addr(target + tt.off)
				if m.mem.VMA(a) != nil || m.mem.VMA(a+31) != nil || a > ^emu.Addr(64) || m.mayMeetHost(a) || how == "fxsave" && a%16 != 0 || straddles(a) {
					return
				}
				m.cpu.Regs = [16]uint64{emu.RSP: uint64(stackAt) - 64, emu.RCX: 3, emu.RDX: 0x30}
				m.cpu.Regs[tt.reg], m.cpu.RIP = target, codeAt
				stop := m.Run(m.cpu, emu.NoBudget)
				requireWild(t, uint64(a), *stop.Fault, emu.Fault{Write: tt.write})
				if m.cpu.RIP != codeAt || m.cpu.Regs[tt.reg] != target {
					t.Fatalf("%#x: at %v with %x", target, m.cpu.RIP, m.cpu.Regs)
				}
			})
		})
	}
}

// straddles reports whether an access at a of up to 32 bytes passes from canonical addresses to others.
func straddles(a emu.Addr) bool { return guest.Canonical(a) != guest.Canonical(a+31) }

// TestBeyondHost has operands at addresses that are canonical to the guest and not, with the base of its memory, to the
// host. What the fault is does not depend on where the host put the guest's memory.
func TestBeyondHost(t *testing.T) {
	const top = 1 << 47
	for how, tt := range map[string]struct {
		code string
		rbx  uint64 // and RDI; RSI and RSP are not canonical
		want emu.Fault
	}{
		"clflush":            {"0f ae 3b", top - 0x1000, emu.Fault{Vector: emu.VecPF, Addr: top - 0x1000}},
		"lock xadd":          {"f0 48 0f c1 03", top - 0x1000, emu.Fault{Vector: emu.VecPF, Addr: top - 0x1000, Write: true}},
		"xchg":               {"48 87 03", top - 0x1000, emu.Fault{Vector: emu.VecPF, Addr: top - 0x1000, Write: true}},
		"movs":               {"a4", top - 0x1000, emu.Fault{Vector: emu.VecGP}},
		"push":               {"ff 34 24", top - 0x1000, emu.Fault{Vector: emu.VecGP}},
		"load":               {"48 8b 03", top - 0x1000, emu.Fault{Vector: emu.VecPF, Addr: top - 0x1000}},
		"movaps":             {"0f 28 03", top - 0x1000, emu.Fault{Vector: emu.VecPF, Addr: top - 0x1000}},
		"misaligned movaps":  {"0f 28 03", top - 0xffc, emu.Fault{Vector: emu.VecGP}},
		"misaligned addps":   {"0f 58 03", top - 0xffc, emu.Fault{Vector: emu.VecGP}},
		"movups":             {"0f 10 03", top - 0xffc, emu.Fault{Vector: emu.VecPF, Addr: top - 0xffc}},
		"misaligned vmovaps": {"c5 fc 28 03", top - 0xff0, emu.Fault{Vector: emu.VecGP}},
		"vaddps":             {"c5 fc 58 03", top - 0xff0, emu.Fault{Vector: emu.VecPF, Addr: top - 0xff0}},
		"cmpxchg16b":         {"48 0f c7 0b", top - 0xff8, emu.Fault{Vector: emu.VecGP}},
		"btr":                {"48 0f b3 0b", top - 0xffd, emu.Fault{Vector: emu.VecPF, Addr: top - 0xffd, Write: true}},
		"far btr":            {"48 0f b3 13", top - 0xffd, emu.Fault{Vector: emu.VecPF, Addr: top - 0xffd + 8, Write: true}},
	} {
		t.Run(how, func(t *testing.T) {
			m := newMachine(t, tt.code)
			m.cpu.Regs[emu.RBX], m.cpu.Regs[emu.RCX], m.cpu.Regs[emu.RDX] = tt.rbx, 40, 100
			m.cpu.Regs[emu.RDI], m.cpu.Regs[emu.RSI], m.cpu.Regs[emu.RSP] = tt.rbx, top, top
			require.Equal(t, tt.want, *m.run(emu.StopFault).Fault)
		})
	}
}

// TestStoreInTwoParts has FSTP meet a page that may not be written to behind the first 8 bytes of 10: these are stored,
// as on Intel's CPUs, on hosts whose CPU stores nothing, too.
func TestStoreInTwoParts(t *testing.T) {
	m := newMachine(t, "d9 e8 db 3b") // fld1; fstp tbyte [rbx]
	at := dataAt + 0x1000 - 8
	m.cpu.Regs[emu.RBX] = uint64(at)
	require.Equal(t, emu.Fault{Vector: emu.VecPF, Addr: at + 8, Write: true}, *m.run(emu.StopFault).Fault)
	x, ok := m.mem.ReadUint64(at)
	require.True(t, ok)
	require.Equal(t, uint64(1<<63), x)
}
