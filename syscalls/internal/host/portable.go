//go:build !linux || portable

package host

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// This is the host layer of hosts other than Linux, over packages os and net; with the build tag "portable" it is
// Linux's, too, so that it is tested where all that a guest can ask for is known. Files are reached by os.Root, which
// never leads out of the directory that it was opened for. What differs from host to host has a function in
// portable_GOOS.go, and for all that are like Unix in portable_unix.go: the number of a file, whether a stream is
// ready, terminals.

// Direct says that paths of the guest may be paths of this host, and those of open files be opened again.
const Direct = false

// An FD is the number of an open file in the table below: hosts have no numbers for some of what can be open, as a
// directory of which only the path matters.
type FD int

// NoFD is no file.
const NoFD FD = -1

var table = struct {
	sync.Mutex
	files map[FD]*file
	next  FD
}{files: map[FD]*file{}}

// A file is an open file. Several FDs can be of one.
type file struct {
	fds int
	// f is the host's; nil for what was opened with O_PATH.
	f *os.File
	// at is where it was found, if it was. What is temporary is removed in the end.
	at        spot
	temporary bool
	flags     int
	// seals are those of a memfd, whatever opened it; nil for other files.
	seals *uint32
	// appends says that the host's file was opened with O_APPEND.
	appends bool
	// lock is what it holds of flock(2), on the file locked.
	lock   int
	locked FileID
}

// A top is a directory below which paths are looked up; users are the files that were found there.
type top struct {
	root  *os.Root
	users int
}

// A spot is where a file is: a path from a top on, with slashes, in the host's spelling.
type spot struct {
	top *top
	rel string
}

// locks are those of flock(2), by file.
var locks = struct {
	sync.Mutex
	held map[FileID]map[*file]bool
}{held: map[FileID]map[*file]bool{}}

// add makes an FD of f.
func add(f *file) FD {
	table.Lock()
	defer table.Unlock()
	f.fds++
	fd := table.next
	table.next++
	table.files[fd] = f
	return fd
}

// file returns the open file of f, nil if there is none.
func (f FD) file() *file {
	table.Lock()
	defer table.Unlock()
	return table.files[f]
}

// os returns the host's file of f: EBADF if it was opened for its name only.
func (f FD) os() (*os.File, linux.Errno) {
	o := f.file()
	if o == nil || o.f == nil {
		return nil, linux.EBADF
	}
	return o.f, 0
}

// Close is close(2).
func (f FD) Close() linux.Errno {
	table.Lock()
	o := table.files[f]
	delete(table.files, f)
	if o == nil {
		table.Unlock()
		return linux.EBADF
	}
	o.fds--
	last := o.fds == 0
	table.Unlock()
	if !last {
		return 0
	}
	return o.close()
}

func (o *file) close() linux.Errno {
	unlock(o)
	var err error
	if o.f != nil {
		err = o.f.Close()
	}
	if o.temporary {
		err = errors.Join(err, o.at.remove())
	}
	o.at.top.leave()
	return ErrnoOf(err)
}

// Dup returns another descriptor of the same open file.
func (f FD) Dup() (FD, linux.Errno) {
	o := f.file()
	if o == nil {
		return NoFD, linux.EBADF
	}
	return add(o), 0
}

// become makes f a descriptor of the file that o is one of.
func (f FD) become(o FD) linux.Errno {
	by := o.file()
	if by == nil {
		return linux.EBADF
	}
	f.Close()
	table.Lock()
	defer table.Unlock()
	by.fds++
	table.files[f] = by
	return 0
}

// OSFile returns a new file for the same open file, for the caller to close.
func (f FD) OSFile(string) (*os.File, linux.Errno) {
	file, e := f.os()
	if e != 0 {
		return nil, e
	}
	d, err := duplicate(file)
	return d, ErrnoOf(err)
}

