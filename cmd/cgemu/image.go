package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"github.com/cgemu/cgemu"
)

// This file has what --image and --bind ask for.

// openImage opens the image, if there is to be one and it is not open yet.
func (o *options) openImage() error {
	if o.image == "" || o.opened != nil {
		return nil
	}
	cache := ""
	if !o.noCache {
		cache = cgemu.DefaultImageCache()
	}
	var err error
	if o.opened, err = cgemu.OpenImage(o.image, cache); err != nil {
		return fmt.Errorf("--image: %w", err)
	}
	return nil
}

// closeImage closes it.
func (o *options) closeImage() {
	if o.opened != nil {
		o.opened.Close()
	}
}

// imageCommand is the program that the image names, with its arguments.
func (o *options) imageCommand() ([]string, error) {
	if err := o.openImage(); err != nil {
		return nil, err
	}
	c := o.opened.Config()
	words := append(append([]string{}, c.Entrypoint...), c.Cmd...)
	if len(words) == 0 {
		return nil, fmt.Errorf("--image: %s names no program to run: give one behind it", o.image)
	}
	return words, nil
}

// imageEnv are the variables that the image sets.
func (o *options) imageEnv() (env []string) {
	if o.opened == nil {
		return nil
	}
	for _, e := range o.opened.Config().Env {
		if name, _, ok := strings.Cut(e, "="); ok && name != "" {
			env = append(env, e)
		}
	}
	return env
}

// checkImage refuses options that do not go with an image.
func (o *options) checkImage(f *pflag.FlagSet) error {
	if o.image == "" {
		return nil
	}
	for _, c := range []struct {
		not        bool
		other, why string
	}{
		{o.root != "", "root", "either is the guest's /"},
		{o.sysroot != "", "sysroot", "the image has all files"},
		{o.compat != "", "compat=valgrind", "it shows the program the host's user"},
		{f.Changed("overlay") && !o.overlay, "overlay=false", "an image is never changed"},
	} {
		if c.not {
			return fmt.Errorf("--image and --%s: not both: %s", c.other, c.why)
		}
	}
	return nil
}

// bindValue is a value of --bind: a directory, where it is seen, and whether it is not to be changed. What is behind a
// directory alone is the latter, if it can be.
var bindValue = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(.+?)(?::(.+?))??(?::(ro|rw))?$`)
})

// bound is what --bind asks for: without a path, the directory is seen where the host has it.
func (o *options) bound() (binds []cgemu.Bind) {
	for _, b := range o.binds {
		drive := filepath.VolumeName(b)
		m := bindValue().FindStringSubmatch(b[len(drive):])
		x := cgemu.Bind{Host: drive + m[1], Guest: m[2], ReadOnly: m[3] == "ro"}
		if x.Guest == "" {
			x.Guest, _ = filepath.Abs(x.Host)
		}
		binds = append(binds, x)
	}
	return binds
}

// volume is a value of docker's option -v, behind the letter of a drive.
var volume = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[^:]+:/[^:]*(:(ro|rw))?$`)
})

// isVolume reports whether an argument behind -v is its value. drive is that of a path.
func isVolume(arg string, drive func(string) string) bool {
	return volume().MatchString(arg[len(drive(arg)):])
}

// looseVolume is the program if it stands behind -v and is like its value, but for the slash in front of PATH.
func looseVolume(args, rest []string) string {
	before := len(args) - len(rest) - 1
	if before < 0 || len(rest) == 0 || args[before] != "-v" {
		return ""
	}
	dir, at, ok := strings.Cut(rest[0][len(filepath.VolumeName(rest[0])):], ":")
	if !ok || dir == "" || at == "" {
		return ""
	}
	return rest[0]
}

// volumes makes docker's option -v, which has a value, what it is called here: without a value -v is another option,
// Valgrind's. Only the options in front of the program are looked at.
func volumes(f *pflag.FlagSet, args []string) []string {
	out := args[:0:0]
	for i := 0; i < len(args); i++ {
		a := args[i]
		if len(a) < 2 || a[0] != '-' || a == "--" {
			return append(out, args[i:]...)
		}
		if a == "-v" && i+1 < len(args) && isVolume(args[i+1], filepath.VolumeName) {
			out = append(out, "--bind="+args[i+1])
			i++
			continue
		}
		out = append(out, a)
		if takesNext(f, a) && i+1 < len(args) {
			i++
			out = append(out, args[i])
		}
	}
	return out
}

// takesNext reports whether the value of an option is the next argument.
func takesNext(f *pflag.FlagSet, arg string) bool {
	var x *pflag.Flag
	if name, long := strings.CutPrefix(arg, "--"); long {
		x = f.Lookup(name)
	} else if len(arg) == 2 {
		x = f.ShorthandLookup(arg[1:])
	}
	return x != nil && x.NoOptDefVal == ""
}
