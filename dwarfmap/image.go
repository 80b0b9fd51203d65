package dwarfmap

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxNotes bounds the notes that are searched for a build identifier, all together.
const maxNotes = 1 << 20

// maxSection bounds what one section may take in memory.
const maxSection = 1 << 30

// An image is an ELF file: the object, or a separate debug file of it.
type image struct {
	r      io.ReaderAt
	path   string
	elf    *elf.File
	closer io.Closer // nil if the caller closes
	// room is what the object may still take, which its debug file shares.
	room *allowance
	// done is Options.Done.
	done <-chan struct{}
}

// ErrStopped is the error for tables that were not read to their end because of Options.Done.
var ErrStopped = errors.New("reading it was stopped; names are unknown")

// stopped reports whether nothing more is to be read.
func (m *image) stopped() bool { return isDone(m.done) }

func isDone(done <-chan struct{}) bool {
	if done == nil {
		return false
	}
	select {
	case <-done:
		return true
	default:
		return false
	}
}

func newImage(r io.ReaderAt, path string, room *allowance, done <-chan struct{}) (*image, error) {
	if err := checkHeader(r); err != nil {
		return nil, fmt.Errorf("dwarfmap: %s: %w", path, err)
	}
	f, err := elf.NewFile(r)
	if err != nil {
		return nil, fmt.Errorf("dwarfmap: %s: %w", path, err)
	}
	if f.Class != elf.ELFCLASS64 || f.ByteOrder != binary.LittleEndian {
		return nil, fmt.Errorf("dwarfmap: %s: %v %v, want a 64-bit little-endian ELF file", path, f.Class, f.Data)
	}
	return &image{r: r, path: path, elf: f, room: room, done: done}, nil
}

func (m *image) close() error {
	if m.closer == nil {
		return nil
	}
	return m.closer.Close()
}

// section returns the section named, nil if there is none.
func (m *image) section(name string) *elf.Section { return m.elf.Section(name) }

// has reports whether the section is there with contents, under its own name or
// that of its compressed form.
func (m *image) has(name string) bool {
	s := m.debugSection(name)
	return s != nil && s.Type != elf.SHT_NOBITS
}

// debugSection returns a section .debug_x, or .zdebug_x, its old compressed form.
func (m *image) debugSection(name string) *elf.Section {
	if s := m.section(name); s != nil {
		return s
	}
	if rest, ok := strings.CutPrefix(name, ".debug_"); ok {
		return m.section(".zdebug_" + rest)
	}
	return nil
}

// data returns the contents of a section, decompressed. A section that is absent
// has none.
func (m *image) data(name string) ([]byte, error) {
	s := m.debugSection(name)
	if s == nil || s.Type == elf.SHT_NOBITS {
		return nil, nil
	}
	data, err := m.contents(s)
	if err != nil {
		return nil, fmt.Errorf("section %s: %w", name, err)
	}
	return data, nil
}

// contents returns the contents of a section. Those compressed with zlib are
// inflated here, since debug/elf takes twice as long (BenchmarkInflate).
func (m *image) contents(s *elf.Section) ([]byte, error) {
	if s.Size > maxSection || s.FileSize > maxSection {
		return nil, fmt.Errorf("%d bytes are too many", max(s.Size, s.FileSize))
	}
	m.room.grant(s.FileSize)
	gnu := gnuCompressed(s)
	if s.Type == elf.SHT_NOBITS {
		return s.Data() // an error
	}
	padded, err := m.read(s.Offset, s.FileSize)
	if err != nil {
		return nil, err
	}
	raw := padded[:s.FileSize]
	if !gnu && s.Flags&elf.SHF_COMPRESSED == 0 {
		return raw, nil
	}
	var size uint64
	switch {
	case gnu && len(raw) >= 12 && string(raw[:4]) == "ZLIB":
		// What GNU tools wrote before SHF_COMPRESSED.
		size, padded = binary.BigEndian.Uint64(raw[4:]), padded[12:]
	case !gnu && len(raw) >= 24 && elf.CompressionType(binary.LittleEndian.Uint32(raw)) == elf.COMPRESS_ZLIB:
		size, padded = binary.LittleEndian.Uint64(raw[8:]), padded[24:]
	default:
		if !m.room.take(s.Size) {
			return nil, m.room.exceeded(fmt.Sprintf("%d bytes", s.Size))
		}
		return s.Data()
	}
	// Deflate cannot do better than 1032 to 1.
	if size > maxSection || size > 1032*s.FileSize {
		return nil, fmt.Errorf("%d bytes are too many", size)
	}
	if !m.room.take(size) {
		return nil, m.room.exceeded(fmt.Sprintf("%d bytes", size))
	}
	return inflate(padded, int(size), m.stopped)
}

