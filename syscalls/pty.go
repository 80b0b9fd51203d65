package syscalls

import (
	"slices"

	"github.com/cgemu/cgemu/emu"
)

// Requests that pseudoterminals alone have.
const (
	tiocGPtn    = 0x80045430
	tiocSPtLck  = 0x40045431
	tiocGPtLck  = 0x80045439
	tiocGPtPeer = 0x5441
)

const (
	devTTY     = 5 << 8
	devConsole = 5<<8 | 1
	devPtmx    = 5<<8 | 2
	devPts     = 136 << 8
	// ptyRoom is how much output waits to be fetched before writing blocks.
	ptyRoom = 12 << 10
	// aheadMax is how much may be typed that the line discipline has no room for yet.
	aheadMax = 16 << 10
)

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
func openPtmx(t *Thread, flags int) (file, Errno) {
	p := &pty{locked: true}
	for p.n < len(t.k.ptys) && t.k.ptys[p.n].n == p.n {
		p.n++
	}
	if p.n == maxPtys {
		return nil, ENOSPC
	}
	p.termios = newTermios()
	p.signal = func(sig int) { t.k.signalGroup(p.pgid, sig) }
	p.terminal.open, p.dev = p.openSlave, devPts|uint64(p.n)
	t.k.ptys = slices.Insert(t.k.ptys, p.n, p)
	return &ptyMaster{fileBase{flags: flags & (oACCMODE | oNONBLOCK), path: "/dev/pts/ptmx"}, p}, 0
}

// openSlave opens the other end.
func (p *pty) openSlave(t *Thread, flags int) (file, Errno) {
	if p.locked || p.gone {
		return nil, EIO
	}
	f := &ptySlave{fileBase: fileBase{flags: flags & (oACCMODE | oNONBLOCK), path: "/dev/pts/" + itoa(int64(p.n))}, pty: p}
	p.slaves, p.hungUp = append(p.slaves, f), false
	if flags&oNOCTTY == 0 && f.readable() && t.p.sid == t.p.pid && t.p.tty == nil && p.sid == 0 {
		t.control(&p.terminal)
	}
	return f, 0
}

// ptsNode is /dev/pts.
func ptsNode() *vnode {
	return &vnode{
		mode: sIFDIR | 0o755,
		names: func(t *Thread) []string {
			out := []string{"ptmx"}
			for _, p := range t.k.ptys {
				out = append(out, itoa(int64(p.n)))
			}
			return out
		},
		child: func(t *Thread, name string) *vnode {
			if name == "ptmx" {
				return devNodes["ptmx"]
			}
			n := atoi(name)
			if i := slices.IndexFunc(t.k.ptys, func(p *pty) bool { return p.n == n }); i >= 0 {
				return t.k.ptys[i].node()
			}
			return nil
		},
	}
}

func (p *pty) node() *vnode {
	return &vnode{mode: sIFCHR | 0o620, rdev: p.dev, own: true, open: p.openSlave}
}

func (f *ptyMaster) stat(t *Thread) (stat, Errno) { return devNodes["ptmx"].stat(t, "/dev/ptmx"), 0 }

func (f *ptyMaster) read(t *Thread, v []iovec, _ int64) (uint64, Errno) {
	p := f.pty
	if len(p.shown) == 0 {
		switch {
		case total(v) == 0:
			return 0, 0
		case p.hungUp:
			return 0, EIO
		}
		return 0, EAGAIN
	}
	n, e := t.scatter(v, p.shown[:min(total(v), uint64(len(p.shown)))])
	p.shown = p.shown[n:]
	return uint64(n), e
}

// room reports whether the line discipline takes more: always while there is no line to be read.
func (p *pty) room() bool { return len(p.in) < lineMax || p.lflag&icanon != 0 && p.lines == 0 }

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
	p.printed.count(pollIN | pollOUT) // the echo, and room to type
	if len(p.shown) > shown {
		p.printed.announce(pollIN)
	}
	if p.lflag&icanon == 0 || p.lines > before {
		p.typed.wake(pollIN)
	}
}

// forgetTyped drops what was typed and not read.
func (p *pty) forgetTyped() { p.in, p.lines, p.ahead = nil, 0, nil }

