//go:build linux && amd64

package jit

import (
	"encoding/hex"
	"fmt"
	"math/bits"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/cachesim"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
)

const (
	codeAt    emu.Addr = 0x400000
	dataAt    emu.Addr = 0x500000
	stackAt   emu.Addr = 0x10000000 // its end
	stackSize          = 16 << 20
)

type testEnv struct{}

func (testEnv) TSC() uint64     { return 42 }
func (testEnv) TSCCounts() bool { return false }
func (testEnv) Random() uint64  { return 4 }

// A machine is an engine with code at codeAt, a page of data and a stack.
type machine struct {
	*Engine
	t   *testing.T
	mem *mem.Space
	cpu *emu.CPU
}

// newMachine makes one that runs code, given in hexadecimal with comments after #.
func newMachine(t *testing.T, code string) *machine {
	t.Helper()
	return newMachineWith(t, emu.Config{}, code)
}

// newSimulator makes one that simulates all there is.
func newSimulator(t *testing.T, code string) *machine {
	t.Helper()
	return newMachineWith(t, emu.Config{Caches: &cachesim.Default, Branches: true, Events: ^emu.EventSet(0)}, code)
}

func newMachineWith(t *testing.T, cfg emu.Config, code string) *machine {
	t.Helper()
	space, err := (&mem.Group{SelfChecks: true}).New()
	require.NoError(t, err)
	t.Cleanup(func() { space.Close() })
	if cfg.Env = (testEnv{}); cfg.Model == nil {
		cfg.Model, err = emu.ModelByName("v3")
		require.NoError(t, err)
	}
	e, err := New(space, cfg)
	require.NoError(t, err)
	t.Cleanup(func() { e.Close() })
	space.OnInvalidate(e.Invalidate)
	m := &machine{Engine: e, t: t, mem: space, cpu: emu.NewCPU()}
	require.NoError(t, space.Map(mem.VMA{Lo: codeAt, Hi: codeAt + 0x2000, Prot: mem.Read | mem.Exec}, nil))
	require.NoError(t, space.Map(mem.VMA{Lo: dataAt, Hi: dataAt + 0x1000, Prot: mem.Read | mem.Write}, nil))
	require.NoError(t, space.Map(mem.VMA{Lo: stackAt - stackSize, Hi: stackAt, Prot: mem.Read | mem.Write}, nil))
	m.poke(codeAt, code)
	m.cpu.RIP = codeAt
	m.cpu.Regs[emu.RSP] = uint64(stackAt)
	return m
}

func (m *machine) poke(a emu.Addr, code string) {
	m.t.Helper()
	b := assemble(m.t, code)
	require.Equal(m.t, len(b), m.mem.Poke(a, b))
}

// assemble turns hexadecimal with comments into bytes.
func assemble(t *testing.T, code string) []byte {
	t.Helper()
	var hexes strings.Builder
	for line := range strings.Lines(code) {
		line, _, _ = strings.Cut(line, "#")
		hexes.WriteString(strings.Join(strings.Fields(line), ""))
	}
	b, err := hex.DecodeString(hexes.String())
	require.NoError(t, err)
	return b
}

// run runs to the next stop and requires its reason.
func (m *machine) run(want emu.StopReason) emu.Stop {
	m.t.Helper()
	stop := m.Run(m.cpu, emu.NoBudget)
	require.Equal(m.t, want, stop.Reason, "stop %+v at %v", stop, m.cpu.RIP)
	return stop
}

// counts returns how often each instruction was executed.
func (m *machine) counts() map[emu.Addr]uint64 {
	n := map[emu.Addr]uint64{}
	m.Collect(0, ^emu.Addr(0), func(a emu.Addr, ev emu.Event, k uint64) {
		if ev == emu.Ir {
			n[a] += k
		}
	})
	return n
}

