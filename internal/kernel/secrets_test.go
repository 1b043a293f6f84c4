package kernel_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/journal/outputbus"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/internal/sandbox"
	"callgate/tool"
)

// planted are the secrets of these tests, one from each source that can be had
// in a test. The first two are in the store, one of them from a plain file of
// an earlier version.
var planted = map[string]string{
	"LEAK_SET":     `tr0ub4dor&3/"quoted"+more`,
	"LEAK_OLD":     "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
	"LEAK_ENV_KEY": "postgres://u:p%40ss@db/x?sslmode=require&a=b",
}

// traces are what must not be found of a value: itself, and the parts of its
// encodings that do not depend on what stands around it.
func traces(value string) map[string]string {
	quoted, _ := json.Marshal(value)
	twice, _ := json.Marshal(string(quoted))
	inner := func(text []byte) string { return strings.Trim(string(text), `\"`) }
	var u strings.Builder
	for _, c := range []byte(value) {
		fmt.Fprintf(&u, `\u%04x`, c)
	}
	all := map[string]string{
		"plain": value, "JSON": inner(quoted), "JSON in JSON": inner(twice), "escapes": u.String(),
		"URL": url.QueryEscape(value), "URL path": url.PathEscape(value),
		"hex": hex.EncodeToString([]byte(value)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(value))),
		"the middle of it": value[3 : len(value)-3],
	}
	for shift := range 3 {
		text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + value))
		all[fmt.Sprintf("base64, shifted by %d", shift)] = text[4 : len(text)-4]
	}
	return all
}

// clean reports every trace of a planted secret in something that was written
// or shown.
func clean(t *testing.T, where string, text []byte) {
	t.Helper()
	for name, value := range planted {
		for how, trace := range traces(value) {
			if i := bytes.Index(text, []byte(trace)); i >= 0 {
				t.Errorf("%s shows %s (%s): …%q…", where, name, how, text[max(0, i-60):min(len(text), i+len(trace)+20)])
			}
		}
	}
}

// cleanFiles looks into every file of a state directory but the store's own,
// which is encrypted, and so in it too.
func cleanFiles(t *testing.T, folder string) {
	t.Helper()
	seen := 0
	ok(t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Type()&fs.ModeSocket != 0 {
			return err
		}
		seen++
		clean(t, "the name of "+d.Name(), []byte(path))
		data, err := os.ReadFile(path)
		clean(t, strings.TrimPrefix(path, folder), data)
		return err
	}))
	if seen < 5 {
		t.Errorf("only %d files looked at", seen)
	}
}

// leak is a tool that is given the secrets and lets one out, in the way it is
// told.
func leak(name string, r tool.Runtime) *tool.Tool {
	for secret := range planted {
		r.Secrets = append(r.Secrets, secret)
	}
	slices.Sort(r.Secrets)
	id := tool.ID{Namespace: "leak", Name: name, Version: tool.Version{Major: 1}}
	return &tool.Tool{
		ID: id, Runtime: r,
		Spec: tool.Spec{Name: id.Dotted(), Description: "Lets secrets out.", Input: json.RawMessage(leakSchema)},
		Handler: tool.HandlerFunc(func(_ context.Context, call tool.Call, g tool.Grant) (*tool.Result, error) {
			var in struct{ How, Secret string }
			if err := json.Unmarshal(call.Args, &in); err != nil {
				return nil, err
			}
			if in.How == "" {
				return &tool.Result{Summary: "done", Data: call.Args}, nil
			}
			return leaks[in.How](g.Secrets[in.Secret], g)
		}),
	}
}

const leakSchema = `{"type":"object","properties":{"how":{"type":"string"},"secret":{"type":"string"},"path":{"type":"string"},"count":{"type":"integer"},"text":{"type":"string"}}}`

func data(v any) (*tool.Result, error) { return tool.OK("done", v) }

func content(text string) (*tool.Result, error) {
	return &tool.Result{Summary: "done", Content: []tool.Content{tool.Text(text)}}, nil
}

