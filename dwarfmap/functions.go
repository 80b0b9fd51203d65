package dwarfmap

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"math"
	"slices"
)

// Functions calls f with the place in the file, and the symbol without its version
// (`@@GLIBC_2.34`), of each function that the file holds, in no order. A function that has several
// symbols comes several times, and so does one that two tables name. Unlike Lookup it knows symbols
// without a size too, which assembly often has.
func (o *Object) Functions(f func(fileOffset uint64, symbol string)) {
	if t := o.goSymbols(); t != nil {
		o.goFunctions(t, f)
	}
	for _, section := range []string{".symtab", ".dynsym"} {
		m := o.image(section)
		if m == nil {
			continue
		}
		err := m.eachSymbol(m.section(section), func(data, names []byte) {
			kind, index := elf.SymType(data[4]&15), elf.SectionIndex(binary.LittleEndian.Uint16(data[6:]))
			if kind != elf.STT_FUNC && kind != elf.STT_GNU_IFUNC || index == elf.SHN_UNDEF {
				return
			}
			name := stringAt(names, uint64(binary.LittleEndian.Uint32(data)))
			name, _, _ = bytes.Cut(name, []byte("@"))
			if len(name) == 0 {
				return
			}
			if off, ok := o.fileOffset(binary.LittleEndian.Uint64(data[8:])); ok {
				f(off, string(name))
			}
		})
		if err != nil {
			o.fail(err)
		}
	}
}

// goFunctions calls f with the functions of Go's own table.
func (o *Object) goFunctions(t *goTable, f func(fileOffset uint64, symbol string)) {
	for i := range t.count {
		at, ok := t.field(i, goName)
		name := stringAt(t.names, uint64(at))
		if off, mapped := o.fileOffset(t.code(i).lo); ok && mapped && len(name) > 0 {
			f(off, string(name))
		}
	}
}

// fileOffset returns where in the file the byte is that an executable segment places at vaddr.
func (o *Object) fileOffset(vaddr uint64) (uint64, bool) {
	for _, p := range o.main.elf.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 && vaddr >= p.Vaddr && vaddr-p.Vaddr < p.Filesz {
			return p.Off + (vaddr - p.Vaddr), true
		}
	}
	return 0, false
}

// Unnamed returns the addresses around one that no function holds, [lo, hi), of which that is so, and whether they are
// those of a procedure linkage table, whose entries lead to functions of other objects.
func (o *Object) Unnamed(vaddr uint64) (lo, hi uint64, linkage bool) {
	hi = math.MaxUint64
	if o.symbolAt(vaddr) == nil {
		syms := o.symbols().syms
		i, _ := slices.BinarySearchFunc(syms, vaddr, func(s symbol, addr uint64) int { return cmp.Compare(s.addr, addr) })
		if i > 0 {
			lo = syms[i-1].end()
		}
		if i < len(syms) {
			hi = syms[i].addr
		}
	}
	for _, name := range linkageSections {
		s := o.main.section(name)
		switch {
		case s == nil:
		case vaddr-s.Addr < s.Size:
			lo, hi, linkage = max(lo, s.Addr), min(hi, s.Addr+s.Size), true
		case vaddr < s.Addr:
			hi = min(hi, s.Addr)
		default:
			lo = max(lo, s.Addr+s.Size)
		}
	}
	return lo, hi, linkage
}

// Demangled returns a symbol of C++ or Rust as in the source, any other as it is.
func Demangled(symbol string) string { return new(effort).demangled(symbol) }