func TestFaultsArePreciseAndCounted(t *testing.T) {
	m := newMachine(t, `
		48 ff c0       # inc rax
		48 01 c3       # add rbx, rax
		48 89 07       # mov [rdi], rax    faults
		48 ff c1       # inc rcx
		eb f2          # jmp codeAt
	`)
	m.cpu.Regs[emu.RDI] = 0x123450
	const rounds = 100_000
	for i := range uint64(rounds) {
		stop := m.run(emu.StopFault)
		require.Equal(t, &emu.Fault{Vector: emu.VecPF, Addr: 0x123450, Write: true}, stop.Fault)
		require.Equal(t, codeAt+6, m.cpu.RIP)
		require.Equal(t, i+1, m.cpu.Regs[emu.RAX])
		require.Equal(t, i, m.cpu.Regs[emu.RCX])
		m.cpu.RIP += 3
	}
	require.Equal(t, uint64(rounds*3+(rounds-1)*2), m.Executed())
	require.Equal(t, map[emu.Addr]uint64{
		codeAt: rounds, codeAt + 3: rounds, codeAt + 6: rounds, codeAt + 9: rounds - 1, codeAt + 12: rounds - 1,
	}, m.counts())
	require.Equal(t, uint64(rounds*5-2), m.Executed(), "collecting changes no sum")
}

func TestFaultInsideRepeatedString(t *testing.T) {
	m := newMachine(t, `
		f3 a4          # rep movsb
		0f 05          # syscall
	`)
	end := uint64(dataAt + 0x1000)
	m.cpu.Regs[emu.RSI], m.cpu.Regs[emu.RDI], m.cpu.Regs[emu.RCX] = uint64(dataAt), end-10, 100
	stop := m.run(emu.StopFault)
	require.Equal(t, emu.Addr(end), stop.Fault.Addr)
	require.Equal(t, end, m.cpu.Regs[emu.RDI], "RDI is a guest address again")
	require.Equal(t, uint64(90), m.cpu.Regs[emu.RCX])
	require.Equal(t, uint64(11), m.Executed(), "ten bytes and the one that faulted")
}

func TestWildTargets(t *testing.T) {
	for _, tt := range []struct {
		name   string
		target uint64
		want   emu.Fault
	}{
		{"null", 0, emu.Fault{Vector: emu.VecPF, Exec: true}},
		{"not executable", uint64(dataAt), emu.Fault{Vector: emu.VecPF, Addr: dataAt, Exec: true}},
		{"not mapped", 0x12345000, emu.Fault{Vector: emu.VecPF, Addr: 0x12345000, Exec: true}},
		{"not canonical", 0x4141414141414141, emu.Fault{Vector: emu.VecGP}},
	} {
		for name, code := range map[string]string{"jmp": "ff e3", "call": "ff d3", "ret": "53 c3"} {
			t.Run(tt.name+" "+name, func(t *testing.T) {
				m := newMachine(t, code)
				m.cpu.Regs[emu.RBX] = tt.target
				m.cpu.Regs[emu.R10], m.cpu.Regs[emu.R11] = 10, 11
				stop := m.run(emu.StopFault)
				require.Equal(t, tt.want, *stop.Fault)
				require.Equal(t, emu.Addr(tt.target), m.cpu.RIP)
				require.Equal(t, []uint64{10, 11}, m.cpu.Regs[emu.R10:emu.R12])
			})
		}
	}
}

func TestSelfModifyingCode(t *testing.T) {
	m := newMachine(t, `
		b9 05 00 00 00          # mov ecx, 5
		# loop:
		ff 05 01 00 00 00       # inc dword [rip+1]     the immediate of the next instruction
		b8 00 00 00 00          # mov eax, 0
		01 c3                   # add ebx, eax
		ff c9                   # dec ecx
		75 ef                   # jne loop
		0f 05                   # syscall
	`)
	require.NoError(t, m.mem.Protect(codeAt, codeAt+0x1000, mem.Read|mem.Write|mem.Exec))
	m.run(emu.StopSyscall)
	require.Equal(t, uint64(1+2+3+4+5), m.cpu.Regs[emu.RBX])
	require.Equal(t, uint64(1+5*5+1), m.Executed())
}

