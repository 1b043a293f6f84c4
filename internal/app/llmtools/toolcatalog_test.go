package llmtools_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"callgate/internal/app/llmtools"
	"callgate/internal/signing"
	"callgate/toolcatalog/remote"
)

// TestToolCatalogs reads catalogs, with what is left out.
func TestToolCatalogs(t *testing.T) {
	t.Parallel()
	b, err := load(t, `catalogs:
- {url: 'https://tools.example.com/catalog.json', key: acme}
- {url: 'http://localhost:8080/c.json', key: RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3, refresh: 90s,
   private_hosts: ['localhost:8080']}`, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(b.ToolCatalogs) != 2 || !b.HasTools() {
		t.Fatalf("%+v", b.ToolCatalogs)
	}
	one, two := b.ToolCatalogs[0], b.ToolCatalogs[1]
	if one.Refresh != llmtools.DefaultRefresh || one.Key != "acme" || one.FromUser || two.Refresh != 90*time.Second {
		t.Errorf("%+v, %+v", one, two)
	}
}

// FuzzToolCatalog reads catalogs that anybody may have written: what is read is one that can be opened, over
// https or at a host that the file lists, and without a secret in its address.
func FuzzToolCatalog(f *testing.F) {
	f.Add("https://tools.example.com/catalog.json", "acme", "")
	f.Add("http://localhost:8080/c.json", "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3", "localhost:8080")
	f.Add("https://a:b@x/c.json?d#e", "", "[::1]:80")
	f.Add("https://x/%2e%2e", "acme", "*")
	f.Add("https://x/c.json#", "acme", "")
	secret, err := signing.NewSecret()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, address, key, host string) {
		written := map[string]any{"url": address, "key": key}
		if host != "" {
			written["private_hosts"] = []string{host}
		}
		text, err := json.Marshal(written)
		if err != nil {
			t.Fatal(err)
		}
		b, err := load(t, "catalogs: ["+string(text)+"]", nil)
		if err != nil {
			return
		}
		for _, c := range b.ToolCatalogs {
			if strings.ContainsAny(c.URL, "?#") || strings.Contains(c.URL, "{{") || c.Refresh < llmtools.MinRefresh {
				t.Errorf("%+v", c)
			}
			o := remote.Options{URL: c.URL, Keys: []string{secret.Key().String()}, Private: c.PrivateHosts}
			if _, err := remote.New(o); err != nil {
				t.Errorf("%+v cannot be opened: %v", c, err)
			}
		}
	})
}
