package tty

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// This file has the packet mode of a master (ioctl_tty(2), TIOCPKT): each read brings a byte in front of the output,
// which is TIOCPKT_DATA, or a byte alone, whose bits say what was done to the terminal since.

// A packetMode says whether the master reads packets, and what it is to be told next.
type packetMode struct {
	packets bool
	// status has TIOCPKT_ bits of what the master has not been told; nothing is added to it while packets is false.
	status byte
}

// note adds bits to what the master is to be told, and takes away those that they replace.
func (m *packetMode) note(bits, replaced byte) {
	if m.packets {
		m.status = m.status&^replaced | bits
	}
}

// switchPackets is TIOCPKT: it switches packet mode. What happened before it was switched on is not told.
func (m *packetMode) switchPackets(t *task.Thread, arg emu.Addr) linux.Errno {
	on, e := t.In32(arg)
	if e != 0 {
		return e
	}
	if on != 0 && !m.packets {
		m.status = 0
	}
	m.packets = on != 0
	return 0
}

// pending reports whether a read of the master brings a status.
func (m *packetMode) pending() bool { return m.packets && m.status != 0 }

// readStatus reads the status, which is empty then.
func (m *packetMode) readStatus(t *task.Thread, v []uio.Iovec) (uint64, linux.Errno) {
	n, e := t.Scatter(v, []byte{m.status})
	m.status = 0
	return uint64(n), e
}

// readData reads output behind a byte that says so. That byte is all that a buffer of one byte gets.
func (p *pty) readData(t *task.Thread, v []uio.Iovec) (uint64, linux.Errno) {
	n, e := t.Scatter(v, append([]byte{linux.TIOCPKT_DATA}, p.out[:min(uio.Total(v)-1, uint64(len(p.out)))]...))
	p.out = p.out[max(n, 1)-1:]
	return uint64(n), e
}

// stop stops output, or lets it go on.
func (d *lineDisc) stop(on bool) {
	if on == d.stopped {
		return
	}
	if d.stopped = on; on {
		d.note(linux.TIOCPKT_STOP, linux.TIOCPKT_START)
	} else {
		d.note(linux.TIOCPKT_START, linux.TIOCPKT_STOP)
	}
}

// stopsByCtrlS reports whether ^S and ^Q stop output and let it go on. A terminal emulator may do that itself then.
func (s *termios) stopsByCtrlS() bool {
	const ctrlQ, ctrlS = 17, 19
	return s.iflag&linux.IXON != 0 && s.cc[linux.VSTOP] == ctrlS && s.cc[linux.VSTART] == ctrlQ
}

// noteSettings has the master told what changes from old to now.
func (m *packetMode) noteSettings(old, now *termios) {
	if flow := now.stopsByCtrlS(); flow != old.stopsByCtrlS() {
		bits := byte(linux.TIOCPKT_NOSTOP)
		if flow {
			bits = linux.TIOCPKT_DOSTOP
		}
		m.note(bits, linux.TIOCPKT_DOSTOP|linux.TIOCPKT_NOSTOP)
	}
	if (old.lflag|now.lflag)&linux.EXTPROC != 0 {
		m.note(linux.TIOCPKT_IOCTL, 0)
	}
}
