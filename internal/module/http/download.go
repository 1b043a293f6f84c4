package http

import (
	"context"
	_ "embed"
	"errors"
	"maps"
	nethttp "net/http"
	"time"

	"callgate/internal/module"
	"callgate/internal/module/fetch"
	"callgate/tool"
)

//go:embed download.md
var downloadDoc string

const downloadInput = `{
  "type": "object",
  "properties": {` + urlParameters + `,` + fetch.DownloadParameters + `,
    "sha256": {"type": "string", "pattern": "^[0-9A-Fa-f]{64}$",
      "description": "The sum that the file must have, in hexadecimal."},
    "timeout_seconds": {"type": "number", "exclusiveMinimum": 0, "maximum": 600,
      "description": "How long nothing may move; 30 unless the app file says otherwise."}
  },
  "required": ["url", "path"],
  "additionalProperties": false
}`

const downloadOutput = `{
  "type": "object",
  "properties": {` + fetch.SavedFileProperties + `,
    "attempts": {"type": "integer", "description": "How often it had to be asked for."},
    "sha256": {"type": "string", "description": "The sum, where it was to be checked."},
    "redirects": {"type": "array",
      "items": {"type": "object", "properties": {"status": {"type": "integer"}, "url": {"type": "string"}}}}
  },
  "required": ["path", "bytes", "url"]
}`

func downloadTool(p *clientPool) definition {
	return definition{
		Name: "download", Short: "HttpDownload", Doc: downloadDoc, Input: downloadInput, Output: downloadOutput,
		Examples: []tool.Example{
			module.Example("save a file", `{"url": "https://example.com/report.pdf", "path": "downloads/report.pdf"}`),
			module.Example("replace one, and check it",
				`{"url": "https://example.com/tool.tar.gz", "path": "vendor/tool.tar.gz", "overwrite": true, `+
					`"sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}`),
		},
		Aliases: []string{
			"http_download", "curl -o", "wget", "download_file", "save_url", "fetch_file",
			"download a file", "save a file from the web", "get a large file", "resume a download", "fetch an archive",
			"télécharger un fichier", "enregistrer une URL", "reprendre un téléchargement",
		},
		Tags: []string{"http", "web", "download", "file", "save", "resume", "network", "téléchargement", "fichier"},
		Runtime: tool.Runtime{
			Effects: []tool.Effect{{Resource: "file:{path}", Mode: tool.U}, fetch.OnHost(tool.IS)},
			Risk:    tool.Medium, SideEffect: tool.Write, Timeout: fetch.TransferTime,
		},
		Handler: handler(p, "download", download),
	}
}

type downloadArgs struct {
	requestArgs
	Path      string `json:"path"`
	Overwrite bool   `json:"overwrite"`
	SHA256    string `json:"sha256"`
}

type downloadData struct {
	fetch.SavedFile
	Attempts  int        `json:"attempts,omitempty"`
	SHA256    string     `json:"sha256,omitempty"`
	Redirects []redirect `json:"redirects,omitempty"`
}

func download(ctx context.Context, c httpCall, in downloadArgs) (*tool.Result, error) {
	in.Method = nethttp.MethodGet
	if err := c.checkMethod(in.Method); err != nil {
		return nil, err
	}
	u, err := c.address(in.requestArgs)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"Range", "If-Range"} {
		if _, ok := headerNamed(in.Headers, name); ok {
			return nil, tool.Errorf(c.Op, tool.Invalid, "the header %s is set by the download itself", name).
				WithHint("leave it out; http.get takes it")
		}
	}
	limit := c.settings.TimeLimit(in.TimeoutSeconds)
	secretsWarning := ""
	saved, err := c.Download(ctx, fetch.Download{
		URL: u, Path: in.Path, Overwrite: in.Overwrite, SHA256: in.SHA256, Limit: limit,
		Send: func(ctx context.Context, header nethttp.Header) (*nethttp.Response, error) {
			r, warning, err := c.request(ctx, in.requestArgs)
			if err != nil {
				return nil, err
			}
			secretsWarning = warning
			maps.Copy(r.Header, header)
			return c.client(nil).Do(r)
		},
		Refused: func(resp *nethttp.Response) error { return c.refusal(resp, limit) },
	})
	if refused := new(refusedDownload); errors.As(err, &refused) {
		return c.result(refused.response)
	}
	if err != nil {
		return nil, err
	}
	return downloadResult(saved, secretsWarning)
}

// refusedDownload is the response of a server that refuses a download.
type refusedDownload struct{ response *response }

func (e *refusedDownload) Error() string { return e.response.summary() }

// refusal reads a response that refuses a download: the reasons are in its body.
func (c httpCall) refusal(resp *nethttp.Response, limit time.Duration) error {
	const maxReasons = 1 << 20
	read, err := readResponse(resp, min(c.settings.MaxBytes, maxReasons))
	if err != nil {
		return c.failure(resp.Request, err, limit)
	}
	return &refusedDownload{read}
}

func downloadResult(saved *fetch.Saved, secretsWarning string) (*tool.Result, error) {
	r, err := tool.OK(saved.Summary(), downloadData{
		SavedFile: saved.SavedFile, Attempts: saved.Attempts, SHA256: saved.SHA256, Redirects: redirects(saved.Response),
	})
	if err != nil {
		return nil, err
	}
	if r.Warnings = saved.Warnings; secretsWarning != "" {
		r.Warnings = append(r.Warnings, secretsWarning)
	}
	return r, nil
}
