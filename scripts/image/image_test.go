package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

// commit is when the tests' packages were made.
var commit = time.Unix(1_700_000_000, 0).UTC()

// packages is a folder as make packages leaves it.
func packages(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		data := tarred(t, map[string][]byte{
			name + "/bin/callgate": []byte("program"), name + "/share/doc/callgate/copyright": []byte("Apache-2.0\n"),
		})
		var b bytes.Buffer
		zip := gzip.NewWriter(&b)
		_, err := zip.Write(data)
		if err = errors.Join(err, zip.Close()); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".tar.gz"), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func tarred(t *testing.T, files map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for name, data := range files {
		err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(data)), ModTime: commit})
		if err == nil {
			_, err = w.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// readBlob reads what a descriptor says, which is of its size and its digest, into a document.
func readBlob(t *testing.T, dir string, d v1.Descriptor, into any) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "blobs", string(d.Digest.Algorithm()), d.Digest.Encoded()))
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(data)) != d.Size || d.Digest.Algorithm().FromBytes(data) != d.Digest {
		t.Fatalf("%s is not what its descriptor says", d.Digest)
	}
	if into != nil {
		if err := json.Unmarshal(data, into); err != nil {
			t.Fatal(err)
		}
	}
	return data
}

// readIndex reads the tags of a layout.
func readIndex(t *testing.T, dir string) map[string]v1.Descriptor {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var index v1.Index
	if err := json.Unmarshal(data, &index); err != nil {
		t.Fatal(err)
	}
	tags := map[string]v1.Descriptor{}
	for _, d := range index.Manifests {
		tags[d.Annotations[v1.AnnotationRefName]] = d
	}
	return tags
}

// readImage returns the configuration of an image, and what its last layer has: "mode owner" by path, and the contents.
func readImage(t *testing.T, dir string, d v1.Descriptor) (v1.Image, map[string]string, map[string][]byte) {
	t.Helper()
	var manifest v1.Manifest
	var image v1.Image
	readBlob(t, dir, d, &manifest)
	readBlob(t, dir, manifest.Config, &image)
	if len(image.RootFS.DiffIDs) != len(manifest.Layers) {
		t.Fatalf("%d layers, and digests of %d", len(manifest.Layers), len(image.RootFS.DiffIDs))
	}
	modes, contents := map[string]string{}, map[string][]byte{}
	for i, l := range manifest.Layers {
		zip, err := gzip.NewReader(bytes.NewReader(readBlob(t, dir, l, nil)))
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(zip)
		if err != nil {
			t.Fatal(err)
		}
		if diff := image.RootFS.DiffIDs[i]; diff.Algorithm().FromBytes(data) != diff {
			t.Errorf("layer %d is not what the configuration says", i)
		}
		clear(modes)
		for archive := tar.NewReader(bytes.NewReader(data)); ; {
			h, err := archive.Next()
			if errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			if !h.ModTime.Equal(commit) {
				t.Errorf("%s is of %v", h.Name, h.ModTime)
			}
			modes[h.Name] = fmt.Sprintf("%04o %d:%d", h.Mode, h.Uid, h.Gid)
			if contents[h.Name], err = io.ReadAll(archive); err != nil {
				t.Fatal(err)
			}
		}
	}
	return image, modes, contents
}

// The same packages give the same image, and the archive is the folder.
func TestTwiceTheSame(t *testing.T) {
	t.Parallel()
	var made [][]byte
	for range 2 {
		dir := packages(t, "callgate-1.2.3-linux-amd64")
		for range 2 { // again into the same folder
			if err := run(dir, "", ""); err != nil {
				t.Fatal(err)
			}
		}
		data, err := os.ReadFile(filepath.Join(dir, "callgate-1.2.3-image.tar"))
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, data)
		sums, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
		if err != nil || bytes.Count(sums, []byte("  callgate-1.2.3-image.tar\n")) != 1 {
			t.Errorf("SHA256SUMS has %q, %v", sums, err)
		}
		for archive := tar.NewReader(bytes.NewReader(data)); ; {
			h, err := archive.Next()
			if errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			inside, err := io.ReadAll(archive)
			if err != nil {
				t.Fatal(err)
			}
			file, err := os.ReadFile(filepath.Join(dir, "image", h.Name))
			if h.Name == "index.json" {
				file, err = onlyIndex(t, filepath.Join(dir, "image")), nil
			}
			if err != nil || !bytes.Equal(file, inside) {
				t.Errorf("%s is not that of the folder: %v\n%s", h.Name, err, inside)
			}
		}
	}
	if !bytes.Equal(made[0], made[1]) {
		t.Error("the image is not twice the same")
	}
}

// onlyIndex is the list of an archive: the index of the folder, under its whole name.
func onlyIndex(t *testing.T, dir string) []byte {
	t.Helper()
	d := readIndex(t, dir)["1.2.3"]
	return fmt.Appendf(nil, `{"schemaVersion":2,"mediaType":%q,"manifests":[{"mediaType":%q,"digest":%q,"size":%d,`+
		`"annotations":{"io.containerd.image.name":%q,"org.opencontainers.image.ref.name":%[5]q}}]}`,
		v1.MediaTypeImageIndex, v1.MediaTypeImageIndex, d.Digest, d.Size, "localhost/callgate:1.2.3")
}

