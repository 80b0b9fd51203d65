package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// web writes the page that shows profiles in a browser, as make web does.
func (r *release) web(map[target][]byte) error {
	program := filepath.Join(r.Work, "cgemu-web.wasm")
	if err := r.goBuild(target{"js", "wasm"}, program, "./cmd/cgemu-web"); err != nil {
		return err
	}
	goroot, err := goDirectory(r.Source, &module{Path: "std"})
	if err != nil {
		return err
	}
	out, err := filepath.Abs(r.name("_web.html"))
	if err != nil {
		return err
	}
	args := []string{"run", "./cmd/cgemu-web", "-version", r.Version, "-program", program, "-exec", filepath.Join(goroot, "lib", "wasm", "wasm_exec.js"), "-o", out}
	for _, name := range []string{"LICENSE", "THIRD-PARTY-LICENSES"} {
		f, err := r.find(name)
		if err != nil {
			return err
		}
		file := filepath.Join(r.Work, name)
		if err := os.WriteFile(file, f.Data, 0o644); err != nil {
			return err
		}
		args = append(args, file)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Stderr = r.Source, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("making the page: %w", err)
	}
	return nil
}
