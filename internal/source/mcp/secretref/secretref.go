// Package secretref resolves the references to secrets in a server's config,
// {{secret.NAME}}, and takes the values back out of everything that is said
// about the server.
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

// Resolver resolves the references of one server's config, and takes the values
// it gave out of every text that leaves the server.
type Resolver struct {
	Lookup func(name string) (string, error)
	Scrub  func(string) string // takes out what others know of

	mu    sync.Mutex
	known map[string]string // value → what is shown in its place
	clean *strings.Replacer // of the known values; nil when there are none
}

// Resolve puts values in place of references.
func (s *Resolver) Resolve(text string) (string, error) {
	var failed error
	out := form.ReplaceAllStringFunc(text, func(ref string) string {
		name := form.FindStringSubmatch(ref)[1]
		value, err := s.value(name)
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

func (s *Resolver) value(name string) (string, error) {
	const op = "mcp.secret"
	if s.Lookup == nil {
		return "", tool.Errorf(op, tool.Unavailable, "the secret %s is needed, and there are none here", name)
	}
	value, err := s.Lookup(name)
	if err != nil {
		var known *tool.Error
		if !errors.As(err, &known) {
			err = tool.Errorf(op, tool.Unavailable, "the secret %s cannot be had: %w", name, err)
		}
		return "", err
	}
	if strings.ContainsRune(value, 0) {
		return "", tool.Errorf(op, tool.Unavailable, "the secret %s holds a zero byte and cannot be passed on", name)
	}
	s.learn(name, value)
	return value, nil
}

// ResolveAll resolves a list.
func (s *Resolver) ResolveAll(list []string) ([]string, error) {
	out := make([]string, len(list))
	for i, text := range list {
		var err error
		if out[i], err = s.Resolve(text); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// ResolveMap resolves the values of a map.
func (s *Resolver) ResolveMap(m map[string]string) (map[string]string, error) {
	out := make(map[string]string, len(m))
	for name, text := range m {
		value, err := s.Resolve(text)
		if err != nil {
			return nil, err
		}
		out[name] = value
	}
	return out, nil
}

// learn adds a value, also as it looks inside a URL, to those that are taken
// out. One of a letter or two would take half of every text with it.
func (s *Resolver) learn(name, value string) {
	const least = 4
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(value) < least || s.known[value] != "" {
		return
	}
	if s.known == nil {
		s.known = map[string]string{}
	}
	for _, form := range []string{value, url.QueryEscape(value), url.PathEscape(value)} {
		s.known[form] = "[secret " + name + "]"
	}
	var pairs []string
	forms := make([]string, 0, len(s.known))
	for form := range s.known {
		forms = append(forms, form)
	}
	slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) }) // a value may hold another
	for _, form := range forms {
		pairs = append(pairs, form, s.known[form])
	}
	s.clean = strings.NewReplacer(pairs...)
}

// Redact takes every known secret out of a text.
func (s *Resolver) Redact(text string) string {
	s.mu.Lock()
	clean := s.clean
	s.mu.Unlock()
	if clean != nil {
		text = clean.Replace(text)
	}
	if s.Scrub != nil {
		text = s.Scrub(text)
	}
	return text
}

// RedactError takes them out of an error, and its cause off it when that could
// hold one.
func (s *Resolver) RedactError(err error) error {
	if err == nil {
		return nil
	}
	e, ok := err.(*tool.Error)
	if !ok {
		return tool.Errorf("mcp", tool.Unavailable, "%s", s.Redact(err.Error()))
	}
	out := e.Detach()
	out.Message, out.Hint = s.Redact(out.Message), s.Redact(out.Hint)
	return out
}
