package files

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/record"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// BeingWritten reports whether file ino cannot be executed, as a process has it open for writing.
func BeingWritten(k *task.Kernel, ino uint64) bool { return SystemOf(k).Inodes.hasWriter(ino) }

// BeingExecuted reports whether the file that st describes cannot be written to, as a process runs the program in it.
func BeingExecuted(k *task.Kernel, st host.Stat) bool {
	ino := SystemOf(k).Inodes.Numbers[host.FileID{Dev: st.Dev, Ino: st.Ino}]
	return ino != 0 && slices.ContainsFunc(k.Processes, func(p *task.Process) bool { return !p.Exited && p.ExeIno == ino })
}

// A HostFile is a file of the host: regular, directory, terminal, pipe from outside.
type HostFile struct {
	FileBase
	FileRef
	// Mode is st_mode; what kind of file it is decides whether it can block.
	Mode uint32
	Ino  uint64
	// slot is where it is among the open files of Ino (inodeTable.Opened).
	slot int
	// hostIno is st_ino, and Dev st_dev, of the host.
	hostIno, Dev uint64
	// Rdev is st_rdev: what a device file stands for.
	Rdev uint64
	// Own says that the guest may change it where it may not change files of the host (confine.go): an output that it
	// was given, what is in no directory, as a memfd is, and what is in the directory that the run has for itself.
	Own bool
	// Private says that it is in that directory.
	Private bool
	// inherited says that cgemu was given it: what is outside has it open too.
	inherited bool
	// Flocked says that it may have a lock of flock(2).
	Flocked bool
	// Console says that it is the terminal that cgemu runs on.
	Console bool
	// blocks says that reading or writing may wait for the world outside.
	blocks bool
	// Nowait says that the host returns EAGAIN instead. Of a FIFO that nobody has open for writing
	// it knows that the end is reached, which poll(2) does not tell before there was a writer.
	Nowait bool
	// watch gets what is written, nil for nobody: see Config.Watch.
	watch func(e emu.Engine, b []byte)
	// entries are a directory's, sorted; nil until read.
	entries []DirEntry
	Pos     int64 // in entries
}

// A DirEntry is what getdents64(2) gives.
type DirEntry struct {
	Name string
	Ino  uint64
	Type uint8
}

// IsDir reports whether it is a directory.
func (f *HostFile) IsDir() bool { return f.Mode&linux.S_IFMT == linux.S_IFDIR }

// IsRegular reports whether it is a regular file.
func (f *HostFile) IsRegular() bool { return f.Mode&linux.S_IFMT == linux.S_IFREG }

func (f *HostFile) isFIFO() bool { return f.Mode&linux.S_IFMT == linux.S_IFIFO }

// Announcer says that O_ASYNC of host files is known.
func (f *HostFile) Announcer() *Wakeups { return &f.Wakeups }

// OnDisk reports whether what is written to f is kept: a regular file or a disk.
func (f *HostFile) OnDisk() bool { return f.IsRegular() || f.Mode&linux.S_IFMT == linux.S_IFBLK }

// Name asks the host, which knows if f was renamed or unlinked since.
func (f *HostFile) Name(k *task.Kernel) string {
	if f.Path != "" {
		return f.Path
	}
	return nameOf(k, f.FileRef)
}

// canBlock reports whether reading or writing may wait for the world outside.
func (f *HostFile) canBlock() bool { return f.blocks }

// dry reports whether reading would wait.
func (f *HostFile) dry() bool { return f.canBlock() && !f.Nowait && f.FD.Poll(linux.POLLIN) == 0 }

// mayBlock is what canBlock says for a file.
func mayBlock(st host.Stat) bool {
	switch st.Mode & linux.S_IFMT {
	case linux.S_IFIFO, linux.S_IFSOCK:
		return true
	case linux.S_IFCHR:
		// /dev/null, zero and full have major 1 (Documentation/admin-guide/devices.txt).
		return linux.Major(st.Rdev) != 1
	}
	return false
}

