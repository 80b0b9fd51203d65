package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/internal/usage"
)

var goCommand = sync.OnceValue(func() *usage.Command {
	return &usage.Command{
		Name:     "cgemu go",
		Title:    "runs go test under cgemu",
		Synopsis: []string{"[options of run] test [flags of go test] [packages]"},
		About: []string{
			"Runs go test with the test binaries under cgemu. Results of benchmarks have counts of instructions, as Ir/op, for ns/op, and are the same in every run.",
			"A profile is written if --cachegrind-out-file says where: of the benchmarks, without what is around them.",
		},
		Examples: []usage.Row{
			{Name: "cgemu go test -run='^$' -bench=. ./...", Text: "all benchmarks, no tests"},
			{Name: "cgemu go --cache-sim=yes test -bench=Parse -benchtime=1000x .", Text: "misses of caches, too; 1000 times"},
			{Name: "cgemu go -e GOGC=off test -bench=. . >new; benchstat old new", Text: "without the garbage collector"},
		},
		Of:       runCommand(),
		Groups:   []usage.Group{{Title: "Options, besides those of run", Options: []usage.Option{flagOption("-h, --help", "print this")}}},
		Operands: usage.Files,
		Words:    []string{"test"},
		InFront:  true,
		SeeAlso:  []string{"cgemu(1)", "cgemu-compare(1)"},
	}
})

// goOptions are the options of run that come before those of the user.
var goOptions = []string{"-q", "--go-benchmarks", "--trace-children=no", "--cachegrind-out-file=" + os.DevNull}

// goElsewhere says what to do where no engine runs.
const goElsewhere = "cgemu: run it on Linux, in a container (docker run --platform linux/amd64 …) or in WSL2; a test binary may come from here:\n" +
	"cgemu: GOOS=linux GOARCH=amd64 go test -c, and there cgemu --go-benchmarks ./x.test -test.bench=."

// runGo runs the go command with its test binaries under cgemu. It returns only if that fails.
func runGo(args []string) int {
	argv, err := goTest(args)
	if errors.Is(err, pflag.ErrHelp) {
		return write(goCommand().Help(goCommand().Name))
	}
	if err != nil {
		return fail(exitFailed, fmt.Errorf("go: %w", err))
	}
	program, err := exec.LookPath("go")
	if err != nil {
		return fail(exitNotFound, errors.New("go: the go command is not in PATH"))
	}
	env := append(os.Environ(), "GOOS=linux", "GOARCH=amd64")
	return fail(exitFailed, fmt.Errorf("go: %s: %w", program, replaceProcess(program, argv, env)))
}

// goTest returns the arguments of the go command.
func goTest(args []string) ([]string, error) {
	if _, err := cgemu.FindEngine(cgemu.AutoEngine); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, goElsewhere)
	}
	chdir, args := directory(args)
	options := slices.Concat(goOptions, args)
	_, rest, err := parseOptions(options)
	switch {
	case err != nil:
		return nil, err
	case len(rest) == 0:
		return nil, errors.New("test expected: cgemu go [options] test [flags of go test] [packages]")
	case rest[0] != "test":
		return nil, fmt.Errorf("%q is not test: cgemu go [options] test [flags of go test] [packages]", rest[0])
	}
	if err := checkGoFlags(rest[1:]); err != nil {
		return nil, err
	}
	if err := checkHost(); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var with []string
	for _, word := range slices.Concat([]string{self, "run"}, options[:len(options)-len(rest)], []string{"--"}) {
		quoted, err := quoteForGo(word)
		if err != nil {
			return nil, err
		}
		with = append(with, quoted)
	}
	after, flags := directory(rest[1:])
	return slices.Concat([]string{"go"}, chdir, []string{"test"}, after, []string{"-exec=" + strings.Join(with, " ")}, flags), nil
}

// directory takes the go command's flag -C off arguments, which has to be its first one.
func directory(args []string) (chdir, rest []string) {
	switch {
	case len(args) > 1 && (args[0] == "-C" || args[0] == "--C"):
		return args[:2], args[2:]
	case len(args) > 0 && (strings.HasPrefix(args[0], "-C=") || strings.HasPrefix(args[0], "--C=")):
		return args[:1], args[1:]
	}
	return nil, args
}

// checkGoFlags refuses flags of go test that cannot work.
func checkGoFlags(args []string) error {
	for _, arg := range args {
		name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "=")
		if !strings.HasPrefix(arg, "-") {
			continue
		}
		switch name {
		case "args":
			return nil
		case "exec":
			return errors.New("-exec: cgemu is what runs the test binaries; go test -exec='cgemu --go-benchmarks --' does the same")
		case "race", "msan", "asan":
			return fmt.Errorf("-%s: its runtime needs memory at addresses that cgemu's programs do not have: leave it out", name)
		}
	}
	return nil
}

// quoteForGo quotes a word for -exec, which knows quotes but no escapes.
func quoteForGo(word string) (string, error) {
	switch {
	case word != "" && !strings.ContainsAny(word, " \t\r\n'\""):
		return word, nil
	case !strings.Contains(word, "'"):
		return "'" + word + "'", nil
	case !strings.Contains(word, `"`):
		return `"` + word + `"`, nil
	}
	return "", fmt.Errorf("%s: go test -exec takes no word with both kinds of quotes", word)
}
