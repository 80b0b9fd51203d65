package task

import (
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// A Terminal is what job control knows of a terminal.
type Terminal struct {
	// SID is the session that the terminal controls, PGID the process group in its foreground. Both are 0 if there is
	// none.
	SID, PGID int
	// Dev is the device number, 0 for the console if cgemu has none.
	Dev uint64
}

// SignalGroup sends a signal from the kernel to all processes of a group.
func (k *Kernel) SignalGroup(pgid, sig int) {
	for _, p := range slices.Clone(k.Processes) {
		if p.PGID == pgid {
			p.Send(&SigInfo{Signo: int32(sig), Code: linux.SI_KERNEL})
		}
	}
}

// orphaned reports whether a process group is orphaned: "the parent of every member is either itself a member of the
// group or is not a member of the group's session" (POSIX). The shell that started the first process counts as such a
// parent.
func (k *Kernel) orphaned(pgid int) bool {
	return !slices.ContainsFunc(k.Processes, func(p *Process) bool {
		up := p.Parent
		switch {
		case p.PGID != pgid || p.Exited:
			return false
		case up == nil:
			return p == k.First && p.SID == p.PID
		}
		return !up.Exited && up.PGID != pgid && up.SID == p.SID
	})
}

// hasStopped reports whether a member of a process group is stopped.
func (k *Kernel) hasStopped(pgid int) bool {
	return slices.ContainsFunc(k.Processes, func(p *Process) bool { return p.PGID == pgid && p.Stopped })
}

// leaveGroups is called when p has ended, before its children get another parent. after wakes the stopped groups that
// p's end has orphaned, as nobody else would.
func (p *Process) leaveGroups() (after func()) {
	k := p.Kernel
	var groups []int
	for _, o := range append(p.Children(), p) {
		if !slices.Contains(groups, o.PGID) && k.hasStopped(o.PGID) {
			groups = append(groups, o.PGID)
		}
	}
	return func() {
		for _, pgid := range groups {
			if k.orphaned(pgid) {
				k.SignalGroup(pgid, linux.SIGHUP)
				k.SignalGroup(pgid, linux.SIGCONT)
			}
		}
	}
}

// leaveSession is called when p has ended. If p led a session, the session loses its terminal.
func (p *Process) leaveSession() {
	tty := p.Tty
	if tty == nil || p.SID != p.PID || tty == &p.Kernel.Console {
		return
	}
	pgid := tty.PGID
	p.Kernel.DetachTerminal(tty)
	p.Kernel.SignalGroup(pgid, linux.SIGHUP)
}

// DetachTerminal makes tty control no session.
func (k *Kernel) DetachTerminal(tty *Terminal) {
	tty.SID, tty.PGID = 0, 0
	for _, p := range k.Processes {
		if p.Tty == tty {
			p.Tty = nil
		}
	}
}

// CheckJobControl is the error of t's attempt to read from a terminal (sig is SIGTTIN) or to change it (SIGTTOU): a
// process in the background is stopped by sig, or gets EIO (drivers/tty/tty_jobctrl.c, __tty_check_change; n_tty.c,
// job_control).
func (t *Thread) CheckJobControl(tty *Terminal, sig int) linux.Errno {
	p := t.Process
	if p.Tty != tty || p.PGID == tty.PGID {
		return 0
	}
	switch deaf := t.Mask.Has(sig) || p.Signals[sig].Handler == linux.SIG_IGN; {
	case deaf && sig == linux.SIGTTIN:
		return linux.EIO
	case deaf:
		return 0
	case t.Kernel.orphaned(p.PGID):
		return linux.EIO
	}
	t.Kernel.SignalGroup(p.PGID, sig)
	if !p.Stopped && !t.HasSignal() {
		return linux.EIO // Process.stop does not stop the last process that runs
	}
	return linux.ERESTARTSYS
}

// SetControllingTerminal makes tty the controlling terminal of t's session.
func (t *Thread) SetControllingTerminal(tty *Terminal) {
	t.Process.Tty = tty
	tty.SID, tty.PGID = t.Process.SID, t.Process.PGID
}

// JobIoctl does the ioctls about a terminal's session and process group, and reports whether req is one. master says
// that it was made at the other end of a pseudoterminal.
func (t *Thread) JobIoctl(tty *Terminal, master bool, req uint32, arg emu.Addr) (linux.Errno, bool) {
	own := t.Process.Tty == tty
	switch req {
	case linux.TIOCGPGRP:
		if !own && !master {
			return linux.ENOTTY, true
		}
		return t.Out32(arg, uint32(tty.PGID)), true
	case linux.TIOCGSID:
		if !own && !master || tty.SID == 0 {
			return linux.ENOTTY, true
		}
		return t.Out32(arg, uint32(tty.SID)), true
	case linux.TIOCSPGRP:
		switch e := t.CheckJobControl(tty, linux.SIGTTOU); e {
		case 0:
			return t.foreground(tty, arg), true
		case linux.EIO:
			return linux.ENOTTY, true
		default:
			return e, true
		}
	case linux.TIOCSCTTY:
		switch {
		case own && t.Process.SID == t.Process.PID:
			return 0, true
		case t.Process.SID != t.Process.PID || t.Process.Tty != nil || tty.SID != 0:
			return linux.EPERM, true
		}
		t.SetControllingTerminal(tty)
		return 0, true
	case linux.TIOCNOTTY:
		if !own {
			return linux.ENOTTY, true
		}
		t.Process.Tty = nil
		if t.Process.SID == t.Process.PID {
			t.Kernel.SignalGroup(tty.PGID, linux.SIGHUP)
			t.Kernel.SignalGroup(tty.PGID, linux.SIGCONT)
			t.Kernel.DetachTerminal(tty)
		}
		return 0, true
	}
	return 0, false
}

// foreground is TIOCSPGRP: it sets the process group in the foreground (tcsetpgrp(3)).
func (t *Thread) foreground(tty *Terminal, arg emu.Addr) linux.Errno {
	if t.Process.Tty != tty || tty.SID != t.Process.SID {
		return linux.ENOTTY
	}
	pgid, e := t.In32(arg)
	if e != 0 {
		return e
	}
	if int32(pgid) < 0 {
		return linux.EINVAL
	}
	e = linux.ESRCH
	for _, p := range t.Kernel.Processes {
		if p.PGID != int(pgid) {
			continue
		}
		if p.SID == t.Process.SID {
			tty.PGID = p.PGID
			return 0
		}
		e = linux.EPERM
	}
	return e
}
