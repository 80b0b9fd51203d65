// Package sandbox confines the calling process, with all its threads, by means of its own kernel: Landlock says which
// files and which network it reaches, a seccomp filter which system calls it makes. Both hold until the process ends;
// neither needs a privilege.
//
// cgemu keeps a guest within bounds by resolving its paths and checking its calls itself. What this package does is a
// second check of the same bounds, by somebody else: it holds for code that has got out of the guest's address space
// and makes system calls of its own. It is written for what cgemu does after it has been confined: it starts no
// program, opens no listening socket and sends signals to nobody else.
//
// What a policy cannot say, because the kernel cannot: existence, size and times of files outside can be looked at
// (stat(2)), and descriptors that are open already stay as they are.
package sandbox

import "fmt"

// A Policy says what the process may do from now on. What it does not name is denied.
type Policy struct {
	// ReadAll allows all files to be read, Rules name others.
	ReadAll bool
	Rules   []Rule
	// ReadOnly says that no attributes of files are changed either. Otherwise those of files are that may be opened.
	ReadOnly bool
	// Network allows sockets that connect to other hosts.
	Network bool
}

// A Rule allows access to a file, or to a directory and all below it. A path that does not exist is no error.
type Rule struct {
	Path   string
	Access Access
}

// An Access is what a Rule allows.
type Access int

// What may be done. Nothing may be executed.
const (
	// Read opens files for reading, and lists directories.
	Read Access = iota
	// Change also opens for writing, makes, renames and removes: no devices.
	Change
	// Use reads and writes one file, which may be a device.
	Use
)

// Walls are what has been put up. An empty text says that there is no such thing; why not is in the error beside it.
type Walls struct {
	Landlock, Seccomp     string
	NoLandlock, NoSeccomp error
}

// String tells users what stands.
func (w Walls) String() string {
	return one("landlock", w.Landlock, w.NoLandlock) + "; " + one("seccomp", w.Seccomp, w.NoSeccomp)
}

func one(name, stands string, err error) string {
	if err != nil {
		return fmt.Sprintf("no %s (%v)", name, err)
	}
	return name + ": " + stands
}

// Missing is why not both stand, nil if they do.
func (w Walls) Missing() error {
	if w.NoLandlock != nil {
		return fmt.Errorf("no Landlock: %w", w.NoLandlock)
	}
	if w.NoSeccomp != nil {
		return fmt.Errorf("no seccomp filter: %w", w.NoSeccomp)
	}
	return nil
}
