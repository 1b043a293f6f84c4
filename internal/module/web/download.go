package web

import (
	"context"
	_ "embed"
	"maps"
	"net/http"

	"callgate/internal/module"
	"callgate/internal/module/fetch"
	"callgate/tool"
)

//go:embed download.md
var downloadDoc string

const downloadInput = `{
  "type": "object",
  "properties": {
    "url": {"type": "string", "minLength": 1, "maxLength": 16000, "description": "The address, with https:// or http://."},
    "path": {"type": "string", "minLength": 1, "description": "The file to save to, relative to the workspace or absolute inside it."},
    "overwrite": {"type": "boolean", "default": false, "description": "Replace a file that is there already."}
  },
  "required": ["url", "path"],
  "additionalProperties": false
}`

const downloadOutput = `{
  "type": "object",
  "properties": {
    "path": {"type": "string", "description": "The file, relative to the workspace."},
    "bytes": {"type": "integer", "description": "Its size."},
    "content_type": {"type": "string"},
    "url": {"type": "string", "description": "Where it came from, after redirects."},
    "resumed_from": {"type": "integer", "description": "How much was there already from an earlier call."}
  },
  "required": ["path", "bytes", "url"]
}`

func downloadTool(k *kernelState) definition {
	return definition{
		Name: "download", Short: "WebDownload", Doc: downloadDoc, Input: downloadInput, Output: downloadOutput,
		Examples: []tool.Example{
			module.Example("save a file", `{"url": "https://example.com/report.pdf", "path": "downloads/report.pdf"}`),
			module.Example("replace one", `{"url": "https://example.com/data.csv", "path": "data.csv", "overwrite": true}`),
		},
		Aliases: []string{
			"web_download", "download", "wget", "download_file", "save_page",
			"download a file from the web", "save a file from a website", "download a picture", "download a PDF", "get a file from a URL",
			"télécharger un fichier", "enregistrer un fichier du web", "télécharger une image",
		},
		Tags: []string{"web", "download", "file", "save", "url", "picture", "téléchargement", "fichier"},
		Runtime: tool.Runtime{
			Effects: []tool.Effect{{Resource: "file:{path}", Mode: tool.U}},
			Risk:    tool.Medium, SideEffect: tool.Write, Timeout: fetch.TransferTime,
		},
		Handler: handler(k, "download", download),
	}
}

type downloadArgs struct {
	URL       string `json:"url"`
	Path      string `json:"path"`
	Overwrite bool   `json:"overwrite"`
}

type downloadData struct {
	Path        string `json:"path"`
	Bytes       int64  `json:"bytes"`
	ContentType string `json:"content_type,omitempty"`
	URL         string `json:"url"`
	ResumedFrom int64  `json:"resumed_from,omitempty"`
}

func download(ctx context.Context, c webCall, in downloadArgs) (*tool.Result, error) {
	u, err := c.URL(in.URL)
	if err != nil {
		return nil, err
	}
	saved, err := c.Download(ctx, fetch.Download{
		URL: u, Path: in.Path, Overwrite: in.Overwrite, Limit: c.settings.TimeLimit(0),
		Send: func(ctx context.Context, header http.Header) (*http.Response, error) {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
			if err != nil {
				return nil, tool.Errorf(c.Op, tool.Invalid, "the request cannot be made: %w", err)
			}
			r.Header.Set("Accept", "*/*")
			maps.Copy(r.Header, header)
			return c.send(r, false)
		},
		Refused: func(resp *http.Response) error { return c.statusError(resp) },
	})
	if err != nil {
		return nil, err
	}
	r, err := tool.OK(saved.Summary(), downloadData{
		Path: saved.Path, Bytes: saved.Bytes, ContentType: saved.ContentType, URL: saved.URL, ResumedFrom: saved.ResumedFrom,
	})
	if err != nil {
		return nil, err
	}
	r.Warnings = saved.Warnings
	return r, nil
}
