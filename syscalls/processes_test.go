package syscalls

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

func TestForkNumbers(t *testing.T) {
	g := newGuest(t)
	assert.EqualValues(t, 1001, g.ok(nr("fork")))
	assert.EqualValues(t, 1002, g.ok(nr("clone"), threadFlags, uint64(g.heap)+0x80000), "threads and processes share numbers")
	assert.EqualValues(t, 1003, g.ok(nr("fork")))
	assert.EqualValues(t, 999, g.ok(nr("getppid")))
	assert.EqualValues(t, 1000, g.ok(nr("getpgid"), 1003))
	assert.EqualValues(t, 1000, g.ok(nr("getsid"), 1001))
	g.fails(linux.ESRCH, nr("getpgid"), 1004)
	g.fails(linux.EPERM, nr("kill"), 1, 0)
	assert.Zero(t, g.ok(nr("kill"), 1002, 0), "a thread")
	st := g.room(8)
	assert.Zero(t, g.ok(nr("wait4"), 1<<64-1, st, linux.WNOHANG, 0))
	g.ok(nr("kill"), 1003, linux.SIGKILL)
	assert.EqualValues(t, 1003, g.ok(nr("wait4"), 1<<64-1, st, 0, 0))
	assert.EqualValues(t, linux.SIGKILL, g.peek32(st))
	g.fails(linux.ECHILD, nr("wait4"), 1003, st, 0, 0)
	assert.Len(t, g.k.Processes, 2)
}

// TestForkShares checks what a child has of its parent.
func TestForkShares(t *testing.T) {
	g := newGuest(t)
	fd := g.ok(nr("open"), g.str("f"), linux.O_CREAT|linux.O_RDWR, 0o600)
	word := g.bytes(linux.U64s(42))
	g.ok(nr("fork"))
	child := g.k.Process(1001)
	require.NotNil(t, child)
	x, ok := child.Mem.ReadUint64(emu.Addr(word))
	require.True(t, ok)
	assert.EqualValues(t, 42, x)
	g.p.Mem.WriteUint64(emu.Addr(word), 43)
	x, _ = child.Mem.ReadUint64(emu.Addr(word))
	assert.EqualValues(t, 42, x)
	f, _ := files.Of(g.th).FDs.File(int(fd))
	assert.Equal(t, 2, f.Base().Refs)
	g.ok(nr("kill"), 1001, linux.SIGKILL)
	g.ok(nr("wait4"), 1001, 0, 0, 0)
	assert.Equal(t, 1, f.Base().Refs)
}

// TestCompareWhatIsNotThere checks that two processes which have neither of what kcmp(2) compares have the same. On a
// host a scheduler of its disks may have given them some of their own.
func TestCompareWhatIsNotThere(t *testing.T) {
	g := newGuest(t)
	child := g.ok(nr("fork"))
	for _, what := range []uint64{linux.KCMP_IO, linux.KCMP_SYSVSEM} {
		require.Zero(t, g.ok(nr("kcmp"), 1000, child, what))
	}
	require.EqualValues(t, 1, g.ok(nr("kcmp"), 1000, child, linux.KCMP_VM))
}

func TestForkRefused(t *testing.T) {
	g := newGuest(t)
	g.fails(linux.EINVAL, nr("clone"), linux.CLONE_SIGHAND|linux.SIGCHLD)
	g.fails(linux.EPERM, nr("clone"), 0x20000000|linux.SIGCHLD) // CLONE_NEWPID
	assert.Len(t, g.k.Processes, 1)
}

// TestForkNoRoom checks that a fork that fails leaves nothing.
func TestForkNoRoom(t *testing.T) {
	g := newGuest(t, func(c *Config) {
		c.ForkEngine = func(int, emu.Engine, *mem.Space, emu.Env) (emu.Engine, error) { return nil, errors.New("full") }
	})
	fd := g.ok(nr("open"), g.str("f"), linux.O_CREAT|linux.O_RDWR, 0o600)
	g.fails(linux.EAGAIN, nr("fork"))
	assert.Len(t, g.k.Processes, 1)
	f, _ := files.Of(g.th).FDs.File(int(fd))
	assert.Equal(t, 1, f.Base().Refs)
	g.fails(linux.ECHILD, nr("wait4"), 1<<64-1, 0, 0, 0)
}

// TestOnEnd checks that each process with a machine of its own is reported once.
func TestOnEnd(t *testing.T) {
	var ends []task.End
	g := newGuest(t)
	g.ok(nr("fork")) // which ends a run: only now anybody wants to know
	g.k.Config.OnEnd = func(e task.End) { ends = append(ends, e) }
	g.k.Process(1001).End(task.Exit{Code: 7})
	g.k.CloseUnused()
	require.Len(t, ends, 1)
	assert.Equal(t, 1001, ends[0].PID)
	assert.Equal(t, 7, ends[0].Exit.Code)
	g.k.CloseUnused()
	assert.Len(t, ends, 1)
}
