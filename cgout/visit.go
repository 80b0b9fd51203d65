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

// Visit has v take in the rest of the profile. It is an error if there is no
// summary, or if the profile is malformed.
func (s *Scanner) Visit(v Visitor) error {
	var h Header
	summaries := 0
	for s.Scan() {
		var err error
		switch rec := s.Record(); rec.Kind {
		case Desc:
			h.Desc = append(h.Desc, rec.Text)
		case Cmd:
			h.Cmd = rec.Text
		case Events:
			h.Events = rec.Names
			err = v.Header(h)
		case File:
			err = v.File(rec.Text)
		case Func:
			err = v.Func(rec.Text)
		case Counts:
			err = v.Counts(rec.Line, rec.Counts)
		case Summary:
			summaries++
			err = v.Summary(rec.Counts)
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
