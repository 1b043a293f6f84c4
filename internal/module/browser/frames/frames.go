// Package frames is the documents of a page: its own, and those in its frames,
// whatever process they have, each with a world of ours in which scripts run
// that the page can neither see nor change.
package frames

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	cdpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"

	"callgate/internal/module/browser/devtools"
)

// The scripts, each one function.
//
//go:embed js/*.js
var scripts embed.FS

func script(name string) string {
	text, err := scripts.ReadFile("js/" + name + ".js")
	if err != nil {
		panic(err) // a name that is not there: seen by the first test
	}
	return string(text)
}

// Frame is a document within a page, and the world in it where our scripts
// run; 0 where it went before we could enter it.
type Frame struct {
	Session *devtools.Session
	ID      cdp.FrameID
	Parent  cdp.FrameID
	URL     string
	World   runtime.ExecutionContextID
}

// Frames are the documents of a page, the page's own first.
type Frames []*Frame

// Most bounds the frames of a page that are looked into.
const Most = 50

// List finds the documents of a page in its sessions, that of the page itself
// first.
func List(ctx context.Context, sessions []*devtools.Session) (Frames, error) {
	replies := make([]*devtools.PendingReply, len(sessions))
	for i, s := range sessions {
		replies[i] = devtools.Start(s, cdpage.GetFrameTree, cdp.Empty{})
	}
	var all Frames
	for i, r := range replies {
		var got cdpage.GetFrameTreeResult
		if err := r.Wait(ctx, &got); err != nil {
			if i == 0 || ctx.Err() != nil {
				return nil, err
			}
			continue // a frame that just went
		}
		all = flatten(all, sessions[i], got.FrameTree)
	}
	return all, all.enter(ctx)
}

func flatten(all Frames, s *devtools.Session, tree *cdpage.FrameTree) Frames {
	if tree == nil || tree.Frame == nil || len(all) >= Most {
		return all
	}
	all = append(all, &Frame{Session: s, ID: tree.Frame.ID, Parent: tree.Frame.ParentID, URL: tree.Frame.URL + tree.Frame.URLFragment})
	for _, c := range tree.ChildFrames {
		all = flatten(all, s, c)
	}
	return all
}

// enter opens our world in each frame. One that just went is left without.
func (all Frames) enter(ctx context.Context) error {
	replies := make([]*devtools.PendingReply, len(all))
	for i, f := range all {
		replies[i] = devtools.Start(f.Session, cdpage.CreateIsolatedWorld, cdpage.CreateIsolatedWorldParams{FrameID: f.ID, WorldName: "callgate"})
	}
	for i, r := range replies {
		var got cdpage.CreateIsolatedWorldResult
		if err := r.Wait(ctx, &got); err != nil && (i == 0 || ctx.Err() != nil) {
			return err
		}
		all[i].World = got.ExecutionContextID
	}
	return nil
}

// Of enters one document.
func Of(ctx context.Context, s *devtools.Session, id cdp.FrameID) (*Frame, error) {
	f := &Frame{Session: s, ID: id}
	return f, Frames{f}.enter(ctx)
}

var errGone = errors.New("the frame is gone")

// Call runs one of our scripts in the frame and reads what it returns.
func (f *Frame) Call(ctx context.Context, name string, result any, args ...any) error {
	if f.World == 0 {
		return errGone
	}
	return f.run(ctx, runtime.CallFunctionOnParams{FunctionDeclaration: script(name), ExecutionContextID: f.World, ReturnByValue: new(true)}, result, args)
}

// CallForElement runs one of our scripts in the frame and holds on to the element that
// it returns, or "" for none.
func (f *Frame) CallForElement(ctx context.Context, name string, args ...any) (runtime.RemoteObjectID, error) {
	if f.World == 0 {
		return "", nil
	}
	var o runtime.RemoteObject
	err := f.run(ctx, runtime.CallFunctionOnParams{FunctionDeclaration: script(name), ExecutionContextID: f.World, ObjectGroup: objects}, &o, args)
	return o.ObjectID, err
}

