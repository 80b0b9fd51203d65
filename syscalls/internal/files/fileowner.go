package files

import (
	"math"
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// A fileOwner is whom signals about an open file go to (fcntl(2), F_SETOWN): nobody if id is 0.
type fileOwner struct {
	kind uint32
	ID   int
	// Signal is what they get (F_SETSIG); 0 stands for SIGIO.
	Signal uint64
}

// Kinds of owners.
const (
	ownerTID  = 0
	ownerPID  = 1
	ownerPgrp = 2
)

// Owns reports whether f belongs to the guest's user. The inode that event files and their kin share is the
// superuser's.
func Owns(t *task.Thread, f File) bool {
	st, e := f.Stat(t)
	return e == 0 && st.Dev != anonDev && st.UID == t.Kernel.UID
}

// FcntlOwner does what fcntl(2) does with the owner of b.
func FcntlOwner(t *task.Thread, b *FileBase, cmd int, arg uint64) (uint64, linux.Errno) {
	o := fileOwner{Signal: b.Owner.Signal}
	switch cmd {
	case linux.F_GETOWN:
		if !b.Owner.there(t.Kernel) {
			return 0, 0
		}
		if b.Owner.kind == ownerPgrp {
			return uint64(-b.Owner.ID), 0
		}
		return uint64(b.Owner.ID), 0
	case linux.F_GETOWN_EX:
		var x linux.Pack
		x.U32(b.Owner.kind)
		if !b.Owner.there(t.Kernel) {
			x.U32(0)
		} else {
			x.U32(uint32(b.Owner.ID))
		}
		return 0, t.CopyOut(emu.Addr(arg), x)
	case linux.F_SETOWN:
		o.kind, o.ID = ownerPID, int(int32(arg))
		if o.ID == math.MinInt32 {
			return 0, linux.EINVAL // there is no such group
		}
		if o.ID < 0 {
			o.kind, o.ID = ownerPgrp, -o.ID
		}
	case linux.F_SETOWN_EX:
		x, e := t.CopyIn(emu.Addr(arg), 8)
		if e != 0 {
			return 0, e
		}
		if o.kind, o.ID = linux.Uint32(x), int(int32(linux.Uint32(x[4:]))); o.kind > ownerPgrp {
			return 0, linux.EINVAL
		}
	}
	if o.ID != 0 && !t.Kernel.Numbered(o.ID) {
		return 0, linux.ESRCH // a number of anything will do
	}
	b.Owner = o
	return 0, 0
}

// there reports whether a process, thread or group is the owner: its number alone may be that of something else.
func (o fileOwner) there(k *task.Kernel) bool {
	return o.kind != ownerPgrp && task.Outside(o.ID) || slices.ContainsFunc(k.Processes, o.owns)
}

// owns reports whether p is an owner, or has the thread that is.
func (o fileOwner) owns(p *task.Process) bool {
	switch o.kind {
	case ownerTID:
		return p.Thread(o.ID) != nil
	case ownerPID:
		return p.PID == o.ID
	}
	return p.PGID == o.ID
}

// SignalOwner sends s to owners. An error says that one of them could not be told.
func SignalOwner(k *task.Kernel, o fileOwner, s *task.SigInfo) (e linux.Errno) {
	if o.ID == 0 {
		return 0
	}
	for _, p := range k.Processes {
		switch {
		case !o.owns(p):
		case o.kind == ownerTID:
			e = max(e, p.Thread(o.ID).Send(s))
		default:
			e = max(e, p.Send(s))
		}
	}
	return e
}
