package funcwatch

import (
	"slices"

	"github.com/cgemu/cgemu/emu"
)

// A goReturn is a call of a Go function: by which goroutine, where its stack pointer was, and what is to happen when it
// comes back.
type goReturn struct {
	goroutine uint64
	sp        emu.Addr
	do        func()
}

// Goroutine tells the goroutine that enters a Go function from all others: Go keeps the address of its descriptor in
// R14 (the Go internal ABI specification, "amd64 architecture").
func (e *Entry) Goroutine() uint64 { return e.CPU.Regs[emu.R14] }

// OnReturn calls do when a Go function that was entered returns. A goroutine may go on in another thread and, when its
// stack has grown, at another stack pointer, so that neither tells whether it has left a function, as for Push they do.
// It reports false, and nothing is done, if it was told of this call before: a thread that was interrupted in front of
// a function enters it again.
func (e *Entry) OnReturn(do func()) bool {
	r := goReturn{e.Goroutine(), e.sp(), do}
	p := e.w.breakpointAt(e.Return())
	if slices.ContainsFunc(p.returns, func(q goReturn) bool { return q.goroutine == r.goroutine && q.sp == r.sp }) {
		return false
	}
	p.returns = append(p.returns, r)
	return true
}

// ForgetReturns forgets all calls of the goroutine: it ends and will not come back from them.
func (e *Entry) ForgetReturns() {
	for _, p := range e.w.breakpoints {
		p.returns = slices.DeleteFunc(p.returns, func(q goReturn) bool { return q.goroutine == e.Goroutine() })
	}
}

// returned deals with the call that comes back where cpu's thread is.
func (p *breakpoint) returned(cpu *emu.CPU) {
	for i := len(p.returns) - 1; i >= 0; i-- {
		if r := p.returns[i]; r.goroutine == cpu.Regs[emu.R14] {
			p.returns = slices.Delete(p.returns, i, i+1)
			p.idle = 0
			r.do()
			return
		}
	}
}
