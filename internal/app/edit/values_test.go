package edit_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"callgate/internal/app"
	"callgate/internal/app/edit"
	"callgate/internal/serverlock"
	"callgate/tool"
)

// bases are files that a server is added to in each way there is.
var bases = map[string]string{
	"block":  "tools:\n  modules:\n    mcp:\n      config:\n        servers:\n          hub:\n            command: x\n",
	"braces": "tools: {modules: {mcp: {config: {servers: {hub: {command: x}}}}}}\n",
}

// added adds a server to a file and reads it back.
func added(t *testing.T, base string, s app.Server) app.Server {
	t.Helper()
	text, err := edit.AddServer([]byte(base), s, builtin)
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.Parse(app.Filename, text, known)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return a.Servers[len(a.Servers)-1]
}

var texts = []string{
	"plain", "a b", " a", "a ", "", "0", "1", "-1", "+1", "1.0", ".5", "1e3", "0x1f", "0o7", "0b1", "1_000", "12:30:45",
	"2001-01-01", "2001-01-01T00:00:00Z", ".inf", "-.inf", ".nan", "inf", "nan", "true", "True", "false", "yes", "No", "on", "OFF", "y", "N",
	"null", "Null", "NULL", "~", "-", "--", "---", "...", "- a", "-a", "--a", "?", "? a", ":", ": a", "a:", "a: b", "a:b", "a :b", "#", "# a", "a # b", "a#b",
	"'", "''", `"`, `""`, `a"b`, "it's", `\`, `\n`, `a\b`, "a\nb", "\n", "a\n", "\na", "a\n\nb", "a\tb", "\t", "a\r\nb", "\r", "\x00", "\x07", "\x1b[31m", "\x7f",
	"é", "日本", "😀", "\u0085", "\u00a0", "\u2028", "\u2029", "\ufeff", "\ufffd", "\U0010ffff", "a\u0301",
	"[", "]", "[a]", "{", "}", "{a}", "{a: b}", ",", "a, b", "&a", "*a", "*", "!a", "!!str a", "|", "|-", ">", ">+", "%", "%a", "@", "@a/b", "`", "`a`", "=", "<<", "<",
	"${", "$HOME", "$", "a$b", "{x}", "issue:{repo}", "http://x", "https://x/y?a=b&c=d#e", "C:\\Users\\x", "/a/b", "./a", "../a", ".", "..", ".a", "~/a", "a/", "-e", "--name=x y",
	"{{", "{{{", "{{{{", "}}", "{{ a", "{{{{env.HOME}}", strings.Repeat("long ", 100) + "text", strings.Repeat("x", 3000), "key: value\n- item\n  more: |\n",
}

// A text is read back as it was, wherever it stands.
func TestTexts(t *testing.T) {
	for where, base := range bases {
		for _, text := range texts {
			s := app.Server{Name: "files", Command: "x", Args: []string{"first", text, "last"}}
			want := strings.ReplaceAll(text, "{{{{", "{{")
			if strings.TrimSpace(text) == "" && text != "" {
				if _, err := edit.AddServer([]byte(base), s, builtin); tool.KindOf(err) != tool.Invalid {
					t.Errorf("%s: %q gives %v", where, text, err)
				}
				continue
			}
			if got := added(t, base, s).Args; len(got) != 3 || got[0] != "first" || got[1] != want || got[2] != "last" {
				t.Errorf("%s: %q in args is %q", where, text, got)
			}
			s.Args, s.Env = nil, map[string]string{"BEFORE": "a", "TEXT": text, "ZED": "z"}
			if got := added(t, base, s).Env; len(got) != 3 || got["TEXT"] != want {
				t.Errorf("%s: %q in env is %q", where, text, got)
			}
			if text == "" {
				continue
			}
			s.Env, s.Command, s.Args = nil, text, []string{"a"}
			if got := added(t, base, s).Command; got != want {
				t.Errorf("%s: %q as a command is %q", where, text, got)
			}
			if len(text) > 200 {
				continue // no key may be that long
			}
			s.Command, s.Tools = "x", map[string]app.ServerTool{text: {Off: true}, "zed": {}}
			if got := added(t, base, s).Tools; len(got) != 2 || !got[text].Off {
				t.Errorf("%s: %q as a key is %v", where, text, got)
			}
		}
	}
}

// A text that no app file can hold is refused.
func TestTextsThatCannotBe(t *testing.T) {
	for _, text := range []string{"\xff", "a\xc3", "${HOME}", "{{no_such_variable}}", "{{}}", "{{env.CALLGATE_NOT_SET}}"} {
		out, err := edit.AddServer([]byte(bases["block"]), app.Server{Name: "files", Command: "x", Args: []string{text}}, builtin)
		if tool.KindOf(err) != tool.Invalid || out != nil {
			t.Errorf("%q gives %q, %v", text, out, err)
		}
	}
}

