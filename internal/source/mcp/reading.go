package mcp

import (
	"context"
	"encoding/json"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/serverlock"
	"callgate/internal/source/mcp/dial"
	"callgate/internal/source/mcp/toolcache"
	"callgate/tool"
)

// The names of the tools that read a server's resources and prompts. They are
// reserved: no tool of a server ever has one of them, whatever the server lists,
// so a rule for reading never becomes a rule for something else.
const (
	resourcesTool = "resources"
	promptsTool   = "prompts"
)

// readingTag is the tag of these tools.
const readingTag = "reading"

// The methods of the protocol that read.
const (
	readResource = "resources/read"
	getPrompt    = "prompts/get"
)

// maxBytes bounds one resource or prompt.
const maxBytes = 32 << 20

// reader is one of the tools that read.
type reader struct {
	name        string
	offered     func(*toolcache.Listing) bool
	description string // with %s for the server's name
	input       string
	item        func(op string, args json.RawMessage) (item, error)
}

// item is what is read.
type item struct {
	method string
	name   string            // of a prompt, or the URI of a resource
	args   map[string]string // of a prompt
}

var readers = []reader{
	{
		name:    resourcesTool,
		offered: func(l *toolcache.Listing) bool { return l.Resources },
		description: "Reads a resource of the MCP server %s by its URI. " +
			"Resources are files, records and pages that the server offers beside its tools; " +
			"results of its tools may name them.",
		input: `{"type":"object","properties":{"uri":{"type":"string","minLength":1,"description":"URI of the resource"}},` +
			`"required":["uri"],"additionalProperties":false}`,
		item: func(op string, args json.RawMessage) (item, error) {
			var in struct {
				URI string `json:"uri"`
			}
			err := tool.DecodeArgs(op, args, &in)
			return item{method: readResource, name: in.URI}, err
		},
	},
	{
		name:    promptsTool,
		offered: func(l *toolcache.Listing) bool { return l.Prompts },
		description: "Fills in a prompt of the MCP server %s. " +
			"Prompts are messages that the server has prepared for a task; the result holds them.",
		input: `{"type":"object","properties":{"name":{"type":"string","minLength":1,"description":"Name of the prompt"},` +
			`"arguments":{"type":"object","additionalProperties":{"type":"string"},` +
			`"description":"Values for the prompt's arguments"}},` +
			`"required":["name"],"additionalProperties":false}`,
		item: func(op string, args json.RawMessage) (item, error) {
			var in struct {
				Name      string            `json:"name"`
				Arguments map[string]string `json:"arguments"`
			}
			err := tool.DecodeArgs(op, args, &in)
			return item{method: getPrompt, name: in.Name, args: in.Arguments}, err
		},
	},
}

// readerRuntime is the kernel's view of a tool that reads.
func readerRuntime(name string, cfg ToolConfig) tool.Runtime {
	readOnly := Definition{Name: name, Annotations: json.RawMessage(`{"readOnlyHint":true}`)}
	runtime, _ := readOnly.Runtime(cfg)
	return runtime
}

// PlannedReader is a tool that reads, as rules would judge it if the server had it; nil: the app file turns it off.
func (s *Server) PlannedReader(name string) *tool.Tool {
	cfg := s.cfg.Tools[name]
	if cfg.Off {
		return nil
	}
	id := tool.ID{Namespace: s.namespace, Name: name, Version: tool.Version{Major: 1}}
	return &tool.Tool{ID: id, Runtime: readerRuntime(name, cfg)}
}

// reader makes a tool that reads. Its data is what the server answers, as the
// protocol writes it.
func (p *publisher) reader(r reader, cfg ToolConfig, terms serverlock.Terms) *tool.Tool {
	runtime := readerRuntime(r.name, cfg)
	runtime.FoundOnly = true
	claim(&runtime, terms, json.RawMessage(r.input), r.name)
	t := p.base(r.name, runtime)
	t.Spec.Description = fmt.Sprintf(r.description, p.cfg.Name)
	t.Spec.Input = json.RawMessage(r.input)
	t.Spec.Tags = []string{readingTag}
	t.Handler = tool.HandlerFunc(func(ctx context.Context, call tool.Call, grant tool.Grant) (*tool.Result, error) {
		i, err := r.item(t.Spec.Name, call.Args)
		if err != nil {
			return nil, err
		}
		if i.name == "" {
			return nil, tool.Errorf("mcp.call", tool.Invalid, "%s does not say what to read", t.Spec.Name)
		}
		raw, warning, err := p.guard.read(ctx, i, func() (json.RawMessage, error) {
			return p.inputs.read(ctx, call.ID, grant, i)
		})
		if err != nil {
			return nil, err
		}
		summary := fmt.Sprintf("%s: %d bytes of data", t.Spec.Name, len(raw))
		if warning != "" {
			summary += ". " + warning
		}
		return &tool.Result{Status: tool.Success, Summary: summary, Data: raw}, nil
	})
	return t
}

// read reads a resource or a prompt for a call, as the protocol writes it.
func (in *inputs) read(ctx context.Context, call string, grant tool.Grant, i item) (json.RawMessage, error) {
	var res any
	err := in.do(ctx, request{method: i.method, call: call, grant: grant},
		func(ctx context.Context, c *dial.Conn, r round) (reply, error) {
			if i.method == getPrompt {
				got, err := c.Session.GetPrompt(ctx, &sdk.GetPromptParams{
					Meta: r.meta, Name: i.name, Arguments: i.args, InputResponses: r.answers, RequestState: r.state,
				})
				if err != nil {
					return reply{}, err
				}
				res = got
				return reply{got.NeedsInput(), got.InputRequests, got.RequestState}, nil
			}
			got, err := c.Session.ReadResource(ctx, &sdk.ReadResourceParams{
				Meta: r.meta, URI: i.name, InputResponses: r.answers, RequestState: r.state,
			})
			if err != nil {
				return reply{}, err
			}
			res = got
			return reply{got.NeedsInput(), got.InputRequests, got.RequestState}, nil
		})
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(res)
	if err != nil {
		return nil, err
	}
	if len(raw) > maxBytes {
		return nil, tool.Errorf("mcp."+i.method, tool.Failed, "the MCP server %s answered with %d bytes; the most is %d",
			in.cfg.Name, len(raw), maxBytes)
	}
	return raw, nil
}
