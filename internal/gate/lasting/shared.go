package lasting

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"callgate/internal/document"
	"callgate/internal/gate/approval"
	"callgate/tool"
)

// # What counts at every node
//
// A human may give a yes for an app at every node: one that was shown to them as such, and that names nothing of one
// machine. The law of it:
//
//   - It counts for calls of the kernel's own user, by the name of their account, in an app that is one at all nodes
//     and was accepted as that one at the node of the call.
//   - Each write of such grants changes the head of the account. Before one of them counts, the head is compared with
//     the one that was read last: once when the call is looked up, and again when it holds its locks and is about to
//     run. So a grant that was revoked at any node lets no call begin after that, and a new one counts for the next
//     call. If the head cannot be read, none of them counts.
//   - Uses are added by each node to what is stored, and do not change the head.

// Nodes are the kernels that share the documents.
type Nodes struct {
	Several bool   // false: this kernel is alone, and no new grant is given for every node
	Account string // whose grants these are; empty: none count at every node
	// IsShared reports whether an app is one at all nodes; nil: none is.
	IsShared func(app string) (bool, error)
}

// The keys of an account in the collection.
func (s *Store) headKey() string            { return document.Join("head", s.nodes.Account) }
func (s *Store) sharedKey(id string) string { return s.sharedPrefix() + document.Join(id) }
func (s *Store) sharedPrefix() string       { return document.Join("grant", s.nodes.Account) + "/" }

// sharedApp returns the ID of a call's app, if grants for every node may count for it now.
func (s *Store) sharedApp(ctx context.Context, c *Call) string {
	if !s.isShared(c.App) || c.AppFile != "" || s.Compare(ctx) != nil {
		return ""
	}
	return c.App
}

func (s *Store) isShared(app string) bool {
	if app == "" || s.nodes.Account == "" || s.nodes.IsShared == nil {
		return false
	}
	yes, err := s.nodes.IsShared(app)
	return yes && err == nil
}

// Compare reads what counts at every node again, if a node changed it.
func (s *Store) Compare(ctx context.Context) error { return s.compare(ctx, false) }

// Reload reads what counts at every node again, with the uses of all nodes.
func (s *Store) Reload(ctx context.Context) error { return s.compare(ctx, true) }

func (s *Store) compare(ctx context.Context, always bool) error {
	if s.nodes.Account == "" {
		return nil
	}
	s.reading.Lock()
	defer s.reading.Unlock()
	head, err := s.readHead(ctx)
	if err != nil || head == s.head && !always {
		return err
	}
	all, err := document.ListAll(ctx, s.docs, document.SharedGrants, s.sharedPrefix())
	if err != nil {
		return err
	}
	s.replaceShared(all)
	s.head = head // of before: what was changed since is read again
	return nil
}

func (s *Store) readHead(ctx context.Context) (int64, error) {
	found, err := s.docs.Get(ctx, document.SharedGrants, s.headKey())
	if tool.KindOf(err) == tool.NotFound {
		return 0, nil
	}
	return found.Version, err
}

// replaceShared has the index know what is stored, and nothing else, of every node. One that cannot be read covers
// nothing.
func (s *Store) replaceShared(stored []document.Document) {
	s.mu.Lock()
	defer s.mu.Unlock()
	there := map[string]bool{}
	for _, doc := range stored {
		e, err := readEntry(doc)
		if err != nil || e.App == "" {
			continue
		}
		there[e.ID] = true
		if known := s.index.byID[e.ID]; known != nil {
			known.mu.Lock()
			known.uses = e.uses
			known.uses.add(known.added)
			known.mu.Unlock()
			continue
		}
		s.index.add(e)
	}
	var gone []string
	for id, e := range s.index.byID {
		if e.App != "" && !there[id] {
			gone = append(gone, id)
		}
	}
	for _, id := range gone {
		s.index.remove(id)
	}
}

// headChange changes the head: every node reads the grants again before it uses one.
func (s *Store) headChange(ctx context.Context) (document.Change, error) {
	head, err := s.readHead(ctx)
	return document.Change{Collection: document.SharedGrants, Key: s.headKey(), If: head, Data: []byte("{}")}, err
}

