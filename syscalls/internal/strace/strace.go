package strace

import (
	"fmt"
	"io"
	"strings"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/loader"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// A Tracer writes a line for each system call, as strace(1) does: name, arguments, result. The line is written when the
// call returns, so that it can show what the call has filled in.
type Tracer struct {
	w io.Writer
	// early has the text of calls after which the arguments cannot be read, such as execve(2), by thread.
	early map[*task.Thread]string
	kinds map[string]argKind // argKinds
}

// NewTracer returns a Tracer that writes to w.
func NewTracer(w io.Writer) *Tracer {
	return &Tracer{w: w, early: map[*task.Thread]string{}, kinds: argKinds()}
}

// Enter implements task.Tracer.
func (tr *Tracer) Enter(t *task.Thread) {
	switch t.Kernel.CallName(t.Call.Nr) {
	case "execve", "execveat", "rt_sigreturn":
		tr.early[t] = tr.Format(t, 0, 0)
	case "exit", "exit_group":
		tr.print(t, fmt.Sprintf("%-39s = ?", tr.Format(t, 0, 0)))
	}
}

// Leave implements task.Tracer.
func (tr *Tracer) Leave(t *task.Thread, ret uint64, e linux.Errno) {
	text, ok := tr.early[t]
	delete(tr.early, t)
	switch name := t.Kernel.CallName(t.Call.Nr); {
	case name == "exit" || name == "exit_group":
		return
	case !ok:
		text = tr.Format(t, ret, e)
	}
	tr.print(t, fmt.Sprintf("%-39s = %s", text, resultText(t.Kernel.CallName(t.Call.Nr), ret, e)))
}

// print writes a line. If there are several threads, it begins with the thread's id.
func (tr *Tracer) print(t *task.Thread, line string) {
	if len(t.Kernel.Processes) > 1 || len(t.Process.Threads) > 1 {
		line = fmt.Sprintf("[pid %d] %s", t.TID, line)
	}
	fmt.Fprintln(tr.w, line)
}

// Signal implements task.Tracer.
func (tr *Tracer) Signal(t *task.Thread, s *task.SigInfo) {
	text := fmt.Sprintf("si_signo=%s, si_code=%s", linux.SignalName(int(s.Signo)), codeName(s))
	switch s.Code {
	case linux.SI_USER, linux.SI_TKILL, linux.SI_QUEUE:
		text += fmt.Sprintf(", si_pid=%d, si_uid=%d", linux.Uint32(s.Fields[:]), linux.Uint32(s.Fields[4:]))
	default:
		if s.Signo == linux.SIGCHLD {
			text += fmt.Sprintf(", si_pid=%d, si_uid=%d, si_status=%d, si_utime=%d, si_stime=%d",
				linux.Uint32(s.Fields[:]), linux.Uint32(s.Fields[4:]), linux.Uint32(s.Fields[8:]), linux.Uint64(s.Fields[16:]), linux.Uint64(s.Fields[24:]))
		}
		if s.Fault != nil {
			text += fmt.Sprintf(", si_addr=%#x", linux.Uint64(s.Fields[:]))
		}
	}
	tr.print(t, fmt.Sprintf("--- %s {%s} ---", linux.SignalName(int(s.Signo)), text))
}

// Exited implements task.Tracer.
func (tr *Tracer) Exited(p *task.Process) {
	line := fmt.Sprintf("+++ exited with %d +++", p.Status.Code)
	if p.Status.Signal != 0 {
		line = fmt.Sprintf("+++ killed by %s +++", linux.SignalName(p.Status.Signal))
	}
	tr.print(p.Threads[0], line)
}

// hexResults are the calls that return an address.
var hexResults = map[string]bool{"mmap": true, "brk": true, "mremap": true, "shmat": true}

// resultText shows the result of a call.
func resultText(name string, ret uint64, e linux.Errno) string {
	switch {
	case e == task.ENoReturn && name == "rt_sigreturn":
		return "?"
	case e == task.ENoReturn:
		return "0"
	case e == linux.ERESTARTSYS:
		return "? ERESTARTSYS (To be restarted if SA_RESTART is set)"
	case e == linux.ERESTARTNOHAND:
		return "? ERESTARTNOHAND (To be restarted if no handler)"
	case e == linux.ERESTARTNOINTR:
		return "? ERESTARTNOINTR (To be restarted)"
	case e != 0:
		return fmt.Sprintf("-1 %s (%s)", e.String(), e.Error())
	case hexResults[name]:
		return fmt.Sprintf("%#x", ret)
	}
	return fmt.Sprint(int64(ret))
}

// Format shows the call that t is in, with result ret and error e.
func (tr *Tracer) Format(t *task.Thread, ret uint64, e linux.Errno) string {
	name := t.Kernel.CallName(t.Call.Nr)
	sig, ok := Signatures()[name]
	if !ok {
		if name == task.Unknown.Name {
			name = fmt.Sprintf("syscall_%#x", t.Call.Nr)
		}
		sig = "x x x x x x"
	}
	s := formatter{t: t, kinds: tr.kinds, args: t.Call.Args, ret: ret, failed: e != 0}
	var out []string
	for i, kind := range strings.Fields(sig) {
		s.i = i
		if text := s.arg(kind); text != "" {
			out = append(out, text)
		}
	}
	return name + "(" + strings.Join(out, ", ") + ")"
}

// FormatWaiting shows the call that t waits in: nothing that it has still to fill in.
func FormatWaiting(t *task.Thread) string { return NewTracer(nil).Format(t, 0, linux.EINTR) }

// A formatter shows the arguments of one call; argument i is the present one.
type formatter struct {
	t      *task.Thread
	kinds  map[string]argKind
	args   uio.Args
	ret    uint64
	failed bool
	i      int
}

// arg shows argument i as of the given kind. "" leaves it out.
func (s *formatter) arg(kind string) string {
	v := s.args[s.i]
	if set, ok := flagSets()[kind]; ok {
		return set.show(v)
	}
	if f, ok := s.kinds[kind]; ok {
		return f(s, v)
	}
	panic("BUG: no kind of argument " + kind)
}

// An argKind shows an argument v.
type argKind func(s *formatter, v uint64) string

// argKinds returns the ways to show an argument, by the names that Signatures use. Names that are not here are sets of
// flags, in flagSets.
func argKinds() map[string]argKind {
	return map[string]argKind{
		"d":       func(_ *formatter, v uint64) string { return fmt.Sprint(int32(v)) },
		"ld":      func(_ *formatter, v uint64) string { return fmt.Sprint(int64(v)) },
		"lu":      func(_ *formatter, v uint64) string { return fmt.Sprint(v) },
		"x":       func(_ *formatter, v uint64) string { return hex(v) },
		"ptr":     func(_ *formatter, v uint64) string { return pointer(v) },
		"fd":      func(_ *formatter, v uint64) string { return fmt.Sprint(int32(v)) },
		"at":      (*formatter).at,
		"path":    func(s *formatter, v uint64) string { return s.str(v) },
		"str":     func(s *formatter, v uint64) string { return s.str(v) },
		"in":      (*formatter).in,
		"out":     (*formatter).out,
		"iov":     (*formatter).iov,
		"mode":    func(_ *formatter, v uint64) string { return fmt.Sprintf("%#o", uint32(v)) },
		"cmode":   (*formatter).createMode,
		"argv":    (*formatter).argv,
		"envv":    (*formatter).envv,
		"stat":    (*formatter).stat,
		"ts":      (*formatter).timespec,
		"tv":      (*formatter).timeval,
		"fds":     (*formatter).fds,
		"signo":   func(_ *formatter, v uint64) string { return linux.SignalName(int(int32(v))) },
		"sigset":  (*formatter).sigset,
		"sigact":  (*formatter).sigaction,
		"uname":   (*formatter).uname,
		"rlim":    (*formatter).rlimit,
		"pollfds": (*formatter).pollfds,
		"futexop": (*formatter).futexOp,
		"futex3":  (*formatter).futexArg,
		"futex4":  (*formatter).futexArg,
		"futex5":  (*formatter).futexArg,
	}
}

func pointer(v uint64) string {
	if v == 0 {
		return "NULL"
	}
	return fmt.Sprintf("%#x", v)
}

func hex(v uint64) string {
	if v == 0 {
		return "0"
	}
	return fmt.Sprintf("%#x", v)
}

func (s *formatter) at(v uint64) string {
	if int32(v) == linux.AT_FDCWD {
		return "AT_FDCWD"
	}
	return fmt.Sprint(int32(v))
}

// str shows the string at v.
func (s *formatter) str(v uint64) string {
	text, ok := s.t.Process.Mem.ReadString(emu.Addr(v), linux.PATH_MAX)
	if v == 0 || !ok {
		return pointer(v)
	}
	return quote([]byte(text), len(text))
}

// showBytes is how much of a buffer is shown (strace -s).
const showBytes = 32

// quote shows b as a C string; n is how long the whole is.
func quote(b []byte, n int) string {
	var out strings.Builder
	out.WriteByte('"')
	for i, c := range b {
		switch {
		case c == '\n':
			out.WriteString(`\n`)
		case c == '\t':
			out.WriteString(`\t`)
		case c == '\r':
			out.WriteString(`\r`)
		case c == '"' || c == '\\':
			out.WriteByte('\\')
			out.WriteByte(c)
		case c >= 32 && c < 127:
			out.WriteByte(c)
		case i+1 < len(b) && b[i+1] >= '0' && b[i+1] <= '9':
			fmt.Fprintf(&out, `\%03o`, c)
		default:
			fmt.Fprintf(&out, `\%o`, c)
		}
	}
	out.WriteByte('"')
	if n > len(b) {
		out.WriteString("...")
	}
	return out.String()
}

// buffer shows n bytes at a.
func (s *formatter) buffer(a, n uint64) string {
	b := make([]byte, min(n, showBytes))
	if s.t.Process.Mem.Read(emu.Addr(a), b) < len(b) {
		return pointer(a)
	}
	return quote(b, int(n))
}

// in shows a buffer that the call reads, whose length is the next argument.
func (s *formatter) in(v uint64) string { return s.buffer(v, s.args[s.i+1]) }

// out shows a buffer that the call has filled with as many bytes as it returned.
func (s *formatter) out(v uint64) string {
	if s.failed {
		return pointer(v)
	}
	return s.buffer(v, s.ret)
}

func (s *formatter) iov(v uint64) string {
	vec, e := s.t.Iovecs(emu.Addr(v), min(s.args[s.i+1], 16))
	if e != 0 {
		return pointer(v)
	}
	var out []string
	for _, x := range vec {
		out = append(out, fmt.Sprintf("{iov_base=%s, iov_len=%d}", s.buffer(uint64(x.Addr), x.Len), x.Len))
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// createMode shows a mode if the flags, which are the argument before, may create a file.
func (s *formatter) createMode(v uint64) string {
	if flags := s.args[s.i-1]; flags&linux.O_CREAT == 0 && flags&linux.O_TMPFILE != linux.O_TMPFILE {
		return ""
	}
	return fmt.Sprintf("%#o", uint32(v))
}

func (s *formatter) argv(v uint64) string {
	room := loader.ArgsLimit(s.t.Process.StackSize())
	list, e := s.t.CopyInVector(emu.Addr(v), &room)
	if e != 0 {
		return pointer(v)
	}
	var out []string
	for _, a := range list[:min(len(list), showBytes)] {
		out = append(out, quote([]byte(a)[:min(len(a), showBytes)], len(a)))
	}
	if len(list) > showBytes {
		out = append(out, "...")
	}
	return "[" + strings.Join(out, ", ") + "]"
}

func (s *formatter) envv(v uint64) string {
	room := loader.ArgsLimit(s.t.Process.StackSize())
	list, e := s.t.CopyInVector(emu.Addr(v), &room)
	if e != 0 {
		return pointer(v)
	}
	unit := "vars"
	if len(list) == 1 {
		unit = "var"
	}
	return fmt.Sprintf("%#x /* %d %s */", v, len(list), unit)
}

// read reads n bytes that the call has filled in; false if it failed.
func (s *formatter) read(v uint64, n int) ([]byte, bool) {
	if v == 0 || s.failed {
		return nil, false
	}
	b, e := s.t.CopyIn(emu.Addr(v), n)
	return b, e == 0
}

func (s *formatter) stat(v uint64) string {
	b, ok := s.read(v, 144)
	if !ok {
		return pointer(v)
	}
	mode := linux.Uint32(b[24:])
	types := map[uint32]string{
		linux.S_IFREG: "S_IFREG", linux.S_IFDIR: "S_IFDIR", linux.S_IFLNK: "S_IFLNK", linux.S_IFCHR: "S_IFCHR", linux.S_IFBLK: "S_IFBLK", linux.S_IFIFO: "S_IFIFO", linux.S_IFSOCK: "S_IFSOCK",
	}
	what := fmt.Sprintf("st_size=%d", linux.Uint64(b[48:]))
	if t := mode & linux.S_IFMT; t == linux.S_IFCHR || t == linux.S_IFBLK {
		what = fmt.Sprintf("st_rdev=makedev(%#x, %#x)", linux.Major(linux.Uint64(b[40:])), linux.Minor(linux.Uint64(b[40:])))
	}
	return fmt.Sprintf("{st_mode=%s|%#04o, %s, ...}", types[mode&linux.S_IFMT], mode&^linux.S_IFMT, what)
}

func (s *formatter) timespec(v uint64) string {
	b, e := s.t.CopyIn(emu.Addr(v), 16)
	if v == 0 || e != 0 {
		return pointer(v)
	}
	return fmt.Sprintf("{tv_sec=%d, tv_nsec=%d}", int64(linux.Uint64(b)), int64(linux.Uint64(b[8:])))
}

func (s *formatter) timeval(v uint64) string {
	b, e := s.t.CopyIn(emu.Addr(v), 16)
	if v == 0 || e != 0 {
		return pointer(v)
	}
	return fmt.Sprintf("{tv_sec=%d, tv_usec=%d}", int64(linux.Uint64(b)), int64(linux.Uint64(b[8:])))
}

func (s *formatter) fds(v uint64) string {
	b, ok := s.read(v, 8)
	if !ok {
		return pointer(v)
	}
	return fmt.Sprintf("[%d, %d]", int32(linux.Uint32(b)), int32(linux.Uint32(b[4:])))
}

func (s *formatter) sigset(v uint64) string {
	x, e := s.t.In64(emu.Addr(v))
	if v == 0 || e != 0 {
		return pointer(v)
	}
	return task.SigSet(x).String()
}

func (s *formatter) sigaction(v uint64) string {
	b, e := s.t.CopyIn(emu.Addr(v), 32)
	if v == 0 || e != 0 {
		return pointer(v)
	}
	h := fmt.Sprintf("%#x", linux.Uint64(b))
	switch linux.Uint64(b) {
	case linux.SIG_DFL:
		h = "SIG_DFL"
	case linux.SIG_IGN:
		h = "SIG_IGN"
	}
	flags := linux.Uint64(b[8:])
	out := fmt.Sprintf("{sa_handler=%s, sa_mask=%s, sa_flags=%s", h, task.SigSet(linux.Uint64(b[24:])), flagSets()["saflags"].show(flags))
	if flags&linux.SA_RESTORER != 0 {
		out += fmt.Sprintf(", sa_restorer=%#x", linux.Uint64(b[16:]))
	}
	return out + "}"
}

func (s *formatter) uname(v uint64) string {
	b, ok := s.read(v, 130)
	if !ok {
		return pointer(v)
	}
	field := func(i int) string { return quote([]byte(strings.TrimRight(string(b[65*i:65*i+65]), "\x00")), 0) }
	return fmt.Sprintf("{sysname=%s, nodename=%s, ...}", field(0), field(1))
}

func (s *formatter) rlimit(v uint64) string {
	b, ok := s.read(v, 16)
	if !ok {
		return pointer(v)
	}
	show := func(x uint64) string {
		if x == linux.RLIM_INFINITY {
			return "RLIM64_INFINITY"
		}
		if x != 0 && x%1024 == 0 {
			return fmt.Sprintf("%d*1024", x/1024)
		}
		return fmt.Sprint(x)
	}
	return fmt.Sprintf("{rlim_cur=%s, rlim_max=%s}", show(linux.Uint64(b)), show(linux.Uint64(b[8:])))
}

func (s *formatter) pollfds(v uint64) string {
	n := min(s.args[s.i+1], 16)
	b, e := s.t.CopyIn(emu.Addr(v), int(n)*8)
	if e != 0 {
		return pointer(v)
	}
	var out []string
	for ; len(b) > 0; b = b[8:] {
		out = append(out, fmt.Sprintf("{fd=%d, events=%s}", int32(linux.Uint32(b)), flagSets()["pollev"].show(uint64(linux.Uint16(b[4:])))))
	}
	return "[" + strings.Join(out, ", ") + "]"
}

func (s *formatter) futexOp(v uint64) string {
	names := []string{
		"FUTEX_WAIT", "FUTEX_WAKE", "FUTEX_FD", "FUTEX_REQUEUE", "FUTEX_CMP_REQUEUE", "FUTEX_WAKE_OP", "FUTEX_LOCK_PI",
		"FUTEX_UNLOCK_PI", "FUTEX_TRYLOCK_PI", "FUTEX_WAIT_BITSET", "FUTEX_WAKE_BITSET", "FUTEX_WAIT_REQUEUE_PI",
		"FUTEX_CMP_REQUEUE_PI", "FUTEX_LOCK_PI2",
	}
	op := v &^ (linux.FUTEX_PRIVATE_FLAG | linux.FUTEX_CLOCK_REALTIME)
	if op >= uint64(len(names)) {
		return fmt.Sprintf("%#x", v)
	}
	text := names[op]
	if v&linux.FUTEX_PRIVATE_FLAG != 0 {
		text += "_PRIVATE"
	}
	if v&linux.FUTEX_CLOCK_REALTIME != 0 {
		text += "|FUTEX_CLOCK_REALTIME"
	}
	return text
}

// futexArg shows an argument of futex(2) that not all operations have.
func (s *formatter) futexArg(v uint64) string {
	switch op := s.args[1] &^ (linux.FUTEX_PRIVATE_FLAG | linux.FUTEX_CLOCK_REALTIME); {
	case s.i == 3 && (op == linux.FUTEX_WAIT || op == linux.FUTEX_WAIT_BITSET):
		return s.timespec(v)
	case op == linux.FUTEX_LOCK_PI || op == linux.FUTEX_LOCK_PI2:
		if s.i == 3 {
			return s.timespec(v)
		}
		return ""
	case op == linux.FUTEX_WAKE || op == linux.FUTEX_UNLOCK_PI || op == linux.FUTEX_TRYLOCK_PI || op == linux.FUTEX_WAIT || op == linux.FUTEX_WAKE_BITSET && s.i < 5:
		return ""
	}
	return pointer(v)
}
