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
    "url": {"type": "string", "minLength": 1, "maxLength": 16000,
      "description": "The address, with https:// or http://."},` +
	fetch.DownloadParameters + `
  },
  "required": ["url", "path"],
  "additionalProperties": false
}`

const downloadOutput = `{
  "type": "object",
  "properties": {` + fetch.SavedFileProperties + `
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
			"download a file from the web", "save a file from a website", "download a picture", "download a PDF",
			"get a file from a URL",
			"télécharger un fichier", "enregistrer un fichier du web", "télécharger une image",
		},
		Tags: []string{"web", "download", "file", "save", "url", "picture", "téléchargement", "fichier"},
		Runtime: tool.Runtime{
			Effects: []tool.Effect{{Resource: "file:{path}", Mode: tool.U}, fetch.OnHost(tool.IS)},
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
	r, err := tool.OK(saved.Summary(), saved.SavedFile)
	if err != nil {
		return nil, err
	}
	r.Warnings = saved.Warnings
	return r, nil
}
