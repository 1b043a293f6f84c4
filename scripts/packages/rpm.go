package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/rpmpack"
)

// writeRPM makes an .rpm, which puts the files below /usr.
func (r *release) writeRPM(arch string, all []file) error {
	machine := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[arch]
	if machine == "" {
		return fmt.Errorf("there is no name for %s", arch)
	}
	summary, rest, _ := strings.Cut(description, "\n")
	meta := rpmpack.RPMMetaData{
		Name: "callgate", Summary: summary, Description: rest, Version: debianVersion(r.version), Release: "1",
		Arch: machine, OS: "linux", Packager: maintainer, Licence: "Apache-2.0", BuildHost: "callgate",
		Compressor: "gzip:9", BuildTime: r.time,
	}
	for _, name := range []string{"ripgrep", "git"} {
		if err := meta.Recommends.Set(name); err != nil {
			return err
		}
	}
	pack, err := rpmpack.NewRPM(meta)
	if err != nil {
		return err
	}
	for _, f := range all {
		pack.AddFile(rpmpack.RPMFile{
			Name: "/usr/" + f.path, Body: f.data, Mode: 0o100000 | uint(f.mode), Owner: "root", Group: "root",
			MTime: uint32(r.time.Unix()),
		})
	}
	var b bytes.Buffer
	if err := pack.Write(&b); err != nil {
		return err
	}
	name := fmt.Sprintf("callgate-%s-1.%s.rpm", meta.Version, machine)
	return os.WriteFile(filepath.Join(r.out, name), b.Bytes(), 0o644)
}
