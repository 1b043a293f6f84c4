// Package element uses the elements of a page as a person would: it clicks, types,
// chooses and takes pictures.
package element

import (
	"context"
	"fmt"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/runtime"

	"callgate/internal/module/browser/devtools"
	"callgate/internal/module/browser/frames"
	"callgate/tool"
)

const op = "web.browse"

// Element is an element of a page. It is valid until Release.
type Element struct {
	What   string // in words: button "Save"
	Others int    // number of further elements that the selector matches

	all    frames.Frames
	frame  *frames.Frame
	object runtime.RemoteObjectID
	page   *devtools.Session // takes the events of mouse and keyboard
}

// FromObject returns the element of a handle in a frame. Without what, the page is asked
// for a description.
func FromObject(
	ctx context.Context, all frames.Frames, f *frames.Frame, object runtime.RemoteObjectID, what string,
) (*Element, error) {
	e := &Element{What: what, all: all, frame: f, object: object, page: all[0].Session}
	if what != "" {
		return e, nil
	}
	p, err := e.properties(ctx)
	e.What = p.String()
	return e, err
}

// FromBackendID returns the element with a backend id, or the element around the text
// with that id.
func FromBackendID(
	ctx context.Context, all frames.Frames, f *frames.Frame, backend cdp.BackendNodeID, what string,
) (*Element, error) {
	object, err := f.ResolveNode(ctx, backend)
	if err != nil {
		return nil, err
	}
	e, err := FromObject(ctx, all, f, object, what)
	if err != nil {
		return nil, err
	}
	var o runtime.RemoteObject
	if err := e.run(ctx, "element", &o); err != nil {
		return nil, err
	}
	if e.object = o.ObjectID; e.object == "" {
		return nil, Stale(what)
	}
	return e, nil
}

// Release releases the handles of the element's frame.
func (e *Element) Release() { e.frame.Release() }

// Stale returns the error for an element that no longer exists.
func Stale(what string) error {
	return tool.Errorf(op, tool.NotFound, "%s is out of date: the page was left or changed since it was read", what).
		WithHint(`read the page again with web.browse.read, format "tree", and use a reference from there`)
}

// run runs one of our scripts on the element.
func (e *Element) run(ctx context.Context, name string, result any, args ...any) error {
	return e.frame.CallOn(ctx, e.object, name, result, args...)
}

// properties are what a script finds out about an element.
type properties struct {
	Tag, Type, Label string
	Editable         bool
	Readonly         bool
	Value            string
	Filled           bool
}

func (e *Element) properties(ctx context.Context) (properties, error) {
	var p properties
	err := e.run(ctx, "describe", &p)
	return p, err
}

// String describes an element whose role is not known.
func (p properties) String() string {
	what := p.Tag
	if p.Type != "" {
		what += " (" + p.Type + ")"
	}
	if p.Label != "" {
		what += fmt.Sprintf(" %q", p.Label)
	}
	return what
}
