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
		interp, arg, err := parseShebang(head)
		if err != nil {
			return nil, nil, refuse(name, "%v", err)
		}
		rest := append([]string{name}, argv[1:]...)
		argv = []string{interp}
		if arg != "" {
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

// parseShebang takes a `#!` line apart as fs/binfmt_script.c does: the
// interpreter, then everything up to the end of line as one argument.
func parseShebang(head []byte) (interp, arg string, err error) {
	line := head[2:]
	end := bytes.IndexByte(line, '\n')
	whole := end >= 0 || len(head) < headSize
	if end >= 0 {
		line = line[:end]
	}
	if i := bytes.IndexByte(line, 0); i >= 0 {
		line = line[:i]
	}
	line = bytes.Trim(line, " \t")
	if len(line) == 0 {
		return "", "", errors.New("its #! line names no interpreter")
	}
	i := bytes.IndexAny(line, " \t")
	if i < 0 {
		if !whole {
			return "", "", fmt.Errorf("its #! line is longer than %d bytes", headSize)
		}
		return string(line), "", nil
	}
	return string(line[:i]), string(bytes.TrimLeft(line[i:], " \t")), nil
}
