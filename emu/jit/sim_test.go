//go:build linux && amd64

package jit

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/cachesim"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/emu/x86"
)

// events returns what was counted for an address, by event.
func (m *machine) events(a emu.Addr) map[emu.Event]uint64 {
	n := map[emu.Event]uint64{}
	m.Collect(a, a+1, func(_ emu.Addr, ev emu.Event, k uint64) { n[ev] += k })
	return n
}

// TestLiveFlagsAtFault has the check of a reference in front of a fault lose the flags that a jump
// behind it reads: the fault finds them, in every combination.
func TestLiveFlagsAtFault(t *testing.T) {
	for _, flags := range []uint64{0, emu.FlagZF | emu.FlagPF, emu.FlagCF | emu.FlagSF, emu.FlagOF, emu.FlagAF, uint64(x86.StatusFlags)} {
		t.Run(fmt.Sprintf("%#x", flags), func(t *testing.T) {
			m := newSimulator(t, `
				48 8b 01  # mov rax, [rcx]   of an address that is not mapped
				74 00     # je over nothing
				0f 05     # syscall`)
			m.cpu.Regs[emu.RCX], m.cpu.Regs[emu.RAX] = 0x1234, 77
			m.cpu.Flags = m.cpu.Flags&^uint64(x86.StatusFlags) | flags
			stop := m.Run(m.cpu, emu.NoBudget)
			require.Equal(t, emu.StopFault, stop.Reason)
			require.EqualValues(t, 0x1234, stop.Fault.Addr)
			require.Equal(t, flags, m.cpu.Flags&uint64(x86.StatusFlags))
			require.EqualValues(t, 77, m.cpu.Regs[emu.RAX])
			// It was fetched, and made no reference.
			require.Equal(t, map[emu.Event]uint64{emu.Ir: 1, emu.I1mr: 1, emu.ILmr: 1}, m.events(codeAt))
		})
	}
}

