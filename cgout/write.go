package cgout

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/cgemu/cgemu/internal/outfile"
)

// cacheEvents are the events of a run with --cache-sim=yes --branch-sim=no, for
// which Cachegrind leaves a blank at the end of the line (cg_main.c).
var cacheEvents = []string{"Ir", "I1mr", "ILmr", "Dr", "D1mr", "DLmr", "Dw", "D1mw", "DLmw"}

// Write writes p as Cachegrind 3.24 does: cost centres sorted by file, function
// (bytewise) and line, those with no counts left out.
func (p *Profile) Write(w io.Writer) error {
	b := bufio.NewWriterSize(w, 64<<10) // keeps the first error for Flush
	for _, desc := range p.Desc {
		b.WriteString("desc: " + oneLine(desc) + "\n")
	}
	b.WriteString("cmd: " + oneLine(p.Cmd) + "\n")
	b.WriteString("events: " + strings.Join(p.Events, " "))
	if slices.Equal(p.Events, cacheEvents) {
		b.WriteByte(' ')
	}
	b.WriteByte('\n')

	var num []byte
	lastFile, lastFn := "", ""
	first := true
	p.Each(func(file, fn string, line int, counts []uint64) {
		if allZero(counts) {
			return
		}
		newFile := first || file != lastFile
		if newFile {
			b.WriteString("fl=" + oneLine(file) + "\n")
		}
		if newFile || fn != lastFn {
			b.WriteString("fn=" + oneLine(fn) + "\n")
		}
		first, lastFile, lastFn = false, file, fn
		num = strconv.AppendInt(num[:0], int64(line), 10)
		b.Write(appendCounts(num, counts))
	})
	b.WriteString("summary:")
	b.Write(appendCounts(nil, p.Totals()))
	return b.Flush()
}

func appendCounts(buf []byte, counts []uint64) []byte {
	for _, c := range counts {
		buf = strconv.AppendUint(append(buf, ' '), c, 10)
	}
	return append(buf, '\n')
}

func allZero(counts []uint64) bool {
	return !slices.ContainsFunc(counts, func(c uint64) bool { return c != 0 })
}

// oneLine keeps a text from breaking the format, which has no escapes.
func oneLine(text string) string {
	if !strings.ContainsAny(text, "\r\n") {
		return text
	}
	return strings.NewReplacer("\r", " ", "\n", " ").Replace(text)
}

// WriteFile writes p to a file with mode 0600, in the format of WriteFormat. At every moment path names either
// what it did before or the whole profile: the profile goes to a new file beside
// it, which then takes its name. If anything fails, path is left alone.
//
// A path that names something else than a regular file, such as /dev/stdout or a
// pipe, is written to directly.
//
// Counts by instruction go to a file beside it, first; nothing is beside a path that is written to
// directly.
func (p *Profile) WriteFile(path string) error {
	return p.WriteFileContext(context.Background(), path)
}

// WriteFileContext does the same, but waits no longer than half a second for somebody to read what path stands for once
// ctx is done.
func (p *Profile) WriteFileContext(ctx context.Context, path string) error {
	if p.Insns == nil {
		return WriteFiles(ctx, path, p.WriteFormat, nil)
	}
	return WriteFiles(ctx, path, p.WriteFormat, p.Insns.Write)
}

// WriteFormat writes p as files have it: in Callgrind's format if it has a call graph, otherwise in Cachegrind's.
func (p *Profile) WriteFormat(w io.Writer) error {
	if p.Graph != nil {
		return p.WriteCallgrind(w)
	}
	return p.Write(w)
}

// WriteFiles is WriteFileContext for a profile, and its counts by instruction unless insns is nil, that somebody else
// writes.
func WriteFiles(ctx context.Context, path string, profile, insns func(io.Writer) error) error {
	var err error
	switch {
	case profile == nil:
		return errors.New("cgout: WriteFiles without a profile")
	case insns == nil:
	case IsSpecial(path):
		err = fmt.Errorf("cannot write counts by instruction beside %s: it is no regular file", path)
	default:
		err = writeFile(ctx, path+InsnsSuffix, insns)
	}
	return errors.Join(err, writeFile(ctx, path, profile))
}

// IsSpecial reports whether path names something else than a regular file: a device, a pipe or a descriptor
// (/dev/stdout), into which WriteFile writes, or a directory.
func IsSpecial(path string) bool { return outfile.IsSpecial(path) }

// writeFile writes a file with Cachegrind's mode.
func writeFile(ctx context.Context, path string, write func(io.Writer) error) error {
	if err := outfile.Write(ctx, path, 0o600, write); err != nil {
		return fmt.Errorf("cannot write profile %s: %w", path, err)
	}
	return nil
}
