package mcpserver

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate"
	"callgate/internal/journal"
	"callgate/internal/source/mcp"
	"callgate/tool"
)

// The addresses of what the kernel has.
const (
	artifactPrefix = "callgate://artifact/"
	journalRecent  = "callgate://journal/recent"
	serverPrefix   = "callgate://mcp/"
)

const (
	mostRecent   = 100      // records of the journal's tail
	searchRecent = 2000     // records among which they are looked for
	mostRead     = 32 << 20 // bytes of an artifact
	listPatience = 10 * time.Second
)

// artifactLink leads to the whole of a result.
func artifactLink(r *tool.Result) *sdk.ResourceLink {
	return &sdk.ResourceLink{URI: artifactPrefix + r.ArtifactRef, Name: r.ArtifactRef, Title: "what is kept of this result", Description: "Read this resource for the whole of it."}
}

func (g *guest) listResources(ctx context.Context, r *sdk.ListResourcesRequest) (sdk.Result, error) {
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
	for _, o := range offers(ctx, g, s, resources, (*mcp.Server).ListResources) {
		var one sdk.Resource
		if json.Unmarshal(o.raw, &one) == nil && one.URI != "" {
			one.URI = o.address(one.URI)
			list = append(list, &one)
		}
	}
	return &sdk.ListResourcesResult{Resources: list, Cacheable: sdk.Cacheable{CacheScope: private}}, nil
}

func (g *guest) listTemplates(ctx context.Context, r *sdk.ListResourceTemplatesRequest) (sdk.Result, error) {
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
	for _, o := range offers(ctx, g, s, resources, (*mcp.Server).ListResourceTemplates) {
		var one sdk.ResourceTemplate
		if json.Unmarshal(o.raw, &one) == nil && one.URITemplate != "" {
			one.URITemplate = o.address(one.URITemplate)
			list = append(list, &one)
		}
	}
	return &sdk.ListResourceTemplatesResult{ResourceTemplates: list, Cacheable: sdk.Cacheable{CacheScope: private}}, nil
}

// offer is something that a server has, as the protocol writes it.
type offer struct {
	server string
	raw    json.RawMessage
}

// address is the server's address of something as our clients know it.
func (o offer) address(uri string) string { return serverPrefix + url.PathEscape(o.server) + "/" + uri }

// The kinds of what servers offer beside tools.
type offered bool

const (
	resources offered = false
	prompts   offered = true
)

// action is what the rules call it.
func (o offered) action() string {
	if o == prompts {
		return "prompts"
	}
	return "resources"
}

// offers asks every server that is known to have some, at once, and passes over
// those that do not answer: one server's trouble does not hide the others'.
func offers(ctx context.Context, g *guest, s *callgate.Session, kind offered, list func(*mcp.Server, context.Context) ([]json.RawMessage, error)) []offer {
	known, err := s.Servers(ctx)
	if err != nil {
		g.host.opt.Log.Warn("what the MCP servers offer cannot be told", "error", err)
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, listPatience)
	defer cancel()
	all := make([][]offer, len(known))
	var wg sync.WaitGroup
	for i, one := range known {
		if has := one.Resources && kind == resources || one.Prompts && kind == prompts; !has || !one.Accepted || !s.MayRead(one.Module, kind.action()) {
			continue
		}
		server, err := s.Server(one.Name)
		if err != nil {
			continue
		}
		wg.Go(func() {
			found, err := list(server, ctx)
			if err != nil {
				g.host.opt.Log.Warn("an MCP server does not tell what it offers", "server", one.Name, "error", err)
			}
			for _, raw := range found {
				all[i] = append(all[i], offer{one.Name, raw})
			}
		})
	}
	wg.Wait()
	return slices.Concat(all...)
}

func (g *guest) readResource(ctx context.Context, r *sdk.ReadResourceRequest) (sdk.Result, error) {
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
	case strings.HasPrefix(uri, serverPrefix):
		res, err = readUpstream(ctx, s, uri)
	default:
		return nil, sdk.ResourceNotFoundError(uri)
	}
	if err != nil {
		return nil, err
	}
	answer := sdk.ReadResourceResult{}
	if stateless(r.ProtocolVersion()) {
		answer = completeRead
	}
	answer.Contents, answer.Cacheable = res.Contents, sdk.Cacheable{CacheScope: private}
	return &answer, nil
}

func (g *guest) readArtifact(ctx context.Context, uri, ref string) (*sdk.ReadResourceResult, error) {
	data, err := g.host.kernel.Artifacts.Get(ctx, ref)
	if err != nil {
		return nil, err
	}
	if len(data) > mostRead {
		return nil, tool.Errorf("mcpserver.read", tool.Invalid, "%s has %d bytes; the most that is read this way is %d", ref, len(data), mostRead)
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
func (g *guest) readJournal(ctx context.Context, s *callgate.Session) (*sdk.ReadResourceResult, error) {
	j := g.host.kernel.Journal
	if err := j.Flush(ctx); err != nil {
		return nil, err
	}
	records, err := j.Read(ctx, journal.Query{Newest: true, Limit: searchRecent})
	if err != nil {
		return nil, err
	}
	own := slices.DeleteFunc(records, func(r journal.Record) bool { return r.Principal == nil || r.Principal.Session != s.ID })
	own = own[max(0, len(own)-mostRecent):]
	data, err := json.Marshal(append([]journal.Record{}, own...))
	if err != nil {
		return nil, err
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: journalRecent, MIMEType: "application/json", Text: string(data)}}}, nil
}

// readUpstream reads a resource of a server.
func readUpstream(ctx context.Context, s *callgate.Session, uri string) (*sdk.ReadResourceResult, error) {
	name, inner, ok := strings.Cut(strings.TrimPrefix(uri, serverPrefix), "/")
	plain, err := url.PathUnescape(name)
	if !ok || err != nil {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	server, err := s.Server(plain)
	if err != nil {
		return nil, err
	}
	if !s.MayRead(server.Namespace(), resources.action()) {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	raw, err := server.ReadResource(ctx, inner)
	if err != nil {
		return nil, err
	}
	var res sdk.ReadResourceResult
	if err := json.Unmarshal(raw, &res); err != nil {
		return nil, tool.Errorf("mcpserver.read", tool.Failed, "the MCP server %s answered with something that is no resource: %w", plain, err)
	}
	for _, c := range res.Contents {
		c.URI = offer{server: plain}.address(c.URI)
	}
	return &res, nil
}
