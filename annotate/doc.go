// Package annotate makes reports of profiles: what cg_annotate writes, and tables,
// JSON, CSV, markdown and HTML, of one profile, of the sum of several, or of what
// differs between two.
//
// A profile is an Input: a File, one in Memory, or a file of an fs.FS, FileIn. Options say what is shown and
// how. From both
//
//   - WriteText and WriteTextDiff write the text of cg_annotate, in its bytes;
//   - New and Compare make a Report, which can be looked at, and which its methods
//     WriteTable, WriteMarkdown, WriteJSON, WriteCSV, WriteHTML and WriteAsm write;
//   - NewCalls and CompareCalls make a CallReport, of who calls whom, which WriteTree, WriteCallers and
//     WriteCallersJSON write.
//
// So the ten busiest functions of a run are
//
//	o := annotate.Defaults()
//	o.Top = 10
//	r, err := annotate.New(o, annotate.File("cachegrind.out.1"))
//	if err != nil {
//		return err
//	}
//	for _, f := range r.Functions {
//		fmt.Println(f.Counts[r.Sort[0]], f.File.Name, f.Name)
//	}
//
// Counts are numbers of events, of any size; shares, thresholds and the numbers of
// derived columns are per cent, but for "cycles". The same input has the same
// report, byte for byte.
//
// The package reads the files it is told of, profiles and sources, of the host or of an
// fs.FS (Options.Files), and nothing else:
// no command line, environment, standard input or clock. (It does say if a source is
// newer than its profile.) Package cli, below, has the commands.
package annotate
