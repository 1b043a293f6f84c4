// Package widget shows what calls of the module widget had as their page, each in a frame.
//
// # Law
//
// The text is a model's. It is cleaned when it is shown, whoever cleaned it before, and what is left is served with a
// policy of its own: sandboxed without anything allowed (no script, no origin, no form, no window, no way to the
// page around it), loading nothing but what it holds itself, framed by the console and by nobody else. No other page
// of the console may be framed. Who may not read the record of a call sees nothing of its page.
package widget

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/internal/safehtml"
	"callgate/tool"
)

// policy is that of a widget's page.
const policy = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; " +
	"base-uri 'none'; frame-ancestors 'self'"

// Frame is where a widget is shown.
type Frame struct {
	Call   string
	Title  string
	Height int
}

// page is the arguments of a call that shows a widget.
type page struct {
	HTML   string `json:"html"`
	Title  string `json:"title"`
	Height int    `json:"height"`
}

// calling is the tool by which a model without room for all tools calls this one.
const calling = "execute_tool"

// showing are the names of the tool, as records have it and as models may call it. A frame for a call that was of
// another tool after all shows nothing: its page is that of the record.
var showing = []string{"widget.render", "widget.show", "show_widget", "render_html", "show_html"}

// Of returns the frame for a call, by the name and the arguments that it was made with and how it ended; nil: it shows
// no widget.
func Of(call, name string, args json.RawMessage, status tool.Status) *Frame {
	if status != tool.Success {
		return nil
	}
	name = strings.ReplaceAll(name, "__", ".")
	if name == calling || name == "context_builder."+calling {
		var in map[string]json.RawMessage
		if json.Unmarshal(args, &in) != nil {
			return nil
		}
		name = ""
		_ = json.Unmarshal(either(in, "name", "tool_name", "tool"), &name)
		name, args = strings.ReplaceAll(name, "__", "."), either(in, "params", "arguments", "args")
	}
	if id, ok := tool.TryParseID(name); ok {
		name = id.Dotted()
	}
	if !slices.Contains(showing, name) {
		return nil
	}
	var p page
	_ = json.Unmarshal(args, &p) // what is not there is as it is for others
	height := cmp.Or(p.Height, 320)
	return &Frame{Call: call, Title: cmp.Or(p.Title, "widget"), Height: max(40, min(height, 2000))}
}

// either returns the first member that is there, of those that models write for it.
func either(in map[string]json.RawMessage, names ...string) json.RawMessage {
	for _, name := range names {
		if value, ok := in[name]; ok {
			return value
		}
	}
	return nil
}

// Pages answers with the page of the call that a path names by its id, to whoever may read the call.
func Pages(client func(*http.Request) *client.Client) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		p, err := read(r.Context(), client(r), r.PathValue("id"))
		if err != nil {
			return err
		}
		clean, _, err := safehtml.Clean(p.HTML)
		if err != nil {
			return tool.Errorf("console.widget", tool.Invalid, "the widget cannot be shown: %w", err)
		}
		write(w, p.Title, clean)
		return nil
	}
}

// write answers with a page that holds a text. What the text could do is held off by the policy alone.
func write(w http.ResponseWriter, title, text string) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Frame-Options", "SAMEORIGIN")
	h.Set("X-DNS-Prefetch-Control", "off")
	h.Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(`<!doctype html><html><head><meta charset="utf-8"><title>` + html.EscapeString(title) +
		`</title><style>` + look + `</style></head><body>` + text + `</body></html>`))
}

// look is what a widget looks like unless it says otherwise: in the light and in the dark, as the system is.
const look = `:root{color-scheme:light dark}` +
	`body{margin:12px;font:15px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}` +
	`table{border-collapse:collapse}th,td{border:1px solid color-mix(in srgb,currentColor 25%,transparent);` +
	`padding:4px 10px;text-align:start}img,svg{max-width:100%}`

// read finds the page of a call, or of the call that it made.
func read(ctx context.Context, k *client.Client, call string) (p page, err error) {
	for _, id := range []string{call, call + ".1"} { // the one call that execute_tool makes
		records, err := k.Journal(ctx, protocol.JournalQuery{Call: id})
		if err != nil {
			return p, err
		}
		ended := slices.ContainsFunc(records, func(rec protocol.Record) bool {
			return rec.End != nil && rec.End.Status == tool.Success
		})
		if !ended || !isWidget(records) {
			continue
		}
		args, err := arguments(ctx, k, records)
		if err != nil {
			return p, err
		}
		if json.Unmarshal(args, &p) == nil && p.HTML != "" {
			return p, nil
		}
	}
	return p, tool.Errorf("console.widget", tool.NotFound, "the call %s shows no widget", tool.Truncate(call))
}

// isWidget reports whether records are those of a call of the tool.
func isWidget(records []protocol.Record) bool {
	for _, rec := range records {
		if id, ok := tool.TryParseID(rec.Tool); ok {
			return id.Dotted() == showing[0]
		}
	}
	return false
}

// arguments are those that a call was made with: as they were asked for, or as a human changed them.
func arguments(ctx context.Context, k *client.Client, records []protocol.Record) (args json.RawMessage, err error) {
	ref := ""
	for _, rec := range records {
		if rec.Ask != nil {
			args, ref = rec.Ask.Args, rec.Ask.ArgsRef
		}
		if rec.Answer != nil && (len(rec.Answer.Args) > 0 || rec.Answer.ArgsRef != "") {
			args, ref = rec.Answer.Args, rec.Answer.ArgsRef
		}
	}
	if ref == "" {
		return args, nil
	}
	var b bytes.Buffer
	err = k.Artifact(ctx, &b, ref)
	return b.Bytes(), err
}
