package kernel_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"callgate/internal/journal"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/node"
	"callgate/internal/kernel/secrets"
	"callgate/internal/secret"
	"callgate/internal/secret/scope"
	"callgate/internal/statedir"
	"callgate/internal/storage/moving"
	"callgate/tool"
)

// secretTools are tools that say which value they were given: by its beginning, since the rest is masked.
func secretTools(t *testing.T) []*tool.Tool {
	t.Helper()
	var all []*tool.Tool
	for name, ref := range map[string]scope.Ref{
		"own": {Scope: scope.PerUser, Name: "hub"}, "shared": {Scope: scope.PerAppShared, App: "shop", Name: "hub"},
		"wide": {Scope: scope.SystemWide, Name: "hub"}, "shop": {Scope: scope.PerAppPerUser, App: "shop", Name: "hub"},
		"mail": {Scope: scope.PerAppPerUser, App: "mail", Name: "hub"},
	} {
		made, err := tool.Func("demo."+name, "A tool of the test.", tool.Runtime{SideEffect: tool.None},
			func(context.Context, struct{}) (any, error) { return nil, nil })
		ok(t, err)
		made.Runtime.Secrets = []string{ref.String()}
		made.Handler = tool.HandlerFunc(func(_ context.Context, _ tool.Call, g tool.Grant) (*tool.Result, error) {
			value := g.Secrets[ref.String()]
			sum := sha256.Sum256([]byte(value))
			return &tool.Result{Status: tool.Success, Summary: "given " + hex.EncodeToString(sum[:8]) + " " + value}, nil
		})
		all = append(all, made)
	}
	return all
}

func setSecret(t *testing.T, k *kernel.Kernel, of, app, name, value string) error {
	t.Helper()
	ref, err := scope.New("", app, of, name)
	ok(t, err)
	return k.Secrets.SetScoped(t.Context(), kerneltest.Human(t, k), secrets.Scoped{Ref: ref, User: of}, []byte(value))
}

// given holds that a user's call is given a value, masked in its result; "": that it is refused.
func given(t *testing.T, k *kernel.Kernel, who, name, value string) {
	t.Helper()
	r := kerneltest.Call(t, sessionOf(t, k, who, t.TempDir()), "demo."+name, "{}")
	if value == "" {
		if tool.KindOf(r.Err()) != tool.Unavailable || !strings.Contains(r.Err().Error(), "hub") {
			t.Errorf("%s of %q: %s, %v", name, who, r.Summary, r.Err())
		}
		return
	}
	sum := sha256.Sum256([]byte(value))
	if !strings.Contains(r.Summary, hex.EncodeToString(sum[:8])) || strings.Contains(r.Summary, value) {
		t.Errorf("%s of %q: %q, %v; want the one of %s, masked", name, who, r.Summary, r.Err(), value)
	}
}

const (
	kernelValue = "kernel-6f1d0c55aa"
	sharedValue = "shared-77c1d2e4bb"
	adaValue    = "ada-own-91b7e6d0cc"
	adaShop     = "ada-shop-1f2e3d4cdd"
	benMail     = "ben-mail-5a6b7c8dee"
)

// Each user is given their own, in the scope that is named; nobody is given another's, or the kernel's.
func TestSecretsInFourScopes(t *testing.T) {
	state := kerneltest.StateDir(t)
	k := kerneltest.Open(t, state, secretTools(t)...)
	if kernel.NodeOf(k).IsShared() {
		write(t, filepath.Join(state, "user-secrets.key"), strings.Repeat("7", 64)+"\n")
	}
	ok(t, setSecret(t, k, "", "", "hub", kernelValue))
	for _, who := range []string{"ada", "ben"} {
		for _, name := range []string{"own", "shop", "mail", "shared"} {
			given(t, k, who, name, "")
		}
		given(t, k, who, "wide", kernelValue)
	}
	ok(t, setSecret(t, k, "", "shop", "hub", sharedValue))
	ok(t, setSecret(t, k, "ada", "", "hub", adaValue))
	ok(t, setSecret(t, k, "ada", "shop", "hub", adaShop))
	ok(t, setSecret(t, k, "ben", "mail", "hub", benMail))
	holds := func(k *kernel.Kernel) {
		t.Helper()
		for name, values := range map[string][3]string{ // of ada, of ben, of the kernel's own user
			"own": {adaValue, "", kernelValue}, "shop": {adaShop, "", sharedValue}, "mail": {"", benMail, ""},
			"shared": {sharedValue, sharedValue, sharedValue}, "wide": {kernelValue, kernelValue, kernelValue},
		} {
			for i, who := range []string{"ada", "ben"} {
				given(t, k, who, name, values[i])
			}
			if values[2] != "" {
				given(t, k, "", name, values[2])
			}
		}
	}
	holds(k)
	found, err := k.Secrets.ListOf(t.Context(), "ada")
	ok(t, err)
	if len(found) != 2 || found[0].User != "ada" || found[1].Scope != scope.PerAppPerUser {
		t.Errorf("listed %+v", found)
	}
	records, err := k.Journal.Read(t.Context(), journal.Query{})
	ok(t, err)
	var notes []string
	for _, r := range records {
		notes = append(notes, r.Note)
	}
	all := strings.Join(notes, "\n")
	if !strings.Contains(all, "set the secret hub of the user ada, for the app shop") || strings.Contains(all, adaShop) {
		t.Errorf("on record: %s", all)
	}
	ok(t, k.Close())
	k = kerneltest.Open(t, state, secretTools(t)...)
	holds(k)
	ok(t, k.Secrets.DeleteScoped(t.Context(), kerneltest.Human(t, k), secrets.Scoped{
		Ref: scope.Ref{Scope: scope.PerUser, Name: "hub"}, User: "ada",
	}))
	given(t, k, "ada", "own", "")
	given(t, k, "ada", "shop", adaShop)
}

