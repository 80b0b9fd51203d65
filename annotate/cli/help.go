package cli

const annotateHelp = `
Show where the events of one or more profiles took place.

  -h, --help            show this help message and exit
  --version             show the version and exit
  --diff                show the second of two profiles minus the first
  --mod-filename REGEX  change file names, e.g. 's/prog[0-9]/progN/'
  --mod-funcname REGEX  change function names
  --show A,B,C          show these events only (default: all)
  --sort A,B,C          sort by these events (default: in the profile's order)
  --threshold N:[0,20]  leave out pairs of file and function with less than N%
                        of the first sort event (default: 0.1)
  --show-percs, --no-show-percs
                        show shares (default: yes)
  --annotate, --no-annotate
                        show source files (default: yes)
  --context N           show N lines around lines with counts (default: 8)
  --show-percs=yes, --show-percs=no, --auto=yes, --auto=no
                        older names of the above

Of cgemu's own; not to be abbreviated:

  --format FORMAT       text, json, csv, markdown or html (default: text).
                        With --diff all but text compare: old, new and factor
  --html, --html=FILE   the same as --format=html; into a file
  --asm                 show the instructions of functions, from PROFILE.insns, that
                        cgemu --dump-instr=yes writes
  --syntax SYNTAX       of --asm: intel, gnu or go (default: intel)
  --print-schema        print the JSON Schema of --format=json and exit
` + derivedHelp + selectHelp + sourceHelp + compareHelp + terminalHelp

const derivedHelp = `  --derived LIST        further columns: rates (of misses), cycles (estimated),
                        parent (shares of the function or file), and EVENT/EVENT
`

const selectHelp = `  --only GLOB           only files of that name; repeatable
  --focus GLOB          only functions of that name; repeatable
  --strip-hash          function names without hashes and suffixes of clones
  --top N               only the first N functions (of the table: lines, too)
`

const sourceHelp = `  --include DIR         look for source files in DIR, too; repeatable
  --source-map FROM=TO  look for source files under FROM in TO; repeatable
`

const compareHelp = `  --include-old, --include-new DIR, --source-map-old, --source-map-new FROM=TO
                        the same for one side of a comparison
  --match auto|exact    match functions that were renamed, moved or cloned in a
                        comparison (default), or only those of the same name
  --min-delta N, N%     only functions and lines that differ by N, or N% of the
                        old total (default: all that differ)
`

const terminalHelp = `  --color auto|always|never
                        colours (default: on a terminal, unless NO_COLOR is set)
  --no-pager            no pager, even on a terminal (CGEMU_PAGER, PAGER)
`

const diffHelp = `
Write the second profile minus the first, by function, as a profile.

  -h, --help            show this help message and exit
  --version             show the version and exit
  --mod-filename REGEX  change file names, e.g. 's/prog[0-9]/progN/'
  --mod-funcname REGEX  change function names

Of cgemu's own; those below --strip-hash need --table or a --format:

  --table               show what differs: old, new, delta and factor
  --format FORMAT       text (with --table, else a profile), json, csv, markdown
                        or html
  --html, --html=FILE   the same as --format=html; into a file
  --strip-hash          function names without hashes and suffixes of clones
  --show A,B,C          show these events (default: text and markdown the first
                        of --sort, others all)
  --sort A,B,C          sort by these events (default: in the profiles' order)
  --only GLOB           only files of that name; repeatable
  --focus GLOB          only functions of that name; repeatable
  --top N               only the first N functions, and lines
` + derivedHelp + sourceHelp + compareHelp + terminalHelp

const mergeHelp = `
Write the sum of profiles as a profile.

  -h, --help            show this help message and exit
  --version             show the version and exit
  -o FILE               write to FILE

Of cgemu's own:

  --format FORMAT       text (a profile), json, csv, markdown or html
  --html, --html=FILE   the same as --format=html; into a file
` + derivedHelp
