// Package element does to the elements of a page what a person would: clicks,
// types, chooses, looks.
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

// Element is an element of a page that was found, and is held.
type Element struct {
	What   string // in words: button "Save"
	Others int    // how many more a selector names

	all    frames.Frames
	frame  *frames.Frame
	object runtime.RemoteObjectID
	page   *devtools.Session // where the mouse and the keyboard are
}

// FromObject makes an element of what is held in a frame. Without words for it, it
// is asked what it is.
func FromObject(ctx context.Context, all frames.Frames, f *frames.Frame, object runtime.RemoteObjectID, what string) (*Element, error) {
	e := &Element{What: what, all: all, frame: f, object: object, page: all[0].Session}
	if what != "" {
		return e, nil
	}
	k, err := e.describe(ctx)
	e.What = k.describe()
	return e, err
}

// FromBackendID takes hold of the element that the browser has under a number, or
// that the text under it stands in.
func FromBackendID(ctx context.Context, all frames.Frames, f *frames.Frame, backend cdp.BackendNodeID, what string) (*Element, error) {
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

// Release lets go of the element.
func (e *Element) Release() { e.frame.Release() }

// Stale is the error for an element that is no longer there.
func Stale(what string) error {
	return tool.Errorf(op, tool.NotFound, "%s is out of date: the page was left or changed since it was read", what).
		WithHint(`read the page again with web.browse.read, format "tree", and use a reference from there`)
}

// run runs one of our scripts on the element.
func (e *Element) run(ctx context.Context, name string, result any, args ...any) error {
	return e.frame.CallOn(ctx, e.object, name, result, args...)
}

// kind is what an element is.
type kind struct {
	Tag, Type, Label string
	Editable         bool
	Readonly         bool
	Value            string
	Filled           bool
}

func (e *Element) describe(ctx context.Context) (kind, error) {
	var k kind
	err := e.run(ctx, "describe", &k)
	return k, err
}

// describe is the element in words, where its role is not known.
func (k kind) describe() string {
	what := k.Tag
	if k.Type != "" {
		what += " (" + k.Type + ")"
	}
	if k.Label != "" {
		what += fmt.Sprintf(" %q", k.Label)
	}
	return what
}
