package cli

import (
	"bufio"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/internal/usage"
)

// TestHelp holds what the help says to the options that are parsed, both ways.
func TestHelp(t *testing.T) {
	for _, tt := range []struct {
		c       *usage.Command
		options []option
	}{
		{annotateCommand(), new(options).annotateOptions(new(bufio.Writer))},
		{diffCommand(), new(options).diffOptions()},
		{callersCommand(), new(options).callersOptions()},
		{exportCommand(), new(options).exportOptions(new(exporting))},
		{viewCommand(), (&view{options: new(options)}).viewOptions()},
		{mergeCommand(), new(options).mergeOptions(new(string))},
	} {
		parsed := map[string]bool{}
		for _, o := range append(tt.options, helpOptions(nil, "", tt.c)...) {
			for _, name := range o.names {
				parsed[name] = true
				said := tt.c.Option(name)
				require.NotNil(t, said, "%s %s is missing", tt.c.Name, name)
				require.Equal(t, o.set != nil || o.value != nil, said.Arg != "" || said.Values != nil, "%s %s: does it have a value?", tt.c.Name, name)
				require.Equal(t, o.value != nil, said.Optional, "%s %s: may the value be left out?", tt.c.Name, name)
				if o.choices != nil {
					require.Equal(t, o.choices, said.Values, "%s %s", tt.c.Name, name)
				}
			}
		}
		for _, o := range tt.c.Options() {
			for _, name := range o.Names {
				require.Contains(t, parsed, name, "%s has no such option", tt.c.Name)
			}
		}
	}
	require.True(t, slices.Contains(Commands(), mergeCommand()))
}
