package syscalls

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// A script is what a thread of the guest does: it gets the result of its last
// call and returns the next.
type script func(last result) (nr uint64, args []uint64)

// play runs threads by script until all have exited.
func (g *guest) play(scripts map[int]script) task.Exit {
	g.eng.step = func(c *emu.CPU, budget uint64) emu.Stop {
		for _, th := range g.p.Threads {
			if th.CPU == c {
				n, args := scripts[th.TID](result(c.Regs[emu.RAX]))
				g.eng.executed += 10
				if n == spin {
					g.eng.executed += budget
					return emu.Stop{Reason: emu.StopBudget}
				}
				g.load(c, n, args...)
				return emu.Stop{Reason: emu.StopSyscall}
			}
		}
		panic("unknown thread")
	}
	return g.run()
}

// spin is a call that is none: the thread uses up its budget.
const spin = 1 << 40

const threadFlags = linux.CLONE_VM | linux.CLONE_FS | linux.CLONE_FILES | linux.CLONE_SIGHAND | linux.CLONE_THREAD

// TestFutexOrder checks that waiters are woken first come first served, and requeued in order.
func TestFutexOrder(t *testing.T) {
	g := newGuest(t)
	word, other := g.room(4), g.room(4)
	var order []int
	scripts := map[int]script{}
	const n = 5
	for i := 1; i <= n; i++ {
		step := 0
		tid := task.DefaultPID + i
		scripts[tid] = func(last result) (uint64, []uint64) {
			if step++; step == 1 {
				return nr("futex"), []uint64{word, linux.FUTEX_WAIT | linux.FUTEX_PRIVATE_FLAG, 0}
			}
			assert.Zero(t, last.err())
			order = append(order, tid)
			return nr("exit"), []uint64{0}
		}
	}
	step := 0
	scripts[task.DefaultPID] = func(last result) (uint64, []uint64) {
		step++
		switch {
		case step <= n:
			return nr("clone"), []uint64{threadFlags, uint64(g.heap) + 0x80000}
		case step == n+1:
			return nr("sched_yield"), nil
		case step == n+2:
			return nr("futex"), []uint64{word, linux.FUTEX_WAKE | linux.FUTEX_PRIVATE_FLAG, 2}
		case step == n+3:
			assert.EqualValues(t, 2, last)
			return nr("futex"), []uint64{word, linux.FUTEX_CMP_REQUEUE | linux.FUTEX_PRIVATE_FLAG, 1, 10, other, 0}
		case step == n+4:
			assert.EqualValues(t, 3, last)
			return nr("futex"), []uint64{word, linux.FUTEX_WAKE | linux.FUTEX_PRIVATE_FLAG, 100}
		case step == n+5:
			assert.EqualValues(t, 0, last)
			return nr("futex"), []uint64{other, linux.FUTEX_WAKE | linux.FUTEX_PRIVATE_FLAG, 100}
		case step == n+6:
			assert.EqualValues(t, 2, last)
		}
		return nr("exit"), []uint64{7}
	}
	e := g.play(scripts)
	assert.Equal(t, []int{1001, 1002, 1003, 1004, 1005}, order)
	assert.Zero(t, e.Code, "the last thread's status counts")
	assert.False(t, e.Deadlock)
	assert.Empty(t, g.k.Futexes)
}

// TestTimeouts checks that sleeping passes no time but the clock's, and wakes in order of deadlines.
func TestTimeouts(t *testing.T) {
	g := newGuest(t)
	ts := func(ns int64) uint64 { return g.bytes(task.Timespec(ns)) }
	var order []int
	scripts := map[int]script{}
	for i, d := range []int64{3e9, 1e9, 2e9} {
		step, at, tid := 0, ts(d), task.DefaultPID+1+i
		scripts[tid] = func(result) (uint64, []uint64) {
			if step++; step == 1 {
				return nr("nanosleep"), []uint64{at, 0}
			}
			order = append(order, tid)
			return nr("exit"), nil
		}
	}
	step, word, long := 0, g.room(4), ts(100e9)
	scripts[task.DefaultPID] = func(last result) (uint64, []uint64) {
		switch step++; step {
		case 1, 2, 3:
			return nr("clone"), []uint64{threadFlags, uint64(g.heap) + 0x80000}
		case 4:
			return nr("futex"), []uint64{word, linux.FUTEX_WAIT | linux.FUTEX_PRIVATE_FLAG, 0, long}
		}
		assert.Equal(t, linux.ETIMEDOUT, last.err())
		return nr("exit_group"), []uint64{3}
	}
	start := g.k.Now()
	e := g.play(scripts)
	assert.Equal(t, []int{1002, 1003, 1001}, order)
	assert.Equal(t, 3, e.Code)
	assert.InDelta(t, 100e9, g.k.Now()-start, 1e6)
}

// TestQuantum checks that a thread that never blocks does not keep others from running.
func TestQuantum(t *testing.T) {
	g := newGuest(t)
	done, turns := false, 0
	step := 0
	e := g.play(map[int]script{
		task.DefaultPID: func(result) (uint64, []uint64) {
			if step++; step == 1 {
				return nr("clone"), []uint64{threadFlags, uint64(g.heap) + 0x80000}
			}
			if turns++; turns > 100 {
				t.Error("the other thread does not run")
				return nr("exit_group"), nil
			}
			if done {
				return nr("exit_group"), []uint64{5}
			}
			return spin, nil
		},
		task.DefaultPID + 1: func(result) (uint64, []uint64) {
			done = true
			return spin, nil
		},
	})
	assert.Equal(t, 5, e.Code)
	assert.Less(t, turns, 5)
}

