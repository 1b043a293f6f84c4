//go:build unix

package executable_test

import (
	"encoding/json"
	"os/exec"
	"testing"

	"callgate/internal/source/executable"
	"callgate/tool"
)

// BenchmarkExec is what an executable tool costs over a plain start of the
// same program.
func BenchmarkExec(b *testing.B) {
	b.Run("plain", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := exec.Command("/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, c := range []struct {
		name string
		opt  executable.Options
	}{
		{"unconfined", executable.Options{Unconfined: true}},
		{"sandbox", executable.Options{}},
	} {
		b.Run(c.name, func(b *testing.B) {
			c.opt.Dir = files{"x.json": manifest("test.tool", `"exec_path": "/bin/true"`)}.write(b, b.TempDir())
			c.opt.Absolute = true
			tools, problems, err := load(b, c.opt)
			if err != nil || len(problems) > 0 {
				b.Fatal(err, problems)
			}
			x, call, grant := tools["test.tool"], tool.Call{ID: "c", Args: json.RawMessage(`{}`)}, tool.Grant{Workspace: b.TempDir()}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := x.Handler.Execute(b.Context(), call, grant); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
