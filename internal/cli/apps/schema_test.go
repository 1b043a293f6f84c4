package apps

import (
	"testing"

	"github.com/spf13/cobra"
)

func TestSchemaArgs(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		file bool
		args []string
		ok   bool
	}{
		{"a module", false, []string{"filesystem"}, true},
		{"app files", true, nil, true},
		{"neither", false, nil, false},
		{"two modules", false, []string{"filesystem", "shell"}, false},
		{"app files and a module", true, []string{"filesystem"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := &schema{file: tt.file}
			if err := s.args(&cobra.Command{Use: "schema"}, tt.args); (err == nil) != tt.ok {
				t.Errorf("got %v", err)
			}
		})
	}
}
