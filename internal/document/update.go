package document

import (
	"context"
	"math/rand/v2"
	"time"

	"callgate/tool"
)

// How an update is repeated when another writer was faster.
const (
	maxAttempts = 100
	firstPause  = time.Millisecond // the longest pause after the first attempt; it doubles
	lastPause   = 50 * time.Millisecond
)

// Update makes the changes that prepare returns, and returns the number of the
// write; 0 when there are none. When another writer changed one of the
// documents meanwhile, prepare is called again: it must read what it needs each
// time. An error of prepare ends the update, also if it is a Conflict.
func Update(ctx context.Context, s Store, prepare func() ([]Change, error)) (version int64, err error) {
	pause := firstPause
	for attempt := 1; ; attempt++ {
		changes, err := prepare()
		if err != nil || len(changes) == 0 {
			return 0, err
		}
		version, err := s.Write(ctx, changes...)
		if tool.KindOf(err) != tool.Conflict || attempt == maxAttempts {
			return version, err
		}
		select {
		case <-time.After(rand.N(pause)):
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
		pause = min(2*pause, lastPause)
	}
}

// ListAll returns all documents of a collection whose keys begin with prefix.
// It reads them in several steps, so a write in between may be seen in part.
func ListAll(ctx context.Context, s Store, collection, prefix string) ([]Document, error) {
	var all []Document
	after := ""
	for {
		page, err := s.List(ctx, collection, prefix, after, MaxList)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if len(page) < MaxList {
			return all, nil
		}
		after = page[len(page)-1].Key
	}
}
