package cgout

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// callgrindBegins are what the first line of a file in Callgrind's format may begin with.
var callgrindBegins = [][]byte{[]byte("# callgrind format"), []byte("version:"), []byte("creator:"), []byte("positions:")}

// isCallgrind reports whether data is in Callgrind's format, as far as its beginning tells.
func isCallgrind(data []byte) bool {
	return slices.ContainsFunc(callgrindBegins, func(b []byte) bool { return bytes.HasPrefix(data, b) })
}

// A callgrindReader reads a file in Callgrind's format: what Callgrind itself writes, with all its options, and
// WriteCallgrind. Parts, those of threads too, are added up.
type callgrindReader struct {
	s *Scanner // for errors
	p *Profile
	// objects, files and funcs are the names by number.
	objects, files, funcs map[string]string
	// fn is the function and file the file of the lines that come; callee is that of the next call.
	fn     Func
	file   string
	callee Func
	// calledObject and calledFile say that callee has them, inlined that the next call is none.
	calledObject, calledFile, inlined bool
	// instr and lines say what positions consist of: an address, a line, or both. addr and line are the last ones,
	// which the next may refer to.
	instr      bool
	lines      bool
	addr, line uint64
	// after says what the next line with a position is.
	after  afterPosition
	count  uint64
	target uint64
	// executed and conditional are of the next jump, jumpFile and jumpFunc where it leads, if that is elsewhere.
	executed             uint64
	conditional          bool
	jumpFile, jumpFunc   string
	otherFile, otherFunc bool
	// totals are of the part that is read, as its lines have them, sums of the parts before it; counts is used again
	// for every line.
	totals, sums, counts []uint64
	// complete is of files whose writer ends every part with its totals, unended of a part without them so far. own is
	// of WriteCallgrind's, which has names as they are.
	complete, unended, own bool
}

// An afterPosition is what a line that begins with a position means.
type afterPosition uint8

const (
	costLine afterPosition = iota
	callLine               // the inclusive cost of calls
	jumpLine               // where a jump stands
)

// readCallgrind reads data. Errors call it name.
func readCallgrind(name string, data []byte) (*Profile, error) {
	r := callgrindReader{s: newScanner(name, data), p: New(), objects: map[string]string{}, files: map[string]string{}, funcs: map[string]string{}}
	r.lines = true
	r.fn, r.file, r.callee = Func{Unknown, Unknown, Unknown}, Unknown, Func{Unknown, Unknown, Unknown}
	for {
		line, ended := r.s.readLine()
		if len(line) == 0 && !ended {
			break
		}
		if err := r.read(bytes.TrimSpace(line)); err != nil {
			return nil, err
		}
	}
	switch {
	case len(r.p.Events) == 0:
		return nil, r.s.Errorf("missing an `events:` line")
	case r.after != costLine:
		return nil, r.s.Errorf("the file ends where the line of a call or a jump is to come")
	case r.complete && r.unended:
		return nil, r.s.Errorf("the file ends without a `totals:` line: it has been cut short")
	}
	return r.p, r.endPart()
}

// read takes a line.
func (r *callgrindReader) read(line []byte) error {
	switch {
	case string(line) == inlinedMark:
		r.inlined = true
		return nil
	case len(line) == 0 || line[0] == '#':
		return nil
	case line[0] >= '0' && line[0] <= '9' || line[0] == '+' || line[0] == '-' || line[0] == '*':
		return r.position(line)
	}
	if r.after != costLine {
		return r.s.Errorf("malformed line: %s: the position of a call or a jump is to come", line)
	}
	key, value := line, []byte(nil)
	i := bytes.IndexAny(line, "=:")
	if i < 0 {
		return r.s.Errorf("malformed line: %s", line)
	}
	key, value = line[:i], bytes.TrimSpace(line[i+1:])
	if line[i] == ':' {
		return r.header(string(key), value)
	}
	return r.assign(string(key), value, line)
}

