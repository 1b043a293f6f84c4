package catalogs

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"callgate/tool"
	"callgate/toolcatalog/remote"
)

const (
	firstWait = 3 * time.Second // for the first answer, of who opens a session
	firstPlay = time.Minute     // after the first failure, until it is asked again
)

// Catalog is one remote catalog.
type Catalog struct {
	cfg    Config
	set    *Set
	scopes map[string]bool // of the apps that name it; under the set's mutex
	remote *remote.Catalog

	named   context.Context // until no app names it
	stop    context.CancelFunc
	ready   chan struct{} // closed when the first answer is there, or is not needed
	listing atomic.Pointer[Listing]
}

// URL is where the catalog is.
func (c *Catalog) URL() string { return c.cfg.URL }

// Listing is what the catalog lists now.
func (c *Catalog) Listing() *Listing { return c.listing.Load() }

// Wait waits until catalogs have answered for the first time, each at the same time, and not longer
// than a session should take to open.
func Wait(ctx context.Context, all []*Catalog) {
	enough := time.NewTimer(firstWait)
	defer enough.Stop()
	for _, c := range all {
		select {
		case <-c.ready:
		case <-enough.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// run asks for the catalog until the kernel closes, or no app names it.
func (c *Catalog) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.named, cancel)()
	defer c.remote.Close()
	answered := sync.OnceFunc(func() { close(c.ready) })
	defer answered()
	due := c.takeKept(ctx)
	if due > 0 {
		answered()
	}
	for failures := 0; c.sleep(ctx, due); {
		err := c.ask(ctx)
		answered()
		failures++
		if err == nil {
			failures = 0
		}
		due = c.next(failures)
	}
}

// sleep waits, and reports whether it was to the end.
func (c *Catalog) sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// next is how long it takes until the server is asked again: the refresh, or after failures less.
// Kernels that began together do not ask together.
func (c *Catalog) next(failures int) time.Duration {
	d := c.cfg.Refresh
	if failures > 0 {
		d = min(d, firstPlay<<min(failures-1, 10))
	}
	return d + rand.N(d/10+1)
}

// takeKept takes what is on disk, and returns how long it is new enough; 0: it is not.
func (c *Catalog) takeKept(ctx context.Context) time.Duration {
	tools, asked := c.remote.Kept(ctx)
	age := time.Since(asked)
	switch {
	case tools == nil:
		c.publish(nil, "the catalog "+c.cfg.URL+" has not answered yet, so its tools are not there")
	case age < 0 || age >= c.cfg.Refresh:
		c.publish(tools, fmt.Sprintf("the catalog %s has not answered yet; what it listed on %s counts until then",
			c.cfg.URL, asked.UTC().Format(time.DateTime)))
	default:
		c.publish(tools)
		return c.cfg.Refresh - age
	}
	return 0
}

// ask asks the server, and returns why what is listed is not what the server has.
func (c *Catalog) ask(ctx context.Context) error {
	tools, err := c.remote.List(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	switch old := c.remote.Warning(); {
	case err != nil:
		c.set.opt.Log.Warn("a catalog of tools cannot be listed", "catalog", c.cfg.URL, "error", err)
		c.publish(nil, "the catalog "+c.cfg.URL+" cannot be listed, so its tools are not there: "+err.Error())
	case old != nil:
		err = old
		c.set.opt.Log.Warn("a catalog of tools may be out of date", "catalog", c.cfg.URL, "error", err)
		c.publish(tools, err.Error())
	default:
		c.publish(tools)
	}
	return err
}

// publish takes a listing in the place of the one before, and tells of it if its tools are others.
func (c *Catalog) publish(tools []*tool.Tool, problems ...string) {
	next := &Listing{Problems: problems}
	for _, t := range tools {
		if Reserved(t.ID.Namespace) {
			next.Problems = append(next.Problems, fmt.Sprintf(
				"the catalog %s lists the tool %s, which is left out: the namespace %s is not a catalog's",
				c.cfg.URL, t.ID, t.ID.Namespace))
			continue
		}
		next.Tools = append(next.Tools, Listed{t, c.remote.Digest(t.ID)})
	}
	old := c.listing.Swap(next)
	same := func(a, b Listed) bool { return a.ID == b.ID && a.Digest == b.Digest }
	if slices.EqualFunc(old.Tools, next.Tools, same) {
		return
	}
	scopes, changed := c.set.scopesOf(c)
	for _, scope := range scopes {
		if changed != nil {
			changed(scope)
		}
	}
}
