package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/tool"
)

const (
	maxItems = 10_000   // of one list
	maxBytes = 32 << 20 // of one list, or of one resource or prompt
)

// ListResources returns the server's resources, as the protocol writes them.
func (s *Server) ListResources(ctx context.Context) ([]json.RawMessage, error) {
	return collect(ctx, s.sender, "resources/list",
		func(ctx context.Context, session *sdk.ClientSession, cursor string) ([]*sdk.Resource, string, error) {
			page, err := session.ListResources(ctx, &sdk.ListResourcesParams{Cursor: cursor})
			if err != nil {
				return nil, "", err
			}
			return page.Resources, page.NextCursor, nil
		})
}

// ListResourceTemplates returns the templates of its resources.
func (s *Server) ListResourceTemplates(ctx context.Context) ([]json.RawMessage, error) {
	return collect(ctx, s.sender, "resources/templates/list",
		func(ctx context.Context, session *sdk.ClientSession, cursor string) ([]*sdk.ResourceTemplate, string, error) {
			page, err := session.ListResourceTemplates(ctx, &sdk.ListResourceTemplatesParams{Cursor: cursor})
			if err != nil {
				return nil, "", err
			}
			return page.ResourceTemplates, page.NextCursor, nil
		})
}

// ListPrompts returns the server's prompts.
func (s *Server) ListPrompts(ctx context.Context) ([]json.RawMessage, error) {
	return collect(ctx, s.sender, "prompts/list",
		func(ctx context.Context, session *sdk.ClientSession, cursor string) ([]*sdk.Prompt, string, error) {
			page, err := session.ListPrompts(ctx, &sdk.ListPromptsParams{Cursor: cursor})
			if err != nil {
				return nil, "", err
			}
			return page.Prompts, page.NextCursor, nil
		})
}

// collect reads a list to its end.
func collect[T any](
	ctx context.Context, s *sender, method string,
	get func(ctx context.Context, session *sdk.ClientSession, cursor string) (items []T, next string, err error),
) ([]json.RawMessage, error) {
	var all []json.RawMessage
	err := s.do(ctx, request{method: method}, func(ctx context.Context, session *sdk.ClientSession, _ string) error {
		all = []json.RawMessage{}
		size := 0
		return pages(func(cursor string) (string, error) {
			items, next, err := get(ctx, session, cursor)
			for _, item := range items {
				raw, err := json.Marshal(item)
				if err != nil {
					return "", err
				}
				size += len(raw)
				all = append(all, raw)
			}
			return next, errors.Join(err, checkSize(len(all), size))
		})
	})
	if tool.KindOf(err) == tool.NotFound {
		return nil, nil // a server without such items need not know the method
	}
	return all, err
}

// pages calls get with each cursor until there is no next. A cursor that comes
// twice is an error: such a list has no end.
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

func checkSize(items, size int) error {
	if items > maxItems || size > maxBytes {
		return fmt.Errorf("its list is too long: more than %d items or %d MiB", maxItems, maxBytes>>20)
	}
	return nil
}

func isUnknownMethod(err error) bool {
	var e *jsonrpc.Error
	return errors.As(err, &e) && e.Code == jsonrpc.CodeMethodNotFound
}
