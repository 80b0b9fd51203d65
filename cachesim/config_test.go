package cachesim

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func TestParseGeometry(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Geometry
		err  string // "" for none; after "bad argument 'TEXT': "
	}{
		{"32768,8,64", Geometry{32768, 8, 64}, ""},
		{"256,2,32", Geometry{256, 2, 32}, ""},
		{"1024,64,16", Geometry{1024, 64, 16}, ""},
		{"49152,12,64", Geometry{49152, 12, 64}, ""},
		{"1073741824,1,64", Geometry{1 << 30, 1, 64}, ""},

		{"", Geometry{}, "size,assoc,line expected"},
		{"32768", Geometry{}, "size,assoc,line expected"},
		{"32768,8", Geometry{}, "size,assoc,line expected"},
		{"32768,8,64,1", Geometry{}, "size,assoc,line expected"},
		{"32768,8,64x", Geometry{}, `"64x" is no number`},
		{"32k,8,64", Geometry{}, `"32k" is no number`},
		{"32768, 8,64", Geometry{}, `" 8" is no number`},
		{"0x8000,8,64", Geometry{}, `"0x8000" is no number`},
		{"32768,,64", Geometry{}, `"" is no number`},

		{"2147483648,8,64", Geometry{}, "one of the cache parameters was too large and overflowed (at most 2147483647)"},
		{"32768,4294967304,64", Geometry{}, "one of the cache parameters was too large and overflowed (at most 2147483647)"},
		{"32768,8,99999999999999999999", Geometry{}, "one of the cache parameters was too large and overflowed (at most 2147483647)"},

		{"32768,8,0", Geometry{}, "cache line size is zero"},
		{"32768,0,0", Geometry{}, "cache line size is zero"},
		{"32768,0,64", Geometry{}, "cache associativity is zero"},
		{"0,8,64", Geometry{}, "cache set count is not a power of two"},
		{"32769,8,64", Geometry{}, "cache set count is not a power of two"},
		{"98304,8,64", Geometry{}, "cache set count is not a power of two"},
		{"256,8,64", Geometry{}, "cache set count is not a power of two"},
		{"1024,1024,64", Geometry{}, "cache set count is not a power of two"},
		{"-32768,8,64", Geometry{}, "cache set count is not a power of two"},
		{"24576,8,48", Geometry{}, "cache line size is not a power of two"},
		{"4096,-8,-64", Geometry{}, "cache line size is not a power of two"},
		{"4096,8,8", Geometry{}, "cache line size is too small (at least 16)"},
		{"64,1,64", Geometry{}, "cache size <= line size"},
		{"-4096,-8,64", Geometry{}, "cache size <= line size"},
	} {
		got, err := ParseGeometry(tt.text)
		if tt.err != "" {
			require.EqualError(t, err, "bad argument '"+tt.text+"': "+tt.err)
			continue
		}
		require.NoError(t, err, tt.text)
		require.Equal(t, tt.want, got)
		require.Equal(t, tt.text, got.String())
	}
}

// TestManual has the manual list the messages about a cache, and no others.
func TestManual(t *testing.T) {
	manual, err := os.ReadFile("../docs/manual.md")
	require.NoError(t, err)
	_, text, ok := strings.Cut(string(manual), "\n### Caches that are refused\n")
	require.True(t, ok)
	text, _, _ = strings.Cut(text, "\n## ")
	source, err := os.ReadFile("config.go")
	require.NoError(t, err)
	var listed, said []string
	for _, m := range regexp.MustCompile("`(cache [^`]*)`").FindAllStringSubmatch(text, -1) {
		listed = append(listed, m[1])
	}
	for _, m := range regexp.MustCompile(`New\("(cache [^"]*)"|Errorf\("(cache [^"]*) \(`).FindAllStringSubmatch(string(source), -1) {
		said = append(said, m[1]+m[2])
	}
	require.NotEmpty(t, listed)
	require.ElementsMatch(t, listed, said)
}

func TestConfigCheck(t *testing.T) {
	good, small := Geometry{1024, 2, 32}, Geometry{1024, 2, 16}
	require.NoError(t, Config{good, good, good}.Check())
	const message = "the minimum line size (16) must be equal to or larger than the maximum register size (32)"
	require.EqualError(t, Config{small, good, good}.Check(), message)
	require.EqualError(t, Config{good, small, good}.Check(), message)
	require.EqualError(t, Config{good, good, small}.Check(), message)
	require.EqualError(t, Config{good, good, Geometry{1024, 0, 64}}.Check(), "LL=1024,0,64: cache associativity is zero")
	for _, g := range []Geometry{{1 << 44, 16, 64}, {1 << 31, 16, 64}, {1024, 1 << 32, 64}, {1024, 2, 1 << 40}, {-1 << 40, -16, 64}} {
		require.EqualError(t, g.Check(), "one of the cache parameters was too large and overflowed (at most 2147483647)")
		require.Error(t, Config{good, good, g}.Check())
	}
	require.Equal(t, 32, Config{Geometry{1024, 2, 64}, good, Geometry{1024, 2, 128}}.MinLine())
}