// leaks are the ways in which a tool could let a value out.
var leaks = map[string]func(value string, g tool.Grant) (*tool.Result, error){
	"data":        func(v string, _ tool.Grant) (*tool.Result, error) { return data(map[string]string{"found": v}) },
	"data, a key": func(v string, _ tool.Grant) (*tool.Result, error) { return data(map[string]int{v: 1}) },
	"data, JSON in JSON": func(v string, _ tool.Grant) (*tool.Result, error) {
		inner, _ := json.Marshal(map[string]string{"token": v})
		return data(map[string]string{"body": string(inner)})
	},
	"data, a header": func(v string, _ tool.Grant) (*tool.Result, error) {
		return data(
			map[string]any{
				"headers": map[string][]string{"Authorization": {"Bearer " + v}, "Basic": {base64.StdEncoding.EncodeToString([]byte("user:" + v))}},
			},
		)
	},
	"data, bytes": func(v string, _ tool.Grant) (*tool.Result, error) { return data(map[string][]byte{"raw": []byte(v)}) },
	"data, a URL": func(v string, _ tool.Grant) (*tool.Result, error) {
		return data("https://h/?key=" + url.QueryEscape(v))
	},
	"data, escapes": func(v string, _ tool.Grant) (*tool.Result, error) {
		return &tool.Result{Summary: "done", Data: json.RawMessage(`"` + traces(v)["escapes"] + `"`)}, nil
	},
	"text": func(v string, _ tool.Grant) (*tool.Result, error) { return content("the token is " + v + "\n") },
	"text, hex": func(v string, _ tool.Grant) (*tool.Result, error) {
		return content(hex.EncodeToString([]byte("x" + v)))
	},
	"text, base64": func(v string, _ tool.Grant) (*tool.Result, error) {
		return content(base64.StdEncoding.EncodeToString([]byte("xx" + v + "xx")))
	},
	"a large text": func(v string, _ tool.Grant) (*tool.Result, error) {
		return content(strings.Repeat("so it goes, "+v+"\n", 5000))
	},
	"large data": func(v string, _ tool.Grant) (*tool.Result, error) {
		return data(slices.Repeat([]string{v, "https://h/" + url.PathEscape(v)}, 5000))
	},
	"the summary": func(v string, _ tool.Grant) (*tool.Result, error) {
		return &tool.Result{Summary: "logged in with " + v}, nil
	},
	"a warning": func(v string, _ tool.Grant) (*tool.Result, error) {
		return &tool.Result{Summary: "done", Warnings: []string{"old key " + v}}, nil
	},
	"an error": func(v string, _ tool.Grant) (*tool.Result, error) { return nil, errors.New("401 for " + v) },
	"an error of ours": func(v string, _ tool.Grant) (*tool.Result, error) {
		return nil, &tool.Error{Op: "leak", Kind: tool.Failed, Message: "no to " + v, Hint: "not " + v, Err: errors.New("because of " + v)}
	},
	"an error's fields": func(v string, _ tool.Grant) (*tool.Result, error) {
		quoted, _ := json.Marshal(map[string]string{"key": v})
		return nil, &tool.Error{
			Op:      "leak",
			Kind:    tool.Invalid,
			Message: "no",
			Fields:  []tool.FieldError{{Path: "key", Want: "another", Got: v}},
			Similar: []string{v},
			Example: quoted,
			Schema:  quoted,
		}
	},
	"a panic": func(v string, _ tool.Grant) (*tool.Result, error) { panic("cannot use " + v) },
	"an image": func(v string, _ tool.Grant) (*tool.Result, error) {
		return &tool.Result{
			Summary: "done",
			Content: []tool.Content{tool.Image("image/svg+xml", []byte("<svg>"+v+"</svg>")), tool.Text(strings.Repeat("large\n", 20_000))},
		}, nil
	},
	"an address": func(v string, _ tool.Grant) (*tool.Result, error) {
		address := tool.Content{Type: "resource", URI: "https://h/?key=" + url.QueryEscape(v), Text: "a page"}
		return &tool.Result{Summary: "done", Content: []tool.Content{address}}, nil
	},
	"a MIME type": func(v string, _ tool.Grant) (*tool.Result, error) {
		return &tool.Result{Summary: "done", Content: []tool.Content{tool.Image("image/"+v, []byte("x"))}}, nil
	},
	"a cut": func(v string, _ tool.Grant) (*tool.Result, error) {
		cut := &tool.Cut{Unit: "rows", Last: 1, Next: "after=" + v, Advice: "or ask " + v}
		return &tool.Result{Summary: "done", Content: []tool.Content{tool.Text("one row")}, Cut: cut}, nil
	},
	"live": func(v string, g tool.Grant) (*tool.Result, error) {
		g.Output("stdout", []byte("the token is "+v+"\n"))
		return data(nil)
	},
	"live, in pieces": func(v string, g tool.Grant) (*tool.Result, error) {
		for _, text := range []string{v, base64.StdEncoding.EncodeToString([]byte(v)), url.QueryEscape(v), hex.EncodeToString([]byte(v))} {
			for i := range len(text) {
				g.Output("stdout", []byte(text[i:i+1]))
				g.Output("stderr", []byte(text[i:min(i+2, len(text))][:1]))
			}
		}
		return data(nil)
	},
}

