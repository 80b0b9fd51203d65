// Package cachesim simulates caches as Cachegrind does: two first-level caches, one for
// fetches (I1) and one for data (D1), and a last level (LL) that both go to when they miss.
package cachesim

// A Geometry says how a cache is built. Sizes in bytes; the number of sets, Size/Line/Assoc,
// is a power of two, and so is Line.
type Geometry struct {
	Size, Assoc, Line int
}

// A Config has the geometries of the three caches.
type Config struct {
	I1, D1, LL Geometry
}

// Default is the configuration that no option changes; it does not depend on the host.
var Default = Config{
	I1: Geometry{32768, 8, 64},
	D1: Geometry{32768, 8, 64},
	LL: Geometry{8388608, 16, 64},
}
