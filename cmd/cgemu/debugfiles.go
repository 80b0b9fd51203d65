package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/internal/debuginfod"
)

// fetchDebug has debug files that are not found be fetched, if --debuginfod says so.
func (o *options) fetchDebug(cfg *cgemu.Config, log io.Writer) error {
	from := o.debuginfod
	switch from {
	case "no":
		return nil
	case "yes":
		if from = os.Getenv("DEBUGINFOD_URLS"); from == "" {
			return errors.New("--debuginfod: the variable DEBUGINFOD_URLS names no server: --debuginfod=URL does, as https://debuginfod.elfutils.org")
		}
	}
	servers, err := debuginfod.ParseServers(from)
	switch {
	case err != nil:
		return fmt.Errorf("--debuginfod: %w", err)
	case o.root != "" || o.readOnly || o.overlay:
		return errors.New("--debuginfod: not with " + wallOptions + ", whose walls keep it from the network")
	case debuginfod.DefaultDir() == "":
		return errors.New("--debuginfod: there is no place for files: set HOME or XDG_CACHE_HOME")
	}
	c := debuginfod.New(servers, debuginfod.DefaultDir(), func(text string) { fmt.Fprintln(log, "cgemu: "+text) })
	cfg.Names.Fetch = c.Find
	return nil
}
