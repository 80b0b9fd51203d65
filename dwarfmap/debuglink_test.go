package dwarfmap

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// linkedELF is an ELF file that has nothing but a .gnu_debuglink.
func linkedELF(t *testing.T, link string) []byte {
	names := "\x00.gnu_debuglink\x00.shstrtab\x00"
	data := append([]byte(link), 0)
	data = append(data, make([]byte, (4-len(data)%4)%4+4)...)
	const header = 64
	var b bytes.Buffer
	write := func(x any) { require.NoError(t, binary.Write(&b, binary.LittleEndian, x)) }
	h := elf.Header64{
		Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: 1, Ehsize: header, Shentsize: header, Shnum: 3, Shstrndx: 2,
		Shoff: uint64(header + len(data) + len(names)),
	}
	copy(h.Ident[:], "\x7fELF\x02\x01\x01")
	write(h)
	b.Write(data)
	b.WriteString(names)
	write(elf.Section64{})
	write(elf.Section64{Name: 1, Type: uint32(elf.SHT_PROGBITS), Off: header, Size: uint64(len(data))})
	write(elf.Section64{Name: 16, Type: uint32(elf.SHT_STRTAB), Off: uint64(header + len(data)), Size: uint64(len(names))})
	return b.Bytes()
}

// TestDebugLinkStays checks that a file beside the object is looked for, and nowhere else, and that Resolve says which
// file that is.
func TestDebugLinkStays(t *testing.T) {
	dir := t.TempDir()
	for link, want := range map[string][]string{
		"x.debug":            {filepath.Join(dir, "x.debug"), filepath.Join(dir, ".debug", "x.debug")},
		"../x.debug":         nil,
		"/dev/zero":          nil,
		"sub/../../../x":     nil,
		"":                   nil,
		"x.debug\x00/../../": {filepath.Join(dir, "x.debug"), filepath.Join(dir, ".debug", "x.debug")},
	} {
		var asked []string
		opts := Options{Resolve: func(path string) (string, bool) {
			asked = append(asked, path)
			return "", false
		}}
		o, err := New(bytes.NewReader(linkedELF(t, link)), filepath.Join(dir, "prog"), opts)
		require.NoError(t, err)
		require.Nil(t, o.findDebug())
		require.Equal(t, want, asked, "%q", link)
	}
}
