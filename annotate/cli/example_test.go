package cli_test

import (
	"fmt"
	"os"

	"github.com/cgemu/cgemu/annotate/cli"
)

// A command line, its output and its exit status. (A mistake in it goes to standard
// error, with a status of 2.)
func ExampleMerge() {
	status := cli.Merge("prog merge", []string{"testdata/html/no", "-o", "/dev/null"}, os.Stdout, os.Stdout)
	fmt.Println(status)
	// Output:
	// prog merge: error: [Errno 2] No such file or directory: 'testdata/html/no'
	// 1
}
