package syscalls

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// readAll reads a whole file over the guest's calls.
func (g *guest) readAll(path string) string {
	g.t.Helper()
	fd := g.ok(nr("openat"), cwd, g.str(path), linux.O_RDONLY)
	buf := g.room(4096)
	var out strings.Builder
	for {
		n := g.ok(nr("read"), fd, buf, 4096)
		if n == 0 {
			g.ok(nr("close"), fd)
			g.used -= 4096
			return out.String()
		}
		out.Write(g.peek(buf, int(n)))
	}
}

// ReadDir returns the names in a directory.
func (g *guest) readDir(path string) (names []string, inodes []uint64) {
	fd := g.ok(nr("open"), g.str(path), linux.O_RDONLY|linux.O_DIRECTORY)
	buf := g.room(4096)
	for {
		n := g.ok(nr("getdents64"), fd, buf, 256)
		b := g.peek(buf, int(n))
		if n == 0 {
			g.ok(nr("close"), fd)
			return names, inodes
		}
		for ; len(b) > 0; b = b[linux.Uint16(b[16:]):] {
			name, _, _ := strings.Cut(string(b[19:linux.Uint16(b[16:])]), "\x00")
			names, inodes = append(names, name), append(inodes, linux.Uint64(b))
		}
	}
}

func TestProcFiles(t *testing.T) {
	g := newGuest(t, func(c *Config) { c.Args = []string{"prog", "two words"}; c.Env = []string{"A=1"}; c.CPUs = 3 })
	for _, tt := range []struct{ path, want string }{
		{"/proc/self/cmdline", "prog\x00two words\x00"},
		{"/proc/self/environ", "A=1\x00"},
		{"/proc/self/comm", "prog\n"},
		{"/proc/thread-self/comm", "prog\n"},
		{"/proc/1000/task/1000/comm", "prog\n"},
		{"//proc/./self/../self/comm", "prog\n"},
		{"/etc/hosts", "127.0.0.1 localhost\n127.0.1.1 cgemu\n"},
		{"/etc/../etc/hostname", "cgemu\n"},
		{"/etc/resolv.conf", "# nobody to ask\n"},
		{"/proc/sys/kernel/osrelease", task.UnameRelease + "\n"},
		{"/proc/sys/kernel/hostname", "cgemu\n"},
		{"/sys/devices/system/cpu/online", "0-2\n"},
		{"/proc/uptime", "100.00 100.00\n"},
		{"/proc/interrupts", "           CPU0       CPU1       CPU2       \nLOC:          0          0          0   Local timer interrupts\n"},
		{"/proc/self/uid_map", "         0          0 4294967295\n"},
		{"/proc/self/oom_adj", "0\n"},
	} {
		assert.Equal(t, tt.want, g.readAll(tt.path), tt.path)
	}
	assert.Contains(t, g.readAll("/proc/self/maps"), "[stack]\n")
	assert.Contains(t, g.readAll("/proc/self/maps"), "00400000-00401000 r-xp 00000000 fe:00 ")
	assert.Len(t, strings.Fields(g.readAll("/proc/self/stat")), 52)
	assert.Contains(t, g.readAll("/proc/self/status"), "\nPid:\t1000\n")
	assert.Contains(t, g.readAll("/proc/self/status"), "\nCapEff:\t0000000000000000\n")
	assert.NotContains(t, g.readAll("/proc/self/status"), "%!")
	assert.Equal(t, 3, strings.Count(g.readAll("/proc/cpuinfo"), "processor\t:"))
	assert.Contains(t, g.readAll("/proc/self/smaps_rollup"), "00400000-")
	assert.Regexp(t, `(?m)^00400000 default file=.+ mapped=1 N0=1 kernelpagesize_kB=4$`, g.readAll("/proc/self/numa_maps"))
	assert.Regexp(t, `^0 0x3 0x[0-9a-f]+ 0x1000 `, g.readAll("/proc/self/syscall"))
	assert.Contains(t, g.readAll("/proc/softirqs"), "\n       TIMER:          0          0          0\n")
	assert.Contains(t, g.readAll("/proc/meminfo"), "MemTotal:        8388608 kB\n")
	g.fails(linux.ENOENT, nr("open"), g.str("/proc/nothing"), linux.O_RDONLY)
	g.fails(linux.ENOENT, nr("open"), g.str("/proc/2"), linux.O_RDONLY)
	g.fails(linux.ENOENT, nr("open"), g.str("/sys/nothing"), linux.O_RDONLY)
	g.fails(linux.ENOTDIR, nr("open"), g.str("/proc/self/comm/x"), linux.O_RDONLY)
	g.fails(linux.EACCES, nr("open"), g.str("/proc/cpuinfo"), linux.O_WRONLY)
	g.fails(linux.EEXIST, nr("mkdir"), g.str("/proc/self"), 0o777)
	g.fails(linux.EPERM, nr("unlink"), g.str("/proc/self/comm"))
	names, _ := g.readDir("/proc/self/fd")
	assert.Equal(t, []string{".", "..", "0", "1", "2", "3"}, names)
	buf := g.room(64)
	n := g.ok(nr("readlink"), g.str("/proc/self"), buf, 64)
	assert.Equal(t, "1000", string(g.peek(buf, int(n))))
	g.ok(nr("chdir"), g.str("/proc/self"))
	assert.Equal(t, "prog\n", g.readAll("comm"))
	assert.Equal(t, "prog\n", g.readAll("../1000/comm"))
}

