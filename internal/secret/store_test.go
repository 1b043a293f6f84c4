package secret_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zalando/go-keyring"

	"callgate/internal/durable"
	"callgate/internal/secret"
	"callgate/tool"
)

const value = "a value that nobody may see"

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// openStore opens the store of a folder without a keyring.
func openStore(t testing.TB, folder string) *secret.Vault {
	t.Helper()
	v, err := secret.OpenWith(filepath.Join(folder, "secrets.box"), nil)
	ok(t, err)
	return v
}

func get(t testing.TB, v *secret.Vault, name string) string {
	t.Helper()
	values, err := v.Values([]string{name})
	ok(t, err)
	return values[name]
}

// files are the names and contents of a folder.
func files(t testing.TB, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(folder)
	ok(t, err)
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(folder, e.Name()))
		ok(t, err)
		all[e.Name()] = string(data)
	}
	return all
}

func TestStoreKeepsValues(t *testing.T) {
	folder := t.TempDir()
	v := openStore(t, folder)
	if _, err := v.Values([]string{"hub.token"}); tool.KindOf(err) != tool.Unavailable ||
		!strings.Contains(err.Error(), "callgate secrets set hub.token") {
		t.Errorf("before it is set: %v", err)
	}
	ok(t, v.Set("hub.token", []byte(value)))
	ok(t, v.Set("bytes", []byte("\x00\xff\xfe is no text")))
	t.Setenv("hub.token", "the environment's, which comes second")
	for _, v := range []*secret.Vault{v, openStore(t, folder)} {
		if got := get(t, v, "hub.token"); got != value {
			t.Errorf("got %q", got)
		}
		if got := get(t, v, "bytes"); got != "\x00\xff\xfe is no text" {
			t.Errorf("got %q", got)
		}
		if got := v.ScrubString("<" + value + ">"); got != "<[secret hub.token]>" {
			t.Errorf("scrubbed to %q", got)
		}
	}
	for name, text := range files(t, folder) {
		if strings.Contains(text, value) || strings.Contains(text, "hub.token") {
			t.Errorf("%s shows what it holds", name)
		}
		if info, err := os.Stat(filepath.Join(folder, name)); runtime.GOOS != "windows" && (err != nil || info.Mode().Perm() != 0o600) {
			t.Errorf("%s: mode %v, %v", name, info.Mode(), err)
		}
	}
	ok(t, v.Delete("hub.token"))
	if got := get(t, v, "hub.token"); !strings.HasPrefix(got, "the environment's") {
		t.Errorf("after it was deleted: %q", got)
	}
	if got := v.ScrubString(value); got != "[secret hub.token]" {
		t.Errorf("what was known once is not any more: %q", got)
	}
	if err := v.Delete("hub.token"); tool.KindOf(err) != tool.NotFound {
		t.Errorf("deleted twice: %v", err)
	}
}

func TestWhatTheStoreTakes(t *testing.T) {
	v := openStore(t, t.TempDir())
	for name, c := range map[string]struct {
		name, value string
		kind        tool.Kind
	}{
		"a name":              {"A", "x", ""},
		"all that names have": {"_a-Z.9", "x", ""},
		"the longest name":    {strings.Repeat("n", 128), "x", ""},
		"a longer one":        {strings.Repeat("n", 129), "x", tool.Invalid},
		"none":                {"", "x", tool.Invalid},
		"a digit first":       {"9a", "x", tool.Invalid},
		"a path":              {"../a", "x", tool.Invalid},
		"a line":              {"a\n", "x", tool.Invalid},
		"another script":      {"ключ", "x", tool.Invalid},
		"no value":            {"A", "", tool.Invalid},
		"the longest value":   {"A", strings.Repeat("v", secret.MaxValue), ""},
		"a longer value":      {"A", strings.Repeat("v", secret.MaxValue+1), tool.Invalid},
	} {
		if err := v.Set(c.name, []byte(c.value)); tool.KindOf(err) != c.kind {
			t.Errorf("%s: %v, want kind %q", name, err, c.kind)
		}
	}
	var none secret.Vault
	if err := none.Set("A", []byte(value)); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("without a store: %v", err)
	}
}

