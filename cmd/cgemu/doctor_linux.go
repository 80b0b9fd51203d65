package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/cachesim"
	"github.com/cgemu/cgemu/dwarfmap"
	"github.com/cgemu/cgemu/internal/sandbox"
)

// examineHost looks at the machine, its kernel and its limits.
func examineHost() []finding {
	return slices.Concat([]finding{examineKernel(), examineCPU()}, examineLimits(), []finding{examineProc()})
}

func examineKernel() finding {
	var u unix.Utsname
	name := "Linux"
	if unix.Uname(&u) == nil {
		name += " " + unix.ByteSliceToString(u.Release[:])
	}
	if pretty := osName(); pretty != "" {
		name += ", " + pretty
	}
	return well("host", "%s/%s, %s", runtime.GOOS, runtime.GOARCH, name)
}

// osName is what the distribution calls itself.
func osName() string {
	for _, file := range []string{"/etc/os-release", "/usr/lib/os-release"} {
		if v := field(file, "PRETTY_NAME", "="); v != "" {
			return strings.Trim(v, `"`)
		}
	}
	return ""
}

// field returns the value of the first line of a file that has this key, "" if there is none.
func field(file, key, sep string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if k, v, ok := strings.Cut(lines.Text(), sep); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// cpuFlags are what the engine jit needs of the CPU, by Linux's names.
var cpuFlags = []string{"avx2", "bmi2", "fma", "aes", "pclmulqdq"}

// avx512Flags are what jit needs besides to copy the instructions of AVX-512 for a guest that has them, instead of
// executing them in Go.
var avx512Flags = []string{"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "xsavec"}

// missingFlags returns which of names are not in has.
func missingFlags(has, names []string) (missing []string) {
	for _, f := range names {
		if !slices.Contains(has, f) {
			missing = append(missing, f)
		}
	}
	return missing
}

func examineCPU() finding {
	model := field("/proc/cpuinfo", "model name", ":")
	if runtime.GOARCH != "amd64" || model == "" {
		return well("CPU", "%s, %d of them", runtime.GOARCH, runtime.NumCPU())
	}
	model = field("/proc/cpuinfo", "vendor_id", ":") + ", " + model
	has := strings.Fields(field("/proc/cpuinfo", "flags", ":"))
	if missing := missingFlags(has, cpuFlags); missing != nil {
		return noteOf("CPU", model+"; without "+strings.Join(missing, ", "),
			"in a virtual machine, have it show the host's CPU (qemu: -cpu host); else another machine")
	}
	avx512 := "AVX-512 for --cpu=v4"
	if missingFlags(has, avx512Flags) != nil {
		avx512 = "without AVX-512, which --cpu=v4 executes in Go"
	}
	return well("CPU", "%s; has all that is needed: %s; %s", model, strings.Join(cpuFlags, ", "), avx512)
}

// fewFiles is the limit of open files from which on programs of many processes, or files, fail.
const fewFiles = 256

// examineLimits looks at the limits of resources that keep cgemu from running, or large programs.
func examineLimits() (list []finding) {
	if err := checkHost(); err != nil {
		list = append(list, problemOf("needs", err.Error(), "raise the limit in the shell that starts cgemu, mount what is missing: nothing is run before"))
	}
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &r) == nil && r.Cur != unix.RLIM_INFINITY {
		list = append(list, noteOf("address space", fmt.Sprintf("ulimit -v is %d KiB; cgemu reserves hundreds of GiB of it, which costs nothing", r.Cur>>10),
			"ulimit -v unlimited"))
	} else {
		list = append(list, well("address space", "no limit (ulimit -v)"))
	}
	n, _ := limits["ulimit -n"]()
	if n < fewFiles {
		list = append(list, noteOf("open files", fmt.Sprintf("ulimit -n is %d: little for programs of many processes", n), "ulimit -n 1024"))
	} else {
		list = append(list, well("open files", "ulimit -n is %d", n))
	}
	return list
}

// examineProc says whether /proc can be read. That it is missing is said of the limits.
func examineProc() finding {
	for _, file := range []string{"/proc/self/exe", "/proc/self/maps", "/proc/cpuinfo"} {
		f, err := os.Open(file)
		if err != nil {
			return noteOf("/proc", err.Error(), "--root, --overlay, --read-only, --sandbox and --verify need it")
		}
		f.Close()
	}
	return well("/proc", "can be read")
}

// examineMappings makes memory that can be written and executed, and one mapping for each where that is refused.
func examineMappings() finding {
	const what = "generated code"
	const prot = unix.PROT_READ | unix.PROT_WRITE | unix.PROT_EXEC
	if b, err := unix.Mmap(-1, 0, os.Getpagesize(), prot, unix.MAP_PRIVATE|unix.MAP_ANON); err == nil {
		unix.Munmap(b)
		return well(what, "memory may be both writable and executable")
	}
	return well(what, "memory may not be both writable and executable here: code is mapped twice")
}

func examineWalls() finding {
	w := sandbox.Available()
	if err := w.Missing(); err != nil {
		return noteOf("walls of --sandbox", w.String(), "Linux 5.13 or later with Landlock (lsm=landlock,...), a container that lets programs use it, "+
			"and a cgemu built without cgo; --read-only and --root work without, kept by cgemu alone")
	}
	return well("walls of --sandbox", "%s", w)
}

// examineDirectory says whether a profile could be written in the working directory.
func examineDirectory() finding {
	const what = "working directory"
	if err := checkDirectory(); err != nil {
		return problemOf(what, err.Error(), "cd")
	}
	if err := unix.Access(".", unix.W_OK|unix.X_OK); err != nil {
		return noteOf(what, fmt.Sprintf("profiles cannot be written here (%v)", err), "change to another one, or --cachegrind-out-file=/tmp/profile")
	}
	return well(what, "profiles can be written here")
}

func examinePerfMap() finding {
	const what = "--debug=perfmap"
	dir := filepath.Dir(perfMap("PID"))
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return noteOf(what, fmt.Sprintf("%s cannot be written to (%v)", dir, err), "perf looks for names of generated code there and nowhere else")
	}
	return well(what, "%s can be written to", perfMap("PID"))
}

