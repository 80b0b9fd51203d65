package procfs

import (
	"fmt"
	"strings"

	"github.com/cgemu/cgemu/emu"
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

// A residence is how much of memory is where, in KiB.
type residence struct{ size, file, anon, locked uint64 }

// residenceOf says that all that is mapped is resident, as mincore(2) says, too.
func residenceOf(v mem.VMA) residence {
	r := residence{size: v.Len() >> 10}
	if v.File {
		r.file = r.size
	} else {
		r.anon = r.size
	}
	if v.Locked {
		r.locked = r.size
	}
	return r
}

func (r *residence) add(o residence) {
	r.size, r.file, r.anon, r.locked = r.size+o.size, r.file+o.file, r.anon+o.anon, r.locked+o.locked
}

// text is what smaps says of it, or smaps_rollup (Documentation/filesystems/proc.rst).
func (r *residence) text(rollup bool) string {
	var b strings.Builder
	for _, l := range []struct {
		name        string
		kib         uint64
		maps, total bool // whether smaps has it, and smaps_rollup
	}{
		{"Size", r.size, true, false}, {"KernelPageSize", 4, true, false}, {"MMUPageSize", 4, true, false}, {"Rss", r.size, true, true}, {"Pss", r.size, true, true},
		{"Pss_Dirty", r.anon, false, true}, {"Pss_Anon", r.anon, false, true}, {"Pss_File", r.file, false, true}, {"Pss_Shmem", 0, false, true},
		{"Shared_Clean", 0, true, true}, {"Shared_Dirty", 0, true, true}, {"Private_Clean", r.file, true, true}, {"Private_Dirty", r.anon, true, true},
		{"Referenced", r.size, true, true}, {"Anonymous", r.anon, true, true}, {"AnonHugePages", 0, true, true},
		{"Swap", 0, true, true}, {"SwapPss", 0, true, true}, {"Locked", r.locked, true, true},
	} {
		if rollup && l.total || !rollup && l.maps {
			fmt.Fprintf(&b, "%-15s %8d kB\n", l.name+":", l.kib)
		}
	}
	return b.String()
}

// smapsText is /proc/PID/smaps.
func smapsText(p *task.Process) string {
	var b strings.Builder
	for _, v := range p.Vmas() {
		r := residenceOf(v)
		b.WriteString(mapLine(v) + r.text(false) + "THPeligible:           0\nVmFlags:")
		for i, bit := range []mem.Prot{mem.Read, mem.Write, mem.Exec} {
			if v.Prot&bit != 0 {
				b.WriteString([]string{" rd", " wr", " ex"}[i])
			}
		}
		if v.Shared {
			b.WriteString(" sh")
		}
		b.WriteByte('\n')
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

// smapsRollupText is /proc/PID/smaps_rollup.
func smapsRollupText(p *task.Process) string {
	vmas := p.Vmas()
	if len(vmas) == 0 {
		return ""
	}
	var all residence
	for _, v := range vmas {
		all.add(residenceOf(v))
	}
	return fmt.Sprintf("%-72s [rollup]\n", fmt.Sprintf("%08x-%08x ---p 00000000 00:00 0 ", uint64(vmas[0].Lo), uint64(vmas[len(vmas)-1].Hi))) + all.text(true)
}

// numaMapsText is /proc/PID/numa_maps (numa(7)): there is one node, and the default policy.
func numaMapsText(p *task.Process) string {
	var b strings.Builder
	for _, v := range p.Vmas() {
		fmt.Fprintf(&b, "%08x default", uint64(v.Lo))
		pages := v.Len() / emu.PageSize
		switch v.Path {
		case "":
		case "[heap]":
			b.WriteString(" heap")
		case "[stack]":
			b.WriteString(" stack")
		default:
			b.WriteString(" file=" + v.Path)
		}
		if v.File {
			fmt.Fprintf(&b, " mapped=%d N0=%[1]d kernelpagesize_kB=4\n", pages)
		} else {
			fmt.Fprintf(&b, " anon=%d dirty=%[1]d N0=%[1]d kernelpagesize_kB=4\n", pages)
		}
	}
	return b.String()
}
