package loader

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
)

// Sizes of the 64-bit ELF structures (gABI, "ELF Header", "Program Header").
const (
	ehdrSize = 64
	phdrSize = 56
	// maxPhdrs is Linux's limit: program headers fill at most 64 KiB (fs/binfmt_elf.c).
	maxPhdrs = 65536 / phdrSize
	// maxInterp is the longest interpreter path (PATH_MAX).
	maxInterp = 4096
)

// A segment is a program header that matters to us.
type segment struct {
	typ           elf.ProgType
	flags         elf.ProgFlag
	off           uint64
	vaddr         uint64
	filesz, memsz uint64
}

func (s *segment) prot() mem.Prot {
	var p mem.Prot
	if s.flags&elf.PF_R != 0 {
		p |= mem.Read
	}
	if s.flags&elf.PF_W != 0 {
		p |= mem.Write
	}
	if s.flags&elf.PF_X != 0 {
		p |= mem.Exec
	}
	return p
}

// An elfFile is a checked ELF file.
type elfFile struct {
	file      *File
	pie       bool // ET_DYN
	entry     emu.Addr
	phoff     uint64
	progs     []segment
	interp    string
	execStack bool
	// lo and hi bound the pages of all PT_LOAD segments, before biasing.
	lo, hi emu.Addr
}

// parse reads f's headers and checks all that load relies on.
func parse(f *File) (*elfFile, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, &Error{Path: f.Path, Reason: err, Msg: err.Error()}
	}
	size := uint64(st.Size())
	head, _ := readAt(f, 0, int(min(size, headSize)))
	if err := identify(f.Path, head); err != nil {
		return nil, err
	}
	if len(head) < ehdrSize {
		return nil, refuse(f.Path, "truncated: %d bytes are no ELF header", len(head))
	}
	e := &elfFile{file: f}
	if err := e.readHeader(head, size); err != nil {
		return nil, err
	}
	if err := e.checkLoads(size); err != nil {
		return nil, err
	}
	return e, e.readInterp(size)
}

// readHeader reads the ELF header and the program headers.
func (e *elfFile) readHeader(head []byte, size uint64) error {
	path, le := e.file.Path, binary.LittleEndian
	switch t := elf.Type(le.Uint16(head[16:])); t {
	case elf.ET_EXEC:
	case elf.ET_DYN:
		e.pie = true
	case elf.ET_REL:
		return refuse(path, "is an object file, not a program (link it first)")
	case elf.ET_CORE:
		return refuse(path, "is a core dump, not a program")
	default:
		return refuse(path, "ELF type %d is no program", uint16(t))
	}
	e.entry = emu.Addr(le.Uint64(head[24:]))
	e.phoff = le.Uint64(head[32:])
	entsize, num := le.Uint16(head[54:]), uint64(le.Uint16(head[56:]))
	switch {
	case num == 0:
		return refuse(path, "has no program headers")
	case entsize != phdrSize:
		return refuse(path, "program headers of %d bytes, not %d", entsize, phdrSize)
	case num > maxPhdrs:
		return refuse(path, "%d program headers are more than %d", num, maxPhdrs)
	case e.phoff > size || num*phdrSize > size-e.phoff:
		return refuse(path, "truncated: program headers at %#x end behind the file's %d bytes", e.phoff, size)
	}
	b, err := readAt(e.file, int64(e.phoff), int(num*phdrSize))
	if err != nil {
		return refuse(path, "reading program headers: %v", err)
	}
	for ; len(b) >= phdrSize; b = b[phdrSize:] {
		e.progs = append(e.progs, segment{
			typ: elf.ProgType(le.Uint32(b)), flags: elf.ProgFlag(le.Uint32(b[4:])),
			off: le.Uint64(b[8:]), vaddr: le.Uint64(b[16:]), filesz: le.Uint64(b[32:]), memsz: le.Uint64(b[40:]),
		})
	}
	return nil
}

