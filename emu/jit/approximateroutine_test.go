//go:build linux && amd64

package jit

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/sem"
	"github.com/cgemu/cgemu/emu/x86"
)

// An approximationForm is an instruction that approximates, with the lanes that it writes: of the other lanes some keep
// what the destination had, some are the first source's or 0. One whose source is -1 has it in memory, at dataAt+0x20,
// where RSI is 16 bytes before and FS 32, and RDI 1.
type approximationForm struct {
	name, code  string
	dst, source int
	lanes       int
	rsqrt       bool
	first       int // a register that has the other lanes up to the fourth, -1 for none
	vex         bool
}

var approximationForms = []approximationForm{
	{"rcpps xmm1, xmm2", "0f 53 ca", 1, 2, 4, false, -1, false},
	{"rcpps xmm9, xmm2", "44 0f 53 ca", 9, 2, 4, false, -1, false},
	{"rsqrtps xmm1, xmm10", "41 0f 52 ca", 1, 10, 4, true, -1, false},
	{"rcpss xmm12, xmm3", "f3 44 0f 53 e3", 12, 3, 1, false, -1, false},
	{"rsqrtss xmm4, xmm15", "f3 41 0f 52 e7", 4, 15, 1, true, -1, false},
	{"vrcpps xmm1, xmm2", "c5 f8 53 ca", 1, 2, 4, false, -1, true},
	{"vrcpps ymm8, ymm2", "c5 7c 53 c2", 8, 2, 8, false, -1, true},
	{"vrsqrtps ymm1, ymm11", "c4 c1 7c 52 cb", 1, 11, 8, true, -1, true},
	{"vrsqrtps ymm5, ymm5", "c5 fc 52 ed", 5, 5, 8, true, -1, true},
	{"vrcpss xmm1, xmm2, xmm3", "c5 ea 53 cb", 1, 3, 1, false, 2, true},
	{"vrsqrtss xmm9, xmm12, xmm3", "c5 1a 52 cb", 9, 3, 1, true, 12, true},
	{"rcpps xmm1, [rsi+16]", "0f 53 4e 10", 1, -1, 4, false, -1, false},
	{"rsqrtps xmm9, [rsi+rdi*4+12]", "44 0f 52 4c be 0c", 9, -1, 4, true, -1, false},
	{"rcpps xmm1, fs:[32]", "64 0f 53 0c 25 20 00 00 00", 1, -1, 4, false, -1, false},
	{"rcpss xmm12, [rsi+16]", "f3 44 0f 53 66 10", 12, -1, 1, false, -1, false},
	{"rsqrtss xmm4, fs:[rdi+31]", "64 f3 0f 52 67 1f", 4, -1, 1, true, -1, false},
	{"vrcpps xmm1, [rsi+16]", "c5 f8 53 4e 10", 1, -1, 4, false, -1, true},
	{"vrsqrtps ymm11, [rsi+rdi*8+8]", "c5 7c 52 5c fe 08", 11, -1, 8, true, -1, true},
	{"vrcpss xmm1, xmm2, [rsi+16]", "c5 ea 53 4e 10", 1, -1, 1, false, 2, true},
}

// atSource is what a form's source has.
func atSource(registers *[16][8]uint32, memory *[8]uint32, source, lane int) uint32 {
	if source < 0 {
		return memory[lane]
	}
	return registers[source][lane]
}

// An approximatingMode is one in which code for approximations differs: refined, if the host has AVX-512 and the guest
// has not, with what is in the registers that this works with, or by a table.
type approximatingMode struct {
	cfg        emu.Config
	model      string
	lesserHost bool
}

var approximatingModes = map[string]approximatingMode{
	"instructions":       {model: "v3"},
	"v4":                 {model: "v4"},
	"calls":              {model: "v3", cfg: emu.Config{Function: sixteen}},
	"caches":             {model: "v3", cfg: mmxModes["simulation"]},
	"no AVX-512":         {model: "v3", lesserHost: true},
	"no AVX-512, caches": {model: "v3", cfg: mmxModes["simulation"], lesserHost: true},
}