// doctorProgram is a small program: its file, and what it has to count.
func doctorProgram() (file []byte, want map[string]uint64) {
	code := []byte{
		0xb9, 0xe8, 0x03, 0, 0, // mov $1000,%ecx
		0x48, 0x8b, 0x04, 0x24, // again: mov (%rsp),%rax
		0xff, 0xc9, // dec %ecx
		0x75, 0xf8, // jnz again
		0x31, 0xff, // xor %edi,%edi
		0xb8, 0x3c, 0, 0, 0, // mov $60,%eax
		0x0f, 0x05, // syscall: exit(0)
	}
	const base, header = 0x400000, 64 + 56
	le := binary.LittleEndian
	file = append(file, "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00"...)
	file = le.AppendUint16(file, 2)  // an executable
	file = le.AppendUint16(file, 62) // for x86-64
	file = le.AppendUint32(file, 1)
	file = le.AppendUint64(file, base+header) // its entry
	file = le.AppendUint64(file, 64)          // where the program headers are
	file = le.AppendUint64(file, 0)
	file = le.AppendUint32(file, 0)
	for _, n := range []uint16{64, 56, 1, 64, 0, 0} { // sizes and numbers of headers
		file = le.AppendUint16(file, n)
	}
	file = le.AppendUint32(file, 1) // a segment to be loaded,
	file = le.AppendUint32(file, 5) // read and executed
	for _, n := range []uint64{0, base, base, uint64(header + len(code)), uint64(header + len(code)), 4096} {
		file = le.AppendUint64(file, n)
	}
	return append(file, code...), map[string]uint64{"Ir": 1 + 3*1000 + 3, "Dr": 1000, "Dw": 0, "Bc": 1000, "Bi": 0}
}

// examineRuns looks at what programs need that are run, and runs some.
func examineRuns() []finding {
	if _, err := cgemu.FindEngine(cgemu.AutoEngine); err != nil {
		return nil
	}
	list := []finding{examineMappings(), examineWalls(), examineDirectory(), examinePerfMap(), examineCounting(), examineDynamic()}
	return append(list, examineLibc()...)
}

