package imports

import (
	"slices"
	"testing"

	"callgate/internal/importer"
)

// The files are listed once each, in the order in which servers were found.
func TestSourcesOf(t *testing.T) {
	t.Parallel()
	a, b := importer.Source{Client: "cursor", Path: "/a"}, importer.Source{Client: "cursor", Path: "/b"}
	other := importer.Source{Client: "zed", Path: "/a"}
	found := func(all ...importer.Source) (list []importer.FoundServer) {
		for _, s := range all {
			list = append(list, importer.FoundServer{Source: s})
		}
		return list
	}
	if got := sourcesOf(found(b, a, b, other, a)); !slices.Equal(got, []importer.Source{b, a, other}) {
		t.Errorf("got %v", got)
	}
	if got := sourcesOf(nil); len(got) > 0 {
		t.Errorf("nothing was found, and yet %v", got)
	}
}
