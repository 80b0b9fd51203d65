package syscalls

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

func init() {
	procRoot.names = func(t *Thread) []string {
		out := []string{"self", "thread-self", strconv.Itoa(initPID), strconv.Itoa(parentPID)}
		for _, p := range t.k.procs {
			out = append(out, strconv.Itoa(p.pid))
		}
		for name := range procFiles {
			out = append(out, name)
		}
		return out
	}
	procRoot.child = func(t *Thread, name string) *vnode {
		switch name {
		case "self":
			return linkNode(func(t *Thread) string { return strconv.Itoa(t.p.pid) })
		case "thread-self":
			return linkNode(func(t *Thread) string { return fmt.Sprintf("%d/task/%d", t.p.pid, t.tid) })
		}
		if n := procFiles[name]; n != nil {
			return n
		}
		id := atoi(name)
		if p := t.k.process(id); p != nil {
			return processNode(p.threads[0])
		}
		if absent(id) {
			return absentNode(id)
		}
		if o := t.k.findThread(-1, id); o != nil {
			return processNode(o) // not listed, but there
		}
		return nil
	}
	cpu := &vnode{mode: linux.S_IFDIR | 0o555, names: cpuNames, child: cpuChild}
	empty := dirNode(nil)
	sysRoot.names, sysRoot.child = dirNode(map[string]*vnode{
		"devices": dirNode(map[string]*vnode{"system": dirNode(map[string]*vnode{"cpu": cpu, "node": numaNode()})}),
		"block":   empty, "bus": empty, "fs": empty, "module": empty,
		"class": dirNode(map[string]*vnode{"block": empty}), "dev": dirNode(map[string]*vnode{"block": empty, "char": empty}),
		"kernel": dirNode(map[string]*vnode{"mm": dirNode(map[string]*vnode{"transparent_hugepage": dirNode(map[string]*vnode{
			"enabled": textNode("always [madvise] never\n"),
		})})}),
	}).pair()
}

// pair returns what makes n a directory.
func (n *vnode) pair() (func(*Thread) []string, func(*Thread, string) *vnode) {
	return n.names, n.child
}

// bootID is /proc/sys/kernel/random/boot_id.
const bootID = "00000000-0000-4000-8000-000000000000\n"

// procFiles are the files of /proc that are about the machine.
var procFiles = map[string]*vnode{
	"cpuinfo":     fileNode(cpuinfo),
	"meminfo":     fileNode(meminfo),
	"stat":        fileNode(procStat),
	"uptime":      fileNode(func(t *Thread) []byte { s := seconds(t.k.now()); return []byte(s + " " + s + "\n") }),
	"loadavg":     fileNode(loadavg),
	"vmstat":      textNode("nr_free_pages 1048576\npgpgin 0\npgpgout 0\npswpin 0\npswpout 0\npgfault 0\npgmajfault 0\n"),
	"swaps":       textNode("Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"),
	"partitions":  textNode("major minor  #blocks  name\n\n"),
	"diskstats":   textNode(""),
	"modules":     textNode(""),
	"devices":     textNode("Character devices:\n  1 mem\n  5 /dev/tty\n  5 /dev/console\n  5 /dev/ptmx\n136 pts\n\nBlock devices:\n254 virtblk\n"),
	"sysvipc":     sysvNode(),
	"version":     textNode("Linux version " + unameRelease + " (cgemu@cgemu) " + unameVersion + "\n"),
	"filesystems": textNode("nodev\tsysfs\nnodev\ttmpfs\nnodev\tproc\nnodev\tpipefs\nnodev\tsockfs\nnodev\tdevpts\nnodev\tmqueue\n\text4\n"),
	"mounts":      linkNode(func(*Thread) string { return "self/mounts" }),
	"cmdline":     textNode("cgemu\n"),
	"net":         linkNode(func(*Thread) string { return "self/net" }),
	"sys":         procSys,
}

