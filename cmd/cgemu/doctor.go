package main

import (
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"sync"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/internal/usage"
	"github.com/cgemu/cgemu/internal/version"
)

var doctorCommand = sync.OnceValue(func() *usage.Command {
	return &usage.Command{
		Name:     "cgemu doctor",
		Title:    "says what works on this machine, and what helps",
		Synopsis: []string{""},
		About: []string{
			"Looks at all that cgemu needs of a machine, or can make use of, and counts a small program of its own to see whether that works. Each line " +
				"begins with ok, with note for what is missing and can be done without, or with problem; below the last two stands what helps. It " +
				"writes no file.",
		},
		Groups: []usage.Group{{Title: "Options", Options: []usage.Option{
			flagOption("--selftest", "besides, run small programs that are part of cgemu, some 230 times, and compare profiles and outputs with what they are on all hosts: "+
				"about a minute where the interpreter executes them"),
			flagOption("-h, --help", "print this"),
		}}},
		Operands: usage.Nothing,
		Sections: []usage.Section{{Title: "Exit status", Rows: []usage.Row{
			{Name: "0", Text: "programs can be run and counted here"},
			{Name: "1", Text: "there is a problem"},
			{Name: "125", Text: "the command line is wrong"},
		}}},
	}
})

// A finding is what doctor says of one thing.
type finding struct {
	state       string // "ok", "note" or "problem"
	what, found string
	cure        string // what helps; "" if all is well
}

func well(what, format string, args ...any) finding {
	return finding{"ok", what, fmt.Sprintf(format, args...), ""}
}

// noteOf is a finding about something that can be done without.
func noteOf(what, found, cure string) finding { return finding{"note", what, found, cure} }

// problemOf is one about something that keeps programs from being run.
func problemOf(what, found, cure string) finding { return finding{"problem", what, found, cure} }

// runDoctor is `cgemu doctor`.
func runDoctor(args []string) int {
	selftest := len(args) > 0 && args[0] == "--selftest"
	if selftest {
		args = args[1:]
	}
	if err := noOperands("doctor", args); err != nil {
		return fail(exitFailed, err)
	}
	text, healthy := diagnosis(examine())
	if status := write(version.Line() + "\n" + text); status != 0 {
		return status
	}
	if !healthy {
		return 1
	}
	if selftest {
		return selftestStatus()
	}
	return 0
}

// selftestStatus runs the self-test, and returns the exit status.
func selftestStatus() int {
	var b strings.Builder
	err := runSelftest(untilSignal(), &b)
	if status := write(b.String()); status != 0 {
		return status
	}
	if err != nil {
		return fail(1, fmt.Errorf("selftest: %w", err))
	}
	return 0
}

// examine looks at everything.
func examine() []finding {
	list := examineHost()
	list = append(list, examineEngines()...)
	list = append(list, examineRuns()...)
	return append(list, examineProfiles(), examineValgrind())
}

// diagnosis writes findings, and reports whether there is no problem among them.
func diagnosis(list []finding) (text string, healthy bool) {
	var b strings.Builder
	problems := 0
	for _, f := range list {
		fmt.Fprintf(&b, "%-8s %s: %s\n", f.state, f.what, f.found)
		if f.cure != "" {
			fmt.Fprintf(&b, "%-8s   -> %s\n", "", f.cure)
		}
		if f.state == "problem" {
			problems++
		}
	}
	if problems == 0 {
		b.WriteString("Programs can be run and counted here.\n")
	} else {
		b.WriteString("Programs cannot be counted here as they should be: see what is marked as a problem.\n")
	}
	return b.String(), problems == 0
}

// elsewhere is what helps where no engine runs.
const elsewhere = "run programs on Linux, macOS, FreeBSD or Windows, fastest on Linux with an x86-64 CPU of 2013 or later (AVX2), in CI, a container or a virtual machine; " +
	"annotate, diff and merge work here"

// examineEngines says of each engine whether it can be used.
func examineEngines() (list []finding) {
	chosen, none := cgemu.FindEngine(cgemu.AutoEngine)
	for _, e := range cgemu.Engines() {
		what := "engine " + e.Name
		switch {
		case e.Err != nil && (e.Name == cgemu.CheckEngine || e.Name == cgemu.CheckUnicornEngine):
			// What it lacks was said of the others.
		case e.Err != nil:
			why := strings.TrimPrefix(e.Err.Error(), what+": ")
			list = append(list, noteOf(what, why, "it needs "+e.Needs))
		case e.Warning != "":
			list = append(list, noteOf(what, e.Found+"; "+e.Warning, "--engine=jit, or another version of the library"))
		case e.Name == chosen.Name:
			list = append(list, well(what, "%s; the one that is taken", e.Found))
		default:
			list = append(list, well(what, "%s", e.Found))
		}
	}
	if none != nil {
		list = append(list, problemOf("engines", "none can be used on "+runtime.GOOS+"/"+runtime.GOARCH, elsewhere))
	}
	return list
}

// wholeProfile is a profile of one instruction.
const wholeProfile = "cmd: prog\nevents: Ir\nfl=prog.c\nfn=main\n1 1\nsummary: 1\n"

// examineProfiles reads a profile, adds it up and writes it, which works everywhere.
func examineProfiles() finding {
	const what = "annotate, diff, merge"
	p, err := cgout.Read("profile", strings.NewReader(wholeProfile))
	if err == nil {
		err = p.Merge(p.Clone())
	}
	var b strings.Builder
	if err == nil {
		err = p.Write(&b)
	}
	if err == nil && p.Total("Ir") != 2 {
		err = fmt.Errorf("1 + 1 instructions are %d", p.Total("Ir"))
	}
	if err != nil {
		return problemOf(what, err.Error(), "this build is broken: install it again, or report it")
	}
	return well(what, "profiles can be read, added up and written")
}

// examineValgrind says that Valgrind is not needed, since people look for that.
func examineValgrind() finding {
	if path, err := exec.LookPath("valgrind"); err == nil {
		return well("valgrind", "%s; cgemu does not need it", path)
	}
	return well("valgrind", "not here, and not needed; nor is cg_annotate")
}

// counts describes what a run counted.
func counts(r *cgemu.Result) string {
	var b strings.Builder
	for i, e := range r.Profile.Events {
		fmt.Fprintf(&b, "%s %s, ", e, cgout.Group(r.Profile.Totals()[i]))
	}
	return strings.TrimSuffix(b.String(), ", ")
}

// quietly is a configuration of which nothing is printed.
func quietly(cfg cgemu.Config) cgemu.Config {
	cfg.Log = io.Discard
	return cfg
}
