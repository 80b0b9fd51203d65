package loader

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

const (
	// headSize is how much of a file Linux looks at to find out what it is (BINPRM_BUF_SIZE).
	headSize = 256
	// maxScripts is how many `#!` interpreters may follow each other (fs/exec.c, exec_binprm).
	maxScripts = 5
)

var errNoInterp = errors.New("its #! line names no interpreter")

// openProgram opens path, following `#!` lines, and returns the ELF file they end
// at with the arguments it gets.
func openProgram(open Opener, path string, argv []string) (*File, []string, error) {
	// Linux gives a program without arguments an empty argv[0] (since 5.18).
	if len(argv) == 0 {
		argv = []string{""}
	}
	name := path
	for depth := 0; ; depth++ {
		f, err := open(name)
		if err != nil {
			return nil, nil, openError(path, name, err)
		}
		head, err := readAt(f, 0, headSize)
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			f.Close()
			return nil, nil, &Error{Path: name, Reason: err, Msg: err.Error()}
		}
		if !bytes.HasPrefix(head, []byte("#!")) {
			return f, argv, nil
		}
		f.Close()
		if depth == maxScripts {
			return nil, nil, &Error{Path: path, Reason: ErrLoop, Msg: ErrLoop.Error()}
		}
		interp, arg, hasArg, err := parseShebang(head)
		if err != nil {
			return nil, nil, refuse(name, "%v", err)
		}
		if interp == "" { // Linux opens the working directory
			return nil, nil, &Error{Path: path, Reason: fs.ErrPermission, Msg: errNoInterp.Error()}
		}
		rest := append([]string{name}, argv[1:]...)
		argv = []string{interp}
		if hasArg {
			argv = append(argv, arg)
		}
		argv = append(argv, rest...)
		name = interp
	}
}

// openError describes a program or `#!` interpreter that cannot be opened.
func openError(path, name string, err error) error {
	msg := err.Error()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		msg = "no such file"
	case errors.Is(err, fs.ErrPermission):
		msg = "not an executable file"
	}
	interp := ""
	if name != path {
		interp = name
		line := "its #! line"
		if plain, ok := strings.CutSuffix(name, "\r"); ok {
			name, line = plain, line+", which ends in CR and LF"
		}
		msg = fmt.Sprintf("interpreter %s of %s: %s", name, line, msg)
	}
	return &Error{Path: path, Interp: interp, Reason: err, Msg: msg}
}

// parseShebang takes a `#!` line apart as load_script in fs/binfmt_script.c does, which looks at the first bytes of a
// file with zeros behind it: the interpreter, then, if hasArg is set, everything up to the end of the line as one
// argument. A line that does not end there must have the whole name of the interpreter; its argument may be cut off.
// Zeros end what is copied, but they do not end the line.
func parseShebang(head []byte) (interp, arg string, hasArg bool, err error) {
	var buf [headSize]byte
	copy(buf[:], head)
	const last = headSize - 1 // is never part of a string
	end := bytes.IndexByte(buf[:], '\n')
	if end < 0 {
		name := skip(buf[:], 2, last, isBlank)
		if name < 0 {
			return "", "", false, errNoInterp
		}
		if skip(buf[:], name, last, isNoEnd) < 0 {
			return "", "", false, fmt.Errorf("its #! line is longer than %d bytes", headSize)
		}
		end = last
	}
	for isBlank(buf[end-1]) {
		end--
	}
	name := skip(buf[:], 2, end, isBlank)
	if name < 0 || name == end {
		return "", "", false, errNoInterp
	}
	behind, from := skip(buf[:], name, end, isNoEnd), -1
	if behind >= 0 && buf[behind] != 0 {
		from = skip(buf[:], behind, end, isBlank)
	}
	if from < 0 {
		return cString(buf[name:end]), "", false, nil
	}
	return cString(buf[name:behind]), cString(buf[from:end]), true, nil
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// isNoEnd reports whether c may be in an interpreter's name.
func isNoEnd(c byte) bool { return !isBlank(c) && c != 0 }

// skip returns where in b, from one index to another one and with it, the first byte is that is not one of those that
// skipped tells; or -1.
func skip(b []byte, from, to int, skipped func(c byte) bool) int {
	for i := from; i <= to; i++ {
		if !skipped(b[i]) {
			return i
		}
	}
	return -1
}

// cString is b up to a zero.
func cString(b []byte) string {
	b, _, _ = bytes.Cut(b, []byte{0})
	return string(b)
}