func TestCollectTakesARange(t *testing.T) {
	m := newMachine(t, "48 ff c0 e9 f8 0f 00 00")          // inc rax; jmp 0x401000
	m.poke(codeAt+0x1000, "48 ff c3 48 ff c9 75 f8 0f 05") // inc rbx; dec rcx; jne; syscall
	run := func() {
		m.cpu.RIP, m.cpu.Regs[emu.RCX] = codeAt, 10
		m.run(emu.StopSyscall)
	}
	collect := func(lo, hi emu.Addr) map[emu.Addr]uint64 {
		n := map[emu.Addr]uint64{}
		m.Collect(lo, hi, func(a emu.Addr, _ emu.Event, k uint64) { n[a] += k })
		return n
	}
	run()
	second := map[emu.Addr]uint64{codeAt + 0x1000: 10, codeAt + 0x1003: 10, codeAt + 0x1006: 10, codeAt + 0x1008: 1}
	require.Equal(t, second, collect(codeAt+0x1000, codeAt+0x2000))
	require.Empty(t, collect(codeAt+0x1000, codeAt+0x2000), "they were handed over")
	run()
	require.Equal(t, second, collect(codeAt+0x1000, codeAt+0x2000))
	require.Equal(t, map[emu.Addr]uint64{codeAt: 2, codeAt + 3: 2}, collect(0, ^emu.Addr(0)))
	require.EqualValues(t, 2*(2+31), m.Executed())
}

func TestCodeRewrittenFromOutside(t *testing.T) {
	m := newMachine(t, "b8 01 00 00 00 0f 05")
	m.run(emu.StopSyscall)
	require.EqualValues(t, 1, m.cpu.Regs[emu.RAX])
	m.poke(codeAt+1, "02")
	m.cpu.RIP = codeAt
	m.run(emu.StopSyscall)
	require.EqualValues(t, 2, m.cpu.Regs[emu.RAX])
	require.EqualValues(t, 2, m.counts()[codeAt])
}

// deep calls itself RDI times, then returns all the way.
const deep = `
	48 ff cf       # dec rdi
	78 05          # js out
	e8 f6 ff ff ff # call codeAt
	48 ff c0       # out: inc rax
	c3             # ret
`

func TestDeepRecursion(t *testing.T) {
	m := newMachine(t, deep)
	const depth = stackSize/8 - 100
	m.cpu.Regs[emu.RDI] = depth
	m.cpu.Regs[emu.RSP] -= 8
	end := codeAt + 0x100
	m.poke(end, "0f 05")
	require.True(t, m.mem.WriteUint64(stackAt-8, uint64(end)))
	m.run(emu.StopSyscall)
	require.Equal(t, uint64(depth+1), m.cpu.Regs[emu.RAX])
	require.Equal(t, uint64(stackAt), m.cpu.Regs[emu.RSP])
	require.Equal(t, uint64(depth*5+4+1), m.Executed())
}

func TestReturnsThatSkipFrames(t *testing.T) {
	m := newMachine(t, `
		e8 05 00 00 00 # call f
		48 ff c0       # inc rax
		0f 05          # syscall
		e8 00 00 00 00 # f: call g
		48 83 c4 08    # g: add rsp, 8     the frame of f's call is gone
		c3             # ret
	`)
	for i := range 1000 {
		m.cpu.RIP, m.cpu.Regs[emu.RSP] = codeAt, uint64(stackAt)
		m.cpu.Regs[emu.RAX] = uint64(i)
		m.run(emu.StopSyscall)
		require.Equal(t, uint64(i+1), m.cpu.Regs[emu.RAX])
		require.Equal(t, uint64(stackAt), m.cpu.Regs[emu.RSP])
	}
	require.Equal(t, uint64(1000*6), m.Executed())
}

// TestReturnedFlags returns flags to where no CALL expects a return, past a return site that a call has left there.
func TestReturnedFlags(t *testing.T) {
	for name, set := range map[string]string{
		"stc": "f9", "cmp": "48 39 d8", "bt": "48 0f ba e3 00",
		"popf": "6a 01 9d", "popf; pop rdx": "6a 00 6a 01 9d 5a", // as Go's threads come back when they were preempted
		// Others do so in the block that puts the target on the stack; RDX is 1.
		"push; add": "5b 53 80 c2 ff", "push; sub": "5b 53 83 ea 02", "push; shr": "5b 53 d1 ea", "push; neg": "5b 53 f7 da", "push; stc; inc": "5b 53 f9 ff c2",
		"push; push; pop; inc": "5b 53 52 59 f9 ff c1", "store; sub": "48 89 1c 24 83 ea 02", "push; store; pop; add": "52 48 89 5c 24 08 59 83 c2 ff",
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, `
				e8 12 00 00 00          # call f           the code behind it needs no flags
				31 c0                   # xor eax, eax
				48 8d 1d 03 00 00 00    # lea rbx, [L]
				53                      # push rbx
				eb 07                   # jmp g
				48 83 d0 00             # L: adc rax, 0
				0f 05                   # syscall
				c3                      # f: ret
				`+set+`                 # g: sets the carry flag
				c3                      # ret
			`)
			for range 3 {
				m.cpu.RIP, m.cpu.Regs[emu.RDX] = codeAt, 1
				m.run(emu.StopSyscall)
				require.EqualValues(t, 1, m.cpu.Regs[emu.RAX])
			}
		})
	}
}

