package main

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// A panel compares tools that do the same.
type panel struct {
	title string
	bars  []bar
}

// A bar is the share of a tool in each group of bars.
type bar struct{ tool, label, class string }

var panels = []panel{
	{"Instructions", []bar{{"cgemu-ir", "cgemu", "ours"}, {"cachegrind-ir", "Cachegrind", "theirs"}}},
	{"Caches and branches", []bar{{"cgemu-caches+branches", "cgemu", "ours"}, {"cachegrind-caches+branches", "Cachegrind", "theirs"}}},
	{"Instructions and the call graph", []bar{{"cgemu-calls", "cgemu", "ours"}, {"callgrind", "Callgrind", "theirs"}}},
}

// Sizes in pixels. Bars are as long as the logarithm of a factor, up to largest.
const (
	left, right = 70, 60
	plot        = 620
	barHeight   = 11
	groupGap    = 7
	largest     = 1000
)

// results are milliseconds of CPU time by program and tool, the least of those that are there.
type results struct {
	programs []string // in their order
	cpu      map[string]map[string]float64
	machine  string
}

// parseResults reads what a benchmark printed (https://go.dev/design/14313-benchmark-format).
func parseResults(text string) (*results, error) {
	r := &results{cpu: map[string]map[string]float64{}}
	for n, line := range strings.Split(text, "\n") {
		if cpu, ok := strings.CutPrefix(line, "cpu: "); ok {
			r.machine = cpu
		}
		rest, ok := strings.CutPrefix(line, "BenchmarkProgram/prog=")
		if !ok {
			continue
		}
		fields := strings.Fields(rest)
		prog, tool, ok := strings.Cut(fields[0], "/tool=")
		if i := strings.LastIndex(tool, "-"); i >= 0 {
			tool = tool[:i] // the number of CPUs
		}
		for i := 2; i+1 < len(fields); i += 2 {
			if fields[i+1] != "cpu-ms" {
				continue
			}
			ms, err := strconv.ParseFloat(fields[i], 64)
			if err != nil || ms <= 0 || !ok {
				return nil, fmt.Errorf("line %d: not a result of BenchmarkProgram", n+1)
			}
			if r.cpu[prog] == nil {
				r.cpu[prog] = map[string]float64{}
				r.programs = append(r.programs, prog)
			}
			if least, ok := r.cpu[prog][tool]; !ok || ms < least {
				r.cpu[prog][tool] = ms
			}
		}
	}
	if len(r.programs) == 0 {
		return nil, fmt.Errorf("no results of BenchmarkProgram")
	}
	return r, nil
}

// drawChart makes a chart of what a benchmark printed: how many times the CPU time of the program alone each tool took.
func drawChart(text string) (string, error) {
	r, err := parseResults(text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	y := 58
	for _, p := range panels {
		fmt.Fprintf(&b, `<text class="panel" x="12" y="%d">%s</text>`+"\n", y, html.EscapeString(p.title))
		for i, legend := range p.bars {
			x := left + 250 + 110*i
			fmt.Fprintf(&b, `<rect class="%s" x="%d" y="%d" width="9" height="9"/><text x="%d" y="%d">%s</text>`+"\n", legend.class, x, y-9, x+13, y, legend.label)
		}
		top := y + 8
		y = top + 4
		for _, prog := range r.programs {
			height := barHeight * len(p.bars)
			fmt.Fprintf(&b, `<text class="name" x="%d" y="%d">%s</text>`+"\n", left-6, y+height/2+4, html.EscapeString(prog))
			for i, bar := range p.bars {
				ms, native := r.cpu[prog][bar.tool], r.cpu[prog]["native"]
				if ms == 0 || native == 0 {
					continue
				}
				factor, at := ms/native, y+i*barHeight
				fmt.Fprintf(&b, `<rect class="%s" x="%d" y="%d" width="%d" height="%d"/>`, bar.class, left, at, length(factor), barHeight-1)
				fmt.Fprintf(&b, `<text class="factor" x="%d" y="%d">%s</text>`+"\n", left+length(factor)+4, at+barHeight-2, short(factor))
			}
			y += height + groupGap
		}
		for tick := 1; tick <= largest; tick *= 10 {
			x := left + length(float64(tick))
			fmt.Fprintf(&b, `<line x1="%d" y1="%d" x2="%[1]d" y2="%[3]d"/><text class="tick" x="%[1]d" y="%[4]d">%[5]d×</text>`+"\n", x, top, y, y+11, tick)
		}
		y += 40
	}
	return chartHeader(r.machine, left+plot+right, y-16) + b.String() + "</svg>\n", nil
}

// length is how long the bar of a factor is.
func length(factor float64) int {
	return int(math.Round(plot * math.Log10(min(max(factor, 1), largest)) / math.Log10(largest)))
}

// short is a factor with two digits, or more if it is large.
func short(factor float64) string {
	if factor < 9.95 {
		return strconv.FormatFloat(factor, 'f', 1, 64)
	}
	return strconv.FormatFloat(factor, 'f', 0, 64)
}

func chartHeader(machine string, width, height int) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img">
<title>CPU time, in times that of the program alone: %s</title>
<style>
svg { background: #fff } text { font: 11px ui-sans-serif, system-ui, sans-serif; fill: #24292f }
.title { font-size: 15px; font-weight: 600 } .panel { font-size: 13px; font-weight: 600 } .name { text-anchor: end } .tick { text-anchor: middle; fill: #57606a }
.factor { fill: #57606a } .ours { fill: #0969da } .theirs { fill: #afb8c1 } line { stroke: #d0d7de }
</style>
<rect x="0" y="0" width="%[1]d" height="%[2]d" fill="#fff" stroke="none"/>
<text class="title" x="12" y="22">CPU time, in times that of the program alone (%[3]s)</text>
`, width, height, html.EscapeString(machine))
}
