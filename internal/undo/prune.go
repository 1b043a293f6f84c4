package undo

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"callgate/internal/durable"
)

// Pruned is what a pruning removed.
type Pruned struct {
	Calls int   // that cannot be undone any more
	Bytes int64 // of contents
}

const (
	pruneEvery = time.Hour
	// fresh is how long a content is left alone after its last use: the line that names
	// it may not be written yet.
	fresh = time.Minute
)

// Keep prunes from time to time, and when much was added, until ctx ends.
func (s *Store) Keep(ctx context.Context) {
	wait := time.Duration(0)
	if info, err := os.Stat(s.mark()); err == nil {
		wait = max(0, min(pruneEvery, pruneEvery-time.Since(info.ModTime())))
	}
	for {
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-s.full:
			timer.Stop()
		case <-timer.C:
		}
		if _, err := s.Prune(ctx, time.Time{}); err != nil && ctx.Err() == nil {
			s.log.Warn("what is kept of old calls cannot be removed now", "error", err)
		}
		wait = pruneEvery
	}
}

// mark is the file whose time says when the store was last pruned.
func (s *Store) mark() string { return filepath.Join(s.dir, "pruned") }

// Prune drops the calls that began before a time, or are too old, and the oldest of those
// that are too much; then the contents that no call needs.
func (s *Store) Prune(ctx context.Context, before time.Time) (Pruned, error) {
	var p Pruned
	if _, err := os.Stat(s.dir); errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	s.grown.Store(0)
	now := time.Now()
	if oldest := now.Add(-s.limits.Age); before.Before(oldest) {
		before = oldest
	}
	entries, err := s.Entries(ctx)
	if err != nil {
		return p, err
	}
	drop := s.dropped(entries, before)
	if p.Calls, err = s.rewrite(ctx, drop); err != nil {
		return p, err
	}
	inUse := map[string]bool{}
	entries, err = s.Entries(ctx) // with those that came meanwhile
	if err != nil {
		return p, err
	}
	for i := range entries {
		for _, c := range entries[i].Files {
			if c.Before.Kept {
				inUse[c.Before.Ref] = true
			}
		}
	}
	p.Bytes, err = s.blobs.removeUnused(ctx, inUse, now.Add(-fresh))
	return p, errors.Join(err, s.touchMark(now))
}

func (s *Store) touchMark(now time.Time) error {
	f, err := os.OpenFile(s.mark(), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Chtimes(s.mark(), now, now))
}

// dropped chooses the calls that go. A call that may still run stays.
func (s *Store) dropped(entries []Entry, before time.Time) map[string]bool {
	drop := map[string]bool{}
	sessions, users, total := map[string]int64{}, map[string]int64{}, int64(0)
	share := s.limits.Total // of each user
	for i := range entries {
		if entries[i].Principal.User != entries[0].Principal.User {
			share = min(share, s.limits.User) // nobody pushes out what others have
		}
	}
	for i := len(entries) - 1; i >= 0; i-- { // the newest first
		e := &entries[i]
		n, session := e.bytes(), e.Principal.Session
		if e.Ended.IsZero() && time.Since(e.Begun) < s.limits.Age {
			continue
		}
		if e.Begun.Before(before) || !e.Ended.IsZero() && e.Empty() {
			drop[e.Call] = true
			continue
		}
		if n == 0 {
			continue
		}
		user := e.Principal.User
		if sessions[session] += n; sessions[session] <= s.limits.Session {
			if users[user] += n; users[user] <= share {
				total += n
			}
		}
		drop[e.Call] = sessions[session] > s.limits.Session || users[user] > share || total > s.limits.Total
	}
	return drop
}

// rewrite leaves calls out of the logs, and returns how many of them said something.
func (s *Store) rewrite(ctx context.Context, drop map[string]bool) (dropped int, err error) {
	names, err := s.logNames()
	if err != nil || len(drop) == 0 {
		return 0, err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return dropped, err
		}
		n, err := s.rewriteLog(name, drop)
		if err != nil {
			return dropped, err
		}
		dropped += n
	}
	return dropped, nil
}

func (s *Store) rewriteLog(name string, drop map[string]bool) (dropped int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	entries, err := s.readLog(name)
	if err != nil || !slices.ContainsFunc(entries, func(e Entry) bool { return drop[e.Call] }) {
		return 0, err
	}
	var left bytes.Buffer
	for _, e := range entries {
		if drop[e.Call] {
			if !e.Empty() {
				dropped++
			}
			continue
		}
		data, err := e.lines()
		if err != nil {
			return 0, err
		}
		left.Write(data)
	}
	path := filepath.Join(s.logs(), name)
	if left.Len() == 0 {
		return dropped, os.Remove(path)
	}
	return dropped, durable.Write(path, left.Bytes(), 0o600)
}
