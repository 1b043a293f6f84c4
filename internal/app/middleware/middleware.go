// Package middleware reads the lists of an app file that stand around the calls of a
// module, or around the texts of a conversation. A kind that does not exist is a
// mistake: a filter that is ignored protects nobody.
package middleware

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"callgate/internal/app/node"
)

// Middleware is applied to the calls of a module, or to the texts of a
// conversation.
type Middleware struct {
	Kind     string        // audit, retry, timeout; mask_secrets, content_filter, prompt_inject, …: see ofCalls, ofTexts
	Attempts int           // retry: the number of attempts in all
	Backoff  time.Duration // retry: the wait before the second attempt; it doubles
	On       []string      // retry: the kinds of failure
	Limit    time.Duration // timeout
	Patterns []string      // mask_secrets, content_filter, response_filter: regular expressions
	Where    string        // content_filter: input, output or both
	Message  string        // content_filter: the text that replaces a refused one
	Bases    []string      // rag_inject: the knowledge bases that are asked; none: all
	Most     int           // rag_inject: how many passages are told
	Text     string        // prompt_inject: what is added; response_filter: what replaces a match
}

// level is the level of the file.
const level = "middleware"

// OfCalls reads the middleware around the calls of a module.
func OfCalls(r *node.Reader, e node.Entry) []Middleware {
	return reader{r}.read(e, reader{r}.ofCalls())
}

// OfTexts reads the middleware around the texts of a conversation.
func OfTexts(r *node.Reader, e node.Entry) []Middleware {
	return reader{r}.read(e, reader{r}.ofTexts())
}

// reader reads lists of middleware.
type reader struct{ *node.Reader }

// readSettings reads the settings of one kind.
type readSettings func(e node.Entry, m *Middleware)

// read reads a list: each item is a kind, or {kind: {…}}.
func (r reader) read(e node.Entry, kinds map[string]readSettings) []Middleware {
	known := slices.Sorted(maps.Keys(kinds))
	form := "write - " + strings.Join(known, ", - ") + ", or with settings - retry: {attempts: 3}"
	if e.IsNull() {
		return nil
	}
	var list []Middleware
	add := func(kind string, at node.Position, settings node.Entry) {
		read, ok := kinds[kind]
		switch {
		case ok:
			m := Middleware{Kind: kind}
			read(settings, &m)
			list = append(list, m)
		default:
			r.Fail(at, node.DidYouMean(kind, known, "there is"), "there is no middleware %s here", node.Quote(kind))
		}
	}
	for _, in := range r.Items(e, "a list", form) {
		if !in.IsMapping() {
			if kind, ok := r.Text(in); ok {
				add(kind, in.At, in.Empty())
			}
			continue
		}
		for _, m := range r.Entries(in, form) {
			add(m.Key, m.KeyAt, m)
		}
	}
	return list
}

// ofCalls are the kinds for the calls of a module.
func (r reader) ofCalls() map[string]readSettings {
	return map[string]readSettings{
		"audit": func(e node.Entry, _ *Middleware) { r.Mapping(level, e, nil) },
		"retry": func(e node.Entry, m *Middleware) {
			m.Attempts, m.Backoff, m.On = 3, time.Second, []string{"unavailable", "timeout"}
			r.Mapping(level, e, map[string]node.Read{
				"attempts":        r.Number(&m.Attempts, 1, 5, "write how often it is tried in all, from 1 to 5"),
				"backoff_seconds": r.Seconds(&m.Backoff, 0, 60, "write how many seconds to wait before the second try"),
				"on":              r.retryOn(&m.On),
			})
		},
		"timeout": func(e node.Entry, m *Middleware) {
			r.Mapping(level, e, map[string]node.Read{
				"seconds": r.Seconds(&m.Limit, 1, 86_400, "write how many seconds a call may take"),
			})
			if m.Limit == 0 && r.Position(e.Below("seconds")) == (node.Position{}) {
				r.Fail(e.At, "write - timeout: {seconds: 30}", "%s does not say how long", e.Name())
			}
		},
	}
}

func (r reader) retryOn(to *[]string) node.Read {
	known := []string{"unavailable", "timeout", "busy", "limited", "failed"}
	read := r.Texts(to, "name kinds of failure, such as [unavailable, timeout]")
	return func(e node.Entry) {
		read(e)
		for i, kind := range *to {
			if kind != "" && !slices.Contains(known, kind) {
				r.Fail(r.Position(e.Item(i)), node.DidYouMean(kind, known, "the kinds are"),
					"%s is no kind of failure that may pass", node.Quote(kind))
			}
		}
	}
}

// ofTexts are the kinds for the texts of a conversation.
func (r reader) ofTexts() map[string]readSettings {
	return map[string]readSettings{
		"mask_secrets": func(e node.Entry, m *Middleware) {
			r.Mapping(level, e, map[string]node.Read{"patterns": r.patterns(&m.Patterns)})
		},
		"content_filter": func(e node.Entry, m *Middleware) {
			m.Where = "both"
			r.Mapping(level, e, map[string]node.Read{
				"block":   r.patterns(&m.Patterns),
				"where":   r.Choice(&m.Where, "input", "output", "both"),
				"message": r.Label(&m.Message),
			})
			if len(m.Patterns) == 0 {
				r.Fail(e.At, "write block: [\"a regular expression\"]", "%s blocks nothing", e.Name())
			}
		},
		"prompt_inject": func(e node.Entry, m *Middleware) {
			plain := r.WithoutEnv() // it goes to the model as it is
			r.Mapping(level, e, map[string]node.Read{"text": plain.TextInto(&m.Text)})
			if r.Position(e.Below("text")) == (node.Position{}) {
				r.Fail(e.At, "write - prompt_inject: {text: what the model is told}", "%s adds nothing", e.Name())
			}
		},
		"rag_inject": func(e node.Entry, m *Middleware) {
			m.Most = 4
			r.Mapping(level, e, map[string]node.Read{
				"bases": r.Texts(&m.Bases, "name knowledge bases, such as [main]"),
				"limit": r.Number(&m.Most, 1, 20, "write how many passages the model is told, from 1 to 20"),
			})
		},
		"response_filter": func(e node.Entry, m *Middleware) {
			r.Mapping(level, e, map[string]node.Read{
				"remove": r.patterns(&m.Patterns), "replace_with": r.WithoutEnv().Label(&m.Text),
			})
			if len(m.Patterns) == 0 {
				r.Fail(e.At, "write remove: [\"a regular expression\"]", "%s removes nothing", e.Name())
			}
		},
	}
}

// patterns reads regular expressions.
func (r reader) patterns(to *[]string) node.Read {
	read := r.Texts(to, "write regular expressions in quotes")
	return func(e node.Entry) {
		read(e)
		for i, p := range *to {
			if _, err := regexp.Compile(p); err != nil {
				r.Fail(r.Position(e.Item(i)), "mend it; it is written as Go's regexp wants",
					"%s is no regular expression: %v", node.Quote(p), err)
			}
		}
	}
}
