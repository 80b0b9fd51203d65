package syscalls

import (
	"math"
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// A fileOwner is whom signals about an open file go to (fcntl(2), F_SETOWN): nobody if id is 0.
type fileOwner struct {
	kind uint32
	id   int
	// signal is what they get (F_SETSIG); 0 stands for SIGIO.
	signal uint64
}

// Kinds of owners.
const (
	ownerTID  = 0
	ownerPID  = 1
	ownerPgrp = 2
)

// owns reports whether f belongs to the guest's user. The inode that event files and their kin share is the superuser's.
func (t *Thread) owns(f file) bool {
	st, e := f.stat(t)
	return e == 0 && st.dev != anonDev && st.uid == t.k.uid
}

// fcntlOwner does what fcntl(2) does with the owner of b.
func (t *Thread) fcntlOwner(b *fileBase, cmd int, arg uint64) (uint64, linux.Errno) {
	o := fileOwner{signal: b.owner.signal}
	switch cmd {
	case linux.F_GETOWN:
		if b.owner.kind == ownerPgrp {
			return uint64(-b.owner.id), 0
		}
		return uint64(b.owner.id), 0
	case linux.F_GETOWN_EX:
		var x pack
		x.u32(b.owner.kind)
		x.u32(uint32(b.owner.id))
		return 0, t.copyOut(emu.Addr(arg), x)
	case linux.F_SETOWN:
		o.kind, o.id = ownerPID, int(int32(arg))
		if o.id == math.MinInt32 {
			return 0, linux.EINVAL // there is no such group
		}
		if o.id < 0 {
			o.kind, o.id = ownerPgrp, -o.id
		}
	case linux.F_SETOWN_EX:
		x, e := t.copyIn(emu.Addr(arg), 8)
		if e != 0 {
			return 0, e
		}
		if o.kind, o.id = le32(x), int(int32(le32(x[4:]))); o.kind > ownerPgrp {
			return 0, linux.EINVAL
		}
	}
	if o.id != 0 && !slices.ContainsFunc(t.k.procs, o.owns) {
		return 0, linux.ESRCH
	}
	b.owner = o
	return 0, 0
}

// ownerIoctl answers the requests that are F_SETOWN and F_GETOWN for sockets.
func (t *Thread) ownerIoctl(b *fileBase, req uint32, arg emu.Addr) (uint64, linux.Errno) {
	if req == linux.FIOGETOWN || req == linux.SIOCGPGRP {
		owner, _ := t.fcntlOwner(b, linux.F_GETOWN, 0)
		return 0, t.out32(arg, uint32(owner))
	}
	owner, e := t.in32(arg)
	if e != 0 {
		return 0, e
	}
	return t.fcntlOwner(b, linux.F_SETOWN, uint64(owner))
}

// owns reports whether p is an owner, or has the thread that is.
func (o fileOwner) owns(p *Process) bool {
	switch o.kind {
	case ownerTID:
		return p.thread(o.id) != nil
	case ownerPID:
		return p.pid == o.id
	}
	return p.pgid == o.id
}

// signalOwner sends s to owners. An error says that one of them could not be told.
func (k *Kernel) signalOwner(o fileOwner, s *sigInfo) (e linux.Errno) {
	if o.id == 0 {
		return 0
	}
	for _, p := range k.procs {
		switch {
		case !o.owns(p):
		case o.kind == ownerTID:
			e = max(e, p.thread(o.id).send(s))
		default:
			e = max(e, p.send(s))
		}
	}
	return e
}
