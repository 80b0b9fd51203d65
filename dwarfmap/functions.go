package dwarfmap

import (
	"debug/elf"
	"errors"
	"fmt"
	"strings"
)

// Functions calls f with the place in the file, and the symbol without its version
// (`@@GLIBC_2.34`), of each function that the file holds, in no order. A function that has several
// symbols comes several times, and so does one that two tables name. Unlike Lookup it knows symbols
// without a size too, which assembly often has.
func (o *Object) Functions(f func(fileOffset uint64, symbol string)) {
	for _, section := range []string{".symtab", ".dynsym"} {
		m := o.image(section)
		if m == nil {
			continue
		}
		read := m.elf.Symbols
		if section == ".dynsym" {
			read = m.elf.DynamicSymbols
		}
		syms, err := read()
		if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
			o.fail(fmt.Errorf("section %s: %w", section, err))
		}
		for _, s := range syms {
			kind := elf.ST_TYPE(s.Info)
			if kind != elf.STT_FUNC && kind != elf.STT_GNU_IFUNC || s.Section == elf.SHN_UNDEF || s.Name == "" {
				continue
			}
			if off, ok := o.fileOffset(s.Value); ok {
				name, _, _ := strings.Cut(s.Name, "@")
				f(off, name)
			}
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

// Demangled returns a symbol of C++ or Rust as in the source, any other as it is.
func Demangled(symbol string) string { return demangled(symbol) }
