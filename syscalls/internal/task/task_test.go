package task

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// newProcessFor returns the first process of a kernel without programs and engines, and what it logs.
func newProcessFor(t *testing.T) (*Process, *strings.Builder) {
	var log strings.Builder
	k := NewKernel(Config{ChecksAccesses: true, Log: &log}, nil)
	th, err := k.FirstThread(nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, th.Process.Mem.Close()) })
	return th.Process, &log
}

// TestPanicShown has what runs on a thread of its own panic, in another process: that is what ends it, and not what
// waits for a result.
func TestPanicShown(t *testing.T) {
	if os.Getenv("CGEMU_PANICS") != "" {
		onOwnThread(func() { panic("on purpose") })
		panic("it went on")
	}
	for range 20 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestPanicShown$")
		cmd.Env = append(os.Environ(), "CGEMU_PANICS=1")
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), "on purpose")
		require.NotContains(t, string(out), "it went on")
	}
}

// TestUnsupportedNumbers makes more calls that do not exist than are counted and named, each twice.
func TestUnsupportedNumbers(t *testing.T) {
	p, log := newProcessFor(t)
	k := p.Kernel
	for i := range uint64(4 * maxUnsupported) {
		k.reportMissing(10_000 + i/2)
		k.noteUnsupported(10_000+i/2, Missing, linux.ENOSYS)
	}
	assert.Len(t, k.refusals, maxUnsupported)
	assert.Len(t, k.UnsupportedCalls(), maxUnsupported)
	assert.Equal(t, maxReported, strings.Count(log.String(), "is not supported"))
	assert.Equal(t, 1, strings.Count(log.String(), "further ones are not named"))
}

// TestUnsupportedInstructions meets one again and again, then many.
func TestUnsupportedInstructions(t *testing.T) {
	p, log := newProcessFor(t)
	for range 1000 {
		p.Kernel.reportRefused("SHA256RNDS2", 0x1000)
		p.Kernel.reportFailure("jit: no memory", 0x3000)
	}
	assert.Equal(t, 1, strings.Count(log.String(), "SHA256RNDS2 at 0x1000 is not supported; the program gets SIGILL"))
	assert.Equal(t, 1, strings.Count(log.String(), "cgemu: jit: no memory; the program gets SIGILL at 0x3000\n"))
	for i := range emu.Addr(1000) {
		p.Kernel.reportRefused("SHA256RNDS2", 0x2000+i)
	}
	assert.Equal(t, maxReported, strings.Count(log.String(), "SIGILL"))
	assert.Equal(t, 1, strings.Count(log.String(), "further ones are not named"))
}

// TestIDs checks that ids go round below pid_max, past those that are in use.
func TestIDs(t *testing.T) {
	p, _ := newProcessFor(t)
	k := p.Kernel
	o := p.NewThread(emu.NewCPU())
	o.TID = reservedID
	k.Threads[reservedID] = o
	k.LastID = maxID - 2
	assert.Equal(t, maxID-1, k.newID())
	assert.Equal(t, reservedID+1, k.newID())
	k.LastID = ParentPID - 1
	assert.Equal(t, DefaultPID+2, k.newID(), "999 to 1001 are in use")
}

// TestFileLimit checks that a program's limit of open files is the same on every host, and that it gets no more than
// the host has for it.
func TestFileLimit(t *testing.T) {
	p, _ := newProcessFor(t)
	assert.Equal(t, rlimit{1024, MaxFiles}, p.Limits[linux.RLIMIT_NOFILE])
	assert.LessOrEqual(t, p.Kernel.HostFiles, max(host.FileLimit()-reservedFiles, host.FileLimit()/2+1))
	assert.Equal(t, p.Limits, p.copy(CloneArgs{}).Limits)
}

// TestBehindCall checks that return addresses are told from others by what lies in front of them.
func TestBehindCall(t *testing.T) {
	p, _ := newProcessFor(t)
	const at, data = 0x30000000, 0x20000000
	require.NoError(t, p.Mem.Map(mem.VMA{Lo: at, Hi: at + 4096, Prot: mem.Read | mem.Exec}, nil))
	require.NoError(t, p.Mem.Map(mem.VMA{Lo: data, Hi: data + 4096, Prot: mem.Read | mem.Write}, nil))
	for code, want := range map[string]bool{
		"\xe8\x00\x00\x00\x00":         true,  // call rel32
		"\xff\xd0":                     true,  // call rax
		"\xff\x10":                     true,  // call [rax]
		"\xff\x14\x24":                 true,  // call [rsp]
		"\xff\x50\x08":                 true,  // call [rax+8]
		"\xff\x54\x24\x08":             true,  // call [rsp+8]
		"\xff\x15\x00\x00\x00\x00":     true,  // call [rip+0]
		"\xff\x90\x00\x00\x00\x00":     true,  // call [rax+0x0]
		"\xff\x14\xc5\x00\x00\x00\x00": true,  // call [rax*8+0x0]
		"\xff\x94\x24\x00\x00\x00\x00": true,  // call [rsp+0x0]
		"\xff\xe0":                     false, // jmp rax
		"\xff\xd0\x90":                 false,
		"\xe9\x00\x00\x00\x00":         false, // jmp rel32
	} {
		require.Equal(t, 64, p.Mem.Poke(at, []byte(strings.Repeat("\x90", 64-len(code))+code)))
		assert.Equal(t, want, p.behindCall(at+64), "% x", code)
	}
	assert.False(t, p.behindCall(at), "nothing is in front of it")
	assert.False(t, p.behindCall(data+16), "not executable")
}

// A countedEngine counts how often it is asked what it has executed: a thousand instructions each time that it runs.
type countedEngine struct {
	emu.Engine
	executed uint64
	asked    int
}

func (e *countedEngine) Run(*emu.CPU, uint64) emu.Stop {
	e.executed += 1000
	return emu.Stop{Reason: emu.StopBudget}
}

func (e *countedEngine) Executed() uint64 {
	e.asked++
	return e.executed
}

// TestClockOfManyProcesses looks at the clock whenever one of a hundred processes has run: the others, which wait, are
// not asked.
func TestClockOfManyProcesses(t *testing.T) {
	p, _ := newProcessFor(t)
	k := p.Kernel
	var engines []*countedEngine
	var machines []*Machine
	for range 100 {
		e := &countedEngine{}
		engines, machines = append(engines, e), append(machines, &Machine{engine: e, users: 1, chargedProcess: &Process{Kernel: k}})
	}
	for i := range 1000 {
		machines[i%10*i%7].run(nil, 0)
		require.EqualValues(t, 1000*(i+1), k.Executed())
		require.EqualValues(t, 1000*(i+1), k.Executed())
	}
	asked := 0
	for i, e := range engines {
		asked += e.asked
		require.EqualValues(t, e.executed, machines[i].chargedProcess.used)
	}
	require.Equal(t, 1000, asked)
}
