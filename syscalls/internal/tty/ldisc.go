package tty

import (
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// This file has the line discipline of a pseudoterminal. It follows termios(3) and, where that leaves things open,
// Linux's N_TTY. It knows neither files nor processes.

// ccs is how many special characters a terminal has (NCCS).
const ccs = 19

// A termios has a terminal's settings: the kernel's struct termios.
type termios struct {
	iflag, oflag, cflag, lflag uint32
	line                       uint8
	cc                         [ccs]byte
	// In bits a second: what cflag says, or whatever number if that says so.
	ispeed, ospeed uint32
}

// ptyControl is what c_cflag of a pseudoterminal always has of the bits in ptyControlMask: CS8 and CREAD, and no
// PARENB.
const (
	ptyControl     = 0o60 | 0o200
	ptyControlMask = ptyControl | 0o400
)

// newTermios returns the settings of a new terminal.
func newTermios() termios {
	return termios{
		iflag: linux.ICRNL | linux.IXON, oflag: linux.OPOST | linux.ONLCR, cflag: 0xf | ptyControl, ispeed: linux.NewSpeed, ospeed: linux.NewSpeed,
		lflag: linux.ISIG | linux.ICANON | linux.ECHO | linux.ECHOE | linux.ECHOK | linux.ECHOCTL | linux.ECHOKE | linux.IEXTEN,
		cc: [ccs]byte{
			linux.VINTR: 3, linux.VQUIT: 28, linux.VERASE: 127, linux.VKILL: 21, linux.VEOF: 4, linux.VMIN: 1,
			linux.VSTART: 17, linux.VSTOP: 19, linux.VSUSP: 26,
			linux.VREPRINT: 18, 13: 15, linux.VWERASE: 23, linux.VLNEXT: 22,
		},
	}
}

// encode is s as a struct termios.
func (s *termios) encode() []byte {
	var b linux.Pack
	b.U32(s.iflag)
	b.U32(s.oflag)
	b.U32(s.cflag)
	b.U32(s.lflag)
	b.U8(s.line)
	return append(b, s.cc[:]...)
}

// encode2 is s as a struct termios2.
func (s *termios) encode2() []byte {
	b := linux.Pack(s.encode())
	b.U32(s.ispeed)
	b.U32(s.ospeed)
	return b
}

// encodeTermio is s as a struct termio of System V: the low halves of the flags and the first special characters.
func (s *termios) encodeTermio() []byte {
	var b linux.Pack
	for _, flags := range []uint32{s.iflag, s.oflag, s.cflag, s.lflag} {
		b.U16(uint16(flags))
	}
	b.U8(s.line)
	b = append(b, s.cc[:8]...)
	b.U8(0)
	return b
}

// withTermio is s with what a struct termio sets.
func (s termios) withTermio(b []byte) termios {
	for i, flags := range []*uint32{&s.iflag, &s.oflag, &s.cflag, &s.lflag} {
		*flags = *flags&^0xffff | uint32(linux.Uint16(b[2*i:]))
	}
	s.line = b[8]
	copy(s.cc[:8], b[9:])
	return s
}

// withTermios is s with what a struct termios or termios2 sets.
func (s termios) withTermios(b []byte) termios {
	s.iflag, s.oflag, s.cflag, s.lflag, s.line = linux.Uint32(b), linux.Uint32(b[4:]), linux.Uint32(b[8:]), linux.Uint32(b[12:]), b[16]
	copy(s.cc[:], b[17:])
	if len(b) == linux.Termios2Size {
		s.ispeed, s.ospeed = linux.Uint32(b[linux.TermiosSize:]), linux.Uint32(b[linux.TermiosSize+4:])
	}
	return s
}

// is reports whether c is special character i. A special character of 0 is switched off.
func (s *termios) is(c byte, i int) bool { return c == s.cc[i] && c != 0 }

// A cell is a character of input.
type cell struct {
	c byte
	// end says that the character ends a line; eof that it is VEOF, which ends a line and is not read itself.
	end, eof bool
}

// lineMax bounds a line of input: what is typed beyond it, up to its end, is lost.
const lineMax = 4095

// A lineDisc is a line discipline: it turns what is typed into input for programs, and what programs write into output
// for the terminal. Echo is output, too.
type lineDisc struct {
	termios
	packetMode
	// in is input that no program has read. The first lines cells of it are complete lines: in canonical mode only
	// these can be read.
	in    []cell
	lines int
	// out is output that the master has not fetched, outMax bytes at most.
	out []byte
	// column is where the cursor is; lineColumn is where it was when the line that is being typed began. Erasing a tab
	// needs both.
	column, lineColumn int
	// literal says that the next character is not special (VLNEXT).
	literal bool
	// stopped says that output is stopped, by VSTOP or TCOOFF.
	stopped bool
	// signal sends a signal to the terminal's foreground group.
	signal func(sig int)
}

// isControl reports whether c is a control character.
func isControl(c byte) bool { return c < 32 || c == 127 }

// outMax bounds the output that waits for the master. Programs wait earlier, at ptyRoom; what is left is for echo,
// which is lost beyond it.
const outMax = 19 << 10

// enqueue appends c to the output.
func (d *lineDisc) enqueue(c byte) {
	if len(d.out) < outMax {
		d.out = append(d.out, c)
	}
}

// putColumn outputs c and moves the cursor's column.
func (d *lineDisc) putColumn(c byte) {
	switch {
	case c == '\b':
		d.column = max(d.column-1, 0)
	case c == '\r':
		d.column = 0
	case !isControl(c) && (d.iflag&linux.IUTF8 == 0 || c&0xc0 != 0x80):
		d.column++
	}
	d.enqueue(c)
}

// output outputs c, which a program has written, as the settings say (OPOST).
func (d *lineDisc) output(c byte) {
	if d.oflag&linux.OPOST == 0 {
		d.enqueue(c)
		return
	}
	switch c {
	case '\n':
		if d.oflag&linux.ONLRET != 0 {
			d.column = 0
		}
		if d.oflag&linux.ONLCR != 0 {
			d.putColumn('\r')
		}
		d.lineColumn = d.column
	case '\r':
		if d.oflag&linux.ONOCR != 0 && d.column == 0 {
			return
		}
		if d.oflag&linux.OCRNL != 0 {
			c = '\n'
		}
		d.lineColumn = 0
	case '\t':
		spaces := 8 - d.column&7
		if d.oflag&linux.XTABS == linux.XTABS {
			for range spaces {
				d.putColumn(' ')
			}
			return
		}
		d.column += spaces
	}
	d.putColumn(c)
}

// echo outputs c as it was typed.
func (d *lineDisc) echo(c byte) {
	if d.lflag&linux.ECHOCTL != 0 && isControl(c) && c != '\t' {
		d.putColumn('^')
		d.putColumn(c ^ 0o100)
		return
	}
	d.output(c)
}

// input takes a character that was typed.
func (d *lineDisc) input(c byte) {
	if d.iflag&linux.ISTRIP != 0 {
		c &= 0x7f
	}
	if d.literal {
		d.literal = false
		d.add(c)
		return
	}
	if d.iflag&linux.IXON != 0 {
		if d.is(c, linux.VSTART) || d.is(c, linux.VSTOP) {
			d.stop(d.is(c, linux.VSTOP))
			return
		}
		if d.iflag&linux.IXANY != 0 {
			d.stop(false)
		}
	}
	if d.lflag&linux.ISIG != 0 {
		sig := 0
		switch {
		case d.is(c, linux.VINTR):
			sig = linux.SIGINT
		case d.is(c, linux.VQUIT):
			sig = linux.SIGQUIT
		case d.is(c, linux.VSUSP):
			sig = linux.SIGTSTP
		}
		if sig != 0 {
			d.interrupt(c, sig)
			return
		}
	}
	switch {
	case c == '\r' && d.iflag&linux.IGNCR != 0:
		return
	case c == '\r' && d.iflag&linux.ICRNL != 0:
		c = '\n'
	case c == '\n' && d.iflag&linux.INLCR != 0:
		c = '\r'
	}
	if d.lflag&linux.ICANON == 0 || !d.edit(c) {
		d.add(c)
	}
}

// interrupt sends the signal that c stands for.
func (d *lineDisc) interrupt(c byte, sig int) {
	if d.lflag&linux.NOFLSH == 0 {
		d.in, d.lines = nil, 0
		d.note(linux.TIOCPKT_FLUSHREAD|linux.TIOCPKT_FLUSHWRITE, 0)
	}
	if d.iflag&linux.IXON != 0 {
		d.stop(false)
	}
	if d.lflag&linux.ECHO != 0 {
		d.echo(c)
	}
	d.signal(sig)
}

// edit does what c, typed in canonical mode, does to the line. It reports false for a character that is just added.
func (d *lineDisc) edit(c byte) bool {
	extended := d.lflag&linux.IEXTEN != 0
	switch {
	case d.is(c, linux.VERASE), d.is(c, linux.VKILL), extended && d.is(c, linux.VWERASE):
		d.erase(c)
	case extended && d.is(c, linux.VLNEXT):
		d.literal = true
		if d.lflag&linux.ECHO != 0 && d.lflag&linux.ECHOCTL != 0 {
			d.putColumn('^')
			d.putColumn('\b')
		}
	case extended && d.is(c, linux.VREPRINT) && d.lflag&linux.ECHO != 0:
		d.echo(c)
		d.output('\n')
		for _, x := range d.in[d.lines:] {
			d.echo(x.c)
		}
	case c == '\n':
		if d.lflag&(linux.ECHO|linux.ECHONL) != 0 {
			d.output('\n')
		}
		d.end(cell{c: c, end: true})
	case d.is(c, linux.VEOF):
		d.end(cell{end: true, eof: true})
	case d.is(c, linux.VEOL), extended && d.is(c, linux.VEOL2):
		if d.lflag&linux.ECHO != 0 {
			d.echo(c)
		}
		d.end(cell{c: c, end: true})
	default:
		return false
	}
	return true
}

// end completes the line with x.
func (d *lineDisc) end(x cell) {
	d.in = append(d.in, x)
	d.lines = len(d.in)
}

// add adds c to the input.
func (d *lineDisc) add(c byte) {
	if d.lflag&linux.ECHO != 0 {
		if len(d.in) == d.lines {
			d.lineColumn = d.column
		}
		if c == '\n' {
			d.output(c)
		} else {
			d.echo(c)
		}
	}
	if d.lflag&linux.ICANON != 0 && len(d.in)-d.lines >= lineMax {
		return // lost: the line has to end first
	}
	d.in = append(d.in, cell{c: c})
}

// erase removes the last character, the last word or the line, as the special character c says, and shows that.
func (d *lineDisc) erase(c byte) {
	char, word := d.is(c, linux.VERASE), d.is(c, linux.VWERASE)
	if len(d.in) == d.lines {
		return
	}
	if !char && !word && d.lflag&(linux.ECHO|linux.ECHOK|linux.ECHOKE|linux.ECHOE) != linux.ECHO|linux.ECHOK|linux.ECHOKE|linux.ECHOE {
		d.in = d.in[:d.lines]
		if d.lflag&linux.ECHO != 0 {
			d.echo(c)
			if d.lflag&linux.ECHOK != 0 {
				d.output('\n')
			}
		}
		return
	}
	seen := false
	for len(d.in) > d.lines {
		n := len(d.in) - 1
		for d.iflag&linux.IUTF8 != 0 && n > d.lines && d.in[n].c&0xc0 == 0x80 {
			n--
		}
		x := d.in[n].c
		if word {
			if letter(x) {
				seen = true
			} else if seen {
				break
			}
		}
		d.in = d.in[:n]
		if d.lflag&linux.ECHO != 0 {
			if char && d.lflag&linux.ECHOE == 0 {
				d.echo(c)
			} else {
				d.eraseEcho(x)
			}
		}
		if char {
			break
		}
	}
}

// letter reports whether c is part of a word.
func letter(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c|32 >= 'a' && c|32 <= 'z'
}

// eraseEcho takes the echo of x, the last character of the line, off the screen.
func (d *lineDisc) eraseEcho(x byte) {
	n := 1
	switch {
	case x == '\t':
		n = 8 - d.width()&7
		for range n {
			d.putColumn('\b')
		}
		return
	case isControl(x) && d.lflag&linux.ECHOCTL != 0:
		n = 2
	case isControl(x):
		n = 0
	}
	for range n {
		d.putColumn('\b')
		d.putColumn(' ')
		d.putColumn('\b')
	}
}

// width is how wide the line that is being typed is, from its last tab or its beginning on.
func (d *lineDisc) width() int {
	n := 0
	for i := len(d.in) - 1; i >= d.lines; i-- {
		switch c := d.in[i].c; {
		case c == '\t':
			return n
		case isControl(c):
			if d.lflag&linux.ECHOCTL != 0 {
				n += 2
			}
		case d.iflag&linux.IUTF8 == 0 || c&0xc0 != 0x80:
			n++
		}
	}
	return n + d.lineColumn
}

// set changes the settings. When canonical mode is switched on or off, what was typed and not read becomes a line.
func (d *lineDisc) set(s termios) {
	s.cflag = s.cflag&^ptyControlMask | ptyControl
	s.ispeed, s.ospeed = linux.Speeds(s.cflag, s.ispeed, s.ospeed)
	if (s.lflag^d.lflag)&linux.ICANON != 0 && len(d.in) > 0 {
		d.lines = len(d.in)
		d.in[d.lines-1].end = true
	}
	if s.iflag&linux.IXON == 0 {
		d.stop(false)
	}
	d.noteSettings(&d.termios, &s)
	d.termios = s
}

// available is how many cells can be read now.
func (d *lineDisc) available() int {
	if d.lflag&linux.ICANON != 0 {
		return d.lines
	}
	return len(d.in)
}

// take removes up to n characters from the input, and returns them: in canonical mode of one line only.
func (d *lineDisc) take(n int) []byte {
	var out []byte
	i, canon := 0, d.lflag&linux.ICANON != 0
	for i < d.available() {
		x := d.in[i]
		if len(out) == n && !(canon && x.eof) {
			break
		}
		i++
		if !x.eof {
			out = append(out, x.c)
		}
		if canon && x.end {
			break
		}
	}
	d.in, d.lines = d.in[i:], max(d.lines-i, 0)
	return out
}
