package procfs

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

func init() {
	files.ProcRoot.Names = func(t *task.Thread) []string {
		out := []string{"self", "thread-self", strconv.Itoa(task.InitPID), strconv.Itoa(task.ParentPID)}
		for _, p := range t.Kernel.Processes {
			out = append(out, strconv.Itoa(p.PID))
		}
		for name := range procFiles() {
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
		if n := procFiles()[name]; n != nil {
			return n
		}
		id := files.Atoi(name)
		if p := t.Kernel.Process(id); p != nil {
			return processNode(p.Threads[0])
		}
		if task.Outside(id) {
			return absentNode(id)
		}
		if o := t.Kernel.FindThread(-1, id); o != nil {
			return processNode(o) // a thread's id: not listed, but found
		}
		return nil
	}
	cpu := &files.VNode{Mode: linux.S_IFDIR | 0o555, Names: cpuNames, Child: cpuChild}
	empty := files.DirNode(nil)
	files.SysRoot.Names, files.SysRoot.Child = pair(files.DirNode(map[string]*files.VNode{
		"devices": files.DirNode(map[string]*files.VNode{"system": files.DirNode(map[string]*files.VNode{"cpu": cpu, "node": numaNode()})}),
		"block":   empty, "bus": empty, "fs": empty, "module": empty,
		"class": files.DirNode(map[string]*files.VNode{"block": empty}), "dev": files.DirNode(map[string]*files.VNode{"block": empty, "char": empty}),
		"kernel": files.DirNode(map[string]*files.VNode{"mm": settingsNode(map[string]string{
			"transparent_hugepage/enabled": "always [madvise] never", "transparent_hugepage/defrag": "always defer defer+madvise [madvise] never",
			"transparent_hugepage/shmem_enabled": "always within_size advise [never] deny force", "transparent_hugepage/use_zero_page": "1",
			"transparent_hugepage/hpage_pmd_size": "2097152", "hugepages/hugepages-2048kB/nr_hugepages": "0", "hugepages/hugepages-2048kB/free_hugepages": "0",
			"hugepages/hugepages-2048kB/resv_hugepages": "0", "hugepages/hugepages-2048kB/surplus_hugepages": "0", "hugepages/hugepages-2048kB/nr_overcommit_hugepages": "0",
		}, nil)}),
	}))
}

// pair are the functions that make n a directory.
func pair(n *files.VNode) (func(*task.Thread) []string, func(*task.Thread, string) *files.VNode) {
	return n.Names, n.Child
}

// bootID is /proc/sys/kernel/random/boot_id.
const bootID = "00000000-0000-4000-8000-000000000000\n"

// procFiles are the files of /proc that are about the machine.
var procFiles = sync.OnceValue(func() map[string]*files.VNode {
	return map[string]*files.VNode{
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
		"sys":         lateNode(procSys),
		"interrupts":  files.FileNode(interrupts),
		"softirqs":    files.FileNode(softirqs),
		"pressure":    settingsNode(map[string]string{"cpu": noPressure, "io": noPressure, "memory": noPressure}, nil),
		"tty":         settingsNode(map[string]string{"drivers": ttyDrivers}, nil),
		"misc":        files.TextNode(""),
		"consoles":    files.TextNode(""),
		"execdomains": files.TextNode("0-0\tLinux           \t[kernel]\n"),
	}
})

const (
	// noPressure is what /proc/pressure says of everything (Documentation/accounting/psi.rst): nobody ever waits for
	// it.
	noPressure = "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0"
	ttyDrivers = "/dev/tty             /dev/tty        5       0 system:/dev/tty\n" +
		"/dev/console         /dev/console    5       1 system:console\n" +
		"/dev/ptmx            /dev/ptmx       5       2 system\n" +
		"pty_slave            /dev/pts      136 0-1048575 pty:slave\n" +
		"pty_master           /dev/ptm      128 0-1048575 pty:master"
)

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
	// Everything runs on the first CPU. The others have been idle since the machine was booted.
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

func loadavg(t *task.Thread) []byte {
	running, all := population(t.Kernel)
	return fmt.Appendf(nil, "0.00 0.00 0.00 %d/%d %d\n", running, all, t.Kernel.LastID)
}
