package export

import "path"

// firefoxVersion is the version of the processed profile format; the Firefox Profiler upgrades it to its own.
const firefoxVersion = 48

// A firefoxProfile is a processed profile of the Firefox Profiler, as that documents it.
type firefoxProfile struct {
	Meta    map[string]any   `json:"meta"`
	Libs    []any            `json:"libs"`
	Pages   []any            `json:"pages"`
	Threads []map[string]any `json:"threads"`
}

// A table is columns of one length.
type table = map[string]any

// firefoxTables are those that all threads share; each has a copy.
type firefoxTables struct {
	strings  []string
	numbers  map[string]int // of strings
	frames   table
	funcs    table
	objects  table
	stacks   table
	category int
	// of are the numbers of stacks.
	of map[*node]int
}

// firefox writes a profile for profiler.firefox.com, with a thread for each event: a sample for each stack, whose
// weight is the count.
func (x *exporter) firefox() error {
	s, err := x.stacks(x.columns)
	if err != nil {
		return err
	}
	p := firefoxProfile{
		Meta: map[string]any{
			"version": 27, "preprocessedProfileVersion": firefoxVersion, "interval": 1, "startTime": 0, "processType": 0, "stackwalk": 1,
			"product": x.p.Cmd, "symbolicated": true, "markerSchema": []any{}, "debug": false, "importedFrom": "cgemu",
			"categories": []any{
				map[string]any{"name": "Other", "color": "grey", "subcategories": []string{"Other"}},
				map[string]any{"name": "Program", "color": "blue", "subcategories": []string{"Other"}},
			},
			"sampleUnits": map[string]string{"time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns"},
		},
		Libs: []any{}, Pages: []any{}, Threads: []map[string]any{},
	}
	t := newFirefoxTables(s)
	for e, name := range x.events() {
		p.Threads = append(p.Threads, t.thread(s, name, e))
	}
	return x.json(p)
}

// thread returns what one event counts.
func (t *firefoxTables) thread(s *stacks, name string, e int) map[string]any {
	stack, time, weight := []int{}, []uint64{}, []uint64{}
	s.each(func(n *node) {
		if count := n.own()[e]; count > 0 {
			stack, time, weight = append(stack, t.of[n]), append(time, uint64(len(time))), append(weight, count)
		}
	})
	return map[string]any{
		"processType": "default", "processName": name, "processStartupTime": 0, "processShutdownTime": nil, "registerTime": 0, "unregisterTime": nil,
		"pausedRanges": []any{}, "name": name, "isMainThread": true, "pid": name, "tid": e,
		"samples":    table{"stack": stack, "time": time, "weight": weight, "weightType": "samples", "length": len(stack)},
		"markers":    table{"data": []any{}, "name": []any{}, "startTime": []any{}, "endTime": []any{}, "phase": []any{}, "category": []any{}, "length": 0},
		"stackTable": t.stacks, "frameTable": t.frames, "funcTable": t.funcs, "resourceTable": t.objects,
		"nativeSymbols": table{"libIndex": []any{}, "address": []any{}, "name": []any{}, "functionSize": []any{}, "length": 0},
		"stringArray":   t.strings,
	}
}

// text returns a string's number.
func (t *firefoxTables) text(s string) int {
	n, ok := t.numbers[s]
	if !ok {
		n = len(t.strings)
		t.numbers[s], t.strings = n, append(t.strings, s)
	}
	return n
}

// newFirefoxTables makes the tables of all stacks. A frame of ours is a function and a frame there.
func newFirefoxTables(s *stacks) *firefoxTables {
	t := &firefoxTables{strings: []string{}, numbers: map[string]int{}, of: map[*node]int{}, category: 1}
	n := len(s.frames)
	names, files, lines, resources, funcs := make([]int, n), make([]any, n), make([]any, n), make([]int, n), make([]int, n)
	objects := map[string]int{}
	objectNames := []int{}
	for i, f := range s.frames {
		names[i], funcs[i], resources[i] = t.text(f.name), i, -1
		if f.knownFile() != "" {
			files[i] = t.text(f.file)
		}
		if f.line > 0 {
			lines[i] = f.line
		}
		if o := f.fn.Object; o != "" && f.kind == functionFrame {
			number, ok := objects[o]
			if !ok {
				number = len(objectNames)
				objects[o], objectNames = number, append(objectNames, t.text(path.Base(o)))
			}
			resources[i] = number
		}
	}
	all := func(n int, value any) []any { // a column with one value
		list := make([]any, n)
		for i := range list {
			list[i] = value
		}
		return list
	}
	t.funcs = table{
		"name": names, "isJS": all(n, false), "relevantForJS": all(n, false), "resource": resources, "fileName": files, "lineNumber": lines,
		"columnNumber": all(n, nil), "length": n,
	}
	t.frames = table{
		"address": all(n, -1), "inlineDepth": all(n, 0), "category": all(n, t.category), "subcategory": all(n, 0), "func": funcs,
		"nativeSymbol": all(n, nil), "innerWindowID": all(n, 0), "implementation": all(n, nil), "line": all(n, nil), "column": all(n, nil), "length": n,
	}
	const library = 1 // a type of resource
	m := len(objectNames)
	t.objects = table{"lib": all(m, nil), "name": objectNames, "host": all(m, nil), "type": all(m, library), "length": m}
	t.stack(s)
	return t
}

// stack makes the table of stacks, a prefix before what has it.
func (t *firefoxTables) stack(s *stacks) {
	frame, prefix := []int{}, []any{}
	for list := []*node{s.root}; len(list) > 0; {
		n := list[len(list)-1]
		list = append(list[:len(list)-1], n.children...)
		if n == s.root {
			continue
		}
		t.of[n] = len(frame)
		frame = append(frame, n.number)
		if n.parent == s.root {
			prefix = append(prefix, nil)
		} else {
			prefix = append(prefix, t.of[n.parent])
		}
	}
	category, sub := make([]int, len(frame)), make([]int, len(frame))
	for i := range category {
		category[i] = t.category
	}
	t.stacks = table{"frame": frame, "prefix": prefix, "category": category, "subcategory": sub, "length": len(frame)}
}
