//go:build !linux || portable

package host

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"unicode/utf16"
)

// Symbolic links of a host where users may make none, as Windows without developer mode: files of an attribute that
// hardly any other has, with a text that says where they lead, in the form that Cygwin and the bash of git know
// (cygwin.com, "Symbolic links").

// linkMark is what such a file begins with: the target follows in UTF-16, its least byte first, and a zero.
var linkMark = []byte("!<symlink>\xff\xfe")

// maxLinkText bounds the size of such a file: paths have 4,095 bytes at most.
const maxLinkText = 12 + 2*4096

// linkText is what is in a file that leads to target.
func linkText(target string) []byte {
	b := bytes.Clone(linkMark)
	for _, c := range append(utf16.Encode([]rune(target)), 0) {
		b = binary.LittleEndian.AppendUint16(b, c)
	}
	return b
}

// linkTarget is where a file with that text leads to, if it is a link's.
func linkTarget(text []byte) (target string, ok bool) {
	text, ok = bytes.CutPrefix(text, linkMark)
	if !ok || len(text)%2 != 0 {
		return "", false
	}
	var units []uint16
	for ; len(text) >= 2; text = text[2:] {
		c := binary.LittleEndian.Uint16(text)
		if c == 0 {
			break
		}
		units = append(units, c)
	}
	return string(utf16.Decode(units)), len(units) > 0
}

// A linkInfo describes a file that is such a link.
type linkInfo struct {
	fs.FileInfo
	target string
}

func (i linkInfo) Mode() fs.FileMode { return fs.ModeSymlink | 0o777 }
func (i linkInfo) Size() int64       { return int64(len(i.target)) }
