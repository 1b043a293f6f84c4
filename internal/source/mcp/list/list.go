// Package list reads the lists of an MCP server to their end, within bounds.
package list

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/source/mcp/translate"
)

const (
	maxItems = 10_000   // of one list
	maxBytes = 32 << 20 // of one list
)

// Func reads one kind of list over a session, as the protocol writes its items.
type Func func(context.Context, *sdk.ClientSession) ([]json.RawMessage, error)

// Tools returns the definitions of a server's tools. A server that announces
// only resources or prompts is not asked.
func Tools(ctx context.Context, session *sdk.ClientSession) ([]translate.Definition, error) {
	caps := session.InitializeResult().Capabilities
	if caps != nil && caps.Tools == nil && (caps.Resources != nil || caps.Prompts != nil) {
		return nil, nil
	}
	var defs []translate.Definition
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
		return page.NextCursor, checkSize(len(defs), size)
	})
	var refusal *jsonrpc.Error
	unknown := errors.As(err, &refusal) && refusal.Code == jsonrpc.CodeMethodNotFound
	if unknown && (caps == nil || caps.Tools == nil) { // it announced nothing, and has no tools
		return nil, nil
	}
	return defs, err
}

// Resources lists a server's resources.
func Resources(ctx context.Context, session *sdk.ClientSession) ([]json.RawMessage, error) {
	return collect(func(cursor string) ([]*sdk.Resource, string, error) {
		page, err := session.ListResources(ctx, &sdk.ListResourcesParams{Cursor: cursor})
		if err != nil {
			return nil, "", err
		}
		return page.Resources, page.NextCursor, nil
	})
}

// ResourceTemplates lists the templates of a server's resources.
func ResourceTemplates(ctx context.Context, session *sdk.ClientSession) ([]json.RawMessage, error) {
	return collect(func(cursor string) ([]*sdk.ResourceTemplate, string, error) {
		page, err := session.ListResourceTemplates(ctx, &sdk.ListResourceTemplatesParams{Cursor: cursor})
		if err != nil {
			return nil, "", err
		}
		return page.ResourceTemplates, page.NextCursor, nil
	})
}

// Prompts lists a server's prompts.
func Prompts(ctx context.Context, session *sdk.ClientSession) ([]json.RawMessage, error) {
	return collect(func(cursor string) ([]*sdk.Prompt, string, error) {
		page, err := session.ListPrompts(ctx, &sdk.ListPromptsParams{Cursor: cursor})
		if err != nil {
			return nil, "", err
		}
		return page.Prompts, page.NextCursor, nil
	})
}

// collect returns the items of all pages as JSON.
func collect[T any](get func(cursor string) (items []T, next string, err error)) ([]json.RawMessage, error) {
	all := []json.RawMessage{}
	size := 0
	err := pages(func(cursor string) (string, error) {
		items, next, err := get(cursor)
		if err != nil {
			return "", err
		}
		for _, item := range items {
			raw, err := json.Marshal(item)
			if err != nil {
				return "", err
			}
			size += len(raw)
			all = append(all, raw)
		}
		return next, checkSize(len(all), size)
	})
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