// TestBudget checks that a lone thread runs without a budget, and with one up to the next timer.
func TestBudget(t *testing.T) {
	g := newGuest(t)
	assert.EqualValues(t, uint64(emu.NoBudget), g.budget())
	g.ok(nr("alarm"), 1)
	assert.LessOrEqual(t, g.budget(), uint64(task.DefaultQuantum))
	assert.GreaterOrEqual(t, g.budget(), uint64(task.DefaultQuantum*3/4))
	var it linux.Pack
	it.Zero(24)
	it.U64(50) // 50 µs
	g.ok(nr("setitimer"), 0, g.bytes(it), 0)
	assert.EqualValues(t, 50_000, g.budget())
	g.ok(nr("alarm"), 0)
	assert.EqualValues(t, uint64(emu.NoBudget), g.budget())
}

// budget is what the engine is given to run.
func (g *guest) budget() (got uint64) {
	g.eng.step = func(_ *emu.CPU, budget uint64) emu.Stop {
		got = budget
		g.k.Canceled.Store(true)
		return emu.Stop{Reason: emu.StopInterrupt}
	}
	g.run()
	return got
}

func TestExecve(t *testing.T) {
	g := newGuest(t)
	require.NoError(t, writeFile(g.dir+"/x", tinyELF(), 0o755))
	require.NoError(t, writeFile(g.dir+"/text", []byte("hello"), 0o755))
	argv := g.bytes(append(append(linux.Pack{}, linux.U64s(g.str("a"), g.str("b"), 0)...), 0))
	g.fails(linux.ENOENT, nr("execve"), g.str("nothing"), argv, 0)
	g.fails(linux.ENOEXEC, nr("execve"), g.str("text"), argv, 0)
	g.fails(linux.EFAULT, nr("execve"), 8, argv, 0)
	g.fails(linux.EACCES, nr("execve"), g.str("."), argv, 0)
	g.ok(nr("dup2"), 0, 20)
	g.ok(nr("fcntl"), 20, linux.F_SETFD, linux.FD_CLOEXEC)
	g.call(nr("execve"), g.str("x"), argv, 0)
	assert.Equal(t, []string{"a", "b"}, g.p.Argv)
	assert.EqualValues(t, 0x400078, g.th.CPU.RIP)
	assert.Nil(t, g.p.Mem.VMA(g.heap))
	_, e := files.Of(g.th).FDs.File(20)
	assert.Equal(t, linux.EBADF, e)
	assert.Equal(t, "x", g.th.Comm)
}

// TestReadyForNothing makes a call that waits for what seems to be there: time passes all the same.
func TestReadyForNothing(t *testing.T) {
	g := newGuest(t)
	g.k.Table = slices.Clone(g.k.Table)
	g.k.Table[nr("pause")].Handler = func(t *task.Thread, _ uio.Args) (uint64, linux.Errno) {
		var again func() (uint64, linux.Errno)
		again = func() (uint64, linux.Errno) { return t.Block(task.Wait{Ready: func() bool { return true }}, again) }
		return again()
	}
	g.ok(nr("alarm"), 1)
	g.eng.step = func(c *emu.CPU, _ uint64) emu.Stop {
		g.load(c, nr("pause"))
		return emu.Stop{Reason: emu.StopSyscall}
	}
	assert.Equal(t, linux.SIGALRM, g.run().Signal)
}

// TestSpliceWithoutWaiting checks that the end that would block decides whether to wait.
func TestSpliceWithoutWaiting(t *testing.T) {
	g := newGuest(t)
	fds, more := g.room(8), g.room(8)
	g.ok(nr("pipe2"), fds, linux.O_NONBLOCK)
	g.ok(nr("pipe"), more)
	r, w := uint64(g.peek32(fds)), uint64(g.peek32(more+4))
	g.fails(linux.EAGAIN, nr("splice"), r, 0, w, 0, 100, 0)
	g.fails(linux.EINVAL, nr("splice"), r, 0, g.ok(nr("eventfd"), 5), 0, 8, 0)
}

// TestMembarrier checks that what a process has registered for can be asked. (Linux before 6.3 cannot, so no program is
// compared.)
func TestMembarrier(t *testing.T) {
	g := newGuest(t)
	barrier := func(cmd uint64) uint64 { return g.ok(nr("membarrier"), cmd, 0, 0) }
	require.Zero(t, barrier(linux.MEMBARRIER_CMD_GET_REGISTRATIONS))
	require.Zero(t, barrier(linux.MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED))
	require.Zero(t, barrier(linux.MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED))
	require.EqualValues(t, 16|4, barrier(linux.MEMBARRIER_CMD_GET_REGISTRATIONS))
	require.NotZero(t, barrier(linux.MEMBARRIER_CMD_QUERY)&linux.MEMBARRIER_CMD_GET_REGISTRATIONS)
	g.fails(linux.EINVAL, nr("membarrier"), 256, 0, 0)
}
