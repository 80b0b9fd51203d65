package jitnames

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path"
	"strconv"
	"strings"
)

// A Parser reads a file that names functions while it is written.
type Parser struct {
	name string
	add  func(Function)
	fail func(error)
	// failed says that something was wrong, and was reported.
	failed bool
	// dump is that of a jitdump file, nil for a perf map.
	dump *dump
	// rest is the beginning of a line or a record, of which the end was not written yet. line is its number.
	rest []byte
	line int
	// long says that the line is too long: the rest of it is left out.
	long bool
}

// NewParser returns the Parser of a file called name, and the process that its name says it is of; nil if it is not
// called like a file with names. add gets each function, and fail the first thing that is wrong: lines and records like
// that are left out.
func NewParser(name string, add func(Function), fail func(error)) (p *Parser, pid int) {
	base := path.Base(name)
	p = &Parser{name: base, add: add, fail: fail}
	if rest, ok := strings.CutPrefix(base, "jit-"); ok {
		base = strings.TrimSuffix(rest, ".dump")
		p.dump = &dump{}
	} else if rest, ok = strings.CutPrefix(base, "perf-"); ok {
		base = strings.TrimSuffix(rest, ".map")
	}
	pid, err := strconv.Atoi(base)
	if err != nil || pid <= 0 || p.name != p.of(pid) {
		return nil, 0
	}
	return p, pid
}

// of is what such a file of process pid is called.
func (p *Parser) of(pid int) string {
	if p.dump != nil {
		return fmt.Sprintf("jit-%d.dump", pid)
	}
	return fmt.Sprintf("perf-%d.map", pid)
}

// Write takes what was written next.
func (p *Parser) Write(b []byte) {
	if p.dump != nil {
		p.records(b)
		return
	}
	for len(b) > 0 {
		line, after, whole := bytes.Cut(b, []byte("\n"))
		if b = after; len(p.rest)+len(line) > maxName+64 {
			p.long, line = true, line[:maxName+64-len(p.rest)]
		}
		if p.rest = append(p.rest, line...); whole {
			p.line++
			p.mapLine(string(p.rest))
			p.rest, p.long = p.rest[:0], false
		}
	}
}

// mapLine takes a line of a perf map: where the function begins and its size, in hexadecimal, and its name, which may
// hold blanks (tools/perf/Documentation/jit-interface.txt).
func (p *Parser) mapLine(line string) {
	start, rest, _ := strings.Cut(line, " ")
	size, name, _ := strings.Cut(rest, " ")
	lo, err1 := strconv.ParseUint(strings.TrimPrefix(start, "0x"), 16, 64)
	n, err2 := strconv.ParseUint(strings.TrimPrefix(size, "0x"), 16, 64)
	if err1 != nil || err2 != nil || lo+n < lo || strings.TrimSpace(name) == "" || p.long {
		p.wrong(fmt.Sprintf("line %d is not START SIZE NAME, the first two in hexadecimal", p.line))
		return
	}
	p.add(Function{lo, lo + n, clean(name)})
}

// wrong reports what is wrong first.
func (p *Parser) wrong(what string) {
	if !p.failed {
		p.failed = true
		p.fail(fmt.Errorf("%s: %s: functions named there may be missing", p.name, what))
	}
}

// clean returns a name as it is shown: one line, and not too long.
func clean(name string) string {
	name = strings.TrimSpace(name[:min(len(name), maxName)])
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(name, "?"))
}

// A dump is what is known of a jitdump file (tools/perf/Documentation/jitdump-specification.txt).
type dump struct {
	// header says that the file's header was read. stopped says that the file cannot be read further.
	header, stopped bool
	// skip is how many bytes of the record are left that are not wanted.
	skip uint64
	// loaded has the functions by their numbers: those that are moved are known by these. text is how long their names
	// are.
	loaded map[uint64]Function
	text   int
}

