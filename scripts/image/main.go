// Image makes a container image of the programs that make packages built, without a container engine.
//
//	image [-from DIR] [-base FILE -name NAME]
//
// DIR has the archives callgate-VERSION-linux-ARCH.tar.gz. The image is written there twice: as the folder image, an
// OCI image layout with the tags VERSION, an index of all architectures, and VERSION-ARCH, and as the archive
// callgate-VERSION-image.tar, from which podman and docker load localhost/callgate:VERSION.
//
// Without a base there is the program and nothing beside it: no shell, no git. With one, the tar archive of a file
// system for one architecture, the tags and the files have its name too.
//
// # Law
//
// The same packages give the same bytes. Every time is that of the archives, which is that of the commit; the roots of
// trust are those of a module whose version is pinned, and not those of this machine.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

func main() {
	from := flag.String("from", "dist", "the `DIR` with the archives of the packages; the image goes there too")
	base := flag.String("base", "", "a tar `FILE` with the file system below the program; none: the program alone")
	name := flag.String("name", "", "what the image with this base is called, for example debian")
	flag.Parse()
	if err := run(*from, *base, *name); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(dir, base, name string) error {
	if (base == "") != (name == "") {
		return errors.New("a base needs a name, and a name a base: give -base and -name")
	}
	releases, err := readReleases(dir)
	if err != nil {
		return err
	}
	if base != "" && len(releases) != 1 {
		return fmt.Errorf("a base is for one architecture, and %s has archives for %d", dir, len(releases))
	}
	tag, folder := releases[0].version, "image"
	if name != "" {
		tag, folder = tag+"-"+name, folder+"-"+name
	}
	out, err := newLayout(filepath.Join(dir, folder))
	if err != nil {
		return err
	}
	var manifests []v1.Descriptor
	for _, r := range releases {
		layers, err := layersOf(out, r, base)
		if err != nil {
			return fmt.Errorf("%s: %w", r.arch, err)
		}
		manifest, err := out.image(r, layers)
		if err != nil {
			return fmt.Errorf("%s: %w", r.arch, err)
		}
		manifests = append(manifests, manifest)
	}
	index, err := out.close(tag, manifests)
	if err != nil {
		return err
	}
	archive := filepath.Join(dir, strings.Join([]string{"callgate", tag, "image.tar"}, "-"))
	if err := out.archive(archive, index, "localhost/callgate:"+tag, releases[0].time); err != nil {
		return err
	}
	fmt.Printf("%s\n%s\n%s\n", out.dir, archive, index.Digest)
	return addSum(dir, archive)
}
