package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the files of the self-test from the programs in testdata")

// TestSelftestFiles checks that the self-test's archive has the programs of testdata.
func TestSelftestFiles(t *testing.T) {
	const top = "../../testdata/"
	files := []string{top + "demo", top + "guest", top + "approx", top + "avx512", top + "dumps", top + "flags"}
	vectors, err := filepath.Glob(top + "vectors/bin/t*")
	require.NoError(t, err)
	files = append(files, vectors...)
	slices.SortFunc(files, func(a, b string) int { return strings.Compare(filepath.Base(a), filepath.Base(b)) })
	if *update {
		var archive bytes.Buffer
		z, err := gzip.NewWriterLevel(&archive, gzip.BestCompression)
		require.NoError(t, err)
		w := tar.NewWriter(z)
		for _, f := range files {
			b, err := os.ReadFile(f)
			require.NoError(t, err)
			require.NoError(t, w.WriteHeader(&tar.Header{Name: filepath.Base(f), Mode: 0o755, Size: int64(len(b))}))
			_, err = w.Write(b)
			require.NoError(t, err)
		}
		require.NoError(t, w.Close())
		require.NoError(t, z.Close())
		require.NoError(t, os.WriteFile("selftest/programs.tar.gz", archive.Bytes(), 0o644))
		selftestPrograms = archive.Bytes()
		var digests strings.Builder
		require.NoError(t, eachSelftest(t.Context(), "jit", func(name, got string) { fmt.Fprintf(&digests, "%s: %s\n", name, got) }))
		require.NoError(t, os.WriteFile("selftest/digests.txt", []byte(digests.String()), 0o644))
	}
	dir := t.TempDir()
	names, err := unpackSelftest(dir)
	require.NoError(t, err)
	require.Len(t, names, len(files))
	for i, f := range files {
		want, err := os.ReadFile(f)
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(dir, names[i]))
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got), f)
	}
}

// TestSelftest has each engine leave what the file says, and a wrong digest reported.
func TestSelftest(t *testing.T) {
	var b strings.Builder
	require.NoError(t, runSelftest(t.Context(), &b))
	require.Contains(t, b.String(), "ok       selftest: ")
	require.NoError(t, eachSelftest(t.Context(), "interp", func(name, got string) {
		require.Contains(t, selftestDigests, name+": "+got+"\n", name)
	}))
	was := selftestDigests
	defer func() { selftestDigests = was }()
	selftestDigests = strings.Replace(was, "./demo, v3, Ir: 1", "./demo, v3, Ir: 2", 1)
	require.NotEqual(t, was, selftestDigests)
	b.Reset()
	require.ErrorContains(t, runSelftest(t.Context(), &b), "1 of ")
	require.Contains(t, b.String(), "problem  ./demo, v3, Ir: ")
}