// checkLoads checks the PT_LOAD segments and computes the image's bounds.
func (e *elfFile) checkLoads(size uint64) error {
	path := e.file.Path
	var end uint64 // of the segment before
	any := false
	for i := range e.progs {
		s := &e.progs[i]
		if s.typ == elf.PT_GNU_STACK {
			e.execStack = s.flags&elf.PF_X != 0
		}
		if s.typ != elf.PT_LOAD || s.memsz == 0 && s.filesz == 0 {
			continue
		}
		switch {
		case s.filesz > s.memsz:
			return refuse(path, "segment %d: %#x bytes of file in %#x of memory", i, s.filesz, s.memsz)
		case s.vaddr > math.MaxUint64-s.memsz || s.vaddr+s.memsz > uint64(mem.FirstLimit):
			return refuse(path, "segment %d: %#x bytes at %#x lie outside the address space", i, s.memsz, s.vaddr)
		case s.off > size || s.filesz > size-s.off:
			return refuse(path, "truncated: segment %d needs bytes %#x to %#x of %#x", i, s.off, s.off+s.filesz, size)
		case (s.vaddr-s.off)%emu.PageSize != 0:
			return refuse(path, "segment %d: offset %#x and address %#x differ within a page", i, s.off, s.vaddr)
		case any && s.vaddr < end:
			return refuse(path, "segment %d at %#x overlaps or precedes the one before it", i, s.vaddr)
		}
		if !any {
			e.lo = emu.Addr(s.vaddr).PageDown()
		}
		any, end = true, s.vaddr+s.memsz
	}
	if !any {
		return refuse(path, "has no segment to load")
	}
	e.hi = emu.Addr(end).PageUp()
	if !e.pie && e.lo < mem.MinAddr {
		return refuse(path, "wants address %v, below %v (vm.mmap_min_addr)", e.lo, mem.MinAddr)
	}
	return nil
}

// readInterp reads the interpreter's path.
func (e *elfFile) readInterp(size uint64) error {
	for i := range e.progs {
		s := &e.progs[i]
		if s.typ != elf.PT_INTERP {
			continue
		}
		if s.filesz < 2 || s.filesz > maxInterp {
			return refuse(e.file.Path, "interpreter path of %d bytes", s.filesz)
		}
		if s.off > size || s.filesz > size-s.off {
			return refuse(e.file.Path, "truncated: interpreter path at %#x is behind the file's end", s.off)
		}
		b, err := readAt(e.file, int64(s.off), int(s.filesz))
		if err != nil {
			return refuse(e.file.Path, "reading its interpreter's path: %v", err)
		}
		if b[len(b)-1] != 0 {
			return refuse(e.file.Path, "interpreter path is not terminated")
		}
		e.interp = string(b[:bytes.IndexByte(b, 0)])
		return nil
	}
	return nil
}

// phdrAddr returns where the program headers will be, before biasing: 0 if in no segment.
func (e *elfFile) phdrAddr() emu.Addr {
	for i := range e.progs {
		if e.progs[i].typ == elf.PT_PHDR {
			return emu.Addr(e.progs[i].vaddr)
		}
	}
	for i := range e.progs {
		s := &e.progs[i]
		if s.typ == elf.PT_LOAD && s.off <= e.phoff && e.phoff-s.off < s.filesz {
			return emu.Addr(s.vaddr + e.phoff - s.off)
		}
	}
	return 0
}

// load maps e's segments: at base if it is position-independent.
func (e *elfFile) load(m *mem.Space, base emu.Addr) (Image, error) {
	img := Image{Path: e.file.Path, Lo: e.lo, Hi: e.hi}
	if e.pie {
		// The bias may be negative; addresses wrap.
		img.Bias = uint64(base - e.lo)
		img.Lo, img.Hi = base, e.hi+emu.Addr(img.Bias)
	}
	if img.Hi > m.Limit() || img.Hi <= img.Lo || !m.Free(img.Lo, img.Hi) {
		return img, &Error{Path: e.file.Path, Reason: ErrSpace, Msg: fmt.Sprintf(
			"its addresses %v to %v are not free", img.Lo, img.Hi)}
	}
	for i := range e.progs {
		s := &e.progs[i]
		if s.typ != elf.PT_LOAD || s.memsz == 0 {
			continue
		}
		if err := e.loadSegment(m, s, emu.Addr(s.vaddr+img.Bias)); err != nil {
			return img, &Error{Path: e.file.Path, Reason: ErrSpace, Msg: fmt.Sprintf("segment %d: %v", i, err)}
		}
	}
	return img, nil
}

// loadSegment maps s at a: the file's part, zeros up to the page's end if there
// is more memory than file, then anonymous pages.
func (e *elfFile) loadSegment(m *mem.Space, s *segment, a emu.Addr) error {
	lo := a.PageDown()
	fileEnd := a + emu.Addr(s.filesz)
	memEnd := (a + emu.Addr(s.memsz)).PageUp()
	next := lo
	if s.filesz > 0 {
		v := mem.VMA{
			Lo: lo, Hi: fileEnd.PageUp(), Prot: s.prot(), Path: e.file.Path,
			Off: s.off - uint64(a-lo), Dev: e.file.Dev, Ino: e.file.Ino,
		}
		if err := m.Map(v, e.file.File); err != nil {
			return err
		}
		next = v.Hi
		if pad := int(next - fileEnd); pad > 0 && s.memsz > s.filesz {
			m.Poke(fileEnd, make([]byte, pad))
		}
	}
	if next >= memEnd {
		return nil
	}
	return m.Map(mem.VMA{Lo: next, Hi: memEnd, Prot: s.prot()}, nil)
}