// TestSettableProcFiles writes to files of a process' directory.
func TestSettableProcFiles(t *testing.T) {
	g := newGuest(t)
	for _, tt := range []struct {
		name, write string
		fails       linux.Errno
		then        string
	}{
		{"oom_score_adj", "500", 0, "500\n"},
		{"oom_adj", "15\n", 0, "15\n"},
		{"oom_score_adj", "1001", linux.EINVAL, "1000\n"},
		{"oom_adj", "-17", linux.EACCES, "15\n"},
		{"oom_adj", "-18", linux.EINVAL, "15\n"},
		{"coredump_filter", "0x1ff07", 0, "00000107\n"},
		{"coredump_filter", "all", linux.EINVAL, "00000107\n"},
		{"timerslack_ns", "70000", 0, "70000\n"},
		{"timerslack_ns", "0", 0, "50000\n"},
		{"uid_map", "0 0 1", linux.EPERM, "         0          0 4294967295\n"},
		{"setgroups", "deny", linux.EPERM, "allow\n"},
	} {
		fd := g.ok(nr("open"), g.str("/proc/self/"+tt.name), linux.O_WRONLY|linux.O_TRUNC)
		if tt.fails == 0 {
			g.ok(nr("write"), fd, g.str(tt.write), uint64(len(tt.write)))
		} else {
			g.fails(tt.fails, nr("write"), fd, g.str(tt.write), uint64(len(tt.write)))
		}
		assert.Equal(t, tt.then, g.readAll("/proc/self/"+tt.name), "%s after %q", tt.name, tt.write)
	}
	fd := g.ok(nr("open"), g.str("/proc/self/clear_refs"), linux.O_WRONLY)
	g.ok(nr("write"), fd, g.str("1"), 1)
	g.fails(linux.EINVAL, nr("write"), fd, g.str("6"), 1)
	g.fails(linux.EACCES, nr("open"), g.str("/proc/self/clear_refs"), linux.O_RDONLY)
	g.fails(linux.EACCES, nr("open"), g.str("/proc/self/pagemap"), linux.O_RDWR)
}

// TestLinksIntoProc checks that links of the host lead to our /proc, not to the host's.
func TestLinksIntoProc(t *testing.T) {
	g := newGuest(t)
	for name, target := range map[string]string{"comm": "/proc/self/comm", "random": "/dev/urandom", "proc": "/proc"} {
		require.NoError(t, os.Symlink(target, filepath.Join(g.dir, name)))
	}
	assert.Equal(t, "prog\n", g.readAll("comm"))
	assert.Equal(t, "prog\n", g.readAll("proc/self/comm"))
	st := g.room(144)
	g.ok(nr("stat"), g.str("comm"), st)
	assert.EqualValues(t, linux.S_IFREG|0o644, g.peek32(st+24))
	fd := g.ok(nr("open"), g.str("random"), linux.O_RDONLY)
	_, ours := files.Of(g.th).FDs.Entries[fd].File.(*files.RandomDevice)
	assert.True(t, ours)
}