// NewHostFile makes the open file for r, which it owns from now on.
func NewHostFile(k *task.Kernel, r FileRef, flags int, guest string) (*HostFile, linux.Errno) {
	st, e := r.Stat()
	if e != 0 {
		r.Close()
		return nil, e
	}
	if opened := SystemOf(k).Config.OnOpen; opened != nil && st.Mode&linux.S_IFMT == linux.S_IFREG && r.FD != host.NoFD {
		if name := r.FD.Path(); !SystemOf(k).ownFile(name) {
			opened(name)
		}
	}
	return numbered(k, r, st, SystemOf(k).Inodes.Number(st.Dev, st.Ino), flags, guest), 0
}

// ownFile reports whether a file of the host was made by the run, or for it: in /dev/shm, in memory, or below an
// overlay.
func (fs *System) ownFile(name string) bool {
	for _, d := range []*privateDir{&fs.Private, &fs.contents} {
		if d.opened && strings.HasPrefix(name, d.Path+"/") {
			return true
		}
	}
	return strings.HasPrefix(name, "/memfd:")
}

// numbered makes the open file for r, whose number for the guest is ino.
func numbered(k *task.Kernel, r FileRef, st host.Stat, ino uint64, flags int, guest string) *HostFile {
	h := &HostFile{
		FileBase: OpenedBase(guest, flags),
		FileRef:  r, Mode: st.Mode, blocks: mayBlock(st), Ino: ino, hostIno: st.Ino, Dev: st.Dev, Rdev: st.Rdev,
	}
	SystemOf(k).Inodes.enter(h)
	return h
}

// AddStdio gives t, the first thread of all, descriptors 0, 1 and 2, and a working directory.
func AddStdio(t *task.Thread) error {
	k := t.Kernel
	for i, std := range []*os.File{SystemOf(k).Config.Stdin, SystemOf(k).Config.Stdout, SystemOf(k).Config.Stderr} {
		fd, e := host.FromFile(std)
		if e != 0 {
			continue // closed, as it may be for any program
		}
		if f, e := recordedStream(k, i, fd); f != nil || e != 0 {
			if e != 0 {
				return fmt.Errorf("syscalls: standard file %d: %w", i, e)
			}
			Of(t).FDs.Set(i, f, false)
			continue
		}
		nowait := false
		if i > 0 {
			if own, e := fd.OwnPipe(); e == 0 {
				fd.Close()
				fd, nowait = own, true
			}
		}
		if s := newStdStream(k, i, fd, nowait); s != nil {
			Of(t).FDs.Set(i, s, false)
			continue
		}
		f, e := NewHostFile(k, FileRef{FD: fd}, linux.O_RDWR|linux.O_LARGEFILE, fd.Path())
		if e != 0 {
			continue
		}
		f.nameUnnamed()
		f.Nowait, f.inherited = nowait, true
		f.Own = !f.IsDir() && (!f.OnDisk() || i > 0 && fd.MayWrite())
		f.markConsole()
		if name := DeviceName(f.Mode, f.Rdev); name != "" && linux.Major(f.Rdev) == memoryDevices {
			// Ours stands in for it: what the guest does to its mode or times is not done to the host's.
			f.Close(k)
			own, e := DevNodes[name].OpenAt(t, "/dev/"+name, linux.O_RDWR|linux.O_LARGEFILE)
			if e != 0 {
				return fmt.Errorf("syscalls: standard file %d: %w", i, e)
			}
			Of(t).FDs.Set(i, own, false)
			continue
		}
		if f.Console {
			k.Console.Dev = devConsole
		}
		if f.IsDir() && SystemOf(k).Root.only {
			return fmt.Errorf("syscalls: standard file %d is a directory, which would lead out of the root %s", i, SystemOf(k).Config.Root)
		}
		if f.Mode&linux.S_IFMT == linux.S_IFIFO || f.OnDisk() {
			f.Flags = direction(i)
		}
		Of(t).FDs.Set(i, f, false)
	}
	if err := addInherited(t); err != nil {
		return err
	}
	return enterCwd(t)
}

