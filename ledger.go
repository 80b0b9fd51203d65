package cgemu

import (
	"cmp"
	"slices"

	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/dwarfmap"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
)

// A ledger holds counts by file and offset in it, so that they outlive the
// mapping. Code in no file is one entry: it has no names.
type ledger struct {
	files   map[string]*fileCounts
	unnamed uint64
	// The mapping of the last add: counts come in runs.
	last    mem.VMA
	lastSet *fileCounts
}

// A fileCounts has the executions of instructions by file offset, more than once for an
// offset where it was collected more than once.
type fileCounts []offsetCount

type offsetCount struct{ off, n uint64 }

func newLedger() *ledger { return &ledger{files: map[string]*fileCounts{}} }

// add adds n executions of the instruction at a.
func (l *ledger) add(m *mem.Space, a emu.Addr, n uint64) {
	if a < l.last.Lo || a >= l.last.Hi {
		v := m.VMA(a)
		if v == nil || !v.File {
			l.unnamed += n
			return
		}
		l.last = *v
		l.lastSet = l.files[v.Path]
		if l.lastSet == nil {
			l.lastSet = new(fileCounts)
			l.files[v.Path] = l.lastSet
		}
	}
	*l.lastSet = append(*l.lastSet, offsetCount{l.last.Off + uint64(a-l.last.Lo), n})
}

// moved says that mappings may have changed since the last add.
func (l *ledger) moved() { l.last = mem.VMA{} }

// profile turns the counts into costs of source lines. open opens a guest's file by its path
// for its symbols; a file it cannot open has none.
func (l *ledger) profile(p *cgout.Profile, open func(path string) (*dwarfmap.Object, error)) (warnings []error) {
	if l.unnamed > 0 {
		p.Add(dwarfmap.Unknown, dwarfmap.Unknown, 0, l.unnamed)
	}
	paths := make([]string, 0, len(l.files))
	for path := range l.files {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	for _, path := range paths {
		counts := *l.files[path]
		slices.SortFunc(counts, func(a, b offsetCount) int { return cmp.Compare(a.off, b.off) })
		obj, err := open(path)
		if err != nil {
			warnings = append(warnings, err)
			for _, c := range counts {
				p.Add(dwarfmap.Unknown, dwarfmap.Unknown, 0, c.n)
			}
			continue
		}
		for _, c := range counts {
			loc := dwarfmap.Loc{File: dwarfmap.Unknown, Func: dwarfmap.Unknown}
			if va, ok := obj.VAddr(c.off); ok {
				loc = obj.Lookup(va)
			}
			p.Add(loc.File, loc.Func, loc.Line, c.n)
		}
		if err := obj.Err(); err != nil {
			warnings = append(warnings, err)
		}
		obj.Close()
	}
	return warnings
}
