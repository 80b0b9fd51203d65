package cli

import (
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cgemu/cgemu/annotate"
)

// A visibleWriter writes what is data (a profile, CSV) to a terminal.
type visibleWriter struct {
	w io.Writer
	// rest is the beginning of a character of which the end is not written yet.
	rest []byte
}

// data returns a writer for what programs read, profiles or CSV, that is to go to w.
func (o *options) data(w io.Writer) io.Writer {
	if o.onTerminal {
		return &visibleWriter{w: w}
	}
	return w
}

// Write implements io.Writer.
func (v *visibleWriter) Write(b []byte) (int, error) {
	text := append(v.rest, b...)
	end := len(text)
	for i := max(0, end-utf8.UTFMax+1); i < end; i++ {
		if utf8.RuneStart(text[i]) && !utf8.FullRune(text[i:]) {
			end = i
		}
	}
	v.rest = slices.Clone(text[end:])
	lines := strings.Split(string(text[:end]), "\n")
	for i, line := range lines {
		lines[i] = annotate.Visible(line)
	}
	if _, err := io.WriteString(v.w, strings.Join(lines, "\n")); err != nil {
		return 0, err
	}
	return len(b), nil
}
