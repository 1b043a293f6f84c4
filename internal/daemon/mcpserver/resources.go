package mcpserver

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/daemon/mcpserver/mcpresult"
	"callgate/internal/journal"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

// The addresses of what the kernel has.
const (
	ownScheme      = "callgate://"
	artifactPrefix = ownScheme + "artifact/"
	journalRecent  = ownScheme + "journal/recent"
	serverPrefix   = ownScheme + "mcp/"
)

const (
	maxRecent    = 100      // records of the journal's tail
	searchRecent = 2000     // records among which they are looked for
	maxRead      = 32 << 20 // bytes of an artifact
	listPatience = 10 * time.Second
)

// artifactLink leads to the whole of a result.
func artifactLink(r *tool.Result) *sdk.ResourceLink {
	return &sdk.ResourceLink{URI: artifactPrefix + r.ArtifactRef, Name: r.ArtifactRef, Title: "what is kept of this result", Description: "Read this resource for the whole of it."}
}

func (g *client) listResources(ctx context.Context, r *sdk.ListResourcesRequest) (sdk.Result, error) {
	if r.Params != nil {
		if err := wholeList(r.Params.Cursor); err != nil {
			return nil, err
		}
	}
	s, err := g.open(ctx)
	if err != nil {
		return nil, err
	}
	list := []*sdk.Resource{{
		URI: journalRecent, Name: "journal", Title: "What this session did last", MIMEType: "application/json",
		Description: "The last records that the journal has of this session's calls, oldest first.",
	}}
	for _, ref := range g.artifacts() {
		list = append(list, &sdk.Resource{URI: artifactPrefix + ref, Name: ref, Title: "Kept from a result of this session"})
	}
	list = append(list, g.resources(ctx, s)...)
	return &sdk.ListResourcesResult{Resources: list, Cacheable: sdk.Cacheable{CacheScope: private}}, nil
}

func (g *client) listTemplates(ctx context.Context, r *sdk.ListResourceTemplatesRequest) (sdk.Result, error) {
	if r.Params != nil {
		if err := wholeList(r.Params.Cursor); err != nil {
			return nil, err
		}
	}
	s, err := g.open(ctx)
	if err != nil {
		return nil, err
	}
	list := []*sdk.ResourceTemplate{{
		URITemplate: artifactPrefix + "{ref}", Name: "artifact", Title: "What is kept of a large result",
		Description: "ref is the artifact_ref of a result of this session.",
	}}
	list = append(list, g.templates(ctx, s)...)
	return &sdk.ListResourceTemplatesResult{ResourceTemplates: list, Cacheable: sdk.Cacheable{CacheScope: private}}, nil
}

func (g *client) readResource(ctx context.Context, r *sdk.ReadResourceRequest) (sdk.Result, error) {
	s, err := g.open(ctx)
	if err != nil {
		return nil, err
	}
	uri := r.Params.URI
	var res *sdk.ReadResourceResult
	switch ref, kept := strings.CutPrefix(uri, artifactPrefix); {
	case kept && slices.Contains(g.artifacts(), ref):
		res, err = g.readArtifact(ctx, uri, ref)
	case uri == journalRecent:
		res, err = g.readJournal(ctx, s)
	case kept:
		return nil, sdk.ResourceNotFoundError(uri)
	default:
		res, err = g.readUpstream(ctx, s, r)
	}
	if err != nil {
		return nil, err
	}
	if res.NeedsInput() {
		return res, nil
	}
	answer := sdk.ReadResourceResult{}
	if stateless(r.ProtocolVersion()) {
		answer = mcpresult.CompleteRead()
	}
	answer.Contents, answer.Cacheable = res.Contents, sdk.Cacheable{CacheScope: private}
	return &answer, nil
}

func (g *client) readArtifact(ctx context.Context, uri, ref string) (*sdk.ReadResourceResult, error) {
	data, err := g.host.kernel.Artifacts.Get(ctx, ref)
	if err != nil {
		return nil, err
	}
	if len(data) > maxRead {
		return nil, tool.Errorf("mcpserver.read", tool.Invalid, "%s has %d bytes; the most that is read this way is %d", ref, len(data), maxRead)
	}
	c := &sdk.ResourceContents{URI: uri}
	switch {
	case json.Valid(data):
		c.MIMEType, c.Text = "application/json", string(data)
	case utf8.Valid(data):
		c.MIMEType, c.Text = "text/plain", string(data)
	default:
		c.MIMEType, c.Blob = "application/octet-stream", data
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{c}}, nil
}

// readJournal tells what this session did. What others did is not its to read.
func (g *client) readJournal(ctx context.Context, s *session.Session) (*sdk.ReadResourceResult, error) {
	j := g.host.kernel.Journal
	if err := j.Flush(ctx); err != nil {
		return nil, err
	}
	records, err := j.Read(ctx, journal.Query{Newest: true, Limit: searchRecent})
	if err != nil {
		return nil, err
	}
	own := slices.DeleteFunc(records, func(r journal.Record) bool { return r.Principal == nil || r.Principal.Session != s.ID() })
	own = own[max(0, len(own)-maxRecent):]
	data, err := json.Marshal(append([]journal.Record{}, own...))
	if err != nil {
		return nil, err
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: journalRecent, MIMEType: "application/json", Text: string(data)}}}, nil
}

// readUpstream reads a resource of a server.
func (g *client) readUpstream(ctx context.Context, s *session.Session, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	server, own, err := g.find(ctx, s, resources, r.Params.URI)
	if err != nil {
		return nil, err
	}
	v := newClientRequest(g, r, r.Params.InputResponses)
	raw, left, err := g.read(ctx, s, server, resources, map[string]any{"uri": own}, r.Params.RequestState, v)
	if err != nil {
		return nil, err
	}
	if left.asked != nil {
		answer := mcpresult.InputRead()
		answer.Contents, answer.InputRequests, answer.RequestState = nil, left.asked, left.state
		return &answer, nil
	}
	var res sdk.ReadResourceResult
	if err := json.Unmarshal(raw, &res); err != nil {
		return nil, tool.Errorf("mcpserver.read", tool.Failed, "the MCP server %s answered with something that is no resource: %w", server, err)
	}
	if own != r.Params.URI { // what it names goes by full addresses too
		for _, c := range res.Contents {
			c.URI = resources.fullName(server, c.URI)
		}
	}
	return &res, nil
}
