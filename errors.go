package cgemu

import (
	"errors"
	"slices"
	"strings"
)

// parts are the packages that put their names in front of errors that end a run, and of its warnings.
var parts = []string{"syscalls", "loader", "mem", "jit", "dwarfmap"}

// A runError is an error, or a warning, of one of the packages that a run is made of, without the name of that: whoever
// reads it need not know of the packages.
type runError struct {
	text string
	err  error
}

// Error implements error.
func (e *runError) Error() string { return e.text }

// Unwrap returns the error as the other package has it.
func (e *runError) Unwrap() error { return e.err }

// inOwnName returns an error with which a run ends, with the name of this package in place of those of its parts. None
// of these errors begins with a name that a user gave.
func inOwnName(err error) error {
	if err == nil {
		return nil
	}
	text := withoutParts(err)
	if text == err.Error() {
		return err
	}
	return &runError{"cgemu: " + strings.TrimPrefix(text, "cgemu: "), err}
}

// withoutParts is the text of an error without the names of parts, wherever they are.
func withoutParts(err error) string {
	text := err.Error()
	for e := err; e != nil; e = errors.Unwrap(e) {
		inner := e.Error()
		part, rest, _ := strings.Cut(inner, ": ")
		if before, ok := strings.CutSuffix(text, inner); ok && slices.Contains(parts, part) {
			text = before + rest
		}
	}
	return text
}
