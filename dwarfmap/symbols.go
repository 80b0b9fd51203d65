package dwarfmap

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
)

// A symbol is a range of code with a name.
type symbol struct {
	addr, size uint64
	name       nameRef
}

func (s symbol) end() uint64 { return s.addr + s.size }

// A nameRef is the name of a symbol: a string table, and where in it the name
// begins. Without pointers the garbage collector leaves sorting alone.
type nameRef struct{ table, off uint32 }

// A symbolTable maps code to names.
type symbolTable struct {
	syms []symbol // sorted, disjoint
	strs [][]byte // string tables
	// Symbols are found by parts of their addresses, each of 1<<shift bytes: first has for each part, from that of the
	// first symbol on, the first symbol that begins there or behind it, nil before find is called.
	first []int32
	shift uint8
}

// prepare makes first, for two to four symbols a part.
func (t *symbolTable) prepare() {
	lo, hi := t.syms[0].addr, t.syms[len(t.syms)-1].addr
	for (hi-lo)>>t.shift > uint64(len(t.syms)/2) {
		t.shift++
	}
	t.first = make([]int32, (hi-lo)>>t.shift+2)
	part := 1
	for i, s := range t.syms {
		for ; part <= int((s.addr-lo)>>t.shift); part++ {
			t.first[part] = int32(i)
		}
	}
	t.first[part] = int32(len(t.syms))
}

// find returns the symbol that holds an address, nil if there is none.
func (t *symbolTable) find(addr uint64) *symbol {
	if len(t.syms) == 0 || addr < t.syms[0].addr {
		return nil
	}
	if t.first == nil {
		t.prepare()
	}
	part := min((addr-t.syms[0].addr)>>t.shift, uint64(len(t.first)-2))
	lo, hi := int(t.first[part]), int(t.first[part+1])
	i := lo + sort.Search(hi-lo, func(i int) bool { return t.syms[lo+i].addr > addr }) - 1
	if i < 0 || addr-t.syms[i].addr >= t.syms[i].size {
		return nil
	}
	return &t.syms[i]
}

// name returns a name without its final NUL, or the first maxName bytes of it.
func (t *symbolTable) name(n nameRef) []byte {
	b := t.strs[n.table][n.off:]
	b = b[:min(len(b), maxName)]
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return b[:i]
	}
	return b
}

// symbolAt returns the function at an address, nil if there is none.
func (o *Object) symbolAt(addr uint64) *symbol {
	if !o.execs.has(addr, addr) {
		return nil
	}
	t := o.symbols()
	if s := o.lastSymbol; s != nil && addr-s.addr < s.size {
		return s
	}
	s := t.find(addr)
	if s != nil {
		o.lastSymbol = s
	}
	return s
}

// symbols returns the table of symbols, which is read when it is asked for first.
func (o *Object) symbols() *symbolTable {
	if o.symtab == nil {
		o.symtab = &symbolTable{}
		o.loadSymbols()
	}
	return o.symtab
}

// function returns the name of the function at an address, as shown.
func (o *Object) function(addr uint64) (string, bool) {
	s := o.symbolAt(addr)
	if s == nil {
		return "", false
	}
	last := &o.lastName
	if last.symbol == s {
		return last.name, true
	}
	name, ok := o.names[s.name]
	if !ok {
		name = o.keep(o.show(o.symtab.name(s.name)))
		o.names[s.name] = name
	}
	last.symbol, last.name = s, name
	return name, true
}

// Func returns the symbol of the function at an address, which is not demangled and not to be changed, and its
// addresses, [lo, hi). ok says whether one is there.
func (o *Object) Func(vaddr uint64) (symbol []byte, lo, hi uint64, ok bool) {
	s := o.symbolAt(vaddr)
	if s == nil {
		return nil, 0, 0, false
	}
	return o.symtab.name(s.name), s.addr, s.end(), true
}

// keep returns a name that is to be kept, or Unknown if there is no room for it.
func (o *Object) keep(name string) string {
	if !o.room.take(uint64(len(name))) {
		o.fail(o.room.exceeded("names of functions"))
		return Unknown
	}
	return name
}

// show returns a symbol's name as profiles give it.
func (o *Object) show(symbol []byte) string {
	if len(symbol) == maxName {
		o.fail(fmt.Errorf("a symbol's name is longer than %d bytes: it is unknown", maxName))
		return Unknown
	}
	name := string(symbol)
	if o.opts.Demangle {
		if name = o.effort.demangled(name); o.effort.exhausted() {
			o.fail(fmt.Errorf("names of functions come to more than %d times the length of their symbols: "+
				"those met from there on are not demangled", effortPerByte))
		}
	}
	if !o.opts.ShowBelowMain && belowMain(name) {
		return "(below main)"
	}
	return name
}