func TestList(t *testing.T) {
	t.Setenv("LIST_TEST_TOKEN", "named like one")
	t.Setenv("LIST_TEST_BOTH_KEY", "overridden")
	t.Setenv("LIST_TEST_PLAIN", "named like nothing")
	v := openStore(t, t.TempDir())
	ok(t, v.Set("hub", []byte(value)))
	ok(t, v.Set("LIST_TEST_BOTH_KEY", []byte(value)))
	list, err := v.List()
	ok(t, err)
	got := map[string]string{}
	for _, i := range list {
		if i.Name == "hub" || strings.HasPrefix(i.Name, "LIST_TEST") {
			got[i.Name] = fmt.Sprint(i.Source, " ", !i.Set.IsZero() && time.Since(i.Set) < time.Hour)
		}
	}
	want := map[string]string{"hub": "store true", "LIST_TEST_BOTH_KEY": "store true", "LIST_TEST_TOKEN": "environment false"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(fmt.Sprintf("%+v", list), value) {
		t.Error("the list shows a value")
	}
}

// A vault notices what another one writes, also when the file looks the same
// but for its contents.
func TestAnotherVaultsChangesAreNoticed(t *testing.T) {
	folder := t.TempDir()
	reader, writer := openStore(t, folder), openStore(t, folder)
	for i := range 20 {
		want := fmt.Sprintf("%s %04d", value, i)
		ok(t, writer.Set("A", []byte(want)))
		if got := get(t, reader, "A"); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
		if got := reader.ScrubString(want); got != "[secret A]" {
			t.Fatalf("a value that was given is not scrubbed: %q", got)
		}
	}
	ok(t, writer.Delete("A"))
	if _, err := reader.Values([]string{"A"}); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("it is gone: %v", err)
	}
}

