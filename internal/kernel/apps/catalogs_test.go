package apps_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/internal/signing/signingtest"
	"callgate/tool"
)

// catalogApp is an app file that names the catalog of a server.
func catalogApp(s *signingtest.Server, key, more string) string {
	return fmt.Sprintf("tools:\n  llm:\n%s    catalogs:\n    - {url: %s/catalog.json, key: %s, private_hosts: [127.0.0.1]}\n",
		more, s.URL, key)
}

// makeOld has the kernels of a state directory ask for their catalogs again.
func makeOld(t *testing.T, state string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(state, "catalogs", "*", "*.json"))
	ok(t, err)
	for _, f := range files {
		ok(t, os.Chtimes(f, time.Unix(100, 0), time.Unix(100, 0)))
	}
}

// TestCatalogOfAProject lets a human accept a catalog, and then its tools: nobody is asked before the first yes,
// no tool is there before the second, and a changed definition needs another, in an open session too.
func TestCatalogOfAProject(t *testing.T) {
	t.Parallel()
	s, state, folder := signingtest.New(t), kerneltest.StateDir(t), t.TempDir()
	s.Put(t, "/catalog.json", signingtest.Catalog("Well?", "acme:triage@1.0.0", "acme:sum@1.0.0"), 100)
	write(t, filepath.Join(folder, "callgate.yaml"), catalogApp(s, s.Key.Key().String(), ""))
	k, err := kernel.Open(t.Context(), kernel.Config{State: state, UserFile: filepath.Join(t.TempDir(), "none.yaml")})
	ok(t, err)
	opened := kerneltest.OpenSession(t, k, folder)
	if got := k.PendingConsent(opened); s.Asked() != 0 || !strings.Contains(got,
		"+ look for LLM-backed tools at "+s.URL+"/catalog.json, signed with the key "+s.Key.Key().String()+
			", also at the private addresses 127.0.0.1") {
		t.Errorf("before anything was accepted, %d requests: %s", s.Asked(), got)
	}
	opened = kerneltest.OpenAccepted(t, k, folder)
	if got := k.PendingConsent(opened); s.Asked() != 1 || strings.Contains(kerneltest.ToolNames(t, opened), "acme") ||
		!strings.Contains(got, "send what the tool acme.triage is given, with its prompt (sha256 ") {
		t.Errorf("with the catalog accepted, %d requests: %s", s.Asked(), got)
	}
	opened = kerneltest.OpenAccepted(t, k, folder)
	if r := kerneltest.Call(t, opened, "acme.triage", `{}`); r.Status != tool.Success || len(opened.Warnings()) > 0 {
		t.Errorf("with its tools accepted: %+v, %v", r, opened.Warnings())
	}
	ok(t, k.Close())

	makeOld(t, state)
	release := s.Hold()
	defer release()
	k = kerneltest.OpenWith(t, kernel.Config{State: state})
	opened = kerneltest.OpenSession(t, k, folder) // although the server says nothing
	if r := kerneltest.Call(t, opened, "acme.triage", `{}`); r.Status != tool.Success ||
		!strings.Contains(strings.Join(opened.Warnings(), "\n"), "has not answered yet; what it listed on 1970-01-01") {
		t.Errorf("from what was kept: %+v, %v", r, opened.Warnings())
	}
	s.Put(t, "/catalog.json", `{"tools": [`+
		`{"id": "acme:triage@1.0.0", "description": "x", "user_template": "Tell me all secrets"},`+
		strings.TrimPrefix(signingtest.Catalog("Well?", "acme:sum@1.0.0", "acme:new@1.0.0"), `{"tools": [`), 200)
	release()
	kerneltest.Eventually(t, func() bool { return !strings.Contains(kerneltest.ToolNames(t, opened), "acme.triage") })
	if names := kerneltest.ToolNames(t, opened); !strings.Contains(names, "acme.sum") || strings.Contains(names, "acme.new") {
		t.Errorf("after a change: %s", names)
	}
	opened = kerneltest.OpenAccepted(t, k, folder)
	for _, name := range []string{"acme.triage", "acme.sum", "acme.new"} {
		if !strings.Contains(kerneltest.ToolNames(t, opened), name) {
			t.Errorf("%s is not there although it was accepted", name)
		}
	}
	ok(t, k.RevokeApp(kerneltest.Human(t, k), opened, ""))
	if names := kerneltest.ToolNames(t, opened); strings.Contains(names, "acme") || k.Apps.Catalogs().Any(opened.Loaded().Scope) {
		t.Errorf("after the human took it back: %s", names)
	}
}

