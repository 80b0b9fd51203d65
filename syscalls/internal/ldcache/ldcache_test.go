package ldcache

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// made is a cache with an extension, as ldconfig sorts it: the greatest name first.
func made() []Entry {
	return []Entry{
		{Flags: x8664, Soname: "libz.so.1", Path: "/lib/libz.so.1"},
		{Flags: x8664, Soname: "libown.so", Path: "/opt/libown.so"},
		{Flags: x8664, Soname: "libm.so.6", Path: "/lib/glibc-hwcaps/x86-64-v3/libm.so.6", HWCap: hwcapExtension | 1<<32, HWCapName: "x86-64-v3"},
		{Flags: x8664, Soname: "libm.so.6", Path: "/lib/libm.so.6"},
		{Flags: 0x0a03, Soname: "libc.so.6", Path: "/arm/libc.so.6"},
		{Flags: x8664, Soname: "libc.so.6", Path: "/lib/libc.so.6", OSVersion: 7},
	}
}

func TestReadWrite(t *testing.T) {
	text := Write(made())
	got, err := Read(text)
	require.NoError(t, err)
	require.Equal(t, made()[2].HWCapName, got[2].HWCapName)
	got[2].HWCap = made()[2].HWCap // the index is another one
	require.Equal(t, made(), got)
	got, err = Read(append([]byte(oldMagic+"\x00 what is for older linkers"), text...))
	require.NoError(t, err)
	require.Len(t, got, len(made()))
}

func TestReadErrors(t *testing.T) {
	text := Write(made())
	for name, b := range map[string][]byte{
		"not a cache": nil, "entries do not fit": text[:headerSize+entrySize], "not a cache ": []byte(oldMagic),
	} {
		_, err := Read(b)
		require.ErrorContains(t, err, strings.TrimSpace(name))
	}
	le.PutUint32(text[headerSize+4:], 1<<31)
	_, err := Read(text)
	require.ErrorContains(t, err, "entry 0 has no name")
}

func TestFor(t *testing.T) {
	needs := map[string][]string{"/bin/prog": {"libm.so.6", "libgone.so"}, "/lib/libm.so.6": {"libc.so.6"}, "/lib/libc.so.6": {"libm.so.6"}}
	got := For(made(), "/bin/prog", func(path string) []string { return needs[path] }, func(path string) bool { return strings.HasPrefix(path, "/lib/") })
	var paths []string
	for _, e := range got {
		paths = append(paths, e.Path)
	}
	require.Equal(t, []string{"/opt/libown.so", "/lib/glibc-hwcaps/x86-64-v3/libm.so.6", "/lib/libm.so.6", "/lib/libc.so.6"}, paths)
}

// TestHost reads the cache of the host.
func TestHost(t *testing.T) {
	text, err := os.ReadFile("/etc/ld.so.cache")
	if err != nil {
		t.Skip(err)
	}
	want, err := Read(text)
	if err != nil {
		t.Skip(err) // of another C library
	}
	for _, e := range want {
		require.True(t, filepath.IsAbs(e.Path), e)
	}
	got, err := Read(Write(want))
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func FuzzRead(f *testing.F) {
	f.Add(Write(made()))
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, text []byte) {
		entries, err := Read(text)
		if err != nil {
			return
		}
		again, err := Read(Write(entries))
		require.NoError(t, err)
		require.Len(t, again, len(entries))
		for i := range again {
			require.Equal(t, entries[i].Path, again[i].Path)
		}
	})
}
