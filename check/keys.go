package check

// A Table is a table of a manifest, with what its keys mean.
type Table struct {
	// Name is how the manifest's text begins it; "" are the keys in front of all tables.
	Name string
	Keys []Key
}

// A Key is a key of a manifest.
type Key struct{ Name, Text string }

// Minimal is a manifest that says no more than it has to.
const Minimal = `[[benchmark]]
name = "parse"
run = ["./parse", "big.json"]
`

// Tables has all that a manifest may have. The fields of Manifest, Benchmark, Settings and FunctionLimit say more.
var Tables = []Table{
	{"", []Key{
		{"build", `a command that makes the programs, for --build and --against: ["make"]`},
		{"baseline", "the file of the baseline (NAME.baseline, of NAME.toml)"},
		{"defaults", "a table of what holds for all benchmarks that do not say otherwise"},
		{"benchmark", "a table for each benchmark"},
	}},
	{"[[benchmark]]", []Key{
		{"name", "what it is called, without blanks; each has another name"},
		{"run", "the program and its arguments: a list of texts"},
		{"group", "a name for several, for --filter"},
		{"function", "limits of functions: see below"},
	}},
	{"[defaults], and [[benchmark]], too", []Key{
		{"limit", `how far each count may go up: "1%", 1000, or a table of events with either (0)`},
		{"events", `which counts are compared: a list (["Ir"])`},
		{"env", "the variables that the program sees: a table; there are no others (none)"},
		{"dir", "the working directory (the manifest's)"},
		{"stdin", "a file that is the standard input (none)"},
		{"status", "the exit status that is expected (0)"},
		{"isolate", "the directory that is /work; false: the host's files as they are (the manifest's)"},
		{"image", "a container image, FILE or FILE:TAG, that has the program's files (none)"},
		{"volumes", `directories that an image shows, too: ["DIR:PATH:ro"] (none)`},
		{"cpu", "the guest's CPU (v3)"},
		{"cache-sim", "true: caches are simulated (false)"},
		{"branch-sim", "true: branch prediction is simulated (false)"},
		{"toggle-collect", "a list of functions: they count, and what they call (all)"},
		{"from", "a list of functions from which on counts are taken (the beginning)"},
		{"to", "a list of functions up to which they are (the end)"},
		{"trace-children", "false: what other processes count is left out (true)"},
		{"max-insns", "a run of more instructions fails (0: of any number)"},
	}},
	{"[[benchmark.function]]", []Key{
		{"name", "a pattern of functions, with * and ?: NAME or FILE:NAME"},
		{"limit", "how far they may go up, added up: as above"},
	}},
}
