package cgemu

import (
	"maps"
	"slices"

	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/dwarfmap"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
)

// A costs turns counts by code address into costs of source lines. An address is
// looked up in the file that is mapped there when its count arrives, so counts must arrive
// before the mapping changes.
type costs struct {
	profile *cgout.Profile
	names   dwarfmap.Options
	// hostPath returns the host's path of a guest file.
	hostPath func(guest string) string
	objects  map[string]*dwarfmap.Object // nil for a file that could not be read
	warnings []error
	// columns has the profile's column of each event.
	columns [numEvents]int
	counts  []uint64 // of the last add: all zero
	// The mapping of the last add, and its file: counts come in runs.
	last   mem.VMA
	object *dwarfmap.Object
}

// unknown is the place of code that is in no file, or in one without names.
var unknown = dwarfmap.Loc{File: dwarfmap.Unknown, Func: dwarfmap.Unknown}

func newCosts(p *cgout.Profile, cfg *Config) *costs {
	c := &costs{profile: p, names: cfg.Names, objects: map[string]*dwarfmap.Object{}, counts: make([]uint64, len(p.Events))}
	for i, col := range cfg.columns() {
		c.columns[col.event] = i
	}
	return c
}

// add adds n events of the instruction at a in m.
func (c *costs) add(m *mem.Space, a emu.Addr, e emu.Event, n uint64) {
	loc := c.place(m, a)
	col := c.columns[e]
	c.counts[col] = n
	c.profile.Add(loc.File, loc.Func, loc.Line, c.counts...)
	c.counts[col] = 0
}

// take returns the costs so far, and begins anew.
func (c *costs) take() *cgout.Profile {
	p := c.profile
	c.profile = cgout.New(p.Events...)
	c.profile.Cmd, c.profile.Desc = p.Cmd, slices.Clone(p.Desc)
	estimateCycles(p)
	return p
}

// place returns the source place of the instruction at a.
func (c *costs) place(m *mem.Space, a emu.Addr) dwarfmap.Loc {
	if a < c.last.Lo || a >= c.last.Hi {
		c.last, c.object = mem.VMA{}, nil
		if v := m.VMA(a); v != nil && v.File {
			c.last, c.object = *v, c.open(v.Path)
		}
	}
	if c.object != nil {
		if va, ok := c.object.VAddr(c.last.Off + uint64(a-c.last.Lo)); ok {
			return c.object.Lookup(va)
		}
	}
	return unknown
}

// remap forgets the last mapping: it may have changed.
func (c *costs) remap() { c.last, c.object = mem.VMA{}, nil }

// open returns the object of a guest file, or nil if it has no names to give.
func (c *costs) open(path string) *dwarfmap.Object {
	o, ok := c.objects[path]
	if !ok {
		var err error
		if o, err = dwarfmap.Open(c.hostPath(path), c.names); err != nil {
			c.warnings = append(c.warnings, err)
			o = nil
		}
		c.objects[path] = o
	}
	return o
}

// close closes the files and returns what was wrong with them.
func (c *costs) close() []error {
	for _, path := range slices.Sorted(maps.Keys(c.objects)) {
		if o := c.objects[path]; o != nil {
			if err := o.Err(); err != nil {
				c.warnings = append(c.warnings, err)
			}
			o.Close()
		}
	}
	return c.warnings
}
