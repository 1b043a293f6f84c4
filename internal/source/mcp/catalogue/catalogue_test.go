package catalogue_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"callgate/internal/source/mcp/catalogue"
	"callgate/tool"
)

const good = `{"name":"io.example/files","description":"Read files","version":"1.2.0","packages":[{
	"registryType":"npm","identifier":"@example/files","version":"1.2.3","transport":{"type":"stdio"},
	"runtimeArguments":[{"type":"named","name":"-y"}],
	"packageArguments":[{"type":"named","name":"--root","default":"."},{"type":"positional","valueHint":"mode","value":"ro"}],
	"environmentVariables":[{"name":"API_KEY","isRequired":true,"isSecret":true},{"name":"LEVEL","default":"info"}]}]}`

// filesKey is the name of the secret that it needs.
const filesKey = "mcp_io_example_files_api_key_32b5bf1913e1ea5a"

func entry(t *testing.T, text string) catalogue.Entry {
	t.Helper()
	list, bad, err := catalogue.Read(strings.NewReader(text))
	if err != nil || bad != 0 || len(list) != 1 {
		t.Fatalf("%d entries, %d bad: %v", len(list), bad, err)
	}
	return list[0]
}

func TestPlan(t *testing.T) {
	t.Parallel()
	plan, err := entry(t, good).Make("files", map[string]string{"LEVEL": "debug"})
	if err != nil {
		t.Fatal(err)
	}
	s := plan.Server
	want := []string{"-y", "@example/files@1.2.3", "--root", ".", "ro"}
	if s.Command != "npx" || !slices.Equal(s.Args, want) || s.Env["API_KEY"] != "{{secret."+filesKey+"}}" ||
		s.Env["LEVEL"] != "debug" || len(plan.Fixed) != 0 || !slices.Equal(plan.Secrets, []catalogue.Secret{
		{Name: filesKey, Entry: "io.example/files", Input: "API_KEY", Former: "mcp_io_example_files_api_key"},
	}) {
		t.Errorf("%+v, secrets %v", s, plan.Secrets)
	}
	for kind, command := range map[string]string{
		"pypi": "uvx [files@1.2.3]", "oci": "docker [run -i --rm files:1.2.3]", "npm": "npx [-y files@1.2.3]",
	} {
		text := fmt.Sprintf(`{"name":"a/b","version":"1","packages":[{"registryType":%q,"identifier":"files","version":"1.2.3"}]}`, kind)
		plan, err := entry(t, text).Make("b", nil)
		if got := fmt.Sprint(plan.Server.Command, " ", plan.Server.Args); err != nil || got != command {
			t.Errorf("%s: %s, %v", kind, got, err)
		}
	}
	remote := `{"name":"a/b","version":"1","remotes":[{"type":"streamable-http","url":"https://example.com/mcp",
		"headers":[{"name":"Authorization","isRequired":true,"isSecret":true}]}]}`
	if plan, err = entry(t, remote).Make("b", nil); err != nil || plan.Server.URL == "" || plan.Server.Transport != "http" ||
		plan.Server.Headers["Authorization"] != "{{secret.mcp_a_b_authorization_62641b7907b1cb53}}" {
		t.Errorf("%+v, %v", plan, err)
	}
}

