package usage

import _ "embed" // the scripts

var (
	//go:embed complete.bash
	bash string
	//go:embed complete.zsh
	zsh string
	//go:embed complete.fish
	fish string
)

// Shells are the shells that Script knows.
var Shells = []string{"bash", "zsh", "fish"}

// Script returns the script that has a shell complete cgemu's command lines, "" for a shell that is not known.
func Script(shell string) string {
	return map[string]string{"bash": bash, "zsh": zsh, "fish": fish}[shell]
}
