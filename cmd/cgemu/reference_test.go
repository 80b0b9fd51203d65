package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/cachesim"
	"github.com/cgemu/cgemu/internal/usage"
)

// TestReference holds the reference to the options that are parsed, both ways.
func TestReference(t *testing.T) {
	for _, tt := range []struct {
		c *usage.Command
		f *pflag.FlagSet
	}{{runCommand(), new(options).flags()}, {checkReference(), new(checkCommand).flags("check")}, {compareCommand(), compareFlags()}} {
		parsed := map[string]bool{"--help": true, "-h": true}
		tt.f.VisitAll(func(f *pflag.Flag) {
			if f.Hidden {
				return // Valgrind's
			}
			parsed["--"+f.Name] = true
			if f.Shorthand != "" {
				parsed["-"+f.Shorthand] = true
			}
			o := tt.c.Option("--" + f.Name)
			require.NotNil(t, o, "%s --%s is missing", tt.c.Name, f.Name)
			flag := f.Value.Type() == "bool"
			require.Equal(t, flag, o.Arg == "" && o.Values == nil, "%s --%s: does it have a value?", tt.c.Name, f.Name)
			require.Equal(t, f.NoOptDefVal != "" && !flag, o.Optional, "%s --%s: may the value be left out?", tt.c.Name, f.Name)
		})
		for _, o := range tt.c.Options() {
			for _, name := range o.Names {
				require.Contains(t, parsed, name, "%s has no such option", tt.c.Name)
			}
		}
	}
}

// compareFlags are the options that compare alone has.
func compareFlags() *pflag.FlagSet {
	f := pflag.NewFlagSet("compare", pflag.ContinueOnError)
	new(comparison).register(f)
	return f
}

// TestReferenceValues has every value of the reference be accepted, and no other.
func TestReferenceValues(t *testing.T) {
	for _, o := range runCommand().Options() {
		if o.Values == nil {
			continue
		}
		for _, v := range append(slices.Clone(o.Values), "no-such-value") {
			args := []string{o.Names[0] + "=" + v, "prog"}
			if o.Names[0] == "--cycles" {
				args = append([]string{"--cache-sim=yes"}, args...)
			}
			parsed, _, err := parseOptions(args)
			if err == nil {
				_, err = parsed.config([]string{"prog"})
			}
			if v == "no-such-value" {
				require.Error(t, err, args)
				continue
			}
			if _, missing := cgemu.FindEngine(v); o.Names[0] == "--engine" && missing != nil {
				require.ErrorContains(t, err, missing.Error())
				continue
			}
			if _, _, unknown := cachesim.Host(); o.Names[0] == "--cache" && v == "host" && unknown != nil {
				require.ErrorContains(t, err, unknown.Error()) // some virtual machines do not describe theirs
				continue
			}
			require.NoError(t, err, args)
		}
	}
	for _, e := range cgemu.Engines() {
		require.Contains(t, runCommand().Option("--engine").Values, e.Name)
	}
}

// TestOnce has no option be listed twice.
func TestOnce(t *testing.T) {
	for _, c := range references() {
		seen := map[string]bool{}
		for _, o := range c.Options() {
			for _, name := range o.Names {
				require.False(t, seen[name], "%s %s", c.Name, name)
				seen[name] = true
			}
		}
	}
}

// TestCommands has the help list all commands, and the list name no others.
func TestCommands(t *testing.T) {
	var names []string
	for _, c := range references() {
		names = append(names, commandName(c))
		require.True(t, slices.ContainsFunc(runCommand().Sections[0].Rows, func(r usage.Row) bool { return r.Name == commandName(c) }), c.Name)
	}
	require.ElementsMatch(t, commands, names)
	require.Len(t, runCommand().Sections[0].Rows, len(commands))
	for _, c := range references() {
		for _, page := range c.SeeAlso {
			if name, ok := strings.CutPrefix(page, "cgemu-"); ok {
				require.Contains(t, commands, strings.TrimSuffix(name, "(1)"), "%s: see also %s", c.Name, page)
			}
		}
	}
}

// TestEverywhere has every option of every command be in the help, in the manual and among what shells complete.
func TestEverywhere(t *testing.T) {
	for _, c := range references() {
		help, man := c.Help(c.Name), c.Man("1", "2026-01-01")
		for _, line := range strings.Split(help, "\n") {
			if len(line) > 80 && !strings.HasPrefix(line, "  cgemu ") {
				t.Errorf("%s: a line of %d characters: %s", c.Name, len(line), line)
			}
		}
		for _, o := range c.Options() {
			require.Contains(t, help, "  "+o.Title())
			for _, name := range o.Names {
				require.Contains(t, man, `\fB`+strings.ReplaceAll(name, "-", `\-`)+`\fP`)
				require.True(t, slices.ContainsFunc(completed([]string{commandName(c), name}).Words, func(r usage.Row) bool {
					return strings.TrimSuffix(r.Name, "=") == name
				}), "%s %s", c.Name, name)
			}
			if o.Values != nil && strings.HasPrefix(o.Names[0], "--") {
				var values []string
				for _, w := range completed([]string{commandName(c), o.Names[0] + "="}).Words {
					values = append(values, strings.TrimPrefix(w.Name, o.Names[0]+"="))
				}
				require.Equal(t, o.Values, values)
			}
		}
	}
}

