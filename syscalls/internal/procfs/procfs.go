package procfs

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/tty"
)

func init() {
	files.ProcRoot.Names = func(t *task.Thread) []string {
		out := []string{"self", "thread-self", strconv.Itoa(task.InitPID), strconv.Itoa(task.ParentPID)}
		for _, p := range t.Kernel.Processes {
			out = append(out, strconv.Itoa(p.PID))
		}
		for name := range procFiles {
			out = append(out, name)
		}
		return out
	}
	files.ProcRoot.Child = func(t *task.Thread, name string) *files.VNode {
		switch name {
		case "self":
			return files.LinkNode(func(t *task.Thread) string { return strconv.Itoa(t.Process.PID) })
		case "thread-self":
			return files.LinkNode(func(t *task.Thread) string { return fmt.Sprintf("%d/task/%d", t.Process.PID, t.TID) })
		}
		if n := procFiles[name]; n != nil {
			return n
		}
		id := files.Atoi(name)
		if p := t.Kernel.Process(id); p != nil {
			return processNode(p.Threads[0])
		}
		if task.Absent(id) {
			return absentNode(id)
		}
		if o := t.Kernel.FindThread(-1, id); o != nil {
			return processNode(o) // not listed, but there
		}
		return nil
	}
	cpu := &files.VNode{Mode: linux.S_IFDIR | 0o555, Names: cpuNames, Child: cpuChild}
	empty := files.DirNode(nil)
	files.SysRoot.Names, files.SysRoot.Child = pair(files.DirNode(map[string]*files.VNode{
		"devices": files.DirNode(map[string]*files.VNode{"system": files.DirNode(map[string]*files.VNode{"cpu": cpu, "node": numaNode()})}),
		"block":   empty, "bus": empty, "fs": empty, "module": empty,
		"class": files.DirNode(map[string]*files.VNode{"block": empty}), "dev": files.DirNode(map[string]*files.VNode{"block": empty, "char": empty}),
		"kernel": files.DirNode(map[string]*files.VNode{"mm": files.DirNode(map[string]*files.VNode{"transparent_hugepage": files.DirNode(map[string]*files.VNode{
			"enabled": files.TextNode("always [madvise] never\n"),
		})})}),
	}))
}

// pair returns what makes n a directory.
func pair(n *files.VNode) (func(*task.Thread) []string, func(*task.Thread, string) *files.VNode) {
	return n.Names, n.Child
}

// bootID is /proc/sys/kernel/random/boot_id.
const bootID = "00000000-0000-4000-8000-000000000000\n"

// procFiles are the files of /proc that are about the machine.
var procFiles = map[string]*files.VNode{
	"cpuinfo":     files.FileNode(cpuinfo),
	"meminfo":     files.FileNode(meminfo),
	"stat":        files.FileNode(procStat),
	"uptime":      files.FileNode(func(t *task.Thread) []byte { s := seconds(t.Kernel.Now()); return []byte(s + " " + s + "\n") }),
	"loadavg":     files.FileNode(loadavg),
	"vmstat":      files.TextNode("nr_free_pages 1048576\npgpgin 0\npgpgout 0\npswpin 0\npswpout 0\npgfault 0\npgmajfault 0\n"),
	"swaps":       files.TextNode("Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"),
	"partitions":  files.TextNode("major minor  #blocks  name\n\n"),
	"diskstats":   files.TextNode(""),
	"modules":     files.TextNode(""),
	"devices":     files.TextNode("Character devices:\n  1 mem\n  5 /dev/tty\n  5 /dev/console\n  5 /dev/ptmx\n136 pts\n\nBlock devices:\n254 virtblk\n"),
	"sysvipc":     sysvNode(),
	"version":     files.TextNode("Linux version " + task.UnameRelease + " (cgemu@cgemu) " + task.UnameVersion + "\n"),
	"filesystems": files.TextNode("nodev\tsysfs\nnodev\ttmpfs\nnodev\tproc\nnodev\tpipefs\nnodev\tsockfs\nnodev\tdevpts\nnodev\tmqueue\n\text4\n"),
	"mounts":      files.LinkNode(func(*task.Thread) string { return "self/mounts" }),
	"cmdline":     files.TextNode("cgemu\n"),
	"net":         files.LinkNode(func(*task.Thread) string { return "self/net" }),
	"sys":         procSys,
}

