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
//
// It is an error if Read would not read the file: there are no events, or one has a name with blanks or none at all, a
// line is less than 0, or a total does not fit in 64 bits. Line ends in names are written as blanks. Blanks in front of
// Cmd and Desc are left out, since readers do not see them.
func (p *Profile) Write(w io.Writer) error {
	totals, err := p.writable()
	if err != nil {
		return err
	}
	b := bufio.NewWriterSize(w, 64<<10) // keeps the first error for Flush
	for _, desc := range p.Desc {
		b.WriteString("desc: " + headerText(desc) + "\n")
	}
	b.WriteString("cmd: " + headerText(p.Cmd) + "\n")
	b.WriteString("events: " + strings.Join(p.Events, " "))
	if slices.Equal(p.Events, cacheEvents) {
		b.WriteByte(' ')
	}
	b.WriteByte('\n')

	var num []byte
	lastFile, lastFn := "", ""
	first := true
	p.Each(func(file, fn string, line int, counts []uint64) {
		if err != nil || allZero(counts) {
			return
		}
		if line < 0 {
			err = negativeLine(line, fn)
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
	if err != nil {
		return err
	}
	b.WriteString("summary:")
	b.Write(appendCounts(nil, totals))
	return b.Flush()
}

// writable returns the totals, or why a file of p could not be read.
func (p *Profile) writable() ([]uint64, error) {
	if err := checkEvents(p.Events); err != nil {
		return nil, err
	}
	sum := make([]uint64, len(p.Events))
	for i := range p.centres {
		if e := addExactly(sum, p.Counts(i)); e >= 0 {
			return nil, fmt.Errorf("cgout: "+largeTotal, p.Events[e])
		}
	}
	return sum, nil
}

// checkEvents returns why readers would not find these events in a line.
func checkEvents(events []string) error {
	switch n := len(events); {
	case n == 0:
		return errors.New("cgout: a profile without events cannot be written")
	case n > maxEvents:
		return fmt.Errorf("cgout: %d events are more than %d", n, maxEvents)
	}
	for _, name := range events {
		if name == "" || strings.ContainsFunc(name, isSpace) {
			return fmt.Errorf("cgout: the name of event %q is empty or has blanks", name)
		}
	}
	return nil
}

func negativeLine(line int, fn string) error {
	return fmt.Errorf("cgout: line %d of function %q is less than 0", line, fn)
}

// largeTotal is what is wrong with an event.
const largeTotal = "the total of %s does not fit in 64 bits"

// addExactly adds counts to sum. It returns the index of the first sum that does not fit, -1 if all do.
func addExactly(sum, counts []uint64) int {
	sum = sum[:len(counts)]
	for e, c := range counts {
		if sum[e] += c; sum[e] < c {
			return e
		}
	}
	return -1
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

// headerText is a text of a header line, which readers look for behind blanks.
func headerText(text string) string { return strings.TrimLeftFunc(oneLine(text), isSpace) }

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
