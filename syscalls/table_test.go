package syscalls

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/strace"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

var update = flag.Bool("update", false, "rewrite docs/syscalls.md from the table")

// TestTable compares the table with Linux's numbers.
func TestTable(t *testing.T) {
	f, err := os.Open("testdata/unistd_64.txt")
	require.NoError(t, err)
	defer f.Close()
	want := map[int]string{}
	for s := bufio.NewScanner(f); s.Scan(); {
		var n int
		var name string
		if _, err := fmt.Sscanf(s.Text(), "%d %s", &n, &name); err == nil {
			want[n] = name
		}
	}
	require.Greater(t, len(want), 380)
	seen := map[string]int{}
	for n, e := range table {
		if e.Name == "" {
			assert.Emptyf(t, want[n], "system call %d is not in the table", n)
			continue
		}
		assert.Equal(t, want[n], e.Name, "number %d", n)
		if old, dup := seen[e.Name]; dup {
			t.Errorf("%s is in the table as %d and %d", e.Name, old, n)
		}
		seen[e.Name] = n
		assert.NotNil(t, e.Handler, e.Name)
		if e.Level == task.Full {
			assert.NotEmpty(t, testedBy(t)[e.Name], "%s is supported in full, and no program of testdata/exercised.txt makes it", e.Name)
		}
		if e.Level == task.Partial || e.Level == task.Refused {
			assert.NotEmpty(t, e.Note, "%s is %v without a note", e.Name, e.Level)
		}
	}
	assert.Len(t, seen, len(want))
	for name := range strace.Signatures() {
		assert.Contains(t, seen, name, "signature of a call that does not exist")
	}
}

// TestSignatures shows every call with some arguments.
func TestSignatures(t *testing.T) {
	g := newGuest(t)
	for name, sig := range strace.Signatures() {
		assert.LessOrEqual(t, len(strings.Fields(sig)), 6, name)
		for _, v := range []uint64{0, 8, g.room(256), 1<<64 - 1} {
			for _, e := range []linux.Errno{0, linux.EINVAL} {
				g.th.Call = task.Call{Nr: nr(name), Args: uio.Args{v, v, v, v, v, v}}
				text := strace.NewTracer(nil).Format(g.th, 3, e)
				assert.True(t, strings.HasPrefix(text, name+"("), text)
			}
		}
	}
}

// TestSupportTable checks that docs/syscalls.md says what the table says.
func TestSupportTable(t *testing.T) {
	const path = "../docs/syscalls.md"
	want := supportTable(testedBy(t))
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	if string(got) != want {
		t.Errorf("%s differs from the table (go generate ./syscalls rewrites it)", path)
	}
}

// testedBy says which program of testdata/guest exercises a call.
func testedBy(t *testing.T) map[string]string {
	t.Helper()
	programs, err := Exercised()
	require.NoError(t, err)
	tested := map[string]string{}
	for name, calls := range programs {
		assert.FileExists(t, "testdata/guest/"+name+".c")
		for _, call := range calls {
			assert.Empty(t, tested[call], "%s is in testdata/exercised.txt twice", call)
			tested[call] = name
		}
	}
	return tested
}

func supportTable(tested map[string]string) string {
	var b strings.Builder
	count := map[task.Level]int{}
	for _, e := range table {
		if e.Name != "" {
			count[e.Level]++
		}
	}
	b.WriteString("# System calls\n\nMade from `syscalls/table.go` by `go generate ./syscalls`; do not edit.\n\n")
	fmt.Fprintf(&b, "%d calls in full, %d in part, %d refused with the error that programs expect, %d missing: those are reported once,\n"+
		"in one line on standard error, and return ENOSYS.\n\n", count[task.Full], count[task.Partial], count[task.Refused], count[task.Missing])
	b.WriteString("A call that is there in full is exercised by a program of `syscalls/testdata/guest`, which runs natively and under\n" +
		"cgemu with the same output; the column says which.\n\n")
	b.WriteString("| number | call | support | test | note |\n|---:|---|---|---|---|\n")
	for n, e := range table {
		if e.Name == "" {
			continue
		}
		test := ""
		if e.Level == task.Full {
			test = tested[e.Name]
		}
		fmt.Fprintf(&b, "| %d | %s | %v | %s | %s |\n", n, strings.ReplaceAll(e.Name, "_", `\_`), e.Level, test, e.Note)
	}
	return b.String()
}

// TestMissing checks that an unsupported call is named once.
func TestMissing(t *testing.T) {
	var log strings.Builder
	g := newGuest(t, func(c *Config) { c.Log = &log })
	g.k.Table = slices.Clone(g.k.Table)
	g.k.Table[253] = task.Entry{Name: "inotify_init", Level: task.Missing, Handler: task.NotImplemented, Note: ""}
	for range 3 {
		g.fails(linux.ENOSYS, 253)
		g.fails(linux.ENOSYS, 9999)
		g.fails(linux.ENOSYS, 1<<63)
	}
	assert.Equal(t, "cgemu: system call 253 (inotify_init) is not supported; the program gets ENOSYS\n"+
		"cgemu: system call 9999 (?) is not supported; the program gets ENOSYS\n"+
		"cgemu: system call 9223372036854775808 (?) is not supported; the program gets ENOSYS\n", log.String())
}
