// Package jitnames knows the functions that a program makes while it runs, from the files in which compilers of such
// code name them for Linux' perf: perf maps (/tmp/perf-PID.map, a line of text for each function) and jitdump files
// (jit-PID.dump, binary).
//
// A Parser reads such a file while it is written, in pieces of any size. Names has what is where: addresses are the
// guest's, and are used again when code was thrown away, so that of two functions at one address the one that was named
// later counts.
//
// Files are a program's, and may hold anything: what is kept of them is bounded, and what is wrong is left out and
// reported once.
package jitnames

// A Function is code with a name.
type Function struct {
	// It has the addresses [Lo, Hi).
	Lo, Hi uint64
	Name   string
}

const (
	// maxFunctions is how many functions are named at most, maxText how many bytes their names have together.
	maxFunctions = 1 << 20
	maxText      = 64 << 20
	// maxSize is the size of the largest function, in bytes, and maxName that of the longest name.
	maxSize = 1 << 28
	maxName = 1 << 12
	// pageBits is the binary logarithm of the size of the pages by which functions are found. maxPages is how many
	// pages functions lie on at most, each counting for itself, and maxOnPage how many on one: those that were named
	// last.
	pageBits  = 12
	maxPages  = 1 << 22
	maxOnPage = 1 << 10
)

// Names finds functions by address. The zero Names is empty.
type Names struct {
	// pages has the functions that lie on each page, in the order in which they were named.
	pages map[uint64][]*Function
	// What was added so far, and how many entries the pages have.
	functions, text, entries int
}

// Add adds a function, which replaces what there was at its addresses. It reports false if it is left out, since there
// are too many.
func (n *Names) Add(f Function) bool {
	if f.Hi <= f.Lo || f.Name == "" {
		return true // holds nothing, or says nothing
	}
	first, last := f.Lo>>pageBits, (f.Hi-1)>>pageBits
	if f.Hi-f.Lo > maxSize || n.functions == maxFunctions || n.text+len(f.Name) > maxText || n.entries+int(last-first+1) > maxPages {
		return false
	}
	if n.pages == nil {
		n.pages = map[uint64][]*Function{}
	}
	n.functions++
	n.text += len(f.Name)
	for p := first; p <= last; p++ {
		on, begin, end := n.pages[p], p<<pageBits, (p+1)<<pageBits-1
		kept := on[:0]
		for _, g := range on {
			// Of g there is something left on this page that f does not cover.
			if max(g.Lo, begin) < f.Lo || min(g.Hi-1, end) > f.Hi-1 {
				kept = append(kept, g)
			}
		}
		clear(on[len(kept):])
		if kept = append(kept, &f); len(kept) > maxOnPage {
			kept = append(kept[:0], kept[1:]...)
		}
		n.entries += len(kept) - len(on)
		n.pages[p] = kept
	}
	return true
}

// At returns the function at an address, and whether there is one.
func (n *Names) At(a uint64) (Function, bool) {
	on := n.pages[a>>pageBits]
	for i := len(on) - 1; i >= 0; i-- {
		if f := on[i]; a >= f.Lo && a < f.Hi {
			return *f, true
		}
	}
	return Function{}, false
}

// Clone returns a copy, to which other functions are added.
func (n *Names) Clone() Names {
	c := Names{functions: n.functions, text: n.text, entries: n.entries, pages: make(map[uint64][]*Function, len(n.pages))}
	for p, on := range n.pages {
		c.pages[p] = append([]*Function(nil), on...)
	}
	return c
}

// Len returns how many functions were added.
func (n *Names) Len() int { return n.functions }