// addInherited gives t the files that cgemu was given for it beyond the standard ones.
func addInherited(t *task.Thread) error {
	k := t.Kernel
	inherited := SystemOf(k).Config.Inherited
	for _, n := range slices.Sorted(maps.Keys(inherited)) {
		fd, e := host.FromFile(inherited[n])
		if e != 0 {
			return fmt.Errorf("syscalls: file %d: %w", n, e)
		}
		f, e := NewHostFile(k, FileRef{FD: fd}, linux.O_LARGEFILE, fd.Path())
		if e != 0 {
			fd.Close()
			return fmt.Errorf("syscalls: file %d: %w", n, e)
		}
		if f.IsDir() && SystemOf(k).Root.only {
			f.Close(k)
			return fmt.Errorf("syscalls: file %d is a directory, which would lead out of the root %s", n, SystemOf(k).Config.Root)
		}
		f.nameUnnamed()
		f.inherited = true
		f.Own = !f.IsDir() && (!f.OnDisk() || fd.MayWrite())
		switch {
		case !fd.MayWrite():
		case f.Mode&linux.S_IFMT == linux.S_IFIFO:
			f.Flags |= linux.O_WRONLY
		default:
			f.Flags |= linux.O_RDWR
		}
		Of(t).FDs.Set(n, f, false)
	}
	return nil
}

// nameUnnamed gives a pipe or socket of the host's the name that it has for the guest.
func (f *HostFile) nameUnnamed() {
	for _, kind := range [...]string{"pipe:[", "socket:["} {
		if strings.HasPrefix(f.Path, kind) {
			f.Path = kind + strconv.FormatUint(f.Ino, 10) + "]"
		}
	}
}

// direction is how standard file i is opened.
func direction(i int) int {
	if i == 0 {
		return linux.O_RDONLY
	}
	return linux.O_WRONLY
}

// enterCwd makes t begin in the working directory, or in the root if that has no such directory.
func enterCwd(t *task.Thread) error {
	k := t.Kernel
	if SystemOf(k).Config.Replay != nil {
		return enterDir(t, string(SystemOf(k).Config.Replay.System.Dir))
	}
	fd, e := host.Open(host.Place{Dir: host.NoFD, Path: SystemOf(k).Config.Dir}, linux.O_PATH|linux.O_DIRECTORY, 0, 0)
	if e != 0 {
		return fmt.Errorf("syscalls: working directory %s: %w", SystemOf(k).Config.Dir, fsError(e))
	}
	if SystemOf(k).Config.Image != nil {
		defer fd.Close()
		return enterImage(t, fd.Path())
	}
	cwd := DirRef{FileRef: FileRef{FD: fd}, path: guestPath(k, fd.Path())}
	inside, ok := below(k, fd.Path())
	switch {
	case SystemOf(k).Root.fs != nil:
		fd.Close()
		if !ok {
			inside = "/"
		}
		err := enterDir(t, inside)
		if errors.Is(err, fs.ErrNotExist) && inside != "/" { // something is mounted above it
			inside, err = "/", enterDir(t, "/")
		}
		if err != nil {
			return err
		}
		if r := SystemOf(k).Config.Record; r != nil {
			r.System.Dir = record.Text(inside)
		}
		return nil
	case SystemOf(k).Root.only && !ok:
		fd.Close()
		cwd.path = "/"
		if cwd.FD, e = SystemOf(k).Root.fd.Dup(); e != 0 {
			return fmt.Errorf("syscalls: root %s: %w", SystemOf(k).Config.Root, fsError(e))
		}
	}
	Of(t).SetCwd(cwd)
	return nil
}

// enterImage makes dir, a directory of the host's, t's working directory if it is bound, and that of the image
// otherwise.
func enterImage(t *task.Thread, dir string) error {
	fs := SystemOf(t.Kernel)
	inside, ok := below(t.Kernel, dir)
	if !ok && fs.isolated {
		inside, ok = "/", true
	}
	if !ok {
		inside = path.Join("/", fs.Config.ImageDir)
		if _, e := fs.directory(fs.Root.fs, inside); e != 0 && e != linux.ENOTDIR { // a link, perhaps
			return fmt.Errorf("syscalls: working directory %s: %w", inside, fsError(e))
		}
	}
	if r := fs.Config.Record; r != nil {
		r.System.Dir = record.Text(inside)
	}
	return enterDir(t, inside)
}

