//go:build oracles && linux && amd64

package cgemu_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/cachesim"
)

// simulations are the caches with which programs are compared. Odd has all that is no power of two,
// and a direct-mapped LL.
var simulations = []struct {
	name   string
	caches cachesim.Config
}{
	{"default", bigCaches},
	{"small", smallCaches},
	{"odd", cachesim.Config{
		I1: cachesim.Geometry{Size: 16384, Assoc: 4, Line: 64}, D1: cachesim.Geometry{Size: 49152, Assoc: 12, Line: 64},
		LL: cachesim.Geometry{Size: 1048576, Assoc: 1, Line: 64},
	}},
}

// simReference is Cachegrind, as in reference, with both simulations.
func simReference(c cachesim.Config) []string {
	args := slices.DeleteFunc(slices.Clone(reference), func(arg string) bool { return arg == "--cache-sim=no" })
	return append(args, "--cache-sim=yes", "--branch-sim=yes", "--I1="+c.I1.String(), "--D1="+c.D1.String(), "--LL="+c.LL.String())
}

// sameDescriptions checks the desc lines of r against those of the file ref.
func sameDescriptions(t *testing.T, ref string, r ran) {
	t.Helper()
	b, err := os.ReadFile(ref)
	require.NoError(t, err)
	assert.Equal(t, descriptions(string(b)), descriptions(r.profile))
}

// TestOracleSimulatedStatic compares whole files of the static programs, and of more that stress
// caches and branches, with both simulations.
func TestOracleSimulatedStatic(t *testing.T) {
	t.Parallel()
	programs := staticPrograms(t)
	sources, err := filepath.Glob("testdata/simulation/*.c*")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(sources), 10)
	for _, src := range sources {
		compiler := "gcc"
		if strings.HasSuffix(src, ".cc") {
			compiler = "g++"
		}
		programs = append(programs, staticProgram{src, compiler + " -O0"}, staticProgram{src, compiler + " -O2"})
	}
	for _, p := range programs {
		t.Run(p.String(), func(t *testing.T) {
			dir := t.TempDir()
			p.build(t, dir)
			for _, sim := range simulations {
				t.Run(sim.name, func(t *testing.T) {
					ref := filepath.Join(dir, "ref."+sim.name)
					want := run(t, dir, []string{}, append(simReference(sim.caches), "--cachegrind-out-file="+ref, "./prog")...)
					got, r := guestRun(t, compat(t, cgemu.Config{
						Path: "./prog", Args: []string{"./prog"}, Dir: dir, Env: []string{preload}, Caches: &sim.caches, Branches: true,
					}))
					assert.Equal(t, want, got)
					assert.NotEmpty(t, got.stdout)
					sameDescriptions(t, ref, r)
					sameProfile(t, counted(t, ref), normal(r.profile))
				})
			}
		})
	}
}

// TestOracleGeometries compares one program with caches of every shape: direct-mapped and fully
// associative ones, ways that are no power of two, lines of up to 256 bytes, an LL that is smaller than
// D1 or has shorter lines, caches of two lines.
func TestOracleGeometries(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	staticProgram{"testdata/simulation/copy.c", "gcc -O2"}.build(t, dir)
	for _, caches := range [][3]string{
		{"512,1,32", "1024,1,64", "8192,1,128"},
		{"1024,32,32", "2048,32,64", "16384,256,64"},
		{"12288,3,64", "10240,5,32", "196608,6,128"},
		{"32768,8,64", "65536,2,32", "4096,2,64"},
		{"16384,4,256", "131072,16,128", "1048576,16,32"},
		{"64,1,32", "64,2,32", "128,1,64"},
		{"32768,8,64", "49152,12,64", "2162688,33,64"},
		{"4194304,16,64", "8388608,1,64", "16777216,4,64"},
	} {
		t.Run(strings.Join(caches[:], " "), func(t *testing.T) {
			var c cachesim.Config
			for i, g := range []*cachesim.Geometry{&c.I1, &c.D1, &c.LL} {
				var err error
				*g, err = cachesim.ParseGeometry(caches[i])
				require.NoError(t, err)
			}
			ref := filepath.Join(t.TempDir(), "ref")
			want := run(t, dir, []string{}, append(simReference(c), "--cachegrind-out-file="+ref, "./prog")...)
			got, r := guestRun(t, compat(t, cgemu.Config{
				Path: "./prog", Args: []string{"./prog"}, Dir: dir, Env: []string{preload}, Caches: &c, Branches: true,
			}))
			assert.Equal(t, want, got)
			sameDescriptions(t, ref, r)
			sameProfile(t, counted(t, ref), normal(r.profile))
		})
	}
}

// TestOracleSimulatedDynamic compares whole files of programs as they are installed. What AT_RANDOM
// and getrandom give a program is random under Valgrind, and in some runs of some programs a reference
// more or less misses for it: gzip with small caches has one miss of D1 more in one run of eight, when the
// highest three bits of AT_RANDOM's third byte are 0. One of many runs of Valgrind has to be equal; four were
// too few once.
func TestOracleSimulatedDynamic(t *testing.T) {
	t.Parallel()
	dir := files(t)
	for _, args := range [][]string{
		{"/bin/bash", "-c", `f() { echo $(( $1 * 2 )); }; for i in 1 2 3; do f $i; done; s=; for ((i = 0; i < 300; i++)); do s+=${i//7/q}; done; echo ${#s}`},
		{"/usr/bin/sort", "-S", "1M", "-n", "numbers"},
		{"/bin/gzip", "-nc", "text"},
		{"/usr/bin/sqlite3", ":memory:", "with recursive c(x) as (select 1 union all select x + 1 from c where x < 300) select x % 7, count(*), sum(x * x) from c group by 1 order by 3;"},
		{"/usr/bin/bc", "-q", "calc"},
		{"/usr/bin/mawk", "{ s[$1 % 10] += $1 } END { for (i in s) print i, s[i] }", "numbers"},
	} {
		for _, sim := range simulations {
			t.Run(filepath.Base(args[0])+" "+sim.name, func(t *testing.T) {
				ref := filepath.Join(dir, "ref")
				got, r := guestRun(t, compat(t, cgemu.Config{Args: args, Dir: dir, Env: []string{preload}, Caches: &sim.caches, Branches: true}))
				for range 24 {
					want := runReference(t, dir, simReference(sim.caches), nil, ref, args)
					require.Equal(t, want, got)
					if counted(t, ref) == normal(r.profile) {
						break
					}
				}
				sameDescriptions(t, ref, r)
				sameProfile(t, counted(t, ref), normal(r.profile))
			})
		}
	}
}
