package syscalls

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// A hostFile is a file of the host: regular, directory, terminal, pipe from outside.
type hostFile struct {
	fileBase
	fileRef
	// mode is st_mode; what kind of file it is decides whether it can block.
	mode uint32
	ino  uint64
	// hostIno and dev are the host's, rdev is what a device file stands for.
	hostIno, dev, rdev uint64
	// own says that the guest may change it where it may not change files of the host (confine.go): an output that it was given, what
	// is in no directory, as a memfd is, and what is in the directory that the run has for itself; private says the latter.
	own, private bool
	// console says that it is the terminal that cgemu runs on.
	console bool
	// blocks says that reading or writing may wait for the world outside.
	blocks bool
	// nowait says that the host returns EAGAIN instead. Of a FIFO that nobody has open for writing
	// it knows that the end is reached, which poll(2) does not tell before there was a writer.
	nowait bool
	// entries are a directory's, sorted; nil until read.
	entries []dirEntry
	pos     int64 // in entries
}

// A dirEntry is what getdents64(2) gives.
type dirEntry struct {
	name string
	ino  uint64
	typ  uint8
}

func (f *hostFile) isDir() bool     { return f.mode&linux.S_IFMT == linux.S_IFDIR }
func (f *hostFile) isRegular() bool { return f.mode&linux.S_IFMT == linux.S_IFREG }
func (f *hostFile) isFIFO() bool    { return f.mode&linux.S_IFMT == linux.S_IFIFO }

func (f *hostFile) announcer() *wakeups { return &f.wakeups }

// onDisk reports whether what is written to f is kept: a regular file or a disk.
func (f *hostFile) onDisk() bool { return f.isRegular() || f.mode&linux.S_IFMT == linux.S_IFBLK }

// isRegular reports whether f is a regular file of the host.
func isRegular(f file) bool {
	h, ok := f.(*hostFile)
	return ok && h.isRegular()
}

// name asks the host, which knows if f was renamed or unlinked since.
func (f *hostFile) name(k *Kernel) string {
	if f.path != "" {
		return f.path
	}
	return k.nameOf(f.fileRef)
}

// canBlock reports whether reading or writing may wait for the world outside.
func (f *hostFile) canBlock() bool { return f.blocks }

// dry reports whether reading would wait.
func (f *hostFile) dry() bool { return f.canBlock() && !f.nowait && f.fd.poll(linux.POLLIN) == 0 }

// mayBlock is what canBlock says for a file.
func mayBlock(st hostStat) bool {
	switch st.mode & linux.S_IFMT {
	case linux.S_IFIFO, linux.S_IFSOCK:
		return true
	case linux.S_IFCHR:
		// /dev/null, zero and full have major 1 (Documentation/admin-guide/devices.txt).
		return major(st.rdev) != 1
	}
	return false
}

// newHostFile makes the open file for r, which it owns from now on.
func (k *Kernel) newHostFile(r fileRef, flags int, guest string) (*hostFile, linux.Errno) {
	st, e := r.stat()
	if e != 0 {
		r.close()
		return nil, e
	}
	ino := fsOf(k).inodes.number(st.dev, st.ino)
	fsOf(k).inodes.open[ino]++
	return &hostFile{
		fileBase: fileBase{flags: flags &^ (linux.O_CREAT | linux.O_EXCL | linux.O_NOCTTY | linux.O_TRUNC | linux.O_CLOEXEC), path: guest},
		fileRef:  r, mode: st.mode, blocks: mayBlock(st), ino: ino, hostIno: st.ino, dev: st.dev, rdev: st.rdev,
	}, 0
}

