package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/app"
)

// A mistake beside a variable of the environment is shown without its value, also
// where the message cuts it short.
func TestErrorsTellNoValuesOfTheEnvironment(t *testing.T) {
	t.Parallel()
	secret := "wJalrXUtnFEMI-K7MDENG-bPxRfiCYEXAMPLEKEY"
	vars := app.Vars{Env: func(name string) (string, bool) { return secret, name == "AWS_SECRET_ACCESS_KEY" }}
	for name, text := range map[string]string{
		"a server's address": servers("files:", "  url: 'ftp://h/{{env.AWS_SECRET_ACCESS_KEY}}'"),
		"a long address":     servers("files:", "  url: 'ftp://"+strings.Repeat("h", 35)+"/{{env.AWS_SECRET_ACCESS_KEY}}'"),
		"a mode":             "runtime: {mode: '{{env.AWS_SECRET_ACCESS_KEY}}'}\n",
		"through a variable": "dev: {variables: {k: '{{env.AWS_SECRET_ACCESS_KEY}}'}}\nruntime: {mode: '{{k}}'}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "callgate.yaml")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := app.LoadWith(file, agentKnown, vars)
			if err == nil {
				t.Fatal("the file was accepted")
			}
			if strings.Contains(err.Error(), secret[:8]) || !strings.Contains(err.Error(), "env.AWS_SECRET_ACCESS_KEY") {
				t.Error(err)
			}
		})
	}
}
