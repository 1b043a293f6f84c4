// Package browser is the module web.browse: it opens, reads and uses pages in a real
// browser, as a person would.
//
// # What is shared
//
// One Chromium serves all sessions of the kernel. The first call starts it, and it
// ends with the kernel, or a minute after the last session that used it. Each session
// has a profile of its own in it: cookies, storage, caches, and a proxy. Everything
// that the session's pages load passes through the proxy, which checks every address
// against the session's own rules.
//
// # Locks
//
// A tool that changes a page claims browser_tab:{tab} in X, a tool that looks at it in
// S. A call that names no tab means the session's current one, which the kernel does
// not know when it locks; so each tab also has a lock of its own, and one call at a
// time uses it, however it was named. Ids of tabs are random: no two sessions share
// one.
//
// # Files
//
// A download arrives in a private folder. The next call of its session moves it into
// the workspace, into downloads/, under a new name: usually the call that caused it.
// Files for a page are copied out of the workspace first, so that the browser itself
// never follows a path there.
//
// # Packages
//
// process starts and ends Chromium, and pool shares it; devtools speaks its protocol;
// page drives profiles and tabs, with navigation and content for the two halves of a
// tab; frames runs scripts in documents, and element uses what is on them; axtree makes
// an accessibility tree short; transfer moves files in and out of the workspace.
package browser

import (
	"time"

	"callgate/internal/module"
	"callgate/internal/module/browser/pool"
	"callgate/tool"
)

// Namespace is the module's name.
const Namespace = "web.browse"

// Module returns the module.
func Module() module.Module {
	return module.Module{
		Name:     Namespace,
		Summary:  "a real browser: open pages, read them, click, type, take screenshots",
		Settings: func() any { return defaults() },
		Open:     open,
	}
}

func open(h module.Host) (*module.Instance, error) {
	p := pool.New(h.Log)
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
	opened := &module.Instance{OnSessionEnd: p.EndSession, Close: p.Close}
	for _, d := range definitions {
		opened.Tools = append(opened.Tools, d.tool(p))
	}
	return opened, nil
}

// definition is one tool as its file declares it.
type definition struct {
	name          string
	doc           string
	input, output string
	examples      []tool.Example
	aliases, tags []string
	changes       bool          // it acts on the page; otherwise it looks, or goes elsewhere
	reads         []tool.Effect // what it reads beside the page
	looks         bool          // it leaves the page as it is, and does not wait for another
	run           runner
}

// maxTime is longer than the settings allow for a page.
const maxTime = 330 * time.Second

// effects keep the calls of one answer in order: go to a page, then read it. All but
// the lock of a tool that acts on a named tab are intentions, which stop nobody else: a
// tab is its session's own, and does one thing at a time (see page.Tab).
func (d definition) effects() []tool.Effect {
	mode := tool.IX
	if d.looks {
		mode = tool.IS
	}
	effects := []tool.Effect{
		{Resource: "browser_tab:{tab}", Mode: mode},
		{Resource: "browser_tab:", Mode: mode, Unless: []string{"tab"}}, // the current one, whichever that is
	}
	if d.changes {
		effects[0].Mode = tool.X
	}
	return append(effects, d.reads...)
}

func (d definition) tool(p *pool.Pool) *tool.Tool {
	r := tool.Runtime{
		Effects: d.effects(), Risk: tool.Low, SideEffect: tool.Read, Network: true, Timeout: maxTime,
	}
	if d.changes {
		r.Risk, r.SideEffect = tool.Medium, tool.External
	}
	return module.Definition{
		Name: d.name, Doc: d.doc, Input: d.input, Output: d.output, Examples: d.examples, Aliases: d.aliases,
		Tags:    append([]string{"browser", "web", "page", "navigateur"}, d.tags...),
		Runtime: r, Handler: handler(p, Namespace+"."+d.name, d.run),
	}.Tool(Namespace)
}
