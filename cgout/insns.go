package cgout

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Insns has counts by instruction, beside a Profile with the same by line. Its file has
// the profile's name and InsnsSuffix; cg_annotate does not look at it.
//
// The file is text, of a line each:
//
//	insns: 2                 the format's version
//	counts: Ir Dr            a profile's events
//	ob=/bin/true             what follows lies in this file, until the next ob=
//	fl=/src/true.c           likewise file and function of the source
//	fn=main
//	401126 12 4889c8 100 3 mov rax,rcx
//
// The last is an instruction: its address (hexadecimal, as the object numbers it), its line, its bytes, a count for
// each event, and its text. Instructions ascend by object and address. No line says "events:": KCachegrind takes what
// has one, and a name that begins with that of the file it opens, for a further part of that.
type Insns struct {
	Events []string
	List   []Insn
}

// InsnsSuffix ends the name of a file of Insns.
const InsnsSuffix = ".insns"

// OldSuffix ends the name of a profile that a later run has set aside, perhaps with a number behind it.
const OldSuffix = ".old"

// insnsVersion is the format's.
const insnsVersion = "2"

// An Insn is one instruction.
type Insn struct {
	Object, File, Func string
	Line               int
	Addr               uint64
	Code               []byte
	Counts             []uint64
	// Text is the instruction in assembly.
	Text string
}

// clone returns a copy that shares nothing that changes; nil of nil.
func (s *Insns) clone() *Insns {
	if s == nil {
		return nil
	}
	c := &Insns{Events: slices.Clone(s.Events), List: slices.Clone(s.List)}
	for i := range c.List {
		c.List[i].Code, c.List[i].Counts = slices.Clone(c.List[i].Code), slices.Clone(c.List[i].Counts)
	}
	return c
}

// Sort puts the instructions into the file's order.
func (s *Insns) Sort() {
	slices.SortFunc(s.List, func(a, b Insn) int { return insnOrder(&a, &b) })
}

// Write writes the file. It is an error if ReadInsns would not read it: see Profile.Write; or if an instruction has
// more or fewer counts than there are events.
func (s *Insns) Write(w io.Writer) error {
	if err := checkEvents(s.Events); err != nil {
		return err
	}
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "insns: %s\ncounts: %s\n", insnsVersion, strings.Join(s.Events, " "))
	var last Insn
	for i := range s.List {
		in := &s.List[i]
		switch {
		case in.Line < 0:
			return negativeLine(in.Line, in.Func)
		case len(in.Counts) != len(s.Events):
			return fmt.Errorf("cgout: the instruction at %#x has %d counts of %d events", in.Addr, len(in.Counts), len(s.Events))
		}
		if i == 0 || in.Object != last.Object {
			fmt.Fprintf(b, "ob=%s\n", oneLine(in.Object))
		}
		if i == 0 || in.File != last.File {
			fmt.Fprintf(b, "fl=%s\n", oneLine(in.File))
		}
		if i == 0 || in.Func != last.Func {
			fmt.Fprintf(b, "fn=%s\n", oneLine(in.Func))
		}
		fmt.Fprintf(b, "%x %d %x", in.Addr, in.Line, in.Code)
		for _, n := range in.Counts {
			fmt.Fprintf(b, " %d", n)
		}
		fmt.Fprintf(b, " %s\n", oneLine(in.Text))
		last = *in
	}
	return b.Flush()
}

// WriteFile writes the file as Profile.WriteFile does.
func (s *Insns) WriteFile(path string) error { return writeFile(context.Background(), path, s.Write) }

// ReadInsns reads what Write wrote. Errors call it name, and say which line is wrong.
func ReadInsns(name string, r io.Reader) (*Insns, error) {
	s := &Insns{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	n := 0
	fail := func(err error) (*Insns, error) { return nil, fmt.Errorf("%s:%d: %w", name, n, err) }
	var at Insn
	for lines.Scan() {
		n++
		line := lines.Bytes()
		text, isEvents := bytes.CutPrefix(line, []byte("counts: "))
		switch {
		case n == 1:
			if string(line) != "insns: "+insnsVersion {
				return fail(fmt.Errorf("not counts by instruction, or of another version than %s", insnsVersion))
			}
		case n == 2:
			if s.Events = strings.Fields(string(text)); !isEvents || len(s.Events) == 0 {
				return fail(errors.New("no events"))
			}
		case bytes.HasPrefix(line, []byte("ob=")):
			at.Object = string(line[3:])
		case bytes.HasPrefix(line, []byte("fl=")):
			at.File = string(line[3:])
		case bytes.HasPrefix(line, []byte("fn=")):
			at.Func = string(line[3:])
		default:
			if err := at.parse(string(line), len(s.Events)); err != nil {
				return fail(err)
			}
			s.List = append(s.List, at)
		}
	}
	if err := lines.Err(); err != nil {
		return fail(err)
	}
	if n < 2 {
		return fail(io.ErrUnexpectedEOF)
	}
	return s, nil
}

// parse reads an instruction's line into in, whose place is known.
func (in *Insn) parse(line string, events int) (err error) {
	fields := strings.SplitN(line, " ", 4+events)
	if len(fields) != 4+events {
		return fmt.Errorf("%d fields of an instruction, %d expected", len(fields), 4+events)
	}
	if in.Addr, err = strconv.ParseUint(fields[0], 16, 64); err != nil {
		return fmt.Errorf("address: %w", err)
	}
	if in.Line, err = strconv.Atoi(fields[1]); err != nil || in.Line < 0 {
		return fmt.Errorf("line number %q", fields[1])
	}
	if in.Code, err = hex.DecodeString(fields[2]); err != nil {
		return fmt.Errorf("code: %w", err)
	}
	in.Counts = make([]uint64, events)
	for i := range in.Counts {
		if in.Counts[i], err = strconv.ParseUint(fields[3+i], 10, 64); err != nil {
			return fmt.Errorf("count: %w", err)
		}
	}
	in.Text = fields[3+events]
	return nil
}
