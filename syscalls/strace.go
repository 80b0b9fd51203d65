package syscalls

import (
	"fmt"
	"io"
)

// A tracer writes a line for each system call.
type tracer struct {
	w    io.Writer
	line string
}

func newTracer(w io.Writer) *tracer { return &tracer{w: w} }

func (tr *tracer) enter(t *Thread)                      {}
func (tr *tracer) leave(t *Thread, ret uint64, e Errno) { fmt.Fprintf(tr.w, "%s(%#x, %#x, %#x, %#x, %#x, %#x) = %#x %v\n", t.k.callName(t.call.nr), t.call.args[0], t.call.args[1], t.call.args[2], t.call.args[3], t.call.args[4], t.call.args[5], ret, e.String()) }
func (tr *tracer) signal(t *Thread, s *sigInfo)         { fmt.Fprintf(tr.w, "--- %s ---\n", sigName(int(s.signo))) }
func (tr *tracer) end(k *Kernel)                        {}
func sigName(n int) string                              { return fmt.Sprint(n) }
