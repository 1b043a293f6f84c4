package node

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"callgate/internal/journal/anchor"
	"callgate/internal/journal/keyfile"
	"callgate/internal/journal/witness"
)

// witnessed is of how many other nodes one keeps the heads. Of fewer, each keeps those of all.
const witnessed = 64

// heads tell where the journal of this node ends, and keep what others tell of theirs.
type heads struct {
	anchor, key string // files
	book        *witness.Book
	damaged     error // why there is no book: what was seen must not be forgotten by writing another

	mu   sync.Mutex
	last anchor.Point
	told *witness.Head // for it

	heard atomic.Pointer[witness.Head] // the last that the database has
}

// untold reports whether the journal has gone on since the last heartbeat.
func (h *heads) untold(node string) bool {
	head := h.own(node)
	return head != nil && head != h.heard.Load()
}

func openHeads(o Options) *heads {
	book, err := witness.Open(o.State.SeenHeads())
	return &heads{anchor: o.State.Anchor(), key: o.State.JournalKey(), book: book, damaged: err}
}

// own is the head of this node, signed. Nil: its anchor or its key cannot be read, or there is no record yet.
func (h *heads) own(node string) *witness.Head {
	at, err := anchor.At(h.anchor).Read()
	if err != nil || at == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.told == nil || h.last != *at {
		key, err := h.signingKey()
		if err != nil {
			return nil
		}
		head := witness.Sign(key, node, *at)
		h.told, h.last = &head, *at
	}
	return h.told
}

func (h *heads) signingKey() (ed25519.PrivateKey, error) {
	key, err := keyfile.Read(h.key)
	if errors.Is(err, fs.ErrNotExist) {
		return keyfile.Make(h.key)
	}
	return key, err
}

// lookAtHeads keeps what others tell, now and again every four leases, until ctx ends.
func (n *Node) lookAtHeads(ctx context.Context, log *slog.Logger) {
	every := time.NewTicker(4 * n.timing.Lease)
	defer every.Stop()
	for {
		if _, err := n.SeenHeads(ctx); err != nil && ctx.Err() == nil {
			log.Warn("the heads of other nodes' journals were not seen", "error", err)
		}
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
	}
}

// SeenHeads returns what this node has seen of the journals of others, by node, with what they tell now. A kernel alone
// has seen none.
func (n *Node) SeenHeads(ctx context.Context) (map[string]witness.Seen, error) {
	if n.shared == nil {
		return nil, nil
	}
	if err := n.shared.heads.damaged; err != nil {
		return nil, err
	}
	list, err := n.shared.db.Nodes().Following(ctx, witnessed)
	if err != nil {
		return nil, err
	}
	var heard []witness.Told
	for _, one := range list {
		var tell told
		if json.Unmarshal(one.Info, &tell) == nil && tell.Head != nil && tell.Head.Node == one.ID {
			heard = append(heard, witness.Told{Head: *tell.Head, Name: one.Name})
		}
	}
	book := n.shared.heads.book
	err = book.Note(time.Now(), heard)
	return book.All(), err
}
