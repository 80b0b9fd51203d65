package loader

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
)

// formats are files that are no ELF program, by their first bytes.
var formats = []struct{ magic, name string }{
	{"MZ", "a Windows (PE) or DOS program"},
	{"\xcf\xfa\xed\xfe", "a macOS (Mach-O) program"},
	{"\xce\xfa\xed\xfe", "a 32-bit macOS (Mach-O) program"},
	{"\xfe\xed\xfa\xcf", "a big-endian macOS (Mach-O) program"},
	{"\xfe\xed\xfa\xce", "a big-endian macOS (Mach-O) program"},
	{"\xca\xfe\xba\xbe", "a macOS universal program or a Java class"},
	{"\x00asm", "a WebAssembly module"},
	{"!<arch>\n", "a static library (ar archive)"},
	{"!<thin>\n", "a static library (thin ar archive)"},
	{"\x1f\x8b", "gzip data"},
	{"PK\x03\x04", "a zip archive"},
	{"BC\xc0\xde", "LLVM bitcode"},
}

// machines are the foreign CPUs people meet.
var machines = map[elf.Machine]string{
	elf.EM_386: "32-bit x86 (i386)", elf.EM_ARM: "32-bit ARM", elf.EM_AARCH64: "64-bit ARM (aarch64)",
	elf.EM_RISCV: "RISC-V", elf.EM_PPC: "PowerPC", elf.EM_PPC64: "64-bit PowerPC", elf.EM_S390: "IBM Z (s390)",
	elf.EM_MIPS: "MIPS", elf.EM_SPARCV9: "64-bit SPARC", elf.EM_LOONGARCH: "LoongArch", elf.EM_68K: "Motorola 68000",
	elf.EM_IA_64: "Itanium", elf.EM_ALPHA: "Alpha", elf.EM_BPF: "BPF", elf.EM_X86_64: "x86-64",
}

// identify returns nil for a 64-bit little-endian x86-64 ELF file, and says what
// anything else is.
func identify(path string, head []byte) error {
	if len(head) == 0 {
		return refuse(path, "is empty")
	}
	for _, f := range formats {
		if bytes.HasPrefix(head, []byte(f.magic)) {
			return refuse(path, "is %s, not an x86-64 Linux program", f.name)
		}
	}
	if !bytes.HasPrefix(head, []byte(elf.ELFMAG)) {
		if bytes.IndexByte(head, 0) < 0 {
			return refuse(path, "is text without a #! line")
		}
		return refuse(path, "is not an ELF file (it begins with % x)", head[:min(4, len(head))])
	}
	if len(head) < 20 {
		return refuse(path, "truncated: %d bytes are no ELF header", len(head))
	}
	order := binary.ByteOrder(binary.LittleEndian)
	if elf.Data(head[elf.EI_DATA]) == elf.ELFDATA2MSB {
		order = binary.BigEndian
	}
	machine := elf.Machine(order.Uint16(head[18:]))
	name := machines[machine]
	if name == "" {
		name = machine.String()
	}
	switch {
	case elf.Class(head[elf.EI_CLASS]) == elf.ELFCLASS32 && machine == elf.EM_X86_64:
		return refuse(path, "is an x32 program; only 64-bit x86-64 programs can run")
	case machine != elf.EM_X86_64:
		return refuse(path, "is a program for %s, not x86-64", name)
	case elf.Class(head[elf.EI_CLASS]) != elf.ELFCLASS64:
		return refuse(path, "ELF class %d is not 64-bit", head[elf.EI_CLASS])
	case elf.Data(head[elf.EI_DATA]) != elf.ELFDATA2LSB:
		return refuse(path, "ELF data encoding %d is not little-endian", head[elf.EI_DATA])
	case head[elf.EI_VERSION] != 1:
		return refuse(path, "ELF version %d is not 1", head[elf.EI_VERSION])
	}
	return nil
}
