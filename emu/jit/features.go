//go:build linux && amd64

package jit

import (
	"os"
	"strings"
	"sync"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

// hostMay are features a model may have (emu.Model.With) and a host of x86-64-v3 lack. Their
// instructions are refused by name there.
var hostMay = map[x86.Feature]string{x86.FeatADX: "adx", x86.FeatSHA: "sha_ni"}

// features returns which instructions a guest on m may use.
func features(m *emu.Model) *[256]bool {
	f := guest.Features(m)
	for feature, name := range hostMay {
		if host := hostFlags(); host != nil && !host[name] {
			f[feature] = false
		}
	}
	return f
}

// lacking returns which of guest.Further the host lacks, all of them if it has no AVX-512. Go executes their
// instructions.
func lacking(avx512 bool) (lacks [256]bool) {
	for _, f := range guest.Further {
		lacks[f] = !avx512 || !hostFlags()[guest.FeatureName(f)]
	}
	return lacks
}

// avx512Needs are the features of a host that copies the instructions of AVX-512; XSAVEC saves their registers.
var avx512Needs = []string{"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "xsavec"}

// hostHasAVX512 reports whether the host has them.
func hostHasAVX512() bool {
	host := hostFlags()
	for _, name := range avx512Needs {
		if !host[name] {
			return false
		}
	}
	return true
}

// hostFlags returns the features of the host's CPU by Linux's names, nil if it does not tell.
var hostFlags = sync.OnceValue(func() map[string]bool {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "flags" {
			flags := map[string]bool{}
			for _, name := range strings.Fields(value) {
				flags[name] = true
			}
			return flags
		}
	}
	return nil
})
