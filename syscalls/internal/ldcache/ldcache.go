// Package ldcache reads and writes /etc/ld.so.cache, in which glibc's dynamic linker finds libraries.
//
// The linker searches the file, so what it executes depends on which libraries are in there, those that the program has
// nothing to do with included. For makes a cache that depends on the program alone: what is searched for and is not
// there is then looked for in the linker's own directory, as it would be without a cache.
//
// The format is that of ldconfig(8) since glibc 2.2 ("glibc-ld.so.cache1.1"), in the byte order of x86. What is in
// front of it for older linkers is skipped; of the extensions (since glibc 2.33) the names of subdirectories for CPUs
// are kept.
package ldcache

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// An Entry is a library.
type Entry struct {
	Flags        uint32
	Soname, Path string
	OSVersion    uint32
	HWCap        uint64
	// HWCapName is the subdirectory that HWCap names, if that is an index of the extension.
	HWCapName string
}

const (
	magic      = "glibc-ld.so.cache1.1"
	oldMagic   = "ld.so-1.7.0"
	headerSize = 48
	entrySize  = 24

	littleEndian = 2
	// x8664 are the flags of libraries for x86-64 and glibc 2: others the linker passes over.
	x8664 = 0x303

	extensionMagic  = 0xeaa42174
	extensionHWCaps = 1
	// hwcapExtension says in HWCap that the lower half is an index of names.
	hwcapExtension = 1 << 62
)

var le = binary.LittleEndian

// errFormat is for what is no cache.
var errFormat = errors.New("ldcache: not a cache of glibc's dynamic linker")

// Read returns the entries of a cache, in their order.
func Read(text []byte) ([]Entry, error) {
	if bytes.HasPrefix(text, []byte(oldMagic)) {
		i := bytes.Index(text, []byte(magic))
		if i < 0 {
			return nil, errFormat
		}
		text = text[i:]
	}
	if len(text) < headerSize || string(text[:len(magic)]) != magic {
		return nil, errFormat
	}
	n := uint64(le.Uint32(text[20:]))
	if headerSize+n*entrySize > uint64(len(text)) {
		return nil, fmt.Errorf("ldcache: %d entries do not fit into %d bytes", n, len(text))
	}
	caps := readHWCaps(text)
	out := make([]Entry, n)
	for i := range out {
		b := text[headerSize+i*entrySize:]
		e := Entry{Flags: le.Uint32(b), OSVersion: le.Uint32(b[12:]), HWCap: le.Uint64(b[16:])}
		var ok1, ok2 bool
		e.Soname, ok1 = str(text, le.Uint32(b[4:]))
		e.Path, ok2 = str(text, le.Uint32(b[8:]))
		if !ok1 || !ok2 {
			return nil, fmt.Errorf("ldcache: entry %d has no name", i)
		}
		if e.HWCap&hwcapExtension != 0 {
			if at := uint64(uint32(e.HWCap)); at < uint64(len(caps)) {
				e.HWCapName = caps[at]
			}
		}
		out[i] = e
	}
	return out, nil
}

// str is the text at offset at.
func str(text []byte, at uint32) (string, bool) {
	if uint64(at) >= uint64(len(text)) {
		return "", false
	}
	s, _, ok := bytes.Cut(text[at:], []byte{0})
	return string(s), ok
}

// readHWCaps returns the names that entries have as indices: none if there is no such extension, or it is broken.
func readHWCaps(text []byte) (out []string) {
	at := uint64(le.Uint32(text[32:]))
	if at == 0 || at+8 > uint64(len(text)) || le.Uint32(text[at:]) != extensionMagic {
		return nil
	}
	sections := text[at+8:]
	for range le.Uint32(text[at+4:]) {
		if len(sections) < 16 {
			return nil
		}
		tag, off, size := le.Uint32(sections), uint64(le.Uint32(sections[8:])), uint64(le.Uint32(sections[12:]))
		sections = sections[16:]
		if tag != extensionHWCaps || off+size > uint64(len(text)) {
			continue
		}
		for b := text[off : off+size]; len(b) >= 4; b = b[4:] {
			s, _ := str(text, le.Uint32(b))
			out = append(out, s)
		}
	}
	return out
}

// Write makes a cache of entries, whose order has to be that of a cache: the linker searches it by halves.
func Write(entries []Entry) []byte {
	var caps []string
	index := map[string]uint32{}
	for _, e := range entries {
		if _, known := index[e.HWCapName]; e.HWCap&hwcapExtension != 0 && !known {
			index[e.HWCapName] = uint32(len(caps))
			caps = append(caps, e.HWCapName)
		}
	}
	fixed := headerSize + len(entries)*entrySize
	var strs []byte
	at := map[string]uint32{}
	add := func(s string) uint32 {
		if _, ok := at[s]; !ok {
			at[s] = uint32(fixed + len(strs))
			strs = append(append(strs, s...), 0)
		}
		return at[s]
	}
	out := append(make([]byte, 0, fixed), magic...)
	out = le.AppendUint32(out, uint32(len(entries)))
	out = append(out, make([]byte, headerSize-len(out))...)
	out[28] = littleEndian
	for _, e := range entries {
		hwcap := e.HWCap
		if hwcap&hwcapExtension != 0 {
			hwcap = hwcap>>32<<32 | uint64(index[e.HWCapName])
		}
		out = le.AppendUint32(out, e.Flags)
		out = le.AppendUint32(out, add(e.Soname))
		out = le.AppendUint32(out, add(e.Path))
		out = le.AppendUint32(out, e.OSVersion)
		out = le.AppendUint64(out, hwcap)
	}
	names := make([]uint32, len(caps))
	for i, s := range caps {
		names[i] = add(s)
	}
	for len(strs)%4 != 0 {
		strs = append(strs, 0)
	}
	le.PutUint32(out[24:], uint32(len(strs)))
	out = append(out, strs...)
	if len(caps) == 0 {
		return out
	}
	le.PutUint32(out[32:], uint32(len(out)))
	const directory = 8 + 16
	for _, x := range []uint32{extensionMagic, 1, extensionHWCaps, 0, uint32(len(out) + directory), uint32(4 * len(caps))} {
		out = le.AppendUint32(out, x)
	}
	for _, x := range names {
		out = le.AppendUint32(out, x)
	}
	return out
}

// For returns what of a cache a program needs: the libraries that it and these ask for, and all that are not in the
// directory in which the linker looks in any case. needed returns the names of the libraries that a file asks for;
// standard reports whether the linker finds the library at a path without a cache.
func For(entries []Entry, program string, needed func(path string) []string, standard func(path string) bool) []Entry {
	bySoname := map[string][]Entry{}
	for _, e := range entries {
		bySoname[e.Soname] = append(bySoname[e.Soname], e)
	}
	keep, seen := map[string]bool{}, map[string]bool{program: true}
	for todo := []string{program}; len(todo) > 0; todo = todo[1:] {
		for _, name := range needed(todo[0]) {
			keep[name] = true
			for _, e := range bySoname[name] {
				if !seen[e.Path] {
					seen[e.Path] = true
					todo = append(todo, e.Path)
				}
			}
		}
	}
	for name, list := range bySoname {
		for _, e := range list {
			if e.Flags == x8664 && !keep[name] && !standard(e.Path) {
				keep[name] = true
			}
		}
	}
	var out []Entry
	for _, e := range entries {
		if keep[e.Soname] && e.Flags == x8664 {
			out = append(out, e)
		}
	}
	return out
}
