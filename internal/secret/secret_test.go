package secret_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/secret"
	"callgate/tool"
)

func vault(t *testing.T, content string, mode os.FileMode) (*secret.Vault, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secrets.json")
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return secret.OpenWith(path, nil)
}

func TestEnvironmentIsLearned(t *testing.T) {
	t.Setenv("MY_API_KEY", "key-from-the-environment")
	t.Setenv("PLAIN_NAME", "value-resolved-later")
	v, err := secret.OpenWith("", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := v.ScrubString("key-from-the-environment"); got != "[secret MY_API_KEY]" {
		t.Errorf("a variable named like a key is not scrubbed: %q", got)
	}
	values, err := v.Values([]string{"PLAIN_NAME"})
	if err != nil || values["PLAIN_NAME"] != "value-resolved-later" {
		t.Fatalf("Values = %v, %v", values, err)
	}
	if got := v.ScrubString("x value-resolved-later y"); got != "x [secret PLAIN_NAME] y" {
		t.Errorf("a resolved value is not scrubbed: %q", got)
	}
	if _, err := v.Values([]string{"NO_SUCH_NAME_HERE"}); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("a missing secret gave %v", err)
	}
}

func TestFileIsRefused(t *testing.T) {
	const value = "very-secret-value"
	for name, c := range map[string]struct {
		content string
		mode    os.FileMode
		kind    tool.Kind
	}{
		"readable by others": {`{"A":"` + value + `"}`, 0o644, tool.Denied},
		"not json":           {`A=` + value, 0o600, tool.Invalid},
		"not text":           {`{"A":[1,"` + value + `"]}`, 0o600, tool.Invalid},
	} {
		_, err := vault(t, c.content, c.mode)
		if tool.KindOf(err) != c.kind {
			t.Errorf("%s: error %v, want kind %s", name, err, c.kind)
		}
		if err != nil && strings.Contains(err.Error(), value) {
			t.Errorf("%s: the error shows the value", name)
		}
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

func TestExpand(t *testing.T) {
	v, err := vault(t, `{"hub_token":"correct-horse-battery"}`, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ text, want, fails string }{
		{"plain", "plain", ""},
		{"Bearer {{secret.hub_token}}!", "Bearer correct-horse-battery!", ""},
		{"{{secret.hub_token}}{{secret.hub_token}}", "correct-horse-batterycorrect-horse-battery", ""},
		{"{{env.X}}", "{{env.X}}", ""},
		{"{{secret.other_thing}}", "", "other_thing"},
		{"{{secret.hub_token", "", "no closing"},
	}
	for _, test := range tests {
		got, err := v.Expand(test.text)
		if test.fails == "" && (err != nil || got != test.want) {
			t.Errorf("%q is %q, %v", test.text, got, err)
		}
		if test.fails != "" && (err == nil || !strings.Contains(err.Error(), test.fails) || got != "") {
			t.Errorf("%q gives %q, %v", test.text, got, err)
		}
	}
}
