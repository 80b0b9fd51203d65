package procfs

import (
	"fmt"
	"strings"

	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// mapsText is /proc/PID/maps (fs/proc/task_mmu.c, show_map_vma).
func mapsText(p *task.Process) string {
	var b strings.Builder
	for _, v := range p.Vmas() {
		b.WriteString(mapLine(v))
	}
	return b.String()
}

func mapLine(v mem.VMA) string {
	perm := []byte("---p")
	for i, bit := range []mem.Prot{mem.Read, mem.Write, mem.Exec} {
		if v.Prot&bit != 0 {
			perm[i] = "rwx"[i]
		}
	}
	if v.WriteOnly {
		perm[0] = '-'
	}
	if v.Shared {
		perm[3] = 's'
	}
	off := v.Off
	if !v.File {
		off = 0
	}
	line := fmt.Sprintf("%08x-%08x %s %08x %02x:%02x %d ", uint64(v.Lo), uint64(v.Hi), perm, off, linux.Major(v.Dev), linux.Minor(v.Dev), v.Ino)
	if v.Path != "" {
		line = fmt.Sprintf("%-72s %s", line, v.Path)
	}
	return line + "\n"
}

// smapsText is /proc/PID/smaps. All that is mapped is resident, as mincore(2) says, too.
func smapsText(p *task.Process) string {
	var b strings.Builder
	for _, v := range p.Vmas() {
		b.WriteString(mapLine(v))
		kib := v.Len() >> 10
		flags := "VmFlags:"
		for i, bit := range []mem.Prot{mem.Read, mem.Write, mem.Exec} {
			if v.Prot&bit != 0 {
				flags += " " + []string{"rd", "wr", "ex"}[i]
			}
		}
		if v.Shared {
			flags += " sh"
		}
		var anon, locked uint64
		if !v.File {
			anon = kib
		}
		if v.Locked {
			locked = kib
		}
		for _, l := range []struct {
			name string
			kib  uint64
		}{
			{"Size", kib}, {"KernelPageSize", 4}, {"MMUPageSize", 4}, {"Rss", kib}, {"Pss", kib}, {"Shared_Clean", 0}, {"Shared_Dirty", 0},
			{"Private_Clean", kib - anon}, {"Private_Dirty", anon}, {"Referenced", kib}, {"Anonymous", anon}, {"AnonHugePages", 0},
			{"Swap", 0}, {"SwapPss", 0}, {"Locked", locked},
		} {
			fmt.Fprintf(&b, "%-15s %8d kB\n", l.name+":", l.kib)
		}
		b.WriteString("THPeligible:           0\n" + flags + "\n")
	}
	return b.String()
}

// AddressSpace is how much address space p uses, in bytes.
func AddressSpace(p *task.Process) uint64 {
	var n uint64
	for _, v := range p.Vmas() {
		n += v.Len()
	}
	return n
}
