package record

import (
	"archive/tar"
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/vfs"
)

// Bounds of what is read of an archive into memory at once.
const (
	maxManifest = 64 << 20
	maxLine     = 16 << 20
	maxEtc      = 64 << 20
	nameMax     = 255
	maxMembers  = 1 << 22
)

// A Recording is an archive that a Recorder has written.
type Recording struct {
	System System
	// Run is what the callers of Finish had to remember.
	Run json.RawMessage
	// file is the archive, which closer closes.
	file   *io.SectionReader
	closer io.Closer
	root   *inode
	// inodes are the files by number, members where contents are by name.
	inodes  map[uint64]*inode
	members map[string]span
	// missing is the first name or content that was asked for and that the recorded run never looked at. It is not
	// noted while tolerant is set.
	missing  string
	tolerant bool
	// name is the archive's, "" if it has none. networkError is why its network did not answer.
	name         string
	networkError error
	// fs is the file system that was made last.
	fs *archived
}

// A span is where a member's content is.
type span struct{ off, size int64 }

// An inode is a file of a Recording.
type inode struct {
	entry
	in *inode // a directory's directory
	// names are a directory's: one that is nil was not there. failed are those that led to another error than that.
	names  map[string]*inode
	failed map[string]linux.Errno
	data   span
}

// Open opens an archive. Contents are read when they are needed.
func Open(name string) (*Recording, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("a regular file is expected, as it is read in no order")
	}
	var r *Recording
	if err == nil {
		r, err = Read(f, info.Size())
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r.closer, r.name = f, name
	return r, nil
}

// Read reads an archive of size bytes, which is needed as long as the Recording is.
func Read(in io.ReaderAt, size int64) (*Recording, error) {
	r := &Recording{file: io.NewSectionReader(in, 0, size), inodes: map[uint64]*inode{}, members: map[string]span{}}
	return r, r.read()
}

// Close closes the archive that Open has opened.
func (r *Recording) Close() error { return r.closer.Close() }

// Missing is what was asked for and is not in the archive, "" if all was there: the run is not the one that was
// recorded.
func (r *Recording) Missing() string { return r.missing }

// Tolerate calls f, which may ask for what the recorded run never looked at.
func (r *Recording) Tolerate(f func()) {
	was := r.tolerant
	r.tolerant = true
	f()
	r.tolerant = was
}

func (r *Recording) misses(name string) {
	if r.missing == "" && !r.tolerant {
		r.missing = name
	}
}

var (
	errNotOurs = errors.New("it is no recording of cgemu --record")
	errCut     = errors.New("the recording is not whole: its end is missing")
)

// read reads everything but contents.
func (r *Recording) read() error {
	if err := r.findMembers(r.file.Size()); err != nil {
		return err
	}
	at, ok := r.members[manifestName]
	switch {
	case !ok && len(r.members) == 0:
		return errNotOurs
	case !ok:
		return errCut
	case at.size > maxManifest:
		return fmt.Errorf("%s: more than %d bytes", manifestName, maxManifest)
	}
	var m manifest
	if err := json.NewDecoder(r.at(at)).Decode(&m); err != nil {
		return fmt.Errorf("%s: %w", manifestName, err)
	}
	if in := &m.System.Stdin; in.Kind == StdinFile && (in.Stat == nil || uint32(in.Stat.Mode)&linux.S_IFMT != linux.S_IFREG) {
		return fmt.Errorf("%s: nothing is said of standard input", manifestName)
	}
	if m.Format != format {
		return fmt.Errorf("it has format %d, and this cgemu reads format %d: replay it with the version that recorded it", m.Format, format)
	}
	r.System, r.Run = m.System, m.Run
	return r.readEntries()
}

// at reads a member.
func (r *Recording) at(s span) *io.SectionReader { return io.NewSectionReader(r.file, s.off, s.size) }

// findMembers notes where each member's content is.
func (r *Recording) findMembers(size int64) error {
	in := tar.NewReader(r.file)
	for {
		h, err := in.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			if len(r.members) == 0 {
				return errNotOurs
			}
			if errors.Is(err, io.ErrUnexpectedEOF) {
				return errCut
			}
			return fmt.Errorf("as a tar file: %w", err)
		}
		off, err := r.file.Seek(0, io.SeekCurrent)
		if err != nil {
			return err
		}
		for key := range h.PAXRecords {
			if strings.HasPrefix(key, "GNU.sparse.") {
				return fmt.Errorf("%q is a sparse member: the archive was packed again; replay the file that --record wrote", h.Name)
			}
		}
		if _, twice := r.members[h.Name]; twice {
			return fmt.Errorf("%q is there twice", h.Name)
		}
		switch {
		case h.Typeflag != tar.TypeReg:
			return fmt.Errorf("%q is no regular member: the archive was packed again; replay the file that --record wrote", h.Name)
		case h.Size < 0 || off > size || h.Size > size-off:
			return errCut
		case len(r.members) >= maxMembers:
			return fmt.Errorf("more than %d members", maxMembers)
		}
		r.members[h.Name] = span{off, h.Size}
	}
}