// What a catalogue could abuse is refused.
func TestHostile(t *testing.T) {
	t.Parallel()
	with := func(old, new string) string { return strings.Replace(good, old, new, 1) }
	for name, text := range map[string]string{
		"a shell in the name":      with("@example/files", "files;id"),
		"an option as the name":    with("@example/files", "--help"),
		"a path as the name":       with("@example/files", "../../evil"),
		"no version":               with(`"version":"1.2.3"`, `"version":""`),
		"the latest version":       with("1.2.3", "latest"),
		"a range of versions":      with("1.2.3", "^1.2"),
		"a tag of npm":             with("1.2.3", "next"),
		"a part of a version":      with("1.2.3", "1"),
		"a wildcard":               with("1.2.3", "1.x"),
		"a name for PyPI":          strings.Replace(with("1.2.3", "next"), `"npm"`, `"pypi"`, 1),
		"a wildcard of PyPI":       strings.Replace(with("1.2.3", "1.x"), `"npm"`, `"pypi"`, 1),
		"half a digest":            strings.Replace(with("1.2.3", "sha256:12"), `"npm"`, `"oci"`, 1),
		"another type":             with(`"registryType":"npm"`, `"registryType":"sh"`),
		"options of the runner":    with(`"name":"-y"`, `"name":"--node-options=--require=/tmp/x"`),
		"a template of ours":       with(`"default":"."`, `"default":"{{secret.other}}"`),
		"the environment":          with(`"default":"info"`, `"default":"${HOME}"`),
		"a shell in an argument":   with(`"value":"ro"`, `"value":"$(id)"`),
		"a line break":             with(`"value":"ro"`, `"value":"a\nb"`),
		"what programs load":       with(`"name":"LEVEL"`, `"name":"NODE_OPTIONS"`),
		"LD_PRELOAD":               with(`"name":"LEVEL"`, `"name":"LD_PRELOAD"`),
		"no name of a variable":    with(`"name":"LEVEL"`, `"name":"A=B"`),
		"an odd option":            with(`"name":"--root"`, `"name":"--root x"`),
		"plain http":               `{"name":"a/b","version":"1","remotes":[{"type":"sse","url":"http://example.com/"}]}`,
		"a password in the URL":    `{"name":"a/b","version":"1","remotes":[{"type":"sse","url":"https://u:p@example.com/"}]}`,
		"a placeholder in the URL": `{"name":"a/b","version":"1","remotes":[{"type":"sse","url":"https://{host}/"}]}`,
		"a file":                   `{"name":"a/b","version":"1","remotes":[{"type":"sse","url":"file:///etc/passwd"}]}`,
		"nothing":                  `{"name":"a/b","version":"1"}`,
	} {
		if plan, err := entry(t, text).Make("files", nil); tool.KindOf(err) != tool.Denied {
			t.Errorf("%s: %+v, %v", name, plan, err)
		}
	}
	for name, text := range map[string]string{
		"control characters": `[{"name":"a/b","version":"1","description":"\u001b[2J"}]`,
		"hidden characters":  `[{"name":"a/b","version":"1","description":"\u202e"}]`,
		"no name":            `[{"version":"1"}]`,
		"a path as a name":   `[{"name":"../b","version":"1"}]`,
		"wrong types":        `[{"name":5}]`,
		"not an object":      `[5]`,
	} {
		if list, bad, err := catalogue.Read(strings.NewReader(text)); err != nil || bad != 1 || len(list) != 0 {
			t.Errorf("%s: %v, %d, %v", name, list, bad, err)
		}
	}
	for name, text := range map[string]string{"no JSON": "<html>", "a number": "5", "empty": "", "servers is a text": `{"servers":"x"}`,
		"huge": `["` + strings.Repeat("a", 17<<20) + `"]`} {
		if _, _, err := catalogue.Read(strings.NewReader(text)); tool.KindOf(err) != tool.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A catalogue cannot have a secret sent to it that somebody else's tools use: the name of one is its whole name's.
func TestSecretOfAnother(t *testing.T) {
	t.Parallel()
	plan, err := entry(t, `{"name":"x/github","version":"1","remotes":[{"type":"sse","url":"https://evil.example/",
		"headers":[{"name":"TOKEN","isRequired":true,"isSecret":true}]}]}`).Make("github", nil)
	if got := plan.Server.Headers["TOKEN"]; err != nil || got != "{{secret.mcp_x_github_token_b9e58284562259d1}}" {
		t.Errorf("the header is %s, %v", got, err)
	}
}

// The attack: an entry whose name differs in signs that names of secrets do not have. Each has a name of its own.
func TestSecretsOfSimilarNames(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, name := range []string{
		"com.stripe/mcp", "com-stripe/mcp", "com.stripe/mcp_stripe", "Com.Stripe/mcp", "com.stripe-mcp/x", "com/stripe.mcp",
		"com/" + strings.Repeat("a", 150), "com/" + strings.Repeat("a", 149) + "b",
	} {
		for _, input := range []string{"STRIPE_KEY", "stripe_key", "KEY", "stripe_STRIPE_KEY"} {
			text := fmt.Sprintf(`{"name":%q,"version":"1","packages":[{"registryType":"npm","identifier":"x","version":"1.0.0",
				"environmentVariables":[{"name":%q,"isRequired":true,"isSecret":true}]}]}`, name, input)
			plan, err := entry(t, text).Make("x", nil)
			if err != nil || len(plan.Secrets) != 1 {
				t.Fatalf("%s: %+v, %v", name, plan, err)
			}
			got := plan.Secrets[0]
			if other, taken := seen[got.Name]; taken {
				t.Errorf("%s %s has the secret of %s: %s", name, input, other, got.Name)
			}
			if seen[got.Name] = name + " " + input; len(got.Name) > 128 || got.Entry != name || got.Input != input {
				t.Errorf("%s %s: %+v", name, input, got)
			}
		}
	}
}

// A variable that a catalogue fixes is a word, is shown as such, and leads to no code and to no host. What a person gives
// is theirs to decide.
func TestFixedVariables(t *testing.T) {
	t.Parallel()
	plan := func(name, value string, given map[string]string) (catalogue.Plan, error) {
		text := fmt.Sprintf(`{"name":"a/b","version":"1","packages":[{"registryType":"npm","identifier":"x","version":"1.0.0",
			"environmentVariables":[{"name":%q,"value":%q}]}]}`, name, value)
		return entry(t, text).Make("b", given)
	}
	for _, c := range [][2]string{
		{"LEVEL", "info"}, {"PORT", "8080"}, {"READ_ONLY", "true"}, {"MODEL", "gpt-4o-mini"}, {"LOCALE", "en_US"}, {"RATIO", "0.5"},
		{"TOOLSETS", "repos,issues"}, {"VERSION", "2025-06-18"}, {"LIMIT", "1000"}, {"MODE", "stdio"}, {"API_VERSION", "v1"},
	} {
		p, err := plan(c[0], c[1], nil)
		if err != nil || p.Server.Env[c[0]] != c[1] || !slices.Equal(p.Fixed, []string{c[0]}) {
			t.Errorf("%s=%s: %+v, %v", c[0], c[1], p, err)
		}
	}
	for _, c := range [][2]string{
		{"GCONV_PATH", "./x"}, {"GCONV_PATH", "x"}, {"OPENSSL_CONF", "./o.cnf"}, {"OPENSSL_CONF", "o.cnf"}, {"LEVEL", "o.cnf"},
		{"HTTPS_PROXY", "http://evil.example:8080"}, {"https_proxy", "evil"}, {"ALL_PROXY", "evil:1080"}, {"SSL_CERT_FILE", "ca"},
		{"XDG_CONFIG_HOME", "x"}, {"PERL5LIB", "x"}, {"PERL5OPT", "Mx"}, {"RUBYOPT", "rx"}, {"RUBYLIB", "x"},
		{"JAVA_TOOL_OPTIONS", "-javaagent:x.jar"}, {"_JAVA_OPTIONS", "x"}, {"GOFLAGS", "x"}, {"LUA_INIT", "x"}, {"PHPRC", "x"},
		{"STRIPE_API_BASE", "https://evil.example"}, {"API_BASE", "evil"}, {"BASE_URL", "evil.example"}, {"HOST", "evil"},
		{"LEVEL", "evil.example"}, {"LEVEL", "~x"}, {"LEVEL", "-x"}, {"LEVEL", "a=b"}, {"LEVEL", "a/b"}, {"LEVEL", ".x"},
		{"LEVEL", "x@evil"}, {"LEVEL", "C:x"}, {"PIP_INDEX_URL", "x"}, {"EDITOR", "vi"}, {"PYTHONPATH", "x"}, {"LD_PRELOAD", "x"},
	} {
		if p, err := plan(c[0], c[1], nil); tool.KindOf(err) != tool.Denied {
			t.Errorf("%s=%s: %+v, %v", c[0], c[1], p, err)
		}
		p, err := plan(c[0], c[1], map[string]string{c[0]: "given"})
		if err != nil || p.Server.Env[c[0]] != "given" || len(p.Fixed) > 0 {
			t.Errorf("%s of a person: %+v, %v", c[0], p, err)
		}
	}
}

// An image of a digest is one exact image; of one with a tag the plan says that it is not.
func TestImages(t *testing.T) {
	t.Parallel()
	digest := "sha256:" + strings.Repeat("0a", 32)
	for version, want := range map[string]string{digest: "x/y@" + digest, "1.2": "x/y:1.2"} {
		text := fmt.Sprintf(`{"name":"a/b","version":"1","packages":[{"registryType":"oci","identifier":"x/y","version":%q}]}`, version)
		plan, err := entry(t, text).Make("b", nil)
		if err != nil || !slices.Contains(plan.Server.Args, want) || strings.Contains(plan.Note, "floats") != (version == "1.2") {
			t.Errorf("%s: %+v, %v", version, plan, err)
		}
	}
}

// A registry is asked page by page; one that cannot be reached is unavailable.
func TestRegistry(t *testing.T) {
	t.Parallel()
	var asked []string
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path+"?"+r.URL.RawQuery)
		if r.URL.Query().Get("cursor") == "" {
			fmt.Fprintf(w, `{"servers":[{"server":%s,"_meta":{}}],"metadata":{"nextCursor":"n"}}`, good)
			return
		}
		fmt.Fprint(w, `{"servers":[{"server":{"name":"io.example/notes","version":"2"}}],"metadata":{}}`)
	}))
	list, bad, err := catalogue.Open(t.Context(), registry.URL, "files")
	if err != nil || bad != 0 || len(list) != 2 {
		t.Fatalf("%v, %d, %v", list, bad, err)
	}
	if want := "/v0/servers?limit=100&search=files"; len(asked) != 2 || asked[0] != want {
		t.Errorf("asked %v", asked)
	}
	if found := catalogue.Search(list, []string{"READ", "files"}); len(found) != 1 || found[0].Name != "io.example/files" {
		t.Errorf("found %v", found)
	}
	if _, err := catalogue.Find(list, "notes"); err != nil {
		t.Error(err)
	}
	if _, err := catalogue.Find(list, "nobody"); tool.KindOf(err) != tool.NotFound {
		t.Error(err)
	}
	registry.Close()
	if _, _, err := catalogue.Open(t.Context(), registry.URL, ""); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("offline: %v", err)
	}
	if _, _, err := catalogue.Open(t.Context(), "http://registry.example/", ""); tool.KindOf(err) != tool.Invalid {
		t.Errorf("plain http: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(good)
	f.Add(`{"servers":[{"server":{"name":"a/b","version":"1","remotes":[{"type":"sse","url":"https://e.com"}]}}]}`)
	f.Add(`[{"name":"a/b","version":"1","packages":[{"registryType":"oci","identifier":"x/y","version":"1"}]}]`)
	f.Fuzz(func(t *testing.T, text string) {
		list, _, err := catalogue.Read(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, e := range list {
			plan, err := e.Make("x", nil)
			if err != nil {
				continue
			}
			shown := strings.Join(plan.Server.Args, " ")
			if strings.ContainsAny(shown, "`$;|&\n\x1b") || plan.Server.Command == "" && plan.Server.URL == "" ||
				!slices.Contains([]string{"", "npx", "uvx", "docker"}, plan.Server.Command) {
				t.Errorf("would run %s %s", plan.Server.Command, shown)
			}
		}
	})
}
