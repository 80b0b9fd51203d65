package usage

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// sample has an option of each kind.
var sample = Command{
	Name: "tool sub", Title: "does it", Synopsis: []string{"FILE...", "--list"},
	About:    []string{"A line that is longer than the eighty characters which a terminal shows has to go on in the next one."},
	Examples: []Row{{"tool sub .x", "one's own"}},
	Groups: []Group{{"Options", []Option{
		{Names: []string{"-o", "--out"}, Arg: "FILE", Text: `.hidden, and a \ besides`},
		{Names: []string{"--html"}, Arg: "FILE", Optional: true, Text: "short"},
		{Names: []string{"--progress"}, Values: []string{"yes", "no"}, Optional: true, Text: "short"},
		{Names: []string{"-n"}, Arg: "N", Text: "short"},
		{Names: []string{"--an-option-with-a-long-name", "--no-option"}, Text: "below"},
	}}},
	Sections: []Section{{"Exit status", nil, []Row{{"0", "well"}, {"125", "not well"}}}, {"A file", []string{"[a]", ".b = 'c'"}, nil}},
	SeeAlso:  []string{"a(1)", "b(7)"},
}

func TestHelp(t *testing.T) {
	require.Equal(t, `usage: t FILE...
       t --list

A line that is longer than the eighty characters which a terminal shows has to
go on in the next one.

Examples:
  t .x
      one's own

Options:
  -o, --out=FILE            .hidden, and a \ besides
      --html[=FILE]         short
      --progress=yes|no     short
  -n N                      short
      --an-option-with-a-long-name, --no-option
                            below

Exit status:
  0    well
  125  not well

A file:
  [a]
  .b = 'c'
`, sample.Help("t"))
}

func TestMan(t *testing.T) {
	require.Equal(t, `.\" Made by: cgemu help --man
.TH TOOL-SUB 1 "2026-01-02" "cgemu 3"
.SH NAME
tool\-sub \- does it
.SH SYNOPSIS
.nf
\fBtool sub\fP FILE...
\fBtool sub\fP \-\-list
.fi
.SH DESCRIPTION
A line that is longer than the eighty characters which a terminal shows has to
go on in the next one.
.SH OPTIONS
.TP
\fB\-o\fP, \fB\-\-out\fP=FILE
\&.hidden, and a \e besides
.TP
\fB\-\-html\fP[=FILE]
short
.TP
\fB\-\-progress\fP=yes|no
short
.TP
\fB\-n\fP N
short
.TP
\fB\-\-an\-option\-with\-a\-long\-name\fP, \fB\-\-no\-option\fP
below
.SH EXIT STATUS
.TP
\fB0\fP
well
.TP
\fB125\fP
not well
.SH A FILE
.nf
\&[a]
\&.b = \(aqc\(aq
.fi
.SH EXAMPLES
.TP
\fBtool sub .x\fP
one\(aqs own
.SH SEE ALSO
.BR a (1),
.BR b (7)
`, sample.Man("3", "2026-01-02"))
}

func TestComplete(t *testing.T) {
	for _, tt := range []struct {
		words []string
		want  string
	}{
		{[]string{"-o", ""}, "files 0\n"},
		{[]string{"--out="}, "files 0\n"},
		{[]string{"--p"}, "nothing 0\n--progress=\tshort\n"},
		{[]string{"--progress=n"}, "nothing 0\n--progress=no\n"},
		{[]string{"--", "--p"}, "nothing 0\n"},
		{[]string{"-n", "-"}, "nothing 0\n"}, // its value
	} {
		c := sample
		c.Operands = Nothing
		require.Equal(t, tt.want, c.Complete(tt.words).String(), tt.words)
	}
	other := Command{Name: "other", Of: &sample}
	require.Equal(t, "nothing 0\n--html\tshort\n", other.Complete([]string{"--h"}).String())
	require.Equal(t, "files 0\n", other.Complete([]string{"--out", ""}).String())
	require.NotContains(t, other.Help("other"), "--html")
	long := Completion{Kind: Nothing}
	long.Add("", "w", "a text that is longer than what fits beside a word in a list, by far")
	require.Equal(t, "nothing 0\nw\ta text that is longer than what fits beside a word in a ...\n", long.String())
}

func TestScripts(t *testing.T) {
	for _, shell := range Shells {
		require.Contains(t, Script(shell), "__complete", shell)
	}
	require.Empty(t, Script("csh"))
}