// examineCounting counts doctorProgram. It lies in memory: as the guest's standard input, which is the one file that
// needs no place.
func examineCounting() finding {
	const what = "counting"
	const cure = "this is an error of cgemu or of the machine: report it, with this output"
	program, want := doctorProgram()
	fd, err := unix.MemfdCreate("doctor", unix.MFD_CLOEXEC|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3, where all are executable
		fd, err = unix.MemfdCreate("doctor", unix.MFD_CLOEXEC)
	}
	if err != nil {
		return problemOf(what, fmt.Sprintf("no file in memory can be made: %v", err), "something filters system calls: a container's profile?")
	}
	f := os.NewFile(uintptr(fd), "doctor")
	defer f.Close()
	if _, err := f.Write(program); err != nil {
		return problemOf(what, err.Error(), "is there memory left?")
	}
	r, err := cgemu.Run(context.Background(), quietly(cgemu.Config{
		Path: "/dev/stdin", Args: []string{"doctor"}, Stdin: f, Caches: &cachesim.Default, Branches: true,
	}))
	if err != nil {
		return problemOf(what, plainError{err}.Error(), "see what is said above of limits, /proc and the working directory; /dev/null has to be there, too")
	}
	for event, n := range want {
		if got := r.Profile.Total(event); got != n {
			return problemOf(what, fmt.Sprintf("%s: %d expected, got %d", event, n, got), cure)
		}
	}
	if !r.Exit.Success() {
		return problemOf(what, "a program that exits with status 0 ended otherwise: "+r.Exit.String(), cure)
	}
	return well(what, "a program of cgemu's own counted as it has to, with caches and branches: %s", counts(r))
}

// first returns the first of these files that is there, "" if none is.
func first(files ...string) string {
	for _, f := range files {
		if info, err := os.Stat(f); err == nil && info.Mode().IsRegular() {
			return f
		}
	}
	return ""
}

// examineDynamic counts a program of the host's twice.
func examineDynamic() finding {
	const what = "programs of this host"
	path := first("/bin/true", "/usr/bin/true")
	if path == "" {
		return noteOf(what, "there is no /bin/true to be tried", "static programs need nothing else")
	}
	var totals [2]uint64
	for i := range totals {
		r, err := cgemu.Run(context.Background(), quietly(cgemu.Config{Path: path, Args: []string{path}, Env: defaultEnv, ReadOnly: true}))
		if err != nil {
			return problemOf(what, plainError{err}.Error(), "is it a program for x86-64 Linux?")
		}
		if !r.Exit.Success() {
			return problemOf(what, path+" failed: "+r.Exit.String(), "report it, with cgemu --strace "+path)
		}
		totals[i] = r.Profile.Total("Ir")
	}
	if totals[0] != totals[1] {
		return problemOf(what, fmt.Sprintf("%s: %d instructions, then %d", path, totals[0], totals[1]), "was it replaced meanwhile? Else report it")
	}
	return well(what, "%s, twice the same: Ir %d", path, totals[0])
}

// examineLibc looks whether lines of the C library are known, and its source.
func examineLibc() []finding {
	const what = "lines of the C library"
	path := first("/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6", "/usr/lib64/libc.so.6", "/usr/lib/libc.so.6", "/lib/ld-musl-x86_64.so.1")
	if path == "" {
		return []finding{noteOf(what, "there is no C library for x86-64", "only static programs can be run; or --sysroot=DIR, --root=DIR")}
	}
	o, err := dwarfmap.Open(path, dwarfmap.Options{})
	if err != nil {
		return []finding{noteOf(what, err.Error(), "install the C library again")}
	}
	defer o.Close()
	var at dwarfmap.Loc
	o.Functions(func(offset uint64, symbol string) {
		if vaddr, ok := o.VAddr(offset); ok && symbol == "malloc" && at.Line == 0 {
			at = o.Lookup(vaddr)
		}
	})
	if at.Line == 0 {
		return []finding{noteOf(what, path+" has none: its functions are shown without lines, those of your programs with them",
			"apt install libc6-dbg (Debian, Ubuntu), dnf debuginfo-install glibc (Fedora); counts stay the same")}
	}
	known := well(what, "known: malloc is at %s:%d", at.File, at.Line)
	if _, err := os.Stat(at.File); err != nil {
		return []finding{known, noteOf("source of the C library", "not at "+at.File+": its lines are shown by number",
			"apt source glibc, and cgemu annotate --include=DIR; that of your programs is found where they were compiled")}
	}
	return []finding{known, well("source of the C library", "there")}
}
