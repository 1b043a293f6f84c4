package servers

import (
	"context"
	"strings"

	"callgate/internal/app"
	"callgate/internal/kernel/servers/apis"
	"callgate/internal/secret/scope"
	"callgate/internal/source/mcp"
)

// UseAPIs makes the APIs of an app known in its scope, whose OpenAPI documents become tools, and drops
// those that it no longer names.
func (s *Set) UseAPIs(ctx context.Context, scope string, declared []app.API, t Terms) error {
	return s.apis.Use(ctx, scope, declared, t.AppFile, t.Pinning)
}

// APIHosts are the hosts that the document of an API, which is a file, names.
func (s *Set) APIHosts(a app.API) []string { return s.apis.Hosts(a) }

// isAPI reports whether a name is that of an API, and of no server.
func (v Scoped) isAPI(name string) bool {
	_, err := v.Get(name)
	return err != nil && v.set.apis.Has(v.scope, name)
}

// All describes the servers and, after them, the APIs: a human reviews what either changed in the
// same way.
func (v Scoped) All(ctx context.Context) ([]Server, error) {
	list, err := v.List(ctx)
	if err != nil {
		return nil, err
	}
	found, err := v.set.apis.List(ctx, v.scope)
	for _, one := range found {
		list = append(list, fromAPI(one))
	}
	return list, err
}

// fromAPI describes an API as a server is described. It was accepted with its app file.
func fromAPI(a apis.Status) Server {
	launch := "call " + strings.Join(a.Servers, ", ") + " as " + a.Document + " describes"
	if len(a.Secrets) > 0 {
		launch += ", with the secret " + strings.Join(inWords(a.Secrets), ", ")
	}
	s := Server{
		Status: mcp.Status{
			Name: a.Name, State: mcp.NotStarted, Server: a.Title, Protocol: "OpenAPI", Tools: a.Tools, Fetched: a.Fetched,
		},
		Module: a.Name, Launch: launch, FromUser: a.FromUser, Accepted: true, Held: a.Held, Problems: a.Problems,
	}
	if len(a.Servers) > 0 {
		s.Parts.URL = a.Servers[0]
	}
	if a.Tools == 0 && len(a.Problems) > 0 {
		s.State, s.LastError = mcp.Failed, a.Problems[0]
	}
	return s
}

// Refresh has a server list its tools again, or reads the document of an API again.
func (v Scoped) Refresh(ctx context.Context, name string) (mcp.Status, error) {
	if v.isAPI(name) {
		err := v.set.apis.Refresh(ctx, v.scope, name)
		all, listErr := v.All(ctx)
		for _, s := range all {
			if s.Name == name && err == nil {
				return s.Status, nil
			}
		}
		if err == nil {
			err = listErr
		}
		return mcp.Status{}, err
	}
	server, err := v.Get(name)
	if err != nil {
		return mcp.Status{}, err
	}
	err = server.Refresh(ctx)
	return server.Status(), err
}

// inWords are the names of secrets for people.
func inWords(refs []string) []string {
	names := make([]string, len(refs))
	for i, ref := range refs {
		names[i] = scope.InWords(ref, true)
	}
	return names
}
