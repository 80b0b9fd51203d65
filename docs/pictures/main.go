// Command pictures draws the pictures of docs/internals.md and the charts of BENCHMARKS.md: each NAME.txt and each
// NAME.bench here becomes NAME.svg.
//
// A NAME.bench is what
//
//	go test -run '^$' -bench Program -benchtime 3x .
//
// printed on one machine, which benchstat reads, too. Of a text the first line is the title. Each other line is a step:
// a lane, which is a package, the file where it happens, and what happens, separated by " | ". Steps go downwards in
// the order of time; an arrow leads from each to the next. A line that begins with "--" is a remark between two steps.
// Run it by go generate.
package main

import (
	"fmt"
	"html"
	"log"
	"os"
	"path/filepath"
	"strings"
)

//go:generate go run .

// Sizes in pixels.
const (
	laneWidth  = 204
	boxWidth   = 190
	lineHeight = 15
	gap        = 16
	top        = 64
	wrapAt     = 30 // characters
)

// A step is a box of a picture; a remark has no lane.
type step struct{ lane, file, text string }

// draws has what draws the pictures, by the extension of what they are made from.
var draws = map[string]func(text string) (string, error){".txt": draw, ".bench": drawChart}

func main() {
	for ext, draw := range draws {
		names, err := filepath.Glob("*" + ext)
		if err != nil {
			log.Fatal(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				log.Fatal(err)
			}
			svg, err := draw(string(text))
			if err != nil {
				log.Fatalf("%s: %v", name, err)
			}
			if err := os.WriteFile(strings.TrimSuffix(name, ext)+".svg", []byte(svg), 0o644); err != nil {
				log.Fatal(err)
			}
		}
	}
}

// parse takes a picture's text apart.
func parse(text string) (title string, steps []step, err error) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines[1:] {
		if remark, ok := strings.CutPrefix(line, "--"); ok {
			steps = append(steps, step{text: strings.TrimSpace(remark)})
			continue
		}
		parts := strings.SplitN(line, " | ", 3)
		if len(parts) != 3 {
			return "", nil, fmt.Errorf("line %d: not a lane, a file and a text", i+2)
		}
		steps = append(steps, step{parts[0], parts[1], parts[2]})
	}
	return lines[0], steps, nil
}

// draw makes a picture of its text.
func draw(text string) (string, error) {
	title, steps, err := parse(text)
	if err != nil {
		return "", err
	}
	var lanes []string
	at := map[string]int{}
	for _, s := range steps {
		if _, ok := at[s.lane]; !ok && s.lane != "" {
			at[s.lane] = len(lanes)
			lanes = append(lanes, s.lane)
		}
	}
	var b strings.Builder
	width := len(lanes)*laneWidth + 20
	y, fromX, fromY := top, 0, 0
	for _, s := range steps {
		if s.lane == "" {
			fmt.Fprintf(&b, `<text class="remark" x="%d" y="%d">%s</text>`+"\n", width/2, y+12, html.EscapeString(s.text))
			y += lineHeight + gap
			continue
		}
		x := 10 + at[s.lane]*laneWidth + (laneWidth-boxWidth)/2
		lines := wrap(s.text)
		height := (len(lines)+1)*lineHeight + 10
		if fromY > 0 {
			fmt.Fprintf(&b, `<path class="arrow" d="%s"/>`+"\n", arrow(fromX, fromY, x+boxWidth/2, y))
		}
		fmt.Fprintf(&b, `<rect class="lane%d" x="%d" y="%d" width="%d" height="%d" rx="5"/>`+"\n", at[s.lane]%6, x, y, boxWidth, height)
		fmt.Fprintf(&b, `<text class="file" x="%d" y="%d">%s</text>`+"\n", x+8, y+lineHeight+1, html.EscapeString(s.file))
		for i, line := range lines {
			fmt.Fprintf(&b, `<text x="%d" y="%d">%s</text>`+"\n", x+8, y+(i+2)*lineHeight+1, html.EscapeString(line))
		}
		fromX, fromY = x+boxWidth/2, y+height
		y += height + gap
	}
	return header(title, lanes, width, y) + b.String() + "</svg>\n", nil
}

// arrow is the path of an arrow from the bottom of one box to the top of another.
func arrow(x1, y1, x2, y2 int) string {
	head := fmt.Sprintf("M%d %d l-4 -6 h8 z", x2, y2)
	if x1 == x2 {
		return fmt.Sprintf("M%d %d V%d %s", x1, y1, y2-5, head)
	}
	middle := (y1 + y2) / 2
	return fmt.Sprintf("M%d %d V%d H%d V%d %s", x1, y1, middle, x2, y2-5, head)
}

// wrap breaks a text into lines.
func wrap(text string) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > wrapAt {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return append(lines, line)
}

// header has the picture's frame, its title, and the names of the lanes.
func header(title string, lanes []string, width, height int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img">
<title>%s</title>
<style>
svg { background: #fff } text { font: 11px ui-sans-serif, system-ui, sans-serif; fill: #24292f }
.title { font-size: 15px; font-weight: 600 } .lane { font-weight: 600; text-anchor: middle } .file { font-weight: 600 }
.remark { font-style: italic; text-anchor: middle; fill: #57606a } .arrow { fill: #57606a; stroke: #57606a; stroke-width: 1 }
.arrow { fill-opacity: 1 } path.arrow { fill: none } rect { stroke: #8c959f } line { stroke: #d0d7de }
.lane0 { fill: #ddf4ff } .lane1 { fill: #fff8c5 } .lane2 { fill: #dafbe1 } .lane3 { fill: #fbefff } .lane4 { fill: #ffebe9 } .lane5 { fill: #f6f8fa }
</style>
<rect x="0" y="0" width="%[1]d" height="%[2]d" fill="#fff" stroke="none"/>
<text class="title" x="12" y="22">%[3]s</text>
`, width, height, html.EscapeString(title))
	for i, lane := range lanes {
		x := 10 + i*laneWidth + laneWidth/2
		fmt.Fprintf(&b, `<text class="lane" x="%d" y="48">%s</text>`+"\n", x, html.EscapeString(lane))
		fmt.Fprintf(&b, `<line x1="%d" y1="54" x2="%[1]d" y2="%d"/>`+"\n", x, height-4)
	}
	return b.String()
}
