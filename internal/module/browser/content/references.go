package content

import (
	"strconv"
	"sync"

	"github.com/chromedp/cdproto/cdp"
)

// references are the short names, such as e12, of the elements that a caller was
// shown. They hold as long as their document.
type references struct {
	mu       sync.Mutex
	document int // number of documents so far
	last     int // number of the last reference; it is never used again
	elements map[string]elementRef
	names    map[elementKey]string
}

// elementRef is the element that a reference names.
type elementRef struct {
	elementKey
	what string // in words: button "Save"
}

// elementKey identifies an element: it keeps its reference as long as its document.
type elementKey struct {
	frame   cdp.FrameID
	backend cdp.BackendNodeID
}

func newReferences() *references {
	return &references{elements: map[string]elementRef{}, names: map[elementKey]string{}}
}

// reset begins a new document.
func (r *references) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.document++
	clear(r.elements)
	clear(r.names)
}

// present returns the number of the present document.
func (r *references) present() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.document
}

// refer returns the reference of an element of a document. If the document was left,
// the reference names nothing.
func (r *references) refer(document int, key elementKey, what string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	ref, ok := r.names[key]
	if !ok {
		r.last++
		ref = "e" + strconv.Itoa(r.last)
	}
	if r.document == document {
		r.names[key] = ref
		r.elements[ref] = elementRef{key, what}
	}
	return ref
}

// find returns the element that a reference names.
func (r *references) find(ref string) (elementRef, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.elements[ref]
	return e, ok
}
