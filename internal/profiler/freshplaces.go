package profiler

import (
	"iter"
	"slices"
	"sort"
)

// A freshPlace is the place of the addresses that begin with addr.
type freshPlace struct {
	addr uint64
	keptPlace
}

// freshPlaces are places in the order of their addresses, in chunks: most are asked for in that order, those of a later
// process in between. Nothing that was there is copied when they grow, but within a chunk.
type freshPlaces [][]freshPlace

// freshChunk is how many places a chunk may have.
const freshChunk = 512

// chunk returns the index of the last chunk that begins at va or in front of it, 0 if none does.
func (f freshPlaces) chunk(va uint64) int {
	return max(0, sort.Search(len(f), func(i int) bool { return f[i][0].addr > va })-1)
}

// behind returns the index of the first of some places that begins behind va.
func behind(places []freshPlace, va uint64) int {
	return sort.Search(len(places), func(i int) bool { return places[i].addr > va })
}

// find returns the place of an address, if one of the last place that begins in front of it has it.
func (f freshPlaces) find(va uint64) (p freshPlace, ok bool) {
	if len(f) == 0 {
		return p, false
	}
	c := f[f.chunk(va)]
	if i := behind(c, va) - 1; i >= 0 && va-c[i].addr < uint64(c[i].size) {
		return c[i], true
	}
	return p, false
}

// add adds a place that begins where none does.
func (f *freshPlaces) add(p freshPlace) {
	if len(*f) == 0 {
		*f = freshPlaces{append(make([]freshPlace, 0, freshChunk), p)}
		return
	}
	k := f.chunk(p.addr)
	c := (*f)[k]
	i := behind(c, p.addr)
	switch {
	case len(c) < freshChunk:
		(*f)[k] = slices.Insert(c, i, p)
	case i == freshChunk: // chunks are full where places come in order
		*f = slices.Insert(*f, k+1, append(make([]freshPlace, 0, freshChunk), p))
	default:
		*f = slices.Insert(*f, k+1, append(make([]freshPlace, 0, freshChunk), c[freshChunk/2:]...))
		(*f)[k] = c[:freshChunk/2]
		f.add(p)
	}
}

// all are the places.
func (f freshPlaces) all() iter.Seq[freshPlace] {
	return func(yield func(freshPlace) bool) {
		for _, c := range f {
			for _, p := range c {
				if !yield(p) {
					return
				}
			}
		}
	}
}
