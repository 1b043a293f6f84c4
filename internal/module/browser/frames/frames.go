// Package frames runs our scripts in the documents of a page: its own, and those of
// its frames, in whatever process they are. The scripts run in an isolated world, which
// the page can neither see nor change.
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

// scripts holds one function per file.
//
//go:embed js/*.js
var scripts embed.FS

func script(name string) string {
	text, err := scripts.ReadFile("js/" + name + ".js")
	if err != nil {
		panic(err) // only a wrong name in our own code; any test of it fails
	}
	return string(text)
}

// Frame is a document of a page.
type Frame struct {
	Session *devtools.Session
	ID      cdp.FrameID
	Parent  cdp.FrameID
	URL     string
	World   runtime.ExecutionContextID // where our scripts run; 0: the frame was removed before we entered it
}

// Frames are the documents of a page, the page's own first.
type Frames []*Frame

// Max bounds the frames of a page that are listed.
const Max = 50

// List lists the documents of a page. sessions are the page's own, and then those of
// its frames that have one.
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
			continue // the frame was just removed
		}
		all = flatten(all, sessions[i], got.FrameTree)
	}
	return all, all.enter(ctx)
}

func flatten(all Frames, s *devtools.Session, tree *cdpage.FrameTree) Frames {
	if tree == nil || tree.Frame == nil || len(all) >= Max {
		return all
	}
	f := tree.Frame
	all = append(all, &Frame{Session: s, ID: f.ID, Parent: f.ParentID, URL: f.URL + f.URLFragment})
	for _, c := range tree.ChildFrames {
		all = flatten(all, s, c)
	}
	return all
}

// enter creates our world in each frame. A frame that was just removed gets none.
func (all Frames) enter(ctx context.Context) error {
	replies := make([]*devtools.PendingReply, len(all))
	for i, f := range all {
		replies[i] = devtools.Start(f.Session, cdpage.CreateIsolatedWorld,
			cdpage.CreateIsolatedWorldParams{FrameID: f.ID, WorldName: "callgate"})
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

// Enter returns one document, by the id of its frame.
func Enter(ctx context.Context, s *devtools.Session, id cdp.FrameID) (*Frame, error) {
	f := &Frame{Session: s, ID: id}
	return f, Frames{f}.enter(ctx)
}

var errRemoved = errors.New("the frame was removed")

// Call runs one of our scripts in the frame and decodes what it returns.
func (f *Frame) Call(ctx context.Context, name string, result any, args ...any) error {
	if f.World == 0 {
		return errRemoved
	}
	return f.run(ctx, runtime.CallFunctionOnParams{
		FunctionDeclaration: script(name), ExecutionContextID: f.World, ReturnByValue: new(true),
	}, result, args)
}

// CallForElement runs one of our scripts in the frame and returns a handle of the
// element that it returns, or "" for none. The handle is valid until Release.
func (f *Frame) CallForElement(ctx context.Context, name string, args ...any) (runtime.RemoteObjectID, error) {
	if f.World == 0 {
		return "", nil
	}
	var o runtime.RemoteObject
	err := f.run(ctx, runtime.CallFunctionOnParams{
		FunctionDeclaration: script(name), ExecutionContextID: f.World, ObjectGroup: objects,
	}, &o, args)
	return o.ObjectID, err
}

// CallOn runs one of our scripts on an element. A result of type
// [runtime.RemoteObject] is a handle too.
func (f *Frame) CallOn(ctx context.Context, object runtime.RemoteObjectID, name string, result any, args ...any) error {
	p := runtime.CallFunctionOnParams{FunctionDeclaration: script(name), ObjectID: object, ObjectGroup: objects}
	if _, handle := result.(*runtime.RemoteObject); !handle {
		p.ReturnByValue = new(true)
	}
	return f.run(ctx, p, result, args)
}

// ResolveNode returns a handle of the node with a backend id.
func (f *Frame) ResolveNode(ctx context.Context, backend cdp.BackendNodeID) (runtime.RemoteObjectID, error) {
	got, err := devtools.Call(ctx, f.Session, dom.ResolveNode, dom.ResolveNodeParams{
		BackendNodeID: backend, ExecutionContextID: f.World, ObjectGroup: objects,
	})
	if err != nil {
		return "", err
	}
	return got.Object.ObjectID, nil
}

// objects is the group of our handles in a page, so that they are released together.
const objects = "callgate"

// ScriptError is the message of an error that one of our scripts threw on purpose.
type ScriptError string

// Error returns the message.
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
		return scriptError(r.ExceptionDetails)
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

func scriptError(d *runtime.ExceptionDetails) error {
	if d.Exception == nil {
		return fmt.Errorf("a script in the page failed: %s", d.Text)
	}
	line, _, _ := strings.Cut(d.Exception.Description, "\n")
	return ScriptError(strings.TrimPrefix(line, "Error: "))
}

// Release releases all our handles in the frame's process.
func (f *Frame) Release() {
	devtools.Start(f.Session, runtime.ReleaseObjectGroup, runtime.ReleaseObjectGroupParams{ObjectGroup: objects})
}

// ByID returns the frame with an id, or nil.
func (all Frames) ByID(id cdp.FrameID) *Frame {
	if i := slices.IndexFunc(all, func(f *Frame) bool { return f.ID == id }); i >= 0 {
		return all[i]
	}
	return nil
}

// Owner returns the parent of a frame, and the frame's element there.
func (all Frames) Owner(ctx context.Context, f *Frame) (*Frame, cdp.BackendNodeID, error) {
	parent := all.ByID(f.Parent)
	if parent == nil {
		return nil, 0, errRemoved
	}
	r, err := devtools.Call(ctx, parent.Session, dom.GetFrameOwner, dom.GetFrameOwnerParams{FrameID: f.ID})
	return parent, r.BackendNodeID, err
}

// Offset returns where the viewport of a frame's process begins in that of the page.
func (all Frames) Offset(ctx context.Context, f *Frame) (x, y float64, err error) {
	if f.Session == all[0].Session {
		return 0, 0, nil
	}
	for p := all.ByID(f.Parent); p != nil && p.Session == f.Session; p = all.ByID(f.Parent) {
		f = p
	}
	parent, backend, err := all.Owner(ctx, f)
	if err != nil {
		return 0, 0, err
	}
	box, err := devtools.Call(ctx, parent.Session, dom.GetBoxModel, dom.GetBoxModelParams{BackendNodeID: backend})
	if err != nil {
		return 0, 0, err
	}
	x, y, err = all.Offset(ctx, parent)
	return x + box.Model.Content[0], y + box.Model.Content[1], err
}