// TestDirectoryOrder checks that entries are sorted, and inodes numbered as they are seen.
func TestDirectoryOrder(t *testing.T) {
	g := newGuest(t)
	for i := 40; i > 0; i-- {
		require.NoError(t, os.WriteFile(filepath.Join(g.dir, fmt.Sprintf("f%02d", i)), nil, 0o644))
	}
	names, inodes := g.readDir(".")
	require.Len(t, names, 42)
	for i := 3; i < len(names); i++ {
		assert.Less(t, names[i-1], names[i])
		assert.Equal(t, inodes[i-1]+1, inodes[i])
	}
	st := g.room(144)
	g.ok(nr("lstat"), g.str("f07"), st)
	assert.Equal(t, inodes[8], g.peek64(st+8))
	assert.EqualValues(t, files.VirtualDev, g.peek64(st))
	// The number of a removed file is not given to another.
	g.ok(nr("unlink"), g.str("f07"))
	g.ok(nr("close"), g.ok(nr("open"), g.str("new"), linux.O_CREAT|linux.O_WRONLY, 0o600))
	g.ok(nr("lstat"), g.str("new"), st)
	assert.Greater(t, g.peek64(st+8), inodes[41])
}

// TestSysroot checks what is taken from the sysroot.
func TestSysroot(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "etc/sub"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "etc/os-release"), []byte("inside"), 0o644))
	require.NoError(t, os.Symlink("/etc/os-release", filepath.Join(root, "etc/sub/abs")))
	require.NoError(t, os.Symlink("../../../../etc/os-release", filepath.Join(root, "etc/sub/rel")))
	g := newGuest(t, func(c *Config) { c.Files.Sysroot = root })
	for _, path := range []string{"/etc/os-release", "/etc/sub/abs", "/etc/sub/rel", "/etc/../etc/os-release", "/../etc/os-release"} {
		assert.Equal(t, "inside", g.readAll(path), path)
	}
	assert.Contains(t, g.readAll("/etc/passwd"), "root")
	g.ok(nr("close"), g.ok(nr("open"), g.str("/etc/sub/made"), linux.O_CREAT|linux.O_WRONLY, 0o600))
	assert.FileExists(t, filepath.Join(root, "etc/sub/made"))
	g.ok(nr("chdir"), g.str("/etc/sub"))
	buf := g.room(64)
	n := g.ok(nr("getcwd"), buf, 64)
	assert.Equal(t, "/etc/sub\x00", string(g.peek(buf, int(n))))
}

func TestClocks(t *testing.T) {
	g := newGuest(t)
	ts := g.room(16)
	g.ok(nr("clock_gettime"), linux.CLOCK_REALTIME, ts)
	assert.EqualValues(t, task.DefaultEpoch.Unix(), g.peek64(ts))
	g.eng.executed += 5_000_000
	g.ok(nr("clock_gettime"), linux.CLOCK_MONOTONIC, ts)
	assert.Equal(t, task.Timespec(task.BootTime+5_000_000+2*task.VdsoPrice), g.peek(ts, 16))
	g.ok(nr("nanosleep"), g.bytes(task.Timespec(7e9)), 0)
	g.ok(nr("clock_gettime"), linux.CLOCK_MONOTONIC, ts)
	assert.Equal(t, task.Timespec(task.BootTime+7_005_000_000+3*task.VdsoPrice+task.CallPrice), g.peek(ts, 16))
	g.ok(nr("clock_gettime"), linux.CLOCK_PROCESS_CPUTIME_ID, ts)
	assert.Equal(t, task.Timespec(5_000_000+4*task.VdsoPrice+task.CallPrice), g.peek(ts, 16), "sleeping takes no CPU time")
	assert.EqualValues(t, task.BootTime+7_005_000_000+4*task.VdsoPrice+task.CallPrice, g.k.TSC())
	g.fails(linux.EINVAL, nr("nanosleep"), g.bytes(task.Timespec(-1)), 0)
}

