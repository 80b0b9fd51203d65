package syscalls

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cgemu/cgemu/emu/mem"
)

// unlessGone is s, or nothing for a process that has ended and has not been waited for.
func (p *Process) unlessGone(s string) string {
	if p.exited {
		return ""
	}
	return s
}

// unlessDead is s, or nothing for a thread that has ended: the first one of its process, which goes on.
func (t *Thread) unlessDead(s string) string {
	if t.dead {
		return ""
	}
	return s
}

// vmas are p's mappings: none when it has ended.
func (p *Process) vmas() []mem.VMA {
	if p.exited || p.machine == nil {
		return nil
	}
	return p.mem.VMAs()
}

// resident is what p is said to have in memory, in KiB.
func (p *Process) resident() int {
	if p.exited {
		return 0
	}
	return residentKiB
}

// live is how many threads p has. A process that has ended shows its main thread.
func (p *Process) live() int {
	n := len(p.threads)
	if p.threads[0].dead {
		n--
	}
	return max(n, 1)
}

func (o *Thread) fdSize() int {
	if o.dead {
		return 0
	}
	return filesOf(o).fds.size()
}

// state is t's state as /proc/PID/status shows it.
func (t *Thread) state() string {
	switch {
	case t.dead:
		return "Z (zombie)"
	case t.p.stopped:
		return "T (stopped)"
	case t.call.wait != nil && t.call.wait.unbreakable:
		return "D (disk sleep)" // vfork
	case t.call.wait != nil:
		return "S (sleeping)"
	}
	return "R (running)"
}

// population is how many threads run, and how many there are.
func (k *Kernel) population() (running, all int) {
	for _, p := range k.procs {
		for _, o := range p.threads {
			if o.dead {
				continue
			}
			all++
			if strings.HasPrefix(o.state(), "R") {
				running++
			}
		}
	}
	return running, all
}

func loadavg(t *Thread) []byte {
	running, all := t.k.population()
	return fmt.Appendf(nil, "0.00 0.00 0.00 %d/%d %d\n", running, all, t.k.lastID)
}

// What is mounted.
const (
	mountsText = "/dev/root / ext4 rw,relatime 0 0\nproc /proc proc rw,relatime 0 0\nsysfs /sys sysfs ro,relatime 0 0\n" +
		"devpts /dev/pts devpts rw,relatime,mode=620,ptmxmode=666 0 0\n"
	mountinfoText = "21 1 254:0 / / rw,relatime shared:1 - ext4 /dev/root rw\n22 21 0:20 / /proc rw,relatime shared:2 - proc proc rw\n" +
		"23 21 0:21 / /sys ro,relatime shared:3 - sysfs sysfs ro\n" +
		"24 21 0:22 / /dev/pts rw,relatime shared:4 - devpts devpts rw,mode=620,ptmxmode=666\n"
)

// childrenText is /proc/PID/task/TID/children.
func childrenText(o *Thread) string {
	var b strings.Builder
	if o == o.p.threads[0] {
		for _, c := range o.p.children() {
			fmt.Fprintf(&b, "%d ", c.pid)
		}
	}
	return b.String()
}

