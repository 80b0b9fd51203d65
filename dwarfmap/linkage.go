package dwarfmap

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io"
	"strings"
)

// linkageSections hold procedure linkage tables.
var linkageSections = [...]string{".plt", ".plt.got", ".plt.sec"}

// linkageSuffix follows the name of a function in that of its entry in a procedure linkage table, as objdump and gdb
// show it.
const linkageSuffix = "@plt"

// A linkage has the functions to which the entries of procedure linkage tables lead.
type linkage struct {
	// slots are the words that the entries jump through, by address; ordinals are the same by the number that an entry
	// pushes for the dynamic linker: its relocation in .rela.plt.
	slots    map[uint64]slot
	ordinals []slot
	names    map[uint64]string // of entries, by address, as shown
}

// A slot is a word that the dynamic linker, or the start of a static program, sets to the address of a function: that
// of a symbol, by its number in a table, or without one that which the function at resolver returns
// (R_X86_64_IRELATIVE).
type slot struct {
	symbols  *elf.Section
	symbol   uint32
	resolver uint64
}

// LinkageName returns the name of the procedure linkage table's entry at an address: that of the function to which it
// leads and "@plt". It returns "" for all other code, and for the entry that calls the dynamic linker.
func (o *Object) LinkageName(vaddr uint64) string {
	s := o.linkageSection(vaddr)
	if s == nil || isDone(o.opts.Done) {
		return ""
	}
	if o.linkage == nil {
		o.linkage = &linkage{slots: map[uint64]slot{}, names: map[uint64]string{}}
		o.loadLinkage()
	}
	entry, size := o.linkageEntry(s, vaddr)
	name, known := o.linkage.names[entry]
	if !known {
		if code := make([]byte, min(size, s.Addr+s.Size-entry)); s.Type != elf.SHT_NOBITS {
			if _, err := readAt(s, code, int64(entry-s.Addr)); err == nil {
				name = o.keep(o.slotName(o.linkage.slotOf(entry, code)))
			}
		}
		o.linkage.names[entry] = name
	}
	return name
}

// readAt reads what a section has in the file: nothing if its header says that it is compressed, as no section is that
// a program needs when it runs. (Package debug/elf gives no reader for those.)
func readAt(s *elf.Section, b []byte, off int64) (int, error) {
	if s.ReaderAt == nil {
		return 0, io.EOF
	}
	return s.ReadAt(b, off)
}

// linkageEntry returns where the entry of a procedure linkage table begins that holds an address, and its size.
func (o *Object) linkageEntry(s *elf.Section, vaddr uint64) (entry, size uint64) {
	size, known := o.linkageSizes[s]
	if !known {
		size = linkageEntrySize(s)
		o.linkageSizes[s] = size
	}
	return vaddr - (vaddr-s.Addr)%size, size
}

// linkageEntrySize returns the size of the entries of a procedure linkage table: 16 bytes, or 8 if they are jumps alone
// (in .plt.got, and in .plt of static programs). What the section's header says of that is often 0.
func linkageEntrySize(s *elf.Section) uint64 {
	var code [10]byte
	if s.Type == elf.SHT_NOBITS || s.Size < 8 {
		return 16
	}
	if n, _ := readAt(s, code[:], 0); n >= 8 && isJump(code[:]) && (s.Size == 8 || isJump(code[8:])) {
		return 8
	}
	return 16
}

// isJump reports whether code begins with a JMP through a word, relative to RIP.
func isJump(code []byte) bool { return code[0] == 0xff && code[1] == 0x25 }

// linkageSection returns the procedure linkage table that holds an address, nil if none does.
func (o *Object) linkageSection(vaddr uint64) *elf.Section {
	for _, name := range linkageSections {
		if s := o.main.section(name); s != nil && vaddr-s.Addr < s.Size {
			return s
		}
	}
	return nil
}

