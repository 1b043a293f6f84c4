package evaltest_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/search/eval/evaltest"
	"callgate/tool"
)

// files are the files of a folder by name; a name may hold folders.
type files map[string]string

// write makes the folder and returns it.
func (f files) write(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range f {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const (
	twoTools   = `{"id":"a","name":"a"}` + "\n" + `{"id":"b","name":"b"}` + "\n"
	oneRequest = `{"id":"q","text":"do it"}` + "\n"
)

const catalogue = `{"id":"s/a","name":"a","server":"s","category":"t"}
{"id":"t/b","name":"b","server":"t"}
{"id":"u/c","name":"c","category":"u"}
`

func TestLoadRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		in   files
		kind tool.Kind
		want string // in the error's words
	}{
		{"tools and set.json", files{"tools.jsonl": twoTools, "set.json": `{"tools_from":"x"}`}, tool.Invalid,
			"tools.jsonl stands beside set.json"},
		{"set.json is no JSON", files{"set.json": `{`}, tool.Invalid, "set.json: unexpected EOF"},
		{"set.json with more", files{"set.json": `{"tools_from":"x"} {}`}, tool.Invalid, "set.json: something follows"},
		{"set.json misspelt", files{"set.json": `{"tools_from":"x","server":["a"]}`}, tool.Invalid, `unknown field "server"`},
		{"set.json without tools_from", files{"set.json": `{"servers":["a"]}`}, tool.Invalid,
			"set.json: tools_from is missing"},
		{"tools from nowhere", files{"set.json": `{"tools_from":"not-there-at-all"}`}, tool.NotFound,
			"takes its tools from not-there-at-all"},
		{"a server without tools",
			files{"set.json": `{"tools_from":"all","servers":["s","nobody","no-one"]}`,
				"all/tools.jsonl": `{"id":"a","name":"a","server":"s"}`}, tool.Invalid,
			"no tool in all is of the servers no-one, nobody"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := evaltest.Load(c.in.write(t))
			var e *tool.Error
			if !errors.As(err, &e) || e.Kind != c.kind || !strings.Contains(err.Error(), c.want) || e.Hint == "" {
				t.Errorf("got %v, want %s with %q and a hint", err, c.kind, c.want)
			}
		})
	}
}

func TestToolsOfItsOwn(t *testing.T) {
	set, err := evaltest.Load(files{"tools.jsonl": twoTools}.write(t))
	if err != nil || len(set.Tools) != 2 {
		t.Errorf("got %v, %v, want two tools", set, err)
	}
}

// A folder that does not exist is another error: a test must not skip on it.
func TestNoFolder(t *testing.T) {
	_, err := evaltest.Load(filepath.Join(t.TempDir(), "nowhere"))
	if tool.KindOf(err) != tool.NotFound || errors.Is(err, evaltest.ErrToolsAbsent) {
		t.Errorf("got %v, want NotFound, and not ErrToolsAbsent", err)
	}
}

func TestLoad(t *testing.T) {
	for _, c := range []struct {
		name, from, setDir, toolsDir, servers string
		want                                  []string
	}{
		{"beside", "../all", "set", "all", `[]`, []string{"s/a", "t/b", "u/c"}},
		{"by server", "../all", "set", "all", `["s"]`, []string{"s/a"}},
		{"server before category", "../all", "set", "all", `["t"]`, []string{"t/b"}},
		{"category where there is no server", "../all", "set", "all", `["u","s"]`, []string{"s/a", "u/c"}},
		{"walking up", "../../wrong/all", "repo/deep/testdata/set", "shared/bench/all", `["s"]`, []string{"s/a"}},
		{"a bare name", "all", "repo/set", "shared/bench/all", `["s"]`, []string{"s/a"}},
		{"in the folder itself", "all", "set", "set/shared/bench/all", `["s"]`, []string{"s/a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := files{
				c.toolsDir + "/tools.jsonl": catalogue,
				c.setDir + "/set.json":      `{"name":"mine","note":"why","tools_from":"` + c.from + `","servers":` + c.servers + `}`,
				c.setDir + "/queries.jsonl": oneRequest,
				c.setDir + "/qrels.jsonl":   `{"query":"q","tool":"` + c.want[0] + `"}`,
			}.write(t)
			set, err := evaltest.Load(filepath.Join(dir, filepath.FromSlash(c.setDir)))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, tl := range set.Tools {
				got = append(got, tl.ID)
			}
			if diff := cmp.Diff(c.want, got); diff != "" || set.Name != "mine" {
				t.Errorf("name %q, tools (-want +got):\n%s", set.Name, diff)
			}
		})
	}
}

// A label may name only a tool that the set took, not one it left behind.
func TestLabelOutsideTheServers(t *testing.T) {
	dir := files{
		"all/tools.jsonl": catalogue, "set.json": `{"tools_from":"all","servers":["s"]}`,
		"queries.jsonl": oneRequest, "qrels.jsonl": `{"query":"q","tool":"t/b"}`,
	}.write(t)
	_, err := evaltest.Load(dir)
	if err == nil || !strings.Contains(err.Error(), `the tool "t/b" is not among the set's 1 tools`) {
		t.Errorf("got %v, want the unknown tool named", err)
	}
}

func TestToolsAbsent(t *testing.T) {
	_, err := evaltest.Load(files{"set.json": `{"tools_from":"../gone"}`, "queries.jsonl": oneRequest}.write(t))
	if !errors.Is(err, evaltest.ErrToolsAbsent) || tool.KindOf(err) != tool.NotFound {
		t.Errorf("got %v, want ErrToolsAbsent of kind NotFound", err)
	}
}

func TestAbsolutePath(t *testing.T) {
	all := files{"tools.jsonl": catalogue}.write(t)
	from, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	set, err := evaltest.Load(files{"set.json": `{"tools_from":` + string(from) + `}`}.write(t))
	if err != nil || len(set.Tools) != 3 {
		t.Errorf("got %v, %v, want three tools", set, err)
	}
}
