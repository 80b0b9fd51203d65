package syscalls

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// TestTitle has /proc/PID/cmdline and environ show what lies where the arguments and variables were.
func TestTitle(t *testing.T) {
	for _, tt := range []struct {
		name             string
		compat           bool
		write            string // at argv[0]
		cmdline, environ string
	}{
		{"untouched", false, "", "prog\x00two words\x00", "A=1\x00BC=2\x00"},
		{"as long", false, "XXXX", "XXXX\x00two words\x00", "A=1\x00BC=2\x00"},
		{"shorter", false, "X\x00\x00\x00", "X\x00\x00\x00\x00two words\x00", "A=1\x00BC=2\x00"},
		{"into the gap", false, "prog: title\x00", "prog: title\x00two words\x00", "A=1\x00BC=2\x00"},
		{"untouched, packed", true, "", "prog\x00two words\x00", "A=1\x00BC=2\x00"},
		{"as long, packed", true, "XXXX", "XXXX\x00two words\x00", "A=1\x00BC=2\x00"},
		{"over arguments", true, "prog: title\x00\x00\x00\x00", "prog: title\x00\x00\x00\x00", "A=1\x00BC=2\x00"},
		{"into the environment", true, "prog: a title\x00X\x00", "prog: a title\x00", "\x00=1\x00BC=2\x00"},
		{"to the end", true, "prog: very long title!!!", "prog: very long title!!!", " title!!!"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newTitled(t, tt.compat)
			g.p.Mem.Write(g.argv0(), []byte(tt.write))
			require.Equal(t, tt.cmdline, g.readAll("/proc/self/cmdline"))
			require.Equal(t, tt.environ, g.readAll("/proc/self/environ"))
		})
	}
}

// newTitled makes a guest with arguments and variables, packed for compat.
func newTitled(t *testing.T, compat bool) *guest {
	return newGuest(t, func(c *Config) {
		c.Args, c.Env, c.Compat = []string{"prog", "two words"}, []string{"A=1", "BC=2"}, compat
	})
}

// argv0 is where the program's first argument is.
func (g *guest) argv0() emu.Addr { return emu.Addr(g.peek64(uint64(g.p.Program.Stack) + 8)) }

// TestTitleOfChild has a child show its own memory, and what has ended nothing.
func TestTitleOfChild(t *testing.T) {
	g := newTitled(t, false)
	g.p.Mem.Write(g.argv0(), []byte("main"))
	g.ok(nr("fork"))
	g.k.Processes[1].Mem.Write(g.argv0(), []byte("work"))
	require.Equal(t, "main\x00two words\x00", g.readAll("/proc/1000/cmdline"))
	require.Equal(t, "work\x00two words\x00", g.readAll("/proc/1001/cmdline"))

	at := g.argv0().PageDown()
	require.NoError(t, g.p.Mem.Protect(at, at+emu.PageSize, 0))
	require.Empty(t, g.readAll("/proc/1000/cmdline"))
	require.Empty(t, g.readAll("/proc/1000/environ"))
	require.Equal(t, "work\x00two words\x00", g.readAll("/proc/1001/cmdline"))
	require.NoError(t, g.p.Mem.Protect(at, at+emu.PageSize, mem.Read|mem.Write))

	g.ok(nr("kill"), 1001, linux.SIGKILL)
	g.k.Processes[1].Threads[0].ReturnToUser()
	require.Empty(t, g.readAll("/proc/1001/cmdline"))
	require.Empty(t, g.readAll("/proc/1001/environ"))
}