// TestMmapPlaces checks that mappings go where Valgrind would put them.
func TestMmapPlaces(t *testing.T) {
	g := newGuest(t)
	anon := func(n uint64) uint64 {
		return g.ok(nr("mmap"), 0, n, 3, linux.MAP_PRIVATE|linux.MAP_ANONYMOUS, 1<<64-1, 0)
	}
	assert.EqualValues(t, 0x4800000, anon(4096))
	assert.EqualValues(t, 0x4801000, anon(8192))
	assert.EqualValues(t, 0x4803000, anon(4096))
	g.ok(nr("munmap"), 0x4801000, 8192)
	assert.EqualValues(t, 0x4804000, anon(3*4096), "does not fit into the hole")
	assert.EqualValues(t, 0x4801000, anon(4096), "first fit")
	assert.EqualValues(t, 0x4000000, g.ok(nr("brk"), 0))
	assert.EqualValues(t, 0x4000123, g.ok(nr("brk"), 0x4000123))
	assert.EqualValues(t, "[heap]", g.p.Mem.VMA(0x4000000).Path)
	assert.EqualValues(t, 0x4800000, g.ok(nr("brk"), 0x4800000))
	assert.EqualValues(t, 0x4800000, g.ok(nr("brk"), 0x4800001), "8 MiB is all there is")
	assert.EqualValues(t, 0x4000000, g.ok(nr("brk"), 0x4000000))
	assert.Nil(t, g.p.Mem.VMA(0x4000000))
	assert.EqualValues(t, 0x4802000, anon(4096), "brk's place is kept free")
}

func TestClientRequests(t *testing.T) {
	const runningOnValgrind, stackRegister = 0x1001, 0x1501 // valgrind.h
	var seen []uint64
	g := newGuest(t, func(c *Config) {
		c.OnClientRequest = func(_ emu.Engine, code uint64, _ [5]uint64) (uint64, bool) {
			seen = append(seen, code)
			return 42, code == 0x43470000
		}
	})
	ask := func(code uint64) uint64 {
		g.th.CPU.Regs[emu.RAX] = g.bytes(linux.U64s(code, 1, 2, 3, 4, 5))
		g.th.CPU.Regs[emu.RDX] = 99
		g.th.ClientRequest()
		return g.th.CPU.Regs[emu.RDX]
	}
	assert.EqualValues(t, 1, ask(runningOnValgrind))
	assert.EqualValues(t, 42, ask(0x43470000))
	assert.EqualValues(t, 99, ask(0x43540000), "unknown: the program's default")
	assert.EqualValues(t, 1, ask(stackRegister))
	assert.EqualValues(t, 2, ask(stackRegister))
	assert.Len(t, seen, 5)
}

func TestStrace(t *testing.T) {
	var out strings.Builder
	g := newGuest(t, func(c *Config) { c.Strace = &out })
	fd := g.ok(nr("openat"), cwd, g.str("a\tb"), linux.O_CREAT|linux.O_RDWR|linux.O_CLOEXEC, 0o644)
	g.ok(nr("write"), fd, g.str("x\n\x01"+strings.Repeat("y", 40)), 43)
	g.fails(linux.ENOENT, nr("access"), g.str("none"), 4)
	g.ok(nr("mmap"), 0, 4096, 3, linux.MAP_PRIVATE|linux.MAP_ANONYMOUS, 1<<64-1, 0)
	g.ok(nr("rt_sigprocmask"), linux.SIG_BLOCK, g.bytes(linux.U64s(uint64(task.SigsOf(linux.SIGINT, linux.SIGUSR1)))), 0, 8)
	want := `openat(AT_FDCWD, "a\tb", O_RDWR|O_CREAT|O_CLOEXEC, 0644) = 3
write(3, "x\n\1yyyyyyyyyyyyyyyyyyyyyyyyyyyyy"..., 43) = 43
access("none", R_OK)                    = -1 ENOENT (No such file or directory)
mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x4800000
rt_sigprocmask(SIG_BLOCK, [INT USR1], NULL, 8) = 0
`
	assert.Equal(t, want, out.String())
}

// TestStraceTerminal names the requests of terminals.
func TestStraceTerminal(t *testing.T) {
	var out strings.Builder
	g := newGuest(t, func(c *Config) { c.Strace = &out })
	m := g.ok(nr("open"), g.str("/dev/ptmx"), linux.O_RDWR)
	out.Reset()
	for _, req := range []uint64{linux.TCFLSH, linux.TCXONC, linux.TIOCPKT, linux.TIOCGPKT} {
		g.call(nr("ioctl"), m, req, 0)
	}
	assert.Regexp(t, `^ioctl\(3, TCFLSH, .*\nioctl\(3, TCXONC, .*\nioctl\(3, TIOCPKT, .*\nioctl\(3, TIOCGPKT, .*\n$`, out.String())
}