// TestPageInFront has a block depend on its own page alone, not on what lies in front of it.
func TestPageInFront(t *testing.T) {
	m := newMachine(t, "e8 fb 0f 00 00 0f 05") // call to the next page; syscall
	m.poke(codeAt+emu.PageSize-1, "9d c3")     // a POPF that is not executed, and a leaf function
	m.run(emu.StopSyscall)
	require.Equal(t, []emu.Addr{codeAt + emu.PageSize}, m.tbs.at(codeAt+emu.PageSize).pages())
}

func TestInterruptEndsLoops(t *testing.T) {
	for name, code := range map[string]string{
		"jmp to itself":  "eb fe",
		"loop":           "48 ff c0 85 c9 74 f9",
		"two blocks":     "48 ff c0 74 03 48 ff c3 eb f6",
		"indirect jump":  "ff e3",
		"call and ret":   "e8 02 00 00 00 eb f9 c3",
		"LOOP":           "48 c7 c1 ff ff ff 7f e2 fe eb f5",
		"indirect calls": "ff d6 ff e3",
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, code)
			m.poke(codeAt+0x80, "c3")
			m.cpu.Regs[emu.RBX], m.cpu.Regs[emu.RSI] = uint64(codeAt), uint64(codeAt+0x80)
			for range 20 {
				go func() {
					time.Sleep(2 * time.Millisecond)
					m.Interrupt()
				}()
				m.run(emu.StopInterrupt)
			}
			require.NotZero(t, m.Executed())
		})
	}
}

// TestLinksBackLieInOneLine has many jumps and calls to the function in front: the displacements that Interrupt changes
// lie in one cache line each, since another core may execute them meanwhile.
func TestLinksBackLieInOneLine(t *testing.T) {
	kinds := []string{"e9", "0f85 e9", "e8"} // jmp; jne and jmp; call
	for name, cfg := range map[string]emu.Config{"as ever": {}, "calls": {Function: sixteen}, "simulation": {Function: sixteen, Branches: true, Events: ^emu.EventSet(0)}} {
		t.Run(name, func(t *testing.T) {
			m := newMachineWith(t, cfg, "0f05 # syscall")
			at := codeAt
			for i := range 500 {
				code := strings.Repeat("90", i%5)
				for branch := range strings.FieldsSeq(kinds[i%len(kinds)]) {
					code += fmt.Sprintf("%s%08x", branch, bits.ReverseBytes32(uint32(-16-len(assemble(t, code+branch))-4)))
				}
				at += 16
				m.poke(at, code)
			}
			m.cpu.RIP = at
			m.run(emu.StopSyscall)
			require.GreaterOrEqual(t, len(m.backEdges), 500)
			for _, x := range m.backEdges {
				require.LessOrEqual(t, x.site()%64, 60, "a branch to %#x", uint64(x.rip))
			}
		})
	}
}

func TestBudget(t *testing.T) {
	const loop = "48 ff c0 48 ff c9 75 f8 0f 05" // inc rax; dec rcx; jne; syscall
	m := newMachine(t, loop)
	m.cpu.Regs[emu.RCX] = 1000
	stops := 0
	for {
		stop := m.Run(m.cpu, 30)
		if stop.Reason == emu.StopSyscall {
			require.EqualValues(t, 30-9*3, stop.Left, "of the jumps that were taken")
			break
		}
		require.Equal(t, emu.StopBudget, stop.Reason)
		require.Negative(t, stop.Left)
		require.Equal(t, codeAt, m.cpu.RIP)
		stops++
	}
	require.Equal(t, uint64(1000), m.cpu.Regs[emu.RAX])
	require.Equal(t, uint64(3001), m.Executed())
	require.Equal(t, 999/11, stops, "a budget of 30 is used up by the eleventh jump of three instructions")
}

