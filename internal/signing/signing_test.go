package signing_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/internal/signing"
	"callgate/tool"
)

func newSecret(t testing.TB) signing.Secret {
	t.Helper()
	s, err := signing.NewSecret()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sign(t testing.TB, s signing.Secret, file, data string, at int64) []byte {
	t.Helper()
	out, err := s.Sign([]byte(data), signing.Comment{File: file, Time: time.Unix(at, 0)})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func reason(err error) signing.Reason {
	var r *signing.Refusal
	if errors.As(err, &r) {
		return r.Reason
	}
	return ""
}

// TestAttacks tries what somebody would who can write the folder, and has no trusted key.
func TestAttacks(t *testing.T) {
	mine, theirs := newSecret(t), newSecret(t)
	keys := []signing.Key{newSecret(t).Key(), mine.Key()}
	good := sign(t, mine, "a.yaml", "id: a\n", 100)
	lines := func(sig []byte) []string { return strings.Split(string(sig), "\n") }
	with := func(i int, line string) []byte {
		l := lines(good)
		l[i] = line
		return []byte(strings.Join(l, "\n"))
	}
	other := lines(sign(t, mine, "b.yaml", "id: b\n", 100))
	// The number of a key is a hint: a signature of another key may carry it.
	forged := lines(sign(t, theirs, "a.yaml", "id: b\n", 100))
	for _, test := range []struct {
		name, file, data string
		signature        []byte
		keys             []signing.Key
		want             signing.Reason
	}{
		{"as it was signed", "a.yaml", "id: a\n", good, keys, ""},
		{"none", "a.yaml", "id: a\n", nil, keys, signing.Unsigned},
		{"a changed file", "a.yaml", "id: b\n", good, keys, signing.Changed},
		{"the signature of another file", "a.yaml", "id: a\n", sign(t, mine, "b.yaml", "id: a\n", 100), keys, signing.Elsewhere},
		{"a file under another's name", "b.yaml", "id: a\n", good, keys, signing.Elsewhere},
		{"a changed comment", "b.yaml", "id: a\n", with(2, strings.Replace(lines(good)[2], "a.yaml", "b.yaml", 1)), keys, signing.Changed},
		{"a later time", "a.yaml", "id: a\n", with(2, strings.Replace(lines(good)[2], "timestamp:100", "timestamp:900", 1)), keys, signing.Changed},
		{"the comment of another", "b.yaml", "id: a\n", []byte(strings.Join(append(lines(good)[:2:2], other[2:]...), "\n")), keys, signing.Changed},
		{"the key of somebody", "a.yaml", "id: a\n", sign(t, theirs, "a.yaml", "id: a\n", 100), keys, signing.Untrusted},
		{"no key is trusted", "a.yaml", "id: a\n", good, nil, signing.Untrusted},
		{"another signature in ours", "a.yaml", "id: b\n", with(1, forged[1]), keys, signing.Untrusted},
		{"nothing", "a.yaml", "id: a\n", []byte("\n\n\n"), keys, signing.Malformed},
		{"much", "a.yaml", "id: a\n", bytes.Repeat(good, 50), keys, signing.Malformed},
	} {
		t.Run(test.name, func(t *testing.T) {
			v, err := signing.Verify(test.file, []byte(test.data), test.signature, test.keys)
			if reason(err) != test.want || (err != nil) != (test.want != "") {
				t.Fatalf("%v, want %q", err, test.want)
			}
			if err == nil && (!v.Key.Equal(mine.Key()) || v.Time.Unix() != 100 || v.File != "a.yaml") {
				t.Errorf("verified %+v", v)
			}
			if err != nil && (tool.KindOf(err) != tool.Denied || !strings.Contains(err.Error(), "a.yaml") && test.file == "a.yaml") {
				t.Errorf("the refusal is %v", err)
			}
		})
	}
	v, err := signing.Verify("a.yaml", []byte("id: a\n"), good, keys)
	if err != nil {
		t.Fatal(err)
	}
	if err := v.CheckNewer(time.Unix(101, 0)); reason(err) != signing.Older {
		t.Errorf("an older version: %v", err)
	}
	if err := v.CheckNewer(time.Unix(100, 0)); err != nil {
		t.Errorf("the same version: %v", err)
	}
}

func TestNames(t *testing.T) {
	for _, name := range []string{"", "a\tb", "a\nb", "../a", "a/b", `a\b`, strings.Repeat("x", 300), "\xff"} {
		if _, err := newSecret(t).Sign(nil, signing.Comment{File: name, Time: time.Unix(1, 0)}); tool.KindOf(err) != tool.Invalid {
			t.Errorf("%q was signed: %v", name, err)
		}
	}
}

// TestSecretsAreNotShown prints a secret key in each way that a mistake would.
func TestSecretsAreNotShown(t *testing.T) {
	s := newSecret(t)
	bare, err := s.Bare()
	if err != nil {
		t.Fatal(err)
	}
	key := strings.Split(string(bare), "\n")[1]
	for _, shown := range []string{fmt.Sprint(s), fmt.Sprintf("%v %+v %#v", s, s, s), fmt.Sprint(&s)} {
		if strings.Contains(shown, key[20:40]) || strings.Contains(shown, "[") {
			t.Errorf("it is shown: %s", shown)
		}
	}
	again, err := signing.ParseSecret(append(bare, '\n'), "")
	if err != nil || !again.Key().Equal(s.Key()) || signing.NeedsPassword(bare) {
		t.Errorf("%v", err)
	}
	if _, err := s.Encrypted(""); tool.KindOf(err) != tool.Invalid {
		t.Errorf("a key without a password: %v", err)
	}
}

// TestMinisign signs and verifies with the program minisign, each what the other made.
func TestMinisign(t *testing.T) {
	program, err := exec.LookPath("minisign")
	if err != nil {
		t.Skip("minisign is not installed: apt-get install minisign")
	}
	folder := t.TempDir()
	path := func(name string) string { return filepath.Join(folder, name) }
	write := func(name string, data []byte) {
		t.Helper()
		if err := os.WriteFile(path(name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func(name string) []byte {
		t.Helper()
		data, err := os.ReadFile(path(name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	run := func(args ...string) {
		t.Helper()
		c := exec.Command(program, args...)
		c.Dir = folder
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("minisign %v: %v: %s", args, err, out)
		}
	}
	const data = "id: a:b@1.0.0\n"
	write("a.yaml", []byte(data))
	// Ours, which minisign reads.
	ours := newSecret(t)
	bare, err := ours.Bare()
	if err != nil {
		t.Fatal(err)
	}
	write("our.key", append(bare, '\n'))
	write("our.pub", ours.Key().File())
	write("a.yaml.minisig", sign(t, ours, "a.yaml", data, 100))
	run("-V", "-p", "our.pub", "-m", "a.yaml")
	run("-S", "-W", "-s", "our.key", "-m", "a.yaml")
	if _, err := signing.Verify("a.yaml", []byte(data), read("a.yaml.minisig"), []signing.Key{ours.Key()}); err != nil {
		t.Errorf("what minisign signed with our key: %v", err)
	}
	// Theirs, which we read.
	run("-G", "-W", "-f", "-p", "their.pub", "-s", "their.key")
	theirs, err := signing.ParseSecret(read("their.key"), "")
	if err != nil {
		t.Fatal(err)
	}
	public, err := signing.ParseKey(string(read("their.pub")))
	if err != nil || !public.Equal(theirs.Key()) {
		t.Fatalf("their keys: %v", err)
	}
	for _, form := range [][]string{{"-S", "-W"}, {"-S", "-W", "-l"}} { // hashed, and as it was before
		run(append(form, "-s", "their.key", "-m", "a.yaml")...)
		v, err := signing.Verify("a.yaml", []byte(data), read("a.yaml.minisig"), []signing.Key{public})
		if err != nil || time.Since(v.Time) > time.Hour*24 {
			t.Errorf("%v: %+v, %v", form, v, err)
		}
	}
	write("a.yaml.minisig", sign(t, theirs, "a.yaml", data, 100))
	run("-V", "-p", "their.pub", "-m", "a.yaml")
}

// passwordKey is a key in minisign's format with the password callgate, which costs little to open:
// minisign's own takes a gibibyte.
const passwordKey = "untrusted comment: minisign encrypted secret key\n" +
	"RWRTY0IyafHXbAUuYt0pF3PE7VK+vpJ6dfbR9ZI8N4TEdOBuPssAAAgAAAAAAAAAAAEAAAAAxS7zRer8VU9xMcCgazVQZIW7a71g" +
	"sd9TwpabcTiIGQVbqwZkD/1JICP2V7nbw6ZLFuJ/UQtIrHkvTXNt+U/qh7Zbvbr+IpnttXjiAJ00UxLhdtVnfeoW2596A6H9Rsr2Hxz5g+rOwhM=\n"

func TestPassword(t *testing.T) {
	if !signing.NeedsPassword([]byte(passwordKey)) {
		t.Error("it is said to need no password")
	}
	for _, password := range []string{"wrong", ""} {
		if _, err := signing.ParseSecret([]byte(passwordKey), password); tool.KindOf(err) != tool.Denied {
			t.Errorf("the password %q: %v", password, err)
		}
	}
	s, err := signing.ParseSecret([]byte(passwordKey), "callgate")
	if err != nil || s.Key().String() != "RWRfXvujucwqVTpiqB/X1OA8iG41RSRyMyyT/M0M+8IbckfdXaFdpXKw" {
		t.Errorf("%v, %v", s.Key(), err)
	}
}

func FuzzVerify(f *testing.F) {
	s := newSecret(f)
	f.Add([]byte("x"), sign(f, s, "a", "x", 1))
	f.Add([]byte(""), []byte("untrusted comment: a\nAA==\ntrusted comment: timestamp:1\tfile:a\nAA=="))
	f.Fuzz(func(t *testing.T, data, signature []byte) {
		v, err := signing.Verify("a", data, signature, []signing.Key{s.Key()})
		if err == nil && (v.File != "a" || string(data) != "x") {
			t.Errorf("%q verified as %+v", data, v)
		}
		if err != nil && reason(err) == "" {
			t.Errorf("the error is %T", err)
		}
		if at := signing.Claimed(signature); err == nil && !at.Equal(v.Time) {
			t.Errorf("it claims %s, and was made on %s", at, v.Time)
		}
	})
}

func FuzzKeys(f *testing.F) {
	s := newSecret(f)
	bare, _ := s.Bare()
	f.Add(s.Key().String())
	f.Add(string(s.Key().File()))
	f.Add(string(bare))
	f.Fuzz(func(t *testing.T, text string) {
		if k, err := signing.ParseKey(text); err == nil {
			if again, err := signing.ParseKey(k.String()); err != nil || !again.Equal(k) {
				t.Errorf("%q is not itself again: %v", text, err)
			}
		}
		if !signing.NeedsPassword([]byte(text)) { // with one, minisign's work factor is a gibibyte
			_, _ = signing.ParseSecret([]byte(text), "")
		}
	})
}