// readEntries makes the tree of files.
func (r *Recording) readEntries() error {
	at, ok := r.members[filesName]
	if !ok {
		return errCut
	}
	lines := bufio.NewScanner(r.at(at))
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		var e entry
		err := json.Unmarshal(lines.Bytes(), &e)
		if err == nil {
			err = r.add(e)
		}
		if err != nil {
			return fmt.Errorf("%s: line %d: %w", filesName, n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", filesName, err)
	}
	if r.root == nil {
		return fmt.Errorf("%s: it has no root directory", filesName)
	}
	return nil
}

// add adds a name to the tree, in which its directory is already.
func (r *Recording) add(e entry) error {
	name := string(e.Path)
	if !path.IsAbs(name) || path.Clean(name) != name || strings.ContainsRune(name, 0) {
		return fmt.Errorf("%q: a clean absolute path is expected", name)
	}
	if name == "/" {
		if r.root != nil || e.Stat == nil || e.kind() != linux.S_IFDIR {
			return errors.New("one root directory is expected, in front")
		}
		n, err := r.inodeOf(e, nil)
		r.root = n
		return err
	}
	dir := r.find(path.Dir(name))
	base := path.Base(name)
	switch {
	case dir == nil || dir.names == nil:
		return fmt.Errorf("%q: its directory is expected in front of it", name)
	case len(base) > nameMax:
		return fmt.Errorf("%q: the name is too long", name)
	case dir.has(base):
		return fmt.Errorf("%q is there twice", name)
	case e.Error > maxErrno:
		return fmt.Errorf("%q: there is no error %d", name, e.Error)
	case e.Error == linux.ENOENT:
		dir.names[base] = nil
		return nil
	case e.Error != 0:
		dir.failed[base] = e.Error
		return nil
	}
	n, err := r.inodeOf(e, dir)
	if err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	dir.names[base] = n
	return nil
}

func (e *entry) kind() uint32 { return uint32(e.Mode) & linux.S_IFMT }

// has reports whether it is known what a name in a directory leads to.
func (n *inode) has(name string) bool {
	if _, ok := n.names[name]; ok {
		return true
	}
	_, ok := n.failed[name]
	return ok
}

// inodeOf is the file that e describes, which may have other names.
func (r *Recording) inodeOf(e entry, in *inode) (*inode, error) {
	if e.Stat == nil {
		return nil, errors.New("nothing is said of the file")
	}
	n := r.inodes[e.Inode]
	switch kind := e.kind(); {
	case n != nil && (n.kind() != kind || kind == linux.S_IFDIR):
		return nil, fmt.Errorf("inode %d is another file", e.Inode)
	case n != nil:
		n.Nlink = max(n.Nlink, 2)
		if !e.Content {
			return n, nil
		}
	case kind != linux.S_IFREG && kind != linux.S_IFDIR && kind != linux.S_IFLNK && kind != linux.S_IFIFO && kind != linux.S_IFSOCK && kind != linux.S_IFCHR && kind != linux.S_IFBLK:
		return nil, fmt.Errorf("mode %o: there is no such type of file", uint32(e.Mode))
	case e.Size < 0:
		return nil, fmt.Errorf("size %d: it is negative", e.Size)
	default:
		n = &inode{entry: e, in: in}
		n.Nlink = max(n.Nlink, 1)
		if kind == linux.S_IFCHR && n.Rdev == 0 {
			n.Rdev = 1 // the guest has not looked at it; an overlay takes 0 for a name that was removed
		}
		if kind == linux.S_IFDIR {
			n.names, n.failed = map[string]*inode{}, map[string]linux.Errno{}
		}
		r.inodes[e.Inode] = n
	}
	if e.Content {
		at, ok := r.members[rootPrefix+string(e.Path)]
		if !ok || e.kind() != linux.S_IFREG {
			return nil, errors.New("its content is missing")
		}
		n.Content, n.data = true, at
	}
	return n, nil
}

// find returns the file that a clean path leads to, nil if there is none.
func (r *Recording) find(name string) *inode {
	n := r.root
	for c := range strings.FieldsFuncSeq(name, func(c rune) bool { return c == '/' }) {
		if n == nil {
			return nil
		}
		n = n.names[c]
	}
	return n
}

// Etc returns what stood in for a file of /etc.
func (r *Recording) Etc(name string) []byte {
	at, ok := r.members[etcPrefix+name]
	if !ok || at.size > maxEtc {
		r.misses("/etc/" + name)
		return nil
	}
	b, err := io.ReadAll(r.at(at))
	if err != nil {
		r.misses("/etc/" + name)
	}
	return b
}

// StdinNode returns the file that standard input was, if it had no name. FS was called before.
func (r *Recording) StdinNode() vfs.Node {
	in := &r.System.Stdin
	e := entry{Path: in.Path, Stat: in.Stat}
	n := &inode{entry: e}
	n.data, n.Content = r.members[stdinName]
	return kept{fs: r.fs, n: n}
}

// Stdin returns what standard input was, nil if the archive does not have it.
func (r *Recording) Stdin() io.Reader {
	at, ok := r.members[stdinName]
	if !ok {
		return nil
	}
	return r.at(at)
}
