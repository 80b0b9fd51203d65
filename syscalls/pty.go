package syscalls

import (
	"slices"
	"strconv"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

const (
	// ptyRoom is how much output waits to be fetched before writing blocks.
	ptyRoom = 12 << 10
	// aheadMax is how much may be typed that the line discipline has no room for yet.
	aheadMax = 16 << 10
)

// A ttyDriver has the pseudoterminals.
type ttyDriver struct{ ptys []*pty } // by number

// ttyOf returns the pseudoterminals of k.
func ttyOf(k *Kernel) *ttyDriver { return k.tty.(*ttyDriver) }

// A pty is a pseudoterminal.
type pty struct {
	terminal
	lineDisc
	n      int
	locked bool
	// ahead was typed, and waits for room in the line discipline.
	ahead []byte
	size  [winsizeSize]byte
	// slaves are open, dead ones too; hungUp says that there were, and are none.
	slaves []*ptySlave
	hungUp bool
	gone   bool // the master is closed
	// typed and printed are the wakeups of the slaves and of the master.
	typed, printed wakeups
}

// A ptyMaster is the end of a pseudoterminal that plays the terminal, a ptySlave that which is one.
type (
	ptyMaster struct {
		fileBase
		pty *pty
	}
	ptySlave struct {
		fileBase
		pty *pty
		// dead says that the terminal was hung up.
		dead bool
		// seen is how much there was to read when the thread began to wait for the next character.
		seen int
	}
)

// maxPtys is how many there may be (/proc/sys/kernel/pty/max).
const maxPtys = 4096

// openPtmx makes a pseudoterminal.
func openPtmx(t *Thread, flags int) (file, linux.Errno) {
	p := &pty{locked: true}
	for p.n < len(ttyOf(t.k).ptys) && ttyOf(t.k).ptys[p.n].n == p.n {
		p.n++
	}
	if p.n == maxPtys {
		return nil, linux.ENOSPC
	}
	p.termios = newTermios()
	p.signal = func(sig int) { t.k.signalGroup(p.pgid, sig) }
	p.dev = devPts | uint64(p.n)
	ttyOf(t.k).ptys = slices.Insert(ttyOf(t.k).ptys, p.n, p)
	return &ptyMaster{fileBase{flags: flags & (linux.O_ACCMODE | linux.O_NONBLOCK), path: "/dev/pts/ptmx"}, p}, 0
}

// openSlave opens the other end.
func (p *pty) openSlave(t *Thread, flags int) (file, linux.Errno) {
	if p.locked || p.gone {
		return nil, linux.EIO
	}
	f := &ptySlave{fileBase: fileBase{flags: flags & (linux.O_ACCMODE | linux.O_NONBLOCK), path: "/dev/pts/" + strconv.Itoa(p.n)}, pty: p}
	p.slaves, p.hungUp = append(p.slaves, f), false
	if flags&linux.O_NOCTTY == 0 && f.readable() && t.p.sid == t.p.pid && t.p.tty == nil && p.sid == 0 {
		t.control(&p.terminal)
	}
	return f, 0
}

// ptsNode is /dev/pts.
func ptsNode() *vnode {
	return &vnode{
		mode: linux.S_IFDIR | 0o755,
		names: func(t *Thread) []string {
			out := []string{"ptmx"}
			for _, p := range ttyOf(t.k).ptys {
				out = append(out, strconv.Itoa(p.n))
			}
			return out
		},
		child: func(t *Thread, name string) *vnode {
			if name == "ptmx" {
				return devNodes["ptmx"]
			}
			n := atoi(name)
			if i := slices.IndexFunc(ttyOf(t.k).ptys, func(p *pty) bool { return p.n == n }); i >= 0 {
				return ttyOf(t.k).ptys[i].node()
			}
			return nil
		},
	}
}

func (p *pty) node() *vnode {
	return &vnode{mode: linux.S_IFCHR | 0o620, rdev: p.dev, own: true, open: p.openSlave}
}

func (f *ptyMaster) stat(t *Thread) (stat, linux.Errno) {
	return devNodes["ptmx"].stat(t, "/dev/ptmx"), 0
}

func (f *ptyMaster) read(t *Thread, v []iovec, _ int64) (uint64, linux.Errno) {
	p := f.pty
	if len(p.shown) == 0 {
		switch {
		case total(v) == 0:
			return 0, 0
		case p.hungUp:
			return 0, linux.EIO
		}
		return 0, linux.EAGAIN
	}
	n, e := t.scatter(v, p.shown[:min(total(v), uint64(len(p.shown)))])
	p.shown = p.shown[n:]
	return uint64(n), e
}

// room reports whether the line discipline takes more: always while there is no line to be read.
func (p *pty) room() bool { return len(p.in) < lineMax || p.lflag&linux.ICANON != 0 && p.lines == 0 }

// feed gives the line discipline what was typed ahead, as far as there is room.
func (p *pty) feed() {
	n, before, shown := 0, p.lines, len(p.shown)
	for ; n < len(p.ahead) && p.room(); n++ {
		p.input(p.ahead[n])
	}
	if n == 0 {
		return
	}
	if p.ahead = p.ahead[n:]; len(p.ahead) == 0 {
		p.ahead = nil
	}
	p.printed.count(linux.POLLIN | linux.POLLOUT) // the echo, and room to type
	if len(p.shown) > shown {
		p.printed.announce(linux.POLLIN)
	}
	if p.lflag&linux.ICANON == 0 || p.lines > before {
		p.typed.wake(linux.POLLIN)
	}
}

// forgetTyped drops what was typed and not read.
func (p *pty) forgetTyped() { p.in, p.lines, p.ahead = nil, 0, nil }

func (f *ptyMaster) traits() traits { return wholeWrites }

func (f *ptyMaster) write(t *Thread, v []iovec, _ int64) (uint64, linux.Errno) {
	b, e := t.gather(v, maxRW)
	p := f.pty
	for n := 0; n < len(b); {
		took := b[n:min(len(b), n+aheadMax-len(p.ahead))]
		if len(took) == 0 {
			if n == 0 {
				return 0, linux.EAGAIN
			}
			return uint64(n), 0
		}
		p.ahead = append(p.ahead, took...)
		n += len(took)
		p.feed()
	}
	return uint64(len(b)), e
}

func (f *ptyMaster) poll(*Thread) uint32 {
	var ev uint32
	if len(f.pty.shown) > 0 {
		ev |= linux.POLLIN | linux.POLLRDNORM
	}
	if len(f.pty.ahead) < aheadMax {
		ev |= linux.POLLOUT | linux.POLLWRNORM
	}
	if f.pty.hungUp {
		ev |= linux.POLLHUP
	}
	return ev
}

func (f *ptyMaster) wakes(events uint32) uint64 { return f.pty.printed.wakes(events) }
func (f *ptyMaster) announcer() *wakeups        { return &f.pty.printed }

func (f *ptyMaster) close(k *Kernel) {
	p := f.pty
	p.gone = true
	if leader := k.process(p.sid); leader != nil && p.sid != 0 {
		for _, sig := range []int{linux.SIGHUP, linux.SIGCONT} {
			leader.send(&sigInfo{signo: int32(sig), code: linux.SI_KERNEL})
		}
	}
	k.disown(&p.terminal)
	for _, s := range p.slaves {
		s.dead = true
	}
	p.typed.count(linux.POLLIN | linux.POLLOUT)
	ttyOf(k).ptys = slices.DeleteFunc(ttyOf(k).ptys, func(o *pty) bool { return o == p })
}

func (f *ptyMaster) ioctl(t *Thread, req uint32, arg emu.Addr) (uint64, linux.Errno) {
	p := f.pty
	switch req {
	case linux.TIOCGPTN:
		return 0, t.out32(arg, uint32(p.n))
	case linux.TIOCSPTLCK:
		on, e := t.in32(arg)
		p.locked = on != 0
		return 0, e
	case linux.TIOCGPTLCK:
		on := uint32(0)
		if p.locked {
			on = 1
		}
		return 0, t.out32(arg, on)
	case linux.TIOCGPTPEER:
		flags := int(arg)
		s, e := p.openSlave(t, flags|linux.O_NOCTTY)
		if e != 0 {
			return 0, e
		}
		return t.install(s, flags)
	case linux.FIONREAD:
		return 0, t.out32(arg, uint32(len(p.shown)))
	}
	return p.ioctl(t, true, req, arg)
}

func (f *ptySlave) stat(t *Thread) (stat, linux.Errno) { return f.pty.node().stat(t, f.path), 0 }

// want is how much has to be there for a read of n bytes.
func (f *ptySlave) want(n int) int {
	p := f.pty
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

func (f *ptySlave) read(t *Thread, v []iovec, _ int64) (uint64, linux.Errno) {
	p, n := f.pty, int(min(total(v), lineMax))
	if f.dead || n == 0 {
		return 0, 0
	}
	if e := t.mayUse(&p.terminal, linux.SIGTTIN); e != 0 {
		return 0, e
	}
	if have := p.available(); have < f.want(n) && !(t.timedOut() && p.lflag&linux.ICANON == 0) {
		if !f.nonblock() || have == 0 || p.lflag&linux.ICANON != 0 {
			return 0, linux.EAGAIN
		}
	}
	got, e := t.scatter(v, p.take(n))
	p.feed()
	return uint64(got), e
}

// waits: a read of n bytes waits until they are there or it takes too long.
func (f *ptySlave) waits(t *Thread, events uint32, n uint64) wait {
	if events&linux.POLLIN == 0 {
		return wait{}
	}
	p := f.pty
	w := wait{ready: func() bool { return f.dead || p.available() >= f.want(int(n)) }}
	if p.lflag&linux.ICANON != 0 || p.cc[linux.VTIME] == 0 {
		return w
	}
	// "TIME specifies the limit for a timer in tenths of a second", between characters if MIN is not 0. - termios(3)
	f.seen = p.available()
	if p.cc[linux.VMIN] == 0 || f.seen > 0 {
		w.deadline = t.k.after(int64(p.cc[linux.VTIME]) * 100e6)
	}
	w.ready = func() bool { return f.dead || p.available() != f.seen }
	return w
}

func (f *ptySlave) traits() traits { return wholeWrites }

func (f *ptySlave) write(t *Thread, v []iovec, _ int64) (uint64, linux.Errno) {
	p := f.pty
	if f.dead {
		return 0, linux.EIO
	}
	if p.lflag&linux.TOSTOP != 0 {
		if e := t.mayUse(&p.terminal, linux.SIGTTOU); e != 0 {
			return 0, e
		}
	}
	b, e := t.gather(v, maxRW)
	defer p.printed.wake(linux.POLLIN)
	for i, c := range b {
		if p.stopped || len(p.shown) >= ptyRoom {
			if i == 0 {
				return 0, linux.EAGAIN
			}
			return uint64(i), 0
		}
		p.output(c)
	}
	return uint64(len(b)), e
}

func (f *ptySlave) poll(*Thread) uint32 {
	p := f.pty
	if f.dead {
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
	if !p.stopped && len(p.shown) < ptyRoom {
		ev |= linux.POLLOUT | linux.POLLWRNORM
	}
	return ev
}

func (f *ptySlave) wakes(events uint32) uint64 { return f.pty.typed.wakes(events) }
func (f *ptySlave) announcer() *wakeups        { return &f.pty.typed }

func (f *ptySlave) close(*Kernel) {
	p := f.pty
	p.slaves = slices.DeleteFunc(p.slaves, func(o *ptySlave) bool { return o == f })
	p.hungUp = len(p.slaves) == 0
	p.printed.count(linux.POLLIN | linux.POLLOUT)
}

func (f *ptySlave) ioctl(t *Thread, req uint32, arg emu.Addr) (uint64, linux.Errno) {
	p := f.pty
	switch {
	case f.dead && req == linux.TIOCSPGRP:
		return 0, linux.ENOTTY
	case f.dead:
		return 0, linux.EIO
	case req == linux.FIONREAD:
		return 0, t.out32(arg, uint32(len(slices.DeleteFunc(slices.Clone(p.in[:p.available()]), func(x cell) bool { return x.eof }))))
	}
	return p.ioctl(t, false, req, arg)
}

// ioctl does the requests that both ends have: settings are the slave's.
func (p *pty) ioctl(t *Thread, master bool, req uint32, arg emu.Addr) (uint64, linux.Errno) {
	if e, ok := t.jobRequest(&p.terminal, master, req, arg); ok {
		return 0, e
	}
	switch req {
	case linux.TCGETS:
		return 0, t.copyOut(arg, p.termios.encode())
	case linux.TCGETA:
		return 0, t.copyOut(arg, p.termios.encodeOld())
	case linux.TIOCGLCKTRMIOS:
		return 0, t.copyOut(arg, make([]byte, termiosSize)) // nothing is locked
	case linux.TIOCSLCKTRMIOS:
		return 0, linux.EPERM
	case linux.TIOCGWINSZ:
		return 0, t.copyOut(arg, p.size[:])
	case linux.TIOCOUTQ:
		return 0, t.out32(arg, 0)
	case linux.TIOCGETD:
		return 0, t.out32(arg, 0)
	case linux.TIOCSWINSZ:
		b, e := t.copyIn(arg, winsizeSize)
		if e == 0 && [winsizeSize]byte(b) != p.size {
			p.size = [winsizeSize]byte(b)
			t.k.signalGroup(p.pgid, linux.SIGWINCH)
		}
		return 0, e
	case linux.TCSETS, linux.TCSETSW, linux.TCSETSF, linux.TCSETA, linux.TCSETAW, linux.TCSETAF, linux.TCFLSH, linux.TCXONC, linux.TCSBRK, linux.TCSBRKP:
		if e := t.mayUse(&p.terminal, linux.SIGTTOU); e != 0 {
			return 0, e
		}
		e := p.change(t, req, arg)
		p.feed()
		return 0, e
	}
	return 0, linux.ENOTTY
}

// change does the requests that are not for processes in the background.
func (p *pty) change(t *Thread, req uint32, arg emu.Addr) linux.Errno {
	switch req {
	case linux.TCSETS, linux.TCSETSW, linux.TCSETSF:
		b, e := t.copyIn(arg, termiosSize)
		if e != 0 {
			return e
		}
		if req == linux.TCSETSF {
			p.forgetTyped()
		}
		p.set(decodeTermios(b))
	case linux.TCSETA, linux.TCSETAW, linux.TCSETAF:
		b, e := t.copyIn(arg, termioSize)
		if e != 0 {
			return e
		}
		if req == linux.TCSETAF {
			p.forgetTyped()
		}
		p.set(p.termios.withOld(b))
	case linux.TCFLSH:
		if arg > 2 {
			return linux.EINVAL
		}
		if arg != 1 {
			p.forgetTyped()
		}
	case linux.TCXONC:
		if arg > 3 {
			return linux.EINVAL
		}
		if arg < 2 {
			p.stopped = arg == 0
		}
	}
	return 0
}

// termioSize is that of struct termio, of System V.
const termioSize = 18

func (f *ptySlave) terminal() *terminal  { return &f.pty.terminal }
func (f *ptyMaster) terminal() *terminal { return &f.pty.terminal }

// ttyNode is /dev/tty: the terminal that controls the process' session.
func ttyNode() *vnode {
	return &vnode{mode: linux.S_IFCHR | 0o666, rdev: devTTY, open: func(t *Thread, flags int) (file, linux.Errno) {
		switch tty := t.p.tty; tty {
		case nil:
			return nil, linux.ENXIO
		case &t.k.console:
			return openConsole(t, flags)
		default:
			i := slices.IndexFunc(ttyOf(t.k).ptys, func(p *pty) bool { return &p.terminal == tty })
			return ttyOf(t.k).ptys[i].openSlave(t, flags)
		}
	}}
}

func init() {
	devNodes["tty"], devNodes["pts"] = ttyNode(), ptsNode()
	devNodes["ptmx"] = &vnode{mode: linux.S_IFCHR | 0o666, rdev: devPtmx, open: openPtmx}
}
