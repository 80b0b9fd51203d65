package cgout

// A Header is what stands in a profile in front of its counts.
type Header struct {
	Desc   []string // texts of the desc lines, without "desc: "
	Cmd    string
	Events []string // may be empty
}

// A Visitor takes in a profile, in the order of its lines: a Header; then files,
// functions, counts and summaries in any order and number. File and Func say what
// the counts behind them belong to; File also ends the function. An error ends the
// visit, which returns it.
type Visitor interface {
	Header(Header) error
	File(name string) error
	Func(name string) error
	// Counts and Summary have one count per event, in a slice that is used again.
	Counts(line Count, counts []Count) error
	Summary(counts []Count) error
}

// Visit has v take in the profile. It is an error if there is no
// summary, or if the profile is malformed.
func (s *Scanner) Visit(v Visitor) error {
	var h Header
	summaries := 0
	for s.scan() {
		var err error
		switch rec := &s.rec; rec.kind {
		case descKind:
			h.Desc = append(h.Desc, rec.text)
		case cmdKind:
			h.Cmd = rec.text
		case eventsKind:
			h.Events = rec.names
			err = v.Header(h)
		case fileKind:
			err = v.File(rec.text)
		case funcKind:
			err = v.Func(rec.text)
		case countsKind:
			err = v.Counts(rec.line, rec.counts)
		case summaryKind:
			summaries++
			err = v.Summary(rec.counts)
		}
		if err != nil {
			return err
		}
	}
	if s.err == nil && summaries == 0 {
		return s.noSummary()
	}
	return s.err
}

func (s *Scanner) noSummary() error { return s.Errorf("missing `summary:` line, aborting") }
