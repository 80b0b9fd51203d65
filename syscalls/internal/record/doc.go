// Package record keeps what a run takes from the host, so that the run can be repeated where none of it is.
//
// A Recorder is a file system that lies between the guest and the host's files. It passes everything on, and writes
// what the guest finds into an archive: names that are there and names that are not, what stat(2) tells of them,
// directories that are listed, and contents, each as it was before the guest changed it. A Recording is such an
// archive, opened again; its file system has what was found, and knows of everything else that it was never asked for.
//
// The archive is a tar file. In front are contents in the order in which they were first opened: root/PATH for a file
// of the guest's, etc/NAME for a file of /etc that stands in for the host's, and stdin. Behind them is files.jsonl, a
// line for each name that was looked up, and manifest.json, which comes last: without it the archive is not whole.
package record

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/vfs"
)

// format is the version of the archive's form: another where an older cgemu would misread it.
const format = 1

// Names in the archive.
const (
	manifestName = "manifest.json"
	filesName    = "files.jsonl"
	stdinName    = "stdin"
	rootPrefix   = "root"
	etcPrefix    = "etc/"
)

// Dev is the device of a Recorder's files.
const Dev = 1 << 62

// A Text is bytes that are mostly UTF-8, such as a path. In JSON a per cent sign and two hexadecimal digits stand for a
// byte that is not, and for a per cent sign.
type Text string

// MarshalText implements encoding.TextMarshaler.
func (t Text) MarshalText() ([]byte, error) {
	var out []byte
	for s := string(t); s != ""; {
		r, n := utf8.DecodeRuneInString(s)
		if r == '%' || r == utf8.RuneError && n == 1 {
			out = fmt.Appendf(out, "%%%02X", s[0])
		} else {
			out = append(out, s[:n]...)
		}
		s = s[n:]
	}
	return out, nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *Text) UnmarshalText(b []byte) error {
	var out strings.Builder
	for s := string(b); s != ""; {
		plain, rest, escaped := strings.Cut(s, "%")
		out.WriteString(plain)
		if !escaped {
			break
		}
		if len(rest) < 2 {
			return fmt.Errorf("%q: two digits are expected behind a per cent sign", b)
		}
		c, err := strconv.ParseUint(rest[:2], 16, 8)
		if err != nil {
			return fmt.Errorf("%q: two digits are expected behind a per cent sign", b)
		}
		out.WriteByte(byte(c))
		s = rest[2:]
	}
	*t = Text(out.String())
	return nil
}

// Texts makes Texts of strings, and Strings strings of Texts.
func Texts(list []string) []Text {
	out := make([]Text, len(list))
	for i, s := range list {
		out[i] = Text(s)
	}
	return out
}

// Strings is the inverse of Texts.
func Strings(list []Text) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}

// A manifest is the archive's last member.
type manifest struct {
	Format int `json:"format"`
	// System is what package files has to say, Run what the callers above have.
	System System          `json:"system"`
	Run    json.RawMessage `json:"run"`
}

// A User is one of a guest's, and the groups in which he is. Unless it is Shown, the guest is the ordinary user to
// itself, whose are the files of this one.
type User struct {
	Shown  bool   `json:"shown,omitempty"`
	UID    uint32 `json:"uid"`
	GID    uint32 `json:"gid"`
	Groups []int  `json:"groups,omitempty"`
}