// slotOf returns the slot that an entry leads through: by a jump through it, wherever in the entry that is, or by its
// number.
func (l *linkage) slotOf(entry uint64, code []byte) slot {
	for i := 0; i+6 <= len(code); i++ {
		if isJump(code[i:]) {
			to := entry + uint64(i+6) + uint64(int32(binary.LittleEndian.Uint32(code[i+2:])))
			if s, ok := l.slots[to]; ok {
				return s
			}
		}
	}
	code = bytes.TrimPrefix(code, []byte{0xf3, 0x0f, 0x1e, 0xfa}) // ENDBR64
	if len(code) >= 5 && code[0] == 0x68 {                        // PUSH
		if n := binary.LittleEndian.Uint32(code[1:]); uint64(n) < uint64(len(l.ordinals)) {
			return l.ordinals[n]
		}
	}
	return slot{}
}

// slotName is what an entry that leads through s is called, "" if that is not known.
func (o *Object) slotName(s slot) string {
	if s.symbols != nil {
		if name := o.main.symbolName(s.symbols, s.symbol); len(name) > 0 {
			return o.show(name) + linkageSuffix
		}
	} else if s.resolver != 0 {
		if name, ok := o.function(s.resolver); ok && o.lastSymbol.addr == s.resolver {
			name, _, _ = strings.Cut(name, "@") // its version
			return name + linkageSuffix
		}
	}
	return ""
}

// symbolName reads the name of one symbol of a table, without its version.
func (m *image) symbolName(table *elf.Section, n uint32) []byte {
	var sym [symSize]byte
	if table.Type == elf.SHT_NOBITS || int(table.Link) >= len(m.elf.Sections) {
		return nil
	}
	if _, err := readAt(table, sym[:], int64(n)*symSize); err != nil {
		return nil
	}
	names := m.elf.Sections[table.Link]
	if names.Type != elf.SHT_STRTAB {
		return nil
	}
	// Names are read in parts, since most are short.
	for size := 64; ; size *= 4 {
		name := make([]byte, size)
		n, err := readAt(names, name, int64(binary.LittleEndian.Uint32(sym[:])))
		if end := bytes.IndexByte(name[:n], 0); end >= 0 {
			name, _, _ = bytes.Cut(name[:end], []byte("@"))
			return name
		}
		if err != nil || size >= maxName {
			return nil
		}
	}
}

// maxRelocations is how many bytes of relocations are read, all together.
const maxRelocations = 1 << 30

// loadLinkage reads the relocations of slots.
func (o *Object) loadLinkage() {
	left := maxRelocations
	for _, s := range o.main.elf.Sections {
		if s.Type != elf.SHT_RELA || s.Flags&(elf.SHF_ALLOC|elf.SHF_COMPRESSED) != elf.SHF_ALLOC {
			continue
		}
		var symbols *elf.Section
		if s.Link != 0 && int(s.Link) < len(o.main.elf.Sections) {
			symbols = o.main.elf.Sections[s.Link]
		}
		// A large program has millions of relocations, nearly all for other things.
		part := make([]byte, min(s.Size, 1<<12*relaSize))
		for r := s.Open(); len(part) > 0 && left > 0 && !o.main.stopped(); {
			n, err := io.ReadFull(r, part)
			left -= n
			o.linkage.read(part[:n], symbols, s.Name == ".rela.plt")
			if err != nil {
				break
			}
		}
	}
}

// relaSize is the size of an Elf64_Rela.
const relaSize = 24

// read takes slots from relocations (Elf64_Rela) by the symbols of a table. numbered says that entries know them by
// their numbers.
func (l *linkage) read(relocations []byte, symbols *elf.Section, numbered bool) {
	le := binary.LittleEndian
	for ; len(relocations) >= relaSize; relocations = relocations[relaSize:] {
		var s slot
		at, info := le.Uint64(relocations), le.Uint64(relocations[8:])
		switch elf.R_X86_64(info & 0xffffffff) {
		case elf.R_X86_64_JMP_SLOT, elf.R_X86_64_GLOB_DAT:
			s.symbols, s.symbol = symbols, uint32(info>>32)
			l.slots[at] = s
		case elf.R_X86_64_IRELATIVE:
			s.resolver = le.Uint64(relocations[16:])
			l.slots[at] = s
		}
		if numbered {
			l.ordinals = append(l.ordinals, s)
		}
	}
}
