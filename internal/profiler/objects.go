package profiler

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/cgemu/cgemu/dwarfmap"
	"github.com/cgemu/cgemu/internal/funcwatch"
)

// Objects has the files that code comes from, for all processes of a run: names are read once.
type Objects struct {
	// Names says how source places are named.
	Names dwarfmap.Options
	// HostPath returns the host's path of a guest file, if there is one.
	HostPath func(guest string) (string, bool)
	// Stat, if set, describes an object as it is now: how long it is, and when it was changed. Otherwise the file says
	// that which the names are read from.
	Stat func(guest string) (size int64, changed time.Time, err error)
	// Keeper, if set, keeps names for later runs; not where Stat, Names.Open or Names.Fetch is.
	Keeper   Keeper
	files    map[objectID]*object // nil for a file that could not be read
	warnings []error
	// linkage says that entries of procedure linkage tables have names.
	linkage bool
}

// An objectID is a file as it was at some time: a build may make another under its name.
type objectID struct {
	path string
	size int64
	time time.Time
}

// NewObjects returns Objects that name source places by names. HostPath is to be set before the first file is opened.
func NewObjects(names dwarfmap.Options) *Objects {
	return &Objects{Names: names, files: map[objectID]*object{}}
}

// open returns the object that is a guest file now, or nil if it has no names to give.
func (s *Objects) open(guest string) *object {
	host, ok := s.HostPath(guest)
	if !ok {
		s.Warn(fmt.Errorf("%s: %w", guest, fs.ErrNotExist))
		return nil
	}
	id := objectID{path: host}
	var err error
	if s.Stat != nil {
		id.size, id.time, _ = s.Stat(guest)
	} else if info, err := s.stat(host); err == nil {
		id.size, id.time = info.Size(), info.ModTime()
	}
	o, ok := s.files[id]
	if !ok {
		if o, err = s.read(id.path); err != nil {
			s.Warn(err)
		}
		s.files[id] = o
	}
	return o
}

// read opens the object at a path of the host.
func (s *Objects) read(path string) (*object, error) {
	own := s.identify(path)
	o, err := dwarfmap.Open(path, s.Names)
	if err != nil {
		return nil, err
	}
	out := &object{Object: o}
	if own != "" {
		n := s.Names
		way := fmt.Sprintf("%v %q %q %v %v", n.Demangle, n.FullpathAfter, n.ExtraDebugPaths, n.ShowBelowMain, s.linkage)
		out.names = newKeptNames(s.Keeper, o, path, own, way)
	}
	return out, nil
}

// identify returns the identity of the object at a path, "" if its names are not kept.
func (s *Objects) identify(path string) string {
	if s.Keeper == nil || s.Stat != nil || s.Names.Open != nil || s.Names.Fetch != nil {
		return ""
	}
	return s.Keeper.Identify(path)
}

// Warn keeps what was wrong with something that names code.
func (s *Objects) Warn(err error) { s.warnings = append(s.warnings, err) }

// stat describes a file.
func (s *Objects) stat(name string) (fs.FileInfo, error) {
	if s.Names.Open == nil {
		return os.Stat(name)
	}
	f, err := s.Names.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Stat()
}

// Paths returns the host's paths of all files that were opened, sorted.
func (s *Objects) Paths() []string {
	var out []string
	for id := range s.files {
		out = append(out, id.path)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// A Hint is what a pattern that matches no function (see Regions) may have meant in an object: a function that was
// inlined, by debug information, or one whose name the pattern has in part, Qualified, the shortest of them.
type Hint struct{ Object, Inlined, Qualified string }

// Hint looks for what a pattern may have meant, in the objects at the paths of first before others.
func (s *Objects) Hint(pattern string, first []string) (h Hint, found bool) {
	ids := s.sorted()
	slices.SortStableFunc(ids, func(a, b objectID) int {
		return cmp.Compare(slices.Index(first, b.path), slices.Index(first, a.path))
	})
	for _, id := range ids {
		o := s.files[id]
		if o == nil {
			continue
		}
		h = Hint{Object: id.path}
		o.InlinedSymbols(func(symbol string) bool {
			if f := (funcwatch.Function{Symbol: symbol}); f.Matches(pattern) {
				h.Inlined = dwarfmap.Demangled(symbol)
			}
			return h.Inlined == ""
		})
		if h.Inlined != "" {
			return h, true
		}
		o.Functions(func(_ uint64, symbol string) {
			f := funcwatch.Function{Symbol: symbol}
			name, ok := f.Qualified(pattern)
			if ok && (h.Qualified == "" || cmp.Or(cmp.Compare(len(name), len(h.Qualified)), cmp.Compare(name, h.Qualified)) < 0) {
				h.Qualified = name
			}
		})
		if h.Qualified != "" {
			return h, true
		}
	}
	return Hint{}, false
}

// sorted are the files that were opened, in order.
func (s *Objects) sorted() []objectID {
	ids := make([]objectID, 0, len(s.files))
	for id := range s.files {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b objectID) int {
		return cmp.Or(cmp.Compare(a.path, b.path), a.time.Compare(b.time), cmp.Compare(a.size, b.size))
	})
	return ids
}

// Close closes the files and returns what was wrong with them.
func (s *Objects) Close() []error {
	for _, id := range s.sorted() {
		if o := s.files[id]; o != nil {
			if err := o.Err(); err != nil {
				s.Warn(err)
			}
			if o.names != nil && !done(s.Names.Done) {
				o.names.close(o.Object, s.identify(id.path))
			}
			o.Close()
		}
	}
	return s.warnings
}

// done reports whether a channel is closed.
func done(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
