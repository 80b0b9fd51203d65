package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/internal/spell"
	"github.com/cgemu/cgemu/internal/usage"
	"github.com/cgemu/cgemu/internal/version"
)

// shortHelp is what cgemu says without arguments.
func shortHelp() string {
	c := usage.Command{Name: "cgemu", Synopsis: runCommand().Synopsis, Examples: runCommand().Examples, Sections: runCommand().Sections[:1]}
	return c.Help("cgemu") + "\nAll options: cgemu help. Does it work here? cgemu doctor\n"
}

// help is `cgemu help`: of running programs, of the command or the option that args name, or of all.
func help(args []string) int {
	switch {
	case len(args) > 0 && args[0] == "--man":
		return manual(args[1:])
	case len(args) == 0:
		return write(runCommand().Help("cgemu"))
	case len(args) > 1:
		return fail(exitFailed, fmt.Errorf("help: one command or option expected, got %d", len(args)))
	case args[0] == "-h" || args[0] == "--help":
		return write(helpCommand().Help(helpCommand().Name))
	case args[0] == "all":
		return write(allHelp())
	case strings.HasPrefix(args[0], "-"):
		return helpOption(args[0])
	}
	c := reference(args[0])
	if c == nil {
		return fail(exitFailed, noCommand(args[0]))
	}
	return write(c.Help(c.Name))
}

func noCommand(name string) error {
	return fmt.Errorf("help: there is no command %q%s", name, spell.Suggest(name, commands))
}

// allHelp is the help of all commands.
func allHelp() string {
	var texts []string
	for _, c := range references() {
		texts = append(texts, c.Help(c.Name))
	}
	return strings.Join(texts, "\n"+strings.Repeat("-", 80)+"\n\n")
}

// helpOption says what an option does, in each command that has it.
func helpOption(name string) int {
	name, _, _ = strings.Cut(name, "=")
	var text string
	var names []string
	for _, c := range references() {
		for _, o := range c.Options() {
			names = append(names, o.Names...)
		}
		if o := c.Option(name); o != nil {
			text += c.Name + ":\n" + o.Help()
		}
	}
	if text == "" && hiddenOption(name) {
		text = name + " is one of Valgrind's options, or like one: docs/manual.md, \"From Valgrind\", says what it does here.\n"
	}
	if text == "" {
		return fail(exitFailed, fmt.Errorf("help: no command has an option %s%s", name, spell.Suggest(name, names)))
	}
	return write(text)
}

// hiddenOption reports whether run has an option that its help leaves out.
func hiddenOption(name string) bool {
	f := new(options).flags().Lookup(strings.TrimPrefix(name, "--"))
	return f != nil && f.Hidden
}

// manual prints a page of the manual.
func manual(args []string) int {
	c := runCommand()
	if len(args) > 1 {
		return fail(exitFailed, fmt.Errorf("help --man: one command expected, got %d", len(args)))
	}
	if len(args) == 1 {
		if c = reference(args[0]); c == nil {
			return fail(exitFailed, noCommand(args[0]))
		}
	}
	return write(c.Man(version.Number(), version.Source().Date))
}

// completion prints a shell's script.
func completion(args []string) int {
	if len(args) != 1 {
		os.Stderr.WriteString(completionCommand().Help(completionCommand().Name))
		return exitFailed
	}
	script := usage.Script(args[0])
	if script == "" {
		return fail(exitFailed, fmt.Errorf("completion: there is none for %q%s (%s)", args[0], spell.Suggest(args[0], usage.Shells),
			strings.Join(usage.Shells, ", ")))
	}
	return write(script)
}

// completeName is the command that the scripts for shells call, with the words up to the cursor.
const completeName = "__complete"

// complete says what the last of words may be.
func complete(words []string) int {
	if len(words) == 0 {
		words = []string{""}
	}
	return write(completed(words).String())
}

func completed(words []string) usage.Completion {
	if len(words) == 1 && !strings.HasPrefix(words[0], "-") {
		done := usage.Completion{Kind: usage.Program}
		for _, c := range references() {
			done.Add(words[0], commandName(c), c.Title)
		}
		return done
	}
	c := reference(words[0])
	switch {
	case c == nil:
		return runCommand().Complete(words)
	case c == helpCommand() && strings.HasPrefix(words[len(words)-1], "--") && words[len(words)-1] != "--help":
		return optionNames(words[len(words)-1])
	case c == helpCommand() && !strings.HasPrefix(words[len(words)-1], "-"):
		done := usage.Completion{Kind: usage.Nothing}
		for _, name := range append([]string{"all"}, commands...) {
			done.Add(words[len(words)-1], name, "")
		}
		return done
	}
	done := c.Complete(words[1:])
	done.Skip++
	return done
}

// optionNames are the options of all commands that a word can become.
func optionNames(word string) usage.Completion {
	done := usage.Completion{Kind: usage.Nothing}
	said := map[string]bool{}
	for _, c := range references() {
		for _, o := range c.Options() {
			if name := o.Names[len(o.Names)-1]; !said[name] {
				said[name] = true
				done.Add(word, name, o.Text)
			}
		}
	}
	return done
}

// noOperands refuses arguments of a command that has none.
func noOperands(command string, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s: %q is not expected: it takes no arguments", command, args[0])
	}
	return nil
}

// showVersion prints the version, and with -v which engines there are.
func showVersion(args []string) int {
	text := version.Line() + "\n"
	switch {
	case len(args) == 0:
		return write(text)
	case len(args) > 1 || args[0] != "-v" && args[0] != "--verbose":
		return fail(exitFailed, fmt.Errorf("version: %q is not -v", args[0]))
	}
	for _, e := range cgemu.Engines() {
		state := e.Found
		if e.Err != nil {
			state = "cannot be used: " + strings.TrimPrefix(e.Err.Error(), "engine "+e.Name+": ")
		}
		text += fmt.Sprintf("engine %s: %s\n  needs %s\n", e.Name, state, e.Needs)
		if e.Warning != "" {
			text += "  " + e.Warning + "\n"
		}
	}
	auto, err := cgemu.FindEngine(cgemu.AutoEngine)
	if err != nil {
		return write(text + "--engine=auto takes none: none can be used\n")
	}
	return write(text + "--engine=auto takes " + auto.Name + ": the first of those that can be used\n")
}
