// Package browser is the module of a real browser: pages are opened, read and
// used as a person would.
//
// # What is shared
//
// One Chromium serves all sessions of the kernel. It is started by the first
// call and ends with the kernel, or a minute after the last session that used
// it. Each session has a profile of its own in it: other cookies, other
// storage, other caches, and another proxy, through which everything goes that
// its pages load, and which judges every address by the session's own rules.
//
// # Locks
//
// What changes a page claims browser_tab:{tab} in X, what looks at it in S.
// A call that names no tab means the session's current one, which the kernel
// cannot know when it locks; so each tab also has a turn of its own, and one
// call at a time uses it, however it was named. Ids of tabs are random: those
// of two sessions never meet.
//
// # Files
//
// What a page gives to download arrives in a private folder, and is moved into
// the workspace, into downloads/, under a new name of its own, by the next
// call of its session: the one that caused it, unless that did not wait.
// Files that are given to a page are copied out of the workspace first, so that
// the browser itself never follows a path there.
//
// # Rooms
//
// process starts and ends Chromium; wire speaks its protocol; page drives
// profiles and tabs, frames the documents in them, element what is on those;
// tree makes an accessibility tree short; files is the border to the workspace.
package browser

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"callgate/internal/module"
	"callgate/tool"
)

// Namespace is the module's name.
const Namespace = "web.browse"

// Module is the browser.
func Module() module.Module {
	return module.Module{
		Name:     Namespace,
		Summary:  "a real browser: open pages, read them, click, type, take screenshots",
		Settings: func() any { return defaults() },
		Open:     open,
	}
}

func open(h module.Host) (*module.Instance, error) {
	m := newPool(h)
	definitions := []definition{
		navigateTool(),
		readTool(),
		clickTool(),
		typeTool(),
		selectTool(),
		waitTool(),
		screenshotTool(),
		backTool(),
		tabsTool(),
		closeTool(),
	}
	opened := &module.Instance{OnSessionEnd: m.ended, Close: m.close}
	for _, d := range definitions {
		opened.Tools = append(opened.Tools, d.tool(m))
	}
	return opened, nil
}

// definition is one tool as its file writes it down.
type definition struct {
	name          string
	doc           string
	input, output string
	examples      []tool.Example
	aliases, tags []string
	changes       bool // it acts on the page; otherwise it looks, or goes elsewhere
	run           func(context.Context, *pageCall, json.RawMessage) (*tool.Result, error)
}

// longest is the most that the settings allow, and then some.
const longest = 330 * time.Second

func (d definition) tool(m *pool) *tool.Tool {
	r := tool.Runtime{
		Effects: []tool.Effect{{Resource: "browser_tab:{tab}", Mode: tool.S}},
		Risk:    tool.Low, SideEffect: tool.Read, Network: true, Timeout: longest,
	}
	if d.changes {
		r.Effects[0].Mode, r.Risk, r.SideEffect = tool.X, tool.Medium, tool.External
	}
	return module.Definition{
		Name: d.name, Doc: d.doc, Input: d.input, Output: d.output,
		Examples: d.examples, Aliases: d.aliases, Tags: append([]string{"browser", "web", "page", "navigateur"}, d.tags...),
		Runtime: r, Handler: m.handler(Namespace+"."+d.name, d.run),
	}.Tool(Namespace)
}

// decoded makes a tool's function one of its raw arguments, which the kernel
// has already held against the schema.
func decoded[In any](run func(context.Context, *pageCall, In) (*tool.Result, error)) func(context.Context, *pageCall, json.RawMessage) (*tool.Result, error) {
	return func(ctx context.Context, v *pageCall, raw json.RawMessage) (*tool.Result, error) {
		var in In
		if err := json.Unmarshal(raw, &in); err != nil {
			return nil, &tool.Error{Kind: tool.Invalid, Message: "the arguments do not fit " + v.op, Err: err}
		}
		return run(ctx, v, in)
	}
}

// handler finds the session's profile and runs a tool in it. Whatever goes
// wrong is said as an error of the tool.
func (m *pool) handler(op string, run func(context.Context, *pageCall, json.RawMessage) (*tool.Result, error)) tool.Handler {
	return tool.HandlerFunc(func(ctx context.Context, call tool.Call, grant tool.Grant) (*tool.Result, error) {
		settings := module.SettingsOf(grant, defaults)
		v := &pageCall{op: op, grant: grant, settings: settings, until: time.Now().Add(settings.timeout())}
		// What is still possible when the time for the page is over: to say so.
		ctx, cancel := context.WithDeadline(ctx, v.until.Add(5*time.Second))
		defer cancel()
		r, err := func() (*tool.Result, error) {
			done, err := m.newCall(ctx, call.Principal.Session, v)
			if err != nil {
				return nil, err
			}
			defer done()
			return run(ctx, v, call.Args)
		}()
		if err != nil {
			return nil, v.named(ctx, err)
		}
		r.Warnings = append(r.Warnings, v.warnings...)
		return r, nil
	})
}

// named gives an error the name of the tool.
func (v *pageCall) named(ctx context.Context, err error) error {
	var e *tool.Error
	if !errors.As(err, &e) {
		e = &tool.Error{Kind: tool.Failed, Message: "the browser could not do it", Err: err}
		switch {
		case errors.Is(ctx.Err(), context.Canceled):
			e.Kind, e.Message = tool.Cancelled, "the call was cancelled"
		case errors.Is(err, context.DeadlineExceeded):
			e.Kind, e.Message, e.Hint = tool.Timeout, "the browser took too long", "try again"
		}
	}
	out := *e
	out.Op = v.op
	return &out
}