// addShared keeps a grant for every node.
func (s *Store) addShared(ctx context.Context, g Grant) error {
	if _, err := newEntry(g); err != nil {
		return err
	}
	if !s.nodes.Several || !s.isShared(g.App) {
		return tool.Errorf("lasting.Add", tool.Conflict, "the app %s is not one at all nodes", tool.Truncate(g.App)).
			WithHint("approve it in this folder, or in every folder of this machine")
	}
	data, err := json.Marshal(g)
	if err != nil {
		return &tool.Error{Op: "lasting.Add", Kind: tool.Internal, Message: "the grant cannot be written", Err: err}
	}
	_, err = document.Update(ctx, s.docs, func() ([]document.Change, error) {
		if err := s.Compare(ctx); err != nil {
			return nil, err
		}
		s.mu.RLock()
		n := len(s.index.byID)
		s.mu.RUnlock()
		if n >= maxGrants {
			return nil, tooMany(n)
		}
		head, err := s.headChange(ctx)
		put := document.Change{Collection: document.SharedGrants, Key: s.sharedKey(g.ID), Data: data}
		return []document.Change{put, head}, err
	})
	if err != nil {
		return err
	}
	return s.Compare(ctx)
}

// flushShared adds the uses of a grant to those that are stored. One that was revoked meanwhile stays so.
func (s *Store) flushShared(ctx context.Context, e *entry) error {
	e.mu.Lock()
	added := e.added
	e.added = Uses{}
	e.mu.Unlock()
	_, err := document.Update(ctx, s.docs, func() ([]document.Change, error) {
		doc, err := s.docs.Get(ctx, document.SharedGrants, s.sharedKey(e.ID))
		if tool.KindOf(err) == tool.NotFound {
			return nil, nil
		}
		var g Grant
		if err == nil {
			err = json.Unmarshal(doc.Data, &g)
		}
		if err != nil {
			return nil, err
		}
		g.Uses.add(added)
		data, err := json.Marshal(g)
		return []document.Change{{Collection: doc.Collection, Key: doc.Key, If: doc.Version, Data: data}}, err
	})
	if err != nil {
		e.mu.Lock()
		added.add(e.added)
		e.added, e.dirty = added, true
		e.mu.Unlock()
	}
	return err
}

// maxEveryNode bounds the choices that a human is offered for every node.
const maxEveryNode = 3

// AtEveryNode adds to the choices that a human has about a call those that count for its app at every node.
func (s *Store) AtEveryNode(c *Call, choices []approval.Choice) []approval.Choice {
	if !s.nodes.Several || c.AppFile != "" || !s.isShared(c.App) || namesMachine(c) {
		return choices
	}
	all := slices.Clip(choices)
	n := 0
	for _, choice := range choices {
		if !choice.IsHere() || n == maxEveryNode {
			continue
		}
		n++
		text, _ := strings.CutSuffix(choice.Text, textHere)
		all = append(all, approval.Choice{
			Text: text + fmt.Sprintf(textEveryNode, c.App), Match: choice.Match, Exact: choice.Exact, App: c.App,
		})
	}
	return all
}

// namesMachine reports whether a call names a path of its machine.
func namesMachine(c *Call) bool {
	return hasAbsolutePath(c) || hasPath(c.Args)
}

// hasPath reports whether a text in a value has a word that is a path outside of the folder of a call.
func hasPath(value any) bool {
	switch value := value.(type) {
	case string:
		return slices.ContainsFunc(strings.FieldsFunc(value, splitsWords), isOutside)
	case map[string]any:
		for _, v := range value {
			if hasPath(v) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(value, hasPath)
	}
	return false
}

func splitsWords(r rune) bool { return strings.ContainsRune(" \t\r\n\"'`=,;&|<>(){}[]", r) }

// isOutside reports whether a word is an absolute path, one of a home, or one that leads out of the folder. An address
// on the web is none.
func isOutside(word string) bool {
	if scheme, _, ok := strings.Cut(word, "://"); ok && scheme != "file" {
		return false
	}
	drive := len(word) > 2 && word[1] == ':' && (word[2] == '\\' || word[2] == '/')
	return drive || strings.HasPrefix(word, "/") || strings.HasPrefix(word, `\\`) || strings.HasPrefix(word, "~") ||
		strings.HasPrefix(word, "$") || strings.HasPrefix(word, "file:") || slices.Contains(strings.Split(word, "/"), "..")
}