// uuid is a random UUID (RFC 9562, version 4).
func (k *Kernel) uuid() string {
	var b [16]byte
	k.rng.read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func seconds(ns int64) string { return fmt.Sprintf("%d.%02d", ns/1e9, ns/1e7%100) }

func meminfo(*Thread) []byte {
	var b strings.Builder
	for _, l := range []struct {
		name string
		kib  int
	}{
		{"MemTotal", memTotal >> 10}, {"MemFree", memTotal >> 11}, {"MemAvailable", memTotal >> 11}, {"Buffers", 0},
		{"Cached", memTotal >> 12}, {"SwapCached", 0}, {"Active", 0}, {"Inactive", 0}, {"SwapTotal", 0}, {"SwapFree", 0},
		{"Dirty", 0}, {"Mapped", 0}, {"Shmem", 0}, {"Slab", 0}, {"SReclaimable", 0}, {"CommitLimit", memTotal >> 11},
		{"Committed_AS", 0}, {"VmallocTotal", 34359738367}, {"Hugepagesize", 2048},
	} {
		fmt.Fprintf(&b, "%-15s %8d kB\n", l.name+":", l.kib)
	}
	return []byte(b.String())
}

func procStat(t *Thread) []byte {
	var b strings.Builder
	// All runs on the first processor; the others have been idle ever since.
	user, system, up := t.k.executed()/1e7, t.k.clock.system/1e7, t.k.now()/1e7
	fmt.Fprintf(&b, "cpu  %d 0 %d %d 0 0 0 0 0 0\n", user, system, int64(t.k.cfg.CPUs)*up-user-system)
	for i := range t.k.cfg.CPUs {
		fmt.Fprintf(&b, "cpu%d %d 0 %d %d 0 0 0 0 0 0\n", i, user, system, up-user-system)
		user, system = 0, 0
	}
	running, _ := t.k.population()
	fmt.Fprintf(&b, "intr 0\nctxt 0\nbtime %d\nprocesses %d\nprocs_running %d\nprocs_blocked 0\nsoftirq 0\n",
		(t.k.clock.epoch-bootTime)/1e9, t.k.ids, running)
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

func cpuinfo(t *Thread) []byte {
	k := t.k
	_, vb, vc, vd := k.CPUID(0, 0)
	var vendor, brand pack
	vendor.u32(vb)
	vendor.u32(vd)
	vendor.u32(vc)
	for leaf := uint32(0x80000002); leaf <= 0x80000004; leaf++ {
		a, b, c, d := k.CPUID(leaf, 0)
		for _, r := range []uint32{a, b, c, d} {
			brand.u32(r)
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
	for i := range k.cfg.CPUs {
		fmt.Fprintf(&b, "processor\t: %d\nvendor_id\t: %s\ncpu family\t: %d\nmodel\t\t: %d\nmodel name\t: %s\nstepping\t: %d\n",
			i, strings.TrimRight(string(vendor), "\x00"), family, model, strings.Trim(string(brand), "\x00 "), sig&15)
		fmt.Fprintf(&b, "cpu MHz\t\t: 1000.000\ncache size\t: %d KB\nphysical id\t: 0\nsiblings\t: %d\ncore id\t\t: %d\ncpu cores\t: %d\n",
			cacheSize>>10, k.cfg.CPUs, i, k.cfg.CPUs)
		fmt.Fprintf(&b, "fpu\t\t: yes\nfpu_exception\t: yes\ncpuid level\t: 13\nwp\t\t: yes\nflags\t\t: %s\nbogomips\t: 2000.00\n"+
			"clflush size\t: 64\ncache_alignment\t: 64\naddress sizes\t: 46 bits physical, 48 bits virtual\n\n", strings.Join(flags, " "))
	}
	return []byte(b.String())
}

// lastLevelCache is the size in bytes of the last cache that CPUID's leaf 4 lists.
func lastLevelCache(k *Kernel) (size uint64) {
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

func cpuRange(t *Thread) string { return t.k.cpus().String() + "\n" }

func cpuNames(t *Thread) []string {
	out := []string{"online", "possible", "present", "offline", "isolated", "kernel_max"}
	for i := range t.k.cfg.CPUs {
		out = append(out, fmt.Sprintf("cpu%d", i))
	}
	return out
}

func cpuChild(t *Thread, name string) *vnode {
	switch name {
	case "online", "possible", "present":
		return fileNode(func(t *Thread) []byte { return []byte(cpuRange(t)) })
	case "offline", "isolated":
		return textNode("\n")
	case "kernel_max":
		return textNode("8191\n")
	}
	rest, ok := strings.CutPrefix(name, "cpu")
	if n := atoi(rest); !ok || n < 0 || n >= t.k.cfg.CPUs {
		return nil
	}
	return cpuNode(t.k, atoi(rest))
}

// processNode is /proc/PID; main is the process' first thread.
func processNode(main *Thread) *vnode {
	n := taskNode(main)
	n.process = main.p
	tasks := &vnode{
		mode: linux.S_IFDIR | 0o555,
		names: func(*Thread) []string {
			var out []string
			for _, o := range main.p.threads {
				if !o.dead {
					out = append(out, strconv.Itoa(o.tid))
				}
			}
			return out
		},
		child: func(_ *Thread, name string) *vnode {
			if o := main.p.thread(atoi(name)); o != nil {
				return taskNode(o)
			}
			return nil
		},
	}
	names, child := n.names, n.child
	n.names = func(t *Thread) []string { return append(names(t), "task") }
	n.child = func(t *Thread, name string) *vnode {
		if name == "task" {
			return tasks
		}
		return child(t, name)
	}
	return n
}

// taskNode is /proc/PID/task/TID, for o.
func taskNode(o *Thread) *vnode {
	p := o.p
	text := func(f func() string) *vnode { return fileNode(func(*Thread) []byte { return []byte(f()) }) }
	return dirNode(map[string]*vnode{
		"exe":     magicNode(func(*Thread) string { return p.unlessGone(p.exe) }),
		"cwd":     magicNode(func(*Thread) string { cwd, _ := o.cwdPath(); return o.unlessDead(cwd) }),
		"root":    magicNode(func(*Thread) string { return o.unlessDead("/") }),
		"cmdline": text(func() string { return p.unlessGone(string(cmdline(p.argv))) }),
		"environ": text(func() string { return p.unlessGone(string(cmdline(p.envv))) }),
		"comm":    writableNode(func() string { return o.comm + "\n" }, func(t *Thread, b []byte) linux.Errno { return o.writeComm(t, b) }),
		"maps":    text(func() string { return mapsText(p) }),
		"smaps":   text(func() string { return smapsText(p) }),
		"stat":    text(func() string { return statText(o) }),
		"statm":   text(func() string { return statmText(p) }),
		"status":  text(func() string { return statusText(o) }),
		"auxv": text(func() string {
			var b pack
			for _, a := range p.program.Auxv {
				b.u64(a.Type)
				b.u64(a.Value)
			}
			return string(b)
		}),
		"net":           procNet,
		"limits":        text(func() string { return limitsText(p) }),
		"mounts":        textNode(mountsText),
		"mountinfo":     textNode(mountinfoText),
		"children":      text(func() string { return childrenText(o) }),
		"cgroup":        textNode("0::/\n"),
		"oom_score_adj": writableNode(func() string { return fmt.Sprintln(p.oomAdj) }, func(t *Thread, b []byte) linux.Errno { return p.writeOomAdj(t, b) }),
		"ns":            nsNode(),
		"oom_score":     textNode("0\n"),
		"wchan":         textNode("0"),
		"personality":   text(func() string { return fmt.Sprintf("%08x\n", p.persona) }),
		"loginuid":      textNode("4294967295"),
		"sessionid":     textNode("4294967295"),
		"io":            textNode("rchar: 0\nwchar: 0\nsyscr: 0\nsyscw: 0\nread_bytes: 0\nwrite_bytes: 0\ncancelled_write_bytes: 0\n"),
		"schedstat":     text(func() string { return fmt.Sprintf("%d 0 1\n", p.usage().total()) }),
		"fd":            fdDir(o, func(fd int) *vnode { return fdLink(o, fd) }),
		"fdinfo":        fdDir(o, func(fd int) *vnode { return fdInfo(o, fd) }),
	})
}

func fdDir(o *Thread, node func(fd int) *vnode) *vnode {
	return &vnode{
		mode: linux.S_IFDIR | 0o555,
		names: func(*Thread) []string {
			var out []string
			for _, fd := range filesOf(o).fds.open() {
				out = append(out, strconv.Itoa(fd))
			}
			return out
		},
		child: func(_ *Thread, name string) *vnode {
			fd := atoi(name)
			if _, e := filesOf(o).fds.file(fd); e != 0 {
				return nil
			}
			return node(fd)
		},
	}
}

// fdLink is /proc/PID/fd/N: opening it opens the file anew, whatever its name leads to now.
func fdLink(o *Thread, fd int) *vnode {
	n := magicNode(func(*Thread) string {
		f, _ := filesOf(o).fds.file(fd)
		return f.name(o.k)
	})
	opened, _ := filesOf(o).fds.file(fd)
	n.mode = linux.S_IFLNK
	if opened.base().readable() {
		n.mode |= 0o500
	}
	if opened.base().writable() {
		n.mode |= 0o300
	}
	n.file = func() file { return opened }
	n.open = func(t *Thread, flags int) (file, linux.Errno) {
		f, e := filesOf(o).fds.file(fd)
		if e != 0 {
			return nil, linux.ENOENT
		}
		return t.reopen(f, flags)
	}
	return n
}

// reopen opens what f is, anew.
func (t *Thread) reopen(f file, flags int) (file, linux.Errno) {
	switch f := f.(type) {
	case *hostFile:
		if f.fixed(t) && (flags&linux.O_ACCMODE != linux.O_RDONLY || flags&linux.O_TRUNC != 0) {
			return nil, linux.EROFS
		}
		r, e := f.again().open(flags&^(linux.O_CREAT|linux.O_EXCL), 0, 0)
		if e != 0 {
			return nil, e
		}
		n, e := t.k.newHostFile(r, flags, f.path)
		if e != 0 {
			return nil, e
		}
		n.own, n.private, n.console = f.own, f.private, f.console
		return n, 0
	case *pipeFile:
		n := &pipeFile{fileBase{flags: flags & (linux.O_ACCMODE | linux.O_NONBLOCK), path: f.path}, f.pipe}
		if n.readable() {
			f.pipe.readers++
		} else {
			f.pipe.writers++
		}
		return n, 0
	case *ptySlave:
		return f.pty.openSlave(t, flags)
	case *ptyMaster:
		return openPtmx(t, flags)
	case *virtualFile:
		return f.node.openFile(t, f.path, flags)
	case *virtualDir:
		return f.node.openFile(t, f.path, flags)
	case *randomFile, *memFile:
		return devNodes[path.Base(f.base().path)].openFile(t, f.base().path, flags)
	}
	return nil, linux.ENXIO
}

func fdInfo(o *Thread, fd int) *vnode {
	return fileNode(func(t *Thread) []byte {
		f, _ := filesOf(o).fds.file(fd)
		pos, e := f.seek(t, 0, linux.SEEK_CUR)
		if e != 0 {
			pos = 0
		}
		flags := f.base().flags
		if filesOf(o).fds.fds[fd].cloexec {
			flags |= linux.O_CLOEXEC
		}
		st, _ := f.stat(t)
		return append(fmt.Appendf(nil, "pos:\t%d\nflags:\t0%o\nmnt_id:\t21\nino:\t%d\n", pos, flags, st.ino), fdDetails(f)...)
	})
}

// mapsText is /proc/PID/maps (fs/proc/task_mmu.c, show_map_vma).
func mapsText(p *Process) string {
	var b strings.Builder
	for _, v := range p.vmas() {
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
	line := fmt.Sprintf("%08x-%08x %s %08x %02x:%02x %d ", uint64(v.Lo), uint64(v.Hi), perm, off, major(v.Dev), minor(v.Dev), v.Ino)
	if v.Path != "" {
		line = fmt.Sprintf("%-72s %s", line, v.Path)
	}
	return line + "\n"
}

// size is how much address space p uses, in bytes.
func (p *Process) size() uint64 {
	var n uint64
	for _, v := range p.vmas() {
		n += v.Len()
	}
	return n
}

func statmText(p *Process) string {
	return fmt.Sprintf("%d %d 0 0 0 0 0\n", p.size()/emu.PageSize, p.resident()/4)
}

// statText is /proc/PID/stat (proc_pid_stat(5)): 52 fields.
func statText(o *Thread) string {
	p := o.p
	f := make([]any, 53)
	for i := range f {
		f[i] = 0
	}
	f[1], f[2], f[3], f[4], f[5], f[6], f[8] = o.tid, "("+o.comm+")", o.state()[:1], p.ppid(), p.pgid, p.sid, -1
	if p.tty != nil && p.tty.dev != 0 {
		f[7], f[8] = p.tty.dev, p.tty.pgid
	}
	f[14], f[15], f[16], f[17] = p.userTime()/1e7, p.system/1e7, p.waitedFor.user/1e7, p.waitedFor.system/1e7
	f[18], f[19], f[20], f[22], f[23], f[24], f[25] = 20+o.sched.nice, o.sched.nice, p.live(), p.started/1e7, p.size(), p.resident()/4, uint64(linux.RLIM_INFINITY)
	if pr := p.program; pr != nil && !p.exited {
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

func statusText(o *Thread) string {
	p := o.p
	var b strings.Builder
	var ign, caught sigSet
	for sig := 1; sig <= linux.NSIG; sig++ {
		switch h := p.signals[sig].handler; {
		case h == linux.SIG_IGN:
			ign |= sigBit(sig)
		case h != linux.SIG_DFL:
			caught |= sigBit(sig)
		}
	}
	kib := p.size() >> 10
	fmt.Fprintf(&b, "Name:\t%s\nUmask:\t%04o\nState:\t%s\nTgid:\t%d\nNgid:\t0\nPid:\t%d\nPPid:\t%d\nTracerPid:\t0\n", o.comm, filesOf(o).umask, o.state(), p.pid, o.tid, p.ppid())
	fmt.Fprintf(&b, "Uid:\t%[1]d\t%[1]d\t%[1]d\t%[1]d\nGid:\t%[2]d\t%[2]d\t%[2]d\t%[2]d\nFDSize:\t%[3]d\nGroups:\t%[2]d \n", p.k.uid, p.k.gid, o.fdSize())
	fmt.Fprintf(&b, "NStgid:\t%[1]d\nNSpid:\t%[2]d\nNSpgid:\t%[3]d\nNSsid:\t%[4]d\n", p.pid, o.tid, p.pgid, p.sid)
	b.WriteString(p.unlessGone(fmt.Sprintf("VmPeak:\t%8[1]d kB\nVmSize:\t%8[1]d kB\nVmLck:\t%8[3]d kB\nVmHWM:\t%8[2]d kB\nVmRSS:\t%8[2]d kB\nRssAnon:\t%8[2]d kB\nRssFile:\t       0 kB\nRssShmem:\t       0 kB\n"+
		"VmData:\t%8[1]d kB\nVmStk:\t    8192 kB\nVmExe:\t       0 kB\nVmLib:\t       0 kB\nVmPTE:\t       0 kB\nVmSwap:\t       0 kB\n", kib, p.resident(), p.locked()>>10)))
	fmt.Fprintf(&b, "Threads:\t%d\nSigQ:\t%d/%d\nSigPnd:\t%016x\nShdPnd:\t%016x\nSigBlk:\t%016x\nSigIgn:\t%016x\nSigCgt:\t%016x\n",
		p.live(), p.k.queuedSignals(), p.limits[linux.RLIMIT_SIGPENDING].cur, uint64(o.pending.set), uint64(p.pending.set), uint64(o.mask), uint64(ign), uint64(caught))
	fmt.Fprintf(&b, "CapInh:\t%016[1]x\nCapPrm:\t%016[1]x\nCapEff:\t%016[1]x\nCapBnd:\t%016[1]x\nCapAmb:\t%016[1]x\nNoNewPrivs:\t%[2]d\nSeccomp:\t0\n", 0, p.noNewPriv)
	fmt.Fprintf(&b, "Cpus_allowed:\t%x\nCpus_allowed_list:\t%s\nMems_allowed:\t1\nMems_allowed_list:\t0\nvoluntary_ctxt_switches:\t0\nnonvoluntary_ctxt_switches:\t0\n",
		le64(o.cpus()), o.cpus())
	return b.String()
}

func limitsText(p *Process) string {
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
		fmt.Fprintf(&b, "%-25s %-20s %-20s %-10s\n", name, show(p.limits[i].cur), show(p.limits[i].max), unit)
	}
	return b.String()
}
