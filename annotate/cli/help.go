package cli

import (
	"slices"
	"strings"
	"sync"

	"github.com/cgemu/cgemu/export"
	"github.com/cgemu/cgemu/internal/usage"
)

// Commands returns what users have to know of the commands: annotate, callers, diff, merge, export and view.
func Commands() []*usage.Command {
	return []*usage.Command{annotateCommand(), callersCommand(), diffCommand(), mergeCommand(), exportCommand(), viewCommand()}
}

var annotateCommand = sync.OnceValue(func() *usage.Command {
	return &usage.Command{
		Name:     "cgemu annotate",
		Title:    "shows where the events of profiles took place",
		Synopsis: []string{"[options] PROFILE..."},
		About: []string{
			"Shows the functions and the source lines at which the events of one or more profiles took place: as text, as a page for browsers, " +
				"or as data for programs. It is Valgrind's cg_annotate, and more.",
		},
		Examples: []usage.Row{
			{Name: "cgemu annotate cachegrind.out.1000", Text: "the busiest functions, and their source"},
			{Name: "cgemu annotate --html=page.html cachegrind.out.1000", Text: "a page with sorting, search and links"},
			{Name: "cgemu annotate --threshold=1 --context=2 cachegrind.out.1000", Text: "less: functions from 1 % on"},
			{Name: "cgemu annotate --inclusive --tree=both callgrind.out.1000", Text: "who calls whom, and what that costs"},
			{Name: "cgemu annotate --format=json cachegrind.out.1000 | jq .total", Text: "for programs"},
		},
		Groups: []usage.Group{
			{Title: "Options", Options: slices.Concat(usageHelp, []usage.Option{
				{Names: []string{"--diff"}, Text: "show the second of two profiles minus the first"},
			}, usageMod, []usage.Option{
				{Names: []string{"--show"}, Arg: "A,B,C", Text: "show these events only (default: all)"},
				{Names: []string{"--sort"}, Arg: "A,B,C", Text: "sort by these events (default: in the profile's order)"},
				{
					Names: []string{"--threshold"}, Arg: "N",
					Text: "leave out pairs of file and function with less than N% of the first sort event, 0 to 20 (default: 0.1)",
				},
				{Names: []string{"--show-percs", "--no-show-percs"}, Text: "show shares (default: yes)"},
				{Names: []string{"--annotate", "--no-annotate"}, Text: "show source files (default: yes)"},
				{Names: []string{"--context"}, Arg: "N", Text: "show N lines around lines with counts (default: 8)"},
				{Names: []string{"--show-percs=yes", "--show-percs=no", "--auto=yes", "--auto=no"}, Text: "older names of these"},
			})},
			{Title: "Of cgemu's own; not to be abbreviated", Options: []usage.Option{
				{
					Names: []string{"--format"}, Arg: "FORMAT", Values: formatNames,
					Text: "text, json, csv, markdown or html (default: text). With --diff all but text compare: old, new and factor",
				},
				usageHTML, usageEditor,
				{
					Names: []string{"--asm"},
					Text:  "show the instructions of functions, from PROFILE.insns, that cgemu --dump-instr=yes writes; with --html beside the source",
				},
				{Names: []string{"--syntax"}, Values: syntaxNames, Text: "of --asm (default: intel)"},
				usageDerived,
				{Names: []string{"--print-schema"}, Text: "print the JSON Schema of --format=json and exit"},
			}},
			usageCalls, usageSelect, usageSources, usageCompare, usageTerminal,
		},
		Operands: usage.Files,
		Sections: []usage.Section{usageStatuses, usageEnvironment},
		SeeAlso:  []string{"cgemu(1)", "cgemu-callers(1)", "cgemu-diff(1)", "cgemu-export(1)", "cgemu-merge(1)"},
	}
})

