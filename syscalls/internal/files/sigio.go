package files

import (
	"slices"

	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// An asyncFile is an open file whose owner is told by a signal that something came to read, or room to write (O_ASYNC).
// Files whose state our kernel knows have it in their wakeups, and tell at once, as Linux does. The others are looked
// at after each system call and whenever time passes (System.SignalAsync).
type asyncFile struct {
	file File
	k    *task.Kernel
	// fd is the descriptor that O_ASYNC was set with; signals name it, whatever becomes of it.
	fd int
	// seen are the events of a file of the host that the owner knows of.
	seen uint32
}

// An announcer is a file that knows O_ASYNC: others do not keep the flag.
type announcer interface {
	File
	Announcer() *Wakeups
}

// asAnnouncer returns f if it knows O_ASYNC.
func asAnnouncer(f File) (announcer, bool) {
	if h, ok := f.(*HostFile); ok && !h.canBlock() {
		return nil, false
	}
	a, ok := f.(announcer)
	return a, ok
}

// SetAsync makes O_ASYNC of f what on says. It reports whether f knows the flag.
func SetAsync(t *task.Thread, f File, fd int, on bool) bool {
	b := f.Base()
	if on == (b.Flags&linux.O_ASYNC != 0) {
		return true
	}
	n, ok := asAnnouncer(f)
	switch {
	case !ok:
		return false
	case !on:
		stopAsync(t.Kernel, f)
		return true
	}
	if tty := terminalOf(t.Kernel, f); tty != nil && b.Owner.ID == 0 {
		b.Owner.kind, b.Owner.ID = ownerPID, t.Process.PID
		if tty.PGID != 0 {
			b.Owner.kind, b.Owner.ID = ownerPgrp, tty.PGID
		}
	}
	b.Flags |= linux.O_ASYNC
	a := &asyncFile{file: f, k: t.Kernel, fd: fd}
	a.seen = a.hostEvents()
	SystemOf(t.Kernel).async = append(SystemOf(t.Kernel).async, a)
	n.Announcer().told = append(n.Announcer().told, a)
	return true
}

// An onTerminal is a file that is a terminal of ours.
type onTerminal interface{ Terminal() *task.Terminal }

// terminalOf is the terminal that f is, or nil.
func terminalOf(k *task.Kernel, f File) *task.Terminal {
	if h, ok := f.(*HostFile); ok && h.Console {
		return &k.Console
	}
	if f, ok := f.(onTerminal); ok {
		return f.Terminal()
	}
	return nil
}

// stopAsync clears O_ASYNC of f.
func stopAsync(k *task.Kernel, f File) {
	if f.Base().Flags&linux.O_ASYNC == 0 {
		return
	}
	f.Base().Flags &^= linux.O_ASYNC
	is := func(a *asyncFile) bool { return a.file == f }
	SystemOf(k).async = slices.DeleteFunc(SystemOf(k).async, is)
	if n, ok := asAnnouncer(f); ok {
		n.Announcer().told = slices.DeleteFunc(n.Announcer().told, is)
	}
}

var pollCodes = []struct{ event, code, band uint32 }{
	{linux.POLLERR, linux.POLL_ERR, linux.POLLERR},
	{linux.POLLHUP, linux.POLL_HUP, linux.POLLHUP | linux.POLLERR},
	{linux.POLLPRI, linux.POLL_PRI, linux.POLLPRI | linux.POLLRDBAND},
	{linux.POLLIN, linux.POLL_IN, linux.POLLIN | linux.POLLRDNORM},
	{linux.POLLOUT, linux.POLL_OUT, linux.POLLOUT | linux.POLLWRNORM | linux.POLLWRBAND},
}

// Announce tells who wants to be told by a signal that events are there.
func (n *Wakeups) Announce(events uint32) {
	for _, a := range slices.Clone(n.told) {
		a.announce(events)
	}
}

func (a *asyncFile) announce(events uint32) {
	b := a.file.Base()
	if !b.Readable() {
		events &^= linux.POLLIN
	}
	if !b.Writable() {
		events &^= linux.POLLOUT
	}
	for _, c := range pollCodes {
		if events&c.event != 0 {
			a.tell(c.code, c.band)
		}
	}
}

// tell sends one signal (fs/fcntl.c, send_sigio). F_SETSIG decides which, and whether it says what happened.
func (a *asyncFile) tell(code, band uint32) {
	o := a.file.Base().Owner
	if o.Signal == 0 && code == linux.POLL_PRI {
		return // SIGURG tells that
	}
	if o.Signal == 0 {
		SignalOwner(a.k, o, &task.SigInfo{Signo: linux.SIGIO, Code: linux.SI_KERNEL})
		return
	}
	s := &task.SigInfo{Signo: int32(o.Signal), Code: int32(code)}
	if ownCodes.Has(int(o.Signal)) {
		s.Code = linux.SI_SIGIO
	}
	linux.PutUint64(s.Fields[:], uint64(band))
	linux.PutUint32(s.Fields[8:], uint32(a.fd))
	if SignalOwner(a.k, o, s) != 0 {
		SignalOwner(a.k, o, &task.SigInfo{Signo: linux.SIGIO, Code: linux.SI_KERNEL}) // the queue is full
	}
}

// ownCodes are the signals whose small positive codes mean something else.
var ownCodes = task.Synchronous | task.SigBit(linux.SIGCHLD)

// hostEvents are what the host says of a, if its state depends on the host.
func (a *asyncFile) hostEvents() (got uint32) {
	for _, h := range a.file.HostWaits(nil, linux.POLLIN|linux.POLLOUT) {
		got |= h.On.Poll(linux.POLLIN | linux.POLLOUT)
	}
	return got
}

// SignalAsync tells owners what has come to files whose state depends on the host.
func (fs *System) SignalAsync(*task.Kernel) {
	for _, a := range slices.Clone(fs.async) {
		got := a.hostEvents()
		news := got &^ a.seen
		a.seen = got
		if news&(linux.POLLHUP|linux.POLLERR) != 0 {
			news = linux.POLLIN | linux.POLLOUT // as a pipe tells that its other end is closed
		}
		a.announce(news)
	}
}

// AsyncFDs appends to fds what SignalAsync looks at.
func (fs *System) AsyncFDs(fds []host.PollFD) []host.PollFD {
	for _, a := range fs.async {
		before := len(fds)
		fds = a.file.HostWaits(fds, (linux.POLLIN|linux.POLLOUT)&^a.seen)
		if a.seen&(linux.POLLHUP|linux.POLLERR) != 0 {
			fds = quiet(fds, before) // poll(2) reports these, asked for or not; they may go, as when a FIFO is opened again
		}
	}
	return fds
}

// AsyncReady reports whether SignalAsync has a signal to send.
func (fs *System) AsyncReady() bool {
	return slices.ContainsFunc(fs.async, func(a *asyncFile) bool { return a.hostEvents()&^a.seen != 0 })
}

// HasAsync reports whether SignalAsync has any files to look at.
func (fs *System) HasAsync() bool { return len(fs.async) > 0 }

// Transferred notes that the guest has read f, whose state depends on the host, or found no room in it: if it has one
// of events then, that is news for a signal and for EPOLLET. The host may have had more before anybody looked, so that
// it is never seen without.
func Transferred(k *task.Kernel, f File, events uint32) {
	same := func(o File) bool { return behindStream(o) == f }
	SystemOf(k).signalAnew(same, events)
	SystemOf(k).reportAnew(same, events)
}

// passed notes that the guest has transferred something through f: at the two ends of a FIFO one file's transfer is the
// other's event. EPOLLET reports room only where there was none.
func (f *HostFile) passed(k *task.Kernel, events uint32) {
	if !f.isFIFO() {
		return
	}
	same := func(o File) bool {
		h, ok := behindStream(o).(*HostFile)
		return ok && h.Ino == f.Ino
	}
	SystemOf(k).signalAnew(same, events)
	SystemOf(k).reportAnew(same, events&linux.POLLIN)
}

// signalAnew makes events of files news for those who are told by a signal.
func (fs *System) signalAnew(which func(File) bool, events uint32) {
	for _, a := range fs.async {
		if which(a.file) {
			a.seen &^= events
		}
	}
}