// A System is what a guest's files depend on besides the files.
type System struct {
	// Dir is the guest's name of the working directory.
	Dir Text `json:"dir"`
	// UID, GID and Groups are those of the user who ran cgemu; Privileged says that he may do everything.
	UID        uint32 `json:"uid"`
	GID        uint32 `json:"gid"`
	Groups     []int  `json:"groups,omitempty"`
	Privileged bool   `json:"privileged,omitempty"`
	// Guest is who the guest was, if that did not follow from the user.
	Guest *User `json:"guest,omitempty"`
	// ReadOnly, Isolated and StandIns are how the guest saw its files: see files.Config.
	ReadOnly bool `json:"readOnly,omitempty"`
	Isolated bool `json:"isolated,omitempty"`
	StandIns bool `json:"standIns,omitempty"`
	// MaxFiles is how many files a process might open at most.
	MaxFiles uint64 `json:"maxFiles"`
	Stdin    Stdin  `json:"stdin"`
	// NoStdout and NoStderr say that these were closed.
	NoStdout bool `json:"noStdout,omitempty"`
	NoStderr bool `json:"noStderr,omitempty"`
}

// Kinds of standard inputs.
const (
	StdinClosed = "closed"
	StdinNull   = "null"
	// StdinPipe is a pipe, a socket, or the null device in place of a terminal: what came from it is a member of the
	// archive.
	StdinPipe = "pipe"
	// StdinNamed is a file that the guest finds under a path; StdinFile one that it does not, whose content is a member
	// of the archive.
	StdinNamed = "named"
	StdinFile  = "file"
)

// A Stdin is what standard input was.
type Stdin struct {
	Kind string `json:"kind"`
	// Path is the guest's name of a file, Offset where it stood; Stat describes one without a path.
	Path   Text  `json:"path,omitempty"`
	Offset int64 `json:"offset,omitempty"`
	Stat   *Stat `json:"stat,omitempty"`
}

// An entry is a line of files.jsonl: a name that was looked up.
type entry struct {
	Path Text `json:"path"`
	// Error is why there is no file.
	Error linux.Errno `json:"error,omitempty"`
	// Unseen says that the name was in a listed directory, and that the guest did not look at the file: of the rest
	// there is its type only.
	Unseen bool `json:"unseen,omitempty"`
	*Stat
	Target Text          `json:"target,omitempty"`
	Xattrs map[Text]Text `json:"xattrs,omitempty"`
	// Listed says that the names in a directory are all there; Content that the archive has what the file contains.
	Listed  bool `json:"listed,omitempty"`
	Content bool `json:"content,omitempty"`
}

// A Stat is what stat(2) tells. Names of one file have the same Inode.
type Stat struct {
	Inode uint64 `json:"inode"`
	Mode  Mode   `json:"mode"`
	Nlink uint64 `json:"nlink,omitempty"`
	UID   uint32 `json:"uid,omitempty"`
	GID   uint32 `json:"gid,omitempty"`
	Rdev  uint64 `json:"rdev,omitempty"`
	Size  int64  `json:"size,omitempty"`
	// Mtime is in seconds, Nsec what comes to it in nanoseconds. A guest sees no other times than these.
	Mtime int64 `json:"mtime,omitempty"`
	Nsec  int32 `json:"nsec,omitempty"`
}

// A Mode is a file's type and permissions: in JSON an octal number in quotes.
type Mode uint32

// MarshalText implements encoding.TextMarshaler.
func (m Mode) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%o", uint32(m)), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (m *Mode) UnmarshalText(b []byte) error {
	n, err := strconv.ParseUint(string(b), 8, 32)
	*m = Mode(n)
	return err
}

// statOf is s with a number of the archive's.
func statOf(s vfs.Stat, inode uint64) *Stat {
	return &Stat{inode, Mode(s.Mode), s.Nlink, s.UID, s.GID, s.Rdev, s.Size, s.Mtime.Sec, s.Mtime.Nsec}
}

// vfs is s for package vfs.
func (s *Stat) vfs() vfs.Stat {
	t := vfs.Time{Sec: s.Mtime, Nsec: s.Nsec}
	return vfs.Stat{Dev: Dev, Ino: s.Inode, Mode: uint32(s.Mode), Nlink: s.Nlink, UID: s.UID, GID: s.GID, Rdev: s.Rdev, Size: s.Size, Atime: t, Mtime: t, Ctime: t}
}
