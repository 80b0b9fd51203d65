// Package enginelog writes what an engine tells through emu.Debug: the blocks that it translates, the instructions that
// it executes, and maps of its code for the host's perf. The manual's section "Instruments" says what each column is.
//
// The texts are the same in every run, as far as the host's code is: it contains addresses of the host's where caches
// are simulated.
package enginelog

import (
	"bytes"
	"fmt"
	"io"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

// Writers says where what is written; nil for what is not wanted.
type Writers struct {
	Blocks, Trace, PerfMap, Profile io.Writer
}

// A Place is where guest code comes from: the process that executes it, and its source.
type Place struct {
	PID        int
	Func, File string
	Line       int
}

// New returns what tells w of an engine whose code place explains; nil if nothing is wanted.
func (w Writers) New(place func(emu.Addr) Place) *emu.Debug {
	if w == (Writers{}) {
		return nil
	}
	d := &emu.Debug{}
	if w.Blocks != nil || w.PerfMap != nil {
		d.Block = func(b *emu.Block) {
			at := place(b.Insns[0].At)
			if w.Blocks != nil {
				writeBlock(w.Blocks, b, at)
			}
			if w.PerfMap != nil {
				fmt.Fprintf(w.PerfMap, "%x %x guest:%s\n", b.Addr, b.Size(), at.Func)
			}
		}
	}
	if w.Profile != nil {
		d.Code = func(list []emu.Code) { writeCodes(w.Profile, list) }
	}
	if w.Trace != nil {
		d.Step = func(code []byte, before, after *emu.CPU) {
			writeStep(w.Trace, code, before, after, place(before.RIP))
		}
	}
	return d
}

// writeCodes writes a line for each piece of code, as perf's maps have it, in one piece.
func writeCodes(w io.Writer, list []emu.Code) {
	var b bytes.Buffer
	for _, c := range list {
		fmt.Fprintf(&b, "%x %x %s", c.Addr, c.Size, c.Purpose)
		if c.Far {
			b.WriteString(", far")
		}
		b.WriteByte('\n')
	}
	w.Write(b.Bytes())
}

// writeBlock writes a block: a line about it, its counters, and each instruction of the guest with the host's code for
// it.
func writeBlock(w io.Writer, b *emu.Block, at Place) {
	once := ""
	if b.Once {
		once = ", runs once"
	}
	fmt.Fprintf(w, "%d block %x %s (%s:%d): %d instructions, %d bytes%s; ends: %s\n",
		at.PID, uint64(b.Insns[0].At), at.Func, at.File, at.Line, len(b.Insns), b.Size(), once, b.End)
	for _, c := range b.Counters {
		fmt.Fprintf(w, "  counter %d of %x: %s\n", c.Number, uint64(b.Insns[c.Insn].At), c.What)
	}
	off := uint64(b.Off)
	for _, in := range b.Insns {
		writeCode(w, "  ", uint64(in.At), in.Guest)
		off = writeCode(w, "      ", off, in.Host)
	}
	fmt.Fprintln(w, "  behind it")
	writeCode(w, "      ", off, b.Tail)
}

// writeCode writes a line for each instruction in code, which lies at addr, and returns where it ends.
func writeCode(w io.Writer, indent string, addr uint64, code []byte) uint64 {
	for len(code) > 0 {
		n, text := decode(addr, code)
		fmt.Fprintf(w, "%s%x  %-30s  %s\n", indent, addr, fmt.Sprintf("%x", code[:n]), text)
		addr, code = addr+uint64(n), code[n:]
	}
	return addr
}

// decode returns the length and the text of the first instruction in code, which lies at addr, with the address that it
// has relative to RIP behind a #. What is no instruction is a byte.
func decode(addr uint64, code []byte) (n int, text string) {
	var in x86.Inst
	if x86.Decode(code, &in) != nil {
		return 1, "(bad)"
	}
	text = in.Format(addr)
	if in.Mem.RIPRel {
		text += fmt.Sprintf(" # %x", addr+uint64(in.Len)+uint64(in.Mem.Disp))
	}
	return int(in.Len), text
}