// addStdio gives t, the first thread of all, descriptors 0, 1 and 2, and a working directory.
func (t *Thread) addStdio() error {
	k := t.k
	for i, std := range []*os.File{fsOf(k).cfg.Stdin, fsOf(k).cfg.Stdout, fsOf(k).cfg.Stderr} {
		fd, e := hostOf(std)
		if e != 0 {
			continue // closed, as it may be for any program
		}
		f, e := k.newHostFile(fileRef{fd: fd}, linux.O_RDWR|linux.O_LARGEFILE, fd.path())
		if e != 0 {
			continue
		}
		f.own = !f.isDir() && (!f.onDisk() || i > 0 && fd.mayWrite())
		if f.markConsole(); f.console {
			k.console.dev = devConsole
		}
		if f.isDir() && fsOf(k).root.only {
			return fmt.Errorf("syscalls: standard file %d is a directory, which would lead out of the root %s", i, fsOf(k).cfg.Root)
		}
		if f.mode&linux.S_IFMT == linux.S_IFIFO || f.onDisk() {
			f.flags = linux.O_WRONLY
			if i == 0 {
				f.flags = linux.O_RDONLY
			}
		}
		filesOf(t).fds.set(i, f, false)
	}
	return t.enterCwd()
}

// enterCwd makes t begin in the working directory, or in the root if that has no such directory.
func (t *Thread) enterCwd() error {
	k := t.k
	fd, e := hostOpen(place{dir: noFD, path: fsOf(k).cfg.Dir}, linux.O_PATH|linux.O_DIRECTORY, 0, 0)
	if e != 0 {
		return fmt.Errorf("syscalls: working directory %s: %w", fsOf(k).cfg.Dir, fsError(e))
	}
	cwd := dirRef{fileRef: fileRef{fd: fd}, path: k.guestPath(fd.path())}
	inside, ok := k.below(fd.path())
	switch {
	case fsOf(k).root.fs != nil:
		fd.close()
		if !ok {
			inside = "/"
		}
		l, e := t.locate(linux.AT_FDCWD, inside, true)
		if e == 0 {
			e = t.chdir(l)
		}
		if e != 0 {
			return fmt.Errorf("syscalls: working directory %s: %w", fsOf(k).cfg.Dir, fsError(e))
		}
		return nil
	case fsOf(k).root.only && !ok:
		fd.close()
		cwd.path = "/"
		if cwd.fd, e = fsOf(k).root.fd.dup(); e != 0 {
			return fmt.Errorf("syscalls: root %s: %w", fsOf(k).cfg.Root, fsError(e))
		}
	}
	filesOf(t).setCwd(cwd)
	return nil
}

func (f *hostFile) read(t *Thread, v []iovec, off int64) (uint64, linux.Errno) {
	if f.isDir() {
		return 0, linux.EISDIR
	}
	if f.console {
		if e := t.mayUse(&t.k.console, linux.SIGTTIN); e != 0 {
			return 0, e
		}
	}
	if f.dry() {
		t.k.transferred(f, linux.POLLIN)
		return 0, linux.EAGAIN
	}
	bufs := t.forHost(v, mem.Write)
	if len(bufs) == 0 {
		return 0, 0
	}
	n, e := f.fd.readv(bufs, off)
	if e == 0 {
		t.k.accessed(f)
	}
	if n > 0 {
		t.k.fileEvent(f, linux.IN_ACCESS)
	}
	if uint64(n) < total(v) && e != linux.EFAULT {
		t.k.transferred(f, linux.POLLIN) // all that there was
	}
	if f.isFIFO() && n > 0 {
		t.k.transferred(f, linux.POLLOUT)
	}
	return uint64(n), e
}

func (f *hostFile) write(t *Thread, v []iovec, off int64) (uint64, linux.Errno) {
	if f.console && t.p.pgid != t.k.console.pgid && f.stopsWriters() {
		if e := t.mayUse(&t.k.console, linux.SIGTTOU); e != 0 {
			return 0, e
		}
	}
	if f.canBlock() && f.fd.poll(linux.POLLOUT) == 0 {
		return 0, linux.EAGAIN
	}
	room, e := t.mayWrite(f, off, total(v))
	switch {
	case e != 0:
		return 0, e
	case room < total(v):
		v = first(v, room)
	}
	bufs := t.forHost(v, mem.Read)
	if len(bufs) == 0 {
		return 0, 0
	}
	if before := fsOf(t.k).cfg.BeforeOutput; before != nil && f.mode&linux.S_IFMT == linux.S_IFCHR {
		before()
	}
	n, e := f.fd.writev(bufs, off)
	if n > 0 {
		t.k.fileEvent(f, linux.IN_MODIFY)
	}
	if f.isFIFO() && n > 0 {
		t.k.transferred(f, linux.POLLIN)
	}
	if e == linux.EPIPE {
		t.send(infoFromProcess(t.p, linux.SIGPIPE, linux.SI_USER))
	}
	return uint64(n), e
}