// A user's secret that was set at one node is given, masked and removed at the other; without the key, or with
// another, the error says so.
func TestSecretsOfUsersAtTwoNodes(t *testing.T) {
	noKey := func(url string) (*kernel.Kernel, error) {
		return kernel.Open(t.Context(), kernel.Config{
			State: t.TempDir(), Storage: url, UserFile: filepath.Join(t.TempDir(), "none.yaml"),
		})
	}
	lonely, err := noKey(kerneltest.Postgres.URL(t))
	ok(t, err)
	t.Cleanup(func() { ok(t, lonely.Close()) })
	if err := setSecret(t, lonely, "ada", "", "hub", adaValue); tool.KindOf(err) != tool.Unavailable ||
		!strings.Contains(err.Error(), "user-secrets.key") {
		t.Errorf("without a key: %v", err)
	}
	url := kerneltest.Postgres.URL(t)
	a := openNode(t, url, node.Timing{}, secretTools(t)...)
	if _, err := noKey(url); tool.KindOf(err) != tool.Denied || !strings.Contains(err.Error(), "user-secrets.key") {
		t.Errorf("another node without a key: %v", err)
	}
	place := func(k *kernel.Kernel, digit string) {
		t.Helper()
		write(t, filepath.Join(k.State().String(), "user-secrets.key"), strings.Repeat(digit, 64)+"\n")
	}
	place(a, "a")
	ok(t, setSecret(t, a, "ada", "", "hub", adaValue))
	given(t, a, "ada", "own", adaValue)

	b := openNode(t, url, node.Timing{}, secretTools(t)...)
	r := kerneltest.Call(t, sessionOf(t, b, "ada", t.TempDir()), "demo.own", "{}")
	if tool.KindOf(r.Err()) != tool.Invalid || !strings.Contains(r.Err().Error(), "give this node the keys that the others have") {
		t.Errorf("at a node where it was not placed yet: %v", r.Err())
	}
	other := openNode(t, url, node.Timing{}, secretTools(t)...)
	place(other, "b")
	r = kerneltest.Call(t, sessionOf(t, other, "ada", t.TempDir()), "demo.own", "{}")
	if tool.KindOf(r.Err()) != tool.Invalid || !strings.Contains(r.Err().Error(), "sealed with the key") {
		t.Errorf("at a node with another key: %v", r.Err())
	}
	if err := setSecret(t, other, "ben", "", "hub", benMail); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("set with another key: %v", err)
	}
	place(b, "a")
	given(t, b, "ben", "own", "")
	given(t, b, "ada", "own", adaValue)
	ok(t, setSecret(t, a, "ben", "shop", "hub", adaShop)) // at a; b masks it before anybody asks for it there
	until(t, "the other node to mask it", func() bool {
		return !strings.Contains(string(b.Secrets.Scrub([]byte(adaShop))), adaShop)
	})
	given(t, b, "ada", "shop", "")
	given(t, b, "ben", "shop", adaShop)
	ok(t, b.Secrets.DeleteScoped(t.Context(), kerneltest.Human(t, b), secrets.Scoped{
		Ref: scope.Ref{Scope: scope.PerUser, Name: "hub"}, User: "ada",
	}))
	until(t, "the first node to give it no more", func() bool {
		r := kerneltest.Call(t, sessionOf(t, a, "ada", t.TempDir()), "demo.own", "{}")
		return tool.KindOf(r.Err()) == tool.Unavailable
	})
}

