// Package web is what the page of `make web` asks for: reports of profiles that were dropped on it, with the sources
// dropped beside them. It knows nothing of browsers; cmd/cgemu-web is the program in the page.
//
// The package is cgemu's own: what it promises may change.
package web

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/cgemu/cgemu/annotate"
	"github.com/cgemu/cgemu/cgout"
)

// A Job is a report to be made.
type Job struct {
	// Profiles are added up or, if Diff says so, two of them compared: the old one first.
	Profiles []Profile
	Diff     bool
	// Format is one of the constants below.
	Format string
	// Sources are looked through in this order.
	Sources []Source
	// Threshold, Context and StripHash are those of annotate.Options.
	Threshold float64
	Context   int
	StripHash bool
}

// The values of Job.Format.
const (
	FormatPage     = "page"     // annotate --html
	FormatText     = "text"     // annotate
	FormatTable    = "table"    // diff --table
	FormatMarkdown = "markdown" // --format=markdown
	FormatCSV      = "csv"      // --format=csv
	FormatJSON     = "json"     // --format=json
	FormatProfile  = "profile"  // diff, merge
)

// A Profile is one file in FS.
type Profile struct {
	FS   fs.FS
	Name string
}

// A Source is files that were dropped together.
type Source struct {
	FS fs.FS
	// Folder is the name of the folder in FS that has them all; "": they are files without one. A name in a profile is
	// looked for with the folder's name and without.
	Folder string
	// Side is the side of a comparison that they belong to, BothSides, OldSide or NewSide.
	Side string
}

// The values of Source.Side.
const (
	BothSides = ""
	OldSide   = "old"
	NewSide   = "new"
)

// A Summary says what of a report has been found.
type Summary struct {
	// Files is how many source files the report names, Read how many of them were among the sources. Both are 0 if the
	// format has no sources.
	Files, Read int
}

// Run writes the report.
func (j *Job) Run(w io.Writer) (Summary, error) {
	files, names := j.named()
	switch {
	case len(names) == 0:
		return Summary{}, errors.New("no profile")
	case j.Diff && len(names) != 2:
		return Summary{}, fmt.Errorf("two profiles can be compared, not %d", len(names))
	case j.Format == FormatProfile:
		return Summary{}, j.profile(w, files, names)
	}
	var inputs []annotate.Input
	for _, name := range names {
		inputs = append(inputs, annotate.FileIn(files, name))
	}
	o := j.options()
	switch {
	case j.Format == FormatText && j.Diff:
		return Summary{}, annotate.WriteTextDiff(w, o, inputs[0], inputs[1])
	case j.Format == FormatText:
		return Summary{}, annotate.WriteText(w, o, inputs...)
	case j.Diff:
		r, err := annotate.Compare(o, inputs[0], inputs[1])
		return j.write(w, r, err)
	}
	r, err := annotate.New(o, inputs...)
	return j.write(w, r, err)
}

// write writes a report that was made, unless that failed.
func (j *Job) write(w io.Writer, r *annotate.Report, err error) (s Summary, _ error) {
	if err != nil {
		return s, err
	}
	for _, f := range r.Files {
		if f.Name != cgout.Unknown {
			s.Files++
		}
		if f.Source == annotate.SourceRead {
			s.Read++
		}
	}
	writers := map[string]func(io.Writer) error{
		FormatPage: r.WriteHTML, FormatTable: r.WriteTable, FormatMarkdown: r.WriteMarkdown, FormatCSV: r.WriteCSV, FormatJSON: r.WriteJSON,
	}
	write, ok := writers[j.Format]
	if !ok {
		return s, fmt.Errorf("there is no format %q", j.Format)
	}
	return s, write(w)
}

// profile writes the sum or the difference of the profiles as a profile.
func (j *Job) profile(w io.Writer, files fs.FS, names []string) error {
	var m cgout.Merger
	var d cgout.Differ
	add, write := m.Add, m.Write
	if j.Diff {
		if j.StripHash {
			d.ModFunc = func(name string) (string, error) { return annotate.StripHash(name), nil }
		}
		add, write = d.Add, d.Write
	}
	for _, name := range names {
		data, err := cgout.ReadFileFS(files, name)
		if err != nil {
			return err
		}
		if err := add(name, strings.NewReader(string(data))); err != nil {
			return err
		}
	}
	return write(w)
}

// options returns those of package annotate.
func (j *Job) options() annotate.Options {
	o := annotate.Defaults()
	o.Threshold, o.Context, o.StripHash = j.Threshold, j.Context, j.StripHash
	o.CallGraph = j.Format == FormatPage
	o.ShowFirst = j.Format == FormatTable || j.Format == FormatMarkdown
	o.Files = sourceFS(j.Sources)
	for i, s := range j.Sources {
		f := map[string]*annotate.Finder{BothSides: &o.Finder, OldSide: &o.OldFinder, NewSide: &o.NewFinder}[s.Side]
		if f == nil {
			continue
		}
		dir := strconv.Itoa(i)
		f.Dirs = append(f.Dirs, dir)
		if s.Folder != "" {
			f.Dirs = append(f.Dirs, dir+"/"+s.Folder)
		}
	}
	return o
}

// A sourceFS has the files of each Source in a directory, whose name is its index.
type sourceFS []Source

// Open implements fs.FS.
func (s sourceFS) Open(name string) (fs.File, error) {
	dir, rest, _ := strings.Cut(name, "/")
	i, err := strconv.Atoi(dir)
	if err != nil || i < 0 || i >= len(s) || !fs.ValidPath(rest) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return s[i].FS.Open(rest)
}

// Stat implements fs.StatFS.
func (s sourceFS) Stat(name string) (fs.FileInfo, error) {
	f, err := s.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Stat()
}

// named returns the profiles under names of which each is another: those that two have get a number in front.
func (j *Job) named() (files profileFS, names []string) {
	count := map[string]int{}
	for _, p := range j.Profiles {
		count[p.Name]++
	}
	files = profileFS{}
	for i, p := range j.Profiles {
		name := p.Name
		if count[name] > 1 {
			name = path.Join(strconv.Itoa(i+1), name)
		}
		files[name] = p
		names = append(names, name)
	}
	return files, names
}

// A profileFS has the profiles by the names that reports call them.
type profileFS map[string]Profile

// Open implements fs.FS.
func (f profileFS) Open(name string) (fs.File, error) {
	p, ok := f[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return p.FS.Open(p.Name)
}

// Message returns an error's text as the command shows it.
func Message(err error) string {
	lines := strings.Split(err.Error(), "\n")
	for i, line := range lines {
		lines[i] = annotate.Visible(line)
	}
	return strings.Join(lines, "\n")
}