// TestEarlier has checks in front of an instruction whose flags a jump looks at behind the references: flags are not put
// aside for them, and a fault finds the flags, the registers and what was referred to before as they are there.
func TestEarlier(t *testing.T) {
	for name, tt := range map[string]struct {
		at     emu.Addr
		code   string
		spills bool
		lines  int
		hits   int // of D1
	}{
		"a reference":            {codeAt, "48 39 d1 | 48 89 07 | 72 00 | 31 db | 0f05", false, 1, 0},
		"with a lea between":     {codeAt, "48 39 d1 | 48 8d 1a | 48 89 07 | 72 00 | 31 db | 0f05", false, 1, 0},
		"behind a step of RSP":   {codeAt, "48 83 ec 08 | 48 89 04 24 | 72 00 | 31 db | 0f05", false, 1, 0},
		"of a register just set": {codeAt, "48 39 d1 | 48 8d 3f | 48 89 07 | 72 00 | 31 db | 0f05", true, 1, 0},
		"behind another":         {codeAt, "48 39 d1 | 48 8b 1e | 48 89 07 | 72 00 | 31 db | 0f05", true, 1, 0},
		"the second of two":      {codeAt, "83 e0 03 | ff 34 c7 | 72 00 | 48 89 9f 00 01 00 00 | 31 db | 0f05", true, 1, 0}, // push [rdi+rax*8]
		"a fetch":                {codeAt + 0x40 - 9, "48 89 c6 | 48 39 d1 | 48 89 c3 | 72 00 | 31 db | 0f05", false, 2, 0},
		"behind a bit test":      {codeAt, "09 c8 | 0f a3 cb | 48 89 07 | 72 00 | 31 db | 0f05", true, 1, 1}, // bt ebx, ecx
		"a fetch behind one":     {codeAt + 0x40 - 7, "09 c8 | 0f a3 cb | 48 89 c3 | 72 00 | 31 db | 0f05", true, 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			m := newSimulator(t, "")
			m.poke(tt.at, strings.ReplaceAll(tt.code, "|", ""))
			m.cpu.RIP = tt.at
			m.cpu.Regs[emu.RCX], m.cpu.Regs[emu.RDX], m.cpu.Regs[emu.RDI], m.cpu.Regs[emu.RSI] = 1, 2, uint64(dataAt), uint64(dataAt+0x100)
			m.run(emu.StopSyscall)
			require.EqualValues(t, 1+strings.Count(tt.code, "|"), m.Executed())
			b := m.tbs.at(tt.at)
			require.Equal(t, tt.spills, bytes.Contains(m.arena.mem[b.entry:b.end], []byte{0x9f, 0x0f, 0x90, 0xc0})) // lahf; seto al
			n := map[emu.Event]uint64{}
			m.Collect(0, ^emu.Addr(0), func(_ emu.Addr, ev emu.Event, k uint64) { n[ev] += k })
			require.EqualValues(t, tt.lines, n[emu.I1mr])
			require.EqualValues(t, n[emu.Dr]+n[emu.Dw], n[emu.D1mr]+n[emu.D1mw]+uint64(tt.hits))
		})
	}
	m := newSimulator(t, `
		48 39 d1  # cmp rcx, rdx
		48 89 07  # mov [rdi], rax   of an address that is not mapped
		72 00     # jb over nothing
		0f05      # syscall`)
	m.cpu.Regs[emu.RCX], m.cpu.Regs[emu.RDX], m.cpu.Regs[emu.RDI], m.cpu.Regs[emu.RAX] = 1, 2, 0x1234, 77
	stop := m.Run(m.cpu, emu.NoBudget)
	require.Equal(t, emu.StopFault, stop.Reason)
	require.Equal(t, codeAt+3, m.cpu.RIP)
	require.EqualValues(t, emu.FlagCF|emu.FlagSF|emu.FlagPF|emu.FlagAF, m.cpu.Flags&uint64(x86.StatusFlags))
	require.EqualValues(t, []uint64{77, 0x1234}, []uint64{m.cpu.Regs[emu.RAX], m.cpu.Regs[emu.RDI]})
	require.Equal(t, map[emu.Event]uint64{emu.Ir: 1}, m.events(codeAt+3))
}

// TestOrderOfChecks plans what is simulated of random code that sets flags, looks at them, and refers to memory: fetches and
// references keep the order in which instructions make them, wherever their checks are.
func TestOrderOfChecks(t *testing.T) {
	some := []string{
		"4839d1", "83e003", "09c8", "0fa3cb", "488d1a", "4889c3", "480fbae103", // cmp, and, or, bt, lea, mov, bt imm
		"488b07", "488b461f", "48890424", "ff34c7", "50", "4883ec08", "8b0424", // loads, stores and steps of RSP
		"7200", "7400", "0f92c2", "11d8", // jb and je over nothing, setb, adc
	}
	rng := rand.New(rand.NewPCG(1, 2))
	m := newSimulator(t, "")
	early := 0
	for n := range 400 {
		pc := codeAt + emu.Addr(0x100*(n%8)+rng.IntN(64))
		var code strings.Builder
		for range 1 + rng.IntN(14) {
			code.WriteString(some[rng.IntN(len(some))])
		}
		m.poke(pc, code.String()+"0f05")
		m.Invalidate(pc.PageDown(), pc.PageDown()+emu.PageSize)
		m.flush()
		m.cpu.RIP = pc
		m.cpu.Regs[emu.RSP] = uint64(dataAt + 0x800)
		m.cpu.Regs[emu.RAX], m.cpu.Regs[emu.RDI], m.cpu.Regs[emu.RSI] = 1, uint64(dataAt), uint64(dataAt+0x100)
		m.Run(m.cpu, emu.NoBudget) // to the system call, or a fault
		last, groups := 0, m.groups
		follows := func(at, insn int) {
			require.GreaterOrEqual(t, insn, last, code.String())
			last = insn
			early += b2i(at < insn)
		}
		for i := range m.block {
			if m.fetches(i) {
				follows(i, m.lines[i].insn)
			}
			for ; len(groups) > 0 && groups[0].at == i; groups = groups[1:] {
				for _, ref := range groups[0].refs {
					follows(i, ref.insn)
				}
			}
		}
		require.Empty(t, groups, code.String())
	}
	require.NotZero(t, early)
}