func TestWritersAtOnceLoseNothing(t *testing.T) {
	folder := t.TempDir()
	var wg sync.WaitGroup
	for w := range 4 {
		v := openStore(t, folder) // the first of them makes the key
		wg.Go(func() {
			for i := range 10 {
				if err := v.Set(fmt.Sprintf("n%d.%d", w, i), fmt.Appendf(nil, "%s %d %d", value, w, i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	v := openStore(t, folder)
	for w := range 4 {
		for i := range 10 {
			if got := get(t, v, fmt.Sprintf("n%d.%d", w, i)); got != fmt.Sprintf("%s %d %d", value, w, i) {
				t.Errorf("%d.%d is %q", w, i, got)
			}
		}
	}
}

// box is the store as it is now, nil when there is none.
func box(folder string) []byte {
	data, _ := os.ReadFile(filepath.Join(folder, "secrets.box"))
	return data
}

const writerVar = "CALLGATE_SECRET_TEST_WRITER"

// TestWriterProcess is another process, for the test below: it sets one value
// after another, and says which are durable.
func TestWriterProcess(t *testing.T) {
	folder := os.Getenv(writerVar)
	if folder == "" {
		t.Skip("another test starts it")
	}
	v := openStore(t, folder)
	for i := 0; ; i++ {
		name := fmt.Sprintf("p%d.%d", os.Getpid(), i)
		ok(t, v.Set(name, []byte(value+name)))
		fmt.Println("durable", name)
	}
}

// Processes that write are killed at any moment: what they were told is kept
// is there, and the store is whole.
func TestKilledWritersLoseNothing(t *testing.T) {
	folder := t.TempDir()
	self, err := os.Executable()
	ok(t, err)
	var said []string
	for range 4 {
		var outs [2]bytes.Buffer
		var cmds [2]*exec.Cmd
		for i := range cmds {
			cmds[i] = exec.Command(self, "-test.run=^TestWriterProcess$")
			cmds[i].Env = append(os.Environ(), writerVar+"="+folder)
			cmds[i].Stdout = &outs[i]
			ok(t, cmds[i].Start())
		}
		for range 25 { // some writes later
			for before := box(folder); bytes.Equal(box(folder), before); {
				runtime.Gosched()
			}
		}
		for i := range cmds {
			ok(t, cmds[i].Process.Kill())
			_ = cmds[i].Wait()
			said = append(said, strings.Fields(outs[i].String())...)
		}
	}
	v := openStore(t, folder)
	written := 0
	for i := 0; i+1 < len(said); i++ {
		if name := said[i+1]; said[i] == "durable" {
			written++
			if got := get(t, v, name); got != value+name {
				t.Errorf("%s is %q", name, got)
			}
		}
	}
	if written < 20 {
		t.Errorf("only %d values were written: %q", written, said)
	}
	ok(t, v.Set("last", []byte(value))) // and clears up
	for name := range files(t, folder) {
		if durable.IsPartial(name) {
			t.Errorf("%s was left behind", name)
		}
	}
}

func TestDamageIsToldAndNothingIsOverwritten(t *testing.T) {
	whole := t.TempDir()
	ok(t, openStore(t, whole).Set("A", []byte(value)))
	other := t.TempDir()
	ok(t, openStore(t, other).Set("B", []byte(value)))
	box, key := files(t, whole)["secrets.box"], files(t, whole)["secrets.key"]
	flip := func(text string, at int) string { return text[:at] + string(text[at]^1) + text[at+1:] }
	cases := map[string]struct {
		box, key string
		mode     os.FileMode
		kind     tool.Kind
		says     string
	}{
		"the key is gone":      {box, "", 0o600, tool.Invalid, "is gone"},
		"another store's key":  {box, files(t, other)["secrets.key"], 0o600, tool.Invalid, "another key"},
		"half a key":           {box, key[:20], 0o600, tool.Invalid, "cut short"},
		"no hex":               {box, strings.Replace(key, key[:1], "x", 1), 0o600, tool.Invalid, "cut short"},
		"readable by others":   {box, key, 0o640, tool.Denied, "chmod 600"},
		"from the future":      {strings.Replace(box, "secrets 1 ", "secrets 2 ", 1), key, 0o600, tool.Invalid, "newer"},
		"said to be elsewhere": {strings.Replace(box, " file ", " keyring ", 1), key, 0o600, "", ""}, // as if the keyring were locked
		"more behind it":       {box + "x", key, 0o600, tool.Invalid, "cut short"},
		"another's contents": {
			box[:strings.Index(box, "\n")+1] + files(t, other)["secrets.box"][strings.Index(box, "\n")+1:],
			key,
			0o600,
			tool.Invalid,
			"cut short",
		},
	}
	for n := 0; n < len(box); n += 7 {
		c := cases["the key is gone"]
		c.box, c.key, c.says = box[:n], key, "copy"
		cases[fmt.Sprintf("cut at %d", n)] = c
		c.box = flip(box, n)
		cases[fmt.Sprintf("changed at %d", n)] = c
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if c.mode != 0o600 && runtime.GOOS == "windows" {
				t.Skip("there are no modes")
			}
			folder := t.TempDir()
			path := filepath.Join(folder, "secrets.box")
			ok(t, os.WriteFile(path, []byte(c.box), 0o600))
			ok(t, os.Chmod(path, c.mode))
			if c.key != "" {
				ok(t, os.WriteFile(filepath.Join(folder, "secrets.key"), []byte(c.key), 0o600))
			}
			v, err := secret.OpenWith(path, nil)
			if tool.KindOf(err) != c.kind || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("opened with %v, want kind %s and %q", err, c.kind, c.says)
			}
			if err == nil && v.Set("C", []byte(value)) == nil {
				t.Error("a value was set over a store that cannot be read")
			}
			if got := files(t, folder)["secrets.box"]; got != c.box {
				t.Error("the store was changed")
			}
		})
	}
}

func TestPlainFileIsTakenOver(t *testing.T) {
	folder := t.TempDir()
	plain := filepath.Join(folder, "secrets.json")
	ok(t, os.WriteFile(plain, []byte(`{"A":"`+value+`","B":"b"}`), 0o600))
	ok(t, os.Chtimes(plain, time.Time{}, time.Now().Add(-time.Hour)))
	v := openStore(t, folder)
	if get(t, v, "A") != value || get(t, v, "B") != "b" {
		t.Error("a value was lost")
	}
	if _, err := os.Stat(plain); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the plain file is still there: %v", err)
	}
	// It comes back, as from a backup: what was set since is not undone.
	ok(t, v.Set("A", []byte("a newer value")))
	ok(t, os.WriteFile(plain, []byte(`{"A":"`+value+`","C":"c"}`), 0o600))
	ok(t, os.Chtimes(plain, time.Time{}, time.Now().Add(-time.Hour)))
	v = openStore(t, folder)
	if get(t, v, "A") != "a newer value" || get(t, v, "C") != "c" {
		t.Error("an old value has replaced a newer one, or one was lost")
	}
	// Somebody writes it anew: that is the newest word.
	ok(t, os.WriteFile(plain, []byte(`{"A":"the newest"}`), 0o600))
	ok(t, os.Chtimes(plain, time.Time{}, time.Now().Add(time.Hour)))
	if got := get(t, openStore(t, folder), "A"); got != "the newest" {
		t.Errorf("got %q", got)
	}
}

func TestPlainFileThatCannotBeMigratedStays(t *testing.T) {
	for name, text := range map[string]string{
		"a bad name":    `{"A":"` + value + `","not a name":"x"}`,
		"a large value": `{"A":"` + strings.Repeat("v", secret.MaxValue+1) + `"}`,
	} {
		folder := t.TempDir()
		plain := filepath.Join(folder, "secrets.json")
		ok(t, os.WriteFile(plain, []byte(text), 0o600))
		_, err := secret.OpenWith(plain, nil)
		if tool.KindOf(err) != tool.Invalid || !strings.Contains(err.Error(), "cannot be migrated") || strings.Contains(err.Error(), value) {
			t.Errorf("%s: %v", name, err)
		}
		if got := files(t, folder)["secrets.json"]; got != text {
			t.Errorf("%s: the plain file is %.80q", name, got)
		}
	}
}

// fakeRing is a keyring in memory.
type fakeRing struct {
	values map[string]string
	err    error // what it says when it is locked
}

func (r *fakeRing) Get(service, name string) (string, error) {
	if r.err != nil {
		return "", r.err
	}
	if v, ok := r.values[service+"/"+name]; ok {
		return v, nil
	}
	return "", keyring.ErrNotFound
}

func (r *fakeRing) Set(service, name, value string) error {
	if r.err == nil {
		r.values[service+"/"+name] = value
	}
	return r.err
}

func TestKeyInTheKeyring(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "secrets.box")
	ring := &fakeRing{values: map[string]string{}}
	v, err := secret.OpenWith(path, ring)
	ok(t, err)
	ok(t, v.Set("A", []byte(value)))
	if _, there := files(t, folder)["secrets.key"]; there || len(ring.values) != 1 {
		t.Errorf("a key file: %v; the keyring holds %d keys", there, len(ring.values))
	}
	// Locked: the vault opens, its names have no value, and nothing is lost.
	for name, locked := range map[string]func() (*secret.Vault, error){
		"locked": func() (*secret.Vault, error) {
			ring.err = errors.New("the collection is locked")
			return secret.OpenWith(path, ring)
		},
		"none": func() (*secret.Vault, error) { return secret.OpenWith(path, nil) },
	} {
		v, err := locked()
		ok(t, err)
		t.Setenv("A", "the environment's, which the store may override")
		if _, err := v.Values([]string{"A"}); tool.KindOf(err) != tool.Unavailable || !strings.Contains(err.Error(), "unlock") {
			t.Errorf("%s: a value: %v", name, err)
		}
		if err := v.Set("B", []byte(value)); tool.KindOf(err) != tool.Unavailable {
			t.Errorf("%s: set: %v", name, err)
		}
		if err := v.Problem(); tool.KindOf(err) != tool.Unavailable {
			t.Errorf("%s: the problem: %v", name, err)
		}
		if name == "locked" {
			ring.err = nil
			if got := get(t, v, "A"); got != value || v.Problem() != nil {
				t.Errorf("unlocked: %q, %v", got, v.Problem())
			}
		}
	}
	clear(ring.values)
	if _, err := secret.OpenWith(path, ring); tool.KindOf(err) != tool.Invalid || !strings.Contains(err.Error(), "not in the keyring") {
		t.Errorf("the key is gone: %v", err)
	}
}

func TestKeyringThatTakesNothing(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "secrets.box")
	v, err := secret.OpenWith(path, &fakeRing{err: errors.New("read only")})
	ok(t, err)
	ok(t, v.Set("A", []byte(value)))
	if get(t, openStore(t, folder), "A") != value {
		t.Error("it is not in a file of its own")
	}
}

