package procfs

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/ipc"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// unlessGone is s, or nothing for a process that has ended and has not been waited for.
func unlessGone(p *task.Process, s string) string {
	if p.Exited {
		return ""
	}
	return s
}

// unlessDead is s, or nothing for a thread that has ended: the first one of its process, which goes on.
func unlessDead(t *task.Thread, s string) string {
	if t.Dead {
		return ""
	}
	return s
}

// resident is what p is said to have in memory, in KiB.
func resident(p *task.Process) int {
	if p.Exited {
		return 0
	}
	return task.ResidentKiB
}

func fdSize(o *task.Thread) int {
	if o.Dead {
		return 0
	}
	return files.Of(o).FDs.Size()
}

// stateText is t's state as /proc/PID/status shows it.
func stateText(t *task.Thread) string {
	switch {
	case t.Dead:
		return "Z (zombie)"
	case t.Process.Stopped:
		return "T (stopped)"
	case t.Call.Wait != nil && t.Call.Wait.Unbreakable:
		return "D (disk sleep)" // vfork
	case t.Call.Wait != nil:
		return "S (sleeping)"
	}
	return "R (running)"
}

// population is how many threads run, and how many there are.
func population(k *task.Kernel) (running, all int) {
	for _, p := range k.Processes {
		for _, o := range p.Threads {
			if o.Dead {
				continue
			}
			all++
			if strings.HasPrefix(stateText(o), "R") {
				running++
			}
		}
	}
	return running, all
}

