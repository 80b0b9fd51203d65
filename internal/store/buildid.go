package store

import (
	"bytes"
	"debug/elf"
	"os"
	"sync"
)

// buildID returns the linker's identifier of this binary, which follows from its contents; "" if it has none, or is no
// ELF file.
var buildID = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	f, err := elf.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	return buildIDOf(f)
})

// buildIDOf returns the description of the note of owner "Go": a header of three words, the owner, the identifier
// (cmd/internal/buildid).
func buildIDOf(f *elf.File) string {
	s := f.Section(".note.go.buildid")
	if s == nil {
		return ""
	}
	note, err := s.Data()
	if err != nil || len(note) < 16 || !bytes.Equal(note[12:16], []byte("Go\x00\x00")) {
		return ""
	}
	n := f.ByteOrder.Uint32(note[4:])
	if int64(n) > int64(len(note)-16) || bytes.Count(note[16:16+n], []byte("/")) < 2 {
		return ""
	}
	return string(note[16 : 16+n])
}
