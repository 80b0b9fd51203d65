package annotate

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"github.com/cgemu/cgemu/cgout"
)

// New reads profiles, adds them up and makes a Report of the sum. The error says
// which profile cannot be read (an *fs.PathError), or is malformed, and where, or that
// profiles count different events (cgout.ErrEvents); or it is a *MissingEventError,
// or one of a Rename. A source that cannot be read is none: see ReportFile.
func New(o Options, profiles ...Input) (*Report, error) {
	if len(profiles) == 0 {
		return nil, errNoProfile
	}
	return buildWithCalls("annotate", &o, nil, profiles)
}

// Compare makes a Report of what differs between two profiles: the new one less the
// old. Functions are matched by their names, and, unless Options.MatchExact says
// otherwise, if they were renamed by the compiler, moved or cloned; lines by the
// sources, if these differ. Errors are those of New.
func Compare(o Options, old, new Input) (*Report, error) {
	return buildWithCalls("diff", &o, []Input{old}, []Input{new})
}

// buildWithCalls makes a Report, with the call graph if the options ask for it.
func buildWithCalls(tool string, o *Options, olds, news []Input) (*Report, error) {
	r, err := buildReport(tool, o, olds, news)
	if err == nil && o.calls() {
		r.tree, err = buildCalls(o, olds, news)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// A builder makes a Report.
type builder struct {
	o     *Options
	r     *Report
	files map[string]*builtFile
	old   *tree // in a comparison
	new   *tree

	renamed map[string]string // files of the new tree that the old one calls otherwise

	read  sourceReader
	texts map[*treeFile]*sourceText
	maps  map[[2]*treeFile]*lineMap // from old files to new ones
}

// A sourceText is what was read for a file.
type sourceText struct {
	state string // SourceRead or why not
	path  string
	text  []string
	newer []string // profiles that are older
}

type builtFile struct {
	*ReportFile
	old, new *treeFile
	all      []*ReportFunction
}

// buildReport reads profiles and makes a Report, a comparison if there are old ones.
func buildReport(tool string, o *Options, olds, news []Input) (_ *Report, err error) {
	if err := o.checkReport(); err != nil {
		return nil, err
	}
	b := &builder{o: o, read: sourceReader{files: o.files()}, r: &Report{o: *o, Tool: tool, Compare: olds != nil, Threshold: o.Threshold},
		files: map[string]*builtFile{}, texts: map[*treeFile]*sourceText{}, maps: map[[2]*treeFile]*lineMap{}}
	if olds != nil {
		if b.old, err = loadTree(o, olds); err != nil {
			return nil, err
		}
	}
	if b.new, err = loadTree(o, news); err != nil {
		return nil, err
	}
	if b.old != nil && !slices.Equal(b.old.m.events, b.new.m.events) {
		return nil, cgout.ErrEvents
	}
	models := []*model{b.new.m}
	if b.old != nil {
		models = append(models, b.old.m)
	}
	if err := o.checkWanted(models...); err != nil {
		return nil, err
	}
	if err := b.columns(); err != nil {
		return nil, err
	}
	b.functions()
	if err := b.callGraphs(); err != nil {
		return nil, err
	}
	b.selectFunctions()
	b.cut(o.Top)
	b.finish()
	return b.r, nil
}

// columns sets what the report says of columns and profiles.
func (b *builder) columns() (err error) {
	r, m := b.r, b.new.m
	for _, t := range []*tree{b.old, b.new} {
		if t != nil {
			for _, p := range t.m.profiles {
				r.inputs = append(r.inputs, p.Input)
				r.Profiles = append(r.Profiles, ReportProfile{p.name, p.desc, p.cmd})
			}
		}
	}
	r.Events = m.events
	r.Show, r.Sort = allColumns(m, b.o.Show), allColumns(m, b.o.Sort)
	if b.old != nil && len(b.o.Show) == 0 && b.o.ShowFirst {
		r.Show = r.Sort[:1]
	}
	r.Derived, err = deriveds(b.o.Derived, m.events, r.Show)
	if b.old == nil {
		r.Total = r.row(nil, m.total)
	} else {
		r.Total = r.row(b.old.m.total, m.total)
	}
	return err
}

// allColumns returns the columns of the names, or of all events; each once.
func allColumns(m *model, names []string) (list []int) {
	if len(names) == 0 {
		names = m.events
	}
	for _, i := range m.columns(names) {
		if !slices.Contains(list, i) {
			list = append(list, i)
		}
	}
	return list
}

// row makes a row; nil is no counts.
func (r *Report) row(old, new counts) Row {
	n := len(r.Events)
	if new == nil {
		new = make(counts, n)
	}
	if !r.Compare {
		return Row{Counts: new}
	}
	if old == nil {
		old = make(counts, n)
	}
	delta := make(counts, n)
	for i := range delta {
		delta[i] = new[i].Sub(old[i])
	}
	return Row{Counts: delta, Old: old, New: new}
}

// sum adds up rows.
func (r *Report) sum(rows []Row) Row {
	n := len(r.Events)
	old, new := make(counts, n), make(counts, n)
	for _, row := range rows {
		if row.Old == nil {
			new.add(row.Counts)
		} else {
			old.add(row.Old)
			new.add(row.New)
		}
	}
	return r.row(old, new)
}

// functions makes all functions and their files.
func (b *builder) functions() {
	var list []pairing
	if b.old != nil {
		list, b.renamed = pairs(b.old, b.new, b.o.MatchExact)
	} else {
		for _, f := range b.new.files {
			for _, fn := range f.fns {
				list = append(list, pairing{new: fn, newFile: f})
			}
		}
	}
	for _, p := range list {
		f := b.file(p)
		fn := &ReportFunction{File: f.ReportFile}
		var old, new counts
		if p.old != nil {
			old, fn.Name = p.old.sum, p.old.name
		}
		if p.new != nil {
			new, fn.Name = p.new.sum, p.new.name
			if p.old != nil && p.old.name != p.new.name {
				fn.OldName = p.old.name
			}
			if p.old != nil && p.oldFile.name != p.newFile.name {
				fn.OldFile = p.oldFile.name
			}
		}
		fn.Row = b.r.row(old, new)
		fn.Lines = b.lines(p, f)
		f.all = append(f.all, fn)
	}
	for _, f := range b.files {
		var rows []Row
		for _, fn := range f.all {
			rows = append(rows, fn.Row)
		}
		f.Row = b.r.sum(rows)
	}
}

// file returns the file that a function is reported in: the new one, if any.
func (b *builder) file(p pairing) *builtFile {
	shown := p.newFile
	if shown == nil {
		shown = p.oldFile
	}
	f := b.files[shown.name]
	if f != nil {
		return f
	}
	f = &builtFile{ReportFile: &ReportFile{Name: shown.name}, new: b.new.files[shown.name]}
	b.files[shown.name] = f
	if b.old != nil {
		if old, ok := b.renamed[shown.name]; ok {
			f.OldName, f.old = old, b.old.files[old]
		} else {
			f.old = b.old.files[shown.name]
		}
	}
	return f
}

// lines matches the lines of a function.
func (b *builder) lines(p pairing, f *builtFile) (list []ReportLine) {
	if b.old == nil {
		for line, c := range p.new.lines {
			list = append(list, ReportLine{Row: Row{Counts: c}, Line: line, OldLine: line})
		}
		slices.SortFunc(list, compareLines)
		return list
	}
	at, back := b.lineMap(p, f)
	atNew := map[int]bool{}
	if p.old != nil {
		for line, c := range p.old.lines {
			l := ReportLine{Row: b.r.row(c, nil), Line: at(line), OldLine: line}
			if l.Line != NoLine && p.new != nil {
				l.Row = b.r.row(c, p.new.lines[l.Line])
				atNew[l.Line] = true
			}
			list = append(list, l)
		}
	}
	if p.new != nil {
		for line, c := range p.new.lines {
			if !atNew[line] {
				list = append(list, ReportLine{b.r.row(nil, c), line, back(line)})
			}
		}
	}
	slices.SortFunc(list, compareLines)
	return list
}

// lineMap returns functions that tell the new number of an old line, and the old
// number of a new one.
func (b *builder) lineMap(p pairing, f *builtFile) (at, back func(int) int) {
	old, new := cmp.Or(p.oldFile, f.old), cmp.Or(p.newFile, f.new)
	if old == nil || new == nil {
		none := func(line int) int {
			if line == 0 {
				return 0
			}
			return NoLine
		}
		return none, none
	}
	key := [2]*treeFile{old, new}
	m, ok := b.maps[key]
	if !ok && b.o.Sources && old.name != cgout.Unknown && new.name != cgout.Unknown {
		x, y := b.source(b.old, old), b.source(b.new, new)
		if x.state == SourceRead && y.state == SourceRead && x.path != y.path && !slices.Equal(x.text, y.text) {
			m = matchLines(x.text, y.text)
		}
		b.maps[key] = m
	}
	return m.at, m.back
}

// compareLines orders lines as a reader of both sources expects them.
func compareLines(a, b ReportLine) int {
	place := func(l ReportLine) int {
		if l.Line == NoLine {
			return l.OldLine
		}
		return l.Line
	}
	if c := cmp.Compare(place(a), place(b)); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.OldLine, b.OldLine))
}