// TestCountingChanges switches between ways of counting in front of a loop's turns.
func TestCountingChanges(t *testing.T) {
	m := newSimulator(t, `
		48 8b 01     # again: mov rax, [rcx]
		48 83 c1 40  # add rcx, 64
		0f 05        # syscall
		eb f5        # jmp again`)
	at := uint64(dataAt)
	m.cpu.Regs[emu.RCX] = at
	turn := func(c emu.Counting) {
		m.SetCounting(c)
		m.cpu.RIP, m.cpu.Regs[emu.RCX] = codeAt, at
		m.run(emu.StopSyscall)
	}
	turn(emu.CountOff)
	require.Empty(t, m.events(codeAt))
	turn(emu.CountAll) // misses: nothing was simulated
	n := m.events(codeAt)
	require.Equal(t, []uint64{1, 1, 1, 1}, []uint64{n[emu.Ir], n[emu.Dr], n[emu.D1mr], n[emu.DLmr]})
	at += 64
	turn(emu.CountNothing)
	require.Empty(t, m.events(codeAt))
	turn(emu.CountAll) // hits: it was simulated
	n = m.events(codeAt)
	require.Equal(t, []uint64{1, 1, 0, 0}, []uint64{n[emu.Ir], n[emu.Dr], n[emu.D1mr], n[emu.DLmr]})
	require.EqualValues(t, 4*3, m.Executed(), "whatever is counted")
}

// TestNewPages stores to pages that are new: each takes one fault of the host, since it is not read first, and half of
// one for what is kept of its lines. A store to one that may not be written to faults after its reference, as always.
func TestNewPages(t *testing.T) {
	const pages = 2048
	m := newSimulator(t, `
		89 07                 # again: mov [rdi], eax
		48 81 c7 00 10 00 00  # add rdi, 4096
		ff c9                 # dec ecx
		75 f3                 # jnz again
		0f 05                 # syscall
		89 06                 # mov [rsi], eax`)
	const at = dataAt + 1<<20
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	require.NoError(t, unix.Prctl(unix.PR_SET_THP_DISABLE, 1, 0, 0, 0)) // one fault would bring 512 pages
	defer unix.Prctl(unix.PR_SET_THP_DISABLE, 0, 0, 0, 0)
	for again := range 2 { // they are new again where others were, whose lines LL has
		require.NoError(t, m.mem.Unmap(at, at+pages*emu.PageSize))
		require.NoError(t, m.mem.Map(mem.VMA{Lo: at, Hi: at + pages*emu.PageSize, Prot: mem.Read | mem.Write}, nil))
		m.cpu.RIP, m.cpu.Regs[emu.RDI], m.cpu.Regs[emu.RCX], m.cpu.Regs[emu.RSI] = codeAt, uint64(at), pages, uint64(codeAt)
		var before, after unix.Rusage
		require.NoError(t, unix.Getrusage(unix.RUSAGE_THREAD, &before))
		m.run(emu.StopSyscall)
		require.NoError(t, unix.Getrusage(unix.RUSAGE_THREAD, &after))
		require.Less(t, after.Minflt-before.Minflt, int64(pages*7/4))
		n := m.events(codeAt)
		require.Equal(t, []uint64{pages, pages, uint64(pages * (1 - again))}, []uint64{n[emu.Dw], n[emu.D1mw], n[emu.DLmw]})
	}

	require.Equal(t, emu.StopFault, m.Run(m.cpu, emu.NoBudget).Reason)
	n := m.events(codeAt + 15)
	require.Equal(t, []uint64{1, 0, 1}, []uint64{n[emu.Ir], n[emu.Dw], n[emu.D1mw]})
}