var callersCommand = sync.OnceValue(func() *usage.Command {
	return &usage.Command{
		Name:     "cgemu callers",
		Title:    "shows who calls a function, and whom it calls",
		Synopsis: []string{"[options] FUNCTION PROFILE...", "--diff [options] FUNCTION OLD NEW"},
		About: []string{
			"Shows of a function who calls it, from which lines, how often and at what inclusive cost, and whom it calls. The profiles have " +
				"call graphs, as cgemu --call-graph=yes writes them, and Callgrind. FUNCTION may have * and ?; without them a part of a name does.",
		},
		Examples: []usage.Row{
			{Name: "cgemu callers malloc callgrind.out.1000", Text: "who calls malloc, and what does that cost?"},
			{Name: "cgemu callers '__str*' callgrind.out.1000", Text: "the same of several functions"},
			{Name: "cgemu callers --diff malloc old.out new.out", Text: "calls and costs of two runs"},
			{Name: "cgemu callers --format=json malloc callgrind.out.1000", Text: "for programs"},
		},
		Groups: []usage.Group{
			{Title: "Options", Options: slices.Concat(usageHelp, usageMod, []usage.Option{
				{Names: []string{"--diff"}, Text: "show what differs between two profiles: old, new, delta and factor"},
				{Names: []string{"--format"}, Arg: "FORMAT", Values: formatNames[:2], Text: "text or json (default: text)"},
				{Names: []string{"--show"}, Arg: "A,B,C", Text: "show these events only (default: all; in text with --diff the first of --sort)"},
				{Names: []string{"--sort"}, Arg: "A,B,C", Text: "sort by these events (default: in the profile's order)"},
				{Names: []string{"--only"}, Arg: "GLOB", Text: "only functions in files of that name; repeatable"},
				{Names: []string{"--strip-hash"}, Text: "function names without hashes and suffixes of clones"},
				{Names: []string{"--top"}, Arg: "N", Text: "only the first N functions"},
			})},
			usageTerminal,
		},
		Operands: usage.Files,
		Sections: []usage.Section{usageStatuses, usageEnvironment},
		SeeAlso:  []string{"cgemu(1)", "cgemu-annotate(1)", "cgemu-diff(1)", "cgemu-export(1)"},
	}
})

var diffCommand = sync.OnceValue(func() *usage.Command {
	return &usage.Command{
		Name:     "cgemu diff",
		Title:    "shows what differs between two profiles",
		Synopsis: []string{"[options] OLD NEW"},
		About: []string{
			"Compares two profiles, function by function and line by line. On a terminal it shows a table of old and new counts. Elsewhere it " +
				"writes, as Valgrind's cg_diff does, the second profile minus the first as a profile, by function, unless there is --table " +
				"or a --format.",
		},
		Examples: []usage.Row{
			{Name: "cgemu diff old.out new.out", Text: "what differs, function by function"},
			{Name: "cgemu diff --html=page.html old.out new.out", Text: "the same as a page, with both sources"},
			{Name: "cgemu diff --format=markdown old.out new.out", Text: "for a pull request"},
			{Name: "cgemu diff old.out new.out >difference.out", Text: "a profile, for cgemu annotate"},
		},
		Groups: []usage.Group{
			{Title: "Options", Options: slices.Concat(usageHelp, usageMod)},
			{Title: "Of cgemu's own; all but --strip-hash show a table or need a --format", Options: []usage.Option{
				{Names: []string{"--table"}, Text: "show what differs: old, new, delta and factor (default: on a terminal)"},
				{
					Names: []string{"--format"}, Arg: "FORMAT", Values: formatNames,
					Text: "text (with --table, else a profile), json, csv, markdown or html",
				},
				usageHTML, usageEditor,
				{Names: []string{"--show"}, Arg: "A,B,C", Text: "show these events (default: text and markdown the first of --sort, others all)"},
				{Names: []string{"--sort"}, Arg: "A,B,C", Text: "sort by these events (default: in the profiles' order)"},
				usageDerived,
			}},
			usageCalls, usageSelect, usageSources, usageCompare, usageTerminal,
		},
		Operands: usage.Files,
		Sections: []usage.Section{usageStatuses, usageEnvironment},
		SeeAlso:  []string{"cgemu(1)", "cgemu-annotate(1)", "cgemu-callers(1)", "cgemu-check(1)"},
	}
})

