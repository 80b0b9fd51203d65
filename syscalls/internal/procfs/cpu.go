package procfs

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// cpuFlags names CPUID bits as /proc/cpuinfo does: leaf 1 EDX and ECX, 0x80000001 EDX and ECX, 7 EBX and ECX.
var cpuFlags = []struct {
	leaf, reg uint32
	names     string // by bit, "-" for none
}{
	{1, 3, "fpu vme de pse tsc msr pae mce cx8 apic - sep mtrr pge mca cmov pat pse36 pn clflush - dts acpi mmx fxsr sse sse2 ss ht tm ia64 pbe"},
	{0x80000001, 3, "- - - - - - - - - - - syscall - - - - - - - mp nx - mmxext - - fxsr_opt pdpe1gb rdtscp - lm 3dnowext 3dnow"},
	{1, 2, "pni pclmulqdq dtes64 monitor ds_cpl vmx smx est tm2 ssse3 cid sdbg fma cx16 xtpr pdcm - pcid dca sse4_1 sse4_2 x2apic movbe popcnt tsc_deadline_timer aes xsave - avx f16c rdrand hypervisor"},
	{0x80000001, 2, "lahf_lm cmp_legacy svm extapic cr8_legacy abm sse4a misalignsse 3dnowprefetch osvw ibs xop skinit wdt - lwp fma4"},
	{7, 1, "fsgsbase tsc_adjust sgx bmi1 hle avx2 - smep bmi2 erms invpcid rtm cqm - mpx rdt_a avx512f avx512dq rdseed adx smap avx512ifma - clflushopt clwb intel_pt avx512pf avx512er avx512cd sha_ni avx512bw avx512vl"},
	{7, 2, "- avx512vbmi umip pku ospke waitpkg avx512_vbmi2 - gfni vaes vpclmulqdq avx512_vnni avx512_bitalg tme avx512_vpopcntdq - la57 - - - - - rdpid"},
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

// lastLevelCache is the size in bytes of the last cache that leaf 4 of CPUID lists.
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

// cpuMap is the set of CPUs lo to hi as a mask in hexadecimal digits.
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

// cpuNode is /sys/devices/system/cpu/cpuN: a core of the one package, with the caches that CPUID lists.
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

// interrupts is /proc/interrupts (Documentation/filesystems/proc.rst): there were none.
func interrupts(t *task.Thread) []byte {
	b := perCPU(fmt.Appendf(nil, "%11s", ""), t, "CPU%-8[1]d")
	b = perCPU(append(b, "\nLOC: "...), t, "%10[2]d ")
	return append(b, "  Local timer interrupts\n"...)
}

// softirqs is /proc/softirqs.
func softirqs(t *task.Thread) []byte {
	b := perCPU(fmt.Appendf(nil, "%20s", ""), t, "CPU%-8[1]d")
	for _, name := range []string{"HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"} {
		b = perCPU(fmt.Appendf(b, "\n%12s:", name), t, " %10[2]d")
	}
	return append(b, '\n')
}

// perCPU appends to b a column for each CPU: its number, or 0.
func perCPU(b []byte, t *task.Thread, format string) []byte {
	for i := range t.Kernel.Config.CPUs {
		b = fmt.Appendf(b, format, i, 0)
	}
	return b
}