// gnuCompressed reports whether a section is compressed in the way of GNU tools.
func gnuCompressed(s *elf.Section) bool { return strings.HasPrefix(s.Name, ".zdebug_") }

// parts calls f with the contents of a section, in parts of a size: if it is not compressed, no more than one is in
// memory, until f returns.
func (m *image) parts(s *elf.Section, size int, f func(part []byte)) error {
	if gnuCompressed(s) || s.Flags&elf.SHF_COMPRESSED != 0 || s.Type == elf.SHT_NOBITS || s.FileSize <= uint64(size) || s.FileSize > maxSection {
		all, err := m.contents(s)
		for len(all) > 0 {
			n := min(size, len(all))
			f(all[:n])
			all = all[n:]
		}
		return err
	}
	m.room.grant(s.FileSize)
	if err := m.holds(s.Offset, s.FileSize); err != nil {
		return err
	}
	part := make([]byte, size)
	for at := uint64(0); at < s.FileSize; at += uint64(size) {
		if m.stopped() {
			return ErrStopped
		}
		b := part[:min(uint64(size), s.FileSize-at)]
		if _, err := m.r.ReadAt(b, int64(s.Offset+at)); err != nil {
			return err
		}
		f(b)
	}
	return nil
}

// holds returns an error if the file ends before a part of it does. Who takes memory for that asks before.
func (m *image) holds(off, size uint64) error {
	if size == 0 {
		return nil
	}
	var last [1]byte
	_, err := m.r.ReadAt(last[:], int64(off+size-1))
	return err
}

// read reads a part of the file, with inflatePadding bytes behind it.
func (m *image) read(off, size uint64) ([]byte, error) {
	if err := m.holds(off, size); err != nil {
		return nil, err
	}
	b := make([]byte, size+inflatePadding)
	const part = 4 << 20
	for at := uint64(0); at < size; at += part {
		if m.stopped() {
			return nil, ErrStopped
		}
		if _, err := m.r.ReadAt(b[at:min(at+part, size)], int64(off+at)); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// buildID returns the build identifier in hexadecimal, "" if there is none.
func (m *image) buildID() string {
	left := uint64(maxNotes)
	for _, s := range m.elf.Sections {
		if s.Type != elf.SHT_NOTE || s.Size > left {
			continue
		}
		left -= s.Size
		if data, err := s.Data(); err == nil {
			if id := noteBuildID(data); id != "" {
				return id
			}
		}
	}
	return ""
}

// noteBuildID looks for NT_GNU_BUILD_ID in a note section (gABI, "Note Section").
func noteBuildID(data []byte) string {
	const ntGNUBuildID = 3
	for len(data) >= 12 {
		nameSize := uint64(binary.LittleEndian.Uint32(data))
		descSize := uint64(binary.LittleEndian.Uint32(data[4:]))
		kind := binary.LittleEndian.Uint32(data[8:])
		desc := 12 + (nameSize+3)&^3
		end := desc + (descSize+3)&^3
		if desc+descSize > uint64(len(data)) {
			return ""
		}
		if kind == ntGNUBuildID && string(data[12:12+nameSize]) == "GNU\x00" {
			return fmt.Sprintf("%x", data[desc:desc+descSize])
		}
		data = data[min(end, uint64(len(data))):]
	}
	return ""
}
