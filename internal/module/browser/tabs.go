package browser

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"callgate/internal/module"
	"callgate/internal/module/browser/page"
	"callgate/internal/module/fetch"
	"callgate/tool"
)

//go:embed tabs.md
var tabsDoc string

const tabsInput = `{
  "type": "object",
  "properties": {
    "action": {"type": "string", "enum": ["list", "switch", "new"], "default": "list", ` +
	`"description": "list: the open tabs. switch: make another one current. new: open one."},
    "tab": {"type": "string", "maxLength": 20, "description": "With switch: the tab."},
    "url": {"type": "string", "maxLength": 8000, "description": "With new: the page to open in it."}
  },
  "additionalProperties": false
}`

const tabsOutput = `{
  "type": "object",
  "properties": {
    "tabs": {"type": "array", "items": {"type": "object", "properties": {
      "tab": {"type": "string"}, "url": {"type": "string"}, "title": {"type": "string"},
      "current": {"type": "boolean"}, "crashed": {"type": "boolean"}}, "required": ["tab", "url", "current"]}},
    "downloads": {"type": "array", ` +
	`"description": "All files that pages of this session gave.", "items": {"type": "object"}}
  },
  "required": ["tabs"]
}`

func tabsTool() definition {
	return definition{
		name: "tabs", doc: tabsDoc, input: tabsInput, output: tabsOutput,
		examples: []tool.Example{
			module.Example("what is open", `{}`),
			module.Example("use another tab from now on", `{"action": "switch", "tab": "t_k3v9qa"}`),
			module.Example("a new tab", `{"action": "new", "url": "https://example.com/"}`),
		},
		aliases: []string{
			"browser.tabs", "browser_tabs", "browser_tab_list", "browser_tab_new", "browser_tab_select",
			"list_tabs", "switch_tab", "new_tab",
			"list open tabs", "switch tab", "open a new tab", "list downloads of the browser",
			"lister les onglets", "changer d'onglet", "ouvrir un onglet",
		},
		tags:  []string{"tab", "window", "popup", "onglet"},
		reads: []tool.Effect{fetch.OnHost(tool.IS)},
		run:   decoded(tabs),
	}
}

type tabsArgs struct {
	Action string `json:"action"`
	Tab    string `json:"tab"`
	URL    string `json:"url"`
}

type tabData struct {
	Tab     string `json:"tab"`
	URL     string `json:"url"`
	Title   string `json:"title,omitempty"`
	Current bool   `json:"current"`
	Crashed bool   `json:"crashed,omitempty"`
}

type tabsData struct {
	Tabs      []tabData      `json:"tabs"`
	Downloads []downloadData `json:"downloads,omitempty"`
}

func tabs(ctx context.Context, c *pageCall, in tabsArgs) (*tool.Result, error) {
	did := ""
	switch in.Action {
	case "switch":
		if in.Tab == "" {
			return nil, tool.Errorf(c.op, tool.Invalid, "the tab to switch to is missing").WithHint("name it in tab")
		}
		t, err := c.profile.Tab(in.Tab)
		if err != nil {
			return nil, err
		}
		c.profile.Switch(t)
		did = "the current tab is " + t.ID + "; "
	case "new":
		opened, err := c.open(ctx, in.URL)
		if err != nil {
			return nil, err
		}
		did = opened
	}
	return c.listTabs(ctx, did)
}

// open opens a tab, and a page in it if an address is given.
func (c *pageCall) open(ctx context.Context, url string) (string, error) {
	if url == "" {
		url = "about:blank"
	}
	address, err := page.Address(url)
	if err != nil {
		return "", err
	}
	t, release, err := c.tabFor(ctx, "", true)
	if err != nil {
		return "", err
	}
	defer release()
	if address != "about:blank" {
		if _, err := t.Navigate(ctx, address, c.patience()); err != nil {
			return "", err
		}
	}
	return "opened the tab " + t.ID + ", which is current now; ", nil
}

func (c *pageCall) listTabs(ctx context.Context, did string) (*tool.Result, error) {
	c.profile.Downloads.TakeFinished(c.saveDownload)
	var s state
	s.note(c.profile.Notes(""))
	all, current := c.profile.Tabs()
	data := tabsData{Tabs: []tabData{}}
	var lines []string
	for _, t := range all {
		d := tabData{Tab: t.ID, Current: t == current, Crashed: t.Crashed()}
		d.URL, d.Title = t.Where(ctx)
		data.Tabs = append(data.Tabs, d)
		lines = append(lines, d.line())
	}
	var files state
	files.files(c.profile.Downloads.All())
	data.Downloads = files.Downloads
	noun := "tabs are"
	if len(all) == 1 {
		noun = "tab is"
	}
	r, err := s.result(fmt.Sprintf("%s%d %s open", did, len(all), noun), data)
	if err == nil && len(lines) > 0 {
		for _, d := range files.Downloads {
			lines = append(lines, strings.TrimSpace("download "+d.State+": "+d.Path+" "+d.Why))
		}
		r.Content = []tool.Content{tool.Text(strings.Join(lines, "\n"))}
	}
	return r, err
}

func (d tabData) line() string {
	mark := " "
	if d.Current {
		mark = "*"
	}
	if d.Crashed {
		return fmt.Sprintf("%s %s crashed %s", mark, d.Tab, tool.Truncate(d.URL))
	}
	return fmt.Sprintf("%s %s %q %s", mark, d.Tab, tool.Truncate(d.Title), tool.Truncate(d.URL))
}
