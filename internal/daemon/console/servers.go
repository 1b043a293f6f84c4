package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"callgate/internal/client"
	"callgate/internal/linediff"
	"callgate/internal/protocol"
	"callgate/tool"
)

// serverPages shows the MCP servers behind an app, and has a person accept them.
type serverPages struct{ *Console }

func (c *serverPages) routes() map[string]serve {
	return map[string]serve{
		"GET /servers":         c.list,
		"GET /servers/{name}":  c.one,
		"POST /servers/{name}": c.act,
	}
}

func (c *serverPages) list(w http.ResponseWriter, r *http.Request) error {
	s, err := c.session(r)
	if err != nil {
		return err
	}
	all, err := s.Servers(r.Context())
	if err != nil {
		return err
	}
	return c.show(w, r, "servers", page{Title: "Servers", Nav: "servers", Data: all})
}

// serverData is what the page of a server shows.
type serverData struct {
	protocol.Server
	Held []heldTool
	Logs []protocol.ServerLogLine
	Note string // why there are no logs
}

// heldTool is a definition that waits for a human.
type heldTool struct {
	protocol.HeldTool
	Why   string
	Lines []linediff.Line
}

// heldWhy are the reasons in words.
func heldWhy(reason protocol.HeldReason) string {
	switch reason {
	case protocol.HeldChanged:
		return "its definition changed since it was accepted"
	case protocol.HeldNew:
		return "the server did not have it before"
	case protocol.HeldSuspicious:
		return "something in it looks like an attempt to steer a model"
	case protocol.HeldUnpinned:
		return "nobody has accepted it yet"
	}
	return string(reason)
}

// find returns the person's session, and a server of it.
func (c *serverPages) find(r *http.Request) (*client.Session, protocol.Server, error) {
	s, err := c.session(r)
	if err != nil {
		return nil, protocol.Server{}, err
	}
	all, err := s.Servers(r.Context())
	if err != nil {
		return nil, protocol.Server{}, err
	}
	i := slices.IndexFunc(all, func(one protocol.Server) bool { return one.Name == r.PathValue("name") })
	if i < 0 {
		return nil, protocol.Server{}, tool.Errorf("console.server", tool.NotFound, "no server %s is behind the app of %s",
			tool.Truncate(r.PathValue("name")), c.workspace(r)).WithHint("the servers that there are stand on the page Servers")
	}
	return s, all[i], nil
}

// logLines is how many lines of a server's log its page shows.
const logLines = "60"

func (c *serverPages) one(w http.ResponseWriter, r *http.Request) error {
	s, found, err := c.find(r)
	if err != nil {
		return err
	}
	d := serverData{Server: found}
	for _, h := range found.Held {
		d.Held = append(d.Held, heldTool{h, heldWhy(h.Reason), diffLines(h.Diff)})
	}
	if d.Logs, err = s.Logs(r.Context(), found.Name, logLines); err != nil {
		d.Note = asError(err).Error()
	}
	return c.show(w, r, "server", page{Title: found.Name, Nav: "servers", Data: d})
}

// act does what a form of the page of a server says.
func (c *serverPages) act(w http.ResponseWriter, r *http.Request) error {
	s, found, err := c.find(r)
	if err != nil {
		return err
	}
	word := protocol.Trust{By: c.Person(r).Name}
	ref := protocol.DefinitionRef{Name: r.FormValue("tool"), Hash: r.FormValue("hash")}
	switch r.FormValue("action") {
	case "restart":
		_, err = s.Restart(r.Context(), found.Name)
	case "refresh":
		_, err = s.Refresh(r.Context(), found.Name)
	case "trust": // what was shown, and nothing else
		word.Launch = r.FormValue("launch")
		if err = s.Trust(r.Context(), found.Name, word); err == nil {
			_, err = s.Refresh(r.Context(), found.Name)
		}
		c.sessions.forget(c.Client(r), c.workspace(r))
	case "accept":
		word.Accept = []protocol.DefinitionRef{ref}
		err = s.Trust(r.Context(), found.Name, word)
	case "reject":
		word.Reject = []protocol.DefinitionRef{ref}
		err = s.Trust(r.Context(), found.Name, word)
	default:
		err = tool.Errorf("console.server", tool.Invalid, "the form does not say what to do").
			WithHint("use one of its buttons")
	}
	if err != nil {
		return err
	}
	return back(w, r, "/servers/"+url.PathEscape(found.Name)+workspaceQuery(r))
}

// workspaceQuery keeps the folder that a page names.
func workspaceQuery(r *http.Request) string {
	if named := strings.TrimSpace(r.FormValue("workspace")); named != "" {
		return "?" + url.Values{"workspace": {named}}.Encode()
	}
	return ""
}
