package syscalls

import (
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// A terminal is what job control knows of one.
type terminal struct {
	// sid is the session that it controls, 0 for none, pgid the process group in the foreground.
	sid, pgid int
	// dev is the device's number, 0 for a console that is not there.
	dev uint64
}

// signalGroup sends a signal of the kernel's to all of a process group.
func (k *Kernel) signalGroup(pgid, sig int) {
	for _, p := range slices.Clone(k.procs) {
		if p.pgid == pgid {
			p.send(&sigInfo{signo: int32(sig), code: linux.SI_KERNEL})
		}
	}
}

// orphaned reports whether nobody watches over a process group: "the parent of every member is either itself a member
// of the group or is not a member of the group's session" - POSIX. The shell that started the first process does.
func (k *Kernel) orphaned(pgid int) bool {
	return !slices.ContainsFunc(k.procs, func(p *Process) bool {
		up := p.parent
		switch {
		case p.pgid != pgid || p.exited:
			return false
		case up == nil:
			return p == k.first && p.sid == p.pid
		}
		return !up.exited && up.pgid != pgid && up.sid == p.sid
	})
}

// hasStopped reports whether a process group has a member that is stopped.
func (k *Kernel) hasStopped(pgid int) bool {
	return slices.ContainsFunc(k.procs, func(p *Process) bool { return p.pgid == pgid && p.stopped })
}

// leaveGroups is called when p has ended, before its children get another parent: groups that were
// watched over by p and are stopped would stay so. It returns what wakes them afterwards.
func (p *Process) leaveGroups() (after func()) {
	k := p.k
	var groups []int
	for _, o := range append(p.children(), p) {
		if !slices.Contains(groups, o.pgid) && k.hasStopped(o.pgid) {
			groups = append(groups, o.pgid)
		}
	}
	return func() {
		for _, pgid := range groups {
			if k.orphaned(pgid) {
				k.signalGroup(pgid, linux.SIGHUP)
				k.signalGroup(pgid, linux.SIGCONT)
			}
		}
	}
}

// leaveSession is called when p has ended: the session loses its terminal with its leader.
func (p *Process) leaveSession() {
	tty := p.tty
	if tty == nil || p.sid != p.pid || tty == &p.k.console {
		return
	}
	pgid := tty.pgid
	p.k.disown(tty)
	p.k.signalGroup(pgid, linux.SIGHUP)
}

// disown makes a terminal control no session.
func (k *Kernel) disown(tty *terminal) {
	tty.sid, tty.pgid = 0, 0
	for _, p := range k.procs {
		if p.tty == tty {
			p.tty = nil
		}
	}
}

// mayUse is what keeps t from reading (sig is SIGTTIN) or changing (SIGTTOU) a terminal: it belongs to those in
// the foreground. (drivers/tty/tty_jobctrl.c, __tty_check_change; n_tty.c, job_control.)
func (t *Thread) mayUse(tty *terminal, sig int) linux.Errno {
	p := t.p
	if p.tty != tty || p.pgid == tty.pgid {
		return 0
	}
	switch deaf := t.mask.has(sig) || p.signals[sig].handler == linux.SIG_IGN; {
	case deaf && sig == linux.SIGTTIN:
		return linux.EIO
	case deaf:
		return 0
	case t.k.orphaned(p.pgid):
		return linux.EIO
	}
	t.k.signalGroup(p.pgid, sig)
	if !p.stopped && !t.hasSignal() {
		return linux.EIO // the last that runs is not stopped
	}
	return linux.ERESTARTSYS
}

// control makes tty t's controlling terminal.
func (t *Thread) control(tty *terminal) {
	t.p.tty = tty
	tty.sid, tty.pgid = t.p.sid, t.p.pgid
}

// jobRequest does what requests about a terminal's session and process group ask for; master says that
// they came over a pseudoterminal's other end. It returns false for other requests.
func (t *Thread) jobRequest(tty *terminal, master bool, req uint32, arg emu.Addr) (linux.Errno, bool) {
	own := t.p.tty == tty
	switch req {
	case linux.TIOCGPGRP:
		if !own && !master {
			return linux.ENOTTY, true
		}
		return t.out32(arg, uint32(tty.pgid)), true
	case linux.TIOCGSID:
		if !own && !master || tty.sid == 0 {
			return linux.ENOTTY, true
		}
		return t.out32(arg, uint32(tty.sid)), true
	case linux.TIOCSPGRP:
		switch e := t.mayUse(tty, linux.SIGTTOU); e {
		case 0:
			return t.foreground(tty, arg), true
		case linux.EIO:
			return linux.ENOTTY, true
		default:
			return e, true
		}
	case linux.TIOCSCTTY:
		switch {
		case own && t.p.sid == t.p.pid:
			return 0, true
		case t.p.sid != t.p.pid || t.p.tty != nil || tty.sid != 0:
			return linux.EPERM, true
		}
		t.control(tty)
		return 0, true
	case linux.TIOCNOTTY:
		if !own {
			return linux.ENOTTY, true
		}
		t.p.tty = nil
		if t.p.sid == t.p.pid {
			t.k.signalGroup(tty.pgid, linux.SIGHUP)
			t.k.signalGroup(tty.pgid, linux.SIGCONT)
			t.k.disown(tty)
		}
		return 0, true
	}
	return 0, false
}

// foreground is tcsetpgrp(3).
func (t *Thread) foreground(tty *terminal, arg emu.Addr) linux.Errno {
	if t.p.tty != tty || tty.sid != t.p.sid {
		return linux.ENOTTY
	}
	pgid, e := t.in32(arg)
	if e != 0 {
		return e
	}
	if int32(pgid) < 0 {
		return linux.EINVAL
	}
	e = linux.ESRCH
	for _, p := range t.k.procs {
		if p.pgid != int(pgid) {
			continue
		}
		if p.sid == t.p.sid {
			tty.pgid = p.pgid
			return 0
		}
		e = linux.EPERM
	}
	return e
}
