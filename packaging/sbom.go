package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// components writes what the binaries are made of, as a CycloneDX bill of materials. It has no time and no random
// number.
func (r *release) components(map[target][]byte) error {
	list, err := r.modules()
	if err != nil {
		return err
	}
	main := cdx.Component{
		BOMRef: purl("github.com/cgemu/cgemu", "v"+r.Version), Type: cdx.ComponentTypeApplication, Name: "github.com/cgemu/cgemu",
		Version: "v" + r.Version, PackageURL: purl("github.com/cgemu/cgemu", "v"+r.Version), Licenses: licenses("MIT"),
		Properties: &[]cdx.Property{{Name: "cgemu:commit", Value: r.Commit}},
	}
	bom := cdx.NewBOM()
	id := sha256.Sum256([]byte(r.Version + r.Commit))
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80 // a UUID of version 8: of one's own making
	bom.SerialNumber = fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:16])
	bom.Metadata = &cdx.Metadata{Timestamp: r.Time.Format(time.RFC3339), Component: &main}
	var all []cdx.Component
	var refs []string
	for _, m := range list {
		c := cdx.Component{
			BOMRef: purl(m.Path, m.Version), Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: purl(m.Path, m.Version),
			Licenses: licenses(m.License), Scope: cdx.ScopeRequired,
		}
		all, refs = append(all, c), append(refs, c.BOMRef)
	}
	bom.Components = &all
	bom.Dependencies = &[]cdx.Dependency{{Ref: main.BOMRef, Dependencies: &refs}}
	var b bytes.Buffer
	if err := cdx.NewBOMEncoder(&b, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6); err != nil {
		return err
	}
	return os.WriteFile(r.name(".cdx.json"), b.Bytes(), 0o644)
}

// purl is the package URL of a Go module.
func purl(path, version string) string { return "pkg:golang/" + path + "@" + version }

func licenses(id string) *cdx.Licenses {
	if strings.Contains(id, " ") {
		return &cdx.Licenses{{Expression: id}}
	}
	return &cdx.Licenses{{License: &cdx.License{ID: id}}}
}