// TestTouchedPages has the routine for stores know of a page that it has written to until pages are taken away.
func TestTouchedPages(t *testing.T) {
	m := newSimulator(t, `
		89 07  # again: mov [rdi], eax
		0f 05  # syscall
		eb fa  # jmp again`)
	const at = dataAt + 5*touchedPages*emu.PageSize + 7*emu.PageSize
	require.NoError(t, m.mem.Map(mem.VMA{Lo: at, Hi: at + emu.PageSize, Prot: mem.Read | mem.Write}, nil))
	first := int(emu.Addr(at)/emu.PageSize%touchedPages) &^ 7
	known := func() bool { return *m.arena.word(stTouched + first) != 0 }
	m.cpu.RIP = codeAt
	for _, a := range []emu.Addr{at, dataAt, at} {
		m.cpu.Regs[emu.RDI] = uint64(a)
		m.run(emu.StopSyscall)
		require.True(t, known())
	}
	require.NoError(t, m.mem.Discard(at, at+emu.PageSize))
	m.cpu.Regs[emu.RDI] = uint64(dataAt)
	m.run(emu.StopSyscall)
	require.False(t, known())
}

// TestMarks stops in front of marked instructions, once each time they come.
func TestMarks(t *testing.T) {
	m := newMachine(t, `
		b9 03 00 00 00  # mov ecx, 3
		90              # again: nop
		ff c9           # dec ecx
		75 fb           # jnz again
		0f 05           # syscall`)
	again, dec := codeAt+5, codeAt+6
	m.SetMark(again, true)
	for range 3 {
		m.run(emu.StopMark)
		require.Equal(t, again, m.cpu.RIP)
	}
	m.SetMark(dec, true) // in the middle of a block that is there
	m.run(emu.StopMark)
	require.Equal(t, dec, m.cpu.RIP)
	m.SetMark(dec, false)
	m.SetMark(again, false)
	m.run(emu.StopSyscall)
	require.EqualValues(t, 1+3*3+1, m.Executed())
}

// tiny has caches of which a few lines of code and data overflow the sets.
var tiny = cachesim.Config{
	I1: cachesim.Geometry{Size: 256, Assoc: 2, Line: 32},
	D1: cachesim.Geometry{Size: 512, Assoc: 2, Line: 32},
	LL: cachesim.Geometry{Size: 4096, Assoc: 4, Line: 64},
}

// TestReturnFetches has a function evict the line of its call: the code behind the call fetches it again.
func TestReturnFetches(t *testing.T) {
	m := newMachineWith(t, emu.Config{Caches: &tiny, Events: emu.Events(emu.I1mr)}, `
		e8 fb 00 00 00  # call f
		0f 05           # syscall`)
	// Lines 128 bytes apart share a set of two ways.
	m.poke(codeAt+0x100, "e9 7b 00 00 00") // f: jmp f+128
	m.poke(codeAt+0x180, "c3")             // ret
	for run := range 3 {
		m.cpu.RIP = codeAt
		m.run(emu.StopSyscall)
		first := uint64(0)
		if run == 0 {
			first = 1 // later runs find what the syscall fetched
		}
		require.Equal(t, first, m.events(codeAt)[emu.I1mr], "run %d", run)
		require.EqualValues(t, 1, m.events(codeAt + 5)[emu.I1mr], "run %d", run)
		require.EqualValues(t, 1, m.events(codeAt + 0x100)[emu.I1mr], "run %d", run)
	}
}

// TestFlagsOfTheOtherSide has a check in front of a jump whose taken side alone reads the carry flag.
func TestFlagsOfTheOtherSide(t *testing.T) {
	for _, carry := range []uint64{0, emu.FlagCF} {
		t.Run(fmt.Sprintf("%#x", carry), func(t *testing.T) {
			m := newSimulator(t, `
				48 ff c8     # dec rax      leaves the carry flag alone
				56           # push rsi
				75 04        # jnz over
				48 31 c0     # xor rax, rax
				90           # nop
				0f 92 c1     # over: setc cl
				0f 05        # syscall`)
			m.cpu.Regs[emu.RAX], m.cpu.Regs[emu.RCX] = 5, 0
			m.cpu.Flags |= carry
			m.run(emu.StopSyscall)
			require.Equal(t, carry, m.cpu.Regs[emu.R11]&emu.FlagCF)
		})
	}
}