// smapsText is /proc/PID/smaps: all that is mapped is resident, as for mincore(2).
func smapsText(p *Process) string {
	var b strings.Builder
	for _, v := range p.vmas() {
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

// fdDetails is what /proc/PID/fdinfo tells of some kinds of files besides.
func fdDetails(f file) []byte {
	switch f := f.(type) {
	case *eventFile:
		return fmt.Appendf(nil, "eventfd-count: %16x\n", f.count)
	case *pidFile:
		pid := f.p.pid
		if f.p.exited && f.p.parent == nil {
			pid = -1
		}
		return fmt.Appendf(nil, "Pid:\t%[1]d\nNSpid:\t%[1]d\n", pid)
	case *epollFile:
		var b []byte
		for _, it := range f.items {
			b = fmt.Appendf(b, "tfd: %8d events: %8x data: %16x  pos:0 ino:0 sdev:0\n", it.fd, it.events, it.data)
		}
		return b
	case *inotifyFile:
		var b []byte
		for _, w := range f.watches {
			b = fmt.Appendf(b, "inotify wd:%x ino:%x sdev:fe00000 mask:%x ignored_mask:0\n", w.wd, w.ino, w.mask)
		}
		return b
	}
	return nil
}

// sysvNode is /proc/sysvipc.
func sysvNode() *vnode {
	return dirNode(map[string]*vnode{
		"shm": fileNode(func(t *Thread) []byte {
			b := []byte("       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  cgid" +
				"      atime      dtime      ctime                   rss                  swap\n")
			for _, s := range ipcOf(t.k).shm.list {
				b = fmt.Appendf(b, "%10d %10d  %4o %21d %5d %5d  %5d %5[8]d %5[9]d %5[8]d %5[9]d %10d %10d %10d %21d %21d\n", int32(s.key), s.id,
					s.mode, s.size, s.creator, s.last, s.attached(t.k), t.k.uid, t.k.gid, s.atime, s.dtime, s.ctime, s.size, 0)
			}
			return b
		}),
		"sem": fileNode(func(t *Thread) []byte {
			b := []byte("       key      semid perms      nsems   uid   gid  cuid  cgid      otime      ctime\n")
			for _, s := range ipcOf(t.k).sem.list {
				b = fmt.Appendf(b, "%10d %10d  %4o %10d %5[5]d %5[6]d %5[5]d %5[6]d %10[7]d %10d\n", int32(s.key), s.id, s.mode, len(s.values),
					t.k.uid, t.k.gid, s.otime, s.ctime)
			}
			return b
		}),
		"msg": fileNode(func(t *Thread) []byte {
			b := []byte("       key      msqid perms      cbytes       qnum lspid lrpid   uid   gid  cuid  cgid      stime      rtime      ctime\n")
			for _, q := range ipcOf(t.k).msg.list {
				b = fmt.Appendf(b, "%10d %10d  %4o  %10d %10d %5d %5d %5[8]d %5[9]d %5[8]d %5[9]d %10[10]d %10d %10d\n", int32(q.key), q.id, q.mode, q.bytes,
					len(q.messages), q.sender, q.reader, t.k.uid, t.k.gid, q.stime, q.rtime, q.ctime)
			}
			return b
		}),
	})
}

// cpuMap is a set of processors as a mask: all, or one.
func cpuMap(lo, hi int) string {
	words := make([]uint32, hi/32+1)
	for i := lo; i <= hi; i++ {
		words[i/32] |= 1 << (i % 32)
	}
	var b []string
	for i := len(words) - 1; i >= 0; i-- {
		b = append(b, fmt.Sprintf("%08x", words[i]))
	}
	return strings.TrimLeft(strings.Join(b, ","), "0,") + "\n"
}

// cpuNode is /sys/devices/system/cpu/cpuN: cores of one package, with the caches that CPUID tells of.
func cpuNode(k *Kernel, n int) *vnode {
	one, all := strconv.Itoa(n)+"\n", strconv.Itoa(0)+"\n"
	if last := k.cfg.CPUs - 1; last > 0 {
		all = fmt.Sprintf("0-%d\n", last)
	}
	own, every := cpuMap(n, n), cpuMap(0, k.cfg.CPUs-1)
	nodes := map[string]*vnode{
		"topology": dirNode(map[string]*vnode{
			"core_id": textNode(one), "physical_package_id": textNode("0\n"), "die_id": textNode("0\n"), "cluster_id": textNode("0\n"),
			"thread_siblings": textNode(own), "thread_siblings_list": textNode(one), "core_cpus": textNode(own), "core_cpus_list": textNode(one),
			"core_siblings": textNode(every), "core_siblings_list": textNode(all), "package_cpus": textNode(every), "package_cpus_list": textNode(all),
		}),
	}
	if n > 0 {
		nodes["online"] = textNode("1\n") // the first cannot be switched off
	}
	caches := map[string]*vnode{}
	for sub := range uint32(8) {
		kind, b, sets, _ := k.CPUID(4, sub)
		if kind&0x1f == 0 {
			break
		}
		line, parts, ways := b&0xfff+1, b>>12&0x3ff+1, b>>22+1
		level := kind >> 5 & 7
		shared, list := own, one
		if level > 2 {
			shared, list = every, all
		}
		caches[fmt.Sprintf("index%d", sub)] = dirNode(map[string]*vnode{
			"level": textNode(fmt.Sprintln(level)), "type": textNode([]string{"", "Data", "Instruction", "Unified"}[kind&3] + "\n"),
			"size":                  textNode(fmt.Sprintf("%dK\n", line*parts*ways*(sets+1)>>10)),
			"coherency_line_size":   textNode(fmt.Sprintln(line)),
			"ways_of_associativity": textNode(fmt.Sprintln(ways)), "number_of_sets": textNode(fmt.Sprintln(sets + 1)),
			"physical_line_partition": textNode(fmt.Sprintln(parts)), "shared_cpu_map": textNode(shared), "shared_cpu_list": textNode(list),
		})
	}
	if len(caches) > 0 {
		nodes["cache"] = dirNode(caches)
	}
	return dirNode(nodes)
}

// numaNode is /sys/devices/system/node: one node.
func numaNode() *vnode {
	zero := textNode("0\n")
	return dirNode(map[string]*vnode{
		"online": zero, "possible": zero, "has_cpu": zero, "has_memory": zero,
		"node0": dirNode(map[string]*vnode{
			"cpulist":  fileNode(func(t *Thread) []byte { return []byte(cpuRange(t)) }),
			"cpumap":   fileNode(func(t *Thread) []byte { return []byte(cpuMap(0, t.k.cfg.CPUs-1)) }),
			"distance": textNode("10\n"),
			"meminfo": fileNode(func(t *Thread) []byte {
				return fmt.Appendf(nil, "Node 0 MemTotal:       %d kB\nNode 0 MemFree:        %d kB\nNode 0 MemUsed:        %d kB\n",
					memTotal>>10, memTotal>>11, memTotal>>11)
			}),
		}),
	})
}
