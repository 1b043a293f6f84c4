package content

import (
	"testing"

	"github.com/chromedp/cdproto/cdp"
)

func TestReferences(t *testing.T) {
	r := newReferences()
	key := func(backend int) elementKey { return elementKey{"frame", cdp.BackendNodeID(backend)} }
	first := r.present()
	save, send := r.refer(first, key(1), `button "Save"`), r.refer(first, key(2), `button "Send"`)
	if save == send || r.refer(first, key(1), `button "Save"`) != save {
		t.Errorf("two elements are %s and %s", save, send)
	}
	if r.refer(first, elementKey{"other", 1}, "button") == save {
		t.Error("elements of two frames share a reference")
	}
	if e, ok := r.find(send); !ok || e.backend != 2 || e.what != `button "Send"` {
		t.Errorf("%s names %+v, %v", send, e, ok)
	}
	r.reset()
	if _, ok := r.find(save); ok {
		t.Error("a reference outlived its document")
	}
	late := r.refer(first, key(3), "button")
	if _, ok := r.find(late); ok {
		t.Error("an element of a document that was left got a reference that holds")
	}
	for _, old := range []string{save, send, late} {
		if again := r.refer(r.present(), key(1), `button "Save"`); again == old {
			t.Errorf("the reference %s was used twice", old)
		}
	}
}

// Whatever the order of documents and elements, a reference names the element that it
// was made for, or none.
func FuzzReferences(f *testing.F) {
	f.Add([]byte{1, 2, 1, 0, 1, 2, 129, 0, 130})
	f.Fuzz(func(t *testing.T, steps []byte) {
		r := newReferences()
		made := map[string]elementKey{} // of all documents
		document := r.present()
		for _, step := range steps {
			if step == 0 {
				r.reset()
				continue
			}
			if step < 128 { // otherwise the tree of an earlier document is still being written
				document = r.present()
			}
			key := elementKey{"f", cdp.BackendNodeID(step & 127)}
			ref := r.refer(document, key, "")
			if before, ok := made[ref]; ok && before != key {
				t.Fatalf("%s named %v, and now %v", ref, before, key)
			}
			made[ref] = key
		}
		for ref, key := range made {
			if e, ok := r.find(ref); ok && e.elementKey != key {
				t.Fatalf("%s names %v, want %v", ref, e.elementKey, key)
			}
		}
	})
}
