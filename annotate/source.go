package annotate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cgemu/cgemu/cgout"
)

// errDifferent says that originals of one file are not identical, errTooMuch that sources are too large.
var (
	errDifferent = errors.New("not identical")
	errTooMuch   = errors.New("too large")
)

// What is read of sources: a file of 64 MiB and 4 million lines at most, and of all that one report has 512 MiB.
const (
	maxSource      = 64 << 20
	maxSourceLines = 4 << 20
	maxSources     = 512 << 20
)

// source writes the annotated source of a file.
func (r *textReport) source(name string, a *annotated) {
	r.heading("Annotated source file: " + name)
	originals := slices.Sorted(maps.Keys(r.m.sources[name].originals))
	text, modified, err := r.read.sources(r.o.Finder, originals)
	if err != nil {
		why, into := "one or more of these original files are unreadable", a.unreadable
		switch {
		case errors.Is(err, errDifferent):
			why, into = "two or more of these original files are not identical", a.different
		case errors.Is(err, errTooMuch):
			why = fmt.Sprintf("these original files have more than %d MiB or %d lines, or those read before have %d MiB",
				maxSource>>20, maxSourceLines, maxSources>>20)
		}
		fmt.Fprintf(r, "Unannotated because %s:\n", why)
		for _, o := range originals {
			fmt.Fprintf(r, "- %s\n", r.o.visible(o))
		}
		r.WriteByte('\n')
		into.add(r.m.fileTotal(name))
		return
	}
	for _, p := range older(r.m.profiles, modified) {
		r.warnNewer(p, originals)
	}
	r.lines(name, originals[0], splitLines(text), a)
}

// older returns the names of the profiles that are older than a time.
func older(profiles []profile, t time.Time) (names []string) {
	for _, p := range profiles {
		if p.olderThan(t) {
			names = append(names, p.name)
		}
	}
	return names
}

// A sourceReader reads sources.
type sourceReader struct {
	files fs.FS
	bytes int64 // that it has read
}

// sources returns the contents that the files share, and the time when the
// oldest of them was modified.
func (r *sourceReader) sources(f Finder, originals []string) (text []byte, oldest time.Time, err error) {
	last, irregular := place{}, false
	for i, original := range originals {
		at := f.find(r.files, original)
		info, err := at.stat()
		if err != nil {
			return nil, oldest, err
		}
		if t := info.ModTime(); i == 0 || t.Before(oldest) {
			oldest = t
		}
		irregular = irregular || !info.Mode().IsRegular()
		switch {
		case irregular && i > 0:
			return nil, oldest, errDifferent
		case irregular && len(originals) > 1:
			continue
		case irregular:
			// A directory; or a pipe or device, which might have no end.
			return nil, oldest, errors.New("not a regular file")
		case i > 0 && at.is(last):
			continue
		case i > 0 && info.Size() != int64(len(text)):
			return nil, oldest, errDifferent
		}
		next, err := r.read(at)
		if err != nil {
			return nil, oldest, err
		}
		if i > 0 && !bytes.Equal(next, text) {
			return nil, oldest, errDifferent
		}
		text, last = next, at
	}
	return text, oldest, nil
}

// read reads a regular file, so much as it says it has: files of /proc say that they have nothing, and some of them
// have no end.
func (r *sourceReader) read(at place) ([]byte, error) {
	f, err := at.in.Open(at.name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	size := info.Size()
	if !info.Mode().IsRegular() || size > maxSource || size > maxSources-r.bytes {
		return nil, errTooMuch
	}
	text := make([]byte, size)
	n, err := io.ReadFull(f, text)
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return nil, err
	}
	r.bytes += int64(n)
	if text = text[:n]; bytes.Count(text, []byte("\n"))+bytes.Count(text, []byte("\r")) > maxSourceLines {
		return nil, errTooMuch
	}
	return text, nil
}

// splitLines returns the lines of a text: LF, CR LF and CR end them. The last
// one, if nothing ends it, loses its last character as cg_annotate has it.
func splitLines(text []byte) (lines []string) {
	for len(text) > 0 {
		i := bytes.IndexAny(text, "\r\n")
		if i < 0 {
			_, size := utf8.DecodeLastRune(text)
			return append(lines, string(text[:len(text)-size]))
		}
		lines = append(lines, string(text[:i]))
		if text[i] == '\r' && i+1 < len(text) && text[i+1] == '\n' {
			i++
		}
		text = text[i+1:]
	}
	return lines
}

const (
	alarm   = "@@ WARNING @@ WARNING @@ WARNING @@ WARNING @@ WARNING @@ WARNING @@ WARNING @@"
	dashes  = 40
	atSigns = 79
)

