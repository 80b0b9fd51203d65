//go:build linux && amd64

package cgemu_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/cachesim"
)

// shell runs a script of dash or bash, which fork for parentheses and pipes.
func shell(t *testing.T, script string, change func(*cgemu.Config)) ran {
	t.Helper()
	cfg := cgemu.Config{
		Path: "/bin/sh", Args: []string{"sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"}, TraceChildren: true,
	}
	if change != nil {
		change(&cfg)
	}
	return start(t, cfg)
}

func text(t *testing.T, res *cgemu.Result) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, res.Profile.Write(&b))
	return b.String()
}

func TestChildren(t *testing.T) {
	r := shell(t, `(exit 3); echo $?; (echo a; echo b) | (read x; echo "got $x"); echo $(echo x; (echo y))`, nil)
	assert.Equal(t, "3\ngot a\nx y\n", r.stdout)
	assert.Equal(t, 1000, r.PID)
	require.NotEmpty(t, r.Children)
	seen := map[int]bool{1000: true}
	for _, c := range r.Children {
		assert.False(t, seen[c.PID], "%d twice", c.PID)
		seen[c.PID] = true
		assert.NotZero(t, c.Profile.Total("Ir"))
		assert.Less(t, c.Profile.Total("Ir"), r.total(), "counts begin at the fork")
		assert.Regexp(t, "^sh -c ", c.Profile.Cmd)
	}
	assert.True(t, seen[1001])
	assert.Equal(t, 3, r.Children[0].Exit.Code)
}

// TestChildrenTwice checks that all runs are the same, and all processes in them.
func TestChildrenTwice(t *testing.T) {
	const script = `for i in 1 2 3; do (sleep $i; echo $i) & done; wait; seq 1000 | sort -r | head -3`
	for name, change := range map[string]func(*cgemu.Config){
		"ir":       nil,
		"caches":   func(c *cgemu.Config) { c.Caches, c.Branches = &cachesim.Default, true },
		"toggle":   func(c *cgemu.Config) { c.Regions.Toggle = []string{"main"} },
		"events":   func(c *cgemu.Config) { c.Events = []string{"syscalls", "allocs"} },
		"untraced": func(c *cgemu.Config) { c.TraceChildren = false },
	} {
		t.Run(name, func(t *testing.T) {
			a, b := shell(t, script, change), shell(t, script, change)
			assert.Equal(t, "1\n2\n3\n999\n998\n997\n", a.stdout)
			assert.Equal(t, a.stdout, b.stdout)
			assert.Equal(t, a.profile, b.profile)
			require.Equal(t, len(a.Children), len(b.Children))
			for i := range a.Children {
				assert.Equal(t, text(t, a.Children[i]), text(t, b.Children[i]))
				assert.Equal(t, a.Children[i].PID, b.Children[i].PID)
			}
			assert.Equal(t, name == "untraced", len(a.Children) == 0)
		})
	}
}

// TestFilesTwice has programs see the times of files that they make: they are the same each time, and so are their
// profiles.
func TestFilesTwice(t *testing.T) {
	const script = `d=$(mktemp -d); cd $d; mkdir a; echo 1 >a/f; cp a/f b; ln -s f a/l; sleep 1; echo 2 >>b; mv b a; touch c; rm c
ls -lR --time-style=full-iso .; rm -r $d`
	a, b := shell(t, script, nil), shell(t, script, nil)
	assert.Contains(t, a.stdout, "2030-01-01 00:00:01")
	assert.Equal(t, a.stdout, b.stdout)
	require.Equal(t, len(a.Children), len(b.Children))
	for i := range a.Children {
		assert.Equal(t, text(t, a.Children[i]), text(t, b.Children[i]))
	}
}

// TestServerTwice checks that a server and its clients, which run at the same time, do the same each time.
func TestServerTwice(t *testing.T) {
	const script = `
use IO::Socket::INET;
my $l = IO::Socket::INET->new(Listen => 5, LocalAddr => "127.0.0.1") or die $!;
for my $i (1 .. 4) {
	next if fork;
	my $c = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $l->sockport) or die $!;
	for my $k (1 .. $i * 10) { print $c "$i $k\n"; $n += length <$c> }
	exit($n == 0);
}
for (1 .. 4) {
	my $c = $l->accept;
	if (!fork) { while (<$c>) { print $c "got $_" } exit 0 }
}
1 while wait > 0;
print "port ", $l->sockport, "\n";`
	run := func() ran {
		return start(t, cgemu.Config{Args: []string{"/usr/bin/perl", "-e", script}, TraceChildren: true})
	}
	if _, err := os.Stat("/usr/bin/perl"); err != nil {
		t.Skip(err)
	}
	a, b := run(), run()
	assert.Equal(t, "port 32768\n", a.stdout)
	assert.Equal(t, a.stdout, b.stdout)
	assert.Equal(t, a.profile, b.profile)
	require.Len(t, a.Children, 8)
	require.Len(t, b.Children, 8)
	for i := range a.Children {
		assert.Zero(t, a.Children[i].Exit.Status())
		assert.Equal(t, text(t, a.Children[i]), text(t, b.Children[i]))
	}
}

// TestOnChild gets results as processes end.
func TestOnChild(t *testing.T) {
	var pids []int
	r := shell(t, `(exit 1); (exit 2); true`, func(c *cgemu.Config) {
		c.OnChild = func(res *cgemu.Result) { pids = append(pids, res.PID*10+res.Exit.Code) }
	})
	assert.Equal(t, []int{10011, 10022}, pids)
	assert.Empty(t, r.Children)
}

