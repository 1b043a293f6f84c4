package console

import (
	"net/http"

	"callgate/internal/daemon/console/nodes"
)

// nodePages shows the machines that share the kernel's database.
type nodePages struct{ *Console }

func (c *nodePages) routes() map[string]serve {
	return map[string]serve{"GET /nodes": c.nodes, "POST /nodes/{id}/drain": c.drain}
}

func (c *nodePages) nodes(w http.ResponseWriter, r *http.Request) error {
	view, err := nodes.Read(r.Context(), c.Client(r))
	if err != nil {
		return err
	}
	return c.show(w, r, "nodes", page{Title: "Nodes", Nav: "nodes", Live: "nodes", Data: view})
}

func (c *nodePages) drain(w http.ResponseWriter, r *http.Request) error {
	undo := r.FormValue("undo") != ""
	if err := nodes.Drain(r.Context(), c.Client(r), r.PathValue("id"), undo, c.Person(r).Name); err != nil {
		return err
	}
	return back(w, r, "/nodes")
}