// FromFile returns a descriptor of f that lives on when f is closed.
func FromFile(f *os.File) (FD, linux.Errno) {
	if f == nil {
		return NoFD, linux.EBADF
	}
	d, err := duplicate(f)
	if err != nil {
		return NoFD, ErrnoOf(err)
	}
	flags := accessOf(d)
	return add(&file{f: d, flags: flags, appends: flags&linux.O_APPEND != 0}), 0
}

// OwnPipe fails: there is no way to open a pipe anew.
func (f FD) OwnPipe() (FD, linux.Errno) { return NoFD, linux.ENXIO }

// openTop returns a top for a directory.
func openTop(dir string) (*top, linux.Errno) {
	r, err := os.OpenRoot(dir)
	if err != nil {
		return nil, ErrnoOf(err)
	}
	return &top{root: r}, 0
}

// enter counts one more user; leave one less.
func (t *top) enter() *top {
	table.Lock()
	defer table.Unlock()
	t.users++
	return t
}

func (t *top) leave() {
	if t == nil {
		return
	}
	table.Lock()
	defer table.Unlock()
	if t.users--; t.users == 0 {
		t.root.Close()
	}
}

// spot finds out where p is. Its top has one user more.
func (p Place) spot() (spot, linux.Errno) {
	if p.Dir != NoFD {
		d := p.Dir.file()
		if d == nil || d.at.top == nil {
			return spot{}, linux.EBADF
		}
		if len(p.Path) > linux.PATH_MAX {
			return spot{}, linux.ENAMETOOLONG
		}
		rel := path.Join(d.at.rel, hostPath(strings.TrimSuffix(p.Path, "/")))
		return spot{d.at.top.enter(), rel}.exact(), 0
	}
	if !filepath.IsAbs(p.Path) {
		panic("BUG: no directory for the path " + p.Path)
	}
	dir, name := filepath.Split(filepath.Clean(p.Path))
	t, e := openTop(dir)
	if e != 0 {
		return spot{}, e
	}
	return spot{t.enter(), cmp.Or(name, ".")}, 0
}

// exact is where s is, or would be made, among files whose names differ in case only: on a host for which they are one,
// all letters of the later ones are in the private use area.
func (s spot) exact() spot {
	name := path.Base(s.rel)
	if !foldsCase || name == "." {
		return s
	}
	other := spot{s.top, path.Join(path.Dir(s.rel), privateLetters(name))}
	if other.rel == s.rel {
		return s // without letters
	}
	_, e := s.lstat()
	if e == 0 && trueName(s) == name {
		return s
	}
	if _, missing := other.lstat(); missing == 0 || e == 0 {
		return other
	}
	return s
}

// lstat describes the file itself.
func (s spot) lstat() (fs.FileInfo, linux.Errno) {
	info, err := s.top.root.Lstat(s.rel)
	if err != nil {
		return nil, ErrnoOf(err)
	}
	return s.orLink(info), 0
}

// orLink is info of the file at s, or, if that is the text of a link, of the link.
func (s spot) orLink(info fs.FileInfo) fs.FileInfo {
	if !isLinkFile(info) || !info.Mode().IsRegular() || info.Size() > maxLinkText {
		return info
	}
	text, err := s.top.root.ReadFile(s.rel)
	if err != nil {
		return info
	}
	if target, ok := linkTarget(text); ok {
		return linkInfo{info, target}
	}
	return info
}

// Again is the place of f itself.
func (f FD) Again() Place { return Place{Dir: f, Path: "."} }

// Path returns the host's path of f, "" if it was found in no directory.
func (f FD) Path() string {
	o := f.file()
	if o == nil || o.at.top == nil {
		return ""
	}
	return o.at.path()
}

// path is the host's path of s.
func (s spot) path() string { return filepath.Join(s.top.root.Name(), filepath.FromSlash(s.rel)) }

// moved notes that files at from, and below, are at to now.
func (t *top) moved(from, to string) {
	renamed(spot{t, from}, spot{t, to})
	table.Lock()
	defer table.Unlock()
	for _, o := range table.files {
		if o.at.top != t {
			continue
		}
		if o.at.rel == from {
			o.at.rel = to
		} else if rest, ok := strings.CutPrefix(o.at.rel, from+"/"); ok {
			o.at.rel = to + "/" + rest
		}
	}
}

