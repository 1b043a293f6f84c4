package http

import (
	"bytes"
	"context"
	_ "embed"
	"io"
	"mime"
	"mime/multipart"
	nethttp "net/http"
	"net/textproto"
	"os"
	"path"
	"slices"
	"strings"

	"callgate/internal/module"
	"callgate/internal/module/workfile"
	"callgate/tool"
)

//go:embed upload.md
var uploadDoc string

const uploadInput = `{
  "type": "object",
  "properties": {` + urlParameters + `,
    "path": {"type": "string", "minLength": 1, "description": "The file to send, relative to the workspace or absolute inside it."},
    "method": {"type": "string", "enum": ["POST", "PUT", "PATCH"], "description": "PUT for a file as the body, POST for a form, unless given."},
    "field": {"type": "string", "minLength": 1, "maxLength": 200, "description": "Send it as a form (multipart), the file under this name."},
    "form": {"type": "object", "description": "The other fields of the form: texts, numbers, booleans, or lists of them. Needs field."},
    "filename": {"type": "string", "minLength": 1, "maxLength": 255, "description": "The name to give the file in the form; its own unless given."},
    "content_type": {"type": "string", "maxLength": 200, "description": "The type of the file."},` + limitParameters + `
  },
  "required": ["url", "path"],
  "additionalProperties": false
}`

func uploadTool(d *clientPool) definition {
	return definition{
		Name: "upload", Short: "HttpUpload", Doc: uploadDoc, Input: uploadInput, Output: responseOutput,
		Examples: []tool.Example{
			module.Example("as the body", `{"url": "https://storage.example.com/bucket/report.pdf", "path": "out/report.pdf"}`),
			module.Example("as a form, with a field beside it", `{"url": "https://api.example.com/v1/files", "path": "data.csv", "field": "file", "form": {"purpose": "import"}}`),
		},
		Aliases: []string{
			"http_upload", "curl -F", "curl -T", "upload_file", "post_file", "multipart_upload",
			"upload a file", "send a file to an API", "attach a file to a request", "put a file into object storage",
			"envoyer un fichier", "téléverser un fichier", "joindre un fichier à une requête",
		},
		Tags: []string{"http", "web", "upload", "file", "multipart", "form", "network", "téléversement", "fichier"},
		Runtime: tool.Runtime{
			Effects: []tool.Effect{{Resource: "file:{path}", Mode: tool.S}},
			Risk:    tool.Medium, SideEffect: tool.External, Timeout: transferTime,
		},
		Handler: handler(d, "upload", upload),
	}
}

type uploadArgs struct {
	requestArgs
	Path        string `json:"path"`
	Field       string `json:"field"`
	Filename    string `json:"filename"`
	ContentType string `json:"content_type"`
}

func upload(ctx context.Context, e httpCall, in uploadArgs) (*tool.Result, error) {
	if in.Field == "" && (in.Form != nil || in.Filename != "") {
		return nil, tool.Errorf(e.op, tool.Invalid, "form and filename belong to a form, and there is no field").
			WithHint("name the field that holds the file, or leave them away to send the file as the body")
	}
	room, err := workfile.New(e.op, e.grant)
	if err != nil {
		return nil, err
	}
	f, shown, err := room.Open(in.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	limit := e.settings.timeout(in.TimeoutSeconds)
	ctx, w, stop := newTransfer(ctx, e.grant, "uploaded", limit)
	defer stop()
	r, warning, err := e.uploading(ctx, in, f, shown, w)
	if err != nil {
		return nil, err
	}
	resp, err := e.client(in.FollowRedirects).Do(r)
	if err != nil {
		return nil, e.fail(r, err, limit)
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{w.reader(resp.Body, false), resp.Body}
	result, err := e.answer(r, resp, in.MaxBytes, warning, limit)
	if err == nil && result.Status == tool.Success {
		result.Summary = "sent " + shown + ", " + size(r.ContentLength) + ": " + result.Summary
	}
	return result, err
}

// uploading makes the request that sends a file.
func (e httpCall) uploading(ctx context.Context, in uploadArgs, f *os.File, shown string, w *transfer) (*nethttp.Request, string, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, "", tool.Errorf(e.op, tool.Failed, "%q cannot be read: %w", shown, err)
	}
	contentType := in.ContentType
	if contentType == "" {
		contentType = mime.TypeByExtension(path.Ext(shown))
	}
	if contentType == "" {
		contentType = "application/octet-stream"
	}
	if !validValue(contentType) {
		return nil, "", tool.Errorf(e.op, tool.Invalid, "%q is not a content type", tool.Truncate(contentType))
	}
	var before, after []byte
	if in.Field != "" {
		if before, after, contentType, err = e.form(in, shown, contentType); err != nil {
			return nil, "", err
		}
	}
	ask := in.requestArgs
	ask.Form, ask.Body, ask.JSON = nil, nil, nil
	if ask.Method == "" {
		ask.Method = nethttp.MethodPut
		if in.Field != "" {
			ask.Method = nethttp.MethodPost
		}
	}
	if _, ok := headerNamed(ask.Headers, "Content-Type"); ok && in.Field != "" {
		return nil, "", tool.Errorf(e.op, tool.Invalid, "the header content-type of a form is set by the client itself").WithHint("leave it away; content_type is the type of the file")
	}
	r, warning, err := e.request(ctx, ask)
	if err != nil {
		return nil, "", err
	}
	if r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", contentType)
	}
	r.ContentLength = int64(len(before)) + info.Size() + int64(len(after))
	r.GetBody = func() (io.ReadCloser, error) {
		w.at(0, r.ContentLength)
		whole := io.MultiReader(bytes.NewReader(before), io.NewSectionReader(f, 0, info.Size()), bytes.NewReader(after))
		return io.NopCloser(w.reader(whole, true)), nil
	}
	if r.Body, err = r.GetBody(); err == nil && r.ContentLength == 0 {
		r.Body = nethttp.NoBody
	}
	return r, warning, err
}

// form writes what stands before and after the file in a form.
func (e httpCall) form(in uploadArgs, shown, contentType string) (before, after []byte, formType string, err error) {
	values, err := e.values("form", in.Form)
	if err != nil {
		return nil, nil, "", err
	}
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, value := range values[name] {
			_ = w.WriteField(name, value) // a buffer takes everything
		}
	}
	filename := in.Filename
	if filename == "" {
		filename = path.Base(shown)
	}
	h := textproto.MIMEHeader{}
	h.Set("Content-Disposition", multipart.FileContentDisposition(in.Field, filename))
	h.Set("Content-Type", contentType)
	_, _ = w.CreatePart(h)
	before = bytes.Clone(b.Bytes())
	_ = w.Close()
	return before, b.Bytes()[len(before):], w.FormDataContentType(), nil
}

// headerNamed finds a header whatever way its name is written.
func headerNamed(headers map[string]string, name string) (string, bool) {
	for n, v := range headers {
		if strings.EqualFold(n, name) {
			return v, true
		}
	}
	return "", false
}
