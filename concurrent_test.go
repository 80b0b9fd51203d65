//go:build linux && amd64

package cgemu_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/dwarfmap"
)

// TestNamesStopped ends looking up names: the counts are whole, and it is said.
func TestNamesStopped(t *testing.T) {
	whole := start(t, cgemu.Config{Args: []string{demo}})
	done := make(chan struct{})
	close(done)
	var log strings.Builder
	r := start(t, cgemu.Config{Args: []string{demo}, CodeDir: t.TempDir(), Names: dwarfmap.Options{Done: done}, Log: &log})
	assert.Equal(t, whole.total(), r.total())
	assert.Equal(t, "cgemu: interrupted while names were looked up: functions, files and lines not found by then are ???\n", log.String())
	assert.NotContains(t, r.profile, "fn=main\n")
	assert.Contains(t, r.profile, "fl=???\nfn=??? (demo)\n0 ")
}

// TestConcurrentRuns runs several programs at once in this process: each leaves what it leaves alone.
func TestConcurrentRuns(t *testing.T) {
	dir := t.TempDir()
	runs := []struct {
		args   []string
		change func(*cgemu.Config)
	}{
		{args: []string{demo}},
		{args: []string{demo}, change: func(c *cgemu.Config) { c.Caches, c.Branches = &bigCaches, true }},
		{args: []string{guest, "threads"}},
		{args: []string{guest, "signals"}},
		{args: []string{guest, "faults", "100"}},
		{args: []string{"testdata/flags"}},
		{args: []string{"/bin/sh", "-c", "cd '" + dir + "' || exit; umask 077; i=0; while [ $i -lt 30 ]; do (echo $i >a$i); : >ax; rm ax; i=$((i+1)); done; cat a7"}},
		{args: []string{"/bin/sh", "-c", "cd '" + dir + "' || exit; umask 002; i=0; while [ $i -lt 30 ]; do (echo $i >b$i); : >bx; rm bx; i=$((i+1)); done; cat b7"}},
	}
	one := func(i int) ran {
		cfg := cgemu.Config{Args: runs[i].args, TraceChildren: true}
		if runs[i].change != nil {
			runs[i].change(&cfg)
		}
		return start(t, cfg)
	}
	var alone []ran
	for i := range runs {
		alone = append(alone, one(i))
	}
	for range 3 {
		files, err := filepath.Glob(dir + "/*")
		require.NoError(t, err)
		require.Len(t, files, 60)
		for _, f := range files {
			require.NoError(t, os.Remove(f))
		}
		together := make([]ran, len(runs))
		var all sync.WaitGroup
		for i := range runs {
			all.Go(func() { together[i] = one(i) })
		}
		all.Wait()
		for i, want := range alone {
			name := fmt.Sprint(runs[i].args)
			got := together[i]
			require.NotNil(t, got.Result, name)
			assert.Equal(t, want.stdout, got.stdout, name)
			assert.Equal(t, want.Exit, got.Exit, name)
			sameProfile(t, want.profile, got.profile)
			require.Len(t, got.Children, len(want.Children), name)
			for k := range want.Children {
				sameProfile(t, text(t, want.Children[k]), text(t, got.Children[k]))
			}
		}
		for name, mode := range map[string]os.FileMode{"a": 0o600, "b": 0o664} {
			for i := range 30 {
				info, err := os.Stat(filepath.Join(dir, fmt.Sprint(name, i)))
				require.NoError(t, err)
				assert.Equal(t, mode, info.Mode().Perm(), info.Name())
			}
		}
	}
}
