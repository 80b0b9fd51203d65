package cgout

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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

// WriteFile writes p to a file with mode 0600. At every moment path names either
// what it did before or the whole profile: the profile goes to a new file beside
// it, which then takes its name. If anything fails, path is left alone.
//
// A path that names something else than a regular file, such as /dev/stdout or a
// pipe, is written to directly.
//
// Counts by instruction go to a file beside it, first; nothing is beside a path that is written to
// directly.
func (p *Profile) WriteFile(path string) error {
	var err error
	switch {
	case p.Insns == nil:
	case IsSpecial(path):
		err = fmt.Errorf("cannot write counts by instruction beside %s: it is no regular file", path)
	default:
		err = p.Insns.WriteFile(path + InsnsSuffix)
	}
	return errors.Join(err, writeFile(path, p.Write))
}

// IsSpecial reports whether path names something else than a regular file: a device or a pipe, into which
// WriteFile writes, or a directory.
func IsSpecial(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.Mode().IsRegular()
}

func writeFile(path string, write func(io.Writer) error) error {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		target = path
	}
	if IsSpecial(target) {
		return wrapWrite(path, writeInto(target, write))
	}
	return wrapWrite(path, replace(target, write))
}

func wrapWrite(path string, err error) error {
	if err != nil {
		return fmt.Errorf("cannot write profile %s: %w", path, err)
	}
	return nil
}

// writeInto writes to what is no regular file.
func writeInto(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// replace writes a new file and gives it the name target.
func replace(target string, write func(io.Writer) error) error {
	dir, base := filepath.Split(target)
	// CreateTemp uses mode 0600, which is Cachegrind's. A long name is cut so
	// that what is added to it fits a directory entry.
	f, err := os.CreateTemp(filepath.Clean(dir+"."), "."+base[:min(len(base), 200)]+".*.tmp")
	if err != nil {
		return err
	}
	temp := f.Name()
	err = write(f)
	if err2 := f.Close(); err == nil {
		err = err2
	}
	if err == nil {
		err = os.Rename(temp, target)
	}
	if err != nil {
		os.Remove(temp) // best effort: err says what went wrong
		return err
	}
	return nil
}
