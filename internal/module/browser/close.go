package browser

import (
	"context"
	_ "embed"
	"fmt"

	"callgate/internal/module"
	"callgate/tool"
)

//go:embed close.md
var closeDoc string

const closeInput = `{
  "type": "object",
  "properties": {
    "tab": {"type": "string", "maxLength": 20, "description": "The tab to close; the current one unless given."},
    "all": {"type": "boolean", "default": false, "description": "Close all tabs of this session."}
  },
  "additionalProperties": false
}`

const closeOutput = `{
  "type": "object",
  "properties": {
    "closed": {"type": "array", "items": {"type": "string"}, "description": "The tabs that were closed."},
    "current": {"type": "string", "description": "The tab that is current now."},
    "left": {"type": "integer", "description": "How many tabs are open."}
  },
  "required": ["closed", "left"]
}`

func closeTool() definition {
	return definition{
		name: "close", doc: closeDoc, input: closeInput, output: closeOutput,
		examples: []tool.Example{
			module.Example("the current tab", `{}`),
			module.Example("everything", `{"all": true}`),
		},
		aliases: []string{
			"browser.close", "browser_close", "browser_tab_close", "close_tab",
			"close the tab", "close the browser", "close the page",
			"fermer l'onglet", "fermer le navigateur", "fermer la page",
		},
		tags: []string{"close", "tab", "fermer"},
		run:  decoded(closeTabs),
	}
}

type closeArgs struct {
	Tab string `json:"tab"`
	All bool   `json:"all"`
}

type closeData struct {
	Closed  []string `json:"closed"`
	Current string   `json:"current,omitempty"`
	Left    int      `json:"left"`
}

// closeTabs also closes a tab that hangs or is in use: the call that uses it fails.
func closeTabs(ctx context.Context, c *pageCall, in closeArgs) (*tool.Result, error) {
	closing, _ := c.profile.Tabs()
	if !in.All {
		t, err := c.profile.Tab(in.Tab)
		if err != nil {
			return nil, err
		}
		closing = append(closing[:0], t)
	}
	c.profile.Downloads.TakeFinished(c.saveDownload)
	data := closeData{Closed: []string{}}
	for _, t := range closing {
		if err := t.Close(ctx); err != nil {
			return nil, t.Explain(err)
		}
		data.Closed = append(data.Closed, t.ID)
	}
	left, current := c.profile.Tabs()
	if data.Left = len(left); current != nil {
		data.Current = current.ID
	}
	summary := fmt.Sprintf("closed %d of the tabs; %d left", len(data.Closed), data.Left)
	if data.Current != "" {
		summary += ", the current one is " + data.Current
	}
	return tool.OK(summary, data)
}
