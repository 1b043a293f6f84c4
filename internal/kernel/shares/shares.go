// Package shares knows the folders that several machines have, and which of their workspaces this node works in.
//
// # Law
//
//   - Whoever starts a node says which folders it shares with others, by a name and an absolute path, which is the
//     same at all of them. A file in the folder has an ID, and two nodes mean the same folder only if they read the
//     same ID there: a folder of the same name on another disk is another.
//   - A workspace, which is a folder in a shared one, is worked in by one node at a time: the one that has claimed it
//     in the database (internal/storage/postgres/workspaces). It is claimed when a session is made in it, and given
//     back when no session is open there and no task waits that would work there. So files need no locks across
//     nodes: who locks a file is the node that has its workspace.
//   - A node that does not live any more has nothing: another claims it, once the lease is over and the dead node is
//     taken over. Until then the claim is refused.
//   - A node whose lease is over without its knowing, because it was paused, is stopped when it wakes up (see guard.go
//     of package node): its handlers are cancelled before a heartbeat is sent, nothing begins, and it writes nothing in
//     the database. A handler that was stopped in the middle of writing a file does not put it in its place
//     (tool.Grant.MayChange); a command that it started, or git, may write until it is killed.
package shares

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"callgate/tool"
)

// Variable names the shared folders in the environment: NAME=/path, several with commas between them.
const Variable = "CALLGATE_SHARED"

// Share is a folder that several machines have.
type Share struct {
	Name string `json:"name"`
	Path string `json:"path"`
	ID   string `json:"id"`
}

var shareName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// Parse reads NAME=/path, several with commas between them.
func Parse(text string) ([]Share, error) {
	const op = "shares.Parse"
	var all []Share
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, path, _ := strings.Cut(part, "=")
		switch path = strings.TrimSpace(path); {
		case !shareName.MatchString(name):
			return nil, tool.Errorf(op, tool.Invalid, "%q does not name a shared folder", tool.Truncate(part)).
				WithHint("write NAME=/path; a name has letters, digits, dots, dashes and underscores")
		case !filepath.IsAbs(path) || filepath.Clean(path) == string(filepath.Separator):
			return nil, tool.Errorf(op, tool.Invalid, "%q is not the absolute path of a shared folder", tool.Truncate(path)).
				WithHint("write NAME=/path, with the same path at all nodes")
		}
		for _, other := range all {
			if other.Name == name || contains(other.Path, filepath.Clean(path)) || contains(filepath.Clean(path), other.Path) {
				return nil, tool.Errorf(op, tool.Invalid, "the shared folders %s and %s are one, or one lies in the other",
					other.Name, name)
			}
		}
		all = append(all, Share{Name: name, Path: filepath.Clean(path)})
	}
	return all, nil
}

// contains reports whether a path is a folder or lies in it.
func contains(folder, path string) bool {
	return path == folder || strings.HasPrefix(path, folder+string(filepath.Separator))
}

// Claims says which node works in a workspace of a shared folder.
type Claims interface {
	// Claim gives this node a workspace. If another has it, one above it or one in it, that is a Conflict.
	Claim(ctx context.Context, share, path string) error
	// Release gives it back.
	Release(ctx context.Context, share, path string) error
}

// Set is the shared folders of a node. A nil Set has none. Make one with Open.
type Set struct {
	claims Claims
	shares []Share
	busy   func(ctx context.Context, folder string) bool // a task would work there

	mu   sync.Mutex // held while claims are made and given back
	held map[workspace]int
}

// workspace is a folder of a shared one.
type workspace struct{ share, path string }

// Open reads the IDs of shared folders. busy reports whether a task of the node waits that would work in a folder.
func Open(declared []Share, claims Claims, busy func(ctx context.Context, folder string) bool) (*Set, error) {
	s := &Set{claims: claims, busy: busy, held: map[workspace]int{}}
	for _, one := range declared {
		resolved, err := filepath.EvalSymlinks(one.Path)
		if err != nil {
			return nil, unusable(one.Path, err)
		}
		if resolved != one.Path {
			return nil, tool.Errorf("shares.Open", tool.Invalid, "the shared folder %s is a link to %s", one.Path, resolved).
				WithHint("name the folder itself, with the same path at all nodes")
		}
		if one.ID, err = readMarker(one.Path); err != nil {
			return nil, err
		}
		s.shares = append(s.shares, one)
	}
	return s, nil
}

// List returns the shared folders.
func (s *Set) List() []Share {
	if s == nil {
		return nil
	}
	return s.shares
}

// Of returns the shared folder that a folder is or lies in, and its place there.
func (s *Set) Of(folder string) (share Share, path string, ok bool) {
	for _, one := range s.List() {
		if contains(one.Path, folder) {
			rest := strings.TrimPrefix(strings.TrimPrefix(folder, one.Path), string(filepath.Separator))
			return one, filepath.ToSlash(rest), true
		}
	}
	return Share{}, "", false
}

// Has reports whether a folder is a shared one, or lies in one.
func (s *Set) Has(folder string) bool {
	_, _, ok := s.Of(folder)
	return ok
}

// Among reports whether a folder lies in a folder that this node and another share: by the ID, at the same path.
func (s *Set) Among(theirs []Share, folder string) bool {
	own, _, ok := s.Of(folder)
	if !ok {
		return false
	}
	for _, other := range theirs {
		if other.ID == own.ID && other.Path == own.Path {
			return true
		}
	}
	return false
}

// Enter has this node work in a folder until leave is called. One that is not shared is its own anyway.
func (s *Set) Enter(ctx context.Context, folder string) (leave func(), err error) {
	share, path, ok := s.Of(folder)
	if !ok {
		return func() {}, nil
	}
	w := workspace{share.ID, path}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, mine := s.held[w]; !mine {
		if err := s.claims.Claim(ctx, w.share, w.path); err != nil {
			return nil, err
		}
	}
	s.held[w]++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.held[w]--
	}), nil
}

// Keep gives workspaces back that nobody works in any more, until ctx ends. It looks every so often.
func (s *Set) Keep(ctx context.Context, every time.Duration) {
	if len(s.List()) == 0 {
		return
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		s.GiveBack(ctx)
	}
}

// GiveBack gives the workspaces back that nobody works in now.
func (s *Set) GiveBack(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w, users := range s.held {
		if users > 0 || s.busy(ctx, s.folderOf(w)) {
			continue
		}
		if s.claims.Release(ctx, w.share, w.path) == nil { // else it is tried again
			delete(s.held, w)
		}
	}
}

func (s *Set) folderOf(w workspace) string {
	for _, one := range s.shares {
		if one.ID == w.share {
			return filepath.Join(one.Path, filepath.FromSlash(w.path))
		}
	}
	return ""
}
