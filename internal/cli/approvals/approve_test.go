package approvals

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/cli/command"
	"callgate/tool"
)

func TestReadArgs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine.json"), []byte(`{"from":"a file"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, args string
		want       string // empty: an error
	}{
		{"as text", `{"n":1}`, `{"n":1}`},
		{"from a file", "@mine.json", `{"from":"a file"}`},
		{"from standard input", "-", `{"from":"stdin"}`},
		{"a file that is not there", "@none.json", ""},
		{"not an object", "[1]", ""},
		{"not JSON", "{", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			host := command.Host{Dir: dir, Stdin: strings.NewReader(`{"from":"stdin"}`)}
			a := &approve{Env: command.New(host), args: tt.args}
			got, err := a.readArgs()
			if tt.want == "" {
				if tool.KindOf(err) != tool.Invalid {
					t.Errorf("got %s: %v", got, err)
				}
				return
			}
			if err != nil || string(got) != tt.want {
				t.Errorf("got %s, want %s: %v", got, tt.want, err)
			}
		})
	}
}
