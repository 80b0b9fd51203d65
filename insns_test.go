//go:build linux && amd64

package cgemu_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/cachesim"
	"github.com/cgemu/cgemu/cgout"
)

// TestDumpInstr adds counts by instruction up to those by line.
func TestDumpInstr(t *testing.T) {
	cfg := cgemu.Config{Args: []string{demo}, DumpInstr: true, Caches: &cachesim.Default, Branches: true, Cycles: true}
	r := start(t, cfg)
	insns := r.Profile.Insns
	require.Equal(t, r.Profile.Events, insns.Events)
	sum := cgout.New(insns.Events...)
	sum.Cmd, sum.Desc = r.Profile.Cmd, r.Profile.Desc
	texts := map[string]bool{}
	for _, in := range insns.List {
		require.NotEmpty(t, in.Code)
		sum.Add(in.File, in.Func, in.Line, in.Counts...)
		texts[in.Text] = true
	}
	var b bytes.Buffer
	require.NoError(t, sum.Write(&b))
	require.Equal(t, r.profile, b.String())
	require.True(t, texts["imul ebx,ebx,0x1000193"], "the hash's multiplication")

	var first, second bytes.Buffer
	require.NoError(t, insns.Write(&first))
	require.NoError(t, start(t, cfg).Profile.Insns.Write(&second))
	require.Equal(t, first.String(), second.String(), "two runs")
	require.Nil(t, start(t, cgemu.Config{Args: []string{demo}}).Profile.Insns)
}
