package dwarfmap

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
)

const (
	// maxSegments is how many program headers Linux takes in a program: 64 KiB of them.
	maxSegments = 65536 / 56
	// sectionNames bounds the names of all sections together, beside four times the table of
	// names: many sections may have the same long name there.
	sectionNames = 1 << 20
	// maxSections and maxSectionNames are far beyond those of any program.
	maxSections     = 1 << 20
	maxSectionNames = 1 << 26
)

// checkHeader refuses an ELF file whose headers make debug/elf take time and memory out of proportion to its
// size. What is wrong with the headers otherwise is left to debug/elf.
func checkHeader(r io.ReaderAt) error {
	const headerSize, sectionSize = 64, 64
	le := binary.LittleEndian
	var h [headerSize]byte
	if n, _ := r.ReadAt(h[:], 0); n < headerSize || elf.Class(h[elf.EI_CLASS]) != elf.ELFCLASS64 {
		return nil
	}
	if n := le.Uint16(h[56:]); n > maxSegments {
		return fmt.Errorf("%d program headers, more than the %d that Linux takes", n, maxSegments)
	}
	off, count, names := int64(le.Uint64(h[40:])), int64(le.Uint16(h[60:])), int64(le.Uint16(h[62:]))
	section := func(i int64) (b [sectionSize]byte) {
		r.ReadAt(b[:], off+i*sectionSize) // zeros behind the end
		return b
	}
	if off <= 0 || le.Uint16(h[58:]) != sectionSize {
		return nil
	}
	first := section(0)
	if count == 0 { // too many for 16 bits (gABI, "ELF Header")
		count = int64(min(le.Uint64(first[32:]), maxSections+1))
	}
	if count > maxSections {
		return fmt.Errorf("more than %d sections", maxSections)
	}
	if elf.SectionIndex(names) == elf.SHN_XINDEX {
		names = int64(le.Uint32(first[40:]))
	}
	strtab := section(names)
	size := le.Uint64(strtab[32:])
	if size > maxSectionNames {
		return fmt.Errorf("names of sections: %d bytes are too many", size)
	}
	text, err := io.ReadAll(io.NewSectionReader(r, int64(le.Uint64(strtab[24:])), int64(size)))
	if err != nil {
		return nil
	}
	limit := sectionNames + 4*len(text)
	headers := io.NewSectionReader(r, off, count*sectionSize)
	table := make([]byte, max(1, min(count, 1024))*sectionSize)
	for {
		n, err := io.ReadFull(headers, table)
		for b := table[:n]; len(b) >= sectionSize; b = b[sectionSize:] {
			if at := uint64(le.Uint32(b)); at < uint64(len(text)) {
				limit -= max(bytes.IndexByte(text[at:], 0), 0)
			}
			if limit < 0 {
				return fmt.Errorf("names of sections at %#x: %d sections share names of more than %d bytes together",
					le.Uint64(strtab[24:]), count, sectionNames+4*len(text))
			}
		}
		if err != nil {
			return nil
		}
	}
}
