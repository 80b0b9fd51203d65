package dwarfmap

import (
	"bytes"
	"fmt"
	"path"
)

// Files that dwz has made smaller have what several of them say in one other file, which .gnu_debugaltlink names: forms
// of GNU's, DW_FORM_GNU_ref_alt and DW_FORM_GNU_strp_alt, refer to its entries and names.

// loadAlt reads that file, nil if m names none, or it cannot be read.
func (o *Object) loadAlt(m *image) *debugInfo {
	link, err := m.data(".gnu_debugaltlink")
	name, id, ok := bytes.Cut(link, []byte{0})
	if err != nil || !ok || len(name) == 0 || isDone(o.opts.Done) {
		o.fail(err)
		return nil
	}
	d, err := o.openAlt(m, string(name), fmt.Sprintf("%x", id))
	if err != nil {
		o.fail(fmt.Errorf("some inlined functions are unknown: %w", err))
		return nil
	}
	return d
}

// openAlt opens the file by its name, which counts from where m is, or by its build-id where debug files are.
func (o *Object) openAlt(m *image, name, id string) (*debugInfo, error) {
	if !path.IsAbs(name) {
		name = path.Join(path.Dir(m.path), name)
	}
	var paths []string
	if o.opts.Resolve == nil {
		paths = []string{name}
	} else if file, ok := o.opts.Resolve(name); ok {
		paths = []string{file}
	}
	if len(id) > 2 {
		for _, root := range append([]string{debugRoot}, o.opts.ExtraDebugPaths...) {
			paths = append(paths, path.Join(root, ".build-id", id[:2], id[2:]+".debug"))
		}
	}
	var f *image
	for _, file := range paths {
		if f = o.openDebug(file, id, 0); f != nil {
			break
		}
	}
	if f == nil {
		f = o.fetchDebug(id)
	}
	if f == nil {
		return nil, fmt.Errorf("%s: there is no such file with the build-id %s", name, id)
	}
	defer f.close()
	d, err := o.readInfo(f, "")
	if err != nil {
		return nil, err
	}
	return d, o.readAlt(d, f)
}

// readAlt reads the units of an alternate file, and the headers of its line tables, which have the names of files.
func (o *Object) readAlt(d *debugInfo, m *image) error {
	data, err := m.data(".debug_line")
	if err != nil {
		return err
	}
	dirs, err := compilationDirs(m, d.form)
	if err != nil {
		return err
	}
	d.files = &lineTable{form: d.form, room: o.room, fail: o.fail, dirs: func() map[uint64][]byte { return dirs }}
	for c := (cursor{data: data}); len(c.data) > 0; {
		off := uint64(len(data) - len(c.data))
		unit, offSize := c.unit()
		if u, err := parseHeader(unit, offSize); err == nil && !c.bad && o.room.take(256) {
			u.off = off
			d.lines[off] = u
		}
	}
	return d.index(o)
}
