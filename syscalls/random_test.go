package syscalls

import (
	"flag"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// A caller makes random system calls: of everything, with arguments that are
// often nearly right.
type caller struct {
	g      *guest
	rng    *rand.Rand
	values []uint64
	names  []uint64 // of files in the test's directory
}

func newCaller(t *testing.T, seed uint64) *caller {
	c := &caller{g: newGuest(t), rng: rand.New(rand.NewPCG(seed, 1))}
	g := c.g
	c.values = []uint64{
		0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 16, 24, 64, 100, 144, 4095, 4096, 8192, 65536, 1 << 20, 1 << 31, 1<<32 - 1, 1 << 32, 1 << 46,
		1 << 47, 1<<63 - 1, 1 << 63, 1<<64 - 1, 1<<64 - 100, 1<<64 - 4096, g.str("f"), g.str("d"), g.str("d/x"), g.str("nothing"), g.str("."),
		g.str("/proc/self/maps"), g.str("/proc/self/fd/1"), g.str("/dev/urandom"), g.str("/sys"), g.str(""), uint64(g.heap) + 1<<20 - 8,
		uint64(g.heap) + 1<<20 - 4096, 0x400000, 0x30000000, 0x4000000, 0x4800000, linux.O_CREAT | linux.O_RDWR, linux.MAP_ANONYMOUS | linux.MAP_PRIVATE, linux.MAP_SHARED,
		threadFlags, task.DefaultPID, task.DefaultPID + 1, 0o644, linux.SIGUSR1, linux.SIGALRM,
	}
	c.names = []uint64{g.str("f"), g.str("d"), g.str("d/x"), g.str("nothing"), g.str("d/y"), g.str("")}
	for range 12 {
		b := make([]byte, 256)
		for i := 0; i < len(b); i += 8 {
			linux.PutUint64(b[i:], c.value())
		}
		c.values = append(c.values, g.bytes(b))
	}
	return c
}

func (c *caller) value() uint64 {
	switch c.rng.IntN(8) {
	case 0:
		return c.rng.Uint64() >> c.rng.IntN(64)
	case 1:
		return uint64(c.rng.IntN(12))
	}
	return c.values[c.rng.IntN(len(c.values))]
}

// skipped are calls that would make the test itself wait or end, or change files that are not its
// own: a random path is "/" often enough, and stdin is the host's /dev/null.
var skipped = map[string]bool{
	"exit_group": true, "exit": true, "mknod": true, "mknodat": true, "pause": true, "execve": true, "execveat": true,
	"chdir": true, "fchdir": true, "chmod": true, "fchmod": true, "fchmodat": true, "fchmodat2": true,
	"utime": true, "utimes": true, "utimensat": true, "futimesat": true,
	"fchown": true, "fsetxattr": true, "fremovexattr": true,
}

// ownPaths has the calls that change files by their names, with the arguments that are names and,
// for the at family, the descriptors of the directories these are in. The test gives them
// names in its own directory: it may run as root, on a machine somebody needs.
var ownPaths = map[string]struct{ names, dirs []int }{
	"open": {names: []int{0}}, "creat": {names: []int{0}}, "truncate": {names: []int{0}},
	"rename": {names: []int{0, 1}}, "link": {names: []int{0, 1}}, "symlink": {names: []int{0, 1}},
	"unlink": {names: []int{0}}, "mkdir": {names: []int{0}}, "rmdir": {names: []int{0}},
	"chown": {names: []int{0}}, "lchown": {names: []int{0}},
	"setxattr": {names: []int{0}}, "lsetxattr": {names: []int{0}}, "removexattr": {names: []int{0}}, "lremovexattr": {names: []int{0}},
	"mount": {names: []int{0, 1}}, "umount2": {names: []int{0}}, "chroot": {names: []int{0}}, "pivot_root": {names: []int{0, 1}},
	"openat": {[]int{1}, []int{0}}, "openat2": {[]int{1}, []int{0}}, "mkdirat": {[]int{1}, []int{0}},
	"unlinkat": {[]int{1}, []int{0}}, "fchownat": {[]int{1}, []int{0}}, "symlinkat": {[]int{0, 2}, []int{1}},
	"renameat": {[]int{1, 3}, []int{0, 2}}, "renameat2": {[]int{1, 3}, []int{0, 2}}, "linkat": {[]int{1, 3}, []int{0, 2}},
}

// keepOwn makes the arguments of call n name files of the test.
func (c *caller) keepOwn(n uint64, args []uint64) {
	own := ownPaths[table[n].Name]
	for _, i := range own.names {
		args[i] = c.names[c.rng.IntN(len(c.names))]
	}
	for _, i := range own.dirs {
		args[i] = uint64(0xffffffffffffff9c) // AT_FDCWD
	}
}

// step makes one call from the thread c belongs to.
func (c *caller) step(cpu *emu.CPU) {
	var n uint64
	for {
		n = uint64(c.rng.IntN(len(table)))
		if table[n].Handler != nil && !skipped[table[n].Name] {
			break
		}
	}
	args := make([]uint64, 6)
	for i := range args {
		args[i] = c.value()
	}
	c.keepOwn(n, args)
	c.g.load(cpu, n, args...)
	// Signal handlers and threads have somewhere to be.
	cpu.Regs[emu.RSP] = uint64(c.g.heap) + 0x80000
}

// run makes n calls, on as many threads as there come to be.
func (c *caller) run(n int) task.Exit {
	g := c.g
	made := 0
	g.eng.step = func(cpu *emu.CPU, budget uint64) emu.Stop {
		g.eng.executed += 100
		if r := result(cpu.Regs[emu.RAX]); r.err() > 133 && r.err() < 4096 && made > 0 {
			g.t.Errorf("%s gives errno %d", g.k.CallName(g.k.Current.Call.Nr), r.err())
		}
		if made++; made > n {
			g.k.Canceled.Store(true)
			return emu.Stop{Reason: emu.StopInterrupt}
		}
		c.step(cpu)
		return emu.Stop{Reason: emu.StopSyscall}
	}
	return g.run()
}

var seeds = flag.Int("seeds", 60, "how many programs of random calls to run")

// TestOwnPathsAreCalls checks that ownPaths has no name that is no call.
func TestOwnPathsAreCalls(t *testing.T) {
	names := map[string]bool{}
	for _, e := range table {
		names[e.Name] = true
	}
	for name := range ownPaths {
		require.True(t, names[name], name)
	}
}

// TestRandomCalls makes many senseless calls: none may panic, or give an errno no Linux has.
func TestRandomCalls(t *testing.T) {
	for seed := range uint64(*seeds) {
		t.Run(strconv.Itoa(int(seed)), func(t *testing.T) { newCaller(t, seed).run(300) })
	}
}

// TestRandomTwice checks that two runs of one seed are the same.
func TestRandomTwice(t *testing.T) {
	for seed := range uint64(10) {
		var trace [2][]uint64
		for i := range trace {
			t.Run(strconv.Itoa(int(seed)), func(t *testing.T) {
				c := newCaller(t, seed)
				c.run(200)
				for _, th := range c.g.p.Threads {
					trace[i] = append(trace[i], th.CPU.Regs[:]...)
				}
				trace[i] = append(trace[i], uint64(c.g.k.Now()), uint64(len(c.g.p.Mem.VMAs())))
			})
		}
		require.Equal(t, trace[0], trace[1], "seed %d", seed)
	}
}

func TestRandomBytes(t *testing.T) {
	read := func(seed uint64) []byte {
		g := newGuest(t, func(c *Config) { c.Seed = seed })
		buf := g.room(64)
		require.EqualValues(t, 16, g.ok(nr("getrandom"), buf, 16, 0))
		fd := g.ok(nr("open"), g.str("/dev/urandom"), linux.O_RDONLY)
		require.EqualValues(t, 16, g.ok(nr("read"), fd, buf+16, 16))
		return g.peek(buf, 32)
	}
	assert.Equal(t, read(0), read(0))
	assert.NotEqual(t, read(0), read(1))
	b := read(0)
	assert.NotEqual(t, b[:16], b[16:])
}
