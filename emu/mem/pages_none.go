//go:build !linux && !darwin && !freebsd && !windows

package mem

import "os"

// This host cannot reserve memory.

func pagesAvailable() error { return ErrNoHost }

func reservePages(uintptr) (uintptr, error)         { return 0, ErrNoHost }
func guardPages(_, _ uintptr) error                 { return ErrNoHost }
func releasePages(_, _ uintptr) error               { return ErrNoHost }
func commitPages(_, _ uintptr) error                { return ErrNoHost }
func dropPages(_, _ uintptr) error                  { return ErrNoHost }
func identifyFile(*os.File) (id backingID, ok bool) { return id, false }
func duplicate(*os.File) *os.File                   { return nil }