// Kinds of records, and the sizes of what they begin with.
const (
	recordLoad = 0
	recordMove = 1

	prefixSize = 16 // of each record: its kind, its size, a time
	loadSize   = prefixSize + 40
	moveSize   = prefixSize + 48
	headerSize = 40

	dumpMagic = 0x4a695444 // "JiTD"
)

// records takes what was written next to a jitdump file.
func (p *Parser) records(b []byte) {
	d := p.dump
	for len(b) > 0 && !d.stopped {
		if d.skip > 0 {
			n := min(d.skip, uint64(len(b)))
			d.skip, b = d.skip-n, b[n:]
			continue
		}
		n := min(p.wanted()-len(p.rest), len(b))
		p.rest, b = append(p.rest, b[:n]...), b[n:]
		if len(p.rest) < p.wanted() {
			continue
		}
		if !d.header {
			p.dumpHeader()
			continue
		}
		size := uint64(binary.LittleEndian.Uint32(p.rest[4:]))
		if size < prefixSize {
			p.wrong(fmt.Sprintf("a record has %d bytes, less than its header", size))
			d.stopped = true
			return
		}
		p.record(p.rest)
		d.skip = size - uint64(len(p.rest))
		p.rest = p.rest[:0]
	}
}

// wanted is how many bytes of the header, or of the record, are needed: those of a record up to the name of a function.
func (p *Parser) wanted() int {
	le := binary.LittleEndian
	switch {
	case !p.dump.header && len(p.rest) < headerSize:
		return headerSize
	case !p.dump.header:
		return max(headerSize, int(min(le.Uint32(p.rest[8:]), 1<<16)))
	case len(p.rest) < prefixSize:
		return prefixSize
	}
	want, size := prefixSize, le.Uint32(p.rest[4:])
	switch le.Uint32(p.rest) {
	case recordLoad:
		want = loadSize + maxName
		if len(p.rest) > loadSize && bytes.IndexByte(p.rest[loadSize:], 0) >= 0 {
			want = len(p.rest)
		}
	case recordMove:
		want = moveSize
	}
	return max(prefixSize, int(min(uint32(want), size)))
}

// dumpHeader reads the header of the file.
func (p *Parser) dumpHeader() {
	p.dump.header = true
	if binary.LittleEndian.Uint32(p.rest) != dumpMagic {
		p.wrong("it does not begin as a jitdump file of a little-endian machine does")
		p.dump.stopped = true
	}
	p.rest = p.rest[:0]
}

// record reads the beginning of a record.
func (p *Parser) record(b []byte) {
	le := binary.LittleEndian
	d := p.dump
	switch kind := le.Uint32(b); {
	case kind == recordLoad && len(b) > loadSize:
		// Behind the prefix: process, thread, address of the symbol, of the code, its size, number.
		name, _, _ := bytes.Cut(b[loadSize:], []byte{0})
		f := Function{Lo: le.Uint64(b[32:]), Name: clean(string(name))}
		if f.Hi = f.Lo + le.Uint64(b[40:]); f.Hi < f.Lo || len(name) == 0 {
			p.wrong("a function has no name, or a size that cannot be")
			return
		}
		if d.loaded == nil {
			d.loaded = map[uint64]Function{}
		}
		if d.text += len(f.Name); len(d.loaded) < maxFunctions && d.text <= maxText {
			d.loaded[le.Uint64(b[48:])] = f
		}
		p.add(f)
	case kind == recordMove && len(b) >= moveSize:
		// Behind the prefix: process, thread, address of the symbol, of the code before and now, its size, number.
		f, known := d.loaded[le.Uint64(b[56:])]
		if f.Lo = le.Uint64(b[40:]); !known {
			return
		}
		if f.Hi = f.Lo + le.Uint64(b[48:]); f.Hi > f.Lo {
			p.add(f)
		}
	case kind == recordLoad || kind == recordMove:
		p.wrong(fmt.Sprintf("a record of kind %d has only %d bytes", kind, len(b)))
	}
}