// TestNoRoomForSmallProcesses makes as many small processes as there may be: what engines take for caches does not make
// them fewer.
func TestNoRoomForSmallProcesses(t *testing.T) {
	var log strings.Builder
	prog := compile(t, "gcc", "-O1", "-o", "testdata/processes/noroom.c")
	r := start(t, cgemu.Config{Args: []string{prog, "small"}, Caches: &cachesim.Default, Branches: true, Log: &log})
	assert.Contains(t, log.String(), "no room for another process: the others have 101 TiB of addresses")
	assert.Equal(t, "651 children\n", r.stdout)
}

// TestNoRoom starts more processes than there is address space for, of 31 TiB each: the program is told, at the same
// number on every host, and goes on.
func TestNoRoom(t *testing.T) {
	var log strings.Builder
	prog := compile(t, "gcc", "-O1", "-o", "testdata/processes/noroom.c")
	r := start(t, cgemu.Config{Args: []string{prog}, TraceChildren: true, Log: &log})
	assert.Contains(t, log.String(), "no room for another process: the others have 93 TiB of addresses")
	assert.Equal(t, 1, strings.Count(log.String(), "no room"))
	assert.Equal(t, "2 children\n", r.stdout)
	assert.Zero(t, r.Exit.Status())
	assert.Len(t, r.Children, 2)
}

// TestManyAtOnce has more processes at once than would fit with a terabyte for each.
func TestManyAtOnce(t *testing.T) {
	r := shell(t, `i=0; while [ $i -lt 100 ]; do sleep 100 & i=$((i+1)); done; wait; echo end`, nil)
	assert.Equal(t, "end\n", r.stdout)
	assert.Len(t, r.Children, 100)
}

// TestManyWithCaches has more processes take turns than there is memory below 2 GiB for, which simulating takes: they
// move.
func TestManyWithCaches(t *testing.T) {
	prog := compile(t, "gcc", "-g", "-O1", "-o", "testdata/processes/ring.c")
	var log strings.Builder
	r := start(t, cgemu.Config{Args: []string{prog, "90", "2"}, TraceChildren: true, Log: &log, Caches: &cachesim.Default, Branches: true})
	assert.Equal(t, "181, 0 failed\n", r.stdout)
	require.Len(t, r.Children, 90)
	assert.Empty(t, log.String())
	for i := range r.Children {
		assert.Equal(t, lineCosts(r.Children[0].Profile, "turns"), lineCosts(r.Children[i].Profile, "turns"))
	}
}

// TestManyProcesses has more processes take turns than engines are awake.
func TestManyProcesses(t *testing.T) {
	prog := compile(t, "gcc", "-g", "-O1", "-o", "testdata/processes/ring.c")
	run := func() ran {
		r := start(t, cgemu.Config{Args: []string{prog, "60", "5"}, TraceChildren: true})
		assert.Equal(t, "304, 0 failed\n", r.stdout) // the parent does not add to the last
		require.Len(t, r.Children, 60)
		return r
	}
	a, b := run(), run()
	for i := range a.Children {
		assert.Equal(t, text(t, a.Children[i]), text(t, b.Children[i]))
		assert.Equal(t, lineCosts(a.Children[0].Profile, "turns"), lineCosts(a.Children[i].Profile, "turns"))
	}
}

// TestChildrenLeaveNothing checks that descriptors and address space are given back.
func TestChildrenLeaveNothing(t *testing.T) {
	held := func() (files, maps int) {
		shell(t, `for i in 1 2 3 4; do (echo a | cat) | cat; done; (sleep 1; exec echo b) & exec cat </dev/null`, nil)
		list, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		text, err := os.ReadFile("/proc/self/maps")
		require.NoError(t, err)
		return len(list), bytes.Count(text, []byte("\n"))
	}
	held()
	files, maps := held()
	for range 3 {
		moreFiles, moreMaps := held()
		assert.LessOrEqual(t, moreFiles, files)
		assert.Less(t, moreMaps, maps+20, "the Go heap may grow")
	}
}

// TestExecOfSharedMemory executes a program while a vfork child still runs in the memory of the old one: what each
// executed is in its profile.
func TestExecOfSharedMemory(t *testing.T) {
	prog := compile(t, "gcc", "-g", "-O1", "-pthread", "-o", "testdata/processes/vforkexec.c")
	for _, traced := range []bool{true, false} {
		r := start(t, cgemu.Config{Args: []string{prog}, TraceChildren: traced, DumpInstr: true})
		assert.Equal(t, "7\n", r.stdout)
		sum := func(res *cgemu.Result, function string) (n uint64) {
			for _, c := range lineCosts(res.Profile, function) {
				n += c
			}
			return n
		}
		const loop = 500_000
		assert.InDelta(t, loop, sum(r.Result, "before"), 10)
		assert.InDelta(t, loop, sum(r.Result, "after"), 10)
		assert.Zero(t, sum(r.Result, "meanwhile"))
		assert.Equal(t, prog+" again", r.Profile.Cmd)
		if !traced {
			assert.Empty(t, r.Children)
			continue
		}
		require.Len(t, r.Children, 1)
		assert.InDelta(t, loop, sum(r.Children[0], "meanwhile"), 10)
		assert.Equal(t, prog, r.Children[0].Profile.Cmd)
		assert.Equal(t, 7, r.Children[0].Exit.Code)
	}
}
