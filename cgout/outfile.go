package cgout

import (
	"strconv"
	"strings"
)

// An optionError is in Valgrind's words.
type optionError string

func (e optionError) Error() string { return string(e) }

// A Namer expands the value of --cachegrind-out-file, as Valgrind does
// (m_options.c, VG_(expand_file_name)).
type Namer struct {
	Getenv func(name string) (string, bool) // for %q{NAME}; nil: no variable is set

	pid, seq int // of the last %n
}

// Expand replaces %p by pid, %q{NAME} by a variable of the environment, %n by a
// number that counts the uses of %n for one pid, and %% by a percent sign.
// Errors are much in Valgrind's words, without the name of the option.
func (n *Namer) Expand(format string, pid int) (string, error) {
	switch {
	case format == "":
		return "", optionError("No filename given")
	case format[0] == '~':
		return "", optionError("Filename begins with '~'\n" +
			"You probably expected the shell to expand the '~', but it\n" +
			"didn't.  The rules for '~'-expansion vary from shell to shell.\n" +
			"You might have more luck using $HOME instead.")
	}
	var b strings.Builder
	for {
		text, rest, found := strings.Cut(format, "%")
		b.WriteString(text)
		if !found {
			return b.String(), nil
		}
		verb := byte(0)
		if rest != "" {
			verb, format = rest[0], rest[1:]
		}
		switch verb {
		case '%':
			b.WriteByte('%')
		case 'p':
			b.WriteString(strconv.Itoa(pid))
		case 'n':
			if n.pid != pid {
				n.pid, n.seq = pid, 0
			}
			n.seq++
			b.WriteString(strconv.Itoa(n.seq))
		case 'q':
			value, rest, err := n.variable(format)
			if err != nil {
				return "", err
			}
			b.WriteString(value)
			format = rest
		default:
			return "", optionError("Expected 'p', 'n', 'q{NAME}' or '%' after '%'")
		}
	}
}

// variable expands the {NAME} that format begins with.
func (n *Namer) variable(format string) (value, rest string, err error) {
	if !strings.HasPrefix(format, "{") {
		return "", "", optionError("Expected '{' after '%q'")
	}
	name, rest, found := strings.Cut(format[1:], "}")
	if !found {
		return "", "", optionError("Missing '}' in %q specifier")
	}
	if n.Getenv != nil {
		if value, ok := n.Getenv(name); ok {
			return value, rest, nil
		}
	}
	return "", "", optionError("Environment variable '" + name + "' is not set")
}