// uuid is a random UUID (RFC 9562, version 4).
func uuid(k *task.Kernel) string {
	var b [16]byte
	k.RNG.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func seconds(ns int64) string { return fmt.Sprintf("%d.%02d", ns/1e9, ns/1e7%100) }

func meminfo(*task.Thread) []byte {
	var b strings.Builder
	for _, l := range []struct {
		name string
		kib  int
	}{
		{"MemTotal", task.MemTotal >> 10}, {"MemFree", task.MemTotal >> 11}, {"MemAvailable", task.MemTotal >> 11}, {"Buffers", 0},
		{"Cached", task.MemTotal >> 12}, {"SwapCached", 0}, {"Active", 0}, {"Inactive", 0}, {"SwapTotal", 0}, {"SwapFree", 0},
		{"Dirty", 0}, {"Mapped", 0}, {"Shmem", 0}, {"Slab", 0}, {"SReclaimable", 0}, {"CommitLimit", task.MemTotal >> 11},
		{"Committed_AS", 0}, {"VmallocTotal", 34359738367}, {"Hugepagesize", 2048},
	} {
		fmt.Fprintf(&b, "%-15s %8d kB\n", l.name+":", l.kib)
	}
	return []byte(b.String())
}

func procStat(t *task.Thread) []byte {
	var b strings.Builder
	// All runs on the first processor; the others have been idle ever since.
	user, system, up := t.Kernel.Executed()/1e7, t.Kernel.Clock.System/1e7, t.Kernel.Now()/1e7
	fmt.Fprintf(&b, "cpu  %d 0 %d %d 0 0 0 0 0 0\n", user, system, int64(t.Kernel.Config.CPUs)*up-user-system)
	for i := range t.Kernel.Config.CPUs {
		fmt.Fprintf(&b, "cpu%d %d 0 %d %d 0 0 0 0 0 0\n", i, user, system, up-user-system)
		user, system = 0, 0
	}
	running, _ := population(t.Kernel)
	fmt.Fprintf(&b, "intr 0\nctxt 0\nbtime %d\nprocesses %d\nprocs_running %d\nprocs_blocked 0\nsoftirq 0\n",
		(t.Kernel.Clock.Epoch-task.BootTime)/1e9, t.Kernel.IDs, running)
	return []byte(b.String())
}

// cpuFlags names CPUID bits as /proc/cpuinfo does: leaf 1 EDX and ECX, 0x80000001 EDX and ECX, 7 EBX.
var cpuFlags = []struct {
	leaf, reg uint32
	names     string // by bit, "-" for none
}{
	{1, 3, "fpu vme de pse tsc msr pae mce cx8 apic - sep mtrr pge mca cmov pat pse36 pn clflush - dts acpi mmx fxsr sse sse2 ss ht tm ia64 pbe"},
	{0x80000001, 3, "- - - - - - - - - - - syscall - - - - - - - mp nx - mmxext - - fxsr_opt pdpe1gb rdtscp - lm 3dnowext 3dnow"},
	{1, 2, "pni pclmulqdq dtes64 monitor ds_cpl vmx smx est tm2 ssse3 cid sdbg fma cx16 xtpr pdcm - pcid dca sse4_1 sse4_2 x2apic movbe popcnt tsc_deadline_timer aes xsave - avx f16c rdrand hypervisor"},
	{0x80000001, 2, "lahf_lm cmp_legacy svm extapic cr8_legacy abm sse4a misalignsse 3dnowprefetch osvw ibs xop skinit wdt - lwp fma4"},
	{7, 1, "fsgsbase tsc_adjust sgx bmi1 hle avx2 - smep bmi2 erms invpcid rtm cqm - mpx rdt_a avx512f avx512dq rdseed adx smap avx512ifma - clflushopt clwb intel_pt avx512pf avx512er avx512cd sha_ni avx512bw avx512vl"},
}

func cpuinfo(t *task.Thread) []byte {
	k := t.Kernel
	_, vb, vc, vd := k.CPUID(0, 0)
	var vendor, brand linux.Pack
	vendor.U32(vb)
	vendor.U32(vd)
	vendor.U32(vc)
	for leaf := uint32(0x80000002); leaf <= 0x80000004; leaf++ {
		a, b, c, d := k.CPUID(leaf, 0)
		for _, r := range []uint32{a, b, c, d} {
			brand.U32(r)
		}
	}
	sig, _, _, _ := k.CPUID(1, 0)
	family, model := sig>>8&15, sig>>4&15
	if family == 15 {
		family += sig >> 20 & 255
	}
	if family >= 6 {
		model |= sig >> 16 & 15 << 4
	}
	var flags []string
	for _, f := range cpuFlags {
		a, b, c, d := k.CPUID(f.leaf, 0)
		bits := [4]uint32{a, b, c, d}[f.reg]
		for i, name := range strings.Fields(f.names) {
			if name != "-" && bits>>i&1 != 0 {
				flags = append(flags, name)
			}
		}
	}
	cacheSize := lastLevelCache(k)
	var b strings.Builder
	for i := range k.Config.CPUs {
		fmt.Fprintf(&b, "processor\t: %d\nvendor_id\t: %s\ncpu family\t: %d\nmodel\t\t: %d\nmodel name\t: %s\nstepping\t: %d\n",
			i, strings.TrimRight(string(vendor), "\x00"), family, model, strings.Trim(string(brand), "\x00 "), sig&15)
		fmt.Fprintf(&b, "cpu MHz\t\t: 1000.000\ncache size\t: %d KB\nphysical id\t: 0\nsiblings\t: %d\ncore id\t\t: %d\ncpu cores\t: %d\n",
			cacheSize>>10, k.Config.CPUs, i, k.Config.CPUs)
		fmt.Fprintf(&b, "fpu\t\t: yes\nfpu_exception\t: yes\ncpuid level\t: 13\nwp\t\t: yes\nflags\t\t: %s\nbogomips\t: 2000.00\n"+
			"clflush size\t: 64\ncache_alignment\t: 64\naddress sizes\t: 46 bits physical, 48 bits virtual\n\n", strings.Join(flags, " "))
	}
	return []byte(b.String())
}

// lastLevelCache is the size in bytes of the last cache that CPUID's leaf 4 lists.
func lastLevelCache(k *task.Kernel) (size uint64) {
	for sub := range uint32(8) {
		kind, b, sets, _ := k.CPUID(4, sub)
		if kind&0x1f == 0 {
			break
		}
		line, partitions, ways := b&0xfff+1, b>>12&0x3ff+1, b>>22+1
		size = uint64(line) * uint64(partitions) * uint64(ways) * (uint64(sets) + 1)
	}
	return size
}

func cpuRange(t *task.Thread) string { return t.Kernel.Cpus().String() + "\n" }

func cpuNames(t *task.Thread) []string {
	out := []string{"online", "possible", "present", "offline", "isolated", "kernel_max"}
	for i := range t.Kernel.Config.CPUs {
		out = append(out, fmt.Sprintf("cpu%d", i))
	}
	return out
}

func cpuChild(t *task.Thread, name string) *files.VNode {
	switch name {
	case "online", "possible", "present":
		return files.FileNode(func(t *task.Thread) []byte { return []byte(cpuRange(t)) })
	case "offline", "isolated":
		return files.TextNode("\n")
	case "kernel_max":
		return files.TextNode("8191\n")
	}
	rest, ok := strings.CutPrefix(name, "cpu")
	if n := files.Atoi(rest); !ok || n < 0 || n >= t.Kernel.Config.CPUs {
		return nil
	}
	return cpuNode(t.Kernel, files.Atoi(rest))
}

// processNode is /proc/PID; main is the process' first thread.
func processNode(main *task.Thread) *files.VNode {
	n := taskNode(main)
	n.Process = main.Process
	tasks := &files.VNode{
		Mode: linux.S_IFDIR | 0o555,
		Names: func(*task.Thread) []string {
			var out []string
			for _, o := range main.Process.Threads {
				if !o.Dead {
					out = append(out, strconv.Itoa(o.TID))
				}
			}
			return out
		},
		Child: func(_ *task.Thread, name string) *files.VNode {
			if o := main.Process.Thread(files.Atoi(name)); o != nil {
				return taskNode(o)
			}
			return nil
		},
	}
	names, child := n.Names, n.Child
	n.Names = func(t *task.Thread) []string { return append(names(t), "task") }
	n.Child = func(t *task.Thread, name string) *files.VNode {
		if name == "task" {
			return tasks
		}
		return child(t, name)
	}
	return n
}

// taskNode is /proc/PID/task/TID, for o.
func taskNode(o *task.Thread) *files.VNode {
	p := o.Process
	text := func(f func() string) *files.VNode {
		return files.FileNode(func(*task.Thread) []byte { return []byte(f()) })
	}
	return files.DirNode(map[string]*files.VNode{
		"exe":     files.MagicNode(func(*task.Thread) string { return unlessGone(p, p.Exe) }),
		"cwd":     files.MagicNode(func(*task.Thread) string { cwd, _ := files.CwdPath(o); return unlessDead(o, cwd) }),
		"root":    files.MagicNode(func(*task.Thread) string { return unlessDead(o, "/") }),
		"cmdline": text(func() string { return unlessGone(p, string(task.Cmdline(p.Argv))) }),
		"environ": text(func() string { return unlessGone(p, string(task.Cmdline(p.Envv))) }),
		"comm":    files.WritableNode(func() string { return o.Comm + "\n" }, func(t *task.Thread, b []byte) linux.Errno { return writeComm(o, t, b) }),
		"maps":    text(func() string { return mapsText(p) }),
		"smaps":   text(func() string { return smapsText(p) }),
		"stat":    text(func() string { return statText(o) }),
		"statm":   text(func() string { return statmText(p) }),
		"status":  text(func() string { return statusText(o) }),
		"auxv": text(func() string {
			var b linux.Pack
			for _, a := range p.Program.Auxv {
				b.U64(a.Type)
				b.U64(a.Value)
			}
			return string(b)
		}),
		"net":           procNet,
		"limits":        text(func() string { return limitsText(p) }),
		"mounts":        files.TextNode(mountsText),
		"mountinfo":     files.TextNode(mountinfoText),
		"children":      text(func() string { return childrenText(o) }),
		"cgroup":        files.TextNode("0::/\n"),
		"oom_score_adj": files.WritableNode(func() string { return fmt.Sprintln(p.OomAdj) }, func(t *task.Thread, b []byte) linux.Errno { return writeOomAdj(p, t, b) }),
		"ns":            nsNode(),
		"oom_score":     files.TextNode("0\n"),
		"wchan":         files.TextNode("0"),
		"personality":   text(func() string { return fmt.Sprintf("%08x\n", p.Persona) }),
		"loginuid":      files.TextNode("4294967295"),
		"sessionid":     files.TextNode("4294967295"),
		"io":            files.TextNode("rchar: 0\nwchar: 0\nsyscr: 0\nsyscw: 0\nread_bytes: 0\nwrite_bytes: 0\ncancelled_write_bytes: 0\n"),
		"schedstat":     text(func() string { return fmt.Sprintf("%d 0 1\n", p.Usage().Total()) }),
		"fd":            fdDir(o, func(fd int) *files.VNode { return fdLink(o, fd) }),
		"fdinfo":        fdDir(o, func(fd int) *files.VNode { return fdInfo(o, fd) }),
	})
}

func fdDir(o *task.Thread, node func(fd int) *files.VNode) *files.VNode {
	return &files.VNode{
		Mode: linux.S_IFDIR | 0o555,
		Names: func(*task.Thread) []string {
			var out []string
			for _, fd := range files.Of(o).FDs.Open() {
				out = append(out, strconv.Itoa(fd))
			}
			return out
		},
		Child: func(_ *task.Thread, name string) *files.VNode {
			fd := files.Atoi(name)
			if _, e := files.Of(o).FDs.File(fd); e != 0 {
				return nil
			}
			return node(fd)
		},
	}
}

// fdLink is /proc/PID/fd/N: opening it opens the file anew, whatever its name leads to now.
func fdLink(o *task.Thread, fd int) *files.VNode {
	n := files.MagicNode(func(*task.Thread) string {
		f, _ := files.Of(o).FDs.File(fd)
		return f.Name(o.Kernel)
	})
	opened, _ := files.Of(o).FDs.File(fd)
	n.Mode = linux.S_IFLNK
	if opened.Base().Readable() {
		n.Mode |= 0o500
	}
	if opened.Base().Writable() {
		n.Mode |= 0o300
	}
	n.File = func() files.File { return opened }
	n.Open = func(t *task.Thread, flags int) (files.File, linux.Errno) {
		f, e := files.Of(o).FDs.File(fd)
		if e != 0 {
			return nil, linux.ENOENT
		}
		return reopen(t, f, flags)
	}
	return n
}

// reopen opens what f is, anew.
func reopen(t *task.Thread, f files.File, flags int) (files.File, linux.Errno) {
	switch f := f.(type) {
	case *files.HostFile:
		if f.Fixed(t) && (flags&linux.O_ACCMODE != linux.O_RDONLY || flags&linux.O_TRUNC != 0) {
			return nil, linux.EROFS
		}
		r, e := f.Again().Open(flags&^(linux.O_CREAT|linux.O_EXCL), 0, 0)
		if e != 0 {
			return nil, e
		}
		n, e := files.NewHostFile(t.Kernel, r, flags, f.Path)
		if e != 0 {
			return nil, e
		}
		n.Own, n.Private, n.Console = f.Own, f.Private, f.Console
		return n, 0
	case *files.PipeFile:
		n := &files.PipeFile{FileBase: files.FileBase{Flags: flags & (linux.O_ACCMODE | linux.O_NONBLOCK), Path: f.Path}, Pipe: f.Pipe}
		if n.Readable() {
			f.Pipe.Readers++
		} else {
			f.Pipe.Writers++
		}
		return n, 0
	case *tty.PtySlave:
		return f.Pty.OpenSlave(t, flags)
	case *tty.PtyMaster:
		return tty.OpenPtmx(t, flags)
	case *files.VirtualFile:
		return f.Node.OpenAt(t, f.Path, flags)
	case *files.VirtualDir:
		return f.Node.OpenAt(t, f.Path, flags)
	case *files.RandomDevice, *files.MemDevice:
		return files.DevNodes[path.Base(f.Base().Path)].OpenAt(t, f.Base().Path, flags)
	}
	return nil, linux.ENXIO
}

func fdInfo(o *task.Thread, fd int) *files.VNode {
	return files.FileNode(func(t *task.Thread) []byte {
		f, _ := files.Of(o).FDs.File(fd)
		pos, e := f.Seek(t, 0, linux.SEEK_CUR)
		if e != 0 {
			pos = 0
		}
		flags := f.Base().Flags
		if files.Of(o).FDs.Entries[fd].Cloexec {
			flags |= linux.O_CLOEXEC
		}
		st, _ := f.Stat(t)
		return append(fmt.Appendf(nil, "pos:\t%d\nflags:\t0%o\nmnt_id:\t21\nino:\t%d\n", pos, flags, st.Ino), fdDetails(f)...)
	})
}

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

// AddressSpace is how much address space p uses, in bytes.
func AddressSpace(p *task.Process) uint64 {
	var n uint64
	for _, v := range p.Vmas() {
		n += v.Len()
	}
	return n
}

func statmText(p *task.Process) string {
	return fmt.Sprintf("%d %d 0 0 0 0 0\n", AddressSpace(p)/emu.PageSize, resident(p)/4)
}

// statText is /proc/PID/stat (proc_pid_stat(5)): 52 fields.
func statText(o *task.Thread) string {
	p := o.Process
	f := make([]any, 53)
	for i := range f {
		f[i] = 0
	}
	f[1], f[2], f[3], f[4], f[5], f[6], f[8] = o.TID, "("+o.Comm+")", stateText(o)[:1], p.Ppid(), p.PGID, p.SID, -1
	if p.Tty != nil && p.Tty.Dev != 0 {
		f[7], f[8] = p.Tty.Dev, p.Tty.PGID
	}
	f[14], f[15], f[16], f[17] = p.UserTime()/1e7, p.System/1e7, p.WaitedFor.User/1e7, p.WaitedFor.System/1e7
	f[18], f[19], f[20], f[22], f[23], f[24], f[25] = 20+o.Sched.Nice, o.Sched.Nice, p.Live(), p.Started/1e7, AddressSpace(p), resident(p)/4, uint64(linux.RLIM_INFINITY)
	if pr := p.Program; pr != nil && !p.Exited {
		f[26], f[27], f[28] = uint64(pr.Images[0].Lo), uint64(pr.Images[0].Hi), uint64(pr.Stack)
		f[47] = uint64(pr.Brk)
	}
	f[38] = 17
	var b strings.Builder
	for i, x := range f[1:] {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprint(&b, x)
	}
	return b.String() + "\n"
}

func statusText(o *task.Thread) string {
	p := o.Process
	var b strings.Builder
	var ign, caught task.SigSet
	for sig := 1; sig <= linux.NSIG; sig++ {
		switch h := p.Signals[sig].Handler; {
		case h == linux.SIG_IGN:
			ign |= task.SigBit(sig)
		case h != linux.SIG_DFL:
			caught |= task.SigBit(sig)
		}
	}
	kib := AddressSpace(p) >> 10
	fmt.Fprintf(&b, "Name:\t%s\nUmask:\t%04o\nState:\t%s\nTgid:\t%d\nNgid:\t0\nPid:\t%d\nPPid:\t%d\nTracerPid:\t0\n", o.Comm, files.Of(o).Umask, stateText(o), p.PID, o.TID, p.Ppid())
	fmt.Fprintf(&b, "Uid:\t%[1]d\t%[1]d\t%[1]d\t%[1]d\nGid:\t%[2]d\t%[2]d\t%[2]d\t%[2]d\nFDSize:\t%[3]d\nGroups:\t%[2]d \n", p.Kernel.UID, p.Kernel.GID, fdSize(o))
	fmt.Fprintf(&b, "NStgid:\t%[1]d\nNSpid:\t%[2]d\nNSpgid:\t%[3]d\nNSsid:\t%[4]d\n", p.PID, o.TID, p.PGID, p.SID)
	b.WriteString(unlessGone(p, fmt.Sprintf("VmPeak:\t%8[1]d kB\nVmSize:\t%8[1]d kB\nVmLck:\t%8[3]d kB\nVmHWM:\t%8[2]d kB\nVmRSS:\t%8[2]d kB\nRssAnon:\t%8[2]d kB\nRssFile:\t       0 kB\nRssShmem:\t       0 kB\n"+
		"VmData:\t%8[1]d kB\nVmStk:\t    8192 kB\nVmExe:\t       0 kB\nVmLib:\t       0 kB\nVmPTE:\t       0 kB\nVmSwap:\t       0 kB\n", kib, resident(p), p.Locked()>>10)))
	fmt.Fprintf(&b, "Threads:\t%d\nSigQ:\t%d/%d\nSigPnd:\t%016x\nShdPnd:\t%016x\nSigBlk:\t%016x\nSigIgn:\t%016x\nSigCgt:\t%016x\n",
		p.Live(), p.Kernel.QueuedSignals(), p.Limits[linux.RLIMIT_SIGPENDING].Cur, uint64(o.Pending.Set), uint64(p.Pending.Set), uint64(o.Mask), uint64(ign), uint64(caught))
	fmt.Fprintf(&b, "CapInh:\t%016[1]x\nCapPrm:\t%016[1]x\nCapEff:\t%016[1]x\nCapBnd:\t%016[1]x\nCapAmb:\t%016[1]x\nNoNewPrivs:\t%[2]d\nSeccomp:\t0\n", 0, p.NoNewPriv)
	fmt.Fprintf(&b, "Cpus_allowed:\t%x\nCpus_allowed_list:\t%s\nMems_allowed:\t1\nMems_allowed_list:\t0\nvoluntary_ctxt_switches:\t0\nnonvoluntary_ctxt_switches:\t0\n",
		linux.Uint64(o.Cpus()), o.Cpus())
	return b.String()
}

func limitsText(p *task.Process) string {
	names := []string{
		"Max cpu time|seconds", "Max file size|bytes", "Max data size|bytes", "Max stack size|bytes", "Max core file size|bytes",
		"Max resident set|bytes", "Max processes|processes", "Max open files|files", "Max locked memory|bytes", "Max address space|bytes",
		"Max file locks|locks", "Max pending signals|signals", "Max msgqueue size|bytes", "Max nice priority|", "Max realtime priority|",
		"Max realtime timeout|us",
	}
	show := func(x uint64) string {
		if x == linux.RLIM_INFINITY {
			return "unlimited"
		}
		return fmt.Sprint(x)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%-25s %-20s %-20s %-10s\n", "Limit", "Soft Limit", "Hard Limit", "Units")
	for i, n := range names {
		name, unit, _ := strings.Cut(n, "|")
		fmt.Fprintf(&b, "%-25s %-20s %-20s %-10s\n", name, show(p.Limits[i].Cur), show(p.Limits[i].Max), unit)
	}
	return b.String()
}
