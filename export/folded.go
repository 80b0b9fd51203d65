package export

import (
	"slices"
	"strconv"
	"strings"
)

// foldedNames has no semicolons, which part frames, and no line ends.
var foldedNames = strings.NewReplacer(";", ":", "\n", " ", "\r", " ")

// folded writes a line for each stack, `main;f;g 123`, as flamegraph.pl and others read it.
func (x *exporter) folded() error {
	s, err := x.stacks(x.columns[:1])
	if err != nil {
		return err
	}
	sums := map[string]uint64{} // frames of other files may have the same names
	var order []string
	s.each(func(n *node) {
		count := n.own()[0]
		if count == 0 {
			return
		}
		var names []string
		for _, f := range n.stack() {
			name := foldedNames.Replace(f.name)
			if name == "" {
				name = "?" // an empty frame would be lost
			}
			names = append(names, name)
		}
		line := strings.Join(names, ";")
		if sums[line] == 0 {
			order = append(order, line)
		}
		sums[line] += count
	})
	slices.Sort(order)
	for _, line := range order {
		x.WriteString(line + " " + strconv.FormatUint(sums[line], 10) + "\n")
	}
	return nil
}

// stack returns the frames of a stack, the outermost first.
func (n *node) stack() (list []*frame) {
	for ; n.parent != nil; n = n.parent {
		list = append(list, n.frame)
	}
	slices.Reverse(list)
	return list
}
