package redact_test

import (
	"strings"
	"testing"

	"callgate/internal/module/memory/redact"
)

// part joins pieces, so that no text here looks like a secret to a scanner.
func part(pieces ...string) string { return strings.Join(pieces, "") }

var letters = "aB3dE5gH7jK9mN1pQ2sT4vW6yZ8aB3dE5gH7jK9m"

func TestText(t *testing.T) {
	for name, c := range map[string]struct{ text, secret string }{
		"openai":              {"use %s from now on", part("sk-", "proj-", letters)},
		"anthropic":           {"key (%s)", part("sk-", "ant-api03-", letters)},
		"github":              {"%s", part("ghp", "_", letters[:36])},
		"github fine-grained": {"with %s.", part("github", "_pat_", letters)},
		"gitlab":              {"%s", part("glpat", "-", letters[:20])},
		"aws":                 {"id %s", part("AKIA", "ABCDEFGHIJ234567")},
		"google":              {"%s", part("AI", "za", letters[:35])},
		"slack":               {"%s", part("xoxb", "-123456789012-", letters[:24])},
		"stripe":              {"%s", part("sk", "_live_", letters[:24])},
		"jwt":                 {"cookie is %s", part("ey", "JhbGciOiJIUzI1NiJ9", ".", "eyJzdWIiOiIxMjM0In0", ".", letters[:30])},
		"pem": {
			"the key:\n%s\nthat was it",
			part("-----BEGIN RSA ", "PRIVATE KEY-----\n", letters, "\n-----END RSA ", "PRIVATE KEY-----"),
		},
		"pem without its end": {"%s", part("-----BEGIN ", "PRIVATE KEY-----\n", letters)},
		"url":                 {"postgres://app:%s@db:5432/x", "s3cr3t"},
		"url with an at sign": {"postgres://app:%s@db/x", "p@ss!"},
		"bearer":              {"curl -H 'Authorization: Bearer %s' x", letters[:24]},
		"basic":               {"Authorization: Basic %s", "dXNlcjpwYXNz"},
		"bearer in prose":     {"send bearer %s along", letters[:24]},
		"assigned":            {"DB_PASSWORD=%s", "hunter2"},
		"yaml":                {"password: %s", "swordfish"},
		"json":                {`{"user":"ada","password":"%s"}`, "a b c"},
		"json, escaped quote": {`{"password": "%s"}`, `pa\"ss`},
		"json in json":        {`{"body":"{\"api_key\": \"%s\"}"}`, "abcdef123"},
		"single quotes":       {"secret = '%s'", "let me in"},
		"prose":               {"The admin password is %s", "Tr0ub4dor&3"},
		"prose, a word":       {"the password is %s.", "swordfish"},
		"french":              {"le mot de passe est %s", "soleil42"},
		"german":              {"Passwort: %s", "geheim99"},
		"flag":                {"mysql --password %s", "hunter2"},
		"query":               {"https://x.test/y?sig=%s&a=1", "abcdef0123"},
		"arrow":               {"'api_key' => '%s'", "abcdef0123"},
		"cookie":              {"Cookie: %s", "session=abcdef; other=12"},
		"aws secret":          {"aws_secret_access_key = %s", letters},
		"camel case":          {`clientSecret: "%s"`, "abc-def"},
	} {
		text := strings.Replace(c.text, "%s", c.secret, 1)
		got, n := new(redact.Redactor).Text(text)
		if strings.Contains(got, c.secret) || !strings.Contains(got, redact.Mark) || n == 0 {
			t.Errorf("%s: %q became %q (%d)", name, text, got, n)
		}
		if again, more := new(redact.Redactor).Text(got); again != got || more != 0 {
			t.Errorf("%s: a second time made %q of %q", name, again, got)
		}
	}
}

func TestTextStays(t *testing.T) {
	for _, text := range []string{
		"",
		"the tests run with make test",
		"the password is required",
		"the token is in the vault",
		"password: ${DB_PASSWORD}",
		"api_key: {{secret.API_KEY}}",
		"PASSWORD=$PASSWORD",
		"max_tokens: 4096",
		"the secret is kept in /run/secrets/db",
		"PWD=/home/ada/project",
		"risk-management-of-long-projects is the folder",
		"basic authentication is used there",
		"primary_key: id",
		"passwords are hashed with argon2",
		"git commit 3f786850e387550fdab836ed7e6dc881de23001b",
		"https://example.com:8080/path?page=2",
		"the token was rotated yesterday",
		"[secret OPENAI_API_KEY] is used",
		"password=[secret DB_PASSWORD]",
	} {
		if got, n := new(redact.Redactor).Text(text); got != text || n != 0 {
			t.Errorf("%q became %q (%d)", text, got, n)
		}
	}
}

func TestExtra(t *testing.T) {
	r, err := redact.New([]string{`EMP-\d{4}`})
	if err != nil {
		t.Fatal(err)
	}
	if got, n := r.Text("ask EMP-1234 and EMP-9876"); got != "ask [redacted] and [redacted]" || n != 2 {
		t.Errorf("%q, %d", got, n)
	}
	for _, bad := range []string{"(", "x*"} {
		if _, err := redact.New([]string{bad}); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("%q gave %v", bad, err)
		}
	}
}

func TestIsEmpty(t *testing.T) {
	for text, want := range map[string]bool{
		redact.Mark: true, " [redacted], [secret NAME]. ": true, "": true,
		"password: [redacted]": false, "x": false, "été [redacted]": false,
	} {
		if got := redact.IsEmpty(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("password: x", "a")
	f.Add(`{"api_key": "\"`, "token is [redacted]")
	f.Add("Authorization: Bearer "+letters, "cookie: ")
	f.Fuzz(func(t *testing.T, a, b string) {
		text := a + b
		once, n := new(redact.Redactor).Text(text)
		if n == 0 && once != text {
			t.Fatalf("%q became %q without a count", text, once)
		}
		if twice, _ := new(redact.Redactor).Text(once); twice != once {
			t.Fatalf("%q became %q, and that %q", text, once, twice)
		}
		if strings.Count(once, redact.Mark) < min(n, 1) {
			t.Fatalf("%q became %q, %d", text, once, n)
		}
	})
}

func BenchmarkText(b *testing.B) {
	text := strings.Repeat("The billing service reads its settings from config/app.yaml and listens on 8080. ", 5)
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		new(redact.Redactor).Text(text)
	}
}