// TestOrderOfLines has blocks that refer to no data touch lines of one set of I1 in turn: which one goes for another
// depends on when they were touched.
func TestOrderOfLines(t *testing.T) {
	caches := cachesim.Default
	caches.I1 = cachesim.Geometry{Size: 128, Assoc: 2, Line: 64}
	m := newMachineWith(t, emu.Config{Caches: &caches, Events: ^emu.EventSet(0)}, `
		48 89 d8  # a: mov rax, rbx
		48 89 cb  # mov rbx, rcx
		48 89 d1  # mov rcx, rdx
		48 89 fa  # mov rdx, rdi
		ff e0     # jmp rax`)
	const a, b, c, end = codeAt, codeAt + 0x40, codeAt + 0x80, codeAt + 0xc0
	m.poke(b, "ff e6") // jmp rsi
	m.poke(c, "ff e6")
	m.poke(end, "0f 05")
	for i := range 3 {
		m.cpu.RIP, m.cpu.Regs[emu.RSI] = a, uint64(a)
		for k, to := range []emu.Addr{b, b, c, end} { // a each time in between: it and b are there, and touched in turn
			m.cpu.Regs[[]int{emu.RBX, emu.RCX, emu.RDX, emu.RDI}[k]] = uint64(to)
		}
		m.run(emu.StopSyscall)
		require.EqualValues(t, b2i(i == 0), m.events(a)[emu.I1mr], "c takes b's place, and the end c's")
		require.EqualValues(t, 1, m.events(b)[emu.I1mr])
		require.EqualValues(t, 1, m.events(c)[emu.I1mr])
	}
}

// TestTooManyWays has caches whose ways have no room for their numbers in a stamp.
func TestTooManyWays(t *testing.T) {
	const ways = tick
	model, err := emu.ModelByName("v3")
	require.NoError(t, err)
	for i := range 3 {
		caches := cachesim.Default
		*[]*cachesim.Geometry{&caches.I1, &caches.D1, &caches.LL}[i] = cachesim.Geometry{Size: 64 * ways, Assoc: ways, Line: 64}
		space, err := mem.New()
		require.NoError(t, err)
		t.Cleanup(func() { space.Close() })
		_, err = New(space, emu.Config{Env: testEnv{}, Model: model, Caches: &caches})
		require.ErrorContains(t, err, "at most 65535")
	}
}

// TestHistoryAtFault has a call fault behind a jump: the branch history has the jump once.
func TestHistoryAtFault(t *testing.T) {
	m := newSimulator(t, `
		85 c9           # test ecx, ecx
		74 01           # jz over: not taken
		90              # nop
		e8 00 00 00 00  # over: call`)
	m.cpu.Regs[emu.RCX], m.cpu.Regs[emu.RSP] = 1, 0x1238
	m.set(stHistory, 2)
	require.Equal(t, emu.StopFault, m.Run(m.cpu, emu.NoBudget).Reason)
	require.Equal(t, codeAt+5, m.cpu.RIP)
	require.Equal(t, outcomes{}.with(false).after(2), m.get(stHistory))
}

// TestHistoryAtRetry has a locked instruction fault, whose branch is never taken: the history gets it when the
// instruction is executed. That is in a mask register where the host has some that the guest, v3, does not have.
func TestHistoryAtRetry(t *testing.T) {
	for _, name := range []string{"v3", "v4"} {
		model, err := emu.ModelByName(name)
		require.NoError(t, err)
		m := newMachineWith(t, emu.Config{Model: model, Branches: true, Events: ^emu.EventSet(0)}, `
			f0 ff 00  # lock inc dword [rax]
			0f 05     # syscall`)
		m.cpu.Regs[emu.RAX] = 0x1234
		m.set(stHistory, 3<<1)
		require.Equal(t, emu.StopFault, m.Run(m.cpu, emu.NoBudget).Reason)
		require.Equal(t, uint64(3<<1), m.get(stHistory))
		m.cpu.Regs[emu.RAX] = uint64(dataAt)
		m.run(emu.StopSyscall)
		require.Equal(t, uint64(6<<1), m.get(stHistory))
	}
}

