package host

import (
	"bytes"
	"io/fs"
	"strings"
	"sync"
)

// Windows keeps of a file's mode whether it can be written to. Who may execute a file is found out by what is in it:
// ELF, or "#!". What a guest sets is remembered as long as cgemu runs.

// modes are the permissions that guests have set, and those found out, by path.
var modes = struct {
	sync.Mutex
	set   map[string]uint32
	found map[string]foundMode
}{set: map[string]uint32{}, found: map[string]foundMode{}}

// A foundMode is what was found out of a file that has had that size and time.
type foundMode struct {
	size, mtime int64
	mode        uint32
}

// permissions are those of the file at s.
func permissions(info fs.FileInfo, s spot) uint32 {
	if s.top == nil {
		return 0o600
	}
	modes.Lock()
	defer modes.Unlock()
	if mode, ok := modes.set[s.path()]; ok {
		return mode
	}
	switch {
	case info.IsDir():
		return 0o755
	case info.Mode()&fs.ModeSymlink != 0:
		return 0o777
	}
	mode := uint32(0o644)
	if info.Mode()&0o200 == 0 {
		mode = 0o444
	}
	f := modes.found[s.path()]
	if f.size != info.Size() || f.mtime != info.ModTime().UnixNano() {
		f = foundMode{info.Size(), info.ModTime().UnixNano(), 0}
		if executable(s) {
			f.mode = 0o111
		}
		modes.found[s.path()] = f
	}
	return mode | f.mode
}

// executable reports whether a file begins as programs do.
func executable(s spot) bool {
	f, err := s.top.root.Open(s.rel)
	if err != nil {
		return false
	}
	defer f.Close()
	b := make([]byte, 4)
	n, _ := f.Read(b)
	return bytes.HasPrefix(b[:n], []byte("#!")) || bytes.Equal(b[:n], []byte("\x7fELF"))
}

// setMode remembers the permissions of the file at s.
func setMode(s spot, mode uint32) error {
	modes.Lock()
	defer modes.Unlock()
	modes.set[s.path()] = mode & 0o7777
	return nil
}

// setOpenMode remembers the permissions of an open file.
func setOpenMode(o *file, mode uint32) error { return setMode(o.at, mode) }

// removed forgets what was at s; renamed remembers it, and what is below, as being elsewhere.
func removed(s spot) {
	modes.Lock()
	defer modes.Unlock()
	delete(modes.set, s.path())
}

func renamed(from, to spot) {
	modes.Lock()
	defer modes.Unlock()
	old := from.path()
	delete(modes.set, to.path())
	for p, mode := range modes.set {
		if rest, ok := strings.CutPrefix(p, old); ok && (rest == "" || rest[0] == '\\') {
			delete(modes.set, p)
			modes.set[to.path()+rest] = mode
		}
	}
}
