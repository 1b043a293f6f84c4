package daemon

import (
	"context"
	"net/http"
	"strings"

	"callgate/internal/daemon/forward"
	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/kernel"
	"callgate/tool"
)

// Cluster says where other nodes reach this one: those that share its database.
type Cluster = forward.Address

// openNode returns what answers requests: the API of the kernel, or what stands before it where several nodes share a
// database.
func (d *Daemon) openNode() (http.Handler, error) {
	node := kernel.NodeOf(d.Kernel)
	if !node.IsShared() {
		return alone(d.api), nil
	}
	var err error
	d.nodes, err = forward.New(forward.Options{
		API: d.api, Kernel: d.Kernel, Directory: forward.Nodes(node), Log: d.log, Key: node.Key,
		Names: forward.ClaimedNames(node, d.Kernel.Artifacts),
	})
	return d.nodes, err
}

// alone answers for a kernel that shares its database with no other: there is no node to be named.
func alone(api http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.RawQuery, "node=") && r.URL.Query().Get("node") != "" {
			route.Fail(w, tool.Errorf("daemon", tool.Invalid, "this kernel shares its database with no other: it has no nodes").
				WithHint("leave --node away; docs/guides/cluster.md says how several machines share a database"))
			return
		}
		api.ServeHTTP(w, r)
	})
}

// ServeNodes has other nodes reach this one, and returns the address that they dial.
func (d *Daemon) ServeNodes(ctx context.Context, c Cluster) (string, error) {
	if d.nodes == nil {
		return "", tool.Errorf("daemon.ServeNodes", tool.Invalid, "this kernel shares its database with no other").
			WithHint("name the PostgreSQL database that the nodes share with --database, or leave --cluster-listen away")
	}
	return d.nodes.Listen(ctx, c)
}

// face is what answers requests.
func (d *Daemon) face() http.Handler {
	if d.nodes == nil {
		return d.api
	}
	return d.nodes
}

// isOpen reports whether a session is open, as far as this node can tell.
func (d *Daemon) isOpen(session string) bool {
	if d.nodes != nil && d.nodes.IsAway(session) {
		return true
	}
	_, err := d.Kernel.Sessions.Get(session)
	return err == nil
}

// closeNode ends what other nodes ask.
func (d *Daemon) closeNode(ctx context.Context) {
	if d.nodes != nil {
		d.nodes.Close(ctx)
	}
}
