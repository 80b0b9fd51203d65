package syscalls

// ldisc.go: the line discipline of a pseudoterminal (termios(3); where that leaves it open, Linux's N_TTY).

// Bits of struct termios (include/uapi/asm-generic/termbits.h).
const (
	istrip = 0o40
	inlcr  = 0o100
	igncr  = 0o200
	icrnl  = 0o400
	ixon   = 0o2000
	ixany  = 0o4000
	iutf8  = 0o40000

	opost  = 0o1
	onlcr  = 0o4
	ocrnl  = 0o10
	onocr  = 0o20
	onlret = 0o40
	xtabs  = 0o14000

	isig    = 0o1
	icanon  = 0o2
	echo    = 0o10
	echoe   = 0o20
	echok   = 0o40
	echonl  = 0o100
	noflsh  = 0o200
	tostop  = 0o400
	echoctl = 0o1000
	echoke  = 0o4000
	iexten  = 0o100000
)

// Indices of c_cc.
const (
	vIntr    = 0
	vQuit    = 1
	vErase   = 2
	vKill    = 3
	vEOF     = 4
	vTime    = 5
	vMin     = 6
	vStart   = 8
	vStop    = 9
	vSusp    = 10
	vEOL     = 11
	vReprint = 12
	vWErase  = 14
	vLNext   = 15
	vEOL2    = 16
	ccs      = 19
)

// A termios is struct termios as the kernel has it.
type termios struct {
	iflag, oflag, cflag, lflag uint32
	line                       uint8
	cc                         [ccs]byte
}

// newTermios are a new terminal's settings.
func newTermios() termios {
	return termios{
		iflag: icrnl | ixon, oflag: opost | onlcr, cflag: 0xbf, // B38400, CS8, CREAD
		lflag: isig | icanon | echo | echoe | echok | echoctl | echoke | iexten,
		cc: [ccs]byte{
			vIntr: 3, vQuit: 28, vErase: 127, vKill: 21, vEOF: 4, vMin: 1, vStart: 17, vStop: 19, vSusp: 26,
			vReprint: 18, 13: 15, vWErase: 23, vLNext: 22,
		},
	}
}

func (s *termios) encode() []byte {
	var b pack
	b.u32(s.iflag)
	b.u32(s.oflag)
	b.u32(s.cflag)
	b.u32(s.lflag)
	b.u8(s.line)
	return append(b, s.cc[:]...)
}

// encodeOld gives the low halves of the flags and the first special characters, as a struct termio.
func (s *termios) encodeOld() []byte {
	var b pack
	for _, flags := range []uint32{s.iflag, s.oflag, s.cflag, s.lflag} {
		b.u16(uint16(flags))
	}
	b.u8(s.line)
	b = append(b, s.cc[:8]...)
	b.u8(0)
	return b
}

// withOld returns s with what a struct termio has.
func (s termios) withOld(b []byte) termios {
	for i, flags := range []*uint32{&s.iflag, &s.oflag, &s.cflag, &s.lflag} {
		*flags = *flags&^0xffff | uint32(le16(b[2*i:]))
	}
	s.line = b[8]
	copy(s.cc[:8], b[9:])
	return s
}

func decodeTermios(b []byte) termios {
	s := termios{iflag: le32(b), oflag: le32(b[4:]), cflag: le32(b[8:]), lflag: le32(b[12:]), line: b[16]}
	copy(s.cc[:], b[17:])
	return s
}

// is reports whether c is the special character i.
func (s *termios) is(c byte, i int) bool { return c == s.cc[i] && c != 0 }

// A cell is a character of input.
type cell struct {
	c byte
	// end says that a line ends with it, eof that it is not read.
	end, eof bool
}

// lineMax is how long a line can be.
const lineMax = 4095