// header takes a line `key: value`. Those that say nothing of the counts are left out.
func (r *callgrindReader) header(key string, value []byte) error {
	switch key {
	case "version":
		if string(value) != "1" {
			return r.s.Errorf("version %s of Callgrind's format: only 1 is known", value)
		}
	case "creator":
		r.own = string(value) == "cgemu"
		r.complete = r.own || bytes.HasPrefix(value, []byte("callgrind-"))
	case "cmd":
		if r.p.Cmd == "" {
			r.p.Cmd = string(value)
		}
	case "desc":
		if r.p.Desc == nil || r.totals == nil {
			r.p.Desc = append(r.p.Desc, string(value))
		}
	case "thread":
		n, err := strconv.ParseUint(string(value), 10, 31)
		if err != nil {
			return r.s.Errorf("thread %q is no number", value)
		}
		if r.totals == nil {
			r.p.Thread = int(n)
		} else if r.p.Thread != int(n) { // of several
			r.p.Thread = 0
		}
	case "positions":
		switch r.instr, r.lines = false, true; string(value) {
		case "line":
		case "instr line":
			r.instr = true
		case "instr":
			r.instr, r.lines = true, false
		default:
			return r.s.Errorf("positions %q: only `line`, `instr` and `instr line` are known", value)
		}
		r.addr, r.line = 0, 0
	case "events":
		r.unended = true
		return r.events(value)
	case "totals":
		r.unended = false
		return r.total(value)
	}
	return nil
}

// events takes the names of the events; a further part has to have the same.
func (r *callgrindReader) events(value []byte) error {
	var names []string
	for {
		var name []byte
		if name, value = cutField(value); len(name) == 0 {
			break
		}
		names = append(names, string(name))
	}
	switch n := len(names); {
	case n == 0:
		return r.s.Errorf("no events")
	case n > maxEvents:
		return r.s.Errorf("%d events are more than %d", n, maxEvents)
	case r.p.Events == nil:
		r.p.Events, r.p.Graph = names, NewCallGraph(n)
		r.totals, r.sums, r.counts = make([]uint64, n), make([]uint64, n), make([]uint64, n)
	case !slices.Equal(r.p.Events, names):
		return r.s.Errorf("events %q: those of the part before are %q", names, r.p.Events)
	default:
		return r.endPart() // the part before need not have said its totals
	}
	return nil
}

// endPart adds up the parts' totals.
func (r *callgrindReader) endPart() error {
	if e := addExactly(r.sums, r.totals); e >= 0 {
		return r.s.Errorf(largeTotal, r.p.Events[e])
	}
	clear(r.totals)
	return nil
}

// total compares a part's totals with its lines.
func (r *callgrindReader) total(value []byte) error {
	if err := r.parseCounts(value); err != nil {
		return err
	}
	if !slices.Equal(r.totals, r.counts) {
		return r.s.Errorf("`totals:` line doesn't match computed total\n- totals:   %s\n- computed: %s",
			List(fromUint64(r.counts)), List(fromUint64(r.totals)))
	}
	return r.endPart()
}

// assign takes a line `key=value`.
func (r *callgrindReader) assign(key string, value, line []byte) (err error) {
	name := func(to *string, names map[string]string) {
		*to, err = r.name(value, names)
	}
	switch key {
	case "ob":
		name(&r.fn.Object, r.objects)
	case "fl":
		name(&r.fn.File, r.files)
		r.file = r.fn.File
	case "fi", "fe":
		name(&r.file, r.files)
	case "fn":
		name(&r.fn.Name, r.funcs)
		r.file = r.fn.File
	case "cob":
		name(&r.callee.Object, r.objects)
		r.calledObject = true
	case "cfi", "cfl":
		name(&r.callee.File, r.files)
		r.calledFile = true
	case "cfn":
		name(&r.callee.Name, r.funcs)
	case "calls":
		return r.calls(value)
	case "jump", "jcnd":
		return r.jumps(value, key == "jcnd")
	case "jfi":
		name(&r.jumpFile, r.files)
		r.otherFile = true
	case "jfn":
		name(&r.jumpFunc, r.funcs)
		r.otherFunc = true
	default:
		return r.s.Errorf("malformed line: %s", line)
	}
	return err
}