// machine makes one with some code.
func (as approximatingMode) machine(t *testing.T, code string) *machine {
	t.Helper()
	model, err := emu.ModelByName(as.model)
	require.NoError(t, err)
	as.cfg.Model = model
	m := newMachineWith(t, as.cfg, code)
	if as.lesserHost {
		m.onLesserHost(true)
	}
	m.cpu.FP.SetComponents(model.XCR0)
	return m
}

// otherHost has tests run as if the host had other approximations.
func otherHost(t *testing.T) {
	was := hostApproximates
	hostApproximates = func() bool { return false }
	t.Cleanup(func() { hostApproximates = was })
}

// TestApproximations compares what generated code makes of operands with what Go's does.
func TestApproximations(t *testing.T) {
	otherHost(t)
	for mode, as := range approximatingModes {
		for _, form := range approximationForms {
			t.Run(mode+"/"+form.name, func(t *testing.T) {
				// 200 times: the flags are those of the comparison in front.
				m := as.machine(t, fmt.Sprintf("ba c8 00 00 00 39 c0 f9 %s 9c 5b ff ca 75 %02x 0f 05",
					form.code, 0x100-(2+1+len(assemble(t, form.code))+2+2+2)))
				r := rand.New(rand.NewPCG(11, 12))
				for range 300 {
					compareApproximations(t, m, r, &form)
				}
				if m.calls != nil {
					var executed uint64
					for _, n := range m.counts() {
						executed += n
					}
					require.Equal(t, executed, m.calls.Totals[m.calls.Column(emu.Ir)])
				}
			})
		}
	}
}

// compareApproximations runs m, whose code makes form 200 times, of operands by r.
func compareApproximations(t *testing.T, m *machine, r *rand.Rand, form *approximationForm) {
	function := sem.Approximation(x86.RCPSS)
	if form.rsqrt {
		function = sem.Approximation(x86.RSQRTSS)
	}
	var before [16][8]uint32
	for i := range before {
		for lane := range before[i] {
			before[i][lane] = anyNumber(r)
			binary.LittleEndian.PutUint32(m.cpu.FP[laneAt(i, lane):], before[i][lane])
		}
	}
	var memory [8]uint32
	for lane := range memory {
		memory[lane] = anyNumber(r)
		m.mem.Poke(dataAt+0x20+emu.Addr(4*lane), binary.LittleEndian.AppendUint32(nil, memory[lane]))
	}
	m.cpu.RIP, m.cpu.Regs[emu.RAX], m.cpu.Regs[emu.RSP] = codeAt, 7, uint64(dataAt)+256
	m.cpu.Regs[emu.RSI], m.cpu.Regs[emu.RDI], m.cpu.FSBase = uint64(dataAt)+0x10, 1, uint64(dataAt)
	m.run(emu.StopSyscall)
	want := before[form.dst]
	for lane := range want {
		switch {
		case lane < form.lanes:
			want[lane] = again(function, atSource(&before, &memory, form.source, lane), form.dst == form.source)
		case form.vex && lane >= 4:
			want[lane] = 0
		case form.first >= 0:
			want[lane] = before[form.first][lane]
		}
	}
	var got [8]uint32
	for lane := range got {
		got[lane] = binary.LittleEndian.Uint32(m.cpu.FP[laneAt(form.dst, lane):])
	}
	require.Equal(t, want, got, "of %x, %x", before, memory)
	require.EqualValues(t, emu.FlagZF|emu.FlagPF|emu.FlagCF, m.cpu.Regs[emu.RBX]&0x8d5)
	require.Equal(t, []uint64{7, 0, 1}, []uint64{m.cpu.Regs[emu.RAX], m.cpu.Regs[emu.RDX], m.cpu.Regs[emu.RDI]})
}

