package dwarfmap

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
)

// Split DWARF (-gsplit-dwarf; DWARF 5, section 7.3.2, and GNU's form of it in version 4): the object has a skeleton of
// each unit, with its addresses, and names a file in which the rest is, unless a package (.dwp) has it.

// Attributes of skeletons.
const (
	atDwoName    = 0x76
	atGNUDwoName = 0x2130
	atGNUDwoID   = 0x2131
)

// A skeleton says where the rest of a unit is: in a file, as the unit with an identifier.
type skeleton struct {
	dir, file string
	id        uint64
	// rangesBase is what is added to the offsets that the rest has in .debug_ranges of the object.
	rangesBase uint64
}

// rest returns what has the entries of u: u itself, or, if it is a skeleton, a unit of another file.
func (o *Object) rest(u *infoUnit) (*debugInfo, *infoUnit) {
	if u.skeleton.file == "" {
		return o.info, u
	}
	d, r, err := o.openRest(u)
	if err != nil {
		o.fail(fmt.Errorf("inlined functions are unknown: %w", err))
		return nil, nil
	}
	return d, r
}

// openRest reads the file that a skeleton names.
func (o *Object) openRest(u *infoUnit) (*debugInfo, *infoUnit, error) {
	var problem error
	for _, d := range o.packages() {
		if r := d.packed(o, u.skeleton.id); r != nil {
			r.complete(u)
			return d, r, nil
		}
		problem = fmt.Errorf("%s has no unit %#x: it is of another build", d.pack.path, u.skeleton.id)
	}
	name := u.skeleton.file
	if !path.IsAbs(name) {
		name = path.Join(u.skeleton.dir, name)
	}
	if o.rests == nil {
		o.rests = map[string]*debugInfo{}
	}
	for _, file := range []string{name, path.Join(path.Dir(o.path), path.Base(name))} {
		if o.opts.Resolve != nil {
			var ok bool
			if file, ok = o.opts.Resolve(file); !ok {
				continue
			}
		}
		d, known := o.rests[file]
		if !known {
			var err error
			if d, err = o.loadRest(file); err != nil {
				if problem == nil || errors.Is(problem, fs.ErrNotExist) {
					problem = err
				}
				continue
			}
			o.rests[file] = d
		}
		if r := d.restOf(u); r != nil {
			return d, r, nil
		}
		problem = fmt.Errorf("%s has no unit %#x: it is of another build", file, u.skeleton.id)
	}
	return nil, nil, cmp.Or(problem, fmt.Errorf("%s: no such file", name))
}

// loadRest reads a file with units whose skeletons are in o.
func (o *Object) loadRest(file string) (*debugInfo, error) {
	d, m, err := o.openSplit(file)
	if err != nil {
		return nil, err
	}
	defer m.close()
	return d, d.index(o)
}

// openSplit opens a file of split DWARF, and reads its sections.
func (o *Object) openSplit(file string) (*debugInfo, *image, error) {
	f, err := o.opts.open(file)
	if err != nil {
		return nil, nil, err
	}
	m, err := newImage(f, file, o.room, o.opts.Done)
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	m.closer = f
	d, err := o.readInfo(m, ".dwo")
	if err != nil {
		m.close()
		return nil, nil, err
	}
	d.ranges, d.addrs, d.bias, d.lines, d.files = o.info.ranges, o.info.addrs, o.info.bias, o.info.lines, o.info.files
	return d, m, nil
}

// restOf returns the unit whose skeleton is u, nil if d has none.
func (d *debugInfo) restOf(u *infoUnit) *infoUnit {
	for _, r := range d.units {
		if r.skeleton.id != u.skeleton.id || r.skeleton.id == 0 {
			continue
		}
		if r.form.version >= 5 { // Offsets count from behind the headers of the tables, of which there is one each.
			r.strBase, r.rangesBase = cmp.Or(r.strBase, 8), cmp.Or(r.rangesBase, 12)
		}
		r.complete(u)
		return r
	}
	return nil
}

// complete sets what the skeleton of a unit says of it.
func (u *infoUnit) complete(skeleton *infoUnit) {
	u.low, u.addrBase, u.stmtList, u.gnuBase = skeleton.low, skeleton.addrBase, skeleton.stmtList, skeleton.skeleton.rangesBase
}
