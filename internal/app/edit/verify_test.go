package edit

import (
	"strings"
	"testing"

	"callgate/internal/app"
	"callgate/internal/app/starter"
	"callgate/tool"
)

const servers = `app:
  name: x
tools:
  modules:
    filesystem:
    mcp:
      config:
        servers:
          a: {command: x}
          b: {command: y}
  capabilities:
    deny: [{module: shell}]
`

// An edit that does something else than it was asked to is thrown away.
func TestNoEditIsBelieved(t *testing.T) {
	want := fields(app.Server{Name: "c", Command: "z", Args: []string{"{{secret.s}}"}})
	add := func(f *editor, want []field) []splice {
		splices, err := f.add("c", want)
		if err != nil {
			t.Fatal(err)
		}
		return splices
	}
	also := func(old, new string) func(*editor, []field) []splice {
		return func(f *editor, want []field) []splice {
			at := strings.Index(f.doc.text, old)
			return append(add(f, want), splice{at, at + len(old), new})
		}
	}
	for name, change := range map[string]func(*editor, []field) []splice{
		"nothing":         func(*editor, []field) []splice { return nil },
		"another command": func(f *editor, want []field) []splice { return add(f, []field{{"command", "other"}, want[1]}) },
		"a key less":      func(f *editor, want []field) []splice { return add(f, want[:1]) },
		"a key more": func(f *editor, want []field) []splice {
			return add(f, append(want[:2:2], field{"pin", rawText("true")}))
		},
		"another server":    also("command: x", "command: w"),
		"a server less":     also("          b: {command: y}\n", ""),
		"another name":      also("name: x", "name: y"),
		"a module less":     also("    filesystem:\n", ""),
		"a rule less":       also("{module: shell}", ""),
		"another rule":      also("shell", "open"),
		"no longer YAML":    also("}\n", "\n"),
		"no longer a file":  func(*editor, []field) []splice { return []splice{{0, len(servers), ""}} },
		"a name of its own": also("  name: x\n", ""),
	} {
		f, err := read("edit.Test", []byte(servers), []string{"filesystem", "shell"})
		if err != nil {
			t.Fatal(err)
		}
		out, err := f.make("c", want, func(want []field) ([]splice, error) { return change(f, want), nil })
		if tool.KindOf(err) != tool.Internal || out != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

func BenchmarkAddServer(b *testing.B) {
	text := starter.Text("demo")
	s := app.Server{Name: "files", Command: "npx", Args: []string{"-y", "some-server", "{{workdir}}"}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := AddServer(text, s, []string{"filesystem", "shell"}); err != nil {
			b.Fatal(err)
		}
	}
}
