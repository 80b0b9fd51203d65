package enginetest

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
)

// A budgetStep is an instruction of a program for TestBudget.
type budgetStep struct {
	kind budgetKind
	at   emu.Addr
	len  int
	to   int // index of where it jumps to
}

// A budgetKind is what an instruction is to a budget.
type budgetKind int

const (
	plainStep   budgetKind = iota // nop
	storeStep                     // writes what is there into the page that holds the program
	startStep                     // mov $2,%ebx
	countStep                     // dec %ebx
	jmpStep                       // forwards
	jzStep                        // forwards
	backStep                      // jnz backwards
	callStep                      // of the next instruction
	jumpIndStep                   // forwards
	pointStep                     // lea of a later instruction, for jumpIndStep
	approxStep                    // rcpps, which generated code leaves on some hosts
	vexStep                       // vpxor, which it leaves for a guest with AVX-512 on a host without
	wideStep                      // vpxord with a prefix of AVX-512
	callsStep                     // syscall
	endStep                       // ud2
)

var budgetLengths = [...]int{plainStep: 1, storeStep: 7, startStep: 5, countStep: 2, jmpStep: 5, jzStep: 6, backStep: 6,
	callStep: 5, jumpIndStep: 2, pointStep: 7, approxStep: 3, vexStep: 4, wideStep: 6, callsStep: 2, endStep: 2}

// A budgetProgram is straight runs of many lengths, in loops.
type budgetProgram struct {
	model *emu.Model
	wide  bool // for a CPU that has AVX-512
	steps []budgetStep
	marks map[emu.Addr]bool
	code  []byte
}

func newBudgetProgram(r *rand.Rand, at emu.Addr, model *emu.Model) *budgetProgram {
	p := &budgetProgram{model: model, wide: model.Has("avx512f"), marks: map[emu.Addr]bool{}}
	add := func(k budgetKind, to int) { p.steps = append(p.steps, budgetStep{kind: k, to: to}) }
	for range 1 + r.IntN(5) {
		add(startStep, 0)
		first, n := len(p.steps), r.IntN(150)
		last := first + n
		for i := first; i < last; i = len(p.steps) {
			to := min(i+2+r.IntN(60), last)
			switch k := r.IntN(100); {
			case k < 3:
				add(storeStep, r.IntN(first))
			case k < 5:
				add(jmpStep, to)
			case k < 8:
				add(jzStep, to)
			case k < 9:
				add(callStep, i+1)
			case k < 10:
				add(pointStep, max(to, i+2))
				add(jumpIndStep, 0)
			case k < 11:
				add(callsStep, 0)
			case k < 12:
				add(approxStep, 0)
			case k < 14 && model.Has("avx"):
				add(vexStep, 0)
			case k < 15 && p.wide:
				add(wideStep, 0)
			default:
				add(plainStep, 0)
			}
		}
		add(countStep, 0)
		add(backStep, first)
	}
	add(endStep, 0)
	for i := range p.steps {
		s := &p.steps[i]
		s.at, s.len = at, budgetLengths[s.kind]
		if p.steps[s.to].kind == jumpIndStep {
			s.to++ // that goes where the lea in front of it says
		}
		at += emu.Addr(s.len)
		if r.IntN(60) == 0 {
			p.marks[s.at] = true
		}
	}
	for _, s := range p.steps {
		p.code = append(p.code, s.encode(p)...)
	}
	return p
}

func (s budgetStep) encode(p *budgetProgram) []byte {
	to := p.steps[s.to].at
	rel := func(op ...byte) []byte {
		return binary.LittleEndian.AppendUint32(op, uint32(to-s.at-emu.Addr(s.len)))
	}
	switch s.kind {
	case storeStep: // mov of the first opcode byte there, which never differs
		return append(rel(0xc6, 0x05), p.code[to-p.steps[0].at])
	case startStep:
		return []byte{0xbb, 2, 0, 0, 0}
	case countStep:
		return []byte{0xff, 0xcb}
	case jmpStep:
		return rel(0xe9)
	case jzStep:
		return rel(0x0f, 0x84)
	case backStep:
		return rel(0x0f, 0x85)
	case callStep:
		return rel(0xe8)
	case pointStep:
		return rel(0x48, 0x8d, 0x05)
	case jumpIndStep:
		return []byte{0xff, 0xe0}
	case approxStep:
		return []byte{0x0f, 0x53, 0xc8}
	case vexStep:
		return []byte{0xc5, 0xf1, 0xef, 0xc9}
	case wideStep:
		return []byte{0x62, 0xf1, 0x75, 0x48, 0xef, 0xc9}
	case callsStep:
		return []byte{0x0f, 0x05}
	case endStep:
		return []byte{0x0f, 0x0b}
	}
	return []byte{0x90}
}

