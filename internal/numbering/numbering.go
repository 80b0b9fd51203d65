// Package numbering numbers values: from 0 on, in the order in which they come.
//
// A map from values to numbers has each value a second time, beside a list of them, and leaves as much behind each time
// it grows. A Table has them once, and four bytes for each place of an index. Numbers do not depend on hashes, which
// are others in each process.
package numbering

import "hash/maphash"

// A Table is values with their numbers. The zero Table is empty.
type Table[K comparable] struct {
	values []K
	// index has numbers plus 1, each at the place that its value's hash says or at the first one behind that which was
	// free; 0 is free. Its size is a power of two, and at least twice the number of values.
	index []uint32
	last  int // the number that Number returned last: values come in runs
}

var seed = maphash.MakeSeed()

// minIndex is the smallest size of an index.
const minIndex = 16

// place returns the place in the index of k, or that where it belongs.
func (t *Table[K]) place(k K) int {
	last := len(t.index) - 1
	at := int(maphash.Comparable(seed, k)) & last
	for t.index[at] != 0 && t.values[t.index[at]-1] != k {
		at = (at + 1) & last
	}
	return at
}

// Find returns the number of k, -1 if it has none.
func (t *Table[K]) Find(k K) int {
	if len(t.index) == 0 {
		return -1
	}
	return int(t.index[t.place(k)]) - 1
}

// Number returns the number of k, which it has from now on. isNew says that it had none.
func (t *Table[K]) Number(k K) (n int, isNew bool) {
	if t.last < len(t.values) && t.values[t.last] == k {
		return t.last, false
	}
	if 2*len(t.values) >= len(t.index) {
		t.Grow(max(len(t.values), minIndex/2))
	}
	at := t.place(k)
	if i := t.index[at]; i != 0 {
		t.last = int(i - 1)
		return t.last, false
	}
	t.values = append(t.values, k)
	t.index[at] = uint32(len(t.values))
	t.last = len(t.values) - 1
	return t.last, true
}

// Grow makes room for n more values.
func (t *Table[K]) Grow(n int) {
	if need := len(t.values) + n; cap(t.values) < need {
		t.values = append(make([]K, 0, need), t.values...)
	}
	size := max(len(t.index), minIndex)
	for size < 2*cap(t.values) {
		size *= 2
	}
	if size == len(t.index) {
		return
	}
	t.index = make([]uint32, size)
	for i := range t.values {
		t.index[t.place(t.values[i])] = uint32(i + 1)
	}
}

// Len returns how many values there are.
func (t *Table[K]) Len() int { return len(t.values) }

// Value returns the value with a number, Values all of them, in the order of their numbers, not to be changed.
func (t *Table[K]) Value(n int) K { return t.values[n] }
func (t *Table[K]) Values() []K   { return t.values }