func TestKeyringIsTheLastSource(t *testing.T) {
	ring := &fakeRing{values: map[string]string{
		"callgate/RING_ONLY": "from-the-keyring", "callgate/RING_AND_ENV": "from-the-keyring-too", "callgate/../x": "not a name",
	}}
	t.Setenv("RING_AND_ENV", "from-the-environment")
	v, err := secret.OpenWith("", ring)
	ok(t, err)
	if got := get(t, v, "RING_ONLY"); got != "from-the-keyring" || v.ScrubString(got) != "[secret RING_ONLY]" {
		t.Errorf("got %q, scrubbed to %q", got, v.ScrubString(got))
	}
	if got := get(t, v, "RING_AND_ENV"); got != "from-the-environment" {
		t.Errorf("got %q", got)
	}
	if _, err := v.Values([]string{"../x"}); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("the keyring was asked for what is no name: %v", err)
	}
	ring.err = errors.New("the collection is locked")
	if _, err := v.Values([]string{"NOWHERE"}); tool.KindOf(err) != tool.Unavailable || !strings.Contains(err.Error(), "locked") {
		t.Errorf("a locked keyring: %v", err)
	}
}

// A store that somebody made up does no more harm than an error.
func FuzzOpen(f *testing.F) {
	folder := f.TempDir()
	ok(f, openStore(f, folder).Set("A", []byte(value)))
	box, key := files(f, folder)["secrets.box"], files(f, folder)["secrets.key"]
	f.Add([]byte(box), []byte(key))
	f.Add([]byte("callgate-secrets 1 file 0011223344556677\n"), []byte(key))
	f.Add([]byte("callgate-secrets 1 keyring 0011223344556677\nx"), []byte(""))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		folder := t.TempDir()
		ok(t, os.WriteFile(filepath.Join(folder, "secrets.box"), a, 0o600))
		ok(t, os.WriteFile(filepath.Join(folder, "secrets.key"), b, 0o600))
		v, err := secret.OpenWith(filepath.Join(folder, "secrets.box"), nil)
		if err != nil {
			return
		}
		if list, err := v.List(); err == nil && string(b) == key && string(a) != box {
			t.Errorf("%q was opened: %v", a, list)
		}
	})
}

func BenchmarkValues(b *testing.B) {
	folder := b.TempDir()
	ok(b, openStore(b, folder).Set("A", []byte(value)))
	old := time.Now().Add(-time.Hour) // not so young that it is read each time
	ok(b, os.Chtimes(filepath.Join(folder, "secrets.box"), old, old))
	v := openStore(b, folder)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.Values([]string{"A"}); err != nil {
			b.Fatal(err)
		}
	}
}