// streams joins the pieces of each stream.
func streams(t *testing.T, heard []outputbus.Output) []byte {
	t.Helper()
	joined := map[string][]byte{}
	for _, out := range heard {
		if out.Lost > 0 {
			t.Errorf("%d bytes of live output were dropped", out.Lost)
		}
		joined[out.Call+out.Stream] = append(joined[out.Call+out.Stream], out.Text...)
	}
	return bytes.Join(slices.Collect(maps.Values(joined)), []byte("\n"))
}

// openLeaky opens a kernel that has the planted secrets.
func openLeaky(t *testing.T, state string, log *slog.Logger) *kernel.Kernel {
	t.Helper()
	old, _ := json.Marshal(map[string]string{"LEAK_OLD": planted["LEAK_OLD"]})
	ok(t, os.WriteFile(filepath.Join(state, "secrets.json"), old, 0o600))
	write := tool.Runtime{Risk: tool.Low, SideEffect: tool.Write, Effects: []tool.Effect{{Resource: "file:{path}", Mode: tool.X}}}
	k, err := kernel.Open(t.Context(), kernel.Config{State: state, Log: log, Tools: []*tool.Tool{
		leak("read", tool.Runtime{Risk: tool.Low, SideEffect: tool.Read}), leak("write", write),
	}})
	ok(t, err)
	t.Cleanup(func() { ok(t, k.Close()) }) // a test that has closed it gets the same answer
	ok(t, k.Secrets.Set(kerneltest.Human(t, k), "LEAK_SET", []byte(planted["LEAK_SET"])))
	return k
}

// Secrets are planted in every place where a tool could let them out, and none
// is found in what a model is given, in the journal, the artifacts, the log, or
// what is shown live.
func TestNoSecretGetsOut(t *testing.T) { kerneltest.OnEachStorage(t, testNoSecretGetsOut) }