// TestUnderRuntimeStress runs guest code while the runtime does its worst: preemption signals,
// profiling signals, collections, stack growth, with guest stack pointers of all kinds.
func TestUnderRuntimeStress(t *testing.T) {
	m := newMachine(t, `
		48 89 e5                # mov rbp, rsp
		48 89 d4                # mov rsp, rdx      any value
		48 69 c0 05 d0 5d 5c    # imul rax, rax, 0x5c5dd005
		48 ff c0                # inc rax
		48 ff c9                # dec rcx
		75 f1                   # jne 6
		48 89 ec                # mov rsp, rbp
		0f 05                   # syscall
	`)
	const loops = 200_000
	want := uint64(7)
	for range loops {
		want = want*0x5c5dd005 + 1
	}
	prof, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	require.NoError(t, pprof.StartCPUProfile(prof))
	defer pprof.StopCPUProfile()
	var stop atomic.Bool
	done := make(chan bool)
	go func() {
		for !stop.Load() {
			unix.Kill(unix.Getpid(), unix.SIGURG)
			runtime.Gosched()
		}
		done <- true
	}()
	go func() {
		for !stop.Load() {
			runtime.GC()
		}
		done <- true
	}()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	lo, hi := signalStackOf(t)
	stacks := []uint64{
		0, 1, 0xdeadbeef, 0x7fffffffe000, ^uint64(0), 1 << 63, uint64(stackAt),
		lo, lo + 64, lo + 2048, (lo + hi) / 2, hi - 64, hi, // within the stack on which the host's signals are handled
	}
	var spoiled runtime.MemStats
	for i := range 400 {
		m.cpu.RIP, m.cpu.Regs[emu.RAX], m.cpu.Regs[emu.RCX] = codeAt, 7, loops
		m.cpu.Regs[emu.RSP], m.cpu.Regs[emu.RDX] = uint64(stackAt), stacks[i%len(stacks)]
		m.run(emu.StopSyscall)
		require.Equal(t, want, m.cpu.Regs[emu.RAX])
		grow(64)
	}
	runtime.ReadMemStats(&spoiled)
	stop.Store(true)
	<-done
	<-done
	require.Equal(t, uint64(400*(2+3*loops+loops+2)), m.Executed())
	require.NotZero(t, spoiled.NumGC)
}

// grow makes the goroutine's stack grow.
func grow(n int) byte {
	var pad [4096]byte
	if n > 0 {
		pad[n] = grow(n - 1)
	}
	return pad[n]
}

func TestFlushKeepsCounts(t *testing.T) {
	m := newMachine(t, deep)
	end := codeAt + 0x100
	m.poke(end, "0f 05")
	require.True(t, m.mem.WriteUint64(stackAt-8, uint64(end)))
	for range 10 {
		m.cpu.RIP, m.cpu.Regs[emu.RSP], m.cpu.Regs[emu.RDI] = codeAt, uint64(stackAt-8), 100
		m.run(emu.StopSyscall)
		m.flush()
	}
	require.Equal(t, uint64(10*(100*5+4+1)), m.Executed())
	require.EqualValues(t, 1010, m.counts()[codeAt])
}

func TestWithoutWritableCode(t *testing.T) {
	mapArena = newDualArena
	defer func() { mapArena = newArena }()
	m := newMachine(t, deep)
	require.True(t, m.arena.dual)
	end := codeAt + 0x100
	m.poke(end, "0f 05")
	require.True(t, m.mem.WriteUint64(stackAt-8, uint64(end)))
	m.cpu.Regs[emu.RSP], m.cpu.Regs[emu.RDI] = uint64(stackAt-8), 100
	m.run(emu.StopSyscall)
	require.EqualValues(t, 101, m.cpu.Regs[emu.RAX])
	require.Equal(t, uint64(100*5+4+1), m.Executed())
}

