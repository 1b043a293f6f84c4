package console

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"callgate/internal/daemon/console/form"
	"callgate/internal/protocol"
	"callgate/tool"
)

// toolPages finds and calls tools, and shows what they cost.
type toolPages struct{ *Console }

func (c *toolPages) routes() map[string]serve {
	return map[string]serve{
		"GET /tools":         c.tools,
		"GET /tools/{name}":  c.tool,
		"POST /tools/{name}": c.callTool,
		"GET /plan":          c.plan,
	}
}

// toolsData is what a search found.
type toolsData struct {
	Query    string
	Hits     []protocol.SearchHit
	Total    int
	Degraded string
	Weak     bool // nothing answers the query well
}

// hitsOnPage is how many tools a page of a search shows.
const hitsOnPage = 30

func (c *toolPages) tools(w http.ResponseWriter, r *http.Request) error {
	s, err := c.session(r)
	if err != nil {
		return err
	}
	d := toolsData{Query: strings.TrimSpace(r.FormValue("q"))}
	search := protocol.Search{Limit: hitsOnPage}
	if d.Query != "" {
		search.Queries = []string{d.Query}
	}
	found, err := s.Search(r.Context(), search)
	if err != nil {
		return err
	}
	d.Degraded, d.Weak = found.Degraded, len(found.Unmatched) > 0
	for _, answer := range found.Answers {
		d.Hits, d.Total = append(d.Hits, answer.Hits...), d.Total+answer.Total
	}
	return c.show(w, r, "tools", page{Title: "Tools", Nav: "tools", Data: d})
}

// toolData is what the page of a tool shows.
type toolData struct {
	protocol.Tool
	Fields []form.Field
	Result *tool.Result
	Error  *tool.Error
}

func (c *toolPages) tool(w http.ResponseWriter, r *http.Request) error {
	s, err := c.session(r)
	if err != nil {
		return err
	}
	t, err := s.Tool(r.Context(), r.PathValue("name"))
	if err != nil {
		return err
	}
	args := json.RawMessage(nil)
	if example := r.FormValue("example"); example != "" {
		i := slices.IndexFunc(t.Examples, func(e tool.Example) bool { return string(e.Args) == example })
		if i >= 0 {
			args = t.Examples[i].Args
		}
	}
	return c.showTool(w, r, toolData{Tool: t, Fields: form.Fields(t.Input, args)})
}

func (c *toolPages) showTool(w http.ResponseWriter, r *http.Request, d toolData) error {
	return c.show(w, r, "tool", page{Title: d.ID.Dotted(), Nav: "tools", Data: d})
}

// callTool makes a call through the gate. What a human must approve first waits, and the page
// says where.
func (c *toolPages) callTool(w http.ResponseWriter, r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		return err
	}
	s, err := c.session(r)
	if err != nil {
		return err
	}
	t, err := s.Tool(r.Context(), r.PathValue("name"))
	if err != nil {
		return err
	}
	d := toolData{Tool: t}
	var args json.RawMessage
	if args, _, d.Fields, err = form.Read(t.Input, nil, r.PostForm); err != nil {
		d.Error = asError(err)
		return c.showTool(w, r, d)
	}
	call := protocol.CallRequest{Name: t.ID.Dotted(), Args: args, NoWait: true}
	if d.Result, err = s.Call(r.Context(), call); err != nil {
		return err
	}
	d.Error = d.Result.Error
	return c.showTool(w, r, d)
}
