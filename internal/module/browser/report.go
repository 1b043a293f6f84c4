package browser

import (
	"context"
	"fmt"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/module/browser/page"
	"callgate/internal/module/browser/transfer"
	"callgate/tool"
)

// stateProperties are the properties that the output schemas of most tools share.
const stateProperties = `
    "tab": {"type": "string", ` +
	`"description": "The tab; name it in later calls to use it when it is not the current one."},
    "url": {"type": "string", "description": "The address that the tab shows now."},
    "title": {"type": "string"},
    "status": {"type": "integer", "description": "What the server answered: an HTTP status."},
    "loading": {"type": "boolean", "description": "The page has not come whole yet."},
    "navigated": {"type": "boolean", "description": "The page was left for another."},
    "dialogs": {"type": "array", ` +
	`"description": "Questions that the page asked, and how they were answered.", "items": {"type": "object", ` +
	`"properties": {
      "type": {"type": "string"}, "message": {"type": "string"}, "answer": {"type": "string"}}, "required": ` +
	`["type", "message", "answer"]}},
    "popups": {"type": "array", "description": "Tabs that the page opened.", "items": {"type": "object", "properties": {
      "tab": {"type": "string"}, "url": {"type": "string"}}, "required": ["url"]}},
    "downloads": {"type": "array", ` +
	`"description": "Files that the page gave.", "items": {"type": "object", "properties": {
      "path": {"type": "string", ` +
	`"description": "Where it is in the workspace."}, "name": {"type": "string"}, "url": {"type": "string"},
      "bytes": {"type": "integer"}, "state": {"type": "string", "enum": ["arriving", "saved", "failed"]}, ` +
	`"why": {"type": "string"}}, "required": ["name", "url", "bytes", "state"]}}`

// stateOutput is the output schema of a tool that reports nothing beyond the state.
const stateOutput = `{"type": "object", "properties": {` + stateProperties + `}, "required": ["tab", "url"]}`

// state is what a tab shows after a call, and what happened to it.
type state struct {
	Tab       string         `json:"tab"`
	URL       string         `json:"url"`
	Title     string         `json:"title,omitempty"`
	Status    int            `json:"status,omitempty"`
	Loading   bool           `json:"loading,omitempty"`
	Navigated bool           `json:"navigated,omitempty"`
	Dialogs   []dialogData   `json:"dialogs,omitempty"`
	Popups    []popupData    `json:"popups,omitempty"`
	Downloads []downloadData `json:"downloads,omitempty"`

	notes []string // what happened, in words
}

type dialogData struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	Answer  string `json:"answer"`
}

type popupData struct {
	Tab string `json:"tab,omitempty"`
	URL string `json:"url"`
}

type downloadData struct {
	Path  string `json:"path,omitempty"`
	Name  string `json:"name"`
	URL   string `json:"url"`
	Bytes int64  `json:"bytes"`
	State string `json:"state"`
	Why   string `json:"why,omitempty"`
}

// state returns the state of a tab after a call, with what happened meanwhile. It saves
// what was downloaded first.
func (c *pageCall) state(ctx context.Context, t *page.Tab, r page.NavigationResult) state {
	s := state{Tab: t.ID, Status: r.Status, Loading: r.Loading}
	c.saveDownloads(ctx, t.ID)
	t.Shown = t.Document()
	s.URL, s.Title = t.Where(ctx)
	s.note(c.profile.Notes(t.ID))
	s.files(c.profile.Downloads.Changed())
	if r.Loading {
		s.notes = append(s.notes, "it has not loaded completely yet")
	}
	return s
}

// saveDownloads waits for the downloads of a tab and saves them.
func (c *pageCall) saveDownloads(ctx context.Context, tab string) {
	short, cancel := context.WithTimeout(ctx, c.patience())
	defer cancel()
	_ = c.profile.Downloads.Wait(short, tab)
	c.profile.Downloads.TakeFinished(c.saveDownload)
}

// saveDownload moves a downloaded file into the workspace.
func (c *pageCall) saveDownload(d page.Download, file string) (string, error) {
	return transfer.SaveDownload(c.op, c.grant, d.Name, file)
}

// note adds what happened to the tab.
func (s *state) note(notes []page.Note) {
	for _, n := range notes {
		switch n.Kind {
		case page.Dialog:
			answer := "dismissed"
			if n.Accepted {
				answer = "accepted"
			}
			s.Dialogs = append(s.Dialogs, dialogData{n.Dialog, n.Text, answer})
			s.notes = append(s.notes, fmt.Sprintf("the page asked (%s) %q, which was %s", n.Dialog, n.Text, answer))
		case page.Popup:
			s.Popups = append(s.Popups, popupData{n.Opened, n.Text})
			s.notes = append(s.notes, fmt.Sprintf("it opened the tab %s", n.Opened))
		case page.Blocked:
			s.Popups = append(s.Popups, popupData{"", n.Text})
			s.notes = append(s.notes, "it wanted to open more tabs than are allowed")
		case page.Chooser:
			s.notes = append(s.notes, "it asks for a file: use "+Namespace+".type with files on its field")
		}
	}
}

// files adds downloads.
func (s *state) files(downloads []page.Download) {
	for _, d := range downloads {
		data := downloadData{Path: d.Path, Name: d.Name, URL: d.URL, Bytes: d.Bytes, Why: d.Why}
		switch d.State {
		case page.Taken:
			data.State = "saved"
			s.notes = append(s.notes, fmt.Sprintf("downloaded %s, %s", d.Path, amount.Bytes(d.Bytes)))
		case page.Stopped:
			data.State = "failed"
			s.notes = append(s.notes, fmt.Sprintf("the download of %q failed: %s", tool.Truncate(d.Name), d.Why))
		default:
			data.State = "arriving"
			s.notes = append(s.notes, fmt.Sprintf("%q is still downloading", tool.Truncate(d.Name)))
		}
		s.Downloads = append(s.Downloads, data)
	}
}

// shows describes the page that the tab shows.
func (s *state) shows() string {
	name := tool.Truncate(s.URL)
	if s.Title != "" {
		name = fmt.Sprintf("%q at %s", tool.Truncate(s.Title), name)
	}
	if s.Status >= 400 {
		name += fmt.Sprintf(", which answered with status %d", s.Status)
	}
	return name
}

// result is the result of a call: what it did, and what happened.
func (s *state) result(did string, data any) (*tool.Result, error) {
	return tool.OK(strings.Join(append([]string{did}, s.notes...), "; "), data)
}
