// Package secret turns names into values, only at the edge, and keeps the
// values out of everything that is written down.
//
// A [Vault] is asked for a name at the moment a handler needs its value. Every
// value it could give is known to its scrubber before anything is journaled:
// all values of the file, every value resolved from the environment, and the
// environment's own likely secrets (variables named like a key, a token or a
// password).
package secret

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"sync"

	"callgate/tool"
)

// Vault resolves names. The zero value knows only the environment.
type Vault struct {
	mu    sync.RWMutex
	file  map[string]string
	known map[string]string // value → name, for every value worth scrubbing
	scrub *scrubber         // rebuilt when known grows; nil when there is nothing to scrub
}

// Open makes a vault over the environment and, when it exists, a file: a JSON
// object of names and values that nobody but its owner may read.
func Open(path string) (*Vault, error) {
	v := &Vault{file: map[string]string{}, known: map[string]string{}}
	for _, pair := range os.Environ() {
		if name, value, _ := strings.Cut(pair, "="); likelySecret(name) {
			v.learn(name, value)
		}
	}
	if err := v.read(path); err != nil {
		return nil, err
	}
	for name, value := range v.file {
		v.learn(name, value)
	}
	v.scrub = newScrubber(v.known)
	return v, nil
}

func (v *Vault) read(path string) error {
	const op = "secret.Open"
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || path == "" {
		return nil
	}
	if err != nil {
		return &tool.Error{Op: op, Kind: tool.Unavailable, Message: "the secrets file cannot be read", Err: err}
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return tool.Errorf(op, tool.Denied, "the secrets file %s can be read by others (mode %04o)", path, info.Mode().Perm()).
			WithHint("chmod 600 %s", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return &tool.Error{Op: op, Kind: tool.Unavailable, Message: "the secrets file cannot be read", Err: err}
	}
	if err := json.Unmarshal(data, &v.file); err != nil {
		// The parser's words may quote the file: they stay out of the error.
		return tool.Errorf(op, tool.Invalid, "the secrets file %s is not a JSON object of names and text values", path)
	}
	return nil
}

// Values returns the values of exactly these names: from the file first, then
// from the environment. A name without a value is an error that tells where
// to put one.
func (v *Vault) Values(names []string) (map[string]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	values := make(map[string]string, len(names))
	for _, name := range names {
		value, ok := v.lookup(name)
		if !ok {
			return nil, tool.Errorf("secret.Values", tool.Unavailable, "the secret %s has no value", name).
				WithHint("set it in the environment of the kernel, or in its secrets file")
		}
		values[name] = value
	}
	return values, nil
}

func (v *Vault) lookup(name string) (string, bool) {
	v.mu.RLock()
	value, ok := v.file[name]
	v.mu.RUnlock()
	if ok {
		return value, true
	}
	if value, ok = os.LookupEnv(name); !ok || value == "" {
		return "", false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.learn(name, value) {
		v.scrub = newScrubber(v.known)
	}
	return value, true
}

// learn adds a value to those scrubbed, and reports whether it is new.
func (v *Vault) learn(name, value string) bool {
	if len(value) < minScrubbed || v.known[value] != "" {
		return false
	}
	if v.known == nil {
		v.known = map[string]string{}
	}
	v.known[value] = name
	return true
}

// Scrub returns text with every known value, in any of its usual encodings,
// replaced by its name. Text that holds none comes back as it is.
func (v *Vault) Scrub(text []byte) []byte {
	v.mu.RLock()
	s := v.scrub
	v.mu.RUnlock()
	return s.bytes(text)
}

// ScrubString is Scrub for a string.
func (v *Vault) ScrubString(text string) string {
	v.mu.RLock()
	s := v.scrub
	v.mu.RUnlock()
	return s.string(text)
}

// likelySecret reports whether a variable's name says that its value is one.
func likelySecret(name string) bool {
	name = strings.ToUpper(name)
	for _, word := range []string{"SECRET", "TOKEN", "PASSWORD", "PASSWD", "CREDENTIAL", "PRIVATE", "API_KEY", "APIKEY", "ACCESS_KEY", "AUTH_KEY", "JWT"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return strings.HasSuffix(name, "_KEY")
}