func TestImage(t *testing.T) {
	t.Parallel()
	dir := packages(t, "callgate-1.2.3-linux-amd64", "callgate-1.2.3-linux-arm64", "callgate-1.2.3-darwin-arm64")
	if err := run(dir, "", ""); err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "image")
	tags := readIndex(t, dir)
	var index v1.Index
	readBlob(t, dir, tags["1.2.3"], &index)
	if len(tags) != 3 || len(index.Manifests) != 2 || tags["1.2.3-arm64"].Digest != index.Manifests[1].Digest ||
		index.Manifests[1].Platform.Architecture != "arm64" {
		t.Fatalf("tags %v, index %v", tags, index.Manifests)
	}
	image, modes, contents := readImage(t, dir, tags["1.2.3-amd64"])
	if c := image.Config; c.User != "65532:65532" || c.WorkingDir != "/workspace" || image.Architecture != "amd64" ||
		c.Labels["org.opencontainers.image.version"] != "1.2.3" || len(c.Volumes) != 1 {
		t.Errorf("configuration %+v", image)
	}
	for path, want := range map[string]string{
		"usr/bin/callgate": "0755 0:0", "tmp/": "1777 0:0", "var/lib/callgate/": "0700 65532:65532",
		"workspace/": "0755 65532:65532", "etc/passwd": "0644 0:0", "var/": "0755 0:0",
	} {
		if modes[path] != want {
			t.Errorf("%s is %q, not %q", path, modes[path], want)
		}
	}
	if !strings.HasPrefix(string(contents["etc/passwd"]), "callgate:x:65532:65532:") {
		t.Errorf("passwd: %s", contents["etc/passwd"])
	}
	roots := 0
	for rest := contents["etc/ssl/certs/ca-certificates.crt"]; ; roots++ {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			t.Error(err)
		}
	}
	if roots < 50 {
		t.Errorf("%d roots of trust", roots)
	}
}

func TestBase(t *testing.T) {
	t.Parallel()
	dir, base := packages(t, "callgate-1.2.3-linux-amd64"), filepath.Join(t.TempDir(), "base.tar")
	err := os.WriteFile(base, tarred(t, map[string][]byte{
		"./etc/passwd": []byte("root:x:0:0:root:/root:/bin/bash\n"), "./etc/group": []byte("root:x:0:\n"),
		"./bin/sh": []byte("sh"),
	}), 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if err := run(dir, base, "debian"); err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "image-debian")
	_, modes, contents := readImage(t, dir, readIndex(t, dir)["1.2.3-debian-amd64"])
	want := "root:x:0:0:root:/root:/bin/bash\ncallgate:x:65532:"
	if got := string(contents["etc/passwd"]); !strings.HasPrefix(got, want) {
		t.Errorf("passwd: %s", got)
	}
	if modes["tmp/"] != "" || modes["etc/ssl/certs/ca-certificates.crt"] != "" || contents["./bin/sh"] == nil {
		t.Errorf("the base's own files are not kept: %v", modes)
	}
}

// The files of deploy run the image of this version.
func TestDeployedVersion(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../../internal/version/version.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(source), "const Version = \"")
	version, _, ok := strings.Cut(rest, "\"")
	if !ok {
		t.Fatal("the source says no version")
	}
	for file, want := range map[string]string{
		"compose.yaml":                  ":-localhost/callgate:" + version + "}\n",
		"kubernetes/kustomization.yaml": "newTag: " + version + "\n",
	} {
		if data, err := os.ReadFile("../../deploy/" + file); err != nil || !strings.Contains(string(data), want) {
			t.Errorf("deploy/%s does not have %q: %v", file, want, err)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	noSystem := filepath.Join(t.TempDir(), "base.tar")
	if err := os.WriteFile(noSystem, tarred(t, map[string][]byte{"a": nil}), 0o644); err != nil {
		t.Fatal(err)
	}
	amd, arm := "callgate-1.2.3-linux-amd64", "callgate-1.2.3-linux-arm64"
	for name, c := range map[string]struct {
		packages   []string
		base, tag  string
		wantInside string
	}{
		"nothing":         {nil, "", "", "run make packages"},
		"two versions":    {[]string{amd, "callgate-1.3.0-linux-arm64"}, "", "", "two versions"},
		"base, no name":   {[]string{amd}, noSystem, "", "needs a name"},
		"base for two":    {[]string{amd, arm}, noSystem, "x", "one architecture"},
		"no file system":  {[]string{amd}, noSystem, "x", "it is no file system"},
		"base is missing": {[]string{amd}, noSystem + "x", "x", "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := run(packages(t, c.packages...), c.base, c.tag)
			if err == nil || !strings.Contains(err.Error(), c.wantInside) {
				t.Errorf("it says %v", err)
			}
		})
	}
}
