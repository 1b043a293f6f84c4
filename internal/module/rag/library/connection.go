package library

import (
	"context"
	"encoding/json"

	"callgate/tool"
)

// The tools by which a connection is read. Each read is a call of the session, which the app's rules
// allow or not, and the module database sees to it that it changes nothing.
const (
	tableTool = "database.extract_for_index"
	queryTool = "database.fetch_results"
)

// readTable reads a table of a connection, page after page.
func (l *Library) readTable(ctx context.Context, r Rows) (*readRows, error) {
	read := &readRows{place: r.Connection}
	args := map[string]any{"connection_id": r.Connection, "table": r.Table, "limit": 2000}
	if len(r.Key) > 0 {
		args["key"] = r.Key
	}
	for size := 0; ; {
		var data struct {
			Items []struct {
				Key  []string
				Text string
			}
			After  []json.RawMessage `json:"next_after"`
			Offset int               `json:"next_offset"`
		}
		if err := l.ask(ctx, tableTool, args, read, &data); err != nil {
			return nil, err
		}
		for _, item := range data.Items {
			for i, value := range item.Key {
				if value == "" && len(r.Key) > 0 {
					return nil, noKey(l.op, len(read.rows)+1, r.Key[i])
				}
			}
			read.rows = append(read.rows, keyedRow{item.Key, item.Text})
			size += len(item.Text)
		}
		switch {
		case data.Offset == 0 || len(data.Items) == 0:
			return read, nil
		case read.full(size, l.settings.MaxFile):
			return read, nil
		case data.After != nil:
			args["after"] = data.After
			delete(args, "offset") // it counted from the key before
		default:
			args["offset"] = data.Offset
		}
	}
}

// readQuery reads what a query gives on a connection, page after page.
func (l *Library) readQuery(ctx context.Context, r Rows) (*readRows, error) {
	read := &readRows{place: r.Connection}
	args := map[string]any{"connection_id": r.Connection, "query": r.Query, "limit": 10_000}
	for size := 0; ; {
		var data json.RawMessage
		if err := l.ask(ctx, queryTool, args, read, &data); err != nil {
			return nil, err
		}
		p, err := pageOf(data)
		if err == nil {
			err = read.add(l.op, p, r.Key)
		}
		if err != nil {
			return nil, err
		}
		size += len(data)
		if !p.Cut || p.Count == 0 || read.full(size, l.settings.MaxFile) {
			return read, nil
		}
		args["offset"] = len(read.rows)
	}
}

// ask calls a tool of the module database.
func (l *Library) ask(ctx context.Context, name string, args map[string]any, read *readRows, into any) error {
	if l.service.host.Call == nil {
		return tool.Errorf(l.op, tool.Unavailable, "there is no module database here").
			WithHint("give the path of a SQLite file of the workspace")
	}
	result, err := l.service.host.Call(ctx, l.call, name, args)
	if err != nil {
		return named(l.op, err)
	}
	for _, text := range result.Warnings {
		if len(read.warnings) < maxTold {
			read.warnings = append(read.warnings, text)
		}
	}
	if err := json.Unmarshal(result.Data, into); err != nil {
		return tool.Errorf(l.op, tool.Internal, "what %s gave cannot be read: %w", name, err)
	}
	return nil
}