// TestDescribe has the lines of Cachegrind's files.
func TestDescribe(t *testing.T) {
	c := Config{Geometry{32768, 8, 64}, Geometry{512, 2, 32}, Geometry{262144, 1, 64}}
	require.Equal(t, []string{
		"I1 cache:         32768 B, 64 B, 8-way associative",
		"D1 cache:         512 B, 32 B, 2-way associative",
		"LL cache:         262144 B, 64 B, direct-mapped",
	}, c.Describe())
}

func TestPresets(t *testing.T) {
	names := map[string]bool{}
	for _, p := range Presets {
		require.False(t, names[p.Name], p.Name)
		names[p.Name] = true
		require.NoError(t, p.Config.Check(), p.Name)
		require.NotEmpty(t, p.Source)
		c, err := PresetByName(p.Name)
		require.NoError(t, err)
		require.Equal(t, p.Config, c)
	}
	require.NotContains(t, names, "host", "means something else")
	c, err := PresetByName("default")
	require.NoError(t, err)
	require.Equal(t, Default, c)
	_, err = PresetByName("Athlon")
	require.ErrorContains(t, err, "bad argument 'Athlon': not one of host, default, athlon, ")
}

// hostFiles is a directory as Linux has it: a cache is level, type, size, ways, line.
func hostFiles(caches ...[5]string) fstest.MapFS {
	dir := fstest.MapFS{"uevent": {}}
	for i, c := range caches {
		for k, file := range []string{"level", "type", "size", "ways_of_associativity", "coherency_line_size"} {
			dir["index"+string(rune('0'+i))+"/"+file] = &fstest.MapFile{Data: []byte(c[k] + "\n")}
		}
	}
	return dir
}

func TestHostCaches(t *testing.T) {
	d1, i1 := [5]string{"1", "Data", "48K", "12", "64"}, [5]string{"1", "Instruction", "32K", "8", "64"}
	wantI1, wantD1 := Geometry{32768, 8, 64}, Geometry{49152, 12, 64}
	for _, tt := range []struct {
		name    string
		caches  [][5]string
		ll      Geometry
		warning string
	}{
		{"an L3", [][5]string{d1, i1, {"2", "Unified", "1024K", "16", "64"}, {"3", "Unified", "32768K", "16", "64"}}, Geometry{32 << 20, 16, 64}, ""},
		{"in another order", [][5]string{{"3", "Unified", "32768K", "16", "64"}, {"2", "Unified", "1024K", "16", "64"}, i1, d1}, Geometry{32 << 20, 16, 64}, ""},
		{"no L3", [][5]string{d1, i1, {"2", "Unified", "1024K", "16", "64"}}, Geometry{1 << 20, 16, 64}, ""},
		{"fully associative", [][5]string{d1, i1, {"2", "Unified", "64K", "0", "64"}}, Geometry{64 << 10, 1024, 64}, ""},
		// 24576 sets of 20 ways become 16384 of 30.
		{"sets that are no power of two", [][5]string{d1, i1, {"3", "Unified", "30720K", "20", "64"}}, Geometry{30 << 20, 30, 64},
			"the host's LL cache is 31457280,20,64; simulated is 31457280,30,64, which has a power of two of sets"},
		// 212992 sets of 20 ways become 131072 of 32.5, rounded up.
		{"and ways that must be rounded", [][5]string{d1, i1, {"3", "Unified", "266240K", "20", "64"}}, Geometry{64 * 33 * 131072, 33, 64},
			"the host's LL cache is 272629760,20,64; simulated is 276824064,33,64, which has a power of two of sets"},
	} {
		caches, err := readHost(hostFiles(tt.caches...))
		require.NoError(t, err, tt.name)
		got, warning, err := configOf(caches)
		require.NoError(t, err, tt.name)
		require.Equal(t, Config{wantI1, wantD1, tt.ll}, got, tt.name)
		require.Equal(t, tt.warning, warning, tt.name)
	}
}

func TestHostErrors(t *testing.T) {
	d1, i1 := [5]string{"1", "Data", "48K", "12", "64"}, [5]string{"1", "Instruction", "32K", "8", "64"}
	l2 := [5]string{"2", "Unified", "1024K", "16", "64"}
	for _, caches := range [][][5]string{nil, {d1, i1}, {d1, l2}, {i1, l2}} {
		read, err := readHost(hostFiles(caches...))
		require.NoError(t, err)
		_, _, err = configOf(read)
		require.EqualError(t, err, "the host does not describe its caches")
	}
	for _, bad := range [][5]string{
		{"one", "Data", "48K", "12", "64"}, {"1", "Data", "48M", "12", "64"}, {"1", "Data", "K", "12", "64"},
		{"1", "Data", "48K", "", "64"}, {"1", "Data", "48K", "12", "0"}, {"1", "Data", "0K", "12", "64"},
		{"1", "Data", "48K", "-1", "64"},
	} {
		_, err := readHost(hostFiles(bad))
		require.ErrorContains(t, err, "cache index0: ", "%q", bad)
	}
	missing := hostFiles(d1)
	delete(missing, "index0/level")
	_, err := readHost(missing)
	require.ErrorContains(t, err, "cache index0: ")
	// First-level caches are not made to fit.
	read, err := readHost(hostFiles([5]string{"1", "Data", "48K", "8", "64"}, i1, l2))
	require.NoError(t, err)
	_, _, err = configOf(read)
	require.EqualError(t, err, "D1=49152,8,64: cache set count is not a power of two")
}
