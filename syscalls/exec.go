package syscalls

import (
	"path"
	"strconv"
	"strings"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/loader"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// strings reads a vector of string addresses that ends with null. It takes from room what that takes of the
// program's stack, and ends with E2BIG where there is none left.
func (t *Thread) strings(at emu.Addr, room *uint64) ([]string, linux.Errno) {
	var out []string
	if at == 0 {
		return nil, 0
	}
	for ; ; at += 8 {
		a, e := t.in64(at)
		if e != 0 {
			return nil, e
		}
		if a == 0 {
			return out, 0
		}
		longest := int(min(*room, loader.MaxArg))
		s, ok := t.p.mem.ReadString(emu.Addr(a), longest)
		switch n := uint64(len(s)) + 9; {
		case !ok:
			return nil, linux.EFAULT
		case len(s) >= longest, n > *room:
			return nil, linux.E2BIG
		default:
			*room -= n
		}
		out = append(out, s)
	}
}

// sysExecve implements execve(2).
func sysExecve(t *Thread, a Args) (uint64, linux.Errno) {
	name, e := t.path(a.Addr(0))
	if e != 0 {
		return 0, e
	}
	return t.execve(program{name: name, at: name}, a.Addr(1), a.Addr(2))
}

// sysExecveat implements execveat(2).
func sysExecveat(t *Thread, a Args) (uint64, linux.Errno) {
	name, e := t.path(a.Addr(1))
	if e != 0 {
		return 0, e
	}
	switch {
	case name == "" && a.Int(4)&linux.AT_EMPTY_PATH == 0:
		return 0, linux.ENOENT
	case a.Int(4)&^(linux.AT_EMPTY_PATH|linux.AT_SYMLINK_NOFOLLOW) != 0:
		return 0, linux.EINVAL
	case a.Int(4)&linux.AT_SYMLINK_NOFOLLOW != 0 && name != "":
		if st, e := t.statAt(a.Int(0), a.Addr(1), linux.AT_SYMLINK_NOFOLLOW); e == 0 && st.mode&linux.S_IFMT == linux.S_IFLNK {
			return 0, linux.ELOOP
		}
	}
	p := program{name: name, at: name}
	switch fd := a.Int(0); {
	case name == "" && fd == linux.AT_FDCWD:
		return 0, linux.EACCES // the working directory
	case name == "" || name[0] != '/' && fd != linux.AT_FDCWD:
		if p, e = t.programBelow(fd, name); e != 0 {
			return 0, e
		}
	}
	return t.execve(p, a.Addr(2), a.Addr(3))
}

// A program is what execve(2) and execveat(2) are asked for.
type program struct {
	// name is what the program is told, at where it is found: /dev/fd need not be there.
	name, at string
	// opened says that it is an open file, whose own name the thread gets.
	opened bool
	// closes says that name leads nowhere for an interpreter, since execution closes the descriptor.
	closes bool
}

// programBelow is the program with a name that begins at a descriptor, or that of the descriptor itself.
func (t *Thread) programBelow(fd int, name string) (program, linux.Errno) {
	if _, e := t.file(fd); e != 0 {
		return program{}, e
	}
	below := strconv.Itoa(fd)
	if name != "" {
		below += "/" + name
	}
	return program{name: "/dev/fd/" + below, at: "/proc/thread-self/fd/" + below, opened: name == "", closes: filesOf(t).fds.fds[fd].cloexec}, 0
}

func (t *Thread) execve(p program, argvAt, envvAt emu.Addr) (uint64, linux.Errno) {
	if p.name == "" {
		return 0, linux.ENOENT
	}
	// What is wrong with the program is seen before what is wrong with its arguments.
	f, err := t.openProgram(p.at)
	if err != nil {
		return 0, execErrno(err)
	}
	var start [2]byte
	_, _ = f.ReadAt(start[:], 0)
	f.Close()
	switch {
	case t.k.beingWritten(f.Ino):
		return 0, linux.ETXTBSY
	case p.closes && string(start[:]) == "#!":
		return 0, linux.ENOENT
	}
	room := loader.ArgsLimit(t.p.stackSize())
	argv, e := t.strings(argvAt, &room)
	if e != 0 {
		return 0, e
	}
	envv, e := t.strings(envvAt, &room)
	if e != 0 {
		return 0, e
	}
	x, err := loader.Prepare(func(file string) (*loader.File, error) {
		if file == p.name {
			file = p.at
		}
		return t.openProgram(file)
	}, p.name, argv)
	if err != nil {
		return 0, execErrno(err)
	}
	defer x.Close()
	if err := x.CheckArgs(envv, t.p.stackSize()); err != nil {
		return 0, execErrno(err)
	}
	m, err := t.ownMachine()
	if err != nil {
		return 0, t.k.noMachine("execve", err, linux.ENOMEM)
	}
	// There is no way back from here.
	t.replace(m)
	err = t.p.exec(t, x, envv)
	switch {
	case err != nil:
		t.k.logf("execve: %v", err)
		t.p.end(Exit{Signal: linux.SIGKILL})
	case !t.p.mayMap(0, 0):
		t.p.end(Exit{Signal: linux.SIGSEGV}) // as bprm_execve() does beyond the point of no return
	case p.opened:
		t.setComm(strings.TrimSuffix(path.Base(x.Path()), " (deleted)"))
	}
	return 0, eNoReturn
}

// beingWritten reports whether a process has file ino open for writing: it cannot be executed then. The description that
// memfd_create(2) made does not count.
func (k *Kernel) beingWritten(ino uint64) bool {
	for ft := range k.fdTables() {
		for _, ent := range ft.fds {
			if h, ok := ent.file.(*hostFile); ok && h.ino == ino && h.writable() && !h.isMemfd() {
				return true
			}
		}
	}
	return false
}

// ownMachine returns a machine for t's process if others run on that which it has.
func (t *Thread) ownMachine() (*machine, error) {
	if m := t.p.machine; m.users == 1 && m.owner == t.p {
		return nil, nil
	}
	return t.k.newMachine(t.p, t.p.engine, nil)
}

// replace drops what a new program does not inherit (execve(2), "Effect on process attributes"). It will
// run on m, if that is not nil.
func (t *Thread) replace(m *machine) {
	p := t.p
	for _, o := range p.threads {
		if o != t {
			o.dead = true
			o.files.endCall(t.k)
			t.k.unwait(o)
			t.k.futexForget(o)
			o.releaseLocks()
			o.files.leave(o.k)
		}
	}
	t.releaseLocks()
	for _, o := range p.threads {
		delete(t.k.threads, o.tid)
	}
	p.threads = []*Thread{t}
	t.tid = p.pid
	t.k.threads[t.tid] = t
	p.executed = true
	t.files.exec(t.k)
	own := *p.signals // others may go on with the old one
	p.signals = &own
	p.signals.reset()
	for _, pt := range p.posix {
		pt.stop()
	}
	p.posix = map[uint64]*posixTimer{}
	t.altstack = altStack{flags: t.altstack.flags}
	t.robustList, t.clearTID, t.keepCaps, p.dumpable = 0, 0, 0, 1
	p.membarrier, p.lockFuture = 0, false
	if m == nil {
		p.mem.Unmap(0, p.mem.Limit())
	} else {
		old := p.machine
		p.leave()
		p.use(m)
		t.k.handOver(old, m)
	}
	p.wakeVforker()
}