// name returns a name: (NUMBER) NAME gives it a number, (NUMBER) is what has that number, anything else is the name
// itself.
func (r *callgrindReader) name(value []byte, names map[string]string) (string, error) {
	end := bytes.IndexByte(value, ')')
	if end < 2 || value[0] != '(' || !startsWithDigit(value[1:]) {
		return string(value), nil
	}
	number, rest := string(value[1:end]), bytes.TrimSpace(value[end+1:])
	if _, err := strconv.ParseUint(number, 10, 64); err != nil {
		return string(value), nil
	}
	if len(rest) > 0 {
		names[number] = string(rest)
		if !r.own {
			names[number] = inContext(string(rest), names)
		}
		return names[number], nil
	}
	name, ok := names[number]
	if !ok {
		return "", r.s.Errorf("name (%s) was not given before", number)
	}
	return name, nil
}

// inContext returns a name: Callgrind's --compress-mangled=yes writes a function and its callers, (1)'(2), by the
// numbers of their names.
func inContext(text string, names map[string]string) string {
	parts := strings.Split(text, "'")
	if len(parts) == 1 {
		return text
	}
	for i, part := range parts {
		if len(part) < 3 || part[0] != '(' || part[len(part)-1] != ')' {
			continue
		}
		if name, ok := names[part[1:len(part)-1]]; ok {
			parts[i] = name
		}
	}
	return strings.Join(parts, "'")
}

// calls takes `calls=COUNT POSITION`; the inclusive cost is on the next line.
func (r *callgrindReader) calls(value []byte) error {
	field, rest := cutField(value)
	n, err := strconv.ParseUint(string(field), 0, 64)
	if err != nil {
		return r.s.Errorf("number of calls %q", field)
	}
	// A target may refer to the position before, which it does not change.
	addr, line := r.addr, r.line
	if _, err := r.parsePosition(rest); err != nil {
		return err
	}
	r.after, r.count, r.target = callLine, n, r.line
	r.addr, r.line = addr, line
	return nil
}

// jumps takes `jump=COUNT POSITION`, or `jcnd=COUNT/EXECUTED POSITION`, which the description of the format has as
// `jcnd=EXECUTED COUNT POSITION`; where it stands is on the next line.
func (r *callgrindReader) jumps(value []byte, conditional bool) error {
	field, rest := cutField(value)
	count, executed := field, []byte("0")
	if i := bytes.IndexByte(field, '/'); conditional && i >= 0 {
		count, executed = field[:i], field[i+1:]
	} else if conditional {
		executed = field
		count, rest = cutField(rest)
	}
	n, err := strconv.ParseUint(string(count), 0, 64)
	if err == nil {
		r.executed, err = strconv.ParseUint(string(executed), 0, 64)
	}
	if err != nil {
		return r.s.Errorf("number of jumps %q", field)
	}
	addr, line := r.addr, r.line
	if _, err := r.parsePosition(rest); err != nil {
		return err
	}
	r.after, r.count, r.target, r.conditional = jumpLine, n, r.line, conditional
	r.addr, r.line = addr, line
	return nil
}

// jump notes a jump, whose place was read.
func (r *callgrindReader) jump() {
	j := Jump{
		Func: r.fn, File: r.file, Line: int(r.line), TargetFunc: r.fn.Name, TargetFile: r.file, TargetLine: int(r.target),
		Conditional: r.conditional, Count: r.count, Executed: r.executed,
	}
	if r.otherFile {
		j.TargetFile = r.jumpFile
	}
	if r.otherFunc {
		j.TargetFunc = r.jumpFunc
	}
	r.p.Graph.AddJump(j)
	r.otherFile, r.otherFunc = false, false
}

