package http

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	nethttp "net/http"
	"net/textproto"
	"os"
	"path"
	"slices"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/internal/module/fetch"
	"callgate/internal/module/workfile"
	"callgate/tool"
)

//go:embed upload.md
var uploadDoc string

const uploadInput = `{
  "type": "object",
  "properties": {` + urlParameters + `,
    "path": {"type": "string", "minLength": 1,
      "description": "The file to send, relative to the workspace or absolute inside it."},
    "method": {"type": "string", "enum": ["POST", "PUT", "PATCH"],
      "description": "PUT for a file as the body, POST for a form, unless given."},
    "field": {"type": "string", "minLength": 1, "maxLength": 200,
      "description": "Send it as a form (multipart), the file under this name."},
    "form": {"type": "object",
      "description": "The other fields of the form: texts, numbers, booleans, or lists of them. Needs field."},
    "filename": {"type": "string", "minLength": 1, "maxLength": 255,
      "description": "The name to give the file in the form; its own unless given."},
    "content_type": {"type": "string", "maxLength": 200, "description": "The type of the file."},` + limitParameters + `
  },
  "required": ["url", "path"],
  "additionalProperties": false
}`

func uploadTool(p *clientPool) definition {
	return definition{
		Name: "upload", Short: "HttpUpload", Doc: uploadDoc, Input: uploadInput, Output: responseOutput,
		Examples: []tool.Example{
			module.Example("as the body", `{"url": "https://storage.example.com/bucket/report.pdf", "path": "out/report.pdf"}`),
			module.Example("as a form, with a field beside it",
				`{"url": "https://api.example.com/v1/files", "path": "data.csv", "field": "file", "form": {"purpose": "import"}}`),
		},
		Aliases: []string{
			"http_upload", "curl -F", "curl -T", "upload_file", "post_file", "multipart_upload",
			"upload a file", "send a file to an API", "attach a file to a request", "put a file into object storage",
			"envoyer un fichier", "téléverser un fichier", "joindre un fichier à une requête",
		},
		Tags: []string{"http", "web", "upload", "file", "multipart", "form", "network", "téléversement", "fichier"},
		Runtime: tool.Runtime{
			Effects: []tool.Effect{{Resource: "file:{path}", Mode: tool.S}, fetch.OnHost(tool.IX)},
			Risk:    tool.Medium, SideEffect: tool.External, Timeout: fetch.TransferTime,
		},
		Handler: handler(p, "upload", upload),
	}
}

type uploadArgs struct {
	requestArgs
	Path        string `json:"path"`
	Field       string `json:"field"`
	Filename    string `json:"filename"`
	ContentType string `json:"content_type"`
}

func upload(ctx context.Context, c httpCall, in uploadArgs) (*tool.Result, error) {
	if in.Field == "" && (in.Form != nil || in.Filename != "") {
		return nil, tool.Errorf(c.Op, tool.Invalid, "form and filename belong to a form, and there is no field").
			WithHint("name the field that holds the file, or leave them out to send the file as the body")
	}
	workspace, err := workfile.New(c.Op, c.Grant)
	if err != nil {
		return nil, err
	}
	f, shown, err := workspace.Open(in.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	limit := c.settings.TimeLimit(in.TimeoutSeconds)
	ctx, transfer, stop := fetch.NewTransfer(ctx, c.Grant, "uploaded", limit)
	defer stop()
	r, warning, err := c.uploadRequest(ctx, in, f, shown, transfer)
	if err != nil {
		return nil, err
	}
	resp, err := c.client(in.FollowRedirects).Do(r)
	if err != nil {
		return nil, c.failure(r, err, limit)
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{transfer.TouchReader(resp.Body), resp.Body}
	result, err := c.read(r, resp, in.MaxBytes, limit)
	if err != nil {
		return nil, err
	}
	if warning != "" {
		result.Warnings = append(result.Warnings, warning)
	}
	if result.Status == tool.Success {
		result.Summary = "sent " + shown + ", " + amount.Bytes(r.ContentLength) + ": " + result.Summary
	}
	return result, nil
}

// uploadRequest makes the request that sends a file.
func (c httpCall) uploadRequest(
	ctx context.Context, in uploadArgs, f *os.File, shown string, transfer *fetch.Transfer,
) (r *nethttp.Request, warning string, err error) {
	info, err := f.Stat()
	if err != nil {
		return nil, "", tool.Errorf(c.Op, tool.Failed, "%q cannot be read: %w", shown, err)
	}
	contentType, err := c.fileType(in, shown)
	if err != nil {
		return nil, "", err
	}
	var before, after []byte
	if in.Field != "" {
		if before, after, contentType, err = c.form(in, shown, contentType); err != nil {
			return nil, "", err
		}
	}
	args, err := c.plainRequest(in)
	if err != nil {
		return nil, "", err
	}
	if r, warning, err = c.request(ctx, args); err != nil {
		return nil, "", err
	}
	if r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", contentType)
	}
	r.ContentLength = int64(len(before)) + info.Size() + int64(len(after))
	r.GetBody = func() (io.ReadCloser, error) {
		transfer.SetPosition(0, r.ContentLength)
		file := io.NewSectionReader(f, 0, info.Size())
		whole := io.MultiReader(bytes.NewReader(before), file, bytes.NewReader(after))
		return io.NopCloser(transfer.Reader(whole)), nil
	}
	if r.Body, err = r.GetBody(); err == nil && r.ContentLength == 0 {
		r.Body = nethttp.NoBody
	}
	return r, warning, err
}

// fileType returns the content type of the file that is sent.
func (c httpCall) fileType(in uploadArgs, shown string) (string, error) {
	contentType := cmp.Or(in.ContentType, mime.TypeByExtension(path.Ext(shown)), "application/octet-stream")
	if !fetch.ValidHeaderValue(contentType) {
		return "", tool.Errorf(c.Op, tool.Invalid, "%q is not a content type", tool.Truncate(contentType))
	}
	return contentType, nil
}

// plainRequest returns the arguments of an upload as those of a request without
// a body.
func (c httpCall) plainRequest(in uploadArgs) (requestArgs, error) {
	args := in.requestArgs
	args.Form, args.Body, args.JSON = nil, nil, nil
	if args.Method == "" {
		args.Method = nethttp.MethodPut
		if in.Field != "" {
			args.Method = nethttp.MethodPost
		}
	}
	if _, ok := headerNamed(args.Headers, "Content-Type"); ok && in.Field != "" {
		return args, tool.Errorf(c.Op, tool.Invalid, "the header content-type of a form is set by the client itself").
			WithHint("leave it out; content_type is the type of the file")
	}
	return args, nil
}

// form writes what stands before and after the file in a form.
func (c httpCall) form(in uploadArgs, shown, contentType string) (before, after []byte, formType string, err error) {
	values, err := c.values("form", in.Form)
	if err != nil {
		return nil, nil, "", err
	}
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		for _, value := range values[name] {
			_ = w.WriteField(name, value) // writing to a buffer does not fail
		}
	}
	h := textproto.MIMEHeader{}
	h.Set("Content-Disposition", multipart.FileContentDisposition(in.Field, cmp.Or(in.Filename, path.Base(shown))))
	h.Set("Content-Type", contentType)
	_, _ = w.CreatePart(h)
	before = bytes.Clone(b.Bytes())
	_ = w.Close()
	return before, b.Bytes()[len(before):], w.FormDataContentType(), nil
}
