package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// writeSBOM lists what a program is made of, as its own build information says it.
func (r *release) writeSBOM(program string, data []byte, to string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	encoder := cdx.NewBOMEncoder(&b, cdx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false)
	if err := encoder.EncodeVersion(sbom(info, r.version, data, r.time), cdx.SpecVersion1_6); err != nil {
		return err
	}
	return os.WriteFile(to, b.Bytes(), 0o644)
}

// sbom is the list. Its serial number comes from the program's bytes, so that the same
// program has the same.
func sbom(info *debug.BuildInfo, version string, program []byte, when time.Time) *cdx.BOM {
	sum := sha256.Sum256(program)
	bom := cdx.NewBOM()
	id := sum[:16]
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80 // a UUID of one's own making, version 8
	bom.SerialNumber = fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
	self := cdx.Component{
		BOMRef: "callgate", Type: cdx.ComponentTypeApplication, Name: "callgate", Version: version,
		Licenses: &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}},
		Hashes:   &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: fmt.Sprintf("%x", sha256.Sum256(program))}},
	}
	var properties []cdx.Property
	for _, s := range info.Settings {
		switch s.Key {
		case "GOOS", "GOARCH", "GOAMD64", "GOARM64", "CGO_ENABLED", "-trimpath", "vcs.revision", "vcs.time", "vcs.modified":
			properties = append(properties, cdx.Property{Name: "go:build:" + s.Key, Value: s.Value})
		}
	}
	self.Properties = &properties
	bom.Metadata = &cdx.Metadata{Timestamp: when.Format(time.RFC3339), Component: &self}
	components := []cdx.Component{module("std", strings.TrimPrefix(info.GoVersion, "go"), "")}
	refs := []string{components[0].BOMRef}
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			dep = dep.Replace
		}
		c := module(dep.Path, dep.Version, dep.Sum)
		components, refs = append(components, c), append(refs, c.BOMRef)
	}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: "callgate", Dependencies: &refs}}
	return bom
}

// module is a module of Go as a component.
func module(path, version, sum string) cdx.Component {
	purl := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
	c := cdx.Component{
		BOMRef: purl, Type: cdx.ComponentTypeLibrary, Name: path, Version: version, PackageURL: purl,
		Scope: cdx.ScopeRequired,
	}
	if sum != "" {
		c.Properties = &[]cdx.Property{{Name: "go:sum", Value: sum}}
	}
	return c
}
