package export

import (
	"encoding/json"
)

// A speedscopeFile is a file of speedscope's.
type speedscopeFile struct {
	Schema   string              `json:"$schema"`
	Exporter string              `json:"exporter"`
	Name     string              `json:"name"`
	Shared   speedscopeShared    `json:"shared"`
	Profiles []speedscopeProfile `json:"profiles"`
}

type speedscopeShared struct {
	Frames []speedscopeFrame `json:"frames"`
}

type speedscopeFrame struct {
	Name string `json:"name"`
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

// A speedscopeProfile is what one event counts: a sample for each stack, whose weight is the count.
type speedscopeProfile struct {
	Type       string   `json:"type"`
	Name       string   `json:"name"`
	Unit       string   `json:"unit"`
	StartValue uint64   `json:"startValue"`
	EndValue   uint64   `json:"endValue"`
	Samples    [][]int  `json:"samples"`
	Weights    []uint64 `json:"weights"`
}

// speedscope writes a file for speedscope.app, with a profile for each event.
func (x *exporter) speedscope() error {
	s, err := x.stacks(x.columns)
	if err != nil {
		return err
	}
	file := speedscopeFile{
		Schema: "https://www.speedscope.app/file-format-schema.json", Exporter: "cgemu", Name: x.p.Cmd,
		Shared: speedscopeShared{Frames: []speedscopeFrame{}},
	}
	for _, f := range s.frames {
		file.Shared.Frames = append(file.Shared.Frames, speedscopeFrame{f.name, f.knownFile(), f.line})
	}
	for e, name := range x.events() {
		p := speedscopeProfile{Type: "sampled", Name: name, Unit: "none", EndValue: s.totals[e], Samples: [][]int{}, Weights: []uint64{}}
		s.each(func(n *node) {
			count := n.own()[e]
			if count == 0 {
				return
			}
			var numbers []int
			for _, f := range n.stack() {
				numbers = append(numbers, f.number)
			}
			p.Samples, p.Weights = append(p.Samples, numbers), append(p.Weights, count)
		})
		file.Profiles = append(file.Profiles, p)
	}
	return x.json(file)
}

// json writes a value in one line.
func (x *exporter) json(v any) error {
	e := json.NewEncoder(x.Writer)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
