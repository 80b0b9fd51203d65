package syscalls

import (
	"errors"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/loader"
	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// sysExecve implements execve(2).
func sysExecve(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	name, e := t.Path(a.Addr(0))
	if e != 0 {
		return 0, e
	}
	return execve(t, task.ExecTarget{Name: name, At: name}, a.Addr(1), a.Addr(2))
}

// sysExecveat implements execveat(2).
func sysExecveat(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	name, e := t.Path(a.Addr(1))
	if e != 0 {
		return 0, e
	}
	switch {
	case name == "" && a.Int(4)&linux.AT_EMPTY_PATH == 0:
		return 0, linux.ENOENT
	case a.Int(4)&^(linux.AT_EMPTY_PATH|linux.AT_SYMLINK_NOFOLLOW) != 0:
		return 0, linux.EINVAL
	case a.Int(4)&linux.AT_SYMLINK_NOFOLLOW != 0 && name != "":
		if st, e := statAt(t, a.Int(0), a.Addr(1), linux.AT_SYMLINK_NOFOLLOW); e == 0 && st.Mode&linux.S_IFMT == linux.S_IFLNK {
			return 0, linux.ELOOP
		}
	}
	p := task.ExecTarget{Name: name, At: name}
	switch fd := a.Int(0); {
	case name == "" && fd == linux.AT_FDCWD:
		return 0, linux.EACCES // AT_EMPTY_PATH with AT_FDCWD names the working directory
	case name == "" || name[0] != '/' && fd != linux.AT_FDCWD:
		if p, e = programBelow(t, fd, name); e != 0 {
			return 0, e
		}
	}
	return execve(t, p, a.Addr(2), a.Addr(3))
}

// programBelow is the program name in the directory of descriptor fd or, if name is empty, the file of fd itself.
func programBelow(t *task.Thread, fd int, name string) (task.ExecTarget, linux.Errno) {
	if _, e := files.GetRawFile(t, fd); e != 0 {
		return task.ExecTarget{}, e
	}
	below := strconv.Itoa(fd)
	if name != "" {
		below += "/" + name
	}
	return task.ExecTarget{Name: "/dev/fd/" + below, At: "/proc/thread-self/fd/" + below, Opened: name == "", Closes: files.Of(t).FDs.Entries[fd].Cloexec}, 0
}

func execve(t *task.Thread, p task.ExecTarget, argvAt, envvAt emu.Addr) (uint64, linux.Errno) {
	if p.Name == "" {
		return 0, linux.ENOENT
	}
	// Linux finds errors of the program before errors of its arguments.
	f, err := files.OpenProgram(t, p.At)
	if err != nil {
		return 0, execErrno(err)
	}
	var start [2]byte
	_, _ = f.ReadAt(start[:], 0)
	f.Close()
	switch {
	case files.BeingWritten(t.Kernel, f.Ino):
		return 0, linux.ETXTBSY
	case p.Closes && string(start[:]) == "#!":
		return 0, linux.ENOENT
	}
	room := loader.ArgsLimit(t.Process.StackSize())
	argv, e := t.CopyInVector(argvAt, &room)
	if e != 0 {
		return 0, e
	}
	envv, e := t.CopyInVector(envvAt, &room)
	if e != 0 {
		return 0, e
	}
	x, err := loader.Prepare(func(file string) (*loader.File, error) {
		if file == p.Name {
			file = p.At
		}
		return files.OpenProgram(t, file)
	}, p.Name, argv)
	if err != nil {
		return 0, execErrno(err)
	}
	defer x.Close()
	if err := x.CheckArgs(envv, t.Process.StackSize()); err != nil {
		return 0, execErrno(err)
	}
	m, err := t.MachineForExec()
	if err != nil {
		return 0, t.Kernel.LogNoMachine("execve", err, linux.ENOMEM)
	}
	// From here on the old program is gone: an error can only kill.
	t.BeginExec(m)
	err = t.Process.Exec(t, x, envv)
	switch {
	case err != nil:
		t.Kernel.Logf("execve: %v", err)
		t.Process.End(task.Exit{Signal: linux.SIGKILL})
	case !t.Process.MayMap(0, 0):
		t.Process.End(task.Exit{Signal: linux.SIGSEGV}) // as bprm_execve() does beyond the point of no return
	case p.Opened:
		t.SetComm(strings.TrimSuffix(path.Base(x.Path()), " (deleted)"))
	}
	return 0, task.ENoReturn
}

// execErrno is the result of execve(2) for an error of package loader.
func execErrno(err error) linux.Errno {
	for _, m := range []struct {
		err error
		e   linux.Errno
	}{
		{fs.ErrNotExist, linux.ENOENT}, {fs.ErrPermission, linux.EACCES}, {loader.ErrFormat, linux.ENOEXEC}, {loader.ErrLoop, linux.ELOOP},
		{loader.ErrInterp, linux.ELIBBAD}, {loader.ErrSpace, linux.ENOMEM}, {loader.ErrArgs, linux.E2BIG},
	} {
		if errors.Is(err, m.err) {
			return m.e
		}
	}
	var e linux.Errno
	if errors.As(err, &e) {
		return e
	}
	return linux.EIO
}