func testNoSecretGetsOut(t *testing.T) {
	t.Parallel()
	state, workspace := t.TempDir(), t.TempDir()
	var log bytes.Buffer
	k := openLeaky(t, state, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	heard := k.Output.Subscribe(t.Context())
	s := kerneltest.OpenAccepted(t, k, workspace)
	tried := 0
	for how := range leaks {
		for secret := range planted {
			for _, name := range []string{"leak.read", "leak.write"} {
				tried++
				args, _ := json.Marshal(map[string]string{"how": how, "secret": secret})
				r := s.Call(t.Context(), session.CallRequest{Name: name, Args: args})
				told, err := json.Marshal(r)
				ok(t, err)
				clean(t, how+" of "+name, told)
				if !strings.Contains(how, "live") && !bytes.Contains(told, []byte("[secret LEAK_")) && r.ArtifactRef == "" && how != "an image" {
					t.Errorf("%s of %s let nothing out, so nothing was tried: %s", how, name, told)
				}
			}
		}
	}
	live := streams(t, heard.Take()) // what a call prints is published before the call returns
	clean(t, "live output", live)
	// Each of the two tools prints each secret once at a time, and 8 times in pieces.
	if n := bytes.Count(live, []byte("[secret LEAK_")); n != 2*(1+8)*len(planted) {
		t.Errorf("%d secrets were printed, want %d: %s", n, 2*(1+8)*len(planted), live)
	}
	ok(t, k.Close())
	clean(t, "the log", log.Bytes())
	cleanFiles(t, state)
	if tried < 60 {
		t.Errorf("only %d tries", tried)
	}
	t.Logf("%d tries", tried)
}

// Nor does one get out that a model or an app brings in itself: as an
// argument, a file's name, the name of a tool, a setup step.
func TestNoSecretIsKeptOfArguments(t *testing.T) {
	kerneltest.OnEachStorage(t, testNoSecretIsKeptOfArguments)
}

func testNoSecretIsKeptOfArguments(t *testing.T) {
	t.Parallel()
	state, workspace := t.TempDir(), t.TempDir()
	write(t, filepath.Join(workspace, "callgate.yaml"), leakyApp)
	var log bytes.Buffer
	k := openLeaky(t, state, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	s := kerneltest.OpenSession(t, k, workspace)
	kerneltest.AcceptApp(t, k, s)
	s = kerneltest.OpenSession(t, k, workspace)
	warned := strings.Join(s.Warnings(), "\n")
	if !strings.Contains(warned, "filesystem.write") {
		t.Errorf("the step that cannot work was not tried: %s", warned)
	}
	clean(t, "the session's warnings", []byte(warned))
	for secret, value := range planted {
		for how, args := range map[string]map[string]any{
			"an argument":                     {"text": value},
			"an argument, in an encoding":     {"text": base64.StdEncoding.EncodeToString([]byte("x" + value))},
			"a large argument":                {"text": strings.Repeat(value+"\n", 1000)},
			"an argument of a wrong type":     {"count": value},
			"an argument that does not exist": {value: 1, "tex": value},
			"an argument that is read anew":   {"text": []string{value}, "count": "7"},
			"a file's name":                   {"path": url.PathEscape(value) + ".txt", "text": "x"},
		} {
			for _, name := range []string{"leak.read", "leak.write"} {
				data, _ := json.Marshal(args)
				r := s.Call(t.Context(), session.CallRequest{Name: name, Args: data})
				told, err := json.Marshal(r)
				ok(t, err)
				clean(t, how+" of "+name+" ("+secret+")", told)
			}
		}
		told, _ := json.Marshal(s.Call(t.Context(), session.CallRequest{Name: "leak." + value, Args: nil}))
		clean(t, "a tool's name", told)
	}
	ok(t, k.Close())
	clean(t, "the log", log.Bytes())
	cleanFiles(t, state)
}

// leakyApp has secrets put into calls that the kernel makes itself: one that
// works, and one that cannot.
const leakyApp = `tools:
  modules:
    filesystem:
      setup:
        - action: write
          params: {path: login.txt, content: "{{secret.LEAK_SET}} and {{secret.LEAK_OLD}}"}
        - action: write
          params: {path: "{{secret.LEAK_OLD}}/x", content: 7, mode: "{{secret.LEAK_SET}}"}
  capabilities:
    default_policy: auto
`

// An executable is given exactly its own secrets, and what it prints of them,
// wherever, stays inside.
func TestNoSecretGetsOutOfExecutables(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("executables are confined on Linux only")
	}
	state, workspace := t.TempDir(), t.TempDir()
	write(
		t,
		filepath.Join(workspace, "callgate.yaml"),
		"runtime: {sandbox: relaxed}\ntools:\n  dirs: [tools]\n  capabilities:\n    default_policy: auto\n",
	)
	manifest := strings.Replace(kerneltest.GreetManifest, `"risk": "low"`, `"risk": "low", "secret_resources": ["LEAK_SET", "LEAK_OLD"]`, 1)
	for name, body := range map[string]string{
		"stdout": `printf '{"set":"%s"}' "$LEAK_OLD"`,
		"stderr": `printf 'set: %s\nold: %s\n' "$LEAK_SET" "$LEAK_OLD" >&2; echo '{}'`,
		"fails":  `printf 'cannot use %s nor %s' "$LEAK_SET" "$LEAK_OLD" >&2; exit 3`,
		"base64": `printf '"%s"' "$(printf 'u:%s' "$LEAK_SET" | base64)"`,
		"nojson": `echo "$LEAK_SET $LEAK_OLD"`,
		"others": `printf '{"env":"%s"}' "$LEAK_ENV_KEY"`,
		"envelope": `printf '{"status":"error","summary":"no","cut":{"unit":"rows","last":1,"next":"after=%s"},` +
			`"content":[{"type":"resource","uri":"x:%s","mime":"a/%s","text":"t"}],` +
			`"error":{"op":"%s","kind":"%s","message":"no"}}' \
			"$LEAK_SET" "$LEAK_SET" "$LEAK_OLD" "$LEAK_OLD" "$LEAK_SET"`,
	} {
		kerneltest.WriteExecutable(
			t,
			filepath.Join(workspace, "tools", "global"),
			name,
			strings.Replace(manifest, "team.greet", "team."+name, 1),
			body,
		)
	}
	var log bytes.Buffer
	k := openLeaky(t, state, slog.New(slog.NewTextHandler(&log, nil)))
	s := kerneltest.OpenAccepted(t, k, workspace)
	for _, name := range []string{"stdout", "stderr", "fails", "base64", "nojson", "others", "envelope"} {
		r := s.Call(t.Context(), session.CallRequest{Name: "team." + name, Args: json.RawMessage(`{"name":"x"}`)})
		told, err := json.Marshal(r)
		ok(t, err)
		clean(t, name, told)
		if name == "others" && string(r.Data) != `{"env":""}` {
			t.Errorf("it was given another's secret: %s", told)
		}
		if name != "others" && !bytes.Contains(told, []byte("[secret LEAK_")) {
			t.Errorf("%s let nothing out, so nothing was tried: %s", name, told)
		}
	}
	ok(t, k.Close())
	clean(t, "the log", log.Bytes())
	cleanFiles(t, state)
}

// What runs in the sandbox reads neither the store nor its key, whatever it is
// called there.
func TestSandboxedToolsDoNotReachTheStore(t *testing.T) {
	t.Parallel()
	if sandbox.Probe().Level == sandbox.Process {
		t.Skip("this machine cannot confine a command")
	}
	state, workspace := t.TempDir(), t.TempDir()
	write(t, filepath.Join(workspace, "callgate.yaml"), freeHand)
	k := openLeaky(t, state, nil)
	s := kerneltest.OpenAccepted(t, k, workspace)
	for _, name := range []string{"secrets.box", "secrets.key", "secrets.lock"} {
		data, err := os.ReadFile(filepath.Join(state, name))
		ok(t, err)
		args, _ := json.Marshal(map[string]string{"command": fmt.Sprintf(
			`wc -c < %[1]s/%[2]s; base64 -w0 %[1]s/%[2]s; echo x > %[1]s/%[2]s; ln -s %[1]s/%[2]s link; cat link; ls %[1]s; echo tried`,
			state,
			name,
		)})
		r := s.Call(t.Context(), session.CallRequest{Name: "shell.bash", Args: args})
		told, _ := json.Marshal(r)
		if !bytes.Contains(told, []byte("tried")) {
			t.Fatalf("the command did not run: %s", told)
		}
		for _, content := range r.Content {
			if strings.Contains(content.Text, "\n"+name+"\n") ||
				len(data) > 0 && strings.Contains(content.Text, base64.StdEncoding.EncodeToString(data)) ||
				strings.Contains(content.Text, "[secret ") {
				t.Errorf("%s was reached: %s", name, content.Text)
			}
		}
		if now, err := os.ReadFile(filepath.Join(state, name)); err != nil || !bytes.Equal(now, data) {
			t.Errorf("%s was changed: %v", name, err)
		}
	}
}

// The store is a human's to change: without the key nobody sees or changes it,
// and each change is on record by its name.
func TestSecretsNeedTheHumansKey(t *testing.T) {
	t.Parallel()
	k := openLeaky(t, t.TempDir(), nil)
	for _, who := range []approval.Credential{{}, {Key: "guessed-key-guessed-key", PID: approval.Unknown}, {Key: kerneltest.Human(t, k).Key, PID: os.Getpid()}} {
		_, err := k.Secrets.List(t.Context(), who)
		for what, err := range map[string]error{
			"list": err, "set": k.Secrets.Set(who, "LEAK_SET", []byte("another value")), "delete": k.Secrets.Delete(who, "LEAK_SET"),
		} {
			if tool.KindOf(err) != tool.Denied {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	list, err := k.Secrets.List(t.Context(), kerneltest.Human(t, k))
	ok(t, err)
	told, _ := json.Marshal(list)
	clean(t, "the list", told)
	for _, want := range []string{`"name":"LEAK_SET","source":"store","set":`, `"name":"LEAK_OLD","source":"store"`, `{"name":"LEAK_ENV_KEY","source":"environment"}`} {
		if !bytes.Contains(told, []byte(want)) {
			t.Errorf("the list has no %s: %s", want, told)
		}
	}
	ok(t, k.Secrets.Delete(kerneltest.Human(t, k), "LEAK_OLD"))
	var notes []string
	records, err := k.Journal.Read(t.Context(), journal.Query{Kind: journal.Noted})
	ok(t, err)
	for _, r := range records {
		notes = append(notes, r.Note)
	}
	if got := strings.Join(notes, ", "); got != "ada set the secret LEAK_SET, ada deleted the secret LEAK_OLD" {
		t.Errorf("on record: %s", got)
	}
}

// A value that is set while the kernel runs is given to the next call.
func TestSecretSetLater(t *testing.T) { kerneltest.OnEachStorage(t, testSecretSetLater) }

func testSecretSetLater(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	k := openLeaky(t, state, nil)
	s := kerneltest.OpenSession(t, k, t.TempDir())
	ask := func() string {
		r := s.Call(t.Context(), session.CallRequest{Name: "leak.read", Args: json.RawMessage(`{"how":"text","secret":"LEAK_SET"}`)})
		told, _ := json.Marshal(r)
		return string(told)
	}
	ok(t, k.Secrets.Delete(kerneltest.Human(t, k), "LEAK_SET"))
	if got := ask(); !strings.Contains(got, "callgate secrets set LEAK_SET") {
		t.Errorf("without a value: %s", got)
	}
	ok(t, k.Secrets.Set(kerneltest.Human(t, k), "LEAK_SET", []byte("quite another value")))
	if got := ask(); !strings.Contains(got, "the token is [secret LEAK_SET]") {
		t.Errorf("with another value: %s", got)
	}
}
