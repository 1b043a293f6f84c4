package fileschema_test

import (
	"os"
	"path/filepath"
	"testing"

	"callgate/internal/app"
)

// Every example of an app file that the seeds give is read as it stands, and an editor finds
// nothing wrong with it.
func TestSeedExamples(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../testdata/seeds/*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatalf("%v, %q", err, files)
	}
	all := known(t)
	noEnv := func(string) (string, bool) { return "", false }
	schema := compiled(t, all)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := app.LoadWith(file, all, app.Vars{Env: noEnv}); err != nil {
				t.Error(err)
			}
			if err := validate(t, schema, text); err != nil {
				t.Error(err)
			}
		})
	}
}
