package web

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/token"
	"callgate/tool"
)

// otherName is a route of Digitorn's daemon that means what one of ours does. It leads there, and the roles of that one
// hold.
type otherName struct {
	method, path string // of ours; what the path has in braces is as the request's has it
	body         func(*http.Request, fields) fields
}

// fields are the fields of a JSON body.
type fields map[string]json.RawMessage

func otherNames() map[string]otherName {
	const app = " /api/apps/{app}"
	conversation := "/v1/conversations/{id}"
	return map[string]otherName{
		"GET" + app + "/status":                        {"GET", "/v1/status", nil},
		"GET" + app + "/tools":                         {"GET", "/v1/tools", nil},
		"GET" + app + "/tools/search":                  {"POST", "/v1/tools/search", searched},
		"GET" + app + "/tools/surface":                 {"GET", "/v1/surface", nil},
		"GET" + app + "/tools/{name}":                  {"GET", "/v1/tools/{name}", nil},
		"POST" + app + "/tools/{name}/execute":         {"POST", "/v1/tools/{name}/call", renamed("args", "params", "arguments")},
		"GET" + app + "/approvals":                     {"GET", "/v1/approvals?state=pending", nil},
		"POST" + app + "/approvals/{id}/approve":       {"POST", "/v1/approvals/{id}/answer", approved},
		"GET" + app + "/sessions":                      {"GET", "/v1/conversations", nil},
		"POST" + app + "/sessions":                     {"POST", "/v1/conversations", renamed("agent", "agent_id")},
		"POST" + app + "/sessions/{id}/messages":       {"POST", conversation + "/messages", renamed("text", "message", "content")},
		"POST" + app + "/sessions/{id}/queue":          {"POST", conversation + "/queue", renamed("text", "message", "content")},
		"POST" + app + "/sessions/{id}/abort":          {"POST", conversation + "/cancel", nil},
		"POST" + app + "/sessions/{id}/resume":         {"POST", conversation + "/resume", nil},
		"POST" + app + "/sessions/{id}/fork":           {"POST", conversation + "/fork", renamed("turns")},
		"POST" + app + "/sessions/{id}/compact":        {"POST", conversation + "/compact", nil},
		"POST" + app + "/sessions/{id}/model":          {"POST", conversation + "/model", renamed("model")},
		"GET" + app + "/sessions/{id}/state":           {"GET", conversation, nil},
		"GET" + app + "/sessions/{id}/history":         {"GET", conversation, nil},
		"GET" + app + "/sessions/{id}/export":          {"GET", conversation, nil},
		"GET" + app + "/sessions/{id}/events":          {"GET", conversation + "/events", nil},
		"GET" + app + "/sessions/{id}/agents":          {"GET", conversation + "/agents", nil},
		"GET" + app + "/sessions/{id}/tasks":           {"GET", "/v1/tasks?conversation={id}", nil},
		"GET" + app + "/background-tasks":              {"GET", "/v1/tasks", nil},
		"GET" + app + "/background-tasks/{id}":         {"GET", "/v1/tasks/{id}", nil},
		"POST" + app + "/background-tasks/{id}/cancel": {"POST", "/v1/tasks/{id}/cancel", renamed("by")},
	}
}

// renamed takes a field by any of its names, the first of which is ours, and those that both have.
func renamed(ours string, theirs ...string) func(*http.Request, fields) fields {
	return func(_ *http.Request, in fields) fields {
		out := fields{}
		for _, name := range []string{"id", "no_wait", "resume", "agent", ours} {
			if value, ok := in[name]; ok {
				out[name] = value
			}
		}
		for _, name := range theirs {
			if _, ok := out[ours]; !ok && in[name] != nil {
				out[ours] = in[name]
			}
		}
		return out
	}
}

// searched is the body of a search whose words are in the query.
func searched(r *http.Request, _ fields) fields {
	words, _ := json.Marshal([]string{r.FormValue("q")})
	out := fields{"queries": words}
	if n, err := strconv.Atoi(r.FormValue("limit")); err == nil {
		out["limit"] = json.RawMessage(strconv.Itoa(n))
	}
	return out
}

// approved is a yes, unless the body says otherwise.
func approved(_ *http.Request, in fields) fields {
	out := fields{"approve": json.RawMessage("true")}
	for theirs, ours := range map[string]string{
		"approved": "approve", "approve": "approve", "comment": "feedback", "feedback": "feedback",
	} {
		if value, ok := in[theirs]; ok {
			out[ours] = value
		}
	}
	return out
}

var inBraces = regexp.MustCompile(`\{[a-z]+\}`)

// serveOther serves a request by another name.
func (s *Server) serveOther(o otherName) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := s.checkApp(r)
		if tool.KindOf(err) == tool.Denied {
			s.refuse(w, r, err)
			return
		}
		var same *http.Request
		if err == nil {
			same, err = o.request(r)
		}
		if err != nil {
			route.Fail(w, err)
			return
		}
		s.routes.ServeHTTP(w, same)
	})
}

// checkApp refuses the name of an app that is not served.
func (s *Server) checkApp(r *http.Request) error {
	if _, err := s.authenticate(r, token.Viewer); err != nil {
		return err
	}
	served, err := s.opt.AppID(r.Context())
	if err != nil {
		return err
	}
	if name := r.PathValue("app"); name != served {
		return tool.Errorf("web", tool.NotFound, "the app %s is not served here", tool.Truncate(name)).
			WithHint("the app is %s", served)
	}
	return nil
}

// request is the request by our name.
func (o otherName) request(r *http.Request) (*http.Request, error) {
	path := inBraces.ReplaceAllStringFunc(o.path, func(name string) string {
		return url.PathEscape(r.PathValue(strings.Trim(name, "{}")))
	})
	at, err := url.Parse(path)
	if err != nil {
		return nil, &tool.Error{Op: "web", Kind: tool.Invalid, Message: "the path cannot be read", Err: err}
	}
	var body []byte
	if o.body != nil {
		in := fields{}
		if r.Method != http.MethodGet && r.ContentLength != 0 {
			if err := route.Read(r, &in); err != nil {
				return nil, err
			}
		}
		if body, err = json.Marshal(o.body(r, in)); err != nil {
			return nil, err
		}
	}
	same := request(r, o.method, "", body)
	if same.URL = at; o.body == nil && at.RawQuery == "" {
		same.URL.RawQuery = r.URL.RawQuery
	}
	return same, nil
}
