package main

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

// layout is a folder with an image, as the OCI image layout specification says.
type layout struct{ dir string }

// newLayout empties the folder.
func newLayout(dir string) (layout, error) {
	if err := os.RemoveAll(dir); err != nil {
		return layout{}, err
	}
	return layout{dir}, os.MkdirAll(filepath.Join(dir, v1.ImageBlobsDir, string(digest.Canonical)), 0o755)
}

// layersOf writes the layers of an image: the base, if there is one, then the program.
func layersOf(out layout, r release, base string) ([]layerBlob, error) {
	entries := programEntries(r, nil)
	var blobs []layerBlob
	if base == "" {
		entries = append(bareEntries(), entries...)
	} else {
		accounts, err := readAccounts(base)
		if err != nil {
			return nil, err
		}
		entries = programEntries(r, accounts)
		f, err := os.Open(base)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		l, err := compress(f)
		if err != nil {
			return nil, err
		}
		if blobs, err = out.layer(blobs, l); err != nil {
			return nil, err
		}
	}
	l, err := newLayer(entries, r.time)
	if err != nil {
		return nil, err
	}
	return out.layer(blobs, l)
}

// layerBlob is a layer that is written.
type layerBlob struct {
	v1.Descriptor
	diff digest.Digest
}

func (l layout) layer(before []layerBlob, one layer) ([]layerBlob, error) {
	d, err := l.blob(v1.MediaTypeImageLayerGzip, one.data)
	return append(before, layerBlob{d, one.diff}), err
}

// blob writes bytes under their digest.
func (l layout) blob(mediaType string, data []byte) (v1.Descriptor, error) {
	sum := digest.FromBytes(data)
	name := filepath.Join(l.dir, v1.ImageBlobsDir, string(sum.Algorithm()), sum.Encoded())
	d := v1.Descriptor{MediaType: mediaType, Digest: sum, Size: int64(len(data))}
	return d, os.WriteFile(name, data, 0o644)
}

func (l layout) document(mediaType string, v any) (v1.Descriptor, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return v1.Descriptor{}, err
	}
	return l.blob(mediaType, data)
}

// image writes the configuration and the manifest of one architecture.
func (l layout) image(r release, layers []layerBlob) (v1.Descriptor, error) {
	platform := v1.Platform{OS: "linux", Architecture: r.arch}
	labels := map[string]string{
		v1.AnnotationTitle: "callgate", v1.AnnotationVersion: r.version, v1.AnnotationLicenses: "Apache-2.0",
		v1.AnnotationDescription: "A gate between language models and their tools",
		v1.AnnotationCreated:     r.time.Format(time.RFC3339),
	}
	if r.revision != "" {
		labels[v1.AnnotationRevision] = r.revision
	}
	image := v1.Image{
		Created: &r.time, Platform: platform, RootFS: v1.RootFS{Type: "layers"},
		Config: v1.ImageConfig{
			User: "65532:65532", WorkingDir: workspace, Labels: labels, StopSignal: "SIGTERM",
			Entrypoint: []string{"/usr/bin/callgate"}, Cmd: []string{"up"},
			Env: []string{
				"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + home,
				"CALLGATE_STATE=" + state, "CALLGATE_KEYRING=off", "XDG_CONFIG_HOME=/etc",
			},
			Volumes:      map[string]struct{}{home: {}},
			ExposedPorts: map[string]struct{}{"7420/tcp": {}},
		},
	}
	manifest := v1.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageManifest}
	for _, one := range layers {
		image.RootFS.DiffIDs = append(image.RootFS.DiffIDs, one.diff)
		image.History = append(image.History, v1.History{Created: &r.time, CreatedBy: "callgate/scripts/image"})
		manifest.Layers = append(manifest.Layers, one.Descriptor)
	}
	config, err := l.document(v1.MediaTypeImageConfig, image)
	if err != nil {
		return v1.Descriptor{}, err
	}
	manifest.Config, manifest.Annotations = config, labels
	d, err := l.document(v1.MediaTypeImageManifest, manifest)
	d.Platform = &platform
	return d, err
}

// close writes the list of tags, and returns the index that has the images of all architectures.
func (l layout) close(tag string, manifests []v1.Descriptor) (v1.Descriptor, error) {
	index := v1.Index{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageIndex, Manifests: manifests,
	}
	all, err := l.document(v1.MediaTypeImageIndex, index)
	if err != nil {
		return all, err
	}
	tagged := func(d v1.Descriptor, tag string) v1.Descriptor {
		d.Annotations = map[string]string{v1.AnnotationRefName: tag}
		return d
	}
	index.Manifests = []v1.Descriptor{tagged(all, tag)}
	for _, m := range manifests { // for tools that do not look into an index
		index.Manifests = append(index.Manifests, tagged(m, tag+"-"+m.Platform.Architecture))
	}
	list, err := json.Marshal(index)
	if err != nil {
		return all, err
	}
	mark, err := json.Marshal(v1.ImageLayout{Version: v1.ImageLayoutVersion})
	return all, errors.Join(err, os.WriteFile(filepath.Join(l.dir, v1.ImageIndexFile), list, 0o644),
		os.WriteFile(filepath.Join(l.dir, v1.ImageLayoutFile), mark, 0o644))
}

// archiveName is the annotation by which docker load names an image.
const archiveName = "io.containerd.image.name"

// archive writes the folder as one file with one image, the index, under its full name: podman load takes no file with
// several.
func (l layout) archive(to string, index v1.Descriptor, name string, when time.Time) error {
	index.Annotations = map[string]string{v1.AnnotationRefName: name, archiveName: name}
	list, err := json.Marshal(v1.Index{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageIndex, Manifests: []v1.Descriptor{index},
	})
	if err != nil {
		return err
	}
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	w := tar.NewWriter(f)
	err = filepath.WalkDir(l.dir, func(name string, d fs.DirEntry, err error) error { // in the order of names
		if err != nil || d.IsDir() {
			return err
		}
		inside, err := filepath.Rel(l.dir, name)
		if err != nil {
			return err
		}
		data := list
		if inside != v1.ImageIndexFile {
			if data, err = os.ReadFile(name); err != nil {
				return err
			}
		}
		err = w.WriteHeader(&tar.Header{
			Typeflag: tar.TypeReg, Name: filepath.ToSlash(inside), Mode: 0o644, Size: int64(len(data)), ModTime: when,
			Format: tar.FormatUSTAR,
		})
		if err == nil {
			_, err = w.Write(data)
		}
		return err
	})
	return errors.Join(err, w.Close(), f.Close())
}
