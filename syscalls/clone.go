package syscalls

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// Flags of clone(2) and clone3(2) by what they are for.
const (
	cloneNamespaces = 0x7e020080 // CLONE_NEWTIME, 0x80, is a signal's bit for clone(2)
	clone3Flags     = 0xffffff80&^linux.CLONE_DETACHED | linux.CLONE_CLEAR_SIGHAND | linux.CLONE_INTO_CGROUP

	// cloneThreadFlags must come together here: what makes a thread.
	cloneThreadFlags = linux.CLONE_VM | linux.CLONE_SIGHAND | linux.CLONE_THREAD
)

// A cloneArgs has what clone(2) and clone3(2) are told.
type cloneArgs struct {
	flags               uint64
	parentTID, childTID emu.Addr
	stack               uint64 // the new RSP, 0 to keep it
	tls                 uint64
	exitSignal          int
	setTIDSize          uint64
	addPidFile          func(q *Process) linux.Errno // for CLONE_PIDFD
}

// sysClone implements clone(2).
func sysClone(t *Thread, a Args) (uint64, linux.Errno) {
	const signalMask = 0xff
	return t.clone(cloneArgs{
		addPidFile: func(q *Process) linux.Errno { return t.addPidFile(q, a.Addr(2)) },
		flags:      uint64(a.U32(0)) &^ signalMask, exitSignal: int(a.Uint(0) & signalMask),
		stack: a.Uint(1), parentTID: a.Addr(2), childTID: a.Addr(3), tls: a.Uint(4),
	})
}

// sysClone3 implements clone3(2).
func sysClone3(t *Thread, a Args) (uint64, linux.Errno) {
	if t.k.cfg.Compat {
		return 0, linux.ENOSYS // Valgrind 3.19 does not have it; the C library falls back on clone
	}
	const minSize, maxSize = 64, 88
	size := a.Uint(1)
	switch {
	case size < minSize:
		return 0, linux.EINVAL
	case size > emu.PageSize:
		return 0, linux.E2BIG
	}
	b, e := t.copyIn(a.Addr(0), int(size))
	if e != 0 {
		return 0, e
	}
	for _, x := range b[min(len(b), maxSize):] {
		if x != 0 {
			return 0, linux.E2BIG
		}
	}
	b = append(b, make([]byte, maxSize)...)
	if le64(b[32:]) > linux.NSIG {
		return 0, linux.EINVAL
	}
	c := cloneArgs{
		flags: le64(b), childTID: emu.Addr(le64(b[16:])), parentTID: emu.Addr(le64(b[24:])),
		exitSignal: int(le64(b[32:])), tls: le64(b[56:]), setTIDSize: le64(b[72:]),
		addPidFile: func(q *Process) linux.Errno { return t.addPidFile(q, emu.Addr(le64(b[8:]))) },
	}
	if stack, n := le64(b[40:]), le64(b[48:]); stack != 0 || n != 0 {
		if stack == 0 || n == 0 {
			return 0, linux.EINVAL
		}
		c.stack = stack + n
	}
	if c.flags&^clone3Flags != 0 || c.flags&(linux.CLONE_THREAD|linux.CLONE_PARENT) != 0 && c.exitSignal != 0 || c.setTIDSize != 0 ||
		c.flags&(linux.CLONE_SIGHAND|linux.CLONE_CLEAR_SIGHAND) == linux.CLONE_SIGHAND|linux.CLONE_CLEAR_SIGHAND {
		return 0, linux.EINVAL
	}
	if c.flags&linux.CLONE_INTO_CGROUP != 0 {
		return 0, linux.EBADF // no file is a cgroup
	}
	return t.clone(c)
}

func (t *Thread) clone(c cloneArgs) (uint64, linux.Errno) {
	switch {
	case c.flags&linux.CLONE_SIGHAND != 0 && c.flags&linux.CLONE_VM == 0,
		c.flags&linux.CLONE_THREAD != 0 && c.flags&linux.CLONE_SIGHAND == 0,
		c.flags&linux.CLONE_FS != 0 && c.flags&(linux.CLONE_NEWNS|linux.CLONE_NEWUSER) != 0:
		return 0, linux.EINVAL
	case c.flags&cloneNamespaces != 0, c.flags&linux.CLONE_SETTLS != 0 && c.tls >= taskSize:
		return 0, linux.EPERM
	case !t.p.mayClone():
		return 0, linux.EAGAIN
	case c.flags&cloneThreadFlags != cloneThreadFlags:
		return t.fork(c)
	case c.flags&linux.CLONE_PIDFD != 0:
		return 0, linux.EINVAL
	}
	o := t.p.newThread(emu.NewCPU())
	o.files = t.files.share(c.flags)
	o.cpu.Copy(t.cpu)
	o.cpu.Regs[emu.RAX] = 0
	o.comm, o.mask, o.timerSlack, o.sched = t.comm, t.mask, t.timerSlack, t.sched.inherited()
	o.defaultSlack, o.keepCaps = t.timerSlack, t.keepCaps
	if c.stack != 0 {
		o.cpu.Regs[emu.RSP] = c.stack
	}
	if c.flags&linux.CLONE_SETTLS != 0 {
		o.cpu.FSBase = c.tls
	}
	if c.flags&linux.CLONE_PARENT_SETTID != 0 {
		t.out32(c.parentTID, uint32(o.tid))
	}
	if c.flags&linux.CLONE_CHILD_SETTID != 0 {
		t.out32(c.childTID, uint32(o.tid))
	}
	if c.flags&linux.CLONE_CHILD_CLEARTID != 0 {
		o.clearTID = c.childTID
	}
	t.k.ready = append(t.k.ready, o)
	return uint64(o.tid), 0
}
