package apis

import (
	"encoding/json"
	"net/url"
	"slices"

	appapis "callgate/internal/app/apis"
	"callgate/internal/source/mcp/trust"
	"callgate/internal/source/openapi"
	"callgate/tool"
)

// review says which operations wait for a human, by their names.
//
// A document of the network may change at any time, so all of it is pinned. A file was accepted by its digest:
// only operations of it in which the scan finds something serious wait, until a human has seen what was found.
func (o *source) review(operations []*tool.Tool) (held map[string]bool, err error) {
	definitions := make([]trust.Definition, 0, len(operations))
	for _, t := range operations {
		if d := definition(t); o.api.IsRemote() || isSerious(d) {
			definitions = append(definitions, d)
		}
	}
	terms := trust.Options{Strict: o.strict && o.api.IsRemote(), Growing: !o.api.IsRemote()}
	reviewed, err := o.set.opt.Trust.Review(o.trustKey, definitions, terms)
	held = make(map[string]bool, len(reviewed.Held))
	for _, h := range reviewed.Held {
		held[h.Definition.Name] = true
	}
	return held, err
}

// isSerious reports whether the scan finds something in a definition that a human must see.
func isSerious(d trust.Definition) bool {
	return slices.ContainsFunc(trust.Scan(d, nil), func(f trust.Finding) bool { return f.Severity == trust.Serious })
}

// definition is all of an operation that a model or a human may read, and how it is sent.
func definition(t *tool.Tool) trust.Definition {
	annotations, _ := json.Marshal(map[string]any{ // texts can always be written
		"risk": t.Runtime.Risk, "tags": t.Spec.Tags, "request": openapi.WireOf(t),
	})
	return trust.Definition{
		Name: t.ID.Name, Description: t.Spec.Description, Input: t.Spec.Input, Annotations: annotations,
	}
}

// held returns the operations that wait for a human before this app is shown them.
func (o *source) held() ([]trust.Held, error) {
	all, err := o.set.opt.Trust.Pending(o.trustKey)
	if err == nil && o.strict && o.api.IsRemote() {
		var unseen []trust.Held
		unseen, err = o.set.opt.Trust.Unreviewed(o.trustKey)
		all = append(all, unseen...)
	}
	return all, err
}

// maxHosts bounds of how many documents the hosts are kept.
const maxHosts = 100

// Hosts are the hosts that a document, which is a file, says its operations are sent to; none: it cannot be read.
func (s *Set) Hosts(a appapis.API) []string {
	key := describedBy(a)
	s.mu.Lock()
	known, ok := s.hosts[key]
	s.mu.Unlock()
	if ok {
		return known
	}
	var hosts []string
	if made, err := openapi.New(s.config(a), []byte(a.Text)); err == nil {
		for _, text := range made.Servers {
			if u, err := url.Parse(text); err == nil {
				hosts = append(hosts, u.Scheme+"://"+u.Host)
			}
		}
		made.Close()
	}
	slices.Sort(hosts)
	hosts = slices.Compact(hosts)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.hosts) >= maxHosts {
		clear(s.hosts)
	}
	s.hosts[key] = hosts
	return hosts
}