func loadavg(t *task.Thread) []byte {
	running, all := population(t.Kernel)
	return fmt.Appendf(nil, "0.00 0.00 0.00 %d/%d %d\n", running, all, t.Kernel.LastID)
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
func childrenText(o *task.Thread) string {
	var b strings.Builder
	if o == o.Process.Threads[0] {
		for _, c := range o.Process.Children() {
			fmt.Fprintf(&b, "%d ", c.PID)
		}
	}
	return b.String()
}

// smapsText is /proc/PID/smaps: all that is mapped is resident, as for mincore(2).
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

// fdDetails is what /proc/PID/fdinfo tells of some kinds of files besides.
func fdDetails(f files.File) []byte {
	switch f := f.(type) {
	case *files.EventFile:
		return fmt.Appendf(nil, "eventfd-count: %16x\n", f.Count)
	case *files.PidFile:
		pid := f.Process.PID
		if f.Process.Exited && f.Process.Parent == nil {
			pid = -1
		}
		return fmt.Appendf(nil, "Pid:\t%[1]d\nNSpid:\t%[1]d\n", pid)
	case *files.EpollFile:
		var b []byte
		for _, it := range f.Items {
			b = fmt.Appendf(b, "tfd: %8d events: %8x data: %16x  pos:0 ino:0 sdev:0\n", it.FD, it.Events, it.Data)
		}
		return b
	case *files.InotifyFile:
		var b []byte
		for _, w := range f.Watches {
			b = fmt.Appendf(b, "inotify wd:%x ino:%x sdev:fe00000 mask:%x ignored_mask:0\n", w.Wd, w.Ino, w.Mask)
		}
		return b
	}
	return nil
}

// sysvNode is /proc/sysvipc.
func sysvNode() *files.VNode {
	return files.DirNode(map[string]*files.VNode{
		"shm": files.FileNode(func(t *task.Thread) []byte {
			b := []byte("       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  cgid" +
				"      atime      dtime      ctime                   rss                  swap\n")
			for _, s := range ipc.NamespaceOf(t.Kernel).Shm.List {
				b = fmt.Appendf(b, "%10d %10d  %4o %21d %5d %5d  %5d %5[8]d %5[9]d %5[8]d %5[9]d %10d %10d %10d %21d %21d\n", int32(s.Key), s.ID,
					s.Mode, s.Size, s.Creator, s.Last, s.Attached(t.Kernel), t.Kernel.UID, t.Kernel.GID, s.Atime, s.Dtime, s.Ctime, s.Size, 0)
			}
			return b
		}),
		"sem": files.FileNode(func(t *task.Thread) []byte {
			b := []byte("       key      semid perms      nsems   uid   gid  cuid  cgid      otime      ctime\n")
			for _, s := range ipc.NamespaceOf(t.Kernel).Sem.List {
				b = fmt.Appendf(b, "%10d %10d  %4o %10d %5[5]d %5[6]d %5[5]d %5[6]d %10[7]d %10d\n", int32(s.Key), s.ID, s.Mode, len(s.Values),
					t.Kernel.UID, t.Kernel.GID, s.Otime, s.Ctime)
			}
			return b
		}),
		"msg": files.FileNode(func(t *task.Thread) []byte {
			b := []byte("       key      msqid perms      cbytes       qnum lspid lrpid   uid   gid  cuid  cgid      stime      rtime      ctime\n")
			for _, q := range ipc.NamespaceOf(t.Kernel).Msg.List {
				b = fmt.Appendf(b, "%10d %10d  %4o  %10d %10d %5d %5d %5[8]d %5[9]d %5[8]d %5[9]d %10[10]d %10d %10d\n", int32(q.Key), q.ID, q.Mode, q.Bytes,
					len(q.Messages), q.Sender, q.Reader, t.Kernel.UID, t.Kernel.GID, q.Stime, q.Rtime, q.Ctime)
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
func cpuNode(k *task.Kernel, n int) *files.VNode {
	one, all := strconv.Itoa(n)+"\n", strconv.Itoa(0)+"\n"
	if last := k.Config.CPUs - 1; last > 0 {
		all = fmt.Sprintf("0-%d\n", last)
	}
	own, every := cpuMap(n, n), cpuMap(0, k.Config.CPUs-1)
	nodes := map[string]*files.VNode{
		"topology": files.DirNode(map[string]*files.VNode{
			"core_id": files.TextNode(one), "physical_package_id": files.TextNode("0\n"), "die_id": files.TextNode("0\n"), "cluster_id": files.TextNode("0\n"),
			"thread_siblings": files.TextNode(own), "thread_siblings_list": files.TextNode(one), "core_cpus": files.TextNode(own), "core_cpus_list": files.TextNode(one),
			"core_siblings": files.TextNode(every), "core_siblings_list": files.TextNode(all), "package_cpus": files.TextNode(every), "package_cpus_list": files.TextNode(all),
		}),
	}
	if n > 0 {
		nodes["online"] = files.TextNode("1\n") // the first cannot be switched off
	}
	caches := map[string]*files.VNode{}
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
		caches[fmt.Sprintf("index%d", sub)] = files.DirNode(map[string]*files.VNode{
			"level": files.TextNode(fmt.Sprintln(level)), "type": files.TextNode([]string{"", "Data", "Instruction", "Unified"}[kind&3] + "\n"),
			"size":                  files.TextNode(fmt.Sprintf("%dK\n", line*parts*ways*(sets+1)>>10)),
			"coherency_line_size":   files.TextNode(fmt.Sprintln(line)),
			"ways_of_associativity": files.TextNode(fmt.Sprintln(ways)), "number_of_sets": files.TextNode(fmt.Sprintln(sets + 1)),
			"physical_line_partition": files.TextNode(fmt.Sprintln(parts)), "shared_cpu_map": files.TextNode(shared), "shared_cpu_list": files.TextNode(list),
		})
	}
	if len(caches) > 0 {
		nodes["cache"] = files.DirNode(caches)
	}
	return files.DirNode(nodes)
}

// numaNode is /sys/devices/system/node: one node.
func numaNode() *files.VNode {
	zero := files.TextNode("0\n")
	return files.DirNode(map[string]*files.VNode{
		"online": zero, "possible": zero, "has_cpu": zero, "has_memory": zero,
		"node0": files.DirNode(map[string]*files.VNode{
			"cpulist":  files.FileNode(func(t *task.Thread) []byte { return []byte(cpuRange(t)) }),
			"cpumap":   files.FileNode(func(t *task.Thread) []byte { return []byte(cpuMap(0, t.Kernel.Config.CPUs-1)) }),
			"distance": files.TextNode("10\n"),
			"meminfo": files.FileNode(func(t *task.Thread) []byte {
				return fmt.Appendf(nil, "Node 0 MemTotal:       %d kB\nNode 0 MemFree:        %d kB\nNode 0 MemUsed:        %d kB\n",
					task.MemTotal>>10, task.MemTotal>>11, task.MemTotal>>11)
			}),
		}),
	})
}
