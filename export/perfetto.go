package export

import (
	"fmt"
)

// A traceEvent is an event of Chrome's trace format, which Perfetto reads. Times are microseconds.
type traceEvent struct {
	Name  string         `json:"name"`
	Phase string         `json:"ph"`
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	Time  traceTime      `json:"ts"`
	Dur   *traceTime     `json:"dur,omitempty"`
	Args  map[string]any `json:"args,omitempty"`
}

// A traceTime is nanoseconds, one for each event that was counted.
type traceTime uint64

// MarshalJSON writes microseconds, exactly.
func (t traceTime) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "%d.%03d", t/1000, t%1000), nil
}

// perfetto writes Chrome's trace format (JSON), with a thread for each event: a slice is a function on a stack, as long
// as its inclusive cost in nanoseconds. Slices that cost most come first.
func (x *exporter) perfetto() error {
	s, err := x.stacks(x.columns)
	if err != nil {
		return err
	}
	x.WriteString(`{"displayTimeUnit":"ns","traceEvents":[` + "\n")
	if err := x.json(traceEvent{Name: "process_name", Phase: "M", PID: 1, Args: map[string]any{"name": x.p.Cmd}}); err != nil {
		return err
	}
	for e, event := range x.events() {
		x.WriteByte(',')
		if err := x.json(traceEvent{Name: "thread_name", Phase: "M", PID: 1, TID: e + 1, Args: map[string]any{"name": event}}); err != nil {
			return err
		}
		if err := x.slices(s.root, e); err != nil {
			return err
		}
	}
	x.WriteString("]}\n")
	return nil
}

// slices writes the nodes below root for an event, a parent before its children.
func (x *exporter) slices(root *node, e int) error {
	type placed struct {
		*node
		at uint64
	}
	for list := []placed{{root, 0}}; len(list) > 0; {
		n := list[len(list)-1]
		list = list[:len(list)-1]
		if n.node != root && n.inclusive[e] > 0 {
			dur := traceTime(n.inclusive[e])
			args := map[string]any{"self": n.own()[e]}
			if f := n.knownFile(); f != "" {
				args["file"] = f
			}
			x.WriteByte(',')
			if err := x.json(traceEvent{n.name, "X", 1, e + 1, traceTime(n.at), &dur, args}); err != nil {
				return err
			}
		}
		at := n.at
		for _, c := range n.children {
			list = append(list, placed{c, at})
			at += c.inclusive[e]
		}
	}
	return nil
}
