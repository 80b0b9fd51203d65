package cachesim

import (
	"fmt"
	"strings"
)

// Default is the configuration that no option changes; it does not depend on the host.
var Default = Config{
	I1: Geometry{32 << 10, 8, 64},
	D1: Geometry{32 << 10, 8, 64},
	LL: Geometry{8 << 20, 16, 64},
}

// A Preset is a configuration with a name. LL is the last level as one core sees it.
type Preset struct {
	Name   string
	Config Config
	// Source says which CPU it is, and where that is written.
	Source string
}

// Presets are the configurations with names.
var Presets = []Preset{
	{"default", Default, "no CPU in particular; Haswell and Skylake with four cores are built so"},
	{
		"athlon", Config{Geometry{64 << 10, 2, 64}, Geometry{64 << 10, 2, 64}, Geometry{256 << 10, 8, 64}},
		"what Cachegrind takes for a CPU it does not know (Valgrind, cg-x86-amd64.c)",
	},
	{
		"core2", Config{Geometry{32 << 10, 8, 64}, Geometry{32 << 10, 8, 64}, Geometry{4 << 20, 16, 64}},
		"Core 2 Duo E6600: Intel 64 and IA-32 Optimization Reference Manual, Intel Core microarchitecture",
	},
	{
		"skylake", Config{Geometry{32 << 10, 8, 64}, Geometry{32 << 10, 8, 64}, Geometry{8 << 20, 16, 64}},
		"Core i7-6700: the same manual, Skylake client",
	},
	{
		"icelake", Config{Geometry{32 << 10, 8, 64}, Geometry{48 << 10, 12, 64}, Geometry{8 << 20, 16, 64}},
		"Core i7-1065G7: the same manual, Ice Lake client",
	},
	{
		"zen", Config{Geometry{64 << 10, 4, 64}, Geometry{32 << 10, 8, 64}, Geometry{8 << 20, 16, 64}},
		"Ryzen 7 1800X, L3 of one core complex: AMD Software Optimization Guide for Family 17h, models 00h to 2Fh",
	},
	{
		"zen2", Config{Geometry{32 << 10, 8, 64}, Geometry{32 << 10, 8, 64}, Geometry{16 << 20, 16, 64}},
		"Ryzen 7 3700X, L3 of one core complex: the same for Family 17h, models 30h and greater",
	},
	{
		"zen3", Config{Geometry{32 << 10, 8, 64}, Geometry{32 << 10, 8, 64}, Geometry{32 << 20, 16, 64}},
		"Ryzen 7 5800X, and Zen 4's Ryzen 7 7700X: the same for Family 19h",
	},
	{
		"zen5", Config{Geometry{32 << 10, 8, 64}, Geometry{48 << 10, 12, 64}, Geometry{32 << 20, 16, 64}},
		"Ryzen 7 9700X: the same for Family 1Ah",
	},
}

// PresetByName returns the configuration of that name.
func PresetByName(name string) (Config, error) {
	var names []string
	for _, p := range Presets {
		if p.Name == name {
			return p.Config, nil
		}
		names = append(names, p.Name)
	}
	return Config{}, fmt.Errorf("bad argument '%s': not one of host, %s", name, strings.Join(names, ", "))
}
