package syscalls

import (
	"context"
	"io"

	"github.com/cgemu/cgemu/loader"
	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/ipc"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/net"
	_ "github.com/cgemu/cgemu/syscalls/internal/procfs" // fills in /proc and /sys
	"github.com/cgemu/cgemu/syscalls/internal/strace"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/tty"
)

// What callers need of the packages below.
type (
	// A KernelConfig says how programs run, a FileConfig what files they have.
	KernelConfig = task.Config
	FileConfig   = files.Config
	// A Bind is a directory of the host that the guest sees at a path of its own.
	Bind = files.Bind
	// A Network is what network the guest has.
	Network = net.Network
	// An Exit says how a process ended, an End has what is left of it.
	Exit = task.Exit
	End  = task.End
	// A UnsupportedCall is a system call that a program made and that is missing or refused.
	UnsupportedCall = task.UnsupportedCall
	// An Errno is the error of a system call.
	Errno = linux.Errno
)

// The networks.
const (
	NetworkLoopback = net.NetworkLoopback
	NetworkNone     = net.NetworkNone
	NetworkHost     = net.NetworkHost
)

// Identities that are the same on every host.
const (
	DefaultPID = task.DefaultPID
	DefaultUID = task.DefaultUID
)

// A Config says what to run in which world.
type Config struct {
	KernelConfig
	Files FileConfig

	// Path is the program, as execve(2) takes it: no search in PATH.
	Path string
	// Args are its arguments, Args[0] its name. Env is its whole environment.
	Args, Env []string
	// Network is what network the guest has.
	Network Network
	// Strace, if set, gets a line for each system call.
	Strace io.Writer
}

// A Kernel is a running system.
type Kernel struct{ k *task.Kernel }

// New loads the program and makes it ready to run.
func New(cfg Config) (*Kernel, error) {
	k := task.NewKernel(cfg.KernelConfig, table[:])
	k.IPC, k.Net, k.TTY = ipc.NewNamespace(), net.NewStack(cfg.Network), &tty.Driver{}
	fs, err := files.NewSystem(cfg.Files, func() host.Time { return files.TimeAt(k.Wall()) })
	if err != nil {
		return nil, err
	}
	k.FS = fs
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

// boot starts the program in the first process.
func boot(k *task.Kernel, cfg *Config) error {
	t, err := k.FirstThread(files.New(), task.FileLimit())
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

// Run runs the program to its end, or until ctx is done. The error is for failures of ours; however the program ends, it ends
// with an Exit.
func (k *Kernel) Run(ctx context.Context) (Exit, error) { return k.k.Run(ctx) }

// Close frees address spaces, engines and files.
func (k *Kernel) Close() error { return k.k.Close() }

// UnsupportedCalls lists what programs asked for and did not get, by number and error.
func (k *Kernel) UnsupportedCalls() []UnsupportedCall { return k.k.UnsupportedCalls() }

// Resolve returns where a path of the host that leads into the guest's root leads if the guest goes there, false if to nothing.
// Others stay what they are.
func (k *Kernel) Resolve(host string) (string, bool) { return files.Resolve(k.k, host) }

// HostPath returns the host's path of a guest file, given by an absolute guest path: false if there is none.
func (k *Kernel) HostPath(guest string) (string, bool) { return files.HostPath(k.k, guest) }
