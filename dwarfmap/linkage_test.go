package dwarfmap

import (
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// relocation makes an Elf64_Rela.
func relocation(at uint64, kind elf.R_X86_64, symbol uint32, addend uint64) []byte {
	b := binary.LittleEndian.AppendUint64(nil, at)
	b = binary.LittleEndian.AppendUint64(b, uint64(symbol)<<32|uint64(kind))
	return binary.LittleEndian.AppendUint64(b, addend)
}

// linkageObject is a program with a table of symbols.
func linkageObject(t testing.TB, syms, names []byte) (*Object, *elf.Section) {
	o := openELF(t, makeELF(t, 64, elfSection{name: ".dynsym", kind: elf.SHT_DYNSYM, link: 3, data: syms}, elfSection{name: ".dynstr", kind: elf.SHT_STRTAB, data: names}))
	return o, o.main.section(".dynsym")
}

// TestLinkage has an entry of each linker lead to its slot.
func TestLinkage(t *testing.T) {
	long := strings.Repeat("n", 300)
	o, symbols := linkageObject(t, slices.Concat(elfSymbol(0, 0, 0), elfSymbol(1, 0, 0), elfSymbol(6, 0, 0), elfSymbol(24, 0, 0)), []byte("\x00puts\x00abort@GLIBC_2.2.5\x00"+long+"\x00end"))
	l := &linkage{slots: map[uint64]slot{}}
	l.read(slices.Concat(
		relocation(0x4018, elf.R_X86_64_JMP_SLOT, 1, 0), relocation(0x4020, elf.R_X86_64_JMP_SLOT, 2, 0),
		relocation(0x4028, elf.R_X86_64_IRELATIVE, 0, 0x1234), relocation(0x4030, elf.R_X86_64_JMP_SLOT, 99, 0), relocation(0x4038, elf.R_X86_64_JMP_SLOT, 3, 0),
	), symbols, true)
	l.read(relocation(0x4040, elf.R_X86_64_GLOB_DAT, 1, 0), symbols, false)
	l.read(slices.Concat(relocation(0x4048, elf.R_X86_64_RELATIVE, 0, 0), []byte{1, 2}), nil, false)
	for _, tt := range []struct{ what, code, symbol string }{
		{"ld, .plt", "ff25f22f0000 6800000000 e9e0ffffff", "puts@plt"},
		{"ld, .plt with IBT", "f30f1efa 6801000000 f2e9e1ffffff 90", "abort@plt"},
		{"ld, .plt.sec", "f30f1efa f2ff25f52f0000 0f1f440000", "abort@plt"},
		{"ld, .plt.got", "ff251a300000 6690", "puts@plt"},
		{"mold", "f30f1efa 41bb01000000 ff25f02f0000", "abort@plt"},
		{"a long name", "ff2512300000", long + "@plt"},
		{"a relocation without a symbol", "ff250a300000 6803000000 e900000000", ""},
		{"the entry for the dynamic linker", "ff35ca2f0000 ff25cc2f0000 0f1f4000", ""},
		{"a number without a relocation", "6809000000 e900000000", ""},
		{"cut short", "ff25f22f00", ""}, {"nothing", "", ""},
	} {
		code, err := hex.DecodeString(strings.ReplaceAll(tt.code, " ", ""))
		require.NoError(t, err)
		require.Equal(t, tt.symbol, o.slotName(l.slotOf(0x1020, code)), tt.what)
	}
	require.EqualValues(t, 0x1234, l.slotOf(0x1000, []byte{0xff, 0x25, 0x22, 0x30, 0, 0}).resolver)
}

// FuzzLinkage has entries and relocations of all kinds.
func FuzzLinkage(f *testing.F) {
	f.Add(relocation(0x4018, elf.R_X86_64_JMP_SLOT, 1, 0), slices.Concat(elfSymbol(0, 0, 0), elfSymbol(1, 0, 0)), []byte("\x00puts\x00"), []byte("\xff\x25\xf2\x2f\x00\x00"))
	f.Fuzz(func(t *testing.T, relocations, syms, names, code []byte) {
		o, symbols := linkageObject(t, syms, names)
		l := &linkage{slots: map[uint64]slot{}}
		l.read(relocations, symbols, true)
		require.LessOrEqual(t, len(o.slotName(l.slotOf(0x1020, code))), len(names)+8+maxDemangled)
		require.LessOrEqual(t, len(l.ordinals), len(relocations)/relaSize)
	})
}