// stops is what emu.Engine's contract says of runs with budgets of n: how each ends.
func (p *budgetProgram) stops(n int64) (stops []string) {
	at, run, left, rax, ebx := 0, 0, n, 0, 0
	passed, zero := false, false
	stop := func(reason emu.StopReason) {
		stops = append(stops, fmt.Sprint(reason, p.steps[at].at, left))
		run = 0
		if left < 0 {
			left = n
		}
	}
	for {
		s := p.steps[at]
		marked := p.marks[s.at]
		if marked && !passed {
			passed = true
			stop(emu.StopMark)
			continue
		}
		passed = false
		run++
		switch s.kind {
		case callStep, jumpIndStep:
			if !marked {
				if left -= int64(run); left < 0 {
					stop(emu.StopBudget)
					continue
				}
			}
			if at, run = s.to, 0; s.kind == jumpIndStep {
				at = rax
			}
			continue
		case jmpStep:
			at, run = s.to, 0
			continue
		case jzStep:
			if run = 0; zero {
				at = s.to
				continue
			}
		case backStep:
			if !zero {
				left -= int64(run)
				at, run = s.to, 0
				if left < 0 {
					stop(emu.StopBudget)
				}
				continue
			}
			run = 0
		case approxStep, wideStep:
			run = 0
		case vexStep:
			if p.wide {
				run = 0
			}
		case callsStep:
			at++
			stop(emu.StopSyscall)
			continue
		case endStep:
			stop(emu.StopFault)
			return stops
		case pointStep:
			rax = s.to
		case startStep:
			ebx = 2
		case countStep:
			ebx--
			zero = ebx == 0
		}
		at++
		run %= emu.MaxRun
	}
}

// TestBudget runs programs with budgets: engines stop where the contract says, also where they write to the
// page they run in, and when they are interrupted.
func TestBudget(t *testing.T) {
	programs := 150
	if testing.Short() {
		programs = 30
	}
	for _, u := range append(lesserEngines, engines...) {
		if u.budget != emu.NoBudget {
			continue // as the same engine without
		}
		for _, interrupted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s interrupted=%v", u.name, interrupted), func(t *testing.T) {
				r := newRand("budgets")
				for i := range programs {
					model := u.model
					if model == nil || u.wide != nil && i%3 == 0 {
						model = u.wide
					}
					p := newBudgetProgram(r, 0x10000+emu.Addr(r.IntN(emu.PageSize)), model(t))
					n := int64(1 + r.IntN(300))
					want, got := p.stops(n), runBudget(t, u, p, n, interrupted)
					for k := range want {
						require.Equal(t, want[:k+1], got[:min(k+1, len(got))], "program %d, budget %d", i, n)
					}
				}
			})
		}
	}
}

// keepInterrupting interrupts e until its result is called.
func keepInterrupting(e emu.Engine) (end func()) {
	var done atomic.Bool
	var ended sync.WaitGroup
	ended.Go(func() {
		for !done.Load() {
			e.Interrupt()
			runtime.Gosched()
		}
	})
	return func() {
		done.Store(true)
		ended.Wait()
	}
}

// runBudget returns how the runs of p end.
func runBudget(t *testing.T, u engineUnderTest, p *budgetProgram, n int64, interrupted bool) (stops []string) {
	const stack = emu.Addr(0x80000)
	space := newSpace(t)
	defer space.Close()
	e, err := u.make(space, p.model, testEnv{})
	require.NoError(t, err)
	defer e.Close()
	space.OnInvalidate(e.Invalidate)
	all := mem.Read | mem.Write | mem.Exec
	require.NoError(t, space.Map(mem.VMA{Lo: 0x10000, Hi: 0x20000, Prot: all}, nil))
	require.NoError(t, space.Map(mem.VMA{Lo: stack, Hi: stack + emu.PageSize, Prot: mem.Read | mem.Write}, nil))
	start := p.steps[0].at
	require.Equal(t, len(p.code), space.Poke(start, p.code))
	for a := range p.marks {
		e.SetMark(a, true)
	}
	if interrupted {
		defer keepInterrupting(e)()
	}
	c := emu.NewCPU()
	c.RIP = start
	c.Regs[emu.RSP] = uint64(stack + emu.PageSize)
	for left := n; ; {
		stop := e.Run(c, uint64(left))
		if left = stop.Left; stop.Reason == emu.StopInterrupt {
			continue
		}
		stops = append(stops, fmt.Sprint(stop.Reason, c.RIP, left))
		if stop.Reason == emu.StopFault {
			return stops
		}
		if left < 0 {
			left = n
		}
	}
}