var mergeCommand = sync.OnceValue(func() *usage.Command {
	return &usage.Command{
		Name:     "cgemu merge",
		Title:    "adds profiles up",
		Synopsis: []string{"[options] PROFILE..."},
		About: []string{
			"Writes the sum of profiles as a profile: of the processes of one run, or of several runs. It is Valgrind's cg_merge, and more.",
		},
		Examples: []usage.Row{
			{Name: "cgemu merge -o all.out cachegrind.out.????", Text: "one profile of all processes of a run"},
		},
		Groups: []usage.Group{
			{Title: "Options", Options: append(slices.Clone(usageHelp), usage.Option{
				Names: []string{"-o"}, Arg: "FILE", Text: "write to FILE",
			})},
			{Title: "Of cgemu's own", Options: []usage.Option{
				{Names: []string{"--format"}, Arg: "FORMAT", Values: formatNames, Text: "text (a profile), json, csv, markdown or html"},
				usageHTML, usageEditor, usageDerived,
			}},
		},
		Operands: usage.Files,
		Sections: []usage.Section{usageStatuses},
		SeeAlso:  []string{"cgemu(1)", "cgemu-annotate(1)", "cgemu-diff(1)"},
	}
})

var exportCommand = sync.OnceValue(func() *usage.Command {
	return &usage.Command{
		Name:     "cgemu export",
		Title:    "writes profiles for other tools",
		Synopsis: []string{"--to=FORMAT [options] PROFILE..."},
		About: []string{
			"Writes the sum of profiles in the format of another tool: callgrind for KCachegrind and callgrind_annotate; pprof for go tool pprof; folded for " +
				"flamegraph.pl; speedscope for speedscope.app; firefox for profiler.firefox.com; perfetto for ui.perfetto.dev; flamegraph is an SVG to be opened in a browser; " +
				"lcov for genhtml. Profiles with a call graph (cgemu --call-graph=yes) give stacks.",
		},
		Examples: []usage.Row{
			{Name: "cgemu export --to=flamegraph -o flame.svg callgrind.out.1000", Text: "a picture to zoom and search"},
			{Name: "cgemu export --to=pprof -o prof.pb.gz callgrind.out.1000", Text: "for go tool pprof -http=: prof.pb.gz"},
			{Name: "cgemu export --to=folded callgrind.out.1000 | grep strcmp", Text: "which stacks lead there?"},
		},
		Groups: []usage.Group{
			{Title: "Options", Options: slices.Concat(usageHelp, usageMod, []usage.Option{
				{Names: []string{"--to"}, Arg: "FORMAT", Values: export.Formats, Text: "one of " + strings.Join(export.Formats, ", ")},
				{Names: []string{"--events"}, Arg: "A,B,C", Text: "these events only (default: all; folded, flamegraph and lcov have one, the first)"},
				{Names: []string{"--lines"}, Text: "source lines are frames, too, above their functions; they always are without a call graph, and pprof has them anyway"},
				{Names: []string{"--strip-hash"}, Text: "function names without hashes and suffixes of clones"},
				{Names: []string{"-o"}, Arg: "FILE", Text: "write to FILE"},
			})},
		},
		Operands: usage.Files,
		Sections: []usage.Section{usageStatuses},
		SeeAlso:  []string{"cgemu(1)", "cgemu-annotate(1)", "cgemu-callers(1)"},
	}
})

