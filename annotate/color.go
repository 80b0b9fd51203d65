package annotate

import (
	"math/big"
	"strings"

	"github.com/cgemu/cgemu/cgout"
)

// Colours: the parameters of SGR (ECMA-48, 8.3.117).
const (
	bold    = "1"
	dim     = "2"
	warning = "35"
)

// heats are colours of counts by their share of the total, in per cent; of a
// difference, those that grew and those that fell.
var heats = []struct {
	least      float64
	grew, fell string
}{
	{10, "1;31", "1;32"},
	{2, "31", "32"},
	{0.5, "33", "36"},
}

// paint returns lines in a colour.
func (r *textReport) paint(color, lines string) string {
	if !r.o.Color {
		return lines
	}
	return paint(color, lines)
}

// paint returns lines in a colour, each of which begins and ends it: pagers show
// a part of a text.
func paint(color, lines string) string {
	var b strings.Builder
	for line := range strings.Lines(lines) {
		text, ended := strings.CutSuffix(line, "\n")
		if text != "" {
			b.WriteString("\x1b[" + color + "m" + text + "\x1b[m")
		}
		if ended {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// heat returns the line of a row in the colour of its first sort event.
func (r *textReport) heat(c counts, line string) string {
	if !r.o.Color {
		return line
	}
	return heat(c[r.sort[0]], r.m.total[r.sort[0]], line)
}

// heat returns the line of a count in the colour of its share.
func heat(c, total cgout.Count, line string) string {
	n, _ := new(big.Float).SetInt(c.Abs().Big()).Float64()
	for _, h := range heats {
		if limit := share(h.least, total); limit > 0 && n >= limit {
			if c.Sign() < 0 {
				return paint(h.fell, line)
			}
			return paint(h.grew, line)
		}
	}
	return line
}