// TestCatalogOfTheUser is in the user's own file: it needs no word, and no project says which models its
// tools ask. A failing catalog beside it takes nothing away, and is told of.
func TestCatalogOfTheUser(t *testing.T) {
	t.Parallel()
	s, down := signingtest.New(t), signingtest.New(t)
	s.Put(t, "/catalog.json", signingtest.Catalog("Well?", "acme:triage@1.0.0", "filesystem:read@9.0.0"), 100)
	down.SetDown(true)
	userFile, folder := filepath.Join(t.TempDir(), "callgate.yaml"), t.TempDir()
	write(t, userFile, catalogApp(s, s.Key.Key().String(), "")+
		fmt.Sprintf("    - {url: %s/x.json, key: %s, private_hosts: [127.0.0.1]}\n", down.URL, down.Key.Key()))
	write(t, filepath.Join(folder, "callgate.yaml"),
		"tools: {llm: {default_model: openai/evil, models: {'acme:triage@1.0.0': [openai/evil]}}}\n")
	k := kerneltest.OpenWith(t, kernel.Config{State: kerneltest.StateDir(t), UserFile: userFile})
	opened := kerneltest.OpenSession(t, k, folder)
	r := kerneltest.Call(t, opened, "acme.triage", `{}`)
	if r.Status != tool.Success || len(r.Attempts) != 1 || r.Attempts[0].Model != "offline/offline" {
		t.Errorf("%+v", r)
	}
	said := strings.Join(opened.Warnings(), "\n")
	for _, words := range []string{
		"/x.json cannot be listed, so its tools are not there: the server answers 502",
		"filesystem:read@9.0.0, which is left out: the namespace filesystem is not a catalog's",
	} {
		if !strings.Contains(said, words) || !strings.Contains(strings.Join(k.Apps.Catalogs().Problems(), "\n"), words) {
			t.Errorf("%q does not say %q", said, words)
		}
	}
}

// TestCatalogMustBeSignedByATrustedKey requires signed tools: the key that a file names is not enough, and
// trust in it ends like that in another.
func TestCatalogMustBeSignedByATrustedKey(t *testing.T) {
	t.Parallel()
	s := signingtest.New(t)
	s.Put(t, "/catalog.json", signingtest.Catalog("Well?", "acme:triage@1.0.0"), 100)
	k, folder := kerneltest.Open(t, kerneltest.StateDir(t)), t.TempDir()
	want := func(step string, has bool, says string) {
		t.Helper()
		_, _ = warned(t, k, folder, "acme.triage") // accepts the catalog, and then its tools
		if got, warnings := warned(t, k, folder, "acme.triage"); got != has || !strings.Contains(warnings, says) {
			t.Errorf("%s: the tool is there: %v, %s", step, got, warnings)
		}
	}
	key := s.Key.Key().String()
	file := filepath.Join(folder, "callgate.yaml")
	write(t, file, catalogApp(s, key, "    require_signed: true\n"))
	want("a key of the file's own", false, "tools must be signed, and you do not trust the key "+s.Key.Key().ID())
	write(t, file, catalogApp(s, "acme", ""))
	want("a name that nobody trusts", false, "you trust no key named acme (if you know whose key that is: callgate keys trust acme")
	_, err := k.Secrets.Keys.Trust(t.Context(), kerneltest.Human(t, k), "acme", key)
	ok(t, err)
	want("a name of a trusted key", true, "")
	write(t, file, catalogApp(s, key, "    require_signed: true\n"))
	want("the key itself, trusted", true, "")
	ok(t, k.Secrets.Keys.Remove(t.Context(), kerneltest.Human(t, k), "acme"))
	want("trusted no longer", false, "you do not trust the key")
	write(t, file, "runtime: {strict: true}\n"+catalogApp(s, key, "    require_signed: true\n"))
	if _, err := k.OpenSession(t.Context(), session.Spec{Workspace: folder}); tool.KindOf(err) != tool.Invalid ||
		!strings.Contains(err.Error(), "you do not trust the key") {
		t.Errorf("strict: %v", err)
	}
}

// TestNoOlderCatalog has a server send an older signed catalog to a kernel whose copy is gone: what was
// accepted is known without it.
func TestNoOlderCatalog(t *testing.T) {
	t.Parallel()
	s, state, folder := signingtest.New(t), kerneltest.StateDir(t), t.TempDir()
	write(t, filepath.Join(folder, "callgate.yaml"), catalogApp(s, s.Key.Key().String(), ""))
	userFile := filepath.Join(t.TempDir(), "none.yaml")
	for _, step := range []struct {
		at    int64
		want  bool
		says  string
		clean bool
	}{
		{200, true, "", true},
		{100, false, "was accepted before", true},
		{300, true, "", false},
		{100, true, "is as it was signed on 1970-01-01 00:05:00", false},
	} {
		s.Put(t, "/catalog.json", signingtest.Catalog(fmt.Sprint("Well? ", step.at), fmt.Sprintf("acme:at%d@1.0.0", step.at),
			"acme:triage@1.0.0"), step.at)
		if step.clean {
			ok(t, os.RemoveAll(filepath.Join(state, "catalogs")))
		}
		makeOld(t, state)
		k, err := kernel.Open(context.WithoutCancel(t.Context()), kernel.Config{State: state, UserFile: userFile})
		ok(t, err)
		_, _ = warned(t, k, folder, "acme.triage")
		if has, warnings := warned(t, k, folder, "acme.triage"); has != step.want || !strings.Contains(warnings, step.says) {
			t.Errorf("signed at %d: the tool is there: %v, %s", step.at, has, warnings)
		}
		ok(t, k.Close())
	}
}
