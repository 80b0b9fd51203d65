package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cgemu/cgemu/internal/sandbox"
)

// Two walls are around a guest that --root, --read-only, --overlay or --sandbox confines. The first is the guest's
// kernel, package syscalls. The second is the host's, put up here: it holds for cgemu's whole process, so for a guest,
// too, that had got out of its own. For the same reason package cgemu does not do it: a library does not confine its
// caller.

// firstWall and insideWalls are for tests, in builds of their own: whether there is a first wall, and what is done when
// the second stands, in place of a run.
var (
	firstWall   = true
	insideWalls func()
)

// debugDirs are where separate debug files are on the host: package dwarfmap looks there.
var debugDirs = []string{"/usr/lib/debug"}

// confine puts up the second wall, if the options ask for the first, and as far as the host has it. From then on k's
// profiles are written by a writer. It returns the directory for the guest's /dev/shm, and what is to be done at the
// end.
func (o *options) confine(k *keeper) (shm string, end func(), err error) {
	nothing := func() {}
	if !o.walled() {
		return "", nothing, nil
	}
	walls := sandbox.Available()
	if err := walls.Missing(); err != nil && o.sandbox {
		return "", nothing, noSandbox(err)
	}
	if walls.NoLandlock != nil && walls.NoSeccomp != nil {
		o.tellWalls(k, walls)
		return "", nothing, nil
	}
	shm = makeShm()
	w, err := startWriter(o.outFile, shm)
	if err != nil {
		os.Remove(shm)
		return "", nothing, fmt.Errorf("starting the process that writes profiles: %w", err)
	}
	k.writer = w
	closeInherited()
	walls = sandbox.Confine(o.policy(shm))
	if err := walls.Missing(); err != nil && o.sandbox {
		w.close()
		return "", nothing, noSandbox(err)
	}
	o.tellWalls(k, walls)
	if insideWalls != nil {
		insideWalls()
	}
	return shm, w.close, nil
}

func noSandbox(why error) error {
	return fmt.Errorf("--sandbox: %w; --read-only and --root do without, but where a program is not trusted run them in a virtual machine", why)
}

func (o *options) tellWalls(k *keeper, w sandbox.Walls) {
	if o.verbose {
		fmt.Fprintf(k.log, "cgemu: confined by the host: %s\n", w)
	}
}

// makeShm makes the directory in which the guest's /dev/shm will be; "" if there is no place for one.
func makeShm() string {
	dir, err := os.MkdirTemp("/dev/shm", "cgemu-")
	if err != nil {
		dir, err = os.MkdirTemp("", "cgemu-")
	}
	if err == nil {
		dir, err = filepath.Abs(dir) // TMPDIR may say otherwise
	}
	if err != nil {
		return ""
	}
	return dir
}

// policy is what cgemu itself needs for the run.
func (o *options) policy(shm string) sandbox.Policy {
	kept := o.readOnly || o.overlay                 // the host's files stay as they are, but for those that are bound
	ownFiles := o.recording != nil || o.image != "" // which are open already, and have all that the guest sees
	p := sandbox.Policy{ReadAll: o.root == "" && !ownFiles, ReadOnly: o.readOnly || o.overlay && len(o.binds) == 0, Network: o.network == "host"}
	allow := func(a sandbox.Access, paths ...string) {
		for _, path := range paths {
			p.Rules = append(p.Rules, sandbox.Rule{Path: path, Access: a})
		}
	}
	if shm != "" {
		allow(sandbox.Change, shm)
	}
	allow(sandbox.Use, "/dev/null", "/dev/tty")
	// What /dev/stdin and its kin open anew. Directories would lead out.
	for fd, std := range []*os.File{os.Stdin, os.Stdout, os.Stderr} {
		info, err := std.Stat()
		if err != nil || info.IsDir() {
			continue
		}
		access := sandbox.Read
		if opensForWriting(std) && (fd > 0 || info.Mode()&(os.ModeCharDevice|os.ModeNamedPipe) != 0) {
			access = sandbox.Use
		}
		allow(access, fmt.Sprintf("/proc/self/fd/%d", fd))
	}
	for _, b := range o.bound() {
		if o.readOnly || b.ReadOnly {
			allow(sandbox.Read, b.Host)
		} else {
			allow(sandbox.Change, b.Host)
		}
	}
	if o.isolate != "" { // what the guest changes there stays in memory
		allow(sandbox.Read, o.isolate)
	}
	switch {
	case ownFiles:
	case o.root == "":
		return p
	case kept:
		allow(sandbox.Read, o.root)
	default:
		allow(sandbox.Change, o.root)
	}
	if !ownFiles {
		allow(sandbox.Read, debugDirs...)
		allow(sandbox.Read, o.extraDebug...)
	}
	// The engines and package emu/mem ask for the process' own mappings and the CPU.
	allow(sandbox.Read, "/proc/self", "/proc/cpuinfo", "/proc/sys/vm")
	if p.Network {
		allow(sandbox.Read, "/etc/hosts", "/etc/resolv.conf")
	}
	return p
}

// newWriter returns the writer at the other end of conn.
func newWriter(conn *os.File) *writer { return &writer{conn: conn, replies: bufio.NewReader(conn)} }