func (r *textReport) warn(lines ...string) {
	signs := strings.Repeat("@", atSigns)
	text := fmt.Sprintf("%s\n%s\n%s\n%s\n%s\n", signs, alarm, signs, strings.Join(lines, "\n"), signs)
	r.WriteString(r.paint(warning, text))
}

func (r *textReport) warnNewer(profile string, originals []string) {
	lines := []string{"@ Original source files are all newer than data file '" + r.o.visible(profile) + "':"}
	for _, o := range originals {
		lines = append(lines, "@ - "+r.o.visible(o))
	}
	r.warn(append(lines, "@ Annotations may not be correct.")...)
	r.WriteByte('\n')
}

// lines writes the lines of a file that have counts, and those around them.
func (r *textReport) lines(name, original string, text []string, a *annotated) {
	x := newExtremes(len(r.m.events))
	var known []*lineCounts
	var zero *lineCounts
	lines := r.m.sources[name].byLine()
	for _, l := range lines {
		x.add(l.counts)
		if l.line.Sign() == 0 {
			zero = l
			a.unknownLines.add(zero.counts)
			continue
		}
		known = append(known, l)
		a.lines.add(l.counts)
	}
	slices.SortFunc(known, func(a, b *lineCounts) int { return a.line.Cmp(b.line) })
	for _, calls := range r.lineCalls[name] {
		for _, c := range calls {
			if c.counts != nil {
				x.add(c.counts)
			}
		}
	}
	l := r.newLayout().fitPlain(x)
	for _, calls := range r.lineCalls[name] {
		for _, c := range calls {
			if c.counts != nil {
				l.fitDerived(c.counts, r.m.total)
			}
		}
	}
	for _, k := range lines {
		l.fitDerived(k.counts, k.parent())
	}
	r.WriteString(l.header("", "") + "\n")
	if zero != nil {
		r.WriteString(r.heat(zero.counts, l.plain(zero.counts, zero.parent(), "<unknown (line 0)>")) + "\n")
	}
	if len(known) == 0 {
		return
	}
	bogus := r.ranges(l, name, known, text)
	if len(bogus) > 0 {
		r.WriteByte('\n')
		for _, b := range bogus {
			r.WriteString(r.heat(b.counts, l.plain(b.counts, b.parent(), "<bogus line "+b.line.String()+">")))
		}
		r.WriteByte('\n')
		r.warn("@@ Information recorded about lines past the end of '" + r.o.visible(original) + "'.")
	}
	r.WriteByte('\n')
}

// ranges writes the ranges around lines that have counts. It returns the lines
// that the text does not have.
func (r *textReport) ranges(l layout, name string, known []*lineCounts, text []string) (bogus []*lineCounts) {
	context := cgout.NewCount(int64(r.o.Context))
	one := cgout.NewCount(1)
	at := 0        // lines of the text that are done with
	atEnd := false // of the text
	printed := map[*lineCounts]bool{}
	for i := 0; i < len(known) && !atEnd; {
		lo := known[i].line.Sub(context)
		if lo.Cmp(one) < 0 {
			lo = one
		}
		first, last := i, known[i].line
		for i++; i < len(known) && known[i].line.Cmp(last.Add(context).Add(context)) <= 0; i++ {
			last = known[i].line
		}
		hi := last.Add(context)

		if lo.Cmp(cgout.NewCount(int64(len(text))+1)) > 0 {
			break // the text ends before the line before the range
		}
		n, _ := lo.Int64()
		at = max(at, int(n)-1)
		if n != 1 {
			r.marker(lo)
		}
		for next := first; cgout.NewCount(int64(at)+1).Cmp(hi) <= 0; at++ {
			if at == len(text) {
				atEnd = true
				break
			}
			line := cgout.NewCount(int64(at) + 1)
			if next < i && known[next].line.Cmp(line) == 0 {
				k := known[next]
				r.WriteString(r.heat(k.counts, l.plain(k.counts, k.parent(), r.o.visible(text[at]))))
				r.callsAt(l, name, line)
				printed[k] = true
				next++
			} else {
				r.WriteString(r.paint(dim, l.empty(r.o.visible(text[at]))))
			}
		}
		if !atEnd {
			r.marker(hi)
		}
	}
	for _, k := range known {
		if !printed[k] {
			bogus = append(bogus, k)
		}
	}
	return bogus
}

func (r *textReport) marker(line cgout.Count) {
	r.WriteString(r.paint(dim, fmt.Sprintf("-- line %s %s\n", line, strings.Repeat("-", dashes))))
}
