package syscalls

import "github.com/cgemu/cgemu/emu"

// Flags of clone(2).
const (
	cloneVM           = 0x100
	cloneFS           = 0x200
	cloneFiles        = 0x400
	cloneSighand      = 0x800
	clonePidfd        = 0x1000
	cloneVfork        = 0x4000
	cloneParent       = 0x8000
	cloneThread       = 0x10000
	cloneSysvsem      = 0x40000
	cloneSettls       = 0x80000
	cloneParentSettid = 0x100000
	cloneChildClear   = 0x200000
	cloneDetached     = 0x400000
	cloneChildSettid  = 0x1000000
	cloneNewNS        = 0x20000
	cloneNewUser      = 0x10000000
	cloneNamespaces   = 0x7e020080  // CLONE_NEWTIME, 0x80, is a signal's bit for clone(2)
	cloneClearSighand = 0x100000000 // clone3 alone
	cloneIntoCgroup   = 0x200000000
	clone3Flags       = 0xffffff80&^cloneDetached | cloneClearSighand | cloneIntoCgroup

	// cloneThreadFlags must come together here: what makes a thread.
	cloneThreadFlags = cloneVM | cloneSighand | cloneThread
)

// A cloneArgs has what clone(2) and clone3(2) are told.
type cloneArgs struct {
	flags               uint64
	parentTID, childTID emu.Addr
	stack               uint64 // the new RSP, 0 to keep it
	tls                 uint64
	exitSignal          int
	setTIDSize          uint64
	pidfd               emu.Addr
}

// sysClone implements clone(2).
func sysClone(t *Thread, a Args) (uint64, Errno) {
	const signalMask = 0xff
	return t.clone(cloneArgs{
		flags: uint64(a.U32(0)) &^ signalMask, exitSignal: int(a.Uint(0) & signalMask),
		stack: a.Uint(1), parentTID: a.Addr(2), childTID: a.Addr(3), tls: a.Uint(4), pidfd: a.Addr(2),
	})
}

// sysClone3 implements clone3(2).
func sysClone3(t *Thread, a Args) (uint64, Errno) {
	if t.k.cfg.Compat {
		return 0, ENOSYS // Valgrind 3.19 does not have it; the C library falls back on clone
	}
	const minSize, maxSize = 64, 88
	size := a.Uint(1)
	switch {
	case size < minSize:
		return 0, EINVAL
	case size > emu.PageSize:
		return 0, E2BIG
	}
	b, e := t.copyIn(a.Addr(0), int(size))
	if e != 0 {
		return 0, e
	}
	for _, x := range b[min(len(b), maxSize):] {
		if x != 0 {
			return 0, E2BIG
		}
	}
	b = append(b, make([]byte, maxSize)...)
	if le64(b[32:]) > sigMax {
		return 0, EINVAL
	}
	c := cloneArgs{
		flags: le64(b), childTID: emu.Addr(le64(b[16:])), parentTID: emu.Addr(le64(b[24:])),
		exitSignal: int(le64(b[32:])), tls: le64(b[56:]), setTIDSize: le64(b[72:]), pidfd: emu.Addr(le64(b[8:])),
	}
	if stack, n := le64(b[40:]), le64(b[48:]); stack != 0 || n != 0 {
		if stack == 0 || n == 0 {
			return 0, EINVAL
		}
		c.stack = stack + n
	}
	if c.flags&^clone3Flags != 0 || c.flags&(cloneThread|cloneParent) != 0 && c.exitSignal != 0 || c.setTIDSize != 0 ||
		c.flags&(cloneSighand|cloneClearSighand) == cloneSighand|cloneClearSighand {
		return 0, EINVAL
	}
	if c.flags&cloneIntoCgroup != 0 {
		return 0, EBADF // no file is a cgroup
	}
	return t.clone(c)
}

func (t *Thread) clone(c cloneArgs) (uint64, Errno) {
	switch {
	case c.flags&cloneSighand != 0 && c.flags&cloneVM == 0,
		c.flags&cloneThread != 0 && c.flags&cloneSighand == 0,
		c.flags&cloneFS != 0 && c.flags&(cloneNewNS|cloneNewUser) != 0:
		return 0, EINVAL
	case c.flags&cloneNamespaces != 0, c.flags&cloneSettls != 0 && c.tls >= taskSize:
		return 0, EPERM
	case !t.p.mayClone():
		return 0, EAGAIN
	case c.flags&cloneThreadFlags != cloneThreadFlags:
		return t.fork(c)
	case c.flags&clonePidfd != 0:
		return 0, EINVAL
	}
	o := t.p.newThread(emu.NewCPU())
	t.shareFiles(o, c)
	o.cpu.Copy(t.cpu)
	o.cpu.Regs[emu.RAX] = 0
	o.comm, o.mask, o.timerSlack, o.sched = t.comm, t.mask, t.timerSlack, t.sched.inherited()
	o.defaultSlack, o.keepCaps = t.timerSlack, t.keepCaps
	if c.stack != 0 {
		o.cpu.Regs[emu.RSP] = c.stack
	}
	if c.flags&cloneSettls != 0 {
		o.cpu.FSBase = c.tls
	}
	if c.flags&cloneParentSettid != 0 {
		t.out32(c.parentTID, uint32(o.tid))
	}
	if c.flags&cloneChildSettid != 0 {
		t.out32(c.childTID, uint32(o.tid))
	}
	if c.flags&cloneChildClear != 0 {
		o.clearTID = c.childTID
	}
	t.k.ready = append(t.k.ready, o)
	return uint64(o.tid), 0
}
