package procfs

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// processNode is /proc/PID, with a list of the process' threads; main is its first thread.
func processNode(main *task.Thread) *files.VNode {
	n := taskNode(main)
	n.Process = main.Process
	tasks := &files.VNode{
		Mode: linux.S_IFDIR | 0o555,
		Names: func(*task.Thread) []string {
			var out []string
			for _, o := range main.Process.Threads {
				if !o.Dead || o == main { // which is a zombie as long as others live
					out = append(out, strconv.Itoa(o.TID))
				}
			}
			return out
		},
		Child: func(_ *task.Thread, name string) *files.VNode {
			tid := files.Atoi(name)
			if tid == main.TID {
				return taskNode(main)
			}
			if o := main.Process.Thread(tid); o != nil {
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

// taskNode is /proc/PID/task/TID, or what /proc/PID has in common with it.
func taskNode(o *task.Thread) *files.VNode {
	p := o.Process
	text := func(f func() string) *files.VNode {
		return files.FileNode(func(*task.Thread) []byte { return []byte(f()) })
	}
	// ofMemory is a text that comes from memory, which a thread that has ended no longer has, even if others of its
	// process do.
	ofMemory := func(f func(p *task.Process) string) *files.VNode {
		return text(func() string {
			if o.Dead {
				return ""
			}
			return f(p)
		})
	}
	nodes := map[string]*files.VNode{
		"exe":          files.MagicNode(func(*task.Thread) string { return unlessDead(o, p.Exe) }),
		"cwd":          files.MagicNode(func(*task.Thread) string { cwd, _ := files.CwdPath(o); return unlessDead(o, cwd) }),
		"root":         files.MagicNode(func(*task.Thread) string { return unlessDead(o, "/") }),
		"cmdline":      ofMemory(cmdlineText),
		"environ":      ofMemory(environText),
		"maps":         ofMemory(mapsText),
		"smaps":        ofMemory(smapsText),
		"smaps_rollup": ofMemory(smapsRollupText),
		"numa_maps":    ofMemory(numaMapsText),
		"mem":          files.MemNode(o),
		"pagemap":      files.PagemapNode(o),
		"stat":         text(func() string { return statText(o) }),
		"statm":        text(func() string { return statmText(p) }),
		"status":       text(func() string { return statusText(o) }),
		"auxv": ofMemory(func(p *task.Process) string {
			var b linux.Pack
			for _, a := range p.Program.Auxv {
				b.U64(a.Type)
				b.U64(a.Value)
			}
			return string(b)
		}),
		"net":            procNet,
		"limits":         text(func() string { return limitsText(p) }),
		"mounts":         files.TextNode(mountsText),
		"mountinfo":      files.TextNode(mountinfoText),
		"children":       text(func() string { return childrenText(o) }),
		"cgroup":         files.TextNode("0::/\n"),
		"ns":             nsNode(),
		"oom_score":      files.TextNode("0\n"),
		"wchan":          files.TextNode("0"),
		"personality":    text(func() string { return fmt.Sprintf("%08x\n", p.Persona) }),
		"loginuid":       files.TextNode("4294967295"),
		"sessionid":      files.TextNode("4294967295"),
		"io":             files.TextNode("rchar: 0\nwchar: 0\nsyscr: 0\nsyscw: 0\nread_bytes: 0\nwrite_bytes: 0\ncancelled_write_bytes: 0\n"),
		"schedstat":      text(func() string { return fmt.Sprintf("%d 0 1\n", p.Usage().Total()) }),
		"fd":             fdDir(o, func(fd int) *files.VNode { return fdLink(o, fd) }),
		"fdinfo":         fdDir(o, func(fd int) *files.VNode { return fdInfo(o, fd) }),
		"mountstats":     mountstatsNode,
		"syscall":        syscallNode(o),
		"timens_offsets": files.TextNode("monotonic           0         0\nboottime            0         0\n"),
	}
	maps.Copy(nodes, settable(o))
	return files.DirNode(nodes)
}

// unlessDead is s, or nothing if t has ended: the first thread of a process that goes on.
func unlessDead(t *task.Thread, s string) string {
	if t.Dead {
		return ""
	}
	return s
}

// resident is how much of p is said to be in memory, in KiB.
func resident(p *task.Process) int {
	if p.Exited {
		return 0
	}
	return task.ResidentKiB
}

// stateText is t's state, as /proc/PID/status shows it.
func stateText(t *task.Thread) string {
	switch {
	case t.Dead:
		return "Z (zombie)"
	case t.Process.Stopped:
		return "T (stopped)"
	case t.Call.Wait != nil && t.Call.Wait.Killable:
		return "D (disk sleep)" // vfork
	case t.Call.Wait != nil:
		return "S (sleeping)"
	}
	return "R (running)"
}

// population counts the threads that can run, and all there are.
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

// What is mounted.
const (
	mountsText = "/dev/root / ext4 rw,relatime 0 0\nproc /proc proc rw,relatime 0 0\nsysfs /sys sysfs ro,relatime 0 0\n" +
		"devpts /dev/pts devpts rw,relatime,mode=620,ptmxmode=666 0 0\n"
	mountinfoText = "21 1 254:0 / / rw,relatime shared:1 - ext4 /dev/root rw\n22 21 0:20 / /proc rw,relatime shared:2 - proc proc rw\n" +
		"23 21 0:21 / /sys ro,relatime shared:3 - sysfs sysfs ro\n" +
		"24 21 0:22 / /dev/pts rw,relatime shared:4 - devpts devpts rw,mode=620,ptmxmode=666\n"
)

// mountstatsNode is /proc/PID/mountstats (Documentation/filesystems/proc.rst), which names what is mounted.
var mountstatsNode = secret(func(*task.Thread) string {
	var b strings.Builder
	for line := range strings.Lines(mountsText) {
		f := strings.Fields(line)
		fmt.Fprintf(&b, "device %s mounted on %s with fstype %s\n", f[0], f[1], f[2])
	}
	return b.String()
})

// secret is a file that only its owner may read.
func secret(text func(t *task.Thread) string) *files.VNode {
	n := files.FileNode(func(t *task.Thread) []byte { return []byte(text(t)) })
	n.Mode = linux.S_IFREG | 0o400
	return n
}

// syscallNode is /proc/PID/syscall (proc_pid_syscall(5)): the system call in which a thread waits, or which reads this.
func syscallNode(o *task.Thread) *files.VNode {
	return secret(func(t *task.Thread) string {
		if o != t && o.Call.Wait == nil {
			return "running\n"
		}
		text := fmt.Sprint(o.Call.Nr)
		for i := range 6 {
			text += fmt.Sprintf(" %#x", o.Call.Args.Uint(i))
		}
		return text + fmt.Sprintf(" %#x %#x\n", o.CPU.Regs[emu.RSP], uint64(o.CPU.RIP))
	})
}

// childrenText is /proc/PID/task/TID/children.
func childrenText(o *task.Thread) string {
	var b strings.Builder
	for _, c := range o.Children() {
		fmt.Fprintf(&b, "%d ", c.PID)
	}
	return b.String()
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
	b.WriteString(unlessDead(o, fmt.Sprintf("VmPeak:\t%8[1]d kB\nVmSize:\t%8[1]d kB\nVmLck:\t%8[3]d kB\nVmHWM:\t%8[2]d kB\nVmRSS:\t%8[2]d kB\nRssAnon:\t%8[2]d kB\nRssFile:\t       0 kB\nRssShmem:\t       0 kB\n"+
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

// absentNode is /proc/PID of a process that the guest can name although it is not there: init, or the shell that is the
// guest's parent.
func absentNode(id int) *files.VNode {
	name, up := "init", 0
	if id == task.ParentPID {
		name, up = "sh", task.InitPID
	}
	return files.DirNode(map[string]*files.VNode{
		"comm":    files.TextNode(name + "\n"),
		"cmdline": files.TextNode(name + "\x00"),
		"cgroup":  files.TextNode("0::/\n"),
		"stat":    files.TextNode(fmt.Sprintf("%d (%s) S %d %d %d 0 -1%s\n", id, name, up, id, id, strings.Repeat(" 0", 52-8))),
		"status": files.FileNode(func(t *task.Thread) []byte {
			uid, gid := uint32(0), uint32(0)
			if id == task.ParentPID {
				uid, gid = t.Kernel.UID, t.Kernel.GID
			}
			return fmt.Appendf(nil, "Name:\t%s\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t%d\nNgid:\t0\nPid:\t%[2]d\nPPid:\t%d\nTracerPid:\t0\n"+
				"Uid:\t%[4]d\t%[4]d\t%[4]d\t%[4]d\nGid:\t%[5]d\t%[5]d\t%[5]d\t%[5]d\nThreads:\t1\n", name, id, up, uid, gid)
		}),
	})
}