// selectFunctions sorts functions and leaves out what is not wanted.
func (b *builder) selectFunctions() {
	r := b.r
	wanted := r.wants()
	var all []*ReportFunction
	for _, f := range b.files {
		all = append(all, f.all...)
	}
	b.sort(all)
	for _, fn := range all {
		if !wanted(fn.Row) && (r.calls == nil || !r.calls.shown[fn.Name]) {
			r.OmittedFunctions++
			continue
		}
		r.Functions = append(r.Functions, fn)
		fn.File.Functions = append(fn.File.Functions, fn)
	}
}

// cut leaves the first functions, if top is not 0, and adds up what was left out.
func (b *builder) cut(top int) {
	r := b.r
	r.wanted = r.Functions
	if top > 0 && len(r.Functions) > top {
		for _, fn := range r.Functions {
			fn.File.Functions = nil
		}
		r.OmittedFunctions += len(r.Functions) - top
		r.Functions = r.Functions[:top]
		for _, fn := range r.Functions {
			fn.File.Functions = append(fn.File.Functions, fn)
		}
	}
	var rows []Row
	for _, fn := range r.Functions {
		rows = append(rows, fn.Row)
	}
	kept := r.sum(rows)
	if b.old == nil {
		r.Omitted = r.row(nil, less(r.Total.Counts, kept.Counts))
	} else {
		r.Omitted = r.row(less(r.Total.Old, kept.Old), less(r.Total.New, kept.New))
	}
	if r.o.filtered() {
		b.filtered()
	}
	if b.o.CallGraph && b.old == nil {
		b.hidden()
	}
}

