package files

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// The console is the terminal that cgemu runs on. Its settings are the host's; who may use it is ours.

// consoleNode is /dev/console, as the terminal is called that cgemu runs on.
func consoleNode() *VNode {
	return &VNode{Mode: linux.S_IFCHR | 0o620, Rdev: devConsole, Open: OpenConsole}
}

// OpenConsole opens the host's terminal: there is none if the guest does not see what its standard files are.
func OpenConsole(t *task.Thread, flags int) (File, linux.Errno) {
	if !SystemOf(t.Kernel).Config.HostStdio {
		return nil, linux.ENXIO
	}
	h, e := host.OpenTerminal(flags | linux.O_NOCTTY)
	if e != 0 {
		return nil, e
	}
	f, e := NewHostFile(t.Kernel, FileRef{FD: h}, flags, "")
	if e != 0 {
		return nil, e
	}
	f.Own = true
	f.markConsole()
	return f, 0
}

// markConsole makes f the console if it is a terminal. Which one of the host's does not show.
func (f *HostFile) markConsole() {
	if f.Mode&linux.S_IFMT == linux.S_IFCHR && f.FD.IsTerminal() {
		f.Console, f.Path = true, "/dev/console"
	}
}

// stopsWriters reports whether the settings of f say that only those in the foreground write.
func (f *HostFile) stopsWriters() bool {
	b := make([]byte, linux.TermiosSize)
	return f.FD.Ioctl(linux.TCGETS, b) == 0 && linux.Uint32(b[12:])&linux.TOSTOP != 0
}

// terminalIoctl answers the requests that a host file may understand.
func (f *HostFile) terminalIoctl(t *task.Thread, req uint32, arg emu.Addr) (uint64, linux.Errno) {
	if f.IsRegular() || f.IsDir() {
		if req == linux.FIONREAD && f.IsRegular() {
			pos, _ := f.FD.Lseek(0, linux.SEEK_CUR)
			st, e := f.FD.Stat()
			if e != 0 {
				return 0, e
			}
			return 0, t.Out32(arg, uint32(st.Size-pos))
		}
		return 0, linux.ENOTTY
	}
	if f.Console {
		if e, ok := t.JobIoctl(&t.Kernel.Console, false, req, arg); ok {
			return 0, e
		}
	}
	switch req {
	case linux.TCGETS:
		return f.ioctlOut(t, req, arg, linux.TermiosSize)
	case linux.TCGETS2:
		return f.settingsOut(t, arg)
	case linux.TCSETS, linux.TCSETSW, linux.TCSETSF, linux.TCSETS2, linux.TCSETSW2, linux.TCSETSF2:
		if f.Console {
			if e := t.CheckJobControl(&t.Kernel.Console, linux.SIGTTOU); e != 0 {
				return 0, e
			}
		}
		if req >= linux.TCSETS2 { // a speed that is a number is no terminal's
			req = req - linux.TCSETS2 + linux.TCSETS
		}
		return f.ioctlIn(t, req, arg, linux.TermiosSize)
	case linux.TIOCGWINSZ:
		return f.ioctlOut(t, req, arg, linux.WinsizeSize)
	case linux.TIOCSWINSZ:
		return f.ioctlIn(t, req, arg, linux.WinsizeSize)
	case linux.FIONREAD, linux.TIOCOUTQ:
		return f.ioctlOut(t, req, arg, 4)
	case linux.TCSBRK, linux.TCSBRKP, linux.TCXONC, linux.TCFLSH:
		if f.Console {
			return 0, 0
		}
	}
	return 0, linux.ENOTTY
}

// settingsOut is TCGETS2, by TCGETS, which all hosts know.
func (f *HostFile) settingsOut(t *task.Thread, arg emu.Addr) (uint64, linux.Errno) {
	b := make(linux.Pack, linux.TermiosSize)
	if e := f.FD.Ioctl(linux.TCGETS, b); e != 0 {
		return 0, e
	}
	ispeed, ospeed := linux.Speeds(linux.Uint32(b[8:]), linux.NewSpeed, linux.NewSpeed)
	b.U32(ispeed)
	b.U32(ospeed)
	return 0, t.CopyOut(arg, b)
}

// ioctlOut passes a request whose answer has n bytes.
func (f *HostFile) ioctlOut(t *task.Thread, req uint32, arg emu.Addr, n int) (uint64, linux.Errno) {
	b := make([]byte, n)
	if e := f.FD.Ioctl(req, b); e != 0 {
		return 0, e
	}
	return 0, t.CopyOut(arg, b)
}

// ioctlIn passes a request whose argument has n bytes.
func (f *HostFile) ioctlIn(t *task.Thread, req uint32, arg emu.Addr, n int) (uint64, linux.Errno) {
	b, e := t.CopyIn(arg, n)
	if e != 0 {
		return 0, e
	}
	return 0, f.FD.Ioctl(req, b)
}
