package binding_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/internal/gate/binding"
	"callgate/tool"
)

func TestWrittenBy(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	ok(t, err)
	workspace := filepath.Join(root, "work")
	ok(t, os.MkdirAll(filepath.Join(workspace, "real"), 0o700))
	ok(t, os.Symlink("real", filepath.Join(workspace, "folder")))
	ok(t, os.Symlink("real/target", filepath.Join(workspace, "link")))
	file := func(m tool.Mode) []tool.Effect { return []tool.Effect{{Resource: "file:{path}", Mode: m}} }
	for name, c := range map[string]struct {
		effects []tool.Effect
		side    tool.SideEffect
		args    string
		want    string // relative paths
		unnamed bool
	}{
		"a file":                 {file(tool.U), tool.Write, `{"path":"a.txt"}`, "a.txt", false},
		"a read":                 {file(tool.S), tool.Read, `{"path":"a.txt"}`, "", false},
		"an intention":           {file(tool.IX), tool.Write, `{"path":"a.txt"}`, "", false},
		"several":                {file(tool.X), tool.Write, `{"path":["a","b/c"]}`, "a b/c", false},
		"no argument":            {file(tool.X), tool.Write, `{}`, "", false},
		"a link":                 {file(tool.X), tool.Write, `{"path":"link"}`, "link real/target", false},
		"through a link":         {file(tool.X), tool.Write, `{"path":"folder/x"}`, "real/x", false},
		"dots":                   {file(tool.X), tool.Write, `{"path":"b/../a"}`, "a", false},
		"outside":                {file(tool.X), tool.Write, `{"path":"../a"}`, "", false},
		"the workspace by path":  {file(tool.X), tool.Write, `{"path":"."}`, "", true},
		"the workspace":          {[]tool.Effect{{Resource: "workspace", Mode: tool.U}}, tool.Write, `{}`, "", true},
		"the workspace, read":    {[]tool.Effect{{Resource: "workspace", Mode: tool.S}}, tool.Write, `{}`, "", false},
		"a repository":           {[]tool.Effect{{Resource: "repo:.", Mode: tool.X}}, tool.Write, `{}`, "", true},
		"nothing said":           {nil, tool.Write, `{}`, "", true},
		"nothing said, outside":  {nil, tool.External, `{}`, "", false},
		"a host":                 {[]tool.Effect{{Resource: "host:{url|host}", Mode: tool.IX}}, tool.External, `{"url":"http://a"}`, "", false},
		"a patch":                {[]tool.Effect{{Resource: "file:{patch|files}", Mode: tool.X}}, tool.Write, `{"patch":"*** Begin Patch\n*** Add File: n\n+x\n*** End Patch\n"}`, "n", false},
		"a server's folder":      {[]tool.Effect{{Resource: "file:{path}", Mode: tool.X, Folder: root}}, tool.Write, `{"path":"work/a"}`, "a", false},
		"above, of a server":     {[]tool.Effect{{Resource: "file:{path}", Mode: tool.X, Folder: root}}, tool.Write, `{"path":"."}`, "", true},
		"not meant here":         {[]tool.Effect{{Resource: "file:{path}", Mode: tool.X, When: "really"}}, tool.Write, `{"path":"a"}`, "", false},
		"arguments of no object": {file(tool.X), tool.Write, `[]`, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			made := &tool.Tool{Runtime: tool.Runtime{Effects: c.effects, SideEffect: c.side}}
			w := binding.WrittenBy(workspace, made, json.RawMessage(c.args))
			var got []string
			for _, path := range w.Paths {
				rel, err := filepath.Rel(workspace, path)
				ok(t, err)
				got = append(got, filepath.ToSlash(rel))
			}
			slices.Sort(got)
			if text := strings.Join(got, " "); text != c.want || w.Unnamed != c.unnamed {
				t.Errorf("got %q, %v, want %q, %v", text, w.Unnamed, c.want, c.unnamed)
			}
		})
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