// enterDir makes a directory of the guest's t's working directory.
func enterDir(t *task.Thread, name string) error {
	l, e := Locate(t, linux.AT_FDCWD, name, true)
	if e == 0 {
		e = Chdir(t, l)
	}
	if e != 0 {
		return fmt.Errorf("syscalls: working directory %s: %w", name, fsError(e))
	}
	return nil
}

func (f *HostFile) Read(t *task.Thread, v []uio.Iovec, off int64) (uint64, linux.Errno) {
	if f.IsDir() {
		return 0, linux.EISDIR
	}
	if f.Console {
		if e := t.CheckJobControl(&t.Kernel.Console, linux.SIGTTIN); e != 0 {
			return 0, e
		}
	}
	if f.dry() {
		Transferred(t.Kernel, f, linux.POLLIN)
		return 0, linux.EAGAIN
	}
	bufs := t.ForHost(v, mem.Write)
	if len(bufs) == 0 {
		return 0, 0
	}
	n, e := f.FD.Readv(bufs, off)
	if e == 0 {
		Accessed(t.Kernel, f)
	}
	if n > 0 {
		FileEvent(t.Kernel, f, linux.IN_ACCESS)
	}
	f.wasRead(t.Kernel, n)
	return uint64(n), e
}

func (f *HostFile) Write(t *task.Thread, v []uio.Iovec, off int64) (uint64, linux.Errno) {
	if f.Console && t.Process.PGID != t.Kernel.Console.PGID && f.stopsWriters() {
		if e := t.CheckJobControl(&t.Kernel.Console, linux.SIGTTOU); e != 0 {
			return 0, e
		}
	}
	if f.canBlock() && f.FD.Poll(linux.POLLOUT) == 0 {
		Transferred(t.Kernel, f, linux.POLLOUT)
		return 0, linux.EAGAIN
	}
	room, e := MayWrite(t, f, off, uio.Total(v))
	switch {
	case e != 0:
		return 0, e
	case room < uio.Total(v):
		v = uio.First(v, room)
	}
	bufs := t.ForHost(v, mem.Read)
	if len(bufs) == 0 {
		return 0, 0
	}
	if before := SystemOf(t.Kernel).Config.BeforeOutput; before != nil && f.Mode&linux.S_IFMT == linux.S_IFCHR {
		before()
	}
	n, e := f.writeNow(bufs, off)
	if n > 0 {
		f.watched(t, bufs, n)
		FileEvent(t.Kernel, f, linux.IN_MODIFY)
	}
	f.wasWritten(t.Kernel, n, n < int(room))
	if e == linux.EPIPE {
		t.Send(task.InfoFromProcess(t.Process, linux.SIGPIPE, linux.SI_USER))
		if n > 0 {
			e = 0
		}
	}
	return uint64(n), e
}

// fillsUp reports whether writing more than there is room for would wait on the host, as the descriptor is not ours
// alone to set O_NONBLOCK.
func (f *HostFile) fillsUp() bool {
	kind := f.Mode & linux.S_IFMT
	return !f.Nowait && (kind == linux.S_IFIFO || kind == linux.S_IFSOCK)
}

// writeNow writes to a file that poll(2) says can be written, as far as there is room at once.
func (f *HostFile) writeNow(bufs [][]byte, off int64) (n int, e linux.Errno) {
	size := 0
	for _, b := range bufs {
		size += len(b)
	}
	if size <= host.PipeRoom || !f.fillsUp() {
		return f.FD.Writev(bufs, off)
	}
	for _, b := range bufs {
		for len(b) > 0 {
			if n > 0 && f.FD.Poll(linux.POLLOUT) == 0 {
				return n, 0
			}
			m, e := f.FD.Writev([][]byte{b[:min(len(b), host.PipeRoom)]}, off)
			n += m
			if e != 0 || m == 0 {
				return n, e
			}
			b = b[m:]
		}
	}
	return n, 0
}