// belowMain reports whether name is that of a function that calls main
// (Valgrind, m_debuginfo/debuginfo.c, VG_(get_fnname_kind)).
func belowMain(name string) bool {
	switch name {
	case "__libc_start_main", "__libc_start_call_main", "generic_start_main", "_start":
		return true
	}
	return strings.HasPrefix(name, "__libc_start_main.") || strings.HasPrefix(name, "generic_start_main.")
}

// loadSymbols reads .symtab, from the debug file if the object has none, and
// .dynsym. Without a .symtab Go's own table has functions.
func (o *Object) loadSymbols() {
	for _, name := range []string{".symtab", ".dynsym"} {
		if m := o.image(name); m != nil && !m.stopped() {
			if err := o.readSymbols(m, name); err != nil {
				o.fail(err)
			}
		}
	}
	if t := o.goSymbols(); t != nil {
		o.symtab.strs = append(o.symtab.strs, t.names)
		o.symtab.syms = t.symbols(o.symtab.syms, uint32(len(o.symtab.strs)-1), &o.execs)
	}
	if !o.symtab.disjoint() {
		o.fail(fmt.Errorf("the ranges of its %d symbols overlap too often: functions may have other names than Valgrind gives them",
			len(o.symtab.syms)))
	}
}

// goSymbols returns the table of Go functions if these have no symbols.
func (o *Object) goSymbols() *goTable {
	if o.image(".symtab") != nil || o.main.stopped() {
		return nil
	}
	return o.goTable()
}

// symSize is the size of an Elf64_Sym.
const symSize = 24

// eachSymbol calls f with each symbol of a table, which is good until f returns, and the table of their names.
func (m *image) eachSymbol(s *elf.Section, f func(sym, names []byte)) error {
	if s.Link == 0 || int(s.Link) >= len(m.elf.Sections) {
		return fmt.Errorf("section %s: no string table %d", s.Name, s.Link)
	}
	strs := m.elf.Sections[s.Link]
	if strs.Type != elf.SHT_STRTAB {
		return fmt.Errorf("section %s: section %d is no string table", s.Name, s.Link)
	}
	names, err := m.contents(strs)
	if err != nil {
		return fmt.Errorf("section %s: names: %w", s.Name, err)
	}
	err = m.parts(s, symbolsAtOnce*symSize, func(data []byte) {
		for ; len(data) >= symSize; data = data[symSize:] {
			f(data[:symSize], names)
		}
	})
	if err != nil {
		return fmt.Errorf("section %s: %w", s.Name, err)
	}
	return nil
}

// symbolsAtOnce is how many symbols are in memory as the file has them: large tables have millions.
const symbolsAtOnce = 8 << 10

// readSymbols appends the symbols of a section that name code.
func (o *Object) readSymbols(m *image, name string) error {
	t, section := o.symtab, m.section(name)
	other, bias := o.notText(m)
	table := len(t.strs)
	return m.eachSymbol(section, func(data, names []byte) {
		if len(t.strs) == table {
			t.strs = append(t.strs, names)
			t.syms = slices.Grow(t.syms, int(section.Size/symSize))
		}
		sym := symbol{name: nameRef{uint32(table), binary.LittleEndian.Uint32(data)}}
		kind, bind := data[4]&15, data[4]>>4
		value := binary.LittleEndian.Uint64(data[8:])
		sym.addr = value + bias
		sym.size = symbolSize(binary.LittleEndian.Uint64(data[16:]))
		if !codeKind(kind, bind) || sym.size == 0 || uint32(value) == 0 ||
			int(sym.name.off) >= len(names) || names[sym.name.off] == 0 {
			return
		}
		if inAny(other, sym.addr) || !o.execs.has(sym.addr, sym.addr+sym.size) {
			return
		}
		t.syms = append(t.syms, sym)
	})
}

func codeKind(kind, bind byte) bool {
	switch elf.SymType(kind) {
	case elf.STT_FUNC, elf.STT_OBJECT, elf.STT_GNU_IFUNC:
	default:
		return false
	}
	switch elf.SymBind(bind) {
	case elf.STB_LOCAL, elf.STB_GLOBAL, elf.STB_WEAK:
		return true
	}
	return false
}

// symbolSize returns size as Valgrind takes it: a signed number of 32 bits.
func symbolSize(size uint64) uint64 {
	if int64(size) < 0 {
		return 1
	}
	return min(size, math.MaxInt32)
}

// notText returns the sections in which a symbol is data, or a reference to
// another object, and what to add to the addresses of m's symbols.
func (o *Object) notText(m *image) (other []span, bias uint64) {
	for _, name := range []string{".data", ".sdata", ".rodata", ".bss", ".sbss", ".got", ".plt"} {
		if s := o.main.section(name); s != nil {
			other = append(other, sectionSpan(s))
		}
	}
	if s := m.section(".text"); s != nil && o.text != (span{}) {
		// Differs for prelinked objects only.
		bias = o.text.lo - s.Addr
	}
	return other, bias
}

