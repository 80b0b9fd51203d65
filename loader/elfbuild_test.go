package loader

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu/mem"
)

// A seg is a program header of a file to be built.
type seg struct {
	typ, flags                       uint32
	off, vaddr, filesz, memsz, align uint64
}

// An elfSpec describes a file to be built.
type elfSpec struct {
	typ, machine uint16
	entry        uint64
	segs         []seg
	interp       string
	size         int
}

// build makes the file: headers, then the interpreter's path at 0x800, then zeros.
func (s elfSpec) build() []byte {
	le := binary.LittleEndian
	b := make([]byte, max(s.size, 0x1000))
	copy(b, "\x7fELF\x02\x01\x01")
	le.PutUint16(b[16:], s.typ)
	le.PutUint16(b[18:], s.machine)
	le.PutUint32(b[20:], 1)
	le.PutUint64(b[24:], s.entry)
	le.PutUint64(b[32:], 64)
	le.PutUint16(b[52:], 64)
	le.PutUint16(b[54:], 56)
	segs := s.segs
	if s.interp != "" {
		n := uint64(copy(b[0x800:], s.interp+"\x00"))
		segs = append([]seg{{typ: uint32(elf.PT_INTERP), flags: 4, off: 0x800, vaddr: 0x800, filesz: n, memsz: n}}, segs...)
	}
	le.PutUint16(b[56:], uint16(len(segs)))
	for i, p := range segs {
		h := b[64+56*i:]
		le.PutUint32(h, p.typ)
		le.PutUint32(h[4:], p.flags)
		for j, x := range []uint64{p.off, p.vaddr, p.vaddr, p.filesz, p.memsz, p.align} {
			le.PutUint64(h[8+8*j:], x)
		}
	}
	return b
}

const (
	ptLoad  = uint32(elf.PT_LOAD)
	ptStack = uint32(elf.PT_GNU_STACK)
)

// staticSpec is a program of a text segment, and a data segment with bss over two pages.
func staticSpec() elfSpec {
	return elfSpec{
		typ: 2, machine: 62, entry: 0x401000, size: 0x3000,
		segs: []seg{
			{ptLoad, 5, 0, 0x400000, 0x1800, 0x1800, 4096},
			{ptLoad, 6, 0x2100, 0x403100, 0x200, 0x2000, 4096},
			{ptStack, 6, 0, 0, 0, 0, 16},
		},
	}
}

func pieSpec(interp string) elfSpec {
	s := staticSpec()
	s.typ, s.entry, s.interp = 3, 0x1000, interp
	s.segs[0].vaddr, s.segs[1].vaddr = 0, 0x3100
	return s
}

// files is a directory with guest files.
type files struct{ dir string }

func newFiles(t testing.TB, content map[string][]byte) files {
	f := files{t.TempDir()}
	for name, b := range content {
		require.NoError(t, os.WriteFile(filepath.Join(f.dir, name), b, 0o755))
	}
	return f
}

func (fl files) open(path string) (*File, error) {
	f, err := os.Open(filepath.Join(fl.dir, path))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fs.ErrNotExist
		}
		return nil, err
	}
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() || st.Mode()&0o111 == 0 {
		f.Close()
		return nil, fs.ErrPermission
	}
	return &File{File: f, Path: path, Dev: 1, Ino: 2}, nil
}

func hostOpener(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &File{File: f, Path: path}, nil
}

func newSpace(t testing.TB) *mem.Space {
	m, err := mem.New()
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}
