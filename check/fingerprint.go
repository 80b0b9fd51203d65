package check

import (
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cgemu/cgemu"
)

// fingerprint says what the counts depend on. seen are the files by the names that results have, opened those of the
// host that were opened.
func (m *Manifest) fingerprint(b *Benchmark, cfg *cgemu.Config, res *cgemu.Result, names *sourceNames, seen *guestFiles, opened map[string]bool, out map[string]string) error {
	out["counting"] = cgemu.CountingRules
	out["cpu"] = res.CPU
	out["command"] = strings.Join(b.Run, " ")
	if len(cfg.Env) > 0 {
		out["env"] = strings.Join(cfg.Env, " ")
	}
	if cfg.Isolate == "" {
		out["isolate"] = "no"
	}
	if !cfg.TraceChildren {
		out["trace-children"] = "no"
	}
	for what, list := range map[string][]string{"toggle-collect": cfg.Regions.Toggle, "from": cfg.Regions.From, "to": cfg.Regions.To} {
		if len(list) > 0 {
			out[what] = strings.Join(list, " ")
		}
	}
	if cfg.Caches != nil {
		out["caches"] = strings.Join(cfg.Caches.Describe(), ", ")
	}
	if b.Image != "" {
		out["image"] = b.Image
	}
	if len(b.Volumes) > 0 {
		out["volumes"] = strings.Join(b.Volumes, " ")
	}
	program, err := seen.program(cfg)
	if err != nil {
		return err
	}
	own := program
	if at, ok := seen.host(program); ok {
		if own, err = filepath.EvalSymlinks(at); err != nil {
			return err
		}
		if c := compiler(own); c != "" {
			out["compiler"] = c
		}
	}
	files := map[string][]string{"program": {program}}
	for _, o := range res.Objects {
		info, err := seen.stat(o)
		switch {
		case o == own || o == program:
		case err != nil || !info.Mode().IsRegular(): // the run has removed it
		case slices.Contains(res.Programs, o):
			name := o
			if at, ok := seen.host(o); ok {
				name = names.name(at)
			}
			if !ours(name) {
				name = filepath.Base(o) // it may have been made in a directory that has another name each time
			}
			files[programPrefix+name] = append(files[programPrefix+name], o)
		default:
			files["libraries"] = append(files["libraries"], o)
		}
	}
	for what, list := range files {
		if out[what], err = digest(list, seen.open); err != nil {
			return err
		}
	}
	host := map[string]string{}
	if b.Stdin != "" {
		host["stdin"] = filepath.Join(m.Dir, b.Stdin)
	}
	for _, f := range inputs(cfg, seen, opened) {
		if name := names.name(f); ours(name) {
			host[inputPrefix+name] = f
		}
	}
	for what, f := range host {
		if out[what], err = digest([]string{f}, openHost); err != nil {
			return err
		}
	}
	return nil
}

// What a fingerprint calls a program that another one has started, and a file named as an argument, begins so.
const (
	programPrefix = "program "
	inputPrefix   = "input "
)

// inputs are the files that arguments name and that were read. Where the run may change files they are not told from
// what it writes.
func inputs(cfg *cgemu.Config, seen *guestFiles, opened map[string]bool) (files []string) {
	if cfg.Isolate == "" && !cfg.Overlay && !cfg.ReadOnly {
		return nil
	}
	for _, arg := range cfg.Args[1:] {
		if _, value, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(arg, "-") {
			arg = value
		}
		if !filepath.IsAbs(arg) {
			arg = filepath.Join(cfg.Dir, arg)
		} else if at, ok := seen.host(arg); ok {
			arg = at
		}
		if real, err := filepath.EvalSymlinks(arg); err == nil && opened[real] {
			files = append(files, real)
		}
	}
	return files
}

// compiler names what made a program, as its section .comment does, or Go's build information: "" if neither is there.
func compiler(program string) string {
	if info, err := buildinfo.ReadFile(program); err == nil {
		return info.GoVersion
	}
	f, err := elf.Open(program)
	if err != nil {
		return ""
	}
	defer f.Close()
	s := f.Section(".comment")
	if s == nil || s.Size > maxComment {
		return ""
	}
	text, err := s.Data()
	if err != nil {
		return ""
	}
	names := strings.FieldsFunc(string(text), func(r rune) bool { return r == 0 })
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

// maxComment is how much of a program's .comment is read.
const maxComment = 4 << 10

// digest is that of files, one after the other.
func digest(names []string, open func(string) (io.ReadCloser, error)) (string, error) {
	h := sha256.New()
	for _, name := range names {
		sum, err := sumOf(name, open)
		if err != nil {
			return "", err
		}
		h.Write(sum)
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}

func openHost(name string) (io.ReadCloser, error) { return os.Open(name) }

// sumOf is the SHA-256 of a file.
func sumOf(name string, open func(string) (io.ReadCloser, error)) ([]byte, error) {
	f, err := open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return nil, err
	}
	return h.Sum(nil), nil
}