// What the commands share.
var (
	usageHelp = []usage.Option{
		{Names: []string{"-h", "--help"}, Text: "show this help message and exit"},
		{Names: []string{"--version"}, Text: "show the version and exit"},
	}
	usageMod = []usage.Option{
		{Names: []string{"--mod-filename"}, Arg: "REGEX", Text: "change file names, e.g. 's/prog[0-9]/progN/'"},
		{Names: []string{"--mod-funcname"}, Arg: "REGEX", Text: "change function names"},
	}
	usageHTML   = usage.Option{Names: []string{"--html"}, Arg: "FILE", Optional: true, Text: "the same as --format=html; into a file"}
	usageEditor = usage.Option{
		Names: []string{"--editor"}, Arg: "NAME", Text: "of --html: lines open in vscode, vscodium or idea; or a URL with {file} and {line}",
	}
	usageDerived = usage.Option{
		Names: []string{"--derived"}, Arg: "LIST", Values: derivedNames, List: true,
		Text: "further columns: rates (of misses), cycles (estimated), parent (shares of the function or file), and EVENT/EVENT",
	}
	usageCalls = usage.Group{Title: "Call graphs (of profiles by --call-graph=yes, or Callgrind's)", Options: []usage.Option{
		{Names: []string{"--inclusive", "--inclusive=yes", "--inclusive=no"}, Text: "show functions by their inclusive cost: with what they call (no)"},
		{Names: []string{"--tree"}, Values: treeNames, Text: "show with each function its callers, those that it calls, or both (none)"},
	}}
	usageSelect = usage.Group{Title: "What is shown", Options: []usage.Option{
		{Names: []string{"--only"}, Arg: "GLOB", Text: "only files of that name; repeatable"},
		{Names: []string{"--focus"}, Arg: "GLOB", Text: "only functions of that name; repeatable"},
		{Names: []string{"--strip-hash"}, Text: "function names without hashes and suffixes of clones"},
		{Names: []string{"--top"}, Arg: "N", Text: "only the first N functions (of a table: lines, too)"},
	}}
	usageSources = usage.Group{Title: "Where sources are", Options: []usage.Option{
		{Names: []string{"--include"}, Arg: "DIR", Text: "look for source files in DIR, too; repeatable"},
		{Names: []string{"--image"}, Arg: "FILE[:TAG]", Text: "look for source files in a container image, too, before the host's; repeatable"},
		{Names: []string{"--source-map"}, Arg: "FROM=TO", Text: "look for source files under FROM in TO; repeatable"},
	}}
	usageCompare = usage.Group{Title: "Comparisons", Options: []usage.Option{
		{
			Names: []string{"--match"}, Values: matchNames,
			Text: "match functions that were renamed, moved or cloned, too (auto, the default), or only those of the same name",
		},
		{
			Names: []string{"--min-delta"}, Arg: "N[%]",
			Text: "only functions and lines that differ by N, or N% of the old total (default: all that differ)",
		},
		{Names: []string{"--include-old", "--include-new"}, Arg: "DIR", Text: "--include for one side"},
		{Names: []string{"--image-old", "--image-new"}, Arg: "FILE[:TAG]", Text: "--image for one side"},
		{Names: []string{"--source-map-old", "--source-map-new"}, Arg: "FROM=TO", Text: "--source-map for one side"},
	}}
	usageTerminal = usage.Group{Title: "On a terminal", Options: []usage.Option{
		{Names: []string{"--color", "--colour"}, Values: colorNames, Text: "colours (default: on a terminal, unless NO_COLOR is set)"},
		{Names: []string{"--no-pager"}, Text: "no pager, even on a terminal (CGEMU_PAGER, PAGER)"},
	}}
	usageStatuses = usage.Section{Title: "Exit status", Rows: []usage.Row{
		{Name: "0", Text: "all is well"},
		{Name: "1", Text: "something is wrong with a file"},
		{Name: "2", Text: "something is wrong with the command line"},
	}}
	usageEnvironment = usage.Section{Title: "Environment", Rows: []usage.Row{
		{Name: "CGEMU_PAGER, PAGER", Text: "the pager, less if neither is set; none if it is empty or cat"},
		{Name: "NO_COLOR", Text: "no colours, if it is not empty"},
	}}
)