// Open opens the file at p, with the guest's flags; one that it makes has the mode, less the umask. A link at the end
// is not followed.
func Open(p Place, flags int, mode, umask uint32) (FD, linux.Errno) {
	if p.Dir == NoFD && flags&linux.O_DIRECTORY != 0 && flags&linux.O_TMPFILE != linux.O_TMPFILE {
		return openDir(p.Path, flags)
	}
	if p.Path == "." {
		if fd, e := again(p.Dir.file(), flags); e != linux.ENOENT {
			return fd, e
		}
	}
	s, e := p.spot()
	if e != 0 {
		return NoFD, e
	}
	o := &file{at: s, flags: flags}
	if flags&linux.O_TMPFILE == linux.O_TMPFILE {
		return opened(o, linux.EOPNOTSUPP)
	}
	return opened(o, o.open(mode&^umask))
}

// opened makes an FD of o, unless there was an error.
func opened(o *file, e linux.Errno) (FD, linux.Errno) {
	if e != 0 {
		o.at.top.leave()
		return NoFD, e
	}
	return add(o), 0
}

// openDir opens a directory by an absolute path, and makes it a top.
func openDir(dir string, flags int) (FD, linux.Errno) {
	t, e := openTop(dir)
	if e != 0 {
		return NoFD, e
	}
	o := &file{at: spot{t.enter(), "."}, flags: flags}
	return opened(o, o.open(0))
}

// again opens d once more, if it has no name: ENOENT if it has one. Its position is that of d.
func again(d *file, flags int) (FD, linux.Errno) {
	if d == nil {
		return NoFD, linux.EBADF
	}
	if d.f == nil {
		return NoFD, linux.ENOENT
	}
	if d.named() {
		return NoFD, linux.ENOENT
	}
	switch mode, has := flags&linux.O_ACCMODE, d.flags&linux.O_ACCMODE; {
	case has != linux.O_RDWR && mode != has:
		return NoFD, linux.EACCES
	case d.appends && mode != linux.O_RDONLY && flags&linux.O_APPEND == 0:
		// The host would append all the same. That is what is meant where a standard output is opened again, mostly.
		if d.at.top != nil {
			return NoFD, linux.EACCES
		}
		flags |= linux.O_APPEND
	}
	if _, ok := isRegular(d.f); ok && flags&linux.O_TRUNC != 0 {
		if err := d.f.Truncate(0); err != nil {
			return NoFD, ErrnoOf(err)
		}
	}
	f, err := duplicate(d.f)
	if err != nil {
		return NoFD, ErrnoOf(err)
	}
	return add(&file{f: f, flags: flags, seals: d.seals, appends: d.appends}), 0
}

// named reports whether o, which is open, is still what is found where it was.
func (o *file) named() bool {
	if o.at.top == nil {
		return false
	}
	now, e := o.at.lstat()
	return e == 0 && o.is(now)
}

// is reports whether info is of the file that is open.
func (o *file) is(info fs.FileInfo) bool {
	own, err := o.f.Stat()
	return err == nil && os.SameFile(own, info)
}

// anew opens the file once more, by its name, so that the host appends nothing: EINVAL if it has none any more.
func (o *file) anew() (*os.File, linux.Errno) {
	if !o.named() {
		return nil, linux.EINVAL
	}
	f, err := o.at.top.root.OpenFile(o.at.rel, openFlags(o.flags&^(linux.O_APPEND|linux.O_TRUNC)), 0)
	if err != nil {
		return nil, ErrnoOf(err)
	}
	if info, err := f.Stat(); err != nil || !o.is(info) {
		f.Close()
		return nil, linux.EINVAL
	}
	return f, 0
}

