package mcpserver

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/daemon/mcpserver/calls"
	"callgate/internal/daemon/mcpserver/items"
	"callgate/internal/daemon/mcpserver/mcpresult"
	"callgate/internal/journal"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

// The addresses of the kernel's own resources.
const (
	artifactPrefix = items.Scheme + "artifact/"
	journalRecent  = items.Scheme + "journal/recent"
)

const (
	maxRecent    = 100      // records of the journal that are shown
	searchRecent = 2000     // records among which they are searched
	maxRead      = 32 << 20 // bytes of an artifact
)

// artifactLink leads to the whole of a result.
func artifactLink(ref string) *sdk.ResourceLink {
	return &sdk.ResourceLink{
		URI: artifactPrefix + ref, Name: ref, Title: "what is kept of this result",
		Description: "Read this resource for the whole of it.",
	}
}

func (c *client) listResources(ctx context.Context, r *sdk.ListResourcesRequest) (sdk.Result, error) {
	if r.Params != nil {
		if err := checkCursor(r.Params.Cursor); err != nil {
			return nil, err
		}
	}
	s, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	list := []*sdk.Resource{{
		URI: journalRecent, Name: "journal", Title: "What this session did last", MIMEType: "application/json",
		Description: "The last records that the journal has of this session's calls, oldest first.",
	}}
	for _, ref := range c.artifacts.list() {
		list = append(list, &sdk.Resource{
			URI: artifactPrefix + ref, Name: ref, Title: "Kept from a result of this session",
		})
	}
	list = append(list, c.items.Resources(ctx, c.scope(s))...)
	return &sdk.ListResourcesResult{Resources: list, Cacheable: sdk.Cacheable{CacheScope: private}}, nil
}

func (c *client) listTemplates(ctx context.Context, r *sdk.ListResourceTemplatesRequest) (sdk.Result, error) {
	if r.Params != nil {
		if err := checkCursor(r.Params.Cursor); err != nil {
			return nil, err
		}
	}
	s, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	list := []*sdk.ResourceTemplate{{
		URITemplate: artifactPrefix + "{ref}", Name: "artifact", Title: "What is kept of a large result",
		Description: "ref is the artifact_ref of a result of this session.",
	}}
	list = append(list, c.items.Templates(ctx, c.scope(s))...)
	return &sdk.ListResourceTemplatesResult{
		ResourceTemplates: list, Cacheable: sdk.Cacheable{CacheScope: private},
	}, nil
}

func (c *client) readResource(ctx context.Context, r *sdk.ReadResourceRequest) (sdk.Result, error) {
	s, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	uri := r.Params.URI
	var res *sdk.ReadResourceResult
	switch ref, isArtifact := strings.CutPrefix(uri, artifactPrefix); {
	case isArtifact && slices.Contains(c.artifacts.list(), ref):
		res, err = c.readArtifact(ctx, uri, ref)
	case uri == journalRecent:
		res, err = c.readJournal(ctx, s)
	case isArtifact:
		return nil, sdk.ResourceNotFoundError(uri)
	default:
		res, err = c.readServerResource(ctx, s, r)
	}
	if err != nil {
		return nil, err
	}
	if res.NeedsInput() {
		return res, nil
	}
	answer := sdk.ReadResourceResult{}
	if mcpresult.Stateless(r.ProtocolVersion()) {
		answer = mcpresult.CompleteRead()
	}
	answer.Contents, answer.Cacheable = res.Contents, sdk.Cacheable{CacheScope: private}
	return &answer, nil
}

func (c *client) readArtifact(ctx context.Context, uri, ref string) (*sdk.ReadResourceResult, error) {
	data, err := c.endpoint.kernel.Artifacts.Get(ctx, ref)
	if err != nil {
		return nil, err
	}
	if len(data) > maxRead {
		return nil, tool.Errorf("mcpserver.read", tool.Invalid,
			"%s has %d bytes; the most that is read this way is %d", ref, len(data), maxRead)
	}
	contents := &sdk.ResourceContents{URI: uri}
	switch {
	case json.Valid(data):
		contents.MIMEType, contents.Text = "application/json", string(data)
	case utf8.Valid(data):
		contents.MIMEType, contents.Text = "text/plain", string(data)
	default:
		contents.MIMEType, contents.Blob = "application/octet-stream", data
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{contents}}, nil
}

// readJournal reads the last records of this session, and of no other.
func (c *client) readJournal(ctx context.Context, s *session.Session) (*sdk.ReadResourceResult, error) {
	j := c.endpoint.kernel.Journal
	if err := j.Flush(ctx); err != nil {
		return nil, err
	}
	records, err := j.Read(ctx, journal.Query{Newest: true, Limit: searchRecent})
	if err != nil {
		return nil, err
	}
	own := slices.DeleteFunc(records, func(r journal.Record) bool {
		return r.Principal == nil || r.Principal.Session != s.ID()
	})
	own = own[max(0, len(own)-maxRecent):]
	data, err := json.Marshal(append([]journal.Record{}, own...))
	if err != nil {
		return nil, err
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{
		URI: journalRecent, MIMEType: "application/json", Text: string(data),
	}}}, nil
}

// readServerResource reads a resource of a server.
func (c *client) readServerResource(
	ctx context.Context, s *session.Session, r *sdk.ReadResourceRequest,
) (*sdk.ReadResourceResult, error) {
	scope := c.scope(s)
	server, own, err := c.items.Find(ctx, scope, items.Resources, r.Params.URI)
	if err != nil {
		return nil, err
	}
	req := calls.NewRequest(r, c.level(), r.Params.InputResponses)
	out, err := c.readItem(ctx, scope, req, itemRead{
		kind: items.Resources, server: server, args: map[string]any{"uri": own}, state: r.Params.RequestState,
	})
	if err != nil {
		return nil, err
	}
	if out.Questions != nil {
		answer := mcpresult.InputRead()
		answer.Contents, answer.InputRequests, answer.RequestState = nil, out.Questions, out.State
		return &answer, nil
	}
	var res sdk.ReadResourceResult
	if err := json.Unmarshal(out.Result.Data, &res); err != nil {
		return nil, tool.Errorf("mcpserver.read", tool.Failed,
			"the MCP server %s answered with something that is no resource: %w", server, err)
	}
	if own != r.Params.URI { // the client uses full addresses, so the answer does
		for _, one := range res.Contents {
			one.URI = items.Resources.FullName(server, one.URI)
		}
	}
	return &res, nil
}
