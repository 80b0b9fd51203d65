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

// further are features of CPUs with AVX-512 that not all of them have. What the host lacks of them is executed in Go.
var further = map[x86.Feature]string{
	x86.FeatAVX512IFMA: "avx512ifma", x86.FeatAVX512VBMI: "avx512vbmi", x86.FeatAVX512VBMI2: "avx512_vbmi2", x86.FeatAVX512VNNI: "avx512_vnni",
	x86.FeatAVX512BITALG: "avx512_bitalg", x86.FeatAVX512VPOPCNTDQ: "avx512_vpopcntdq",
	x86.FeatGFNI: "gfni", x86.FeatVAES: "vaes", x86.FeatVPCLMUL: "vpclmulqdq",
}

// lacking returns which further features the host lacks, all of them if it has no AVX-512.
func lacking(avx512 bool) (lacks [256]bool) {
	for feature, name := range further {
		lacks[feature] = !avx512 || !hostFlags()[name]
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