// TestBudgetBeforeSimulation ends a budget in front of a call: nothing of the call is simulated.
func TestBudgetBeforeSimulation(t *testing.T) {
	m := newSimulator(t, `
		90              # nop
		e8 00 00 00 00  # call next
		0f 05           # syscall`)
	require.Equal(t, emu.StopBudget, m.Run(m.cpu, 1).Reason)
	require.Equal(t, codeAt+1, m.cpu.RIP)
	clock := m.get(stClock)
	require.Empty(t, m.events(codeAt+1))
	require.Equal(t, emu.StopSyscall, m.Run(m.cpu, 1).Reason)
	require.Greater(t, m.get(stClock), clock)
	n := m.events(codeAt + 1)
	require.Equal(t, []uint64{1, 1, 1, 1}, []uint64{n[emu.Ir], n[emu.Dw], n[emu.D1mw], n[emu.DLmw]})
}

// TestWildReferences has references where no memory of the guest can be: behind it, where the stamps of lines would be
// behind their table, and where no address is canonical. They fault, and do nothing to the caches.
func TestWildReferences(t *testing.T) {
	for _, code := range []string{
		"48 8b 01",                      // mov rax, [rcx]
		"41 8a 44 24 02",                // mov al, [r12+2]
		"48 8b 41 03",                   // mov rax, [rcx+3], which is not aligned
		"48 8b 01 48 8b 51 08",          // mov rax, [rcx]; mov rdx, [rcx+8]: one check for both
		"66 41 0f 6f 45 00 66 0f ef c0", // movdqa xmm0, [r13]; pxor xmm0, xmm0
		"48 d7",                         // xlat
		"66 0f 76 d2 c4 e2 e9 93 04 ce", // pcmpeqd xmm2, xmm2; vgatherqpd xmm0, [rsi+xmm1*8], xmm2
	} {
		for _, clock := range []string{"vector", "MMX", "memory"} {
			for _, at := range []uint64{1 << 37, 1<<37 + 1<<33, 1<<46 + 56, 1<<47 - 4096, 1 << 47, 1<<50 + 8, 1 << 62, 1<<63 - 64, -1 << 63 & math.MaxUint64, math.MaxUint64 - 63, math.MaxUint64 - 4095} {
				t.Run(fmt.Sprintf("%s at %#x, %s", code, at, clock), func(t *testing.T) {
					m := newSimulator(t, code+" 0f 05")
					if clock != "vector" {
						m.onLesserHost(clock == "MMX")
					}
					for _, r := range []int{emu.RCX, emu.RSI, emu.RBX, emu.R12, emu.R13} {
						m.cpu.Regs[r] = at
					}
					m.cpu.Regs[emu.RAX] = 0
					stop := m.Run(m.cpu, emu.NoBudget)
					require.Equal(t, emu.StopFault, stop.Reason)
					m.Collect(codeAt, codeAt+16, func(pc emu.Addr, ev emu.Event, n uint64) {
						require.NotContains(t, []emu.Event{emu.Dr, emu.D1mr, emu.DLmr}, ev)
					})
				})
			}
		}
	}
}

