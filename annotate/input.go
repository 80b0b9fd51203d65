package annotate

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/cgemu/cgemu/cgout"
)

// An Input is a profile to be read: of a File, or of a run in this program, Memory.
// The zero value is none: what reads it returns an error.
type Input struct {
	name string
	// read returns the profile as a file has it. It is nil if there is no profile: data says so.
	read func() ([]byte, error)
	// memory is the profile, if it is in memory.
	memory *cgout.Profile
	// insns reads the counts by instruction.
	insns func() (*cgout.Insns, error)
	// graph, if it is set, has the call graph, which otherwise is in what read returns.
	graph func() *cgout.CallGraph
	// stat asks for the profile's file, whose sources may be newer; nil: it is no file.
	stat func() (fs.FileInfo, error)
}

// File is a profile in a file. It is read when a report is made of it; its counts
// by instruction are in a file beside it, which WriteAsm reads.
func File(path string) Input {
	return Input{
		name:  path,
		read:  func() ([]byte, error) { return cgout.ReadFile(path) },
		insns: func() (*cgout.Insns, error) { return readInsns(hostFiles{}, path+cgout.InsnsSuffix) },
		stat:  func() (fs.FileInfo, error) { return os.Stat(path) },
	}
}

// FileIn is File for a file in fsys.
func FileIn(fsys fs.FS, path string) Input {
	if fsys == nil {
		return Input{name: path}
	}
	return Input{
		name:  path,
		read:  func() ([]byte, error) { return cgout.ReadFileFS(fsys, path) },
		insns: func() (*cgout.Insns, error) { return readInsns(fsys, path+cgout.InsnsSuffix) },
		stat:  func() (fs.FileInfo, error) { return fs.Stat(fsys, path) },
	}
}

// Memory is a profile in memory, which must not change as long as the report is
// used. The name is for reports and errors.
func Memory(name string, p *cgout.Profile) Input {
	if p == nil {
		return Input{name: name}
	}
	return Input{
		name:   name,
		memory: p,
		read: func() ([]byte, error) {
			var b bytes.Buffer
			err := p.Write(&b)
			return b.Bytes(), err
		},
		graph: func() *cgout.CallGraph { return p.Graph },
		insns: func() (*cgout.Insns, error) {
			if p.Insns == nil {
				return nil, fmt.Errorf("%s: no counts by instruction", name)
			}
			return p.Insns, nil
		},
	}
}

// data reads the profile.
func (in *Input) data() ([]byte, error) {
	if in.read == nil {
		return nil, errNoProfile
	}
	return in.read()
}

// profile reads the profile with its call graph.
func (in *Input) profile() (*cgout.Profile, error) {
	p := in.memory
	if p == nil {
		data, err := in.data()
		if err != nil {
			return nil, err
		}
		if p, err = cgout.Read(in.name, bytes.NewReader(data)); err != nil {
			return nil, err
		}
	}
	if p.Graph == nil {
		return nil, fmt.Errorf("%s: the profile has no call graph: cgemu --call-graph=yes records one", in.name)
	}
	return p, nil
}

// olderThan reports whether the profile is a file that was written before a time.
func (in *Input) olderThan(t time.Time) bool {
	if in.stat == nil {
		return false
	}
	info, err := in.stat()
	return err == nil && info.ModTime().Before(t)
}

// date is the day when the profile was written, in UTC; "" if it is no file.
func (in *Input) date() string {
	if in.stat == nil {
		return ""
	}
	info, err := in.stat()
	if err != nil || info.ModTime().Unix() <= 0 || !info.Mode().IsRegular() {
		return ""
	}
	return info.ModTime().UTC().Format(time.DateOnly)
}

var errNoProfile = errors.New("annotate: no profile")
