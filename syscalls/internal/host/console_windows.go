package host

import (
	"cmp"
	"os"

	"golang.org/x/sys/windows"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// consoleBits pairs bits of c_lflag with modes of a console's input (learn.microsoft.com, SetConsoleMode).
var consoleBits = []struct{ linux, host uint32 }{
	{linux.ISIG, windows.ENABLE_PROCESSED_INPUT}, {linux.ICANON, windows.ENABLE_LINE_INPUT}, {linux.ECHO, windows.ENABLE_ECHO_INPUT},
}

// Ioctl translates the terminal requests of package files. A terminal of Linux has one set of settings whatever it is
// asked by: those of the console's input. Modes of its output mean something else.
func (f FD) Ioctl(req uint32, b []byte) linux.Errno {
	if !f.IsTerminal() {
		_, e := f.os()
		return cmp.Or(e, linux.ENOTTY)
	}
	switch req {
	case linux.TCGETS, linux.TCSETS, linux.TCSETSW, linux.TCSETSF:
		return consoleSettings(req, b)
	case linux.TIOCGWINSZ:
		return consoleSize(b)
	case linux.FIONREAD:
		linux.PutUint32(b, 0)
		return 0
	}
	return linux.ENOTTY
}

// consoleSettings gets or sets the settings of the console's input.
func consoleSettings(req uint32, b []byte) linux.Errno {
	in, err := openConsole("CONIN$")
	if err != nil {
		return ErrnoOf(err)
	}
	defer windows.CloseHandle(in)
	var mode uint32
	if err := windows.GetConsoleMode(in, &mode); err != nil {
		return ErrnoOf(err)
	}
	if req == linux.TCGETS {
		consoleOut(mode, b)
		return 0
	}
	return ErrnoOf(windows.SetConsoleMode(in, consoleIn(mode, b)))
}

// openConsole opens the console's input or output by its name, to be asked and set.
func openConsole(name string) (windows.Handle, error) {
	p, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return windows.InvalidHandle, err
	}
	return windows.CreateFile(p, windows.GENERIC_READ|windows.GENERIC_WRITE, windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE, nil,
		windows.OPEN_EXISTING, 0, 0)
}

// consoleOut writes a struct termios for a mode to b. What Windows does not have is as Linux has it at first.
func consoleOut(mode uint32, b []byte) {
	const iflag, oflag, cflag = linux.ICRNL | linux.IXON, linux.OPOST | linux.ONLCR, 0o277 // 38400 baud, 8 bits, reading
	lflag := uint32(linux.ECHOE | linux.ECHOK | linux.ECHOCTL | linux.ECHOKE | linux.IEXTEN)
	for _, bit := range consoleBits {
		if mode&bit.host != 0 {
			lflag |= bit.linux
		}
	}
	clear(b)
	for i, w := range []uint32{iflag, oflag, cflag, lflag} {
		linux.PutUint32(b[4*i:], w)
	}
	const cc = 17
	for i, c := range map[int]byte{
		linux.VINTR: 3, linux.VQUIT: 0x1c, linux.VERASE: 0x7f, linux.VKILL: 0x15, linux.VEOF: 4, linux.VMIN: 1, linux.VSTART: 0x11,
		linux.VSTOP: 0x13, linux.VSUSP: 0x1a, linux.VREPRINT: 0x12, linux.VWERASE: 0x17, linux.VLNEXT: 0x16,
	} {
		b[cc+i] = c
	}
}

// consoleIn is the mode that a struct termios asks for. Without lines keys come as the sequences that terminals send.
func consoleIn(mode uint32, b []byte) uint32 {
	lflag := linux.Uint32(b[12:])
	for _, bit := range consoleBits {
		mode &^= bit.host
		if lflag&bit.linux != 0 {
			mode |= bit.host
		}
	}
	if lflag&linux.ICANON == 0 {
		return mode&^windows.ENABLE_ECHO_INPUT | windows.ENABLE_VIRTUAL_TERMINAL_INPUT // no echo without lines
	}
	return mode &^ windows.ENABLE_VIRTUAL_TERMINAL_INPUT
}

// OpenTerminal opens the console that we run on, for reading or for writing.
func OpenTerminal(flags int) (FD, linux.Errno) {
	name := "CONIN$"
	if flags&linux.O_ACCMODE == linux.O_WRONLY {
		name = "CONOUT$"
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return NoFD, ErrnoOf(err)
	}
	return add(&file{f: f, flags: flags}), 0
}

// consoleSize writes the size of the console's window, which its output knows, to b.
func consoleSize(b []byte) linux.Errno {
	out, err := openConsole("CONOUT$")
	if err != nil {
		return ErrnoOf(err)
	}
	defer windows.CloseHandle(out)
	var info windows.ConsoleScreenBufferInfo
	if err := windows.GetConsoleScreenBufferInfo(out, &info); err != nil {
		return ErrnoOf(err)
	}
	clear(b)
	linux.PutUint16(b, uint16(info.Window.Bottom-info.Window.Top+1))
	linux.PutUint16(b[2:], uint16(info.Window.Right-info.Window.Left+1))
	return 0
}