// hidden lists the functions that were left out.
func (b *builder) hidden() {
	shown := map[*ReportFunction]bool{}
	for _, fn := range b.r.Functions {
		shown[fn] = true
	}
	for _, f := range b.files {
		for _, fn := range f.all {
			if !shown[fn] {
				b.r.hidden = append(b.r.hidden, fn)
			}
		}
	}
	b.sort(b.r.hidden)
}

// filtered adds up what Only and Focus left out.
func (b *builder) filtered() {
	r := b.r
	var rows []Row
	for _, f := range b.files {
		for _, fn := range f.all {
			rows = append(rows, fn.Row)
		}
	}
	all := r.sum(rows)
	if b.old == nil {
		r.Filtered = r.row(nil, less(r.Total.Counts, all.Counts))
	} else {
		r.Filtered = r.row(less(r.Total.Old, all.Old), less(r.Total.New, all.New))
	}
}

// notShown is the part of Omitted that the filters had left: what Threshold, MinDelta and Top left out.
func (r *Report) notShown() Row {
	switch {
	case r.Filtered.Counts == nil:
		return r.Omitted
	case r.Filtered.Old == nil:
		return r.row(nil, less(r.Omitted.Counts, r.Filtered.Counts))
	}
	return r.row(less(r.Omitted.Old, r.Filtered.Old), less(r.Omitted.New, r.Filtered.New))
}

func less(a, b counts) counts {
	d := slices.Clone(a)
	d.add(b.neg())
	return d
}

func (b *builder) sort(fns []*ReportFunction) {
	slices.SortFunc(fns, func(x, y *ReportFunction) int {
		return cmp.Or(b.r.compare(x.Row, y.Row), cmp.Compare(x.Name, y.Name), cmp.Compare(x.File.Name, y.File.Name))
	})
}

// compare orders rows: the greatest first.
func (r *Report) compare(a, b Row) int {
	for _, e := range r.Sort {
		if c := b.Counts[e].Abs().Cmp(a.Counts[e].Abs()); c != 0 {
			return c
		}
	}
	return 0
}

// wants returns what tells the rows that the options ask for: those at or above
// the threshold, in a comparison those that changed by MinDelta.
func (r *Report) wants() func(Row) bool {
	first, least := r.Sort[0], r.o.MinDelta
	switch {
	case !r.Compare:
		limit := share(r.o.Threshold, r.Total.Counts[first])
		wanted := func(row Row) bool { return atLeast(row.Counts[first].Abs(), limit) }
		if r.o.CallGraph {
			return r.wantsAny(wanted)
		}
		return wanted
	case least == nil:
		return func(row Row) bool {
			return slices.ContainsFunc(r.Show, func(e int) bool { return row.Counts[e].Sign() != 0 })
		}
	}
	limit := share(least.Percent, r.Total.Old[first])
	return func(row Row) bool {
		n := row.Counts[first].Abs()
		return n.Cmp(least.Count) >= 0 && atLeast(n, limit)
	}
}