func inAny(spans []span, addr uint64) bool {
	return slices.ContainsFunc(spans, func(s span) bool { return s.has(addr) })
}

// disjoint gives every address one name at most, as Valgrind does (storage.c,
// canonicaliseSymtab): one name for equal ranges; of two that overlap the earlier
// is cut where the later begins; where both begin together, the longer one
// begins after the shorter.
//
// That takes time by the square of the number of symbols or worse if all of them overlap. No
// compiler makes such tables: where it would take long, disjoint reports false, and where symbols
// still overlap each is cut where the next begins.
func (t *symbolTable) disjoint() bool {
	t.syms = sortSymbols(t.syms)
	for effort := 1<<16 + 64*len(t.syms); ; {
		t.mergeEqual()
		if !truncateOverlaps(t.syms, &effort) {
			return true
		}
		if effort < 0 {
			t.syms = sortSymbols(t.syms)
			for i := range len(t.syms) - 1 {
				t.syms[i].size = min(t.syms[i].size, t.syms[i+1].addr-t.syms[i].addr)
			}
			return false
		}
	}
}

// sortSymbols sorts by address and size. It returns syms or a copy. Addresses differ
// in some twenty bits, so a radix sort needs two passes: an eighth of the time of
// slices.SortFunc (BenchmarkSortSymbols).
func sortSymbols(syms []symbol) []symbol {
	differ := uint64(0)
	for _, s := range syms {
		differ |= s.addr ^ syms[0].addr
	}
	const digit, mask = 11, 1<<11 - 1 // bits of a pass
	to := make([]symbol, len(syms))
	for shift := 0; differ>>shift != 0; shift += digit {
		var place [mask + 2]int
		for _, s := range syms {
			place[s.addr>>shift&mask+1]++
		}
		for i := range mask {
			place[i+1] += place[i]
		}
		for _, s := range syms {
			i := s.addr >> shift & mask
			to[place[i]] = s
			place[i]++
		}
		syms, to = to, syms
	}
	for i := 0; i < len(syms); {
		n := 1
		for i+n < len(syms) && syms[i+n].addr == syms[i].addr {
			n++
		}
		slices.SortFunc(syms[i:i+n], func(a, b symbol) int { return cmp.Compare(a.size, b.size) })
		i += n
	}
	return syms
}

// mergeEqual keeps one of neighbours with equal ranges, under the best name.
func (t *symbolTable) mergeEqual() {
	out := t.syms[:0]
	for _, s := range t.syms {
		if n := len(out); n > 0 && out[n-1].addr == s.addr && out[n-1].size == s.size {
			if prefer(t.name(s.name), t.name(out[n-1].name)) {
				out[n-1].name = s.name
			}
			continue
		}
		out = append(out, s)
	}
	t.syms = out
}

// truncateOverlaps makes one pass over syms, which stay sorted by address unless effort, the number of steps that
// are left, falls below 0. It reports whether it changed anything.
func truncateOverlaps(syms []symbol, effort *int) bool {
	changed := false
	*effort -= len(syms)
	for i := range len(syms) - 1 {
		a, b := &syms[i], &syms[i+1]
		if a.end() <= b.addr {
			continue
		}
		changed = true
		if a.addr < b.addr {
			a.size = b.addr - a.addr
			continue
		}
		if a.size > b.size {
			*a, *b = *b, *a
		}
		b.addr, b.size = a.end(), b.size-a.size
		for j := i + 1; *effort >= 0 && j+1 < len(syms) && syms[j].addr > syms[j+1].addr; j++ {
			syms[j], syms[j+1] = syms[j+1], syms[j]
			*effort--
		}
	}
	return changed
}

// prefer reports whether a is to be shown rather than b for the same range
// (Valgrind, storage.c, preferName).
func prefer(a, b []byte) bool {
	const mpi, pmpi = "MPI_", "PMPI_"
	switch {
	case bytes.HasPrefix(a, []byte(mpi)) && bytes.HasPrefix(b, []byte(pmpi)) && bytes.Equal(a, b[1:]):
		return false
	case bytes.HasPrefix(b, []byte(mpi)) && bytes.HasPrefix(a, []byte(pmpi)) && bytes.Equal(b, a[1:]):
		return true
	}
	nameA, _, versionA := bytes.Cut(a, []byte("@"))
	nameB, _, versionB := bytes.Cut(b, []byte("@"))
	switch {
	case len(nameA) != len(nameB):
		return len(nameA) < len(nameB)
	case versionA != versionB:
		return versionA
	}
	return bytes.Compare(a, b) < 0
}
