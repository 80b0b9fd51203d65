package syscalls

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/cgemu/cgemu/loader"
	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/ipc"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/net"
	_ "github.com/cgemu/cgemu/syscalls/internal/procfs" // fills in /proc and /sys
	"github.com/cgemu/cgemu/syscalls/internal/record"
	"github.com/cgemu/cgemu/syscalls/internal/strace"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/tty"
)

// Types of the packages below that users of this package need.
type (
	// A KernelConfig says how programs run.
	KernelConfig = task.Config
	// A FileConfig says which files they see.
	FileConfig = files.Config
	// A Bind is a directory of the host that the guest sees at a path of its own.
	Bind = files.Bind
	// A BindError is that a directory cannot be seen there.
	BindError = files.BindError
	// A Network says which network the guest has.
	Network = net.Network
	// An Exit says how a process, or the run, ended.
	Exit = task.Exit
	// An End is a process that is over.
	End = task.End
	// An UnsupportedCall is a system call that a program has made and that is missing or refused.
	UnsupportedCall = task.UnsupportedCall
	// A Recorder writes an archive of what a run takes from the host.
	Recorder = record.Recorder
	// A Recording is such an archive, opened: a run can take it from there.
	Recording = record.Recording
	// A Text is bytes that mostly are UTF-8, for the JSON of a Recording.
	Text = record.Text
	// A User is who a guest is.
	User = record.User
	// An Errno is the error of a system call.
	Errno = linux.Errno
)

// The networks that a guest can have.
const (
	NetworkLoopback = net.NetworkLoopback
	NetworkNone     = net.NetworkNone
	NetworkHost     = net.NetworkHost
)

// Kinds of standard inputs in a Recording that the run's caller has to provide.
const (
	StdinClosed = record.StdinClosed
	StdinPipe   = record.StdinPipe
)

// Texts makes Texts of strings, and Strings strings of Texts.
func Texts(list []string) []Text   { return record.Texts(list) }
func Strings(list []Text) []string { return record.Strings(list) }

// NewRecorder returns a Recorder whose archive replaces what f has.
func NewRecorder(f *os.File) (*Recorder, error) { return record.NewRecorder(f) }

// OpenRecording opens an archive.
func OpenRecording(name string) (*Recording, error) { return record.Open(name) }

// WorkDir is the working directory of an isolated guest.
const WorkDir = files.WorkDir

// HasOwnRoot says that guests that are given no root have one of ours, since the host is not Linux.
const HasOwnRoot = files.HasOwnRoot

// GuestPath is where such a guest finds the host's file with an absolute path.
func GuestPath(path string) string { return files.GuestPath(path) }

// Ids that are the same on every host.
const (
	DefaultPID = task.DefaultPID
	DefaultUID = task.DefaultUID
)

// A Config says what to run, and in which surroundings.
type Config struct {
	KernelConfig
	Files FileConfig

	// Path is the program, as execve(2) takes it: PATH is not searched.
	Path string
	// Args are its arguments, Args[0] its own name. Env is its whole environment.
	Args, Env []string
	// Network is the network that the guest has.
	Network Network
	// Strace, if set, gets a line for each system call, as strace(1) shows it.
	Strace io.Writer
}

// A Kernel is a virtual machine with a program in it.
type Kernel struct{ k *task.Kernel }

// New makes a kernel and loads the program, which Run then executes.
func New(cfg Config) (*Kernel, error) {
	k := task.NewKernel(cfg.KernelConfig, table[:])
	stack := net.NewStack(cfg.Network)
	k.IPC, k.Net, k.TTY = ipc.NewNamespace(), stack, &tty.Driver{}
	fs, err := files.NewSystem(cfg.Files, func() host.Time { return files.TimeAt(k.Wall()) })
	if err != nil {
		return nil, err
	}
	k.FS = fs
	fs.Inodes.Forgotten = stack.Unix.Unlinked
	if u := fs.Guest(); u != nil && u.Shown {
		k.UID, k.GID = u.UID, u.GID
	}
	if cfg.Network == NetworkHost {
		switch {
		case cfg.Files.Record != nil:
			k.Network = cfg.Files.Record.Network(k.Network)
		case cfg.Files.Replay != nil:
			k.Network = cfg.Files.Replay.Network(func() { k.Canceled.Store(true) })
		}
	}
	if cfg.Strace != nil {
		k.Trace = strace.NewTracer(cfg.Strace)
	}
	k.FormatCall = strace.FormatWaiting
	if err := boot(k, &cfg); err != nil {
		k.Close()
		return nil, err
	}
	return &Kernel{k}, nil
}

// boot makes the first process and loads the program into it.
func boot(k *task.Kernel, cfg *Config) error {
	if r := cfg.Files.Record; r != nil {
		r.System.MaxFiles = k.HostFiles
	}
	if r := cfg.Files.Replay; r != nil {
		k.HostFiles = r.System.MaxFiles
	}
	t, err := k.FirstThread(files.New())
	if err != nil {
		return err
	}
	if err := files.AddStdio(t); err != nil {
		return err
	}
	x, err := loader.Prepare(func(name string) (*loader.File, error) { return files.OpenProgram(t, name) }, cfg.Path, cfg.Args)
	if err != nil {
		return err
	}
	defer x.Close()
	return k.Start(t, x, cfg.Env)
}

// Run runs the program until it ends or ctx is done. However that comes about, it is an Exit; an error is a failure of
// cgemu's own.
func (k *Kernel) Run(ctx context.Context) (Exit, error) { return k.k.Run(ctx) }

// Close frees address spaces, engines and files. It must not be called while Run runs.
func (k *Kernel) Close() error { return k.k.Close() }

// UnsupportedCalls lists what programs have asked for and not got, by number and error.
func (k *Kernel) UnsupportedCalls() []UnsupportedCall { return k.k.UnsupportedCalls() }

// Resolve returns where a path of the host leads, if it lies in the guest's root, when the guest follows it; false if
// that is nowhere. Other paths are returned as they are.
func (k *Kernel) Resolve(host string) (string, bool) { return files.Resolve(k.k, host) }

// OpenObject opens a regular file by an absolute path of the guest's, for those who look up names in it: the guest does
// not notice.
func (k *Kernel) OpenObject(guest string) (*os.File, error) { return files.OpenObject(k.k, guest) }

// StatObject says how long such a file is, and when it was changed, by the guest's clock.
func (k *Kernel) StatObject(guest string) (size int64, changed time.Time, err error) {
	return files.StatObject(k.k, guest)
}

// HostPath returns the path on the host of a guest's file, which is given by an absolute path; false if the host has no
// such file.
func (k *Kernel) HostPath(guest string) (string, bool) { return files.HostPath(k.k, guest) }
