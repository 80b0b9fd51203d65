package syscalls

import (
	"io"

	"github.com/cgemu/cgemu/loader"
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

// New loads the program and makes it ready to run.
func New(cfg Config) (*Kernel, error) {
	k := newKernel(cfg.KernelConfig, table[:])
	k.ipc, k.net, k.tty = newIPCSpace(), newNetStack(cfg.Network), &ttyDriver{}
	fs, err := newFileSystem(cfg.Files, func() fileTime { return timeAt(k.wall()) })
	if err != nil {
		return nil, err
	}
	k.fs = fs
	if cfg.Strace != nil {
		k.trace = newTracer(cfg.Strace)
	}
	k.formatCall = formatWaiting
	if err := boot(k, &cfg); err != nil {
		k.Close()
		return nil, err
	}
	return k, nil
}

// boot starts the program in the first process.
func boot(k *Kernel, cfg *Config) error {
	t, err := k.firstThread(newThreadFiles(), fileLimit())
	if err != nil {
		return err
	}
	if err := t.addStdio(); err != nil {
		return err
	}
	x, err := loader.Prepare(func(name string) (*loader.File, error) { return t.openProgram(name) }, cfg.Path, cfg.Args)
	if err != nil {
		return err
	}
	defer x.Close()
	return k.start(t, x, cfg.Env)
}
