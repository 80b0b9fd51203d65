package tty

import (
	"slices"
	"strconv"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

const (
	// ptyRoom is how much output may wait for the master before programs that write have to wait.
	ptyRoom = 12 << 10
	// typeaheadMax bounds what may be typed while the line discipline has no room.
	typeaheadMax = 16 << 10
)

// A Driver has the pseudoterminals of a kernel.
type Driver struct{ ptys []*pty } // by number

// DriverOf returns the pseudoterminals of k.
func DriverOf(k *task.Kernel) *Driver { return k.TTY.(*Driver) }

// A pty is a pseudoterminal: a master, held by a terminal emulator, and slaves, which are a terminal to those that open
// them.
type pty struct {
	task.Terminal
	lineDisc
	// n is its number: /dev/pts/n.
	n int
	// locked says that slaves cannot be opened yet (unlockpt(3)).
	locked bool
	// What TIOCEXCL of each end said: slaves cannot be opened; that a master is exclusive can only be asked.
	masterExclusive, slaveExclusive bool
	// typeahead was typed and waits for room in the line discipline.
	typeahead []byte
	// size is a struct winsize.
	size [linux.WinsizeSize]byte
	// slaves are the open slaves, hung up ones too. slavesClosed says that there were some, and are none now: the
	// master sees a hangup.
	slaves       []*PtySlave
	slavesClosed bool
	// masterClosed says that the master is closed. The slaves that were open are hung up, and none can be opened.
	masterClosed bool
	// slaveWakeups and masterWakeups tell those who wait at one end of what happens at the other.
	slaveWakeups, masterWakeups files.Wakeups
}

// The two ends of a pseudoterminal are files of the guest.
type (
	// A PtyMaster is the end that plays the terminal: it writes what is typed, and reads what is shown.
	PtyMaster struct {
		files.FileBase
		Pty *pty
	}
	// A PtySlave is the end that is a terminal to programs.
	PtySlave struct {
		files.FileBase
		Pty *pty
		// hungUp says that the master is gone: reading finds the end of the file, writing EIO.
		hungUp bool
		// availableBefore is how much input there was when a reading thread began to wait for the next character
		// (VTIME).
		availableBefore int
	}
)

// maxPtys bounds the number of pseudoterminals (/proc/sys/kernel/pty/max).
const maxPtys = 4096

// openPtmx opens /dev/ptmx: it makes a pseudoterminal and returns its master.
func openPtmx(t *task.Thread, flags int) (files.File, linux.Errno) {
	p := &pty{locked: true}
	for p.n < len(DriverOf(t.Kernel).ptys) && DriverOf(t.Kernel).ptys[p.n].n == p.n {
		p.n++
	}
	if p.n == maxPtys {
		return nil, linux.ENOSPC
	}
	p.termios = newTermios()
	p.signal = func(sig int) { t.Kernel.SignalGroup(p.PGID, sig) }
	p.Dev = files.DevPts | uint64(p.n)
	DriverOf(t.Kernel).ptys = slices.Insert(DriverOf(t.Kernel).ptys, p.n, p)
	return &PtyMaster{files.FileBase{Flags: flags & (linux.O_ACCMODE | linux.O_NONBLOCK), Path: "/dev/pts/ptmx"}, p}, 0
}

// openSlave opens a slave of p. It may become the controlling terminal of t's session.
func (p *pty) openSlave(t *task.Thread, flags int) (files.File, linux.Errno) {
	switch {
	case p.locked || p.masterClosed:
		return nil, linux.EIO
	case p.slaveExclusive:
		return nil, linux.EBUSY
	}
	base := files.FileBase{Flags: flags & (linux.O_ACCMODE | linux.O_NONBLOCK), Path: "/dev/pts/" + strconv.Itoa(p.n)}
	f := &PtySlave{FileBase: base, Pty: p}
	p.slaves, p.slavesClosed = append(p.slaves, f), false
	if flags&linux.O_NOCTTY == 0 && f.Readable() && t.Process.SID == t.Process.PID && t.Process.Tty == nil && p.SID == 0 {
		t.SetControllingTerminal(&p.Terminal)
	}
	return f, 0
}

// ptsNode is the directory /dev/pts.
func ptsNode() *files.VNode {
	return &files.VNode{
		Mode: linux.S_IFDIR | 0o755,
		Names: func(t *task.Thread) []string {
			out := []string{"ptmx"}
			for _, p := range DriverOf(t.Kernel).ptys {
				out = append(out, strconv.Itoa(p.n))
			}
			return out
		},
		Child: func(t *task.Thread, name string) *files.VNode {
			if name == "ptmx" {
				return files.DevNodes["ptmx"]
			}
			n := files.Atoi(name)
			if i := slices.IndexFunc(DriverOf(t.Kernel).ptys, func(p *pty) bool { return p.n == n }); i >= 0 {
				return DriverOf(t.Kernel).ptys[i].node()
			}
			return nil
		},
	}
}

// node is /dev/pts/n.
func (p *pty) node() *files.VNode {
	return &files.VNode{Mode: linux.S_IFCHR | 0o620, Rdev: p.Dev, Own: true, Open: p.openSlave}
}

// Stat implements files.File.
func (f *PtyMaster) Stat(t *task.Thread) (files.Stat, linux.Errno) {
	return files.DevNodes["ptmx"].Stat(t, "/dev/ptmx"), 0
}

// Read implements files.File: it fetches output.
func (f *PtyMaster) Read(t *task.Thread, v []uio.Iovec, _ int64) (uint64, linux.Errno) {
	p := f.Pty
	switch {
	case uio.Total(v) == 0:
		return 0, 0
	case p.pending():
		return p.readStatus(t, v)
	case len(p.out) == 0 && p.slavesClosed:
		return 0, linux.EIO
	case len(p.out) == 0:
		return 0, linux.EAGAIN
	case p.packets:
		return p.readData(t, v)
	}
	n, e := t.Scatter(v, p.out[:min(uio.Total(v), uint64(len(p.out)))])
	p.out = p.out[n:]
	return uint64(n), e
}

// room reports whether the line discipline takes another character. It always does while there is no complete line, as
// one could never be completed otherwise.
func (p *pty) room() bool { return len(p.in) < lineMax || p.lflag&linux.ICANON != 0 && p.lines == 0 }

// feed gives the line discipline what was typed ahead, as far as there is room, and wakes those who wait for it.
func (p *pty) feed() {
	n, before, shown := 0, p.lines, len(p.out)
	for ; n < len(p.typeahead) && p.room(); n++ {
		p.input(p.typeahead[n])
	}
	if n == 0 {
		return
	}
	if p.typeahead = p.typeahead[n:]; len(p.typeahead) == 0 {
		p.typeahead = nil
	}
	p.masterWakeups.Count(linux.POLLIN | linux.POLLOUT) // the echo, and room to type
	if len(p.out) > shown {
		p.masterWakeups.Announce(linux.POLLIN)
	}
	if p.lflag&linux.ICANON == 0 || p.lines > before {
		p.slaveWakeups.Wake(linux.POLLIN)
	}
}

// flushInput drops what was typed and not read (TCIFLUSH).
func (p *pty) flushInput() {
	p.in, p.lines, p.typeahead = nil, 0, nil
	p.note(linux.TIOCPKT_FLUSHREAD, 0)
}

// flush is TCFLSH of one end: it drops its input for TCIFLUSH and TCIOFLUSH. Output is at the other end already, which
// may be told.
func (p *pty) flush(master bool, what emu.Addr) linux.Errno {
	const input, output, both = 0, 1, 2
	switch {
	case what > both:
		return linux.EINVAL
	case master && what != output:
		p.out = nil
		p.slaveWakeups.Count(linux.POLLOUT)
	case !master:
		if what != output {
			p.flushInput()
		}
		if what != input {
			p.note(linux.TIOCPKT_FLUSHWRITE, 0)
		}
	}
	return 0
}

// Traits implements files.File: a write that has to wait goes on until all is written.
func (f *PtyMaster) Traits() files.Traits { return files.WholeWrites }

// Reopen implements files.File: it makes another pseudoterminal.
func (f *PtyMaster) Reopen(t *task.Thread, flags int) (files.File, linux.Errno) {
	return openPtmx(t, flags)
}

// Write implements files.File: it types.
func (f *PtyMaster) Write(t *task.Thread, v []uio.Iovec, _ int64) (uint64, linux.Errno) {
	b, e := t.Gather(v, uio.MaxRW)
	p := f.Pty
	for n := 0; n < len(b); {
		took := b[n:min(len(b), n+typeaheadMax-len(p.typeahead))]
		if len(took) == 0 {
			if n == 0 {
				return 0, linux.EAGAIN
			}
			return uint64(n), 0
		}
		p.typeahead = append(p.typeahead, took...)
		n += len(took)
		p.feed()
	}
	return uint64(len(b)), e
}

// Poll implements files.File.
func (f *PtyMaster) Poll(*task.Thread) uint32 {
	var ev uint32
	if len(f.Pty.out) > 0 {
		ev |= linux.POLLIN | linux.POLLRDNORM
	}
	if f.Pty.pending() {
		ev |= linux.POLLPRI | linux.POLLIN | linux.POLLRDNORM
	}
	if len(f.Pty.typeahead) < typeaheadMax {
		ev |= linux.POLLOUT | linux.POLLWRNORM
	}
	if f.Pty.slavesClosed {
		ev |= linux.POLLHUP
	}
	return ev
}

// Wakes implements files.File.
func (f *PtyMaster) Wakes(events uint32) uint64 { return f.Pty.masterWakeups.Wakes(events) }

// Announcer makes O_ASYNC work: files.Wakeups has those who are to be told.
func (f *PtyMaster) Announcer() *files.Wakeups { return &f.Pty.masterWakeups }

// Close implements files.File: it hangs up the terminal, of which the leader of its session is told by SIGHUP.
func (f *PtyMaster) Close(k *task.Kernel) {
	p := f.Pty
	p.masterClosed = true
	if leader := k.Process(p.SID); leader != nil && p.SID != 0 {
		for _, sig := range []int{linux.SIGHUP, linux.SIGCONT} {
			leader.Send(&task.SigInfo{Signo: int32(sig), Code: linux.SI_KERNEL})
		}
	}
	k.DetachTerminal(&p.Terminal)
	for _, s := range p.slaves {
		s.hungUp = true
	}
	p.slaveWakeups.Count(linux.POLLIN | linux.POLLOUT)
	DriverOf(k).ptys = slices.DeleteFunc(DriverOf(k).ptys, func(o *pty) bool { return o == p })
}

// Ioctl implements files.File.
func (f *PtyMaster) Ioctl(t *task.Thread, req uint32, arg emu.Addr) (uint64, linux.Errno) {
	p := f.Pty
	switch req {
	case linux.TIOCGPTN:
		return 0, t.Out32(arg, uint32(p.n))
	case linux.TIOCSPTLCK:
		on, e := t.In32(arg)
		p.locked = on != 0
		return 0, e
	case linux.TIOCGPTLCK:
		return 0, outBool(t, arg, p.locked)
	case linux.TIOCPKT:
		return 0, p.switchPackets(t, arg)
	case linux.TIOCGPKT:
		return 0, outBool(t, arg, p.packets)
	case linux.TIOCGPTPEER:
		flags := int(arg)
		s, e := p.openSlave(t, flags|linux.O_NOCTTY)
		if e != 0 {
			return 0, e
		}
		return files.Install(t, s, flags)
	case linux.FIONREAD:
		return 0, t.Out32(arg, uint32(len(p.out)))
	}
	return p.ioctl(t, true, req, arg)
}

// Stat implements files.File.
func (f *PtySlave) Stat(t *task.Thread) (files.Stat, linux.Errno) {
	return f.Pty.node().Stat(t, f.Path), 0
}

// minRead is how much input has to be there for a read of n bytes to return: a line, or what VMIN says.
func (f *PtySlave) minRead(n int) int {
	p := f.Pty
	switch {
	case p.lflag&linux.ICANON != 0:
		return 1
	case p.cc[linux.VMIN] > 0:
		return min(int(p.cc[linux.VMIN]), n)
	case p.cc[linux.VTIME] > 0:
		return 1
	}
	return 0
}

// Read implements files.File: it reads input.
func (f *PtySlave) Read(t *task.Thread, v []uio.Iovec, _ int64) (uint64, linux.Errno) {
	p, n := f.Pty, int(min(uio.Total(v), lineMax))
	if f.hungUp || n == 0 {
		return 0, 0
	}
	if e := t.CheckJobControl(&p.Terminal, linux.SIGTTIN); e != 0 {
		return 0, e
	}
	if have := p.available(); have < f.minRead(n) && !(t.TimedOut() && p.lflag&linux.ICANON == 0) {
		if !f.Nonblock() || have == 0 || p.lflag&linux.ICANON != 0 {
			return 0, linux.EAGAIN
		}
	}
	got, e := t.Scatter(v, p.take(n))
	p.feed()
	return uint64(got), e
}

// Waits implements files.File: a read of n bytes waits for minRead of them, or as long as VTIME says.
func (f *PtySlave) Waits(t *task.Thread, events uint32, n uint64) task.Wait {
	if events&linux.POLLIN == 0 {
		return task.Wait{}
	}
	p := f.Pty
	w := task.Wait{Ready: func() bool { return f.hungUp || p.available() >= f.minRead(int(n)) }}
	if p.lflag&linux.ICANON != 0 || p.cc[linux.VTIME] == 0 {
		return w
	}
	// "TIME specifies the limit for a timer in tenths of a second", between characters if MIN is not 0. - termios(3)
	f.availableBefore = p.available()
	if p.cc[linux.VMIN] == 0 || f.availableBefore > 0 {
		w.Deadline = t.Kernel.After(int64(p.cc[linux.VTIME]) * 100e6)
	}
	w.Ready = func() bool { return f.hungUp || p.available() != f.availableBefore }
	return w
}

// Traits implements files.File: a write that has to wait goes on until all is written.
func (f *PtySlave) Traits() files.Traits { return files.WholeWrites }

// Reopen implements files.File.
func (f *PtySlave) Reopen(t *task.Thread, flags int) (files.File, linux.Errno) {
	return f.Pty.openSlave(t, flags)
}

// Write implements files.File: it outputs.
func (f *PtySlave) Write(t *task.Thread, v []uio.Iovec, _ int64) (uint64, linux.Errno) {
	p := f.Pty
	if f.hungUp {
		return 0, linux.EIO
	}
	if p.lflag&linux.TOSTOP != 0 {
		if e := t.CheckJobControl(&p.Terminal, linux.SIGTTOU); e != 0 {
			return 0, e
		}
	}
	b, e := t.Gather(v, uio.MaxRW)
	defer p.masterWakeups.Wake(linux.POLLIN)
	for i, c := range b {
		if p.stopped || len(p.out) >= ptyRoom {
			if i == 0 {
				return 0, linux.EAGAIN
			}
			return uint64(i), 0
		}
		p.output(c)
	}
	return uint64(len(b)), e
}

// Poll implements files.File.
func (f *PtySlave) Poll(*task.Thread) uint32 {
	p := f.Pty
	if f.hungUp {
		return linux.POLLIN | linux.POLLOUT | linux.POLLERR | linux.POLLHUP | linux.POLLRDNORM | linux.POLLWRNORM
	}
	var ev uint32
	want := 1
	if p.lflag&linux.ICANON == 0 && p.cc[linux.VTIME] == 0 && p.cc[linux.VMIN] > 0 {
		want = int(p.cc[linux.VMIN])
	}
	if p.available() >= want {
		ev |= linux.POLLIN | linux.POLLRDNORM
	}
	if !p.stopped && len(p.out) < ptyRoom {
		ev |= linux.POLLOUT | linux.POLLWRNORM
	}
	return ev
}

// Wakes implements files.File.
func (f *PtySlave) Wakes(events uint32) uint64 { return f.Pty.slaveWakeups.Wakes(events) }

// Announcer makes O_ASYNC work: files.Wakeups has those who are to be told.
func (f *PtySlave) Announcer() *files.Wakeups { return &f.Pty.slaveWakeups }

// Close implements files.File.
func (f *PtySlave) Close(*task.Kernel) {
	p := f.Pty
	p.slaves = slices.DeleteFunc(p.slaves, func(o *PtySlave) bool { return o == f })
	p.slavesClosed = len(p.slaves) == 0
	p.masterWakeups.Count(linux.POLLIN | linux.POLLOUT)
}

// Ioctl implements files.File.
func (f *PtySlave) Ioctl(t *task.Thread, req uint32, arg emu.Addr) (uint64, linux.Errno) {
	p := f.Pty
	switch {
	case f.hungUp && req == linux.TIOCSPGRP:
		return 0, linux.ENOTTY
	case f.hungUp:
		return 0, linux.EIO
	case req == linux.FIONREAD:
		return 0, t.Out32(arg, uint32(len(slices.DeleteFunc(slices.Clone(p.in[:p.available()]), func(x cell) bool { return x.eof }))))
	}
	return p.ioctl(t, false, req, arg)
}

// ioctl does the requests that both ends know. Settings are those of the slaves.
func (p *pty) ioctl(t *task.Thread, master bool, req uint32, arg emu.Addr) (uint64, linux.Errno) {
	if e, ok := t.JobIoctl(&p.Terminal, master, req, arg); ok {
		return 0, e
	}
	switch req {
	case linux.TCGETS:
		return 0, t.CopyOut(arg, p.termios.encode())
	case linux.TCGETS2:
		return 0, t.CopyOut(arg, p.termios.encode2())
	case linux.TCGETA:
		return 0, t.CopyOut(arg, p.termios.encodeTermio())
	case linux.TIOCGLCKTRMIOS:
		return 0, t.CopyOut(arg, make([]byte, linux.TermiosSize)) // no setting is locked
	case linux.TIOCSLCKTRMIOS:
		return 0, linux.EPERM
	case linux.TIOCEXCL, linux.TIOCNXCL:
		*p.exclusive(master) = req == linux.TIOCEXCL
		return 0, 0
	case linux.TIOCGEXCL:
		return 0, outBool(t, arg, *p.exclusive(master))
	case linux.TIOCGWINSZ:
		return 0, t.CopyOut(arg, p.size[:])
	case linux.TIOCOUTQ:
		return 0, t.Out32(arg, 0)
	case linux.TIOCGETD:
		return 0, t.Out32(arg, 0)
	case linux.TIOCSWINSZ:
		b, e := t.CopyIn(arg, linux.WinsizeSize)
		if e == 0 && [linux.WinsizeSize]byte(b) != p.size {
			p.size = [linux.WinsizeSize]byte(b)
			t.Kernel.SignalGroup(p.PGID, linux.SIGWINCH)
		}
		return 0, e
	case linux.TCSETS, linux.TCSETSW, linux.TCSETSF, linux.TCSETS2, linux.TCSETSW2, linux.TCSETSF2, linux.TCSETA, linux.TCSETAW, linux.TCSETAF,
		linux.TCFLSH, linux.TCXONC, linux.TCSBRK, linux.TCSBRKP:
		if e := t.CheckJobControl(&p.Terminal, linux.SIGTTOU); e != 0 {
			return 0, e
		}
		before := p.status
		e := p.change(t, master, req, arg)
		if p.pending() && p.status != before {
			p.masterWakeups.Count(linux.POLLIN)
		}
		p.feed()
		return 0, e
	}
	return 0, linux.ENOTTY
}

// outBool stores an int that says whether something is so.
func outBool(t *task.Thread, arg emu.Addr, on bool) linux.Errno {
	if on {
		return t.Out32(arg, 1)
	}
	return t.Out32(arg, 0)
}

// exclusive is what TIOCEXCL sets of an end.
func (p *pty) exclusive(master bool) *bool {
	if master {
		return &p.masterExclusive
	}
	return &p.slaveExclusive
}

// change does the requests that processes in the background may not make.
func (p *pty) change(t *task.Thread, master bool, req uint32, arg emu.Addr) linux.Errno {
	switch req {
	case linux.TCSETS, linux.TCSETSW, linux.TCSETSF, linux.TCSETS2, linux.TCSETSW2, linux.TCSETSF2:
		size := linux.TermiosSize
		if req >= linux.TCSETS2 {
			size = linux.Termios2Size
		}
		b, e := t.CopyIn(arg, size)
		if e != 0 {
			return e
		}
		if req == linux.TCSETSF || req == linux.TCSETSF2 {
			p.flushInput()
		}
		p.set(p.termios.withTermios(b))
	case linux.TCSETA, linux.TCSETAW, linux.TCSETAF:
		b, e := t.CopyIn(arg, termioSize)
		if e != 0 {
			return e
		}
		if req == linux.TCSETAF {
			p.flushInput()
		}
		p.set(p.termios.withTermio(b))
	case linux.TCFLSH:
		return p.flush(master, arg)
	case linux.TCXONC:
		if arg > 3 {
			return linux.EINVAL
		}
		if arg < 2 {
			p.stop(arg == 0)
		}
	}
	return 0
}

// termioSize is the size of struct termio.
const termioSize = 18

// Terminal is what job control knows of the pseudoterminal.
func (f *PtySlave) Terminal() *task.Terminal { return &f.Pty.Terminal }

// Terminal is what job control knows of the pseudoterminal.
func (f *PtyMaster) Terminal() *task.Terminal { return &f.Pty.Terminal }

// ttyNode is /dev/tty, the controlling terminal of the session of the process that opens it.
func ttyNode() *files.VNode {
	return &files.VNode{Mode: linux.S_IFCHR | 0o666, Rdev: files.DevTTY, Open: func(t *task.Thread, flags int) (files.File, linux.Errno) {
		switch tty := t.Process.Tty; tty {
		case nil:
			return nil, linux.ENXIO
		case &t.Kernel.Console:
			return files.OpenConsole(t, flags)
		default:
			i := slices.IndexFunc(DriverOf(t.Kernel).ptys, func(p *pty) bool { return &p.Terminal == tty })
			return DriverOf(t.Kernel).ptys[i].openSlave(t, flags)
		}
	}}
}

func init() {
	files.DevNodes["tty"], files.DevNodes["pts"] = ttyNode(), ptsNode()
	files.DevNodes["ptmx"] = &files.VNode{Mode: linux.S_IFCHR | 0o666, Rdev: files.DevPtmx, Open: openPtmx}
}
