package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/cgemu/cgemu"
)

// With --go-benchmarks the results of a Go test binary's benchmarks have counts for nanoseconds. Package testing prints
// them, by the guest's clock; what a benchmark has counted is known when its function returns. So that each line gets
// its own counts they go the way of the output: into the pipe that is the guest's standard output, behind benchMark,
// and a filter at the other end takes them out again.

// benchMark begins a line of counts in the guest's output.
var benchMark = []byte("\x00\x00cgemu counts:")

// runFiltered runs the program, with the filter if that was asked for.
func (k *keeper) runFiltered(ctx context.Context, cfg cgemu.Config) (*cgemu.Result, error) {
	if !k.o.goBenchmarks {
		return k.run(ctx, cfg)
	}
	done, err := filterBenchmarks(&cfg)
	if err != nil {
		return nil, err
	}
	res, err := k.run(ctx, cfg)
	k.err = cmp.Or(k.err, done())
	return res, err
}

// filterBenchmarks puts the filter between the guest and standard output. done has to be called when the guest has
// ended.
func filterBenchmarks(cfg *cgemu.Config) (done func() error, err error) {
	in, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	if cfg.Stdout = out; sameFile(os.Stdout, os.Stderr) {
		cfg.Stderr = out // go test reads both from one pipe: their order stays
	}
	cfg.OnGoBenchmark = func(events []string, counts []uint64) {
		text := string(benchMark)
		for i, n := range counts {
			text += fmt.Sprintf(" %s %d", events[i], n)
		}
		fmt.Fprintln(out, text) // an error is the filter's to report
	}
	lines := &benchLines{to: os.Stdout, several: severalCounts(cfg.Args)}
	end := make(chan error, 1)
	go func() {
		_, err := io.Copy(lines, in)
		in.Close()
		end <- errors.Join(err, lines.flush())
	}()
	return func() error {
		out.Close()
		return <-end
	}, nil
}

// longestResult is the length from which on a line is no result of a benchmark.
const longestResult = 1 << 16

// A benchCount is what was counted of an event.
type benchCount struct {
	event string
	n     uint64
}

// A benchLines is a writer that passes on what a test binary writes, but for the measurements in results of benchmarks.
type benchLines struct {
	to io.Writer
	// line is a line that has not ended, of which the first passed bytes were passed on already. long says that it
	// began before: it is longer than any result.
	line   []byte
	passed int
	long   bool
	// counts are those of the last benchmark that ended, until its result comes. explained says that their units were.
	counts    []benchCount
	explained bool
	// several says that each benchmark is run more than once, in one process: its heap and the seeds of its maps are
	// others each time, so that the results are samples.
	several bool
}

// Write implements io.Writer.
func (l *benchLines) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		end := bytes.IndexByte(b, '\n') + 1
		if end == 0 {
			l.line = append(l.line, b...)
			break
		}
		l.line, b = append(l.line, b[:end]...), b[end:]
		if l.takeCounts() {
			continue
		}
		if err := l.endLine(); err != nil {
			return 0, err
		}
	}
	if len(l.line) > longestResult {
		return n, l.passLong()
	}
	// The name of a benchmark that runs is there before its result.
	if l.passed == 0 && len(l.counts) > 0 && l.beginsResult() && bytes.HasSuffix(l.line, []byte("\t")) {
		if _, err := io.WriteString(l.to, l.units()+string(l.line)); err != nil {
			return 0, err
		}
		l.passed = len(l.line)
	}
	return n, nil
}

// beginsResult reports whether the line begins as a benchmark's result does.
func (l *benchLines) beginsResult() bool {
	return !l.long && bytes.HasPrefix(l.line, []byte("Benchmark")) && bytes.IndexByte(l.line, '\t') > 0
}

// passLong passes on a line that is too long to be a result, but for what may become counts at its end.
func (l *benchLines) passLong() error {
	end := len(l.line)
	for n := min(len(benchMark), end); n > 0; n-- {
		if bytes.HasSuffix(l.line, benchMark[:n]) {
			end -= n
			break
		}
	}
	if bytes.Contains(l.line, benchMark) {
		return nil // counts, whose end is to come
	}
	_, err := io.WriteString(l.to, l.units()+string(l.line[min(l.passed, end):end]))
	l.line, l.passed, l.long = append(l.line[:0], l.line[end:]...), 0, true
	return err
}

// takeCounts takes counts off the end of the line, which goes on behind them. It reports whether there are any.
func (l *benchLines) takeCounts() bool {
	text, counts, found := bytes.Cut(l.line, benchMark)
	if !found {
		return false
	}
	fields := strings.Fields(string(counts))
	l.line, l.counts = text, nil
	for pair := range slices.Chunk(fields, 2) {
		n, _ := strconv.ParseUint(pair[len(pair)-1], 10, 64)
		l.counts = append(l.counts, benchCount{pair[0], n})
	}
	return true
}

// endLine passes on a line that has ended.
func (l *benchLines) endLine() error {
	text, isResult := string(l.line), false
	if !l.long && len(text) <= longestResult {
		text, isResult = l.result(text)
	}
	_, err := io.WriteString(l.to, l.units()+text[min(l.passed, len(text)):])
	if isResult {
		l.counts = nil
	}
	l.line, l.passed, l.long = l.line[:0], 0, false
	return err
}

// flush passes on what is left.
func (l *benchLines) flush() error {
	_, err := io.WriteString(l.to, l.units()+string(l.line[l.passed:]))
	return err
}

// result returns the line of a benchmark's result with counts, any other as it is.
func (l *benchLines) result(line string) (text string, isResult bool) {
	fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
	if len(fields) < 3 || !strings.HasPrefix(fields[0], "Benchmark") {
		return line, false
	}
	n, err := strconv.ParseUint(strings.TrimSpace(fields[1]), 10, 64)
	if err != nil || n == 0 {
		return line, false
	}
	out := fields[:2:2]
	for _, c := range l.counts {
		out = append(out, perOperation(c.n, n)+" "+c.event+"/op")
	}
	for _, f := range fields[2:] {
		// By the guest's clock: they would be taken for measurements of time.
		if !strings.HasSuffix(f, " ns/op") && !strings.HasSuffix(f, " MB/s") {
			out = append(out, f)
		}
	}
	return strings.Join(out, "\t") + "\n", true
}

// perOperation shows a quotient with six digits, or more if it has more in front of the point.
func perOperation(total, n uint64) string {
	x := float64(total) / float64(n)
	digits := 6
	for limit := 1.0; digits > 0 && x >= limit; limit *= 10 {
		digits--
	}
	if total%n == 0 {
		digits = 0
	}
	return fmt.Sprintf("%10.*f", digits, x)
}

// severalCounts reports whether a test binary's arguments have it run benchmarks more than once.
func severalCounts(args []string) bool {
	n := "1"
	for i, arg := range args {
		name, value, is := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "=")
		if name != "test.count" || arg == name {
			continue
		}
		if n = value; !is && i+1 < len(args) {
			n = args[i+1]
		}
	}
	return n != "1" && n != "0"
}

// units tells benchstat, in front of the first result, what the events are: counts are no samples of something that
// varies, unless there are several.
func (l *benchLines) units() (text string) {
	if l.explained || !l.beginsResult() {
		return ""
	}
	l.explained = len(l.counts) > 0
	assume := " assume=exact"
	if l.several {
		assume = ""
	}
	for _, c := range l.counts {
		text += fmt.Sprintf("Unit %s/op better=lower%s\n", c.event, assume)
	}
	if l.explained && !l.several {
		text += "Unit B/op assume=exact\nUnit allocs/op assume=exact\n"
	}
	return text
}
