package image_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/internal/image"
	"github.com/cgemu/cgemu/internal/image/imagetest"
)

// cached are the files of a cache.
func cached(t *testing.T, dir string) []string {
	list, err := filepath.Glob(filepath.Join(dir, "v1", "*"))
	require.NoError(t, err)
	return list
}

// TestCacheDamaged has a cache whose files were cut, at every byte, or changed: they are made anew.
func TestCacheDamaged(t *testing.T) {
	at, cache := written(t, gzipped(special)), t.TempDir()
	want := tree(t, at, cache)
	require.Len(t, cached(t, cache), 1)
	name := cached(t, cache)[0]
	good, err := os.ReadFile(name)
	require.NoError(t, err)
	for n := 0; n < len(good); n += 37 {
		require.NoError(t, os.WriteFile(name, good[:n], 0o600))
		require.Equal(t, want, tree(t, at, cache), n)
	}
	for n := len(special); n < len(good); n++ { // the list and the trailer: contents are as safe as any file of the user's
		bad := bytes.Clone(good)
		bad[n] ^= 0x55
		require.NoError(t, os.WriteFile(name, bad, 0o600))
		require.Equal(t, want, tree(t, at, cache), n)
	}
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, good, b)
}

// TestCacheStale has an image be changed: by another content of the same length, and, where the host tells when an
// inode was changed, of the same time.
func TestCacheStale(t *testing.T) {
	at, cache := written(t, packed(file("one", "", 0o644))), t.TempDir()
	require.Contains(t, tree(t, at, cache), "/one f")
	info, err := os.Stat(at)
	require.NoError(t, err)
	for range 3 {
		for _, name := range []string{"two", "six"} {
			require.NoError(t, os.WriteFile(at, packed(file(name, "", 0o644)), 0o644))
			if runtime.GOOS != "windows" {
				require.NoError(t, os.Chtimes(at, info.ModTime(), info.ModTime()))
			}
			require.Contains(t, tree(t, at, cache), "/"+name+" f")
		}
	}
	require.Len(t, cached(t, cache), 1)
	// In a docker archive whose layer was damaged since, the digest is looked at again.
	b := imagetest.Docker(imagetest.Image{Layers: [][]byte{packed(file("text", "some text", 0o644))}})
	at = written(t, b)
	tree(t, at, cache)
	require.NoError(t, os.WriteFile(at, bytes.ReplaceAll(b, []byte("some text"), []byte("same text")), 0o644))
	_, err = image.Open(at, image.Options{Cache: cache})
	require.ErrorContains(t, err, "its digest is sha256:")
}

// TestCacheShared has a layer be decompressed once for all images that have it.
func TestCacheShared(t *testing.T) {
	one, two, cache := layered, layered, t.TempDir()
	one.Compress, two.Compress = gzipped, zstded
	tree(t, written(t, imagetest.Docker(one)), cache)
	n := len(cached(t, cache))
	require.Equal(t, layeredTree, tree(t, written(t, imagetest.Pack(imagetest.Layout(two))), cache))
	require.Len(t, cached(t, cache), n+1) // the list of the archive itself
}

// TestCacheTwice has several open an image at once.
func TestCacheTwice(t *testing.T) {
	zipped := layered
	zipped.Compress = gzipped
	at, cache := written(t, imagetest.Docker(zipped)), t.TempDir()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			m, err := image.Open(at, image.Options{Cache: cache})
			if assert.NoError(t, err) {
				read(m.Root)
				assert.NoError(t, m.Close())
			}
		})
	}
	all.Wait()
	require.Equal(t, layeredTree, tree(t, at, cache))
	left, err := filepath.Glob(filepath.Join(cache, "v1", ".new-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestCacheUnusable has caches that cannot be: all goes on without.
func TestCacheUnusable(t *testing.T) {
	at := written(t, gzipped(special))
	want := tree(t, at, "")
	name := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(name, nil, 0o600))
	require.Equal(t, want, tree(t, at, name))
	require.Equal(t, want, tree(t, at, filepath.Join(name, "below")))
	// The name that a cached file is to have is taken.
	cache := t.TempDir()
	tree(t, at, cache)
	taken := cached(t, cache)[0]
	require.NoError(t, os.Remove(taken))
	require.NoError(t, os.MkdirAll(filepath.Join(taken, "x"), 0o700))
	require.Equal(t, want, tree(t, at, cache))
	require.Len(t, cached(t, cache), 1)
}

// TestOthersCache has a cache, and a file in one, to which others might have written: neither is used.
func TestOthersCache(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there the directory is in that of the user's profile")
	}
	at := written(t, gzipped(special))
	cache := t.TempDir()
	want := tree(t, at, cache)
	name, dir := cached(t, cache)[0], filepath.Join(cache, "v1")
	used := func() bool { // a file that is used has a new time, one that is not is replaced
		old := time.Unix(1e9, 0)
		require.NoError(t, os.Chtimes(name, old, old))
		before, err := os.Stat(name)
		require.NoError(t, err)
		require.Equal(t, want, tree(t, at, cache))
		after, err := os.Stat(name)
		require.NoError(t, err)
		return os.SameFile(before, after) && !after.ModTime().Equal(old)
	}
	require.True(t, used())
	require.NoError(t, os.Chmod(name, 0o620))
	require.False(t, used())
	require.True(t, used(), "it was made anew")
	require.NoError(t, os.Chmod(dir, 0o770))
	require.False(t, used())
	require.NoError(t, os.Chmod(dir, 0o700))
	require.True(t, used())
}

// TestCacheBound has a cache be full: what was not used for the longest time goes, and what nobody finished.
func TestCacheBound(t *testing.T) {
	cache := t.TempDir()
	var names []string
	for i := range 4 {
		names = append(names, written(t, gzipped(packed(file("x", string(bytes.Repeat([]byte{byte('a' + i)}, 10000)), 0o644)))))
		tree(t, names[i], cache)
		old := time.Now().Add(time.Duration(i-10) * time.Hour)
		for _, f := range cached(t, cache) {
			if info, err := os.Stat(f); err == nil && time.Since(info.ModTime()) < time.Hour {
				require.NoError(t, os.Chtimes(f, old, old))
			}
		}
	}
	stale := filepath.Join(cache, "v1", ".new-1")
	require.NoError(t, os.WriteFile(stale, nil, 0o600))
	require.NoError(t, os.Chtimes(stale, time.Unix(1e9, 0), time.Unix(1e9, 0)))
	tree(t, names[0], cache) // now it was used last
	defer image.SetCacheSize(40000)()
	tree(t, written(t, gzipped(packed(file("y", "y", 0o644)))), cache)
	require.NoFileExists(t, stale)
	left := len(cached(t, cache))
	require.Equal(t, 4, left) // 12 KiB each but for the last one
	before, err := os.ReadDir(filepath.Join(cache, "v1"))
	require.NoError(t, err)
	tree(t, names[0], cache) // is among them
	after, err := os.ReadDir(filepath.Join(cache, "v1"))
	require.NoError(t, err)
	require.Len(t, after, len(before))
}