func (f *hostFile) seek(t *Thread, off int64, whence int) (int64, linux.Errno) {
	if !f.isDir() {
		return f.fd.seek(off, whence)
	}
	switch whence {
	case linux.SEEK_CUR:
		off += f.pos
	case linux.SEEK_SET:
	case linux.SEEK_END:
		// Where the entries end is up to the file system; ext4 says so.
		if off > 0 {
			return 0, linux.EINVAL
		}
		off += math.MaxInt64
	default:
		return 0, linux.EINVAL
	}
	if off < 0 {
		return 0, linux.EINVAL
	}
	if off == 0 {
		f.entries = nil
	}
	f.pos = off
	return off, 0
}

func (f *hostFile) stat(t *Thread) (stat, linux.Errno) {
	if f.console {
		return devNodes["console"].stat(t, f.path), 0
	}
	h, e := f.fileRef.stat()
	if e != 0 {
		return stat{}, e
	}
	s := t.k.statFromHost(h)
	// The file keeps its number after it was unlinked.
	s.ino = f.ino
	fsOf(t.k).inodes.recall(&s)
	return s, 0
}

func (f *hostFile) poll(*Thread) uint32 {
	if !f.canBlock() {
		return linux.POLLIN | linux.POLLOUT | linux.POLLRDNORM | linux.POLLWRNORM
	}
	return f.fd.poll(linux.POLLIN | linux.POLLPRI | linux.POLLOUT | linux.POLLRDNORM | linux.POLLWRNORM | linux.POLLRDHUP)
}

func (f *hostFile) hostWaits(fds []hostPoll, events uint32) []hostPoll {
	if f.canBlock() {
		fds = append(fds, hostPoll{f.fd, events})
	}
	return fds
}

func (f *hostFile) traits() traits {
	if f.canBlock() {
		return 0
	}
	return unpollable
}

func (f *hostFile) close(k *Kernel) {
	k.closed(f)
	f.fileRef.close()
	unnamed := f.isMemfd()
	fsOf(k).inodes.closed(inodeKey{dev: f.dev, ino: f.hostIno}, f.ino, !unnamed)
}

// list returns the directory's entries, "." and ".." first, then by name.
func (f *hostFile) list(k *Kernel) ([]dirEntry, linux.Errno) {
	if f.entries != nil {
		return f.entries, 0
	}
	st, e := f.fileRef.stat()
	if e != 0 {
		return nil, e
	}
	raw, e := f.readDir()
	if e != 0 {
		return nil, e
	}
	slices.SortFunc(raw, func(a, b hostDirent) int {
		if a.name < b.name {
			return -1
		}
		return 1
	})
	parent := f.ino
	if up, e := f.above(); e == 0 {
		parent = fsOf(k).inodes.number(up.dev, up.ino)
	}
	f.entries = []dirEntry{{".", f.ino, dirType(linux.S_IFDIR)}, {"..", parent, dirType(linux.S_IFDIR)}}
	for _, r := range raw {
		f.entries = append(f.entries, dirEntry{r.name, fsOf(k).inodes.number(st.dev, r.ino), r.typ})
	}
	if dir := f.name(k); dir == "/" || dir == "/dev" {
		f.entries = k.withOurs(dir, f.entries)
	}
	return f.entries, 0
}

// isMemfd reports whether f was made by memfd_create(2).
func (f *hostFile) isMemfd() bool { return f.own && strings.HasPrefix(f.path, "/memfd:") }

// setFlags is fcntl's F_SETFL. Of what it sets, O_APPEND alone matters to the host.
func (f *hostFile) setFlags(flags int) linux.Errno {
	if (flags^f.flags)&linux.O_APPEND != 0 && f.isRegular() {
		if e := f.fd.setAppend(flags&linux.O_APPEND != 0); e != 0 {
			return e
		}
	}
	return f.fileBase.setFlags(flags)
}

// ioctl passes terminal requests on.
func (f *hostFile) ioctl(t *Thread, req uint32, arg emu.Addr) (uint64, linux.Errno) {
	return f.terminalIoctl(t, req, arg)
}
