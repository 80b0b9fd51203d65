package files

import (
	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/record"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/vfs"
)

// This file has what is recorded besides files that paths lead to (Config.Record), and what of it a replay takes from
// there (Config.Replay).

// recordSystem exchanges with a recording how the guest sees its files.
func (fs *System) recordSystem() {
	if r := fs.Config.Record; r != nil {
		s := &r.System
		s.UID, s.GID, s.Groups, s.Privileged = fs.user.UID, fs.user.GID, fs.user.Groups, fs.user.Privileged
		s.ReadOnly, s.Isolated, s.StandIns, s.Guest = fs.Config.ReadOnly, fs.isolated, fs.standIns, fs.guest
		s.Stdin.Kind, s.NoStdout, s.NoStderr = record.StdinClosed, true, true // until they are found open
	}
	if r := fs.Config.Replay; r != nil {
		s := &r.System
		fs.user = vfs.MemOptions{UID: s.UID, GID: s.GID, Groups: s.Groups, Privileged: s.Privileged}
		fs.Config.ReadOnly, fs.isolated, fs.standIns, fs.guest = s.ReadOnly, s.Isolated, s.StandIns, s.Guest
	}
}

// recorded is a content of a file of /etc that depends on the host, unless the run is a replay.
func recorded(name string, content func(*task.Thread) []byte) func(*task.Thread) []byte {
	return func(t *task.Thread) []byte {
		return SystemOf(t.Kernel).RecordedEtc(name, func() []byte { return content(t) })
	}
}

// RecordedEtc is, for the file of a name in /etc, what content returns, or did in the run that is replayed.
func (fs *System) RecordedEtc(name string, content func() []byte) []byte {
	if fs.Config.Replay != nil {
		return fs.Config.Replay.Etc(name)
	}
	text := content()
	if fs.Config.Record != nil {
		return fs.Config.Record.Etc(name, text)
	}
	return text
}

// A stdinHandle is the host's descriptor of standard input, as that of a node.
type stdinHandle struct {
	host.Data
	at vfs.Node
}

func (h stdinHandle) Node() vfs.Node { return h.at }

// recordedStream returns standard file i, which is fd, if it is an input that is a file and comes into a recording, or
// out of one. There it is the same file as the one that the guest finds under its name. It is nil for any other.
func recordedStream(k *task.Kernel, i int, fd host.FD) (*HostFile, linux.Errno) {
	cfg := &SystemOf(k).Config
	switch {
	case cfg.Replay != nil && i == 0:
		return replayedStdin(k, fd)
	case cfg.Record == nil:
	case i == 0:
		return recordedStdin(k, fd)
	case i == 1:
		cfg.Record.System.NoStdout = false
	case i == 2:
		cfg.Record.System.NoStderr = false
	}
	return nil, 0
}

// recordedStdin notes what standard input is.
func recordedStdin(k *task.Kernel, fd host.FD) (*HostFile, linux.Errno) {
	r := SystemOf(k).Config.Record
	in := &r.System.Stdin
	st, e := fd.Stat()
	if e != 0 {
		return nil, e
	}
	data := host.Data{FD: fd}
	at, e := fd.Lseek(0, linux.SEEK_CUR)
	switch {
	case SystemOf(k).Config.PipedStdin:
		in.Kind = record.StdinPipe
		r.Stdin(record.Stat{Size: st.Size}, data)
		return nil, 0
	case st.Mode&linux.S_IFMT != linux.S_IFREG || e != 0:
		in.Kind = record.StdinNull
		return nil, 0
	}
	in.Offset = at
	in.Path = record.Text(nameOf(k, FileRef{FD: fd}))
	ref := FileRef{FD: fd}
	if n := sameFile(k, string(in.Path), st); n != nil {
		in.Kind = record.StdinNamed
		ref = FileRef{FD: fd, Node: n, handle: stdinHandle{data, n}}
	} else {
		in.Kind = record.StdinFile
		in.Stat = &record.Stat{
			Inode: st.Ino, Mode: record.Mode(st.Mode), Nlink: st.Nlink, UID: st.UID, GID: st.GID, Size: st.Size, Mtime: st.Mtime.Sec, Nsec: st.Mtime.Nsec,
		}
		r.Stdin(*in.Stat, data)
	}
	f, e := NewHostFile(k, ref, linux.O_RDONLY, string(in.Path))
	return f, e
}

// sameFile returns the node that a path of the guest's leads to, if that is the host's file which st describes, and
// records what is in it.
func sameFile(k *task.Kernel, name string, st host.Stat) vfs.Node {
	n, ok := nodeAt(k, name)
	if !ok {
		return nil
	}
	h, e := n.Open(linux.O_RDONLY)
	if e != 0 {
		return nil
	}
	defer h.Close()
	fd, ok := h.Descriptor()
	if !ok {
		return nil
	}
	if o, e := host.FD(fd).Stat(); e != 0 || o.Dev != st.Dev || o.Ino != st.Ino {
		return nil
	}
	return n
}

// nodeAt returns the regular file that a path of the guest's leads to, in a root of nodes.
func nodeAt(k *task.Kernel, name string) (vfs.Node, bool) {
	t := &task.Thread{Process: k.First, Kernel: k, Files: New()}
	defer t.Files.EndCall(k)
	l, e := Locate(t, linux.AT_FDCWD, name, true)
	if e != 0 || l.In == nil {
		return nil, false
	}
	n, e := l.found()
	if e != 0 {
		return nil, false
	}
	s, e := n.Stat()
	return n, e == 0 && s.Kind() == linux.S_IFREG
}

// replayedStdin opens what standard input was, in place of fd, if it was a file.
func replayedStdin(k *task.Kernel, fd host.FD) (*HostFile, linux.Errno) {
	replay := SystemOf(k).Config.Replay
	in := &replay.System.Stdin
	var n vfs.Node
	switch in.Kind {
	default:
		return nil, 0
	case record.StdinFile:
		n = replay.StdinNode()
	case record.StdinNamed:
		var ok bool
		if n, ok = nodeAt(k, string(in.Path)); !ok {
			return nil, linux.ENOENT
		}
	}
	r, e := openedNode(n.Open(linux.O_RDONLY))
	if e != 0 {
		return nil, e
	}
	fd.Close()
	if _, e := r.FD.Lseek(in.Offset, linux.SEEK_SET); e != 0 {
		r.Close()
		return nil, e
	}
	return NewHostFile(k, r, linux.O_RDONLY, string(in.Path))
}
