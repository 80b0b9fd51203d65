package main

import (
	"fmt"
	"math/bits"
)

// What a decision looks at, as in package x86, and how many outcomes it has.
const (
	byPrefix = iota
	byReg
	byMod
	byRM
	byW
	byL
	byOpSize
	byB
	numBy
)

var outcomes = [numBy]int{4, 8, 2, 8, 2, 4, 3, 2}

// A selector has, for each decision, a bit for each outcome that matches.
type selector [numBy]uint16

func anything() selector {
	var s selector
	for i, n := range outcomes {
		s[i] = 1<<n - 1
	}
	return s
}

// width is the number of combinations that match: the less, the more narrowly
// a form is described.
func (s selector) width() int {
	n := 1
	for _, m := range s {
		n *= bits.OnesCount16(m)
	}
	return n
}

const leaf = 0x8000

// trees holds the decision trees of all maps, as in package x86.
type trees struct {
	roots [][256]uint16
	nodes []uint16
	known map[string]uint16 // equal nodes are kept once
	forms []*form
}

func buildTrees(forms []*form) (*trees, error) {
	t := &trees{roots: make([][256]uint16, len(mapNames)), nodes: []uint16{0}, known: map[string]uint16{}, forms: forms}
	byOpcode := map[[2]int][]int{}
	for i, f := range forms {
		for _, o := range f.opcodes {
			k := [2]int{f.maps, o}
			byOpcode[k] = append(byOpcode[k], i)
		}
	}
	for m := range mapNames {
		for o := range 256 {
			v, err := t.build(byOpcode[[2]int{m, o}], 0)
			if err != nil {
				return nil, fmt.Errorf("map %q, opcode %02X: %w", mapNames[m], o, err)
			}
			t.roots[m][o] = v
		}
	}
	return t, nil
}

// build returns the entry that tells cands apart, deciding from by on.
func (t *trees) build(cands []int, by int) (uint16, error) {
	if len(cands) == 0 {
		return 0, nil
	}
	if by == numBy {
		return t.narrowest(cands)
	}
	full := anything()[by]
	all := true
	for _, c := range cands {
		all = all && t.forms[c].sel[by] == full
	}
	if all {
		return t.build(cands, by+1)
	}
	node := []uint16{uint16(by)}
	for o := range outcomes[by] {
		var sub []int
		for _, c := range cands {
			if t.forms[c].sel[by]>>o&1 != 0 {
				sub = append(sub, c)
			}
		}
		v, err := t.build(sub, by+1)
		if err != nil {
			return 0, err
		}
		node = append(node, v)
	}
	key := fmt.Sprint(node)
	if v, ok := t.known[key]; ok {
		return v, nil
	}
	v := uint16(len(t.nodes))
	if v >= leaf {
		return 0, fmt.Errorf("too many nodes")
	}
	t.known[key] = v
	t.nodes = append(t.nodes, node...)
	return v, nil
}

func (t *trees) narrowest(cands []int) (uint16, error) {
	best := cands[0]
	for _, c := range cands[1:] {
		switch a, b := t.forms[c].sel.width(), t.forms[best].sel.width(); {
		case a == b:
			return 0, fmt.Errorf("lines %d and %d match alike", t.forms[best].line, t.forms[c].line)
		case a < b:
			best = c
		}
	}
	return leaf | uint16(best), nil
}