// position takes a line that begins with a position: a line's own cost, that of a call or a jump's place.
func (r *callgrindReader) position(text []byte) error {
	if r.p.Events == nil {
		return r.s.Errorf("missing an `events:` line")
	}
	rest, err := r.parsePosition(text)
	if err != nil {
		return err
	}
	after := r.after
	r.after = costLine
	if after == jumpLine {
		r.jump()
		return nil
	}
	if err := r.parseCounts(rest); err != nil {
		return err
	}
	if after == callLine {
		r.call()
		return nil
	}
	if e := addExactly(r.totals, r.counts); e >= 0 {
		return r.s.Errorf(largeTotal, r.p.Events[e])
	}
	r.p.Add(r.file, r.fn.Name, int(r.line), r.counts...)
	r.p.Graph.AddCost(r.fn, r.file, int(r.line), r.counts...)
	return nil
}

// call notes a call, whose cost was read. Where nothing says otherwise the callee is in the caller's object and the
// present file.
func (r *callgrindReader) call() {
	callee := r.callee
	if !r.calledObject {
		callee.Object = r.fn.Object
	}
	if !r.calledFile {
		callee.File = r.file
	}
	r.p.Graph.AddCall(Call{
		Caller: r.fn, File: r.file, Line: int(r.line), Callee: callee, CalleeLine: int(r.target), Count: r.count, Inlined: r.inlined, Counts: r.counts,
	})
	r.callee, r.calledObject, r.calledFile, r.inlined = Func{Unknown, Unknown, Unknown}, false, false, false
}

// parsePosition reads a position: a line, an address, or both; a number, or the last one's +N, -N or *. It returns what
// follows.
func (r *callgrindReader) parsePosition(text []byte) (rest []byte, err error) {
	if r.instr {
		if text, err = r.subposition(text, &r.addr); err != nil || !r.lines {
			return text, err
		}
	}
	if text, err = r.subposition(text, &r.line); err == nil && r.line > math.MaxInt {
		err = r.s.Errorf("line number %d is out of range", r.line)
	}
	return text, err
}

func (r *callgrindReader) subposition(text []byte, last *uint64) (rest []byte, err error) {
	field, rest := cutField(text)
	if string(field) == "*" {
		return rest, nil
	}
	sign, digits := byte(0), string(field)
	if len(field) > 0 && (field[0] == '+' || field[0] == '-') {
		sign, digits = field[0], digits[1:]
	}
	base := 10
	if len(digits) > 2 && digits[:2] == "0x" {
		digits, base = digits[2:], 16
	}
	n, err := strconv.ParseUint(digits, base, 64)
	sum := n
	switch sign {
	case '+':
		sum = *last + n
	case '-':
		sum = *last - n
	}
	if err != nil || sign == '+' && sum < n || sign == '-' && n > *last {
		return nil, r.s.Errorf("position %q", field)
	}
	*last = sum
	return rest, nil
}

// parseCounts reads counts; missing ones are 0.
func (r *callgrindReader) parseCounts(text []byte) error {
	for e := range r.counts {
		var field []byte
		if field, text = cutField(text); len(field) == 0 {
			if r.s.missing -= len(r.counts) - e; r.s.missing < 0 {
				return r.s.Errorf("too many lines have fewer counts than the %d events", len(r.counts))
			}
			clear(r.counts[e:])
			return nil
		}
		n, err := strconv.ParseUint(string(field), 0, 64)
		if err != nil {
			return r.s.Errorf("count %q", field)
		}
		r.counts[e] = n
	}
	if field, _ := cutField(text); len(field) > 0 {
		return r.s.Errorf("malformed or too many event counts")
	}
	return nil
}

// asCachegrind returns the profile that data, in Callgrind's format, has, as Cachegrind would have written it.
func asCachegrind(name string, data []byte) ([]byte, error) {
	p, err := readCallgrind(name, data)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return b.Bytes(), nil
}