func (f *ptyMaster) write(t *Thread, v []iovec, _ int64) (uint64, Errno) {
	b, e := t.gather(v, maxRW)
	p := f.pty
	for n := 0; n < len(b); {
		took := b[n:min(len(b), n+aheadMax-len(p.ahead))]
		if len(took) == 0 {
			if n == 0 {
				return 0, EAGAIN
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
		ev |= pollIN | pollRDN
	}
	if len(f.pty.ahead) < aheadMax {
		ev |= pollOUT | pollWRN
	}
	if f.pty.hungUp {
		ev |= pollHUP
	}
	return ev
}

func (f *ptyMaster) wakes(events uint32) uint64 { return f.pty.printed.wakes(events) }
func (f *ptyMaster) announcer() *wakeups        { return &f.pty.printed }

func (f *ptyMaster) close(k *Kernel) {
	p := f.pty
	p.gone = true
	if leader := k.process(p.sid); leader != nil && p.sid != 0 {
		for _, sig := range []int{sigHUP, sigCONT} {
			leader.send(&sigInfo{signo: int32(sig), code: siKernel})
		}
	}
	k.disown(&p.terminal)
	for _, s := range p.slaves {
		s.dead = true
	}
	p.typed.count(pollIN | pollOUT)
	k.ptys = slices.DeleteFunc(k.ptys, func(o *pty) bool { return o == p })
}

func (f *ptyMaster) ioctl(t *Thread, req uint32, arg emu.Addr) (uint64, Errno) {
	p := f.pty
	switch req {
	case tiocGPtn:
		return 0, t.out32(arg, uint32(p.n))
	case tiocSPtLck:
		on, e := t.in32(arg)
		p.locked = on != 0
		return 0, e
	case tiocGPtLck:
		on := uint32(0)
		if p.locked {
			on = 1
		}
		return 0, t.out32(arg, on)
	case tiocGPtPeer:
		flags := int(arg)
		s, e := p.openSlave(t, flags|oNOCTTY)
		if e != 0 {
			return 0, e
		}
		return t.install(s, flags)
	case fioNRead:
		return 0, t.out32(arg, uint32(len(p.shown)))
	}
	return p.ioctl(t, true, req, arg)
}

func (f *ptySlave) stat(t *Thread) (stat, Errno) { return f.pty.node().stat(t, f.path), 0 }

// want is how much has to be there for a read of n bytes.
func (f *ptySlave) want(n int) int {
	p := f.pty
	switch {
	case p.lflag&icanon != 0:
		return 1
	case p.cc[vMin] > 0:
		return min(int(p.cc[vMin]), n)
	case p.cc[vTime] > 0:
		return 1
	}
	return 0
}

func (f *ptySlave) read(t *Thread, v []iovec, _ int64) (uint64, Errno) {
	p, n := f.pty, int(min(total(v), lineMax))
	if f.dead || n == 0 {
		return 0, 0
	}
	if e := t.mayUse(&p.terminal, sigTTIN); e != 0 {
		return 0, e
	}
	if have := p.available(); have < f.want(n) && !(t.timedOut() && p.lflag&icanon == 0) {
		if !f.nonblock() || have == 0 || p.lflag&icanon != 0 {
			return 0, EAGAIN
		}
	}
	got, e := t.scatter(v, p.take(n))
	p.feed()
	return uint64(got), e
}

// await parks t, which reads n bytes, until they are there or it takes too long.
func (f *ptySlave) await(t *Thread, n int, resume func() (uint64, Errno)) (uint64, Errno) {
	p := f.pty
	w := wait{files: []file{f}, ready: func() bool { return f.dead || p.available() >= f.want(n) }}
	if p.lflag&icanon != 0 || p.cc[vTime] == 0 {
		return t.block(w, resume)
	}
	// "TIME specifies the limit for a timer in tenths of a second", between characters if MIN is not 0. - termios(3)
	f.seen = p.available()
	if p.cc[vMin] == 0 || f.seen > 0 {
		w.deadline = t.k.after(int64(p.cc[vTime]) * 100e6)
	}
	w.ready = func() bool { return f.dead || p.available() != f.seen }
	return t.block(w, resume)
}

func (f *ptySlave) write(t *Thread, v []iovec, _ int64) (uint64, Errno) {
	p := f.pty
	if f.dead {
		return 0, EIO
	}
	if p.lflag&tostop != 0 {
		if e := t.mayUse(&p.terminal, sigTTOU); e != 0 {
			return 0, e
		}
	}
	b, e := t.gather(v, maxRW)
	defer p.printed.wake(pollIN)
	for i, c := range b {
		if p.stopped || len(p.shown) >= ptyRoom {
			if i == 0 {
				return 0, EAGAIN
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
		return pollIN | pollOUT | pollERR | pollHUP | pollRDN | pollWRN
	}
	var ev uint32
	want := 1
	if p.lflag&icanon == 0 && p.cc[vTime] == 0 && p.cc[vMin] > 0 {
		want = int(p.cc[vMin])
	}
	if p.available() >= want {
		ev |= pollIN | pollRDN
	}
	if !p.stopped && len(p.shown) < ptyRoom {
		ev |= pollOUT | pollWRN
	}
	return ev
}

func (f *ptySlave) wakes(events uint32) uint64 { return f.pty.typed.wakes(events) }
func (f *ptySlave) announcer() *wakeups        { return &f.pty.typed }

func (f *ptySlave) close(*Kernel) {
	p := f.pty
	p.slaves = slices.DeleteFunc(p.slaves, func(o *ptySlave) bool { return o == f })
	p.hungUp = len(p.slaves) == 0
	p.printed.count(pollIN | pollOUT)
}

func (f *ptySlave) ioctl(t *Thread, req uint32, arg emu.Addr) (uint64, Errno) {
	p := f.pty
	switch {
	case f.dead && req == tiocSPgrp:
		return 0, ENOTTY
	case f.dead:
		return 0, EIO
	case req == fioNRead:
		return 0, t.out32(arg, uint32(len(slices.DeleteFunc(slices.Clone(p.in[:p.available()]), func(x cell) bool { return x.eof }))))
	}
	return p.ioctl(t, false, req, arg)
}

// ioctl does the requests that both ends have: settings are the slave's.
func (p *pty) ioctl(t *Thread, master bool, req uint32, arg emu.Addr) (uint64, Errno) {
	if e, ok := t.jobRequest(&p.terminal, master, req, arg); ok {
		return 0, e
	}
	switch req {
	case tcGets:
		return 0, t.copyOut(arg, p.termios.encode())
	case tcGetA:
		return 0, t.copyOut(arg, p.termios.encodeOld())
	case tiocGLck:
		return 0, t.copyOut(arg, make([]byte, termiosSize)) // nothing is locked
	case tiocSLck:
		return 0, EPERM
	case tiocGWinsz:
		return 0, t.copyOut(arg, p.size[:])
	case tiocOutQ:
		return 0, t.out32(arg, 0)
	case tiocGetD:
		return 0, t.out32(arg, 0)
	case tiocSWinsz:
		b, e := t.copyIn(arg, winsizeSize)
		if e == 0 && [winsizeSize]byte(b) != p.size {
			p.size = [winsizeSize]byte(b)
			t.k.signalGroup(p.pgid, sigWINCH)
		}
		return 0, e
	case tcSets, tcSetsW, tcSetsF, tcSetA, tcSetAW, tcSetAF, tcFlsh, tcXonc, tcSBrk, tcSBrkP:
		if e := t.mayUse(&p.terminal, sigTTOU); e != 0 {
			return 0, e
		}
		e := p.change(t, req, arg)
		p.feed()
		return 0, e
	}
	return 0, ENOTTY
}

// change does the requests that are not for processes in the background.
func (p *pty) change(t *Thread, req uint32, arg emu.Addr) Errno {
	switch req {
	case tcSets, tcSetsW, tcSetsF:
		b, e := t.copyIn(arg, termiosSize)
		if e != 0 {
			return e
		}
		if req == tcSetsF {
			p.forgetTyped()
		}
		p.set(decodeTermios(b))
	case tcSetA, tcSetAW, tcSetAF:
		b, e := t.copyIn(arg, termioSize)
		if e != 0 {
			return e
		}
		if req == tcSetAF {
			p.forgetTyped()
		}
		p.set(p.termios.withOld(b))
	case tcFlsh:
		if arg > 2 {
			return EINVAL
		}
		if arg != 1 {
			p.forgetTyped()
		}
	case tcXonc:
		if arg > 3 {
			return EINVAL
		}
		if arg < 2 {
			p.stopped = arg == 0
		}
	}
	return 0
}
