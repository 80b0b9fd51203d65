package syscalls

import (
	"slices"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// An asyncFile is an open file whose owner is told by a signal that something came to read, or room to write (O_ASYNC).
// Files whose state our kernel knows have it in their wakeups, and tell at once, as Linux does. The others are looked at
// after each system call and whenever time passes (fileSystem.lookOutside).
type asyncFile struct {
	file file
	k    *Kernel
	// fd is the descriptor that O_ASYNC was set with; signals name it, whatever becomes of it.
	fd int
	// seen are the events of a file of the host that the owner knows of.
	seen uint32
}

// An announcer is a file that knows O_ASYNC: others do not keep the flag.
type announcer interface {
	file
	announcer() *wakeups
}

// asAnnouncer returns f if it knows O_ASYNC.
func asAnnouncer(f file) (announcer, bool) {
	if h, ok := f.(*hostFile); ok && !h.canBlock() {
		return nil, false
	}
	a, ok := f.(announcer)
	return a, ok
}

// setAsync makes O_ASYNC of f what on says. It reports whether f knows the flag.
func (t *Thread) setAsync(f file, fd int, on bool) bool {
	b := f.base()
	if on == (b.flags&linux.O_ASYNC != 0) {
		return true
	}
	n, ok := asAnnouncer(f)
	switch {
	case !ok:
		return false
	case !on:
		t.k.stopAsync(f)
		return true
	}
	if tty := t.k.terminalOf(f); tty != nil && b.owner.id == 0 {
		b.owner.kind, b.owner.id = ownerPID, t.p.pid
		if tty.pgid != 0 {
			b.owner.kind, b.owner.id = ownerPgrp, tty.pgid
		}
	}
	b.flags |= linux.O_ASYNC
	a := &asyncFile{file: f, k: t.k, fd: fd}
	a.seen = a.hostEvents()
	fsOf(t.k).async = append(fsOf(t.k).async, a)
	n.announcer().told = append(n.announcer().told, a)
	return true
}

// An onTerminal is a file that is a terminal of ours.
type onTerminal interface{ terminal() *terminal }

// terminalOf is the terminal that f is, or nil.
func (k *Kernel) terminalOf(f file) *terminal {
	if h, ok := f.(*hostFile); ok && h.console {
		return &k.console
	}
	if f, ok := f.(onTerminal); ok {
		return f.terminal()
	}
	return nil
}

// stopAsync clears O_ASYNC of f.
func (k *Kernel) stopAsync(f file) {
	if f.base().flags&linux.O_ASYNC == 0 {
		return
	}
	f.base().flags &^= linux.O_ASYNC
	is := func(a *asyncFile) bool { return a.file == f }
	fsOf(k).async = slices.DeleteFunc(fsOf(k).async, is)
	if n, ok := asAnnouncer(f); ok {
		n.announcer().told = slices.DeleteFunc(n.announcer().told, is)
	}
}

var pollCodes = []struct{ event, code, band uint32 }{
	{linux.POLLERR, linux.POLL_ERR, linux.POLLERR},
	{linux.POLLHUP, linux.POLL_HUP, linux.POLLHUP | linux.POLLERR},
	{linux.POLLPRI, linux.POLL_PRI, linux.POLLPRI | linux.POLLRDBAND},
	{linux.POLLIN, linux.POLL_IN, linux.POLLIN | linux.POLLRDNORM},
	{linux.POLLOUT, linux.POLL_OUT, linux.POLLOUT | linux.POLLWRNORM | linux.POLLWRBAND},
}

// announce tells who wants to be told by a signal that events are there.
func (n *wakeups) announce(events uint32) {
	for _, a := range slices.Clone(n.told) {
		a.announce(events)
	}
}

func (a *asyncFile) announce(events uint32) {
	b := a.file.base()
	if !b.readable() {
		events &^= linux.POLLIN
	}
	if !b.writable() {
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
	o := a.file.base().owner
	if o.signal == 0 && code == linux.POLL_PRI {
		return // SIGURG tells that
	}
	if o.signal == 0 {
		a.k.signalOwner(o, &sigInfo{signo: linux.SIGIO, code: linux.SI_KERNEL})
		return
	}
	s := &sigInfo{signo: int32(o.signal), code: int32(code)}
	if ownCodes.has(int(o.signal)) {
		s.code = linux.SI_SIGIO
	}
	put64(s.fields[:], uint64(band))
	put32(s.fields[8:], uint32(a.fd))
	if a.k.signalOwner(o, s) != 0 {
		a.k.signalOwner(o, &sigInfo{signo: linux.SIGIO, code: linux.SI_KERNEL}) // the queue is full
	}
}

// ownCodes are the signals whose small positive codes mean something else.
var ownCodes = synchronous | sigBit(linux.SIGCHLD)

// hostEvents are what the host says of a, if its state depends on the host.
func (a *asyncFile) hostEvents() (got uint32) {
	for _, h := range a.file.hostWaits(nil, linux.POLLIN|linux.POLLOUT) {
		got |= h.fd.poll(linux.POLLIN | linux.POLLOUT)
	}
	return got
}

// lookOutside tells owners what has come to files whose state depends on the host.
func (fs *fileSystem) lookOutside(*Kernel) {
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

// hostAsync appends to fds what lookOutside waits for.
func (fs *fileSystem) hostAsync(fds []hostPoll) []hostPoll {
	for _, a := range fs.async {
		before := len(fds)
		fds = a.file.hostWaits(fds, (linux.POLLIN|linux.POLLOUT)&^a.seen)
		if a.seen&(linux.POLLHUP|linux.POLLERR) != 0 {
			fds = quiet(fds, before) // poll(2) reports these, asked for or not; they may go, as when a FIFO is opened again
		}
	}
	return fds
}

// news reports whether lookOutside has something to tell.
func (fs *fileSystem) news() bool {
	return slices.ContainsFunc(fs.async, func(a *asyncFile) bool { return a.hostEvents()&^a.seen != 0 })
}

// watches reports whether lookOutside has anything to look at.
func (fs *fileSystem) watches() bool { return len(fs.async) > 0 }

// transferred notes that the guest has read or written f, so that events of it may come anew though the host never says
// that they were gone. At the two ends of a FIFO one file's transfer is the other's event.
func (k *Kernel) transferred(f file, events uint32) {
	if len(fsOf(k).async) == 0 {
		return
	}
	h, _ := f.(*hostFile)
	for _, a := range fsOf(k).async {
		o, ok := a.file.(*hostFile)
		if a.file == f || ok && h != nil && h.isFIFO() && o.ino == h.ino {
			a.seen &^= events
		}
	}
}
