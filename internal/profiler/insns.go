package profiler

import (
	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/dwarfmap"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/emu/x86"
)

// An insnKey is an instruction: an address as its object numbers it, or the guest's without an object.
// What code that was rewritten was called is part of it.
type insnKey struct {
	object string
	addr   uint64
	loc    dwarfmap.Loc
	// fn is its function, if that is to have another name than loc has when the counts are taken.
	fn funcKey
}

// An insnTable gathers counts by instruction.
type insnTable struct {
	columns int
	found   map[insnKey]*cgout.Insn
}

func newInsnTable(columns int) *insnTable {
	return &insnTable{columns: columns, found: map[insnKey]*cgout.Insn{}}
}

// add adds n to a column of the instruction at a, which lies at k.
func (t *insnTable) add(m *mem.Space, a emu.Addr, k insnKey, column int, n uint64) {
	in := t.found[k]
	if in == nil {
		in = &cgout.Insn{
			Object: k.object, File: k.loc.File, Func: k.loc.Func, Line: k.loc.Line, Addr: k.addr,
			Counts: make([]uint64, t.columns),
		}
		in.Code, in.Text = disassemble(m, a, k.addr)
		t.found[k] = in
	}
	in.Counts[column] += n
}

// rename gives instructions the names of their functions that name returns.
func (t *insnTable) rename(name func(k funcKey) string) {
	for k, in := range t.found {
		if k.fn != (funcKey{}) {
			in.Func = name(k.fn)
		}
	}
}

// disassemble returns the bytes and the text of the instruction at a, shown as if at addr. An empty text
// says that its memory is gone.
func disassemble(m *mem.Space, a emu.Addr, addr uint64) (code []byte, text string) {
	var buf [x86.MaxLen]byte
	code = buf[:m.Fetch(a, buf[:])]
	var in x86.Inst
	if err := x86.Decode(code, &in); err != nil {
		return code[:min(len(code), 1)], "(bad)"
	}
	return code[:in.Len], in.Format(addr)
}

// take returns what was gathered, and begins anew.
func (t *insnTable) take(events []string) *cgout.Insns {
	s := &cgout.Insns{Events: events}
	estimate := cycleEstimate(events)
	for _, in := range t.found {
		estimate(in.Counts)
		s.List = append(s.List, *in)
	}
	s.Sort()
	clear(t.found)
	return s
}
