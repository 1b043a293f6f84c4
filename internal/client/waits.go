package client

import (
	"cmp"
	"context"
	"strings"

	"callgate/internal/client/liveness"
)

// mayTakeLong reports whether a request waits for work that has no bound of its own.
func mayTakeLong(path string) bool {
	path, _, _ = strings.Cut(path, "?")
	for _, end := range []string{
		"/calls", "/messages", "/resume", "/wake", "/attend", "/compact", "/result", "/follow", "/login",
	} {
		if strings.HasSuffix(path, end) {
			return true
		}
	}
	return false
}

// readsAll reports whether a request goes through everything that there is, or starts a
// server: a kernel that lives is waited for.
func readsAll(path string) bool {
	for _, end := range []string{"/verify", "/export", "/prune", "/refresh", "/restart", "/trust"} {
		if strings.HasSuffix(path, end) {
			return true
		}
	}
	return false
}

// watch returns the context of a request, which ends if the kernel is silent for too
// long, and its watcher, whose Stop must be called.
func (c *Client) watch(ctx context.Context, path string) (context.Context, *liveness.Watcher) {
	r := liveness.Request{Long: mayTakeLong(path)}
	if !r.Long && !readsAll(path) {
		r.Limit = cmp.Or(c.limit, liveness.ShortLimit)
	}
	return liveness.Watch(ctx, c.kernel, c.say, r)
}
