package cachesim

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A Geometry says how a cache is built. Sizes in bytes; the number of sets, Size/Line/Assoc,
// is a power of two, and so is Line. No number is more than 2147483647.
type Geometry struct {
	Size, Assoc, Line int
}

// A Config has the geometries of the three caches.
type Config struct {
	I1, D1, LL Geometry
}

// Limits of a Geometry.
const (
	// minLine keeps the longest instruction, 15 bytes, within two lines: Cachegrind's limit.
	minLine = 16
	// maxRegister is the size of the largest register: a reference to as much memory has to fit
	// two lines.
	maxRegister = 32
)

// ParseGeometry parses "size,assoc,line", as Cachegrind's options have it, and checks it.
func ParseGeometry(s string) (Geometry, error) {
	fields := strings.Split(s, ",")
	if len(fields) != 3 {
		return Geometry{}, fmt.Errorf("bad argument '%s': size,assoc,line expected", s)
	}
	var n [3]int
	var tooLarge error
	for i, field := range fields {
		v, err := strconv.ParseInt(field, 10, 32)
		switch {
		case errors.Is(err, strconv.ErrRange):
			tooLarge = errTooLarge
		case err != nil:
			return Geometry{}, fmt.Errorf("bad argument '%s': %q is no number", s, field)
		}
		n[i] = int(v)
	}
	g := Geometry{n[0], n[1], n[2]}
	if err := cmp.Or(tooLarge, g.Check()); err != nil {
		return Geometry{}, fmt.Errorf("bad argument '%s': %w", s, err)
	}
	return g, nil
}

// errTooLarge is of numbers that Cachegrind's do not hold, and of caches as large as the memory of hosts.
var errTooLarge = fmt.Errorf("one of the cache parameters was too large and overflowed (at most %d)", math.MaxInt32)

// Check returns what is wrong with g, in Cachegrind's words and order. Its last message, "cache associativity > (size /
// line size)", is left out: then the number of sets is no whole number, which is found before.
func (g Geometry) Check() error {
	for _, n := range []int{g.Size, g.Assoc, g.Line} {
		if n != int(int32(n)) {
			return errTooLarge
		}
	}
	switch {
	case g.Line == 0:
		return errors.New("cache line size is zero")
	case g.Assoc == 0:
		return errors.New("cache associativity is zero")
	case g.Size%g.Line != 0, g.Size/g.Line%g.Assoc != 0, !powerOfTwo(g.Size / g.Line / g.Assoc): // more ways than lines, too
		return errors.New("cache set count is not a power of two")
	case !powerOfTwo(g.Line):
		return errors.New("cache line size is not a power of two")
	case g.Line < minLine:
		return fmt.Errorf("cache line size is too small (at least %d)", minLine)
	case g.Size <= g.Line:
		return errors.New("cache size <= line size")
	}
	return nil
}

// Sets is the number of sets.
func (g Geometry) Sets() int { return g.Size / g.Line / g.Assoc }

// String returns what ParseGeometry parses.
func (g Geometry) String() string { return fmt.Sprintf("%d,%d,%d", g.Size, g.Assoc, g.Line) }

// Describe says in words what g is, as Cachegrind's files do.
func (g Geometry) Describe() string {
	ways := "direct-mapped"
	if g.Assoc > 1 {
		ways = fmt.Sprintf("%d-way associative", g.Assoc)
	}
	return fmt.Sprintf("%d B, %d B, %s", g.Size, g.Line, ways)
}

// Describe returns the texts of a profile's desc lines.
func (c Config) Describe() []string {
	return []string{
		"I1 cache:         " + c.I1.Describe(),
		"D1 cache:         " + c.D1.Describe(),
		"LL cache:         " + c.LL.Describe(),
	}
}

// MinLine is the size of the shortest line. No reference is longer: what is, counts as one of
// so many bytes (docs/counting.md, "Data references").
func (c Config) MinLine() int { return min(c.I1.Line, c.D1.Line, c.LL.Line) }

// Check returns what is wrong with c: with one of the caches, or with the three together.
func (c Config) Check() error {
	for _, cache := range []struct {
		name string
		g    Geometry
	}{{"I1", c.I1}, {"D1", c.D1}, {"LL", c.LL}} {
		if err := cache.g.Check(); err != nil {
			return fmt.Errorf("%s=%v: %w", cache.name, cache.g, err)
		}
	}
	if line := c.MinLine(); line < maxRegister {
		return fmt.Errorf("the minimum line size (%d) must be equal to or larger than the maximum register size (%d)",
			line, maxRegister)
	}
	return nil
}

func powerOfTwo(n int) bool { return n > 0 && n&(n-1) == 0 }
