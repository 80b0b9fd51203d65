package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"github.com/cgemu/cgemu/cachesim"
	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/syscalls"
)

// findCaches makes the caches of --cache and, replacing them one by one, of --I1, --D1 and --LL.
func (o *options) findCaches() error {
	all, warning, err := cachesNamed(o.cache)
	if err != nil {
		return fmt.Errorf("--cache=%s: %w", o.cache, err)
	}
	o.caches, o.cacheWarning = all, warning
	for _, c := range []struct {
		name, value string
		of          func(*cachesim.Config) *cachesim.Geometry
	}{
		{"I1", o.i1, func(c *cachesim.Config) *cachesim.Geometry { return &c.I1 }},
		{"D1", o.d1, func(c *cachesim.Config) *cachesim.Geometry { return &c.D1 }},
		{"LL", o.ll, func(c *cachesim.Config) *cachesim.Geometry { return &c.LL }},
	} {
		if c.value == "" {
			continue
		}
		warning := ""
		if strings.Contains(c.value, ",") {
			*c.of(&o.caches), err = cachesim.ParseGeometry(c.value)
		} else if all, warning, err = cachesNamed(c.value); err == nil {
			*c.of(&o.caches) = *c.of(&all)
		} else {
			err = fmt.Errorf("%w, and no size,assoc,line", err)
		}
		if err != nil {
			return fmt.Errorf("--%s=%s: %w", c.name, c.value, err)
		}
		if c.name == "LL" {
			o.cacheWarning = warning
		}
	}
	return o.caches.Check()
}

// withoutCaches are the options that choose caches although none are simulated, with commas between. Valgrind, too,
// takes them then, and says nothing.
func (o *options) withoutCaches(f *pflag.FlagSet) string {
	if bool(o.cacheSim) || o.compat == "valgrind" {
		return ""
	}
	var given []string
	for _, name := range []string{"cache", "I1", "D1", "LL", "L2"} {
		if f.Changed(name) {
			given = append(given, "--"+name)
		}
	}
	return strings.Join(given, ", ")
}

// showCaches prints the caches that are simulated, as Cachegrind does.
func (o *options) showCaches(w io.Writer) {
	prefix := fmt.Sprintf("==%d== ", syscalls.DefaultPID)
	fmt.Fprintf(w, "%sCache configuration used:\n", prefix)
	for _, c := range []struct {
		name string
		g    cachesim.Geometry
	}{{"I1", o.caches.I1}, {"D1", o.caches.D1}, {"LL", o.caches.LL}} {
		fmt.Fprintf(w, "%s  %s: %s B, %d-way, %d B lines\n", prefix, c.name, cgout.Group(uint64(c.g.Size)), c.g.Assoc, c.g.Line)
	}
}

// cachesNamed returns the caches of a preset, or the host's. The warning is about LL.
func cachesNamed(name string) (c cachesim.Config, warning string, err error) {
	if name == "host" {
		return cachesim.Host()
	}
	c, err = cachesim.PresetByName(name)
	return c, "", err
}