// TestWallOptions has the options with which a run is walled be those that the manual names, at --view and --debuginfod.
func TestWallOptions(t *testing.T) {
	walling := map[string]string{"--root": "=.", "--image": "=x.tar", "--replay": ""} // with values; --replay reads a recording
	for _, o := range runCommand().Options() {
		name := o.Names[0]
		value, ok := walling[name]
		if !ok && (o.Arg != "" && !o.Optional || o.Values != nil) {
			continue
		}
		parsed, _, err := parseOptions([]string{name + value, "prog"})
		if name != "--replay" && (err != nil || !parsed.walled()) || name == "--verify" { // which takes an overlay as part of what it does
			require.False(t, ok, name)
			continue
		}
		require.Contains(t, wallOptions, name)
		walling[name] = value
	}
	require.Equal(t, len(walling), strings.Count(wallOptions, "--"))
	manual, err := os.ReadFile("../../docs/manual.md")
	require.NoError(t, err)
	quoted := regexp.MustCompile(`--[a-z-]+`).ReplaceAllString(wallOptions, "`$0`")
	require.Equal(t, 2, strings.Count(string(manual), "Not with "+quoted), "the manual does not say: not with %s", quoted)
}

// TestManual has the manual name every option.
func TestManual(t *testing.T) {
	manual, err := os.ReadFile("../../docs/manual.md")
	require.NoError(t, err)
	for _, c := range references() {
		for _, o := range c.Options() {
			for _, name := range o.Names {
				assert.True(t, regexp.MustCompile("[`, ]"+regexp.QuoteMeta(name)+`\b`).Match(manual), "the manual does not name %s %s", c.Name, name)
			}
		}
	}
}

// TestCompleted has the words at a cursor be what they may be there.
func TestCompleted(t *testing.T) {
	for line, want := range map[string]string{
		"":                        "program 0: run annotate callers diff merge export view check compare go doctor completion help debug version",
		"an":                      "program 0: annotate",
		"--cp":                    "nothing 0: --cpu= --cpus=",
		"--cpu=v":                 "nothing 0: --cpu=v1 --cpu=v2 --cpu=v3 --cpu=v4 --cpu=valgrind",
		"--cpu v":                 "nothing 0: v1 v2 v3 v4 valgrind",
		"--root ":                 "directories 0:",
		"--root=":                 "directories 0:",
		"--log-file ":             "files 0:",
		"--image ":                "files 0:",
		"--events=rep,ta":         "nothing 0: --events=rep,taken",
		"--events=taken,ta":       "nothing 0:",
		"--demangle ":             "program 0:", // its value follows an equals sign
		"-e A=B ":                 "program 0:",
		"-q ./pr":                 "program 0:",
		"-q -- -":                 "program 0:",
		"ls -":                    "arguments 0:",
		"-q --cpu v1 ls -":        "arguments 3:",
		"run -q -- ls -l ":        "arguments 3:",
		"annotate --html":         "nothing 1: --html",
		"annotate --html=":        "files 1:",
		"annotate p --color=a":    "nothing 1: --color=auto --color=always",
		"annotate p --show-p":     "nothing 1: --show-percs --show-percs=yes --show-percs=no",
		"annotate --format ":      "nothing 1: text json csv markdown html",
		"diff ":                   "files 1:",
		"merge -o ":               "files 1:",
		"check --report ":         "nothing 1: text= json= markdown= junit= github= codequality= benchfmt=",
		"check --li":              "nothing 1: --list",
		"completion ":             "nothing 1: bash zsh fish",
		"completion fi":           "nothing 1: fish",
		"help --man m":            "nothing 0: merge",
		"go --branch":             "nothing 1: --branch-sim=",
		"go te":                   "files 1: test",
		"go test -b":              "files 1:",
		"compare ./a -":           "files 1:",
		"compare --roo":           "nothing 1: --root=",
		"help d":                  "nothing 0: diff doctor debug",
		"version -":               "nothing 1: --verbose --help",
		"--no-such-option=x prog": "program 0:",
	} {
		got := completed(strings.Split(line, " "))
		head, _, _ := strings.Cut(got.String(), "\n")
		head += ":"
		for _, w := range got.Words {
			head += " " + w.Name
		}
		require.Equal(t, want, head, "cgemu %s", line)
	}
}
