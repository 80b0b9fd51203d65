package enginetest

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
)

// A rewritingProgram is functions on pages to which it stores all the time: to other functions, to the one that runs,
// to the instruction that comes next, and beside them; and a loop on another page that calls them.
type rewritingProgram struct {
	steps     []rewritingStep
	functions []int // where each begins, and one behind the last
	data      []byte
}

// A rewritingStep is an instruction, or a few.
type rewritingStep struct {
	*rewritingKind
	at    emu.Addr
	to    int  // the step that it calls or stores to, -1 for the end of its page
	value byte // that it stores, if that is not CL
}

// A rewritingKind is what a step does.
type rewritingKind struct {
	code []byte
	// rel is the offset of the distance to another step, 0 if there is none, from the end of its instruction.
	rel, end int
	// varies is the offset of a byte that others may change to values, or whatever if there are none; 0 if there is
	// none.
	varies int
	values []byte
}

var rewritingKinds = []rewritingKind{
	{code: []byte{0xb8, 1, 0, 0, 0}, varies: 1},                                                              // mov eax, 1
	{code: []byte{0xb8, 0, 0, 2, 0}, varies: 3},                                                              // mov eax, 0x20000
	{code: []byte{0x48, 0x01, 0xc2}, varies: 1, values: []byte{0x01, 0x29, 0x31, 0x89, 0x11, 0x19}},          // add, sub, xor, mov, adc or sbb rdx, rax
	{code: []byte{0x90, 0x90, 0x90}, varies: 1, values: []byte{0x66, 0x90}},                                  // nops, or one of two bytes
	{code: []byte{0xeb, 0, 0x90}, varies: 1, values: []byte{0, 1}},                                           // jmp to a nop or over it
	{code: []byte{0x48, 0x85, 0xc0, 0x74, 3, 0x48, 0xff, 0xc2}, varies: 3, values: []byte{0x74, 0x75, 0xeb}}, // test rax, rax; jz, jnz or jmp over inc rdx
	{code: []byte{0x50, 0x58}}, // push rax; pop rax
	{code: []byte{0x0f, 0xa3, 0xd0, 0x72, 2, 0xff, 0xc0, 0x48, 0x01, 0xc2}, varies: 8, values: []byte{0x01, 0x11, 0x19}}, // the same in front of add, adc or sbb rdx, rax
	{code: []byte{0x0f, 0xa3, 0xd0, 0x72, 2, 0xff, 0xc0}, varies: 6, values: []byte{0xc0, 0xc8}},                         // bt eax, edx; jc over inc or dec eax
}

var (
	rewritingReturn = rewritingKind{code: []byte{0xc3}}
	rewritingStore  = rewritingKind{code: []byte{0x88, 0x0d, 0, 0, 0, 0}, rel: 2, end: 6}       // mov [step], cl
	rewritingSet    = rewritingKind{code: []byte{0xc6, 0x05, 0, 0, 0, 0, 0}, rel: 2, end: 7}    // mov byte [step], value
	rewritingBeside = rewritingKind{code: []byte{0x48, 0x89, 0x15, 0, 0, 0, 0}, rel: 3, end: 7} // mov [the page's end], rdx
	rewritingCall   = rewritingKind{code: []byte{0xe8, 0, 0, 0, 0}, rel: 1, end: 5}
	rewritingEnd    = rewritingKind{code: []byte{0xff, 0xc9, 0x0f, 0x85, 0, 0, 0, 0, 0x0f, 0x0b}, rel: 4, end: 8} // dec ecx; jnz the loop; ud2
)

const (
	rewritingAt   = emu.Addr(0x10000)
	rewritingLoop = rewritingAt + 4*emu.PageSize
)

func newRewritingProgram(r *rand.Rand) *rewritingProgram {
	p := &rewritingProgram{}
	add := func(k *rewritingKind, to int) { p.steps = append(p.steps, rewritingStep{rewritingKind: k, to: to}) }
	for range 1 + r.IntN(9) {
		p.functions = append(p.functions, len(p.steps))
		calls := 0
		for range 2 + r.IntN(25) {
			switch k := r.IntN(10); {
			case k < 2:
				add(&rewritingStore, len(p.steps)+1-r.IntN(6))
			case k == 2:
				add(&rewritingBeside, -1)
			case k == 3 && len(p.functions) > 1 && calls < 2: // of one in front, so that they come to an end
				calls++
				add(&rewritingCall, p.functions[r.IntN(len(p.functions)-1)])
			default:
				add(&rewritingKinds[r.IntN(len(rewritingKinds))], 0)
			}
		}
		add(&rewritingReturn, 0)
	}
	loop := len(p.steps)
	p.functions = append(p.functions, loop)
	for range 1 + r.IntN(6) {
		if r.IntN(2) == 0 {
			add(&rewritingStore, r.IntN(loop))
		}
		add(&rewritingCall, p.functions[r.IntN(len(p.functions)-1)])
	}
	add(&rewritingEnd, loop)
	p.chooseStores(r)
	p.place(r)
	p.encode()
	return p
}