// TestDirectoryBesideFlags has so many checks in a row that D1's directory gets a register, and flags that live across some of
// them: these wait in RAX, which nothing else uses.
func TestDirectoryBesideFlags(t *testing.T) {
	m := newSimulator(t, `
		48 8b 0e     # mov rcx, [rsi]
		48 8b 17     # mov rdx, [rdi]
		4c 8b 03     # mov r8, [rbx]
		48 39 d1     # cmp rcx, rdx
		4c 8b 4d 00  # mov r9, [rbp]
		4c 8b 56 08  # mov r10, [rsi+8]
		75 02        # jne over
		0f 05        # syscall
		0f 05        # over: syscall`)
	for i, r := range []int{emu.RSI, emu.RDI, emu.RBX, emu.RBP} {
		m.cpu.Regs[r] = uint64(dataAt) + uint64(0x140*i)
	}
	m.cpu.Regs[emu.RAX] = 77
	// With the flags of equal numbers in its low bits the directory's address would lead from RBP's line to this one.
	const equal = 0x4600
	wrong := (equal - uint64(m.sim.d1.directory.host)&0xffff) / stampSize * 64
	m.sim.d1.touch(m.Engine, m.cpu.Regs[emu.RBP]&^63+wrong)
	for run := range 3 {
		m.cpu.RIP = codeAt
		m.run(emu.StopSyscall)
		require.EqualValues(t, 77, m.cpu.Regs[emu.RAX])
		require.Equal(t, codeAt+24, m.cpu.RIP, "they are equal")
		for _, at := range []emu.Addr{codeAt, codeAt + 3, codeAt + 6, codeAt + 12} {
			n := m.events(at)
			require.Equal(t, []uint64{1, uint64(b2i(run == 0))}, []uint64{n[emu.Dr], n[emu.D1mr]})
		}
	}
}

// TestCallsBesideOneEvent records calls and simulates caches, and counts nothing but instructions: calls do not take the
// clock's register.
func TestCallsBesideOneEvent(t *testing.T) {
	m := newMachineWith(t, emu.Config{Caches: &cachesim.Default, Function: sixteen}, `
		48 8b 01  # mov rax, [rcx]
		0f 05     # syscall`)
	m.cpu.Regs[emu.RCX] = uint64(dataAt)
	for range 3 {
		before := m.get(stClock)
		m.cpu.RIP = codeAt
		m.run(emu.StopSyscall)
		require.Greater(t, m.get(stClock), before)
		require.Zero(t, m.get(stClock)%tick)
	}
}

// TestEmptyLast looks at an empty LL: the way that goes next in a set is the last one, and no line but 0 is there. So it
// stays when its directory is made anew, and is again when lines have been there and are forgotten. What is there stays,
// too, when the directory is made anew.
func TestEmptyLast(t *testing.T) {
	for _, ways := range []int{1, 3, 8, 16, 20} {
		caches := cachesim.Default
		caches.LL = cachesim.Geometry{Size: ways * 64 * 256, Assoc: ways, Line: 64}
		m := newMachineWith(t, emu.Config{Caches: &caches}, "0f 05")
		c := &m.sim.ll
		for range 2 {
			for range 2 {
				requireEmpty(t, m)
				require.NoError(t, m.openDirectories())
			}
			const line = 0x1234 * 64
			require.True(t, c.touch(m.Engine, line))
			require.NoError(t, m.openDirectories())
			require.Equal(t, ways, c.directory.getCell(line/64*uint64(c.cell), c.cell))
			require.False(t, c.touch(m.Engine, line))
			m.closeDirectories()
			m.forgetSimulated()
			require.NoError(t, m.openDirectories())
		}
	}
}

// requireEmpty requires that m's LL, of 256 sets, is empty.
func requireEmpty(t *testing.T, m *machine) {
	t.Helper()
	c, sets := &m.sim.ll, 0
	c.eachSet(m.Engine, func(s lastSet) {
		for i := range c.assoc {
			require.Equal(t, i, s.way(i))
		}
		lines := make([]uint64, c.assoc)
		if sets++; sets == 1 {
			lines[0] = uint64(c.cell)
		}
		require.Equal(t, lines, s.lines)
	})
	require.Equal(t, 256, sets)
	require.Equal(t, 1, c.directory.getCell(0, c.cell))
	require.Zero(t, c.directory.getCell(uint64(c.cell), c.cell))
}