// full has no field at its zero value, so that one that is new to servers and
// unknown here shows.
var full = app.Server{
	Name: "files", Command: "x", Args: []string{"a"}, Env: map[string]string{"A": "b"}, Dir: "d",
	URL: "https://x", Transport: "http", Protocol: "2025-11-25", Headers: map[string]string{"H": "v"},
	OAuth: &app.OAuth{
		ClientID: "i", ClientSecret: "{{secret.s}}", Issuer: "https://i", CallbackPort: 1, Scopes: []string{"s"},
	},
	Timeout: time.Hour + 30*time.Minute, StartTimeout: 100 * time.Millisecond, Concurrency: 256, EnvAllow: []string{"E"}, Pin: true,
	InWorkspace: true, Isolation: app.Isolation{Mode: "sandboxed", Network: true, Readable: []string{"/r"}, Writable: []string{"/w"}},
	Tools: map[string]app.ServerTool{"t": {
		Risk: tool.High, SideEffect: tool.Write, Idempotent: true, Off: true,
		Effects: []tool.Effect{{Resource: "r:{a}", Mode: tool.X, When: "w", Unless: []string{"u"}, Folder: "/f"}},
	}},
	Locks: []serverlock.Line{
		{Tools: "*_file", Locks: []serverlock.Lock{{Resource: "file:{path}", Mode: tool.X}, {Resource: "server"}}}, {Tools: "*"},
	},
	Origin: app.ServerOrigin{FromUser: true, Everywhere: true, Hide: strings.ToUpper},
}

// Every field of a server is written, in both styles.
func TestEveryField(t *testing.T) {
	whole(t, "Server", reflect.ValueOf(full))
	full := full
	full.FromUser, full.Everywhere, full.Hide = false, false, nil // where it was read, which no file says
	effects := full.Tools["t"].Effects
	effects[0].Folder = "" // nor where a tool works
	program, remote := full, full
	program.URL, program.Transport, program.Headers, program.OAuth = "", "stdio", nil, nil
	remote.Command, remote.Args, remote.Env, remote.Dir = "", nil, nil, ""
	remote.Isolation, remote.InWorkspace = app.Isolation{}, false
	for where, base := range bases {
		for _, s := range []app.Server{program, remote} {
			if diff := cmp.Diff(s, added(t, base, s), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", where, diff)
			}
		}
	}
}

// whole reports what is left at its zero value.
func whole(t *testing.T, name string, v reflect.Value) {
	t.Helper()
	if v.IsZero() {
		t.Errorf("%s is at its zero value here: say what it is, and see that it is written", name)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		whole(t, name, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			whole(t, name+"."+v.Type().Field(i).Name, v.Field(i))
		}
	case reflect.Slice:
		whole(t, name+"[0]", v.Index(0))
	case reflect.Map:
		for i := v.MapRange(); i.Next(); {
			whole(t, fmt.Sprintf("%s[%v]", name, i.Key()), i.Value())
		}
	}
}

func TestTimes(t *testing.T) {
	for _, d := range []time.Duration{100 * time.Millisecond, time.Second, 10 * time.Second, 60 * time.Second, 90 * time.Second, 10 * time.Minute, time.Hour, 100 * time.Minute, 24 * time.Hour, 1234567890} {
		s := app.Server{Name: "files", Command: "x", Timeout: d}
		if got := added(t, bases["block"], s).Timeout; got != d {
			t.Errorf("%v is %v", d, got)
		}
	}
}

func TestModulesStayOn(t *testing.T) {
	for _, text := range []string{"", "app: {name: x}\n", "tools:\n", "tools: {}\n", "tools:\n  capabilities: {}\n"} {
		out, err := edit.AddServer([]byte(text), app.Server{Name: "files", Command: "x"}, []string{"shell", "mcp", "filesystem"})
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		a, err := app.Parse(app.Filename, out, known)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]app.Module{{Name: "shell"}, {Name: "filesystem"}}, a.Modules); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// A file that hides its structure, or is too large, is refused in words.
func TestHostile(t *testing.T) {
	for name, text := range map[string]string{
		"too large":   strings.Repeat("# far too much\n", 1<<17),
		"blank lines": "app:\n  description: |\n    x\n" + strings.Repeat("\n", 100_000) + "  name: x\n",
		"too deep":    "app: " + strings.Repeat("[", 100_000),
		"too many":    "app:\n  - " + strings.Repeat("a\n  - ", 60_000) + "a\n",
		"not UTF-8":   "app:\n  name: caf\xe9\n",
		"anchors":     "app: &a {name: x}\n",
		"a list":      "- a\n",
		"a text":      "a\n",
		"tabs":        "app:\n\tname: x\n",
		"twice":       "tools:\ntools:\n",
		"modules":     "tools:\n  modules: [a]\n",
		"servers":     "tools:\n  modules:\n    mcp:\n      config:\n        servers: [a]\n",
	} {
		out, err := edit.AddServer([]byte(text), app.Server{Name: "files", Command: "x"}, builtin)
		if out != nil || tool.KindOf(err) != tool.Invalid || !strings.HasPrefix(err.Error(), app.Filename+":") {
			t.Errorf("%s: %.200q, %v", name, out, err)
		}
	}
}
