package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/source/mcp/toolcache"
	"callgate/internal/source/mcp/translate"
	"callgate/tool"
)

const (
	maxItems = 10_000   // of one list
	maxBytes = 32 << 20 // of one list, or of one thing read
)

// list asks a server for what it has.
func (s *Server) list(ctx context.Context, session *sdk.ClientSession) (*toolcache.Listing, error) {
	about := session.InitializeResult()
	caps := about.Capabilities
	if caps == nil {
		caps = &sdk.ServerCapabilities{}
	}
	var defs []Definition
	if caps.Tools != nil || caps.Resources == nil && caps.Prompts == nil { // who declares nothing may still have tools
		size := 0
		err := pages(func(cursor string) (string, error) {
			page, err := session.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
			if err != nil {
				return "", err
			}
			for _, t := range page.Tools {
				d := translate.FromSDK(t)
				size += len(d.Name) + len(d.Description) + len(d.Input) + len(d.Output)
				defs = append(defs, d)
			}
			return page.NextCursor, tooMuch(len(defs), size)
		})
		if err != nil && !(caps.Tools == nil && unknownMethod(err)) {
			return nil, err
		}
	}
	m := toolcache.New(defs, s.hub.opt.Check)
	m.Protocol, m.Instructions = about.ProtocolVersion, about.Instructions
	m.Resources, m.Prompts = caps.Resources != nil, caps.Prompts != nil
	if i := about.ServerInfo; i != nil {
		m.Server = strings.TrimSpace(i.Name + " " + i.Version)
	}
	return m, nil
}

// pages calls get with each cursor until there is no next. A server that gives
// the same one twice has no end.
func pages(get func(cursor string) (next string, err error)) error {
	seen := map[string]bool{}
	for cursor := ""; ; {
		next, err := get(cursor)
		if err != nil || next == "" {
			return err
		}
		if seen[next] {
			return errors.New("its list has no end: a cursor came twice")
		}
		seen[next] = true
		cursor = next
	}
}

func tooMuch(items, size int) error {
	if items > maxItems || size > maxBytes {
		return fmt.Errorf("its list is too long: more than %d items or %d MiB", maxItems, maxBytes>>20)
	}
	return nil
}

func unknownMethod(err error) bool {
	var e *jsonrpc.Error
	return errors.As(err, &e) && e.Code == jsonrpc.CodeMethodNotFound
}

// fetch asks a running server for its tools again.
func (s *Server) fetch(ctx context.Context, l *connection) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
	defer cancel()
	m, err := s.list(ctx, l.session)
	if err != nil {
		return s.failed(ctx, l, "tools/list", err)
	}
	if known := s.known(); known != nil {
		m.Legacy = known.Legacy
	}
	s.replace(m)
	return nil
}

// onListChanged follows a server's word that its tools have changed. Several such
// words that come while one is being followed are one.
func (s *Server) onListChanged(l *connection) {
	if l.stale.Add(1) > 1 {
		return
	}
	select {
	case <-l.opened: // some say so before the handshake is over
	case <-l.ctx.Done():
		return
	}
	for {
		seen := l.stale.Load()
		if err := s.fetch(l.ctx, l); err != nil && l.ctx.Err() == nil {
			s.note("its changed tools could not be fetched", err)
		}
		if l.stale.CompareAndSwap(seen, 0) {
			return
		}
	}
}

// ListResources returns the server's resources, as the protocol writes them.
func (s *Server) ListResources(ctx context.Context) ([]json.RawMessage, error) {
	return collect(s, ctx, "resources/list", func(ctx context.Context, c *sdk.ClientSession, cursor string) ([]*sdk.Resource, string, error) {
		page, err := c.ListResources(ctx, &sdk.ListResourcesParams{Cursor: cursor})
		if err != nil {
			return nil, "", err
		}
		return page.Resources, page.NextCursor, nil
	})
}

// ListResourceTemplates returns the templates of its resources.
func (s *Server) ListResourceTemplates(ctx context.Context) ([]json.RawMessage, error) {
	return collect(s, ctx, "resources/templates/list", func(ctx context.Context, c *sdk.ClientSession, cursor string) ([]*sdk.ResourceTemplate, string, error) {
		page, err := c.ListResourceTemplates(ctx, &sdk.ListResourceTemplatesParams{Cursor: cursor})
		if err != nil {
			return nil, "", err
		}
		return page.ResourceTemplates, page.NextCursor, nil
	})
}

// ListPrompts returns the server's prompts.
func (s *Server) ListPrompts(ctx context.Context) ([]json.RawMessage, error) {
	return collect(s, ctx, "prompts/list", func(ctx context.Context, c *sdk.ClientSession, cursor string) ([]*sdk.Prompt, string, error) {
		page, err := c.ListPrompts(ctx, &sdk.ListPromptsParams{Cursor: cursor})
		if err != nil {
			return nil, "", err
		}
		return page.Prompts, page.NextCursor, nil
	})
}

// collect reads a list to its end.
func collect[T any](s *Server, ctx context.Context, method string, get func(context.Context, *sdk.ClientSession, string) ([]T, string, error)) ([]json.RawMessage, error) {
	var all []json.RawMessage
	err := s.request(ctx, request{method: method}, func(ctx context.Context, c *sdk.ClientSession) error {
		all = []json.RawMessage{}
		size := 0
		return pages(func(cursor string) (string, error) {
			items, next, err := get(ctx, c, cursor)
			for _, item := range items {
				raw, err := json.Marshal(item)
				if err != nil {
					return "", err
				}
				size += len(raw)
				all = append(all, raw)
			}
			return next, errors.Join(err, tooMuch(len(all), size))
		})
	})
	if tool.KindOf(err) == tool.NotFound {
		return nil, nil // a server without any need not know the method
	}
	return all, err
}
