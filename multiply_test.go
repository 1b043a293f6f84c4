package callgate_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"callgate"
	"callgate/internal/app/pipeline"
	"callgate/internal/doctext"
	"callgate/internal/module/fetch/body"
	"callgate/llmtool"
	"callgate/tool"
)

// small is what a text of kilobytes is made of that a tool would make gigabytes of.
const small = 4 << 20

// multiplication is a call, or a function behind tools, that makes much of little.
type multiplication struct {
	name  string
	files map[string]string // of the workspace
	tool  string
	args  map[string]any
	run   func(context.Context) error // in place of a tool
	want  string                      // in the error; "": what comes back must be small
}

func replaceAll(old, new string) map[string]any {
	return map[string]any{"old": old, "new": new, "all": true}
}

func edits(list ...map[string]any) map[string]any {
	return map[string]any{"path": "a.txt", "edits": list}
}

func doubling(times int) (all []map[string]any) {
	for i := range times {
		all = append(all, replaceAll(strings.Repeat("a", 1+i%2), strings.Repeat("a", 4)))
	}
	return all
}

func manyFiles(n, size int) (files map[string]string, patch string) {
	files = map[string]string{}
	var b strings.Builder
	b.WriteString("*** Begin Patch\n")
	for i := range n {
		name := fmt.Sprintf("f%d.txt", i)
		files[name] = "first\n" + strings.Repeat("line of the file\n", size/17)
		fmt.Fprintf(&b, "*** Update File: %s\n-first\n+changed\n line of the file\n", name)
	}
	return files, b.String() + "*** End Patch\n"
}

