package storagetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"callgate/internal/artifact"
	"callgate/internal/storage"
	"callgate/tool"
)

// Blobs tests a driver's artifact.Blobs.
func Blobs(t *testing.T, open Open) {
	each(t, open, map[string]func(*testing.T, storage.Driver){
		"RoundTrip":     blobRoundTrip,
		"PutTwice":      putsBlobTwice,
		"FailingSource": keepsNoHalfBlob,
		"Lists":         listsBlobs,
		"Deletes":       deletesBlobs,
		"BadRefs":       refusesBadRefs,
		"Concurrent":    putsBlobsAtOnce,
		"CarriesAStore": carriesAStore,
	})
	t.Run("Persists", func(t *testing.T) { blobsPersist(t, open) })
}

func refOf(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }

func mustPut(t *testing.T, b artifact.Blobs, data string) string {
	t.Helper()
	ref := refOf([]byte(data))
	if err := b.Put(t.Context(), ref, int64(len(data)), strings.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	return ref
}

func readBlob(t *testing.T, b artifact.Blobs, ref string) ([]byte, error) {
	t.Helper()
	r, err := b.Open(t.Context(), ref)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

func blobRoundTrip(t *testing.T, d storage.Driver) {
	b := d.Stores().Blobs
	for _, data := range [][]byte{nil, {0}, []byte("text"), bytes.Repeat([]byte("large "), 1<<20)} {
		if err := b.Put(t.Context(), refOf(data), int64(len(data)), bytes.NewReader(data)); err != nil {
			t.Fatal(err)
		}
		if got, err := readBlob(t, b, refOf(data)); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes came back as %d, %v", len(data), len(got), err)
		}
	}
	_, err := readBlob(t, b, refOf([]byte("none")))
	isKind(t, "a blob that is absent", err, tool.NotFound)
}

// putsBlobTwice: a blob that is there need not be read again, and counts as
// stored now.
func putsBlobTwice(t *testing.T, d storage.Driver) {
	b := d.Stores().Blobs
	ref := mustPut(t, b, "text")
	before := stored(t, b, ref)
	if err := b.Put(t.Context(), ref, 4, strings.NewReader("text")); err != nil {
		t.Fatal(err)
	}
	if after := stored(t, b, ref); after.Before(before) {
		t.Errorf("stored at %v, and before at %v", after, before)
	}
	if got, err := readBlob(t, b, ref); err != nil || string(got) != "text" {
		t.Errorf("got %q, %v", got, err)
	}
}

func stored(t *testing.T, b artifact.Blobs, ref string) time.Time {
	t.Helper()
	list, err := b.List(t.Context(), "", 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, blob := range list {
		if blob.Ref == ref {
			return blob.Stored
		}
	}
	t.Fatalf("%s is not listed", ref)
	return time.Time{}
}

func keepsNoHalfBlob(t *testing.T, d storage.Driver) {
	b := d.Stores().Blobs
	ref := refOf([]byte("the whole text"))
	for name, source := range map[string]io.Reader{
		"a source that fails": io.MultiReader(strings.NewReader("the"), iotest.ErrReader(fmt.Errorf("broken"))),
		"too few bytes":       strings.NewReader("the"),
		"too many bytes":      strings.NewReader("the whole text, and more"),
	} {
		if b.Put(t.Context(), ref, 14, source) == nil {
			t.Errorf("%s: it was kept", name)
		}
		_, err := readBlob(t, b, ref)
		isKind(t, name, err, tool.NotFound)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	isKind(t, "a context that has ended", b.Put(ctx, ref, 14, strings.NewReader("the whole text")), tool.Cancelled)
	if list, err := b.List(t.Context(), "", 10); err != nil || len(list) != 0 {
		t.Errorf("refused puts left %v, %v", list, err)
	}
}

func listsBlobs(t *testing.T, d storage.Driver) {
	b := d.Stores().Blobs
	if list, err := b.List(t.Context(), "", 10); err != nil || len(list) != 0 {
		t.Errorf("nothing is listed as %v, %v", list, err)
	}
	var refs []string
	for n := range 40 {
		refs = append(refs, mustPut(t, b, strings.Repeat("x", n)))
	}
	slices.Sort(refs)
	var listed []string
	for after := ""; ; {
		list, err := b.List(t.Context(), after, 7)
		if err != nil || len(list) > 7 {
			t.Fatalf("%d, %v", len(list), err)
		}
		if len(list) == 0 {
			break
		}
		for _, blob := range list {
			listed = append(listed, blob.Ref)
			if got, err := readBlob(t, b, blob.Ref); err != nil || int64(len(got)) != blob.Size {
				t.Errorf("%s has %d bytes, and is listed with %d, %v", blob.Ref, len(got), blob.Size, err)
			}
		}
		after = list[len(list)-1].Ref
	}
	if !slices.Equal(listed, refs) {
		t.Errorf("listed %q, want %q", listed, refs)
	}
}

func deletesBlobs(t *testing.T, d storage.Driver) {
	b := d.Stores().Blobs
	old := mustPut(t, b, "old")
	hour := time.Hour
	for _, tt := range []struct {
		name   string
		ref    string
		before time.Time
		want   bool
	}{
		{"stored too lately", old, time.Now().Add(-hour), false},
		{"stored before", old, time.Now().Add(hour), true},
		{"a second time", old, time.Now().Add(hour), false},
		{"never stored", refOf([]byte("none")), time.Now().Add(hour), false},
	} {
		if gone, err := b.Delete(t.Context(), tt.ref, tt.before); err != nil || gone != tt.want {
			t.Errorf("%s: %v, %v", tt.name, gone, err)
		}
	}
	_, err := readBlob(t, b, old)
	isKind(t, "after deleting it", err, tool.NotFound)
	mustPut(t, b, "old")
	if got, err := readBlob(t, b, old); err != nil || string(got) != "old" {
		t.Errorf("stored again: %q, %v", got, err)
	}
}

func refusesBadRefs(t *testing.T, d storage.Driver) {
	b := d.Stores().Blobs
	for _, ref := range []string{
		"", "x", "sha256:", "sha256:../x", "sha256:" + strings.Repeat("g", 64), strings.ToUpper(refOf(nil)),
	} {
		isKind(t, "put "+ref, b.Put(t.Context(), ref, 1, strings.NewReader("x")), tool.Invalid)
		_, err := b.Open(t.Context(), ref)
		isKind(t, "open "+ref, err, tool.Invalid)
		_, err = b.Delete(t.Context(), ref, time.Now())
		isKind(t, "delete "+ref, err, tool.Invalid)
	}
}

// putsBlobsAtOnce: what was put a moment ago is never deleted as old.
func putsBlobsAtOnce(t *testing.T, d storage.Driver) {
	b := d.Stores().Blobs
	past := time.Now().Add(-time.Hour)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for n := range 10 {
				data := fmt.Sprint("text ", n)
				if err := b.Put(context.Background(), refOf([]byte(data)), int64(len(data)), strings.NewReader(data)); err != nil {
					t.Error(err)
				}
				if _, err := b.Delete(context.Background(), refOf([]byte(data)), past); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if list, err := b.List(t.Context(), "", 100); err != nil || len(list) != 10 {
		t.Errorf("%d blobs are left, %v", len(list), err)
	}
}

// carriesAStore: what uses blobs works on these.
func carriesAStore(t *testing.T, d storage.Driver) {
	s := artifact.New(d.Stores().Blobs)
	ref, err := s.PutFrom(t.Context(), iotest.OneByteReader(strings.NewReader("text")))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Get(t.Context(), ref); err != nil || string(got) != "text" {
		t.Errorf("got %q, %v", got, err)
	}
	if usage, err := s.Usage(t.Context()); err != nil || usage != (artifact.Usage{Count: 1, Bytes: 4}) {
		t.Errorf("usage %+v, %v", usage, err)
	}
	removed, err := s.DeleteUnused(t.Context(), func(string) bool { return false }, time.Now().Add(time.Hour))
	if err != nil || removed.Count != 1 {
		t.Errorf("removed %+v, %v", removed, err)
	}
}

func blobsPersist(t *testing.T, open Open) {
	reopen(t, open, func(t *testing.T, n int, d storage.Driver) {
		b := d.Stores().Blobs
		for earlier := range n {
			data := fmt.Sprint("start ", earlier)
			if got, err := readBlob(t, b, refOf([]byte(data))); err != nil || string(got) != data {
				t.Errorf("start %d reads %q, %v", n, got, err)
			}
		}
		mustPut(t, b, fmt.Sprint("start ", n))
	})
}
