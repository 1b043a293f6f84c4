// Package image is the module for pictures of the workspace: seeing them, their size, other sizes
// and formats, and what a model with vision says of them.
//
// # Law
//
// Pictures are read and written through package workfile. How large one is, is looked at before it
// is decoded (package picture), and few are decoded at one time. What a model says of a picture is
// data: a picture may hold words for it.
package image

import (
	"context"
	"errors"
	"path"
	"strings"
	"time"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/internal/module/image/picture"
	"callgate/internal/module/workfile"
	"callgate/tool"
)

// Namespace is the module's name.
const Namespace = "image"

type settings struct {
	MaxPixels int            `constraint:"max_pixels" range:"1,200000000" help:"the largest picture that is decoded"`
	MaxBytes  int            `constraint:"max_bytes" range:"1,268435456" help:"the largest file that is read"`
	Models    []string       `config:"models" help:"models for describe, the best first; the app's own unless given"`
	Timeout   module.Seconds `config:"timeout_seconds" range:"1,600" help:"how long a description may take"`
}

func defaults() *settings { return &settings{MaxPixels: 40_000_000, MaxBytes: 64 << 20, Timeout: 120} }

// Module returns the module.
func Module() module.Module {
	return module.Module{
		Name: Namespace, Summary: "Pictures: view, size, resize, convert, and describe by a model with vision.",
		Settings: func() any { return defaults() }, NeedsSettings: true,
		Open: func(h module.Host) (*module.Instance, error) {
			m := &images{models: h.Models, decoding: make(chan struct{}, atOnce)}
			var tools []*tool.Tool
			for _, d := range []module.Definition{
				m.viewTool(), m.infoTool(), m.resizeTool(), m.convertTool(), m.describeTool(),
			} {
				tools = append(tools, d.Tool(Namespace))
			}
			return &module.Instance{Tools: tools}, nil
		},
	}
}

// atOnce is how many pictures are decoded at one time: one may take hundreds of megabytes.
const atOnce = 2

// images is the open module.
type images struct {
	models   module.Models
	decoding chan struct{}
}

// call is one call of a tool.
type call struct {
	workfile.Workspace
	*images
	asked    tool.Call
	settings *settings
}

func handler[In any](m *images, name string, do func(context.Context, *call, In) (*tool.Result, error)) tool.Handler {
	op := Namespace + "." + name
	return tool.HandlerFunc(func(ctx context.Context, asked tool.Call, g tool.Grant) (*tool.Result, error) {
		in, err := module.Args[In](op, asked)
		if err != nil {
			return nil, err
		}
		w, err := workfile.New(op, g)
		if err != nil {
			return nil, err
		}
		return do(ctx, &call{w, m, asked, module.SettingsOf(g, defaults)}, in)
	})
}

// file is a picture of the workspace that was not decoded.
type file struct {
	picture.Info
	shown string
	data  []byte
}

// read reads a file, and what its head says.
func (c *call) read(name string) (*file, error) {
	p, err := c.Existing(name, true)
	if err != nil {
		return nil, err
	}
	data, _, err := c.ReadAll(p, int64(c.settings.MaxBytes))
	var large *workfile.TooLargeError
	switch {
	case errors.As(err, &large):
		return nil, tool.Errorf(c.Op, tool.Invalid, "%q has %s, and files of at most %s are read", p.Shown,
			amount.Bytes(large.Size), amount.Bytes(large.Max)).
			WithHint("the app file may allow more: tools.modules.image.constraints.max_bytes")
	case err != nil:
		return nil, err
	}
	info, err := picture.Inspect(data)
	if err != nil {
		return nil, tool.Errorf(c.Op, tool.Invalid, "%q: %v", p.Shown, err)
	}
	return &file{info, p.Shown, data}, nil
}

// decode decodes a file, when it is its turn. The caller calls done when it needs the pixels no
// more.
func (c *call) decode(ctx context.Context, f *file) (p *picture.Picture, done func(), err error) {
	select {
	case c.decoding <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, tool.Errorf(c.Op, tool.Cancelled, "the call was cancelled")
	}
	p, err = picture.Decode(f.data, c.settings.MaxPixels)
	if err == nil {
		return p, func() { <-c.decoding }, nil
	}
	<-c.decoding
	e := tool.Errorf(c.Op, tool.Invalid, "%q: %v", f.shown, err)
	if errors.As(err, new(*picture.TooLargeError)) {
		return nil, nil, e.WithHint("the app file may allow more: tools.modules.image.constraints.max_pixels")
	}
	return nil, nil, e
}

// reads is the runtime view of a tool that changes nothing.
func reads(limit time.Duration) tool.Runtime {
	return tool.Runtime{
		Effects: []tool.Effect{{Resource: "file:{path}", Mode: tool.S}},
		Risk:    tool.Low, SideEffect: tool.Read, Idempotent: true, Timeout: limit,
	}
}

// writes is that of one that writes a file.
func writes() tool.Runtime {
	return tool.Runtime{
		Effects: []tool.Effect{{Resource: "file:{path}", Mode: tool.S}, {Resource: "file:{to}", Mode: tool.U}},
		Risk:    tool.Medium, SideEffect: tool.Write,
	}
}

const pathParameter = `
    "path": {"type": "string", "minLength": 1, "description": "The picture, relative to the workspace or absolute inside it."}`

// formatOf is the format that the name of a file says; "" for none.
func formatOf(name string) string {
	switch ending := strings.TrimPrefix(strings.ToLower(path.Ext(name)), "."); ending {
	case "jpg", "jpeg", "jpe":
		return "jpeg"
	case "tif", "tiff":
		return "tiff"
	case "png", "gif", "bmp", "webp":
		return ending
	}
	return ""
}
