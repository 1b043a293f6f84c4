package secretref_test

import (
	"errors"
	"strings"
	"testing"

	"callgate/internal/source/mcp/secretref"
	"callgate/tool"
)

func TestReferences(t *testing.T) {
	t.Parallel()
	values := map[string]string{"TOKEN": "s3cr3t/va lue", "short": "ab", "longer": "s3cr3t/va lue and more", "zero": "a\x00b"}
	s := &secretref.Resolver{
		Lookup: func(name string) (string, error) {
			if v, ok := values[name]; ok {
				return v, nil
			}
			return "", tool.Errorf("test", tool.Unavailable, "the secret %s has no value", name)
		},
		Scrub: func(text string) string { return strings.ReplaceAll(text, "other", "[other]") },
	}
	for in, want := range map[string]string{
		"plain": "plain", "{{secret.TOKEN}}": "s3cr3t/va lue", "Bearer {{ secret.TOKEN }}!": "Bearer s3cr3t/va lue!",
		"{{secret.short}}{{secret.longer}}": "abs3cr3t/va lue and more", "{{env.X}} {secret.TOKEN}": "{{env.X}} {secret.TOKEN}",
	} {
		got, err := s.Resolve(in)
		if got != want || err != nil {
			t.Errorf("%q became %q, %v", in, got, err)
		}
		if secretref.HasReference(in) != strings.Contains(in, "{{secret.") && !strings.Contains(in, "{{ secret.") {
			t.Errorf("%q: a reference is %v", in, secretref.HasReference(in))
		}
	}
	for _, in := range []string{"{{secret.none}}", "x{{secret.zero}}"} {
		if got, err := s.Resolve(in); err == nil || got != "" || strings.Contains(err.Error(), "\x00") {
			t.Errorf("%q became %q, %v", in, got, err)
		}
	}
	for in, want := range map[string]string{
		"key s3cr3t/va lue here":        "key [secret TOKEN] here",
		"?k=s3cr3t%2Fva+lue":            "?k=[secret TOKEN]",
		"/s3cr3t%2Fva%20lue/":           "/[secret TOKEN]/",
		"s3cr3t/va lue and more":        "[secret longer]",
		"ab is too short to be taken":   "ab is too short to be taken",
		"what the kernel knows: other.": "what the kernel knows: [other].",
	} {
		if got := s.Redact(in); got != want {
			t.Errorf("%q became %q", in, got)
		}
	}
	cause := errors.New("dial s3cr3t/va lue")
	err := s.RedactError(&tool.Error{Op: "x", Kind: tool.Denied, Message: "no", Hint: "try s3cr3t/va lue", Err: cause})
	if tool.KindOf(err) != tool.Denied || err.Error() != "no: dial [secret TOKEN] (try [secret TOKEN])" || errors.Is(err, cause) {
		t.Errorf("the error is %v", err)
	}
	if s.RedactError(nil) != nil || tool.KindOf(s.RedactError(cause)) != tool.Unavailable {
		t.Error("other errors are not taken over")
	}
	if _, err := (&secretref.Resolver{}).Resolve("{{secret.x}}"); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("without a vault: %v", err)
	}
}
