package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// newTest is a release with few files, whose program is this test's own: it has the build
// information that a list is made from.
func newTest(t *testing.T) (*release, string) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &release{
		version: "1.2.3", time: time.Unix(1_700_000_000, 0).UTC(), out: t.TempDir(),
		common: sorted([]file{
			{"share/man/man1/callgate.1", []byte(".TH \"CALLGATE\"\n"), 0o644},
			{"share/zsh/site-functions/_callgate", []byte("#compdef callgate\n"), 0o644},
			{"share/doc/callgate/changelog", []byte("# Changelog\n"), 0o644},
			{"share/doc/callgate/copyright", []byte("Apache-2.0\n"), 0o644},
		}),
	}, program
}

func contents(t *testing.T, folder string) map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, e := range entries {
		if all[e.Name()], err = os.ReadFile(filepath.Join(folder, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// The same source gives the same bytes, and the sums are theirs.
func TestTwiceTheSame(t *testing.T) {
	t.Parallel()
	var made []map[string][]byte
	for range 2 {
		r, program := newTest(t)
		for _, system := range []string{"linux", "darwin"} {
			if err := r.pack(system, "arm64", program, []byte("program")); err != nil {
				t.Fatal(err)
			}
		}
		if err := sums(r.out); err != nil {
			t.Fatal(err)
		}
		made = append(made, contents(t, r.out))
	}
	var names []string
	for name, data := range made[0] {
		names = append(names, name)
		if !bytes.Equal(data, made[1][name]) {
			t.Errorf("%s is not twice the same", name)
		}
		if want := fmt.Sprintf("%x  %s\n", sha256.Sum256(data), name); name != "SHA256SUMS" &&
			!strings.Contains(string(made[0]["SHA256SUMS"]), want) {
			t.Errorf("SHA256SUMS lacks %s", want)
		}
	}
	slices.Sort(names)
	want := []string{
		"SHA256SUMS", "callgate-1.2.3-1.aarch64.rpm", "callgate-1.2.3-darwin-arm64.cdx.json",
		"callgate-1.2.3-darwin-arm64.tar.gz", "callgate-1.2.3-linux-arm64.cdx.json", "callgate-1.2.3-linux-arm64.tar.gz",
		"callgate_1.2.3-1_arm64.deb",
	}
	if !slices.Equal(names, want) {
		t.Errorf("made %q", names)
	}
}

func TestArchive(t *testing.T) {
	t.Parallel()
	r, _ := newTest(t)
	data, err := r.archive("callgate-1", sorted(append([]file{{"bin/callgate", []byte("x"), 0o755}}, r.common...)))
	if err != nil {
		t.Fatal(err)
	}
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for archive := tar.NewReader(zip); ; {
		h, err := archive.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Gid != 0 || !h.ModTime.Equal(r.time) {
			t.Errorf("%s is of %d:%d, %v", h.Name, h.Uid, h.Gid, h.ModTime)
		}
		got = append(got, fmt.Sprintf("%04o %s", h.Mode, h.Name))
	}
	if !slices.Contains(got, "0755 callgate-1/bin/callgate") || !slices.Contains(got, "0755 callgate-1/share/man/man1/") ||
		!slices.Contains(got, "0644 callgate-1/share/man/man1/callgate.1") {
		t.Errorf("it has %q", got)
	}
}

// A Debian system unpacks the package, and finds in it what its policy wants.
func TestDeb(t *testing.T) {
	t.Parallel()
	tool, err := exec.LookPath("dpkg-deb")
	if err != nil {
		t.Skip("there is no dpkg-deb here")
	}
	r, program := newTest(t)
	if err := r.pack("linux", "amd64", program, []byte("program")); err != nil {
		t.Fatal(err)
	}
	deb := filepath.Join(r.out, "callgate_1.2.3-1_amd64.deb")
	run := func(args ...string) string {
		t.Helper()
		out, err := exec.Command(tool, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("dpkg-deb %v: %v: %s", args, err, out)
		}
		return string(out)
	}
	fields := run("-f", deb)
	for _, want := range []string{"Package: callgate", "Version: 1.2.3-1", "Architecture: amd64", "Section: utils",
		"Priority: optional", "Description: Gate between", "Maintainer: ", "Installed-Size: "} {
		if !strings.Contains(fields, want) {
			t.Errorf("it does not say %q:\n%s", want, fields)
		}
	}
	list := run("-c", deb)
	for _, want := range []string{"-rwxr-xr-x root/root", "./usr/bin/callgate", "./usr/share/man/man1/callgate.1.gz",
		"./usr/share/doc/callgate/copyright", "./usr/share/doc/callgate/changelog.gz",
		"./usr/share/zsh/vendor-completions/_callgate", "./usr/share/callgate/package"} {
		if !strings.Contains(list, want) {
			t.Errorf("it does not have %q:\n%s", want, list)
		}
	}
	for line := range strings.Lines(list) {
		if !strings.Contains(line, " root/root ") || strings.Contains(line, "./usr/local") || strings.HasPrefix(line, "-rw-rw") {
			t.Errorf("a package has no such file: %s", line)
		}
	}
	to := t.TempDir()
	run("-x", deb, to)
	if mark, err := os.ReadFile(filepath.Join(to, "usr/share/callgate/package")); err != nil || string(mark) != "deb\n" {
		t.Errorf("its mark is %q: %v", mark, err)
	}
	sums := run("--ctrl-tarfile", deb)
	if !strings.Contains(sums, "md5sums") {
		t.Error("it has no sums of its files")
	}
}

// The list names the modules that the program is made of.
func TestSBOM(t *testing.T) {
	t.Parallel()
	r, program := newTest(t)
	if err := r.pack("darwin", "amd64", program, []byte("program")); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(r.out, "callgate-1.2.3-darwin-amd64.cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	var bom struct {
		BOMFormat, SpecVersion, SerialNumber string
		Metadata                             struct{ Timestamp string }
		Components                           []struct{ Name, Version, PURL string }
	}
	if err := json.Unmarshal(data, &bom); err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if bom.BOMFormat != "CycloneDX" || bom.SpecVersion != "1.6" || len(bom.Components) != len(info.Deps)+1 ||
		bom.Metadata.Timestamp != "2023-11-14T22:13:20Z" || !strings.HasPrefix(bom.SerialNumber, "urn:uuid:") {
		t.Errorf("it begins with %.400s; the program has %d modules", data, len(info.Deps))
	}
	if first := bom.Components[0]; first.Name != "std" || !strings.HasPrefix(first.PURL, "pkg:golang/std@1.") {
		t.Errorf("the first is %+v", first)
	}
	if bytes.Contains(data, []byte(filepath.Dir(program))) {
		t.Error("it names a path of this machine")
	}
}

func TestVersionLine(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile(filepath.Join("..", "..", "internal", "version", "version.go"))
	if err != nil || versionLine.FindSubmatch(source) == nil {
		t.Errorf("the program's version is not found: %v", err)
	}
}
