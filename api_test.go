//go:build linux && amd64

package cgemu_test

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/cgout"
)

// TestFunctionsThatEnd has functions of a Config panic, and end their goroutine as require does.
func TestFunctionsThatEnd(t *testing.T) {
	run := func(f func()) {
		_, _ = cgemu.Run(t.Context(), cgemu.Config{Path: "testdata/dumps", Args: []string{"dumps"}, OnDump: func(int, *cgout.Profile) { f() }})
	}
	func() {
		defer func() {
			text, _ := recover().(string)
			require.True(t, strings.HasPrefix(text, "told\n\n"), text)
			require.Contains(t, text, "api_test.go", "the stack")
		}()
		run(func() { panic("told") })
	}()
	ended, returned := make(chan bool), false
	go func() {
		defer close(ended)
		run(func() { (&testing.T{}).SkipNow() })
		returned = true
	}()
	<-ended
	require.False(t, returned)
	start(t, cgemu.Config{Args: []string{"testdata/dumps"}}) // nothing is held
}

// TestInputError has a reader fail in the midst: the run's counts are those of half the input.
func TestInputError(t *testing.T) {
	wrong := errors.New("wrong")
	var out bytes.Buffer
	c := cgemu.Command("/bin/cat")
	c.Stdin, c.Stdout = io.MultiReader(strings.NewReader("half"), iotest.ErrReader(wrong)), &out
	err := c.Run()
	require.ErrorIs(t, err, wrong)
	require.EqualError(t, err, "cgemu: input: wrong")
	require.Equal(t, "half", out.String())
}

// TestNilFile has a nil *os.File stand for the null device, as nil does.
func TestNilFile(t *testing.T) {
	var none *os.File
	c := cgemu.Command("/bin/sh", "-c", "cat; echo x")
	c.Stdin, c.Stdout, c.Stderr = none, none, none
	require.NoError(t, c.Run())
}

// TestInterruptedStatus has the status and the error of a run that its context has ended.
func TestInterruptedStatus(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := cgemu.CommandContext(ctx, "/bin/sh", "-c", "while :; do :; done").Run()
	var failed *cgemu.ExitError
	require.ErrorAs(t, err, &failed)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, 130, failed.Status())
	require.Equal(t, 124, cgemu.Exit{Limit: true}.Status())
}

// TestConfigValues refuses values that stand for nothing.
func TestConfigValues(t *testing.T) {
	for want, change := range map[string]func(*cgemu.Config){
		"-3 CPUs: 0 to 1024 expected":                                              func(c *cgemu.Config) { c.CPUs = -3 },
		"5000 CPUs: 0 to 1024 expected":                                            func(c *cgemu.Config) { c.CPUs = 5000 },
		"a start in 3000: the years 1680 to 2199 are expected":                     func(c *cgemu.Config) { c.Start = time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC) },
		"descriptor 1073741824 of Files: 3 to 1048575 expected":                    func(c *cgemu.Config) { c.Files = map[int]*os.File{1 << 30: os.Stdin} },
		"-1 callers told apart: 0 or more expected":                                func(c *cgemu.Config) { c.CallGraph, c.SeparateCallers = true, -1 },
		"an isolated run has no network of the host's, no real time and no Compat": func(c *cgemu.Config) { c.Isolate, c.Network = t.TempDir(), "host" },
		"an overlay and files that may only be read: not both":                     func(c *cgemu.Config) { c.Overlay, c.ReadOnly = true, true },
		"jumps are counted for the call graph: there is none":                      func(c *cgemu.Config) { c.CollectJumps = true },
		`"a\x00b": a text for a program cannot have a zero byte`:                   func(c *cgemu.Config) { c.Args = append(c.Args, "a\x00b") },
		`network "x": not one of loopback, none, host`:                             func(c *cgemu.Config) { c.Network = "x" },
	} {
		cfg := cgemu.Config{Path: "/bin/true", Args: []string{"true"}}
		change(&cfg)
		_, err := cgemu.Run(t.Context(), cfg)
		assert.EqualError(t, err, "cgemu: "+want)
	}
}

// TestProgressOfProcesses takes the counts of a run of many processes until its end: a report that becomes due between
// two of them is made by the next.
func TestProgressOfProcesses(t *testing.T) {
	var last uint64
	cfg := cgemu.Config{
		Args: []string{"/bin/sh", "-c", "i=0; while [ $i -lt 100 ]; do /bin/true; i=$((i+1)); done"}, TraceChildren: true,
		ProgressEvery: time.Millisecond, OnProgress: func(insns uint64, _ time.Duration) { last = insns },
	}
	total := uint64(1)
	for n := 0; n < 20 && last <= total/2; n++ { // a busy host may tell seldom
		last = 0
		r := start(t, cfg)
		total = r.total()
		for _, c := range r.Children {
			total += c.Profile.Totals()[0]
		}
	}
	require.Greater(t, last, total/2)
}

// TestCompressedSymbols runs a program whose headers say that its tables of symbols are compressed: the dynamic linker
// does not look at them.
func TestCompressedSymbols(t *testing.T) {
	data, err := os.ReadFile("/bin/true")
	require.NoError(t, err)
	f, err := elf.NewFile(bytes.NewReader(data))
	require.NoError(t, err)
	offset := binary.LittleEndian.Uint64(data[40:]) // e_shoff
	for i, s := range f.Sections {
		if s.Name == ".dynsym" || s.Name == ".dynstr" {
			flags := data[offset+uint64(i)*64+8:]
			binary.LittleEndian.PutUint64(flags, binary.LittleEndian.Uint64(flags)|uint64(elf.SHF_COMPRESSED))
		}
	}
	program := filepath.Join(t.TempDir(), "true")
	require.NoError(t, os.WriteFile(program, data, 0o755))
	require.Zero(t, start(t, cgemu.Config{Args: []string{program}}).Exit.Status())
}
