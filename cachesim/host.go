package cachesim

import (
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"path"
	"strconv"
	"strings"
)

// hostDir is where Linux describes the caches of the first CPU, a directory for each
// (Documentation/ABI/testing/sysfs-devices-system-cpu). It asks CPUID as Cachegrind does, and
// more carefully, so cgemu asks Linux. Where the two disagree (the L3 of an AMD CPU with several
// core complexes) this is what one core has.
const hostDir = "/sys/devices/system/cpu/cpu0/cache"

// A hostCache is a cache as the host describes it.
type hostCache struct {
	level int
	kind  string // "Data", "Instruction" or "Unified"
	Geometry
}

// readHost reads the descriptions below a directory.
func readHost(dir fs.FS) ([]hostCache, error) {
	names, err := fs.Glob(dir, "index*")
	if err != nil {
		return nil, err
	}
	var caches []hostCache
	for _, name := range names {
		var c hostCache
		text := func(file string) string {
			b, readErr := fs.ReadFile(dir, path.Join(name, file))
			err = errors.Join(err, readErr)
			return strings.TrimSpace(string(b))
		}
		number := func(s string) int {
			n, atoiErr := strconv.Atoi(s)
			err = errors.Join(err, atoiErr)
			return n
		}
		c.level, c.kind = number(text("level")), text("type")
		kib, ok := strings.CutSuffix(text("size"), "K")
		if !ok {
			err = errors.Join(err, errors.New("size is not in KiB"))
		}
		c.Size = number(kib) << 10
		c.Assoc, c.Line = number(text("ways_of_associativity")), number(text("coherency_line_size"))
		if err != nil {
			return nil, fmt.Errorf("cache %s: %w", name, err)
		}
		if c.Line <= 0 || c.Assoc < 0 || c.Size < c.Line {
			return nil, fmt.Errorf("cache %s: %v makes no cache", name, c.Geometry)
		}
		if c.Assoc == 0 { // fully associative
			c.Assoc = c.Size / c.Line
		}
		caches = append(caches, c)
	}
	return caches, nil
}

// configOf makes a configuration of a host's caches: the first-level ones, and the unified one of
// the highest level. warning says how LL differs from the host's, if it does.
func configOf(caches []hostCache) (cfg Config, warning string, err error) {
	level := 0
	for _, c := range caches {
		switch {
		case c.level == 1 && c.kind == "Instruction":
			cfg.I1 = c.Geometry
		case c.level == 1 && c.kind == "Data":
			cfg.D1 = c.Geometry
		case c.kind == "Unified" && c.level > level:
			cfg.LL, level = c.Geometry, c.level
		}
	}
	none := Geometry{}
	if cfg.I1 == none || cfg.D1 == none || cfg.LL == none {
		return Config{}, "", errors.New("the host does not describe its caches")
	}
	if ll := simulable(cfg.LL); ll != cfg.LL {
		warning = fmt.Sprintf("the host's LL cache is %v; simulated is %v, which has a power of two of sets", cfg.LL, ll)
		cfg.LL = ll
	}
	return cfg, warning, cfg.Check()
}

// simulable returns a geometry near g that has a power of two of sets: fewer sets of more ways, as
// Cachegrind chooses them.
func simulable(g Geometry) Geometry {
	sets := g.Sets()
	if sets > 0 && !powerOfTwo(sets) {
		fewer := 1 << (bits.Len(uint(sets)) - 1)
		g.Assoc = (2*g.Assoc*sets + fewer) / (2 * fewer) // rounded, a half up
		sets = fewer
	}
	g.Size = g.Line * g.Assoc * sets
	return g
}
