//go:build !js

package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/cgemu/cgemu/annotate/web/page"
	"github.com/cgemu/cgemu/internal/outfile"
	"github.com/cgemu/cgemu/internal/version"
)

const usage = `usage: cgemu-web -program FILE -exec FILE -o FILE LICENSE...

Writes the page that shows profiles in a browser. make web calls it.
`

func main() {
	if err := run(os.Args[1:], os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "cgemu-web:", err)
		os.Exit(1)
	}
}

// run writes the page; the arguments behind the options are files with licences.
func run(args []string, stderr io.Writer) (err error) {
	flags := flag.NewFlagSet("cgemu-web", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		io.WriteString(stderr, usage)
		flags.PrintDefaults()
	}
	program := flags.String("program", "", "this command, built for js/wasm")
	exec := flags.String("exec", "", "wasm_exec.js of the Go distribution that built it")
	out := flags.String("o", "", "the page")
	number := flags.String("version", version.Number(), "that the page says it is of")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *program == "" || *exec == "" || *out == "" || flags.NArg() == 0 {
		flags.Usage()
		return errors.New("-program, -exec, -o and a file with a licence are needed")
	}
	p := page.Page{Version: *number}
	if p.Program, err = os.ReadFile(*program); err != nil {
		return err
	}
	if p.Exec, err = os.ReadFile(*exec); err != nil {
		return err
	}
	var licenses []string
	for _, name := range flags.Args() {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		licenses = append(licenses, string(bytes.TrimSpace(text)))
	}
	p.Licenses = strings.Join(licenses, "\n\n"+strings.Repeat("=", 80)+"\n\n") + "\n"
	if err := outfile.Write(context.Background(), *out, 0o644, p.Write); err != nil {
		return fmt.Errorf("%s: %w", *out, err)
	}
	return nil
}