// otherThreshold is how many times Options.Threshold a page asks of an event that is not the first: what costs little
// of that is of interest if it causes much of another.
const otherThreshold = 10

// wantsAny returns what tells the rows for a page, on which events are chosen: those that are wanted, or have much of
// another event shown.
func (r *Report) wantsAny(wanted func(Row) bool) func(Row) bool {
	limits := map[int]float64{}
	for _, e := range r.Show {
		limits[e] = share(min(otherThreshold*r.o.Threshold, 100), r.Total.Counts[e])
	}
	return func(row Row) bool {
		return wanted(row) || slices.ContainsFunc(r.Show, func(e int) bool {
			return row.Counts[e].Sign() != 0 && atLeast(row.Counts[e].Abs(), limits[e])
		})
	}
}

// finish fills in the files that have functions left, and the sources of those of which a table of lines has any.
func (b *builder) finish() {
	for _, f := range b.files {
		if len(f.Functions) > 0 {
			b.sources(f)
			f.Lines = b.r.merged(f.Functions)
			b.r.Files = append(b.r.Files, f.ReportFile)
		}
	}
	if b.o.Top > 0 {
		for _, l := range b.r.lineTable(b.o.Top) {
			if f := b.files[l.file.Name]; len(f.Functions) == 0 && f.Source == "" {
				b.sources(f)
			}
		}
	}
	slices.SortFunc(b.r.Files, func(x, y *ReportFile) int {
		return cmp.Or(b.r.compare(x.Row, y.Row), cmp.Compare(x.Name, y.Name))
	})
}

// merged adds up the lines of functions.
func (r *Report) merged(fns []*ReportFunction) []ReportLine {
	if len(fns) == 1 {
		return fns[0].Lines
	}
	type key struct{ line, old int }
	rows := map[key][]Row{}
	for _, fn := range fns {
		for _, l := range fn.Lines {
			k := key{l.Line, l.OldLine}
			rows[k] = append(rows[k], l.Row)
		}
	}
	list := make([]ReportLine, 0, len(rows))
	for k, same := range rows {
		row := same[0]
		if len(same) > 1 {
			row = r.sum(same)
		}
		list = append(list, ReportLine{row, k.line, k.old})
	}
	slices.SortFunc(list, compareLines)
	return list
}

// sources reads the sources of a file.
func (b *builder) sources(f *builtFile) {
	switch {
	case !b.o.Sources:
		f.Source = SourceOff
		return
	case f.Name == cgout.Unknown:
		f.Source = SourceUnknown
		return
	}
	if f.new != nil {
		s := b.source(b.new, f.new)
		f.Source, f.Path, f.Text, f.Newer = s.state, s.path, s.text, s.newer
	}
	if f.old == nil {
		return
	}
	s := b.source(b.old, f.old)
	if f.new == nil {
		f.Source = s.state
	}
	if s.state == SourceRead && s.path != f.Path {
		f.OldPath, f.OldText = s.path, s.text
	}
	f.Newer = slices.Concat(f.Newer, s.newer)
}

// source reads the source of a file of one tree.
func (b *builder) source(t *tree, f *treeFile) *sourceText {
	if s := b.texts[f]; s != nil {
		return s
	}
	find := b.o.Finder
	switch {
	case t == b.old:
		find = b.o.OldFinder.and(find)
	case b.old != nil:
		find = b.o.NewFinder.and(find)
	}
	originals := slices.Sorted(maps.Keys(f.originals))
	data, modified, err := b.read.sources(find, originals)
	s := &sourceText{state: SourceUnreadable}
	switch {
	case err == nil:
		s = &sourceText{SourceRead, find.find(b.read.files, originals[0]).path(), sourceLines(data), older(t.m.profiles, modified)}
	case errors.Is(err, errDifferent):
		s.state = SourceDifferent
	}
	b.texts[f] = s
	return s
}

// sourceLines is splitLines, but that it keeps the end of the last line.
func sourceLines(data []byte) []string {
	if n := len(data); n > 0 && data[n-1] != '\n' && data[n-1] != '\r' {
		data = append(data, '\n')
	}
	return splitLines(data)
}
