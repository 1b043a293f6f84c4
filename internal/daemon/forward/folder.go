package forward

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"

	"callgate/internal/daemon/httpapi/route"
)

// The law of shared folders.
//
// One node at a time works in a folder that several share: see internal/kernel/shares. What is opened there at another
// goes to the one that works there. The node that is asked has found that whoever asks may work in the folder, and says
// so; the one that answers believes it of folders that it shares itself, and of no other. Where nobody works, the node
// that is asked does.

// worksThere returns the node that works in the folder in which a request opens something; this one, unless another
// does.
func (f *Forwarder) worksThere(r *http.Request) (Node, error) {
	folder, err := f.sharedFolder(r)
	if err != nil || folder == "" {
		return Node{}, err
	}
	owner, _, err := f.members.FolderOwner(r.Context(), folder)
	if err != nil || owner == "" || owner == f.self.ID {
		return Node{}, err
	}
	to, lives, err := f.members.find(r.Context(), func(n Node) bool { return n.ID == owner })
	if err != nil || !lives || to.Address == "" {
		return Node{}, err // it is refused here, in the name of who works there
	}
	return to, nil
}

// sharedFolder is the folder in which a request opens something, if nodes share it and the request may; "": another.
func (f *Forwarder) sharedFolder(r *http.Request) (string, error) {
	var o struct {
		Workspace string `json:"workspace"`
	}
	if err := peek(r, &o); err != nil {
		return "", err
	}
	if login, overNetwork := route.LoginOf(r); overNetwork && o.Workspace == "" {
		o.Workspace = login.Workspace
	}
	if o.Workspace == "" || route.CheckPlace(r, o.Workspace, "") != nil {
		return "", nil // whoever answers says so
	}
	folder, err := filepath.EvalSymlinks(o.Workspace)
	if err != nil {
		return "", nil
	}
	_, isShared, err := f.members.FolderOwner(r.Context(), folder)
	if err != nil || !isShared {
		return "", err
	}
	return folder, nil
}

// prepareOpening says to another node in which shared folder something may be opened there. A request that goes on with
// a conversation does so in the folder of that.
func (f *Forwarder) prepareOpening(r *http.Request, who *asker) (err error) {
	if who.Folder, err = f.sharedFolder(r); err != nil {
		return err
	}
	resumed, err := resumedBy(r)
	if err != nil || resumed == "" {
		return err
	}
	return withoutFolder(r)
}

// served is the folder in which somebody works who comes from another node.
func (s *listener) served(ctx context.Context, who asker, p placement) string {
	if p.how != opening || who.Folder == "" {
		return s.workspace
	}
	if _, isShared, err := s.members.FolderOwner(ctx, who.Folder); err != nil || !isShared {
		return s.workspace
	}
	return who.Folder
}

// withoutFolder leaves out of a request that goes on with a conversation the folder that its sender is in, unless
// somebody named it: it is one of another machine.
func withoutFolder(r *http.Request) error {
	members := map[string]json.RawMessage{}
	err := peek(r, &members)
	if err != nil || string(members["workspace_named"]) == "true" || members["workspace"] == nil {
		return err
	}
	delete(members, "workspace")
	data, err := json.Marshal(members)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	return err
}