// CallOn runs one of our scripts on an element that is held, or on another
// object. A result of the type of remote objects is held too.
func (f *Frame) CallOn(ctx context.Context, object runtime.RemoteObjectID, name string, result any, args ...any) error {
	p := runtime.CallFunctionOnParams{FunctionDeclaration: script(name), ObjectID: object, ObjectGroup: objects}
	if _, held := result.(*runtime.RemoteObject); !held {
		p.ReturnByValue = new(true)
	}
	return f.run(ctx, p, result, args)
}

// ResolveNode takes hold of an element by the browser's number for it.
func (f *Frame) ResolveNode(ctx context.Context, backend cdp.BackendNodeID) (runtime.RemoteObjectID, error) {
	got, err := devtools.Call(ctx, f.Session, dom.ResolveNode, dom.ResolveNodeParams{BackendNodeID: backend, ExecutionContextID: f.World, ObjectGroup: objects})
	if err != nil {
		return "", err
	}
	return got.Object.ObjectID, nil
}

// objects is the group of what we hold on to in a page; it is let go after
// each call.
const objects = "callgate"

// ScriptError is an error that a script of ours threw on purpose: its words are for
// the caller.
type ScriptError string

// Error is its words.
func (e ScriptError) Error() string { return string(e) }

func (f *Frame) run(ctx context.Context, p runtime.CallFunctionOnParams, result any, args []any) error {
	for _, a := range args {
		raw, err := json.Marshal(a)
		if err != nil {
			return err
		}
		p.Arguments = append(p.Arguments, &runtime.CallArgument{Value: raw})
	}
	p.AwaitPromise, p.Silent = new(true), new(true)
	r, err := devtools.Call(ctx, f.Session, runtime.CallFunctionOn, p)
	switch {
	case err != nil:
		return err
	case r.ExceptionDetails != nil:
		return thrown(r.ExceptionDetails)
	}
	if o, ok := result.(*runtime.RemoteObject); ok {
		*o = *r.Result
		return nil
	}
	if result == nil || len(r.Result.Value) == 0 {
		return nil
	}
	return json.Unmarshal(r.Result.Value, result)
}

func thrown(d *runtime.ExceptionDetails) error {
	if d.Exception == nil {
		return fmt.Errorf("a script in the page failed: %s", d.Text)
	}
	line, _, _ := strings.Cut(d.Exception.Description, "\n")
	return ScriptError(strings.TrimPrefix(line, "Error: "))
}

// Release lets go of what was held in the frame's process.
func (f *Frame) Release() {
	devtools.Start(f.Session, runtime.ReleaseObjectGroup, runtime.ReleaseObjectGroupParams{ObjectGroup: objects})
}

// ByID finds a frame by its id, or nil.
func (all Frames) ByID(id cdp.FrameID) *Frame {
	if i := slices.IndexFunc(all, func(f *Frame) bool { return f.ID == id }); i >= 0 {
		return all[i]
	}
	return nil
}

// Owner is the element of a frame in the frame around it.
func (all Frames) Owner(ctx context.Context, f *Frame) (*Frame, cdp.BackendNodeID, error) {
	around := all.ByID(f.Parent)
	if around == nil {
		return nil, 0, errGone
	}
	r, err := devtools.Call(ctx, around.Session, dom.GetFrameOwner, dom.GetFrameOwnerParams{FrameID: f.ID})
	return around, r.BackendNodeID, err
}

// Offset is where the window of a frame's process begins in that of the page.
func (all Frames) Offset(ctx context.Context, f *Frame) (x, y float64, err error) {
	if f.Session == all[0].Session {
		return 0, 0, nil
	}
	for p := all.ByID(f.Parent); p != nil && p.Session == f.Session; p = all.ByID(f.Parent) {
		f = p
	}
	around, backend, err := all.Owner(ctx, f)
	if err != nil {
		return 0, 0, err
	}
	box, err := devtools.Call(ctx, around.Session, dom.GetBoxModel, dom.GetBoxModelParams{BackendNodeID: backend})
	if err != nil {
		return 0, 0, err
	}
	x, y, err = all.Offset(ctx, around)
	return x + box.Model.Content[0], y + box.Model.Content[1], err
}