// open opens what is at o.at, or makes it.
func (o *file) open(mode uint32) linux.Errno {
	info, e := o.at.lstat()
	create := o.flags&linux.O_CREAT != 0
	switch {
	case e == linux.ENOENT && create:
		made, e := o.create(mode)
		if made || e != linux.EEXIST || o.flags&linux.O_EXCL != 0 {
			return e
		}
	case e != 0:
		return e
	case create && o.flags&linux.O_EXCL != 0:
		return linux.EEXIST
	case o.flags&linux.O_PATH != 0:
		if o.flags&linux.O_DIRECTORY != 0 && !info.IsDir() {
			return linux.ENOTDIR
		}
		return 0
	case info.Mode()&fs.ModeSymlink != 0:
		return linux.ELOOP
	case o.flags&linux.O_DIRECTORY != 0 && !info.IsDir():
		return linux.ENOTDIR
	case info.IsDir() && (o.flags&linux.O_ACCMODE != linux.O_RDONLY || create):
		return linux.EISDIR
	}
	f, err := o.at.top.root.OpenFile(o.at.rel, openFlags(o.flags), 0)
	o.f, o.appends = f, o.flags&linux.O_APPEND != 0
	return ErrnoOf(err)
}

// create makes a regular file.
func (o *file) create(mode uint32) (made bool, e linux.Errno) {
	f, err := o.at.top.root.OpenFile(o.at.rel, openFlags(o.flags)|os.O_CREATE|os.O_EXCL, fs.FileMode(mode&0o777))
	if err != nil {
		return false, ErrnoOf(err)
	}
	o.f, o.appends = f, o.flags&linux.O_APPEND != 0
	return true, o.at.settle(mode)
}

// settle gives a file that was made the mode that our own umask may have changed.
func (s spot) settle(mode uint32) linux.Errno {
	info, e := s.lstat()
	if e != 0 || info.Mode() == fileMode(mode, info.Mode()) {
		return e
	}
	return ErrnoOf(setMode(s, mode))
}

// fileMode is a mode of Linux's for package os, of the kind of another one.
func fileMode(mode uint32, kind fs.FileMode) fs.FileMode {
	m := fs.FileMode(mode&0o777) | kind.Type()
	for _, bit := range []struct {
		linux uint32
		os    fs.FileMode
	}{{0o4000, fs.ModeSetuid}, {0o2000, fs.ModeSetgid}, {0o1000, fs.ModeSticky}} {
		if mode&bit.linux != 0 {
			m |= bit.os
		}
	}
	return m
}

// openFlags is flags of Linux's for package os.
func openFlags(flags int) int {
	h := [4]int{os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_RDONLY}[flags&linux.O_ACCMODE]
	for _, f := range []struct{ linux, os int }{{linux.O_TRUNC, os.O_TRUNC}, {linux.O_APPEND, os.O_APPEND}, {linux.O_DSYNC, os.O_SYNC}} {
		if flags&f.linux != 0 {
			h |= f.os
		}
	}
	return h | nonblocking
}

// ErrnoOf translates a host error.
func ErrnoOf(err error) linux.Errno {
	switch {
	case err == nil || err == io.EOF:
		return 0
	case errors.Is(err, os.ErrClosed):
		return linux.EBADF
	}
	var ours linux.Errno
	if errors.As(err, &ours) {
		return ours
	}
	if e := errnoOf(err); e != 0 {
		return e
	}
	for _, c := range []struct {
		is error
		e  linux.Errno
	}{{fs.ErrNotExist, linux.ENOENT}, {fs.ErrExist, linux.EEXIST}, {fs.ErrPermission, linux.EACCES}, {os.ErrDeadlineExceeded, linux.EAGAIN},
		{errors.ErrUnsupported, linux.EOPNOTSUPP}} {
		if errors.Is(err, c.is) {
			return c.e
		}
	}
	if strings.HasSuffix(err.Error(), "path escapes from parent") { // package os has no name for it
		return linux.EXDEV
	}
	return linux.EIO
}

// orNil is e as an error.
func orNil(e linux.Errno) error {
	if e == 0 {
		return nil
	}
	return e
}