// The key that is placed is changed while both nodes run, first at one, then at the other: what users have is given all
// the while, is sealed with the new key at the end, and the old one may be removed.
func TestPlacedKeyIsChanged(t *testing.T) {
	url := kerneltest.Postgres.URL(t)
	place := func(k *kernel.Kernel, digits ...string) {
		t.Helper()
		var lines string
		for _, digit := range digits {
			lines += strings.Repeat(digit, 64) + "\n"
		}
		write(t, filepath.Join(k.State().String(), "user-secrets.key"), lines)
	}
	a, b := openNode(t, url, node.Timing{}, secretTools(t)...), openNode(t, url, node.Timing{}, secretTools(t)...)
	place(a, "a")
	place(b, "a")
	ok(t, setSecret(t, a, "ada", "", "hub", adaValue))
	ok(t, setSecret(t, a, "ada", "shop", "hub", adaShop))
	beside, err := pgx.Connect(t.Context(), url)
	ok(t, err)
	t.Cleanup(func() { _ = beside.Close(context.WithoutCancel(t.Context())) })
	sealedWith := func(digit string) int {
		id := secretKeyID(t, digit)
		rows, err := beside.Query(t.Context(), "SELECT data FROM callgate.documents")
		ok(t, err)
		all, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
		ok(t, err)
		with := 0
		for _, data := range all {
			var d struct{ Sealed []byte }
			if json.Unmarshal(data, &d) == nil && secret.PlacedID(d.Sealed) == id {
				with++
			}
		}
		return with
	}
	given(t, b, "ada", "own", adaValue)
	place(b, "a", "b")
	place(a, "b", "a")
	given(t, b, "ada", "shop", adaShop) // by whichever it is sealed with
	place(b, "b", "a")
	until(t, "all to be sealed with the new key", func() bool { return sealedWith("b") == 2 })
	place(a, "b")
	place(b, "b")
	ok(t, setSecret(t, b, "ben", "mail", "hub", benMail))
	given(t, a, "ada", "own", adaValue)
	given(t, a, "ben", "mail", benMail)
	c := openNode(t, url, node.Timing{}, secretTools(t)...)
	place(c, "a") // and the line that is needed is missing
	r := kerneltest.Call(t, sessionOf(t, c, "ada", t.TempDir()), "demo.shop", "{}")
	if tool.KindOf(r.Err()) != tool.Invalid || !strings.Contains(r.Err().Error(), secretKeyID(t, "b")) {
		t.Errorf("without the key's line: %v", r.Err())
	}
	place(c, "b")
	given(t, c, "ada", "shop", adaShop)
}

// What a kernel that was alone sealed for its users is sealed with the placed key once it shares a database, and given at
// another node.
func TestSecretsOfUsersMoveToADatabase(t *testing.T) {
	state := kerneltest.StateDir(t)
	k := kerneltest.Open(t, state, secretTools(t)...)
	ok(t, setSecret(t, k, "ada", "", "hub", adaValue))
	ok(t, k.Close())
	place := func(state string) {
		t.Helper()
		write(t, filepath.Join(state, "user-secrets.key"), strings.Repeat("7", 64)+"\n")
		ok(t, os.Chmod(filepath.Join(state, "user-secrets.key"), 0o600))
	}
	place(state)
	url := kerneltest.Postgres.URL(t)
	result, err := (&moving.Migration{State: statedir.Dir(state), To: url}).Run(t.Context())
	if err != nil || !result.Moved {
		t.Fatalf("%+v, %v", result, err)
	}
	a := kerneltest.OpenWith(t, kernel.Config{State: state, Storage: url, Tools: secretTools(t)})
	given(t, a, "ada", "own", adaValue) // it has the key of its own store
	second := t.TempDir()
	place(second)
	b := kerneltest.OpenWith(t, kernel.Config{State: second, Storage: url, Tools: secretTools(t)})
	until(t, "the other node to be able to open it", func() bool {
		return !strings.Contains(string(b.Secrets.Scrub([]byte(adaValue))), adaValue)
	})
	given(t, b, "ada", "own", adaValue)
}

// secretKeyID is the name of the key that has one digit.
func secretKeyID(t *testing.T, digit string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	write(t, file, strings.Repeat(digit, 64))
	placed, err := secret.ReadPlaced(file)
	ok(t, err)
	return placed.ID()
}
