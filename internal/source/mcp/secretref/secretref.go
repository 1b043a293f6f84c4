// Package secretref resolves the references to secrets in a server's config,
// {{secret.NAME}}, and removes the values from every text about the server.
package secretref

import (
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"callgate/tool"
)

var form = regexp.MustCompile(`\{\{\s*secret\.([A-Za-z0-9_.-]+)\s*\}\}`)

// HasReference reports whether a text holds a reference.
func HasReference(text string) bool { return form.MatchString(text) }

// Resolver resolves the references of one server's config. It remembers the
// values, and replaces them in texts.
type Resolver struct {
	Lookup func(name string) (string, error)
	Scrub  func(string) string // removes other secrets; optional

	mu       sync.Mutex
	known    map[string]string // value → what is shown in its place
	replacer *strings.Replacer // of the known values; nil when there are none
}

// Resolve puts values in place of references.
func (r *Resolver) Resolve(text string) (string, error) {
	var failed error
	out := form.ReplaceAllStringFunc(text, func(ref string) string {
		name := form.FindStringSubmatch(ref)[1]
		value, err := r.value(name)
		if err != nil && failed == nil {
			failed = err
		}
		return value
	})
	if failed != nil {
		return "", failed
	}
	return out, nil
}

func (r *Resolver) value(name string) (string, error) {
	const op = "mcp.secret"
	if r.Lookup == nil {
		return "", tool.Errorf(op, tool.Unavailable, "the secret %s is needed, and there are no secrets here", name)
	}
	value, err := r.Lookup(name)
	if err != nil {
		var known *tool.Error
		if !errors.As(err, &known) {
			err = tool.Errorf(op, tool.Unavailable, "the secret %s cannot be read: %w", name, err)
		}
		return "", err
	}
	if strings.ContainsRune(value, 0) {
		return "", tool.Errorf(op, tool.Unavailable, "the secret %s holds a zero byte and cannot be passed on", name)
	}
	r.learn(name, value)
	return value, nil
}

// ResolveAll resolves a list.
func (r *Resolver) ResolveAll(list []string) ([]string, error) {
	out := make([]string, len(list))
	for i, text := range list {
		var err error
		if out[i], err = r.Resolve(text); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// ResolveMap resolves the values of a map.
func (r *Resolver) ResolveMap(m map[string]string) (map[string]string, error) {
	out := make(map[string]string, len(m))
	for name, text := range m {
		value, err := r.Resolve(text)
		if err != nil {
			return nil, err
		}
		out[name] = value
	}
	return out, nil
}

// learn adds a value to those that are replaced, also as it is written in a URL.
// Very short values are left out: they occur in every text.
func (r *Resolver) learn(name, value string) {
	const least = 4
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(value) < least || r.known[value] != "" {
		return
	}
	if r.known == nil {
		r.known = map[string]string{}
	}
	for _, form := range []string{value, url.QueryEscape(value), url.PathEscape(value)} {
		r.known[form] = "[secret " + name + "]"
	}
	var pairs []string
	forms := make([]string, 0, len(r.known))
	for form := range r.known {
		forms = append(forms, form)
	}
	slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) }) // a value may contain another
	for _, form := range forms {
		pairs = append(pairs, form, r.known[form])
	}
	r.replacer = strings.NewReplacer(pairs...)
}

// Redact removes every known secret from a text.
func (r *Resolver) Redact(text string) string {
	r.mu.Lock()
	replacer := r.replacer
	r.mu.Unlock()
	if replacer != nil {
		text = replacer.Replace(text)
	}
	if r.Scrub != nil {
		text = r.Scrub(text)
	}
	return text
}

// RedactError removes them from an error. Its cause, which may hold one, is
// left out.
func (r *Resolver) RedactError(err error) error {
	if err == nil {
		return nil
	}
	e, ok := err.(*tool.Error)
	if !ok {
		return tool.Errorf("mcp", tool.Unavailable, "%s", r.Redact(err.Error()))
	}
	out := e.Detach()
	out.Message, out.Hint = r.Redact(out.Message), r.Redact(out.Hint)
	return out
}
