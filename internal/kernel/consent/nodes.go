package consent

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"callgate/internal/document"
	"callgate/tool"
)

// # Whose ID it is among several nodes
//
// An ID that an app file writes belongs to one file at one node, whichever had it first among all nodes, and what its
// agents remember is then one at all nodes. A file at another node that writes it has what the first one remembers if a
// human there accepts that, as on one machine. An ID that no file writes is the name of a folder, which is of one
// machine: it belongs to its node, and so does one that a file of the node had before any of another node.

// Nodes are the kernels that share a database with this one.
type Nodes struct {
	Documents document.Store // that all of them have
	ID, Name  string         // of this one
	Several   bool           // false: this kernel is alone
}

// claims are the IDs that belong to a file at some node. A claim never changes, so one that was read counts for good.
type claims struct {
	Nodes

	mu    sync.Mutex
	known map[string]claim
	none  map[string]time.Time // until when an ID is taken for one that nobody claims
}

// claim says to which file an ID belongs.
type claim struct {
	Node string    `json:"node"`
	Name string    `json:"name"` // of the node, then
	File string    `json:"file"`
	Made time.Time `json:"made"`
}

const (
	// noneFor is how long another node's claim may not be noticed. It matters to nobody but its own file.
	noneFor = time.Second
	// maxClaims bounds the IDs that are known.
	maxClaims = 10_000
	// claimPatience is how long the documents are waited for.
	claimPatience = 30 * time.Second
)

// Among has IDs belong to one file among several nodes. It is called before the consents are used.
func (c *Consents) Among(n Nodes) {
	c.claims = &claims{Nodes: n, known: map[string]claim{}, none: map[string]time.Time{}}
}

// IsShared reports whether what the agents of an app remember is one at all nodes.
func (c *Consents) IsShared(id string) (bool, error) {
	if c.claims == nil {
		return false, nil
	}
	_, found, err := c.claims.find(id)
	if err != nil || !found {
		return false, err
	}
	own, err := c.store.AcceptedLines(ownerKey(id))
	return len(own) == 0, err
}

// find returns the claim of an ID, if a file at some node has it.
func (c *claims) find(id string) (claim, bool, error) {
	c.mu.Lock()
	found, ok := c.known[id]
	free := time.Now().Before(c.none[id])
	c.mu.Unlock()
	if ok || free {
		return found, ok, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), claimPatience)
	defer cancel()
	d, err := c.Documents.Get(ctx, document.SharedApps, document.Join(id))
	if tool.KindOf(err) == tool.NotFound {
		c.keep(id, nil)
		return claim{}, false, nil
	}
	if err == nil {
		err = json.Unmarshal(d.Data, &found)
	}
	if err != nil {
		return claim{}, false, &tool.Error{Op: "consent.Owner", Kind: tool.Unavailable, Err: err,
			Message: "whose the app ID " + tool.Truncate(id) + " is cannot be read"}
	}
	c.keep(id, &found)
	return found, true, nil
}

// keep remembers what was read. Alone, nobody else makes a claim.
func (c *claims) keep(id string, found *claim) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known)+len(c.none) >= maxClaims {
		clear(c.known)
		clear(c.none)
	}
	switch {
	case found != nil:
		c.known[id] = *found
		delete(c.none, id)
	case c.Several:
		c.none[id] = time.Now().Add(noneFor)
	default:
		c.none[id] = time.Now().Add(24 * time.Hour)
	}
}

// make has an ID belong to a file of this node, unless another was faster, and returns whose it is.
func (c *claims) make(id, file string) (claim, error) {
	ctx, cancel := context.WithTimeout(context.Background(), claimPatience)
	defer cancel()
	mine := claim{Node: c.ID, Name: c.Name, File: file, Made: time.Now().UTC().Truncate(time.Second)}
	data, err := json.Marshal(mine)
	if err != nil {
		return claim{}, err
	}
	change := document.Change{Collection: document.SharedApps, Key: document.Join(id), Data: data}
	if _, err = c.Documents.Write(ctx, change); err == nil {
		c.keep(id, &mine)
		return mine, nil
	}
	if tool.KindOf(err) != tool.Conflict {
		return claim{}, err
	}
	c.mu.Lock()
	delete(c.none, id)
	c.mu.Unlock()
	found, _, err := c.find(id)
	return found, err
}

// isHere reports whether a claim was made by this node. A kernel that left the others has no ID among them any more,
// and knows its node by its name.
func (c *claims) isHere(one claim) bool {
	return one.Node == c.ID || !c.Several && one.Name == c.Name
}

// place is the file of a claim as people at this node are shown it.
func (c *claims) place(one claim) string {
	if c.isHere(one) {
		return one.File
	}
	return one.Name + ":" + one.File
}

// owner returns the file that an ID belongs to among all nodes; "": none. An ID that a file writes belongs to that
// file, if it belonged to none before.
func (c *claims) owner(id, file string, written bool) (string, error) {
	if c == nil {
		return "", nil
	}
	one, found, err := c.find(id)
	if err != nil {
		return "", err
	}
	if !found {
		if !written || !c.Several {
			return "", nil
		}
		if one, err = c.make(id, file); err != nil {
			return "", err
		}
	}
	return c.place(one), nil
}