// TestEnlarge puts the first counters and the first code on huge pages between two runs: nothing of them is lost, and
// it is done once.
func TestEnlarge(t *testing.T) {
	m := newMachine(t, "ff c9 75 fc 0f 05") // dec ecx; jne to it; syscall
	run := func() {
		m.cpu.RIP, m.cpu.Regs[emu.RCX] = codeAt, 10
		m.run(emu.StopSyscall)
	}
	run()
	translated := m.translated
	small := m.arena.small
	m.arena.enlarge(partsInUse{smallUse - 1, smallUse - 1, smallUse - 1, smallUse - 1})
	require.Equal(t, small, m.arena.small)
	m.arena.enlarge(partsInUse{smallUse, smallUse, smallUse, smallUse})
	require.Zero(t, m.arena.small)
	run()
	require.Equal(t, translated, m.translated)
	require.Equal(t, map[emu.Addr]uint64{codeAt: 20, codeAt + 2: 20, codeAt + 4: 2}, m.counts())
}

// TestMeter runs the same with and without metering: what Executed says is the same at every stop.
func TestMeter(t *testing.T) {
	const code = `
		48 89 c1                # codeAt: mov rcx, rax
		83 e1 0f                # and ecx, 15
		f3 a4                   # rep movsb
		48 8b 16                # mov rdx, [rsi]
		b1 03                   # mov cl, 3
		f3 a6                   # repe cmpsb
		48 ff c0                # inc rax
		a8 03                   # test al, 3
		75 04                   # jne +4          a side exit
		f9                      # stc
		48 11 c3                # adc rbx, rax
		73 03                   # jae +3          one whose flags live on
		48 11 c3                # adc rbx, rax
		48 8b 0f                # mov rcx, [rdi]  faults at times
		b9 05 00 00 00          # mov ecx, 5
		48 ff c9                # dec rcx
		75 fb                   # jne -5
		0f 05                   # syscall
	`
	plain, metered := newMachine(t, code), newMachine(t, code)
	metered.added = 1 << 62
	for i := range 300 {
		for _, m := range []*machine{plain, metered} {
			m.cpu.RIP = codeAt
			m.cpu.Regs[emu.RSI], m.cpu.Regs[emu.RDI] = uint64(dataAt), uint64(dataAt)+0x800
			if i%7 == 0 {
				m.cpu.Regs[emu.RDI] = uint64(dataAt) + 0x1000 - uint64(i%5)
			}
			m.Run(m.cpu, emu.NoBudget)
			if i%100 == 50 {
				m.Invalidate(codeAt, codeAt+0x1000)
			}
		}
		require.Equal(t, plain.cpu.RIP, metered.cpu.RIP)
		require.Equal(t, plain.cpu.Regs, metered.cpu.Regs)
		require.Equal(t, plain.Executed(), metered.Executed())
	}
	require.True(t, metered.metered)
	require.False(t, plain.metered)
	require.Equal(t, plain.counts(), metered.counts())
	require.Equal(t, plain.Executed(), metered.Executed(), "collecting changes no sum")
	var sum uint64
	for _, n := range plain.counts() {
		sum += n
	}
	require.Zero(t, sum, "counts are handed over once")
}

// TestFlagsOfSystemCode has each flag of user code set and clear in turn where generated code is entered: what is left
// of the one before is not the guest's.
func TestFlagsOfSystemCode(t *testing.T) {
	m := newMachine(t, "9c 58 0f 05") // pushfq; pop rax; syscall
	const all = emu.UserFlags &^ emu.StepFlags
	for range 3 {
		for _, flags := range []uint64{0, all, emu.FlagID, 0, emu.FlagDF, emu.FlagOF, all &^ emu.FlagOF, all &^ emu.FlagID, emu.FlagCF | emu.FlagSF, all &^ (emu.FlagID | emu.FlagDF), 0} {
			m.cpu.RIP, m.cpu.Regs[emu.RSP], m.cpu.Flags = codeAt, uint64(stackAt), flags
			m.run(emu.StopSyscall)
			require.Equal(t, flags, m.cpu.Regs[emu.RAX]&emu.UserFlags)
			require.Equal(t, flags, m.cpu.Flags&emu.UserFlags)
		}
	}
}