// TestRefinedIntervals compares all intervals of operands, at both ends, with every way of rounding, and exceptions that
// are not masked.
func TestRefinedIntervals(t *testing.T) {
	otherHost(t)
	for name, form := range map[string]struct {
		code     string
		function func(uint32) uint32
	}{"rcpps": {"c5 fc 53 ca 0f 05", sem.Approximation(x86.RCPSS)}, "rsqrtps": {"c5 fc 52 ca 0f 05", sem.Approximation(x86.RSQRTSS)}} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, form.code)
			const step = 1 << 12 // an interval of RCPPS, half of one of RSQRTPS
			for x := uint32(0); x < 1<<31; {
				exponent := x >> 23
				if exponent > 2 && exponent < 126 || exponent > 129 && exponent < 251 {
					x += 1 << 23
					continue
				}
				var operands [8]uint32
				for lane := range operands {
					operands[lane] = x + uint32(lane)/4*(step-1) | uint32(lane)<<31
					binary.LittleEndian.PutUint32(m.cpu.FP[laneAt(2, lane):], operands[lane])
				}
				const daz, ftz = 1 << 6, 1 << 15
				binary.LittleEndian.PutUint32(m.cpu.FP[emu.XOffMXCSR:], x>>12&3<<13|x>>14&1*(daz|ftz))
				m.cpu.RIP = codeAt
				m.run(emu.StopSyscall)
				for lane, x := range operands {
					require.Equal(t, form.function(x), binary.LittleEndian.Uint32(m.cpu.FP[laneAt(1, lane):]), "of %#x", x)
				}
				x += step
			}
		})
	}
}

// TestApproximationFaults has operands in memory that are not there, or not aligned: registers are what they were.
func TestApproximationFaults(t *testing.T) {
	otherHost(t)
	for mode, as := range approximatingModes {
		for _, form := range []struct {
			code  string
			rsi   emu.Addr
			fault emu.Fault
		}{
			{"0f 53 0e", dataAt + 0x2000, emu.Fault{Vector: emu.VecPF, Addr: dataAt + 0x2000}},
			{"0f 53 0e", dataAt + 8, emu.Fault{Vector: emu.VecGP}},
			{"f3 0f 52 0e", dataAt + 0x2004, emu.Fault{Vector: emu.VecPF, Addr: dataAt + 0x2004}},
			{"c5 fc 52 0e", dataAt + 0xff0, emu.Fault{Vector: emu.VecPF, Addr: dataAt + 0x1000}},
			{"c5 ea 53 0e", dataAt + 0xffe, emu.Fault{Vector: emu.VecPF, Addr: dataAt + 0x1000}},
		} {
			t.Run(mode+"/"+form.code, func(t *testing.T) {
				m := as.machine(t, form.code)
				m.cpu.Regs[emu.RSI], m.cpu.Regs[emu.RCX], m.cpu.Regs[emu.RBX] = uint64(form.rsi), 11, 12
				before := emu.NewCPU()
				before.Copy(m.cpu)
				stop := m.run(emu.StopFault)
				require.Equal(t, form.fault, *stop.Fault)
				require.Equal(t, before.Regs, m.cpu.Regs)
				require.Equal(t, before.FP, m.cpu.FP)
			})
		}
	}
}

// again returns f(x), or what 200 calls make of it, each of the result of the one before.
func again(f func(uint32) uint32, x uint32, own bool) uint32 {
	n := 1
	if own {
		n = 200
	}
	for range n {
		x = f(x)
	}
	return x
}

// anyNumber returns one that is most often one whose approximation is not special, sometimes at the edge of those, or
// any.
func anyNumber(r *rand.Rand) uint32 {
	switch r.IntN(64) {
	case 0:
		return r.Uint32()
	case 1:
		return specialOperands[r.IntN(len(specialOperands))]
	}
	return r.Uint32()&0x7fffff | (1+r.Uint32N(252))<<23
}

func laneAt(register, lane int) int {
	if lane < 4 {
		return emu.XOffXMM + 16*register + 4*lane
	}
	return emu.XOffYMMH + 16*register + 4*(lane-4)
}
