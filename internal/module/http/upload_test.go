package http_test

import (
	"fmt"
	"io"
	nethttp "net/http"
	"strconv"
	"strings"
	"testing"

	"callgate/internal/module/fetch/fetchtest"
	"callgate/tool"
)

func TestUpload(t *testing.T) {
	t.Parallel()
	type seen struct {
		method, kind, length string
		body                 string
		fields               map[string]string
	}
	var last seen
	s := fetchtest.Serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		last = seen{method: r.Method, kind: r.Header.Get("Content-Type"), length: strconv.FormatInt(r.ContentLength, 10),
			fields: map[string]string{}}
		if strings.HasPrefix(last.kind, "multipart/") {
			if err := r.ParseMultipartForm(1 << 20); err != nil {
				t.Error(err)
			}
			for name, values := range r.MultipartForm.Value {
				last.fields[name] = strings.Join(values, ",")
			}
			for name, files := range r.MultipartForm.File {
				f, _ := files[0].Open()
				body, _ := io.ReadAll(f)
				last.body = string(body)
				last.fields[name] = files[0].Filename + " " + files[0].Header.Get("Content-Type")
			}
		} else {
			body, _ := io.ReadAll(r.Body)
			last.body = string(body)
		}
		if r.URL.Path == "/moved" {
			nethttp.Redirect(w, r, "/", nethttp.StatusTemporaryRedirect)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"ok":true}`)
	})
	b := open(t, nil, fetchtest.Local())
	b.WriteFile("data.json", `{"a":1}`)
	b.WriteFile("empty", "")
	for name, c := range map[string]struct {
		args block
		want string
	}{
		"as the body":     {block{"path": "data.json"}, `PUT application/json 7 {"a":1} map[]`},
		"another type":    {block{"path": "data.json", "content_type": "text/x", "method": "POST"}, `POST text/x 7 {"a":1} map[]`},
		"redirected":      {block{"path": "data.json", "url": s.URL + "/moved"}, `PUT application/json 7 {"a":1} map[]`},
		"empty":           {block{"path": "empty"}, `PUT application/octet-stream 0  map[]`},
		"a form":          {block{"path": "data.json", "field": "file", "form": block{"n": 5, "l": []any{"a", "b"}}}, `POST multipart {"a":1} map[file:data.json application/json l:a,b n:5]`},
		"a form, renamed": {block{"path": "data.json", "field": "f\"x", "filename": "ü\".json"}, `POST multipart {"a":1} map[f"x:ü".json application/json]`},
	} {
		if c.args["url"] == nil {
			c.args["url"] = s.URL
		}
		r, err := b.Call("upload", c.args)
		if d := fetchtest.Data(t, r, err); d["status"] != float64(200) || !strings.HasPrefix(r.Summary, "sent ") {
			t.Errorf("%s: %s", name, r.Summary)
		}
		got := fmt.Sprint(last.method, " ", last.kind, " ", last.length, " ", last.body, " ", last.fields)
		if strings.HasPrefix(last.kind, "multipart/form-data; boundary=") {
			got = fmt.Sprint(last.method, " multipart ", last.body, " ", last.fields)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	for name, c := range map[string]struct {
		args block
		kind tool.Kind
	}{
		"no such file":     {block{"path": "none"}, tool.NotFound},
		"outside":          {block{"path": "/etc/passwd"}, tool.Denied},
		"no field":         {block{"path": "empty", "form": block{"a": 1}}, tool.Invalid},
		"a type of a form": {block{"path": "empty", "field": "f", "headers": block{"content-type": "x"}}, tool.Invalid},
	} {
		c.args["url"] = s.URL
		if _, err := b.Call("upload", c.args); tool.KindOf(err) != c.kind {
			t.Errorf("%s: %v", name, err)
		}
	}
}