// chooseStores has each step that stores change what may be changed.
func (p *rewritingProgram) chooseStores(r *rand.Rand) {
	for i := range p.steps {
		s := &p.steps[i]
		if s.rewritingKind != &rewritingStore {
			continue
		}
		s.to = max(0, min(s.to, len(p.steps)-1))
		switch to := p.steps[s.to]; {
		case to.varies == 0:
			s.rewritingKind, s.to = &rewritingBeside, -1
		case to.values != nil:
			s.rewritingKind, s.value = &rewritingSet, to.values[r.IntN(len(to.values))]
		}
	}
}

// place puts the functions on pages, some across borders, and the loop on one of its own.
func (p *rewritingProgram) place(r *rand.Rand) {
	at := rewritingAt
	for f, first := range p.functions {
		last := len(p.steps)
		if f == len(p.functions)-1 {
			at = rewritingLoop
		} else if last = p.functions[f+1]; f > 0 && f%3 == 0 {
			at = at.PageUp() - emu.Addr(r.IntN(60))
		}
		for i := first; i < last; i++ {
			p.steps[i].at = at
			at += emu.Addr(len(p.steps[i].code))
		}
	}
}

// encode makes the memory that run maps.
func (p *rewritingProgram) encode() {
	p.data = make([]byte, rewritingLoop+emu.PageSize-rewritingAt)
	for _, s := range p.steps {
		code := p.data[s.at-rewritingAt:]
		copy(code, s.code)
		if s.rel == 0 {
			continue
		}
		target := s.at.PageDown() + emu.PageSize - 0x100
		if s.to >= 0 {
			target = p.steps[s.to].at
		}
		switch s.rewritingKind {
		case &rewritingSet:
			code[6] = s.value
			fallthrough
		case &rewritingStore:
			target += emu.Addr(p.steps[s.to].varies)
		}
		binary.LittleEndian.PutUint32(code[s.rel:], uint32(target-s.at-emu.Addr(s.end)))
	}
}

// run runs p on an engine, and returns how its runs with a budget end. selfChecks says that it need not be told of all
// stores.
func (p *rewritingProgram) run(t *testing.T, u engineUnderTest, budget int64, selfChecks bool) (trail []string, counts map[emu.Event]map[emu.Addr]uint64) {
	const (
		stack = emu.Addr(0x80000)
		turns = 100
	)
	space, err := (&mem.Group{SelfChecks: selfChecks}).New()
	require.NoError(t, err)
	defer space.Close()
	model := leanModel(t)
	if u.tolerates != nil {
		model = u.model(t)
	}
	e, err := u.make(space, model, testEnv{})
	require.NoError(t, err)
	defer e.Close()
	space.OnInvalidate(e.Invalidate)
	end := rewritingAt + emu.Addr(len(p.data))
	require.NoError(t, space.Map(mem.VMA{Lo: rewritingAt, Hi: end, Prot: mem.Read | mem.Write | mem.Exec}, nil))
	require.NoError(t, space.Map(mem.VMA{Lo: stack, Hi: stack + emu.PageSize, Prot: mem.Read | mem.Write}, nil))
	require.Equal(t, len(p.data), space.Poke(rewritingAt, p.data))
	c := emu.NewCPU()
	c.RIP, c.Regs[emu.RCX], c.Regs[emu.RSP] = rewritingLoop, turns, uint64(stack+emu.PageSize)
	for left := budget; ; {
		stop := e.Run(c, uint64(left))
		trail = append(trail, fmt.Sprint(stop.Reason, c.RIP, stop.Left, c.Regs[emu.RAX], c.Regs[emu.RDX], c.Regs[emu.RCX]))
		if left = budget; stop.Reason != emu.StopBudget {
			break
		}
	}
	require.Zero(t, c.Regs[emu.RCX], "it comes to its end")
	counts = map[emu.Event]map[emu.Addr]uint64{}
	e.Collect(0, ^emu.Addr(0), func(a emu.Addr, ev emu.Event, n uint64) {
		if counts[ev] == nil {
			counts[ev] = map[emu.Addr]uint64{}
		}
		counts[ev][a] += n
	})
	return trail, counts
}

// TestRewriting runs programs that rewrite themselves, over and over: engines that translate execute and count what
// interpreters do, and stop where they do.
func TestRewriting(t *testing.T) {
	programs := 40
	if testing.Short() {
		programs = 10
	}
	r := newRand("rewriting")
	for i := range programs {
		p := newRewritingProgram(r)
		for _, budget := range []int64{emu.NoBudget, int64(20 + r.IntN(3000))} {
			want, counts := p.run(t, interpreters[1], budget, false)
			for _, u := range append(lesserEngines, engines...) {
				if u.tolerates != nil && i >= 2 {
					continue // libunicorn translates each time that code is stored to
				}
				got, n := p.run(t, u, budget, u.tolerates == nil)
				where := fmt.Sprintf("%s, program %d, budget %d", u.name, i, budget)
				require.Equal(t, want, got, where)
				if u.simulates {
					require.Equal(t, counts, n, where)
				} else {
					require.Equal(t, counts[emu.Ir], n[emu.Ir], where)
				}
			}
		}
	}
}