// A lineDisc turns what is typed into what is read, and what is written into what is shown.
type lineDisc struct {
	termios
	in []cell
	// lines is how much of in is complete lines. shown is output that has not been fetched.
	lines int
	shown []byte
	// column is where the cursor is, lineColumn where the line that is being typed began.
	column, lineColumn int
	literal            bool // the next character is not special
	stopped            bool // output is, by VSTOP or TCOOFF
	signal             func(sig int)
}

func isControl(c byte) bool { return c < 32 || c == 127 }

// shownMax is how much output waits to be fetched at most. Programs wait before it is that much (ptyRoom); what is echoed
// beyond it is lost.
const shownMax = 19 << 10

// show puts c where it is fetched from.
func (d *lineDisc) show(c byte) {
	if len(d.shown) < shownMax {
		d.shown = append(d.shown, c)
	}
}

// put shows c.
func (d *lineDisc) put(c byte) {
	switch {
	case c == '\b':
		d.column = max(d.column-1, 0)
	case c == '\r':
		d.column = 0
	case !isControl(c) && (d.iflag&iutf8 == 0 || c&0xc0 != 0x80):
		d.column++
	}
	d.show(c)
}

// output shows c as the program wrote it.
func (d *lineDisc) output(c byte) {
	if d.oflag&opost == 0 {
		d.show(c)
		return
	}
	switch c {
	case '\n':
		if d.oflag&onlret != 0 {
			d.column = 0
		}
		if d.oflag&onlcr != 0 {
			d.put('\r')
		}
		d.lineColumn = d.column
	case '\r':
		if d.oflag&onocr != 0 && d.column == 0 {
			return
		}
		if d.oflag&ocrnl != 0 {
			c = '\n'
		}
		d.lineColumn = 0
	case '\t':
		spaces := 8 - d.column&7
		if d.oflag&xtabs == xtabs {
			for range spaces {
				d.put(' ')
			}
			return
		}
		d.column += spaces
	}
	d.put(c)
}

// echo shows c as it was typed.
func (d *lineDisc) echo(c byte) {
	if d.lflag&echoctl != 0 && isControl(c) && c != '\t' {
		d.put('^')
		d.put(c ^ 0o100)
		return
	}
	d.output(c)
}

// input takes a character that was typed.
func (d *lineDisc) input(c byte) {
	if d.iflag&istrip != 0 {
		c &= 0x7f
	}
	if d.literal {
		d.literal = false
		d.add(c)
		return
	}
	if d.iflag&ixon != 0 {
		if d.is(c, vStart) || d.is(c, vStop) {
			d.stopped = d.is(c, vStop)
			return
		}
		if d.iflag&ixany != 0 {
			d.stopped = false
		}
	}
	if d.lflag&isig != 0 {
		sig := 0
		switch {
		case d.is(c, vIntr):
			sig = sigINT
		case d.is(c, vQuit):
			sig = sigQUIT
		case d.is(c, vSusp):
			sig = sigTSTP
		}
		if sig != 0 {
			d.interrupt(c, sig)
			return
		}
	}
	switch {
	case c == '\r' && d.iflag&igncr != 0:
		return
	case c == '\r' && d.iflag&icrnl != 0:
		c = '\n'
	case c == '\n' && d.iflag&inlcr != 0:
		c = '\r'
	}
	if d.lflag&icanon == 0 || !d.edit(c) {
		d.add(c)
	}
}

// interrupt sends what c stands for.
func (d *lineDisc) interrupt(c byte, sig int) {
	if d.lflag&noflsh == 0 {
		d.in, d.lines = nil, 0
	}
	if d.iflag&ixon != 0 {
		d.stopped = false
	}
	if d.lflag&echo != 0 {
		d.echo(c)
	}
	d.signal(sig)
}