func bombZip(t testing.TB) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create("word/document.xml")
	if err != nil {
		t.Fatal(err)
	}
	block := bytes.Repeat([]byte("<w:p><w:t>a</w:t></w:p>"), 1<<14)
	for range 220 {
		_, _ = w.Write(block)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func bombBody(t testing.TB) *http.Response {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	block := make([]byte, 1<<20)
	for range 200 {
		if _, err := z.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	_ = z.Close()
	return &http.Response{Header: http.Header{"Content-Encoding": {"gzip"}}, Body: struct {
		*bytes.Reader
		nopCloser
	}{bytes.NewReader(b.Bytes()), nopCloser{}}}
}

type nopCloser struct{}

func (nopCloser) Close() error { return nil }

func multiplications(t *testing.T) []multiplication {
	text := map[string]string{"a.txt": strings.Repeat("a", small)}
	few := map[string]string{"a.txt": strings.Repeat("a", 1<<20)} // as many places as one call changes
	patched, patch := manyFiles(12, 12<<20)
	deep := strings.Repeat("[", 3000) + strings.Repeat("1,", 200_000) + "1" + strings.Repeat("]", 3000)
	return []multiplication{
		{name: "filesystem.edit, every byte becomes 120 kB", files: few, tool: "filesystem.edit",
			args: edits(replaceAll("a", strings.Repeat("b", 120<<10))), want: "the most that can be changed in one piece is 64.0 MiB"},
		{name: "filesystem.edit, a count", files: text, tool: "filesystem.edit",
			args: edits(map[string]any{"old": strings.Repeat("a", 64), "new": strings.Repeat("b", 2<<10), "count": small / 64}),
			want: "the most that can be changed"},
		{name: "filesystem.edit, one after the other", files: text, tool: "filesystem.edit", args: edits(doubling(40)...),
			want: "nothing was changed"},
		{name: "filesystem.edit, too many places", files: text, tool: "filesystem.edit", args: edits(replaceAll("a", "b")),
			want: "more than 1048576 places"},
		{name: "filesystem.edit, UTF-16", files: map[string]string{"a.txt": "\xff\xfe" + strings.Repeat("a\x00", 1<<19)}, tool: "filesystem.edit",
			args: edits(replaceAll("a", strings.Repeat("b", 80))), want: "the result would have 80.0 MiB"},
		{name: "filesystem.apply_patch, many large files", files: patched, tool: "filesystem.apply_patch",
			args: map[string]any{"patch": patch}, want: "the files of the patch have more than 128.0 MiB"},
		{name: "filesystem.notebook_edit, an indent of a megabyte", tool: "filesystem.notebook_edit",
			files: map[string]string{"n.ipynb": "{\n" + strings.Repeat(" ", 1<<20) + `"cells": [], "metadata": {"a": {"b": [1, 2, 3, [4, 5, 6, 7, 8, 9]]}}}`},
			args:  map[string]any{"path": "n.ipynb", "mode": "insert", "cell": 1, "source": strings.Repeat("x\n", 50)},
			want:  "the most that a notebook may have"},
		{name: "filesystem.notebook_edit, deep", tool: "filesystem.notebook_edit",
			files: map[string]string{"n.ipynb": "{\n  \"cells\": [], \"metadata\": " + deep + "}"},
			args:  map[string]any{"path": "n.ipynb", "mode": "insert", "cell": 1, "source": "x"}, want: "the most that a notebook may have"},
		{name: "run_script", tool: "run_script", args: map[string]any{"code": "x = 'a' * 1000000\nfor i in range(40):\n    x = x + x\nresult = len(x)"},
			want: "need more than 64 MiB"},
		{name: "an LLM-backed tool", tool: "demo.many", args: map[string]any{"text": strings.Repeat("long ", 200<<10)},
			want: "more than 16 MiB"},
		{name: "a step of a pipeline", run: func(context.Context) error {
			_, err := pipeline.Render(strings.Repeat("{{steps.a.text}} ", 1000), func(pipeline.Reference) (any, error) {
				return strings.Repeat("x", 1<<20), nil
			})
			return err
		}, want: "more than 16 MiB"},
		{name: "a document", run: func(ctx context.Context) error {
			_, err := doctext.Read(ctx, "a.docx", bombZip(t), doctext.Limits{})
			return err
		}, want: ""},
		{name: "a body of a response", run: func(context.Context) error {
			content, truncated, err := body.ReadAll(bombBody(t), 1<<20)
			if err == nil && (!truncated || len(content) != 1<<20) {
				err = errors.New("it was not cut")
			}
			return err
		}},
	}
}

// TestMultiplications calls everything that can make much of little. Each call says that it
// is too much, or gives little; none takes much memory, none leaves a large file, and the
// kernel answers afterwards.
func TestMultiplications(t *testing.T) {
	many, err := callgate.DefineLLMTool(llmtool.Definition{
		ID: "demo:many@1.0.0", Description: "Reads a text again and again.",
		InputSchema:     json.RawMessage(`{"type":"object","required":["text"],"properties":{"text":{"type":"string"}}}`),
		OutputSchema:    json.RawMessage(`{"type":"object"}`),
		UserTemplate:    strings.Repeat("{{text}}\n", 2000),
		ModelPreference: llmtool.Preference{Preferred: "offline/offline"},
	})
	if err != nil {
		t.Fatal(err)
	}
	kernel, err := callgate.Open(t.Context(), callgate.Config{State: t.TempDir(), Tools: []*tool.Tool{many}})
	if err != nil {
		t.Fatal(err)
	}
	defer kernel.Close()
	for _, m := range multiplications(t) {
		t.Run(m.name, func(t *testing.T) {
			folder := t.TempDir()
			for name, text := range m.files {
				if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			session, err := kernel.OpenSession(t.Context(), callgate.SessionConfig{Workspace: folder})
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			before := allocated()
			var got string
			if m.run != nil {
				if err := m.run(t.Context()); err != nil {
					got = err.Error()
				}
			} else {
				raw, err := json.Marshal(m.args)
				if err != nil {
					t.Fatal(err)
				}
				r := session.Call(t.Context(), m.tool, raw)
				if r.Error != nil {
					got = r.Error.Error()
				}
			}
			if took := allocated() - before; took > 2<<30 {
				t.Errorf("%d MiB were allocated", took>>20)
			}
			if !strings.Contains(got, m.want) {
				t.Errorf("the error is %q, want %q", tool.TruncateTo(got, 500), m.want)
			}
			checkSizes(t, folder)
			if r := session.Call(t.Context(), "filesystem.list", json.RawMessage(`{}`)); r.Status != tool.Success {
				t.Errorf("afterwards: %+v", r.Error)
			}
		})
	}
}

func allocated() uint64 {
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	return now.TotalAlloc
}

// checkSizes looks for files that could not be read back.
func checkSizes(t *testing.T, folder string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if info, err := d.Info(); err != nil || info.Size() > 64<<20 {
			t.Errorf("%s has %d bytes, %v", path, info.Size(), err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