// wasRead notes what reading n bytes means for those who wait for f.
func (f *HostFile) wasRead(k *task.Kernel, n int) {
	if !f.canBlock() {
		return
	}
	Transferred(k, f, linux.POLLIN)
	if n > 0 {
		f.passed(k, linux.POLLOUT)
	}
}

// wasWritten notes what writing n bytes means for those who wait for f. full says that there was no room for more.
func (f *HostFile) wasWritten(k *task.Kernel, n int, full bool) {
	if !f.canBlock() {
		return
	}
	if full {
		Transferred(k, f, linux.POLLOUT)
	}
	if n > 0 {
		f.passed(k, linux.POLLIN)
	}
}

// watched tells who watches f that the first n bytes of bufs were written.
func (f *HostFile) watched(t *task.Thread, bufs [][]byte, n int) {
	if f.watch == nil {
		return
	}
	for _, b := range bufs {
		part := b[:min(n, len(b))]
		n -= len(part)
		f.watch(t.Process.Engine, part)
	}
}

func (f *HostFile) Seek(t *task.Thread, off int64, whence int) (int64, linux.Errno) {
	if !f.IsDir() {
		return f.FD.Lseek(off, whence)
	}
	switch whence {
	case linux.SEEK_CUR:
		off += f.Pos
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
	f.Pos = off
	return off, 0
}

func (f *HostFile) Stat(t *task.Thread) (Stat, linux.Errno) {
	if f.Console {
		return DevNodes["console"].Stat(t, f.Path), 0
	}
	h, e := f.FileRef.Stat()
	if e != 0 {
		return Stat{}, e
	}
	s := statFromHost(t.Kernel, h)
	s.holes = f.holes(h)
	// The file keeps its number after it was unlinked.
	s.Ino = f.Ino
	SystemOf(t.Kernel).Inodes.recall(&s)
	return s, 0
}

func (f *HostFile) Poll(*task.Thread) uint32 {
	if !f.canBlock() {
		return linux.POLLIN | linux.POLLOUT | linux.POLLRDNORM | linux.POLLWRNORM
	}
	return f.FD.Poll(linux.POLLIN | linux.POLLPRI | linux.POLLOUT | linux.POLLRDNORM | linux.POLLWRNORM | linux.POLLRDHUP)
}

func (f *HostFile) HostWaits(fds []host.PollFD, events uint32) []host.PollFD {
	if f.canBlock() {
		fds = append(fds, host.PollFD{On: f.FD, Events: events})
	}
	return fds
}

func (f *HostFile) Traits() Traits {
	switch {
	case f.isFIFO():
		return Piped | WholeWrites
	case f.fillsUp():
		return WholeWrites
	case f.canBlock():
		return 0
	case f.IsDir():
		return Unpollable | NoSpliceRead
	}
	return Unpollable
}

func (f *HostFile) Reopen(t *task.Thread, flags int) (File, linux.Errno) {
	if f.Fixed(t) && (flags&linux.O_ACCMODE != linux.O_RDONLY || flags&linux.O_TRUNC != 0) {
		return nil, linux.EROFS
	}
	at := Location{FileAt: f.Again()}
	if e := NotExecuted(t, at, flags&^linux.O_CREAT); e != 0 {
		return nil, e
	}
	r, e := at.Open(flags&^(linux.O_CREAT|linux.O_EXCL), 0, 0)
	if e != 0 {
		return nil, e
	}
	n, e := NewHostFile(t.Kernel, r, flags, f.Path)
	if e != 0 {
		return nil, e
	}
	n.Own, n.Private, n.Console = f.Own, f.Private, f.Console
	return n, 0
}

// Discard gives f up without that anybody is told, for a file of ours that takes its place.
func (f *HostFile) Discard(k *task.Kernel) {
	SystemOf(k).Inodes.leave(f)
	f.FileRef.Close()
	SystemOf(k).Inodes.closed(f, true)
}

func (f *HostFile) Close(k *task.Kernel) {
	SystemOf(k).Inodes.leave(f)
	closed(k, f)
	if f.Flocked && !f.inherited {
		// Closing need not give up the lock: a process that this one has just forked has its descriptors until it calls
		// execve(2).
		f.FD.Flock(linux.LOCK_UN)
	}
	f.FileRef.Close()
	unnamed := f.IsMemfd()
	SystemOf(k).Inodes.closed(f, !unnamed)
}

// List returns the directory's entries, "." and ".." first, then by name.
func (f *HostFile) List(k *task.Kernel) ([]DirEntry, linux.Errno) {
	if f.entries != nil {
		return f.entries, 0
	}
	st, e := f.FileRef.Stat()
	if e != 0 {
		return nil, e
	}
	raw, e := f.readDir()
	if e != 0 {
		return nil, e
	}
	slices.SortFunc(raw, func(a, b host.Dirent) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	parent := f.Ino
	if up, e := f.above(); e == 0 {
		parent = SystemOf(k).Inodes.Number(up.Dev, up.Ino)
	}
	f.entries = []DirEntry{{".", f.Ino, linux.DirType(linux.S_IFDIR)}, {"..", parent, linux.DirType(linux.S_IFDIR)}}
	for _, r := range raw {
		f.entries = append(f.entries, DirEntry{r.Name, SystemOf(k).Inodes.Number(st.Dev, r.Ino), r.Type})
	}
	if dir := f.Name(k); dir == "/" || dir == "/dev" {
		f.entries = withOurs(k, dir, f.entries)
	}
	return f.entries, 0
}

// IsMemfd reports whether f was made by memfd_create(2).
func (f *HostFile) IsMemfd() bool { return f.Own && strings.HasPrefix(f.Path, "/memfd:") }

// SetFlags is fcntl's F_SETFL. Of what it sets, O_APPEND alone matters to the host.
func (f *HostFile) SetFlags(flags int) linux.Errno {
	if (flags^f.Flags)&linux.O_APPEND != 0 && f.IsRegular() {
		if e := f.FD.SetAppend(flags&linux.O_APPEND != 0); e != 0 {
			return e
		}
	}
	return f.FileBase.SetFlags(flags)
}

// Ioctl passes terminal requests on.
func (f *HostFile) Ioctl(t *task.Thread, req uint32, arg emu.Addr) (uint64, linux.Errno) {
	return f.terminalIoctl(t, req, arg)
}

// MayWrite says how many of n bytes may be written to h at off, or where it stands if off is negative: "The maximum
// size in bytes of files that the process may create. Attempts to extend a file beyond this limit result in delivery of
// a SIGXFSZ signal." - getrlimit(2)
func MayWrite(t *task.Thread, h *HostFile, off int64, n uint64) (uint64, linux.Errno) {
	limit := t.Process.Limits[linux.RLIMIT_FSIZE].Cur
	if limit == linux.RLIM_INFINITY || n == 0 || !h.IsRegular() {
		return n, 0
	}
	switch {
	case h.Flags&linux.O_APPEND != 0:
		st, e := h.FD.Stat()
		if e != 0 {
			return 0, e
		}
		off = st.Size
	case off < 0:
		var e linux.Errno
		if off, e = h.FD.Lseek(0, linux.SEEK_CUR); e != 0 {
			return 0, e
		}
	}
	if uint64(off) >= limit {
		return 0, tooBig(t)
	}
	return min(n, limit-uint64(off)), 0
}

// MayGrow is EFBIG, with SIGXFSZ, if the file that st describes may not get size.
func MayGrow(t *task.Thread, st host.Stat, size int64) linux.Errno {
	if st.Mode&linux.S_IFMT == linux.S_IFREG && size > st.Size && uint64(size) > t.Process.Limits[linux.RLIMIT_FSIZE].Cur {
		return tooBig(t)
	}
	return 0
}

func tooBig(t *task.Thread) linux.Errno {
	t.Send(task.InfoFromProcess(t.Process, linux.SIGXFSZ, linux.SI_USER))
	return linux.EFBIG
}