// edit does what c does to the line, and reports whether that was all.
func (d *lineDisc) edit(c byte) bool {
	extended := d.lflag&iexten != 0
	switch {
	case d.is(c, vErase), d.is(c, vKill), extended && d.is(c, vWErase):
		d.erase(c)
	case extended && d.is(c, vLNext):
		d.literal = true
		if d.lflag&echo != 0 && d.lflag&echoctl != 0 {
			d.put('^')
			d.put('\b')
		}
	case extended && d.is(c, vReprint) && d.lflag&echo != 0:
		d.echo(c)
		d.output('\n')
		for _, x := range d.in[d.lines:] {
			d.echo(x.c)
		}
	case c == '\n':
		if d.lflag&(echo|echonl) != 0 {
			d.output('\n')
		}
		d.end(cell{c: c, end: true})
	case d.is(c, vEOF):
		d.end(cell{end: true, eof: true})
	case d.is(c, vEOL), extended && d.is(c, vEOL2):
		if d.lflag&echo != 0 {
			d.echo(c)
		}
		d.end(cell{c: c, end: true})
	default:
		return false
	}
	return true
}

// end completes a line.
func (d *lineDisc) end(x cell) {
	d.in = append(d.in, x)
	d.lines = len(d.in)
}

// add takes c as it is.
func (d *lineDisc) add(c byte) {
	if d.lflag&echo != 0 {
		if len(d.in) == d.lines {
			d.lineColumn = d.column
		}
		if c == '\n' {
			d.output(c)
		} else {
			d.echo(c)
		}
	}
	if d.lflag&icanon != 0 && len(d.in)-d.lines >= lineMax {
		return // until the line ends
	}
	d.in = append(d.in, cell{c: c})
}

// erase takes back a character, a word or the line, for c.
func (d *lineDisc) erase(c byte) {
	char, word := d.is(c, vErase), d.is(c, vWErase)
	if len(d.in) == d.lines {
		return
	}
	if !char && !word && d.lflag&(echo|echok|echoke|echoe) != echo|echok|echoke|echoe {
		d.in = d.in[:d.lines]
		if d.lflag&echo != 0 {
			d.echo(c)
			if d.lflag&echok != 0 {
				d.output('\n')
			}
		}
		return
	}
	seen := false
	for len(d.in) > d.lines {
		n := len(d.in) - 1
		for d.iflag&iutf8 != 0 && n > d.lines && d.in[n].c&0xc0 == 0x80 {
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
		if d.lflag&echo != 0 {
			if char && d.lflag&echoe == 0 {
				d.echo(c)
			} else {
				d.unshow(x)
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

// unshow takes x, the last of the line, off the screen.
func (d *lineDisc) unshow(x byte) {
	n := 1
	switch {
	case x == '\t':
		n = 8 - d.width()&7
		for range n {
			d.put('\b')
		}
		return
	case isControl(x) && d.lflag&echoctl != 0:
		n = 2
	case isControl(x):
		n = 0
	}
	for range n {
		d.put('\b')
		d.put(' ')
		d.put('\b')
	}
}

// width is how wide the line that is being typed is, from the last tab or its beginning on.
func (d *lineDisc) width() int {
	n := 0
	for i := len(d.in) - 1; i >= d.lines; i-- {
		switch c := d.in[i].c; {
		case c == '\t':
			return n
		case isControl(c):
			if d.lflag&echoctl != 0 {
				n += 2
			}
		case d.iflag&iutf8 == 0 || c&0xc0 != 0x80:
			n++
		}
	}
	return n + d.lineColumn
}

// set changes the settings. What was typed before and not read is a line when lines are wanted from now on.
func (d *lineDisc) set(s termios) {
	if (s.lflag^d.lflag)&icanon != 0 && len(d.in) > 0 {
		d.lines = len(d.in)
		d.in[d.lines-1].end = true
	}
	if s.iflag&ixon == 0 {
		d.stopped = false
	}
	d.termios = s
}

// available is how much can be read now.
func (d *lineDisc) available() int {
	if d.lflag&icanon != 0 {
		return d.lines
	}
	return len(d.in)
}

// take reads up to n characters: a line at most.
func (d *lineDisc) take(n int) []byte {
	var out []byte
	i, canon := 0, d.lflag&icanon != 0
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
