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

// Every call has a claim: one whose effects name nothing has one on its module, in a
// mode in which nobody waits for anybody.
func TestEveryCallHasAClaim(t *testing.T) {
	t.Parallel()
	workspace, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	id := tool.ID{Namespace: "deploy", Name: "push", Version: tool.Version{Major: 1}}
	optional := []tool.Effect{{Resource: "file:{path}", Mode: tool.U}}
	for name, c := range map[string]struct {
		runtime tool.Runtime
		args    string
		want    []tool.Claim
	}{
		"says nothing":       {tool.Runtime{}, `{}`, []tool.Claim{{Resource: "module:deploy", Mode: tool.IX}}},
		"changes":            {tool.Runtime{SideEffect: tool.External}, `{}`, []tool.Claim{{Resource: "module:deploy", Mode: tool.IX}}},
		"reads":              {tool.Runtime{SideEffect: tool.Read}, `{}`, []tool.Claim{{Resource: "module:deploy", Mode: tool.IS}}},
		"is pure":            {tool.Runtime{SideEffect: tool.None}, `{}`, nil},
		"is the kernel's":    {tool.Runtime{Control: true}, `{}`, nil},
		"no argument for it": {tool.Runtime{Effects: optional}, `{}`, []tool.Claim{{Resource: "module:deploy", Mode: tool.IX}}},
		"says what": {tool.Runtime{Effects: optional}, `{"path":"a"}`,
			[]tool.Claim{{Resource: binding.FileResource(filepath.Join(workspace, "a")), Mode: tool.U}}},
	} {
		got, err := binding.OfCall(workspace, &tool.Tool{ID: id, Runtime: c.runtime}, json.RawMessage(c.args))
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v; want %v", name, got, err, c.want)
		}
	}
}

// A path of a tool with a folder of its own begins there, may lie anywhere, and is
// never refused; and it has the name that the workspace's own tools give it.
func TestPathOfAFolderOfItsOwn(t *testing.T) {
	t.Parallel()
	ground, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	workspace, folder := filepath.Join(ground, "work"), filepath.Join(ground, "server")
	for _, dir := range []string{workspace, folder} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"work": workspace, "loop": "loop"} {
		if err := os.Symlink(target, filepath.Join(folder, link)); err != nil {
			t.Fatal(err)
		}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	if home, err = filepath.EvalSymlinks(home); err != nil {
		t.Fatal(err)
	}
	effects := []tool.Effect{
		{Resource: "file:{path}", Mode: tool.X, Folder: folder}, {Resource: "file:{path}", Mode: tool.X, Folder: workspace},
	}
	for path, want := range map[string][]string{
		"a":                                 {"server/a", "work/a"},
		filepath.Join(workspace, "a"):       {"work/a"},
		"file://" + ground + "/work/b%20c":  {"work/b c"},
		filepath.Join(folder, "work", "a"):  {"work/a"},
		filepath.Join(ground, "other", "x"): {"other/x"},
		"loop":                              {"server/loop", "work/loop"},
	} {
		args, _ := json.Marshal(map[string]string{"path": path})
		claims, err := binding.Claims(workspace, effects, args)
		var names []string
		for _, c := range claims {
			names = append(names, strings.TrimPrefix(c.Resource, binding.FileResource(ground)+"/"))
			if c.Mode != tool.X {
				t.Errorf("%s is claimed in %s", path, c.Mode)
			}
		}
		if err != nil || !slices.Equal(names, want) {
			t.Errorf("%s is %v, %v; want %v", path, names, err, want)
		}
	}
	for path, want := range map[string]tool.Claim{
		"/":                             {Resource: binding.FileResource("/"), Mode: tool.IX}, // above the workspace
		ground:                          {Resource: binding.FileResource(ground), Mode: tool.IX},
		workspace:                       {Resource: binding.FileResource(workspace), Mode: tool.X},
		"~/x":                           {Resource: binding.FileResource(filepath.Join(home, "x")), Mode: tool.X},
		"a\x00b":                        {Resource: binding.FileResource(filepath.Join(folder, "a\x00b")), Mode: tool.X},
		strings.Repeat("/abc", 1<<18):   {Resource: binding.FileResource(strings.Repeat("/abc", 1024)), Mode: tool.X},
		"/" + strings.Repeat("./", 1e5): {Resource: binding.FileResource("/"), Mode: tool.IX},
	} {
		args, _ := json.Marshal(map[string]string{"path": path})
		claims, err := binding.Claims(workspace, effects[:1], args)
		if err != nil || !slices.Equal(claims, []tool.Claim{want}) {
			t.Errorf("%.40q: %v, %v; want %v", path, claims, err, want)
		}
	}
}

// A placeholder can take the host of a URL: one host has one name, and adds no levels
// to the tree, whatever the URL is.
func TestHostOfAURL(t *testing.T) {
	t.Parallel()
	effects := []tool.Effect{{Resource: "host:{url|host}", Mode: tool.IX}}
	for address, want := range map[string]string{
		"https://api.example.com/v1":                "host:api.example.com",
		" HTTP://Ada:secret@API.Example.com.:8443/": "host:api.example.com",
		"http://[::1]:80/":                          "host:::1",
		"http://[fe80::1%25a%2Fb]/":                 "",
		"/no/host":                                  "", "http://": "", "http://a b/": "", "": "", "http://%zz/": "",
	} {
		args, _ := json.Marshal(map[string]string{"url": address})
		claims, err := binding.Claims("/work", effects, args)
		var got string
		for _, c := range claims {
			got += c.Resource
		}
		if err != nil || got != want {
			t.Errorf("%q is %q, %v; want %q", address, got, err, want)
		}
	}
	if _, err := binding.Claims("/work", []tool.Effect{{Resource: "host:{url|port}"}}, []byte(`{"url":"x"}`)); err == nil {
		t.Error("a form that is not known is taken")
	}
}

func FuzzHostOfAURL(f *testing.F) {
	f.Add("https://api.example.com:8443/v1")
	f.Add("http://[fe80::1%25a%2Fb]/")
	f.Fuzz(func(t *testing.T, address string) {
		args, err := json.Marshal(map[string]string{"url": address})
		if err != nil {
			t.Skip()
		}
		claims, err := binding.Claims("/work", []tool.Effect{{Resource: "host:{url|host}", Mode: tool.IX}}, args)
		if err != nil || len(claims) > 1 {
			t.Fatalf("%v, %v", claims, err)
		}
		for _, c := range claims {
			if strings.Contains(c.Resource, "/") || c.Resource == "host:" {
				t.Errorf("%q names %q", address, c.Resource)
			}
		}
	})
}
