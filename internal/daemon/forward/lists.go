package forward

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/kernel/node"
	"callgate/internal/protocol/operations"
	"callgate/tool"
)

// order is how a list is sorted, and what else is to be known of it.
type order struct {
	at     []string // the path of the time by which it is sorted
	newest bool     // the newest first; else the oldest
	after  string   // the parameter that goes on after something, which one node has; "": there is none
	of     string   // the parameter that names a conversation, which one node has; "": there is none
}

// maxList bounds what one node gives of a list.
const maxList = 32 << 20

// part is what one node gives of a list.
type part struct {
	node  Node
	items []json.RawMessage
	err   error
}

// serveList asks every node for its part of a list.
func (f *Forwarder) serveList(w http.ResponseWriter, r *http.Request, pattern string, p placement) error {
	to, err := f.listedAt(r, p)
	switch {
	case err != nil:
		return err
	case to.ID == f.self.ID:
		f.opt.API.ServeHTTP(w, r)
		return nil
	case to.ID != "":
		return f.forward(w, r, pattern, p, to)
	}
	nodes, err := f.members.living(r.Context())
	if err != nil || len(nodes) < 2 {
		f.opt.API.ServeHTTP(w, r) // what is here can be told all the same
		return nil
	}
	own := route.NewKept()
	f.opt.API.ServeHTTP(own, r)
	var items []json.RawMessage
	if own.Status >= http.StatusMultipleChoices || json.Unmarshal(own.Body.Bytes(), &items) != nil {
		own.CopyTo(w)
		return nil
	}
	who, err := whoAsks(f.opt.Kernel, r, pattern, human{})
	if err != nil {
		return err
	}
	parts := append(f.askAll(r, who, nodes), part{node: f.self, items: items})
	merged := merge(parts, p.list)
	if limit, err := strconv.Atoi(r.URL.Query().Get("limit")); err == nil && limit > 0 && len(merged) > limit {
		merged = merged[:limit]
	}
	if missing := f.missing(parts); missing != "" {
		w.Header().Set(operations.MissingHeader, missing)
	}
	return route.Answer(w, merged)
}

// listedAt returns the one node that has all of a list; one without an ID: there may be some at each.
func (f *Forwarder) listedAt(r *http.Request, p placement) (Node, error) {
	query := r.URL.Query()
	if id := query.Get(p.list.after); p.list.after != "" && id != "" {
		return f.whereIs(r.Context(), p.kind, id)
	}
	if id := query.Get(p.list.of); p.list.of != "" && id != "" {
		return f.whereIs(r.Context(), node.Conversation, id)
	}
	return Node{}, nil
}

// askAll asks the other nodes for their parts of a list, at once.
func (f *Forwarder) askAll(r *http.Request, who asker, nodes []Node) []part {
	ctx, cancel := context.WithTimeout(r.Context(), f.opt.ListTime)
	defer cancel()
	var parts []part
	for _, n := range nodes {
		if n.ID != f.self.ID {
			parts = append(parts, part{node: n})
		}
	}
	var asking sync.WaitGroup
	for i := range parts {
		asking.Go(func() { parts[i].items, parts[i].err = f.ask(ctx, r, who, parts[i].node) })
	}
	asking.Wait()
	return parts
}

// ask asks one node for its part of a list.
func (f *Forwarder) ask(ctx context.Context, r *http.Request, who asker, n Node) ([]json.RawMessage, error) {
	resp, _, err := f.send(ctx, r, n, who)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusMultipleChoices {
		return nil, tool.Errorf("forward", tool.Unavailable, "the node %s answered %s", n.Name, resp.Status)
	}
	var items []json.RawMessage
	err = json.NewDecoder(io.LimitReader(resp.Body, maxList)).Decode(&items)
	return items, err
}

// missing names the nodes that gave nothing, for a header; "": none.
func (f *Forwarder) missing(parts []part) string {
	var names []string
	for _, p := range parts {
		if p.err != nil {
			f.opt.Log.Warn("a node gave no part of a list", "node", p.node.Name, "error", p.err)
			names = append(names, url.QueryEscape(p.node.Name))
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// merge makes one list of the parts, in the list's order. Each item says its node.
func merge(parts []part, o order) []json.RawMessage {
	type item struct {
		at   time.Time
		node string
		data json.RawMessage
	}
	all := []item{}
	for _, p := range parts {
		for _, data := range p.items {
			all = append(all, item{timeIn(data, o.at), p.node.ID, withNode(data, p.node.Name)})
		}
	}
	slices.SortStableFunc(all, func(a, b item) int {
		by := a.at.Compare(b.at)
		if o.newest {
			by = -by
		}
		return cmp.Or(by, strings.Compare(a.node, b.node))
	})
	merged := make([]json.RawMessage, len(all))
	for i, one := range all {
		merged[i] = one.data
	}
	return merged
}

// timeIn is the time at a path in an object; zero: there is none.
func timeIn(data json.RawMessage, path []string) (at time.Time) {
	for _, name := range path {
		var members map[string]json.RawMessage
		if json.Unmarshal(data, &members) != nil {
			return at
		}
		data = members[name]
	}
	_ = json.Unmarshal(data, &at)
	return at
}

// withNode adds the name of its node to an object.
func withNode(data json.RawMessage, name string) json.RawMessage {
	inner, ok := bytes.CutPrefix(bytes.TrimSpace(data), []byte("{"))
	if !ok {
		return data
	}
	quoted, err := json.Marshal(name)
	if err != nil {
		return data
	}
	comma := []byte(",")
	if inner = bytes.TrimSpace(inner); bytes.HasPrefix(inner, []byte("}")) {
		comma = nil
	}
	return slices.Concat([]byte(`{"node":`), quoted, comma, inner)
}
