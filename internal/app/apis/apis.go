// Package apis is the APIs of an app file: what a file may say of the OpenAPI documents
// whose operations become tools, and how it is read.
//
// A document that is a file is read with the app file, so that what a human accepts, by its
// digest, is what is used. One that cannot be read is a problem of its API alone.
package apis

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"callgate/internal/app/channels"
	"callgate/internal/app/credential"
	"callgate/internal/app/node"
	"callgate/tool"
)

// Module is the module whose config names the APIs.
const Module = "openapi"

// Level is the level of one API.
const Level = "tools.modules.openapi.config.apis.<api>"

// The bounds of what a file may say.
const (
	DefaultRefresh = 24 * time.Hour
	minRefresh     = time.Minute
	maxDocument    = 32 << 20
	maxDocuments   = 64 << 20 // of all files that an app file names, together
	maxAPIs        = 50
)

// API is an API whose operations are tools.
type API struct {
	Name         string // and the module of its tools
	Document     string // a URL, or the absolute path of a file
	Server       string
	Credential   string            // a secret
	Credentials  map[string]string // secrets by security scheme
	Include      []string
	Exclude      []string
	PrivateHosts []string
	Timeout      time.Duration // of a call; 0: the default
	Refresh      time.Duration // how old a copy of a document of the network may be
	Pin          bool          // nothing of a document of the network is shown before a human accepted it
	FromUser     bool          // it is in the user's own file
	File
}

// File is a document that is a file, as it was read.
type File struct {
	Text    string `json:"-"`
	Digest  string // of the text: SHA-256, in hex
	Problem string // why it cannot be read
	// Hosts are those that the document says its operations are sent to, for a human who accepts it; who reads
	// documents notes them.
	Hosts []string `json:"-"`
}

// IsRemote reports whether the document is reached over the network.
func (a API) IsRemote() bool { return isAddress(a.Document) }

// Secrets are the names of the secrets that the API is given, sorted.
func (a API) Secrets() []string {
	all := slices.Collect(maps.Values(a.Credentials))
	if a.Credential != "" {
		all = append(all, a.Credential)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Has reports whether a module is that of one of these APIs.
func Has(all []API, module string) bool {
	return slices.ContainsFunc(all, func(a API) bool { return a.Name == module })
}

// Files are the documents of some APIs that are files.
func Files(all []API) (paths []string) {
	for _, a := range all {
		if !a.IsRemote() {
			paths = append(paths, a.Document)
		}
	}
	return paths
}

var (
	apiName    = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)
	schemeName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)
)

const form = "write one API on each line, such as petstore: {document: ./petstore.yaml}"

// Read reads tools.modules.openapi.config.apis of an app file in a folder.
func Read(r *node.Reader, e node.Entry, folder, appID string) (all []API) {
	entries := r.Entries(e, form)
	if len(entries) > maxAPIs {
		r.Fail(e.At, "leave some out", "there are %d APIs, of at most %d", len(entries), maxAPIs)
		return nil
	}
	files := &documents{folder: folder, read: map[string]File{}}
	for _, in := range entries {
		if !apiName.MatchString(in.Key) {
			r.Fail(in.KeyAt, "use lower-case letters, digits and _, at most 40, a letter first",
				"an API cannot be named %s", node.Quote(in.Key))
			continue
		}
		if a, ok := readAPI(r, in, files, appID); ok {
			all = append(all, a)
		}
	}
	return all
}

// readAPI reads one API. Where it is, and what it is sent, is shown to a human who accepts it,
// so no variable of the environment is filled in.
func readAPI(r *node.Reader, e node.Entry, files *documents, appID string) (API, bool) {
	a, as, enabled := API{Name: e.Key, Refresh: DefaultRefresh}, r.WithoutEnv(), true
	named := "name tags or operations, such as [pets, get_pet]"
	r.Mapping(Level, e, map[string]node.Read{
		"document":      as.TextInto(&a.Document),
		"server":        as.TextInto(&a.Server),
		"credential":    func(in node.Entry) { a.Credential = credential.Read(r, in, appID) },
		"credentials":   func(in node.Entry) { a.Credentials = readCredentials(r, in, appID) },
		"include":       r.Texts(&a.Include, named),
		"exclude":       r.Texts(&a.Exclude, named),
		"private_hosts": channels.Hosts(as, &a.PrivateHosts),
		"timeout":       r.Duration(&a.Timeout),
		"refresh":       r.Duration(&a.Refresh),
		"pin":           r.Boolean(&a.Pin, "write true to show nothing of it before you accepted it"),
		"enabled":       r.Boolean(&enabled, "write false to leave the API out for now"),
	})
	fail := func(key, remedy, format string, args ...any) {
		at := r.Position(e.Below(key))
		if at == (node.Position{}) {
			at = e.KeyAt
		}
		r.Fail(at, remedy, format, args...)
	}
	if a.Refresh < minRefresh {
		fail("refresh", "write a time of 1m or more", "%s is %v", e.Below("refresh"), a.Refresh)
	}
	switch {
	case a.Document == "":
		fail("document", "write document: and a file or an address: ./petstore.yaml, https://api.example.com/openapi.json",
			"the API %s names no document", a.Name)
		return a, false
	case strings.Contains(a.Document, "://") && (!isAddress(a.Document) || wrongAddress(a.Document) != ""):
		fail("document", "write https://host/path, or the path of a file", "the document of %s is %s", a.Name,
			node.Quote(a.Document))
		return a, false
	case a.Server != "" && (!isAddress(a.Server) || wrongAddress(a.Server) != ""):
		fail("server", "write its address, such as https://api.example.com/v2", "the server of %s is %s", a.Name,
			node.Quote(a.Server))
		return a, false
	case a.Server == "" && !a.IsRemote() && len(a.Secrets()) > 0:
		fail("credential", "write server: and its address, such as https://api.example.com/v2: "+
			"no document decides where a secret goes", "the API %s is given a secret, and does not say where it is", a.Name)
		return a, false
	}
	if !a.IsRemote() && enabled {
		a.readFile(files)
	}
	return a, enabled
}

func readCredentials(r *node.Reader, e node.Entry, appID string) map[string]string {
	all := map[string]string{}
	const form = "write the name of a secret for each security scheme, such as {api_key: PETSTORE_KEY}"
	for _, in := range r.Entries(e, form) {
		if !schemeName.MatchString(in.Key) {
			r.Fail(in.KeyAt, "name it as the document does, under securitySchemes", "%s is not the name of a security scheme",
				node.Quote(in.Key))
			continue
		}
		all[in.Key] = credential.Read(r, in, appID)
	}
	return all
}

func isAddress(text string) bool {
	return strings.HasPrefix(text, "https://") || strings.HasPrefix(text, "http://")
}

// wrongAddress says why an address cannot be used; "": it can.
func wrongAddress(text string) string {
	switch u, err := url.Parse(text); {
	case err != nil:
		return err.Error()
	case u.Hostname() == "":
		return "it has no host"
	case u.User != nil:
		return "it holds a user; name a credential"
	}
	return ""
}

// documents reads the files that one app file names, each once, and not more of them than can be kept.
type documents struct {
	folder string
	read   map[string]File // by path
	bytes  int
}

// readFile reads the document, which lies in the app's folder.
func (a *API) readFile(files *documents) {
	name := a.Document
	local := filepath.FromSlash(name)
	a.Document = filepath.Join(files.folder, local)
	if filepath.IsAbs(local) {
		a.Document = local
	}
	a.File = files.file(a.Document, local)
	if a.Problem != "" {
		a.Problem = fmt.Sprintf("the document %s of the API %s cannot be read: %s",
			tool.TruncateTo(name, 200), a.Name, a.Problem)
	}
}

// file reads one file, or says in its problem why not.
func (d *documents) file(path, local string) File {
	if known, ok := d.read[path]; ok {
		return known
	}
	var f File
	text, err := readBelow(d.folder, local)
	switch {
	case err != nil:
		f.Problem = err.Error()
	case d.bytes+len(text) > maxDocuments:
		f.Problem = fmt.Sprintf("the documents of this app file are longer than %d MiB together; leave some out, "+
			"or name one by its address", maxDocuments>>20)
	default:
		sum := sha256.Sum256(text)
		f.Text, f.Digest = string(text), hex.EncodeToString(sum[:])
		d.bytes += len(text)
	}
	d.read[path] = f
	return f
}

func readBelow(folder, local string) ([]byte, error) {
	if !filepath.IsLocal(local) {
		return nil, errors.New("it is not in the app's folder; name a file there, relative to the app file")
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	switch info, err := root.Stat(local); {
	case errors.Is(err, os.ErrNotExist):
		return nil, errors.New("there is no such file")
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a plain file")
	}
	f, err := root.Open(local)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxDocument+1))
	if err == nil && len(data) > maxDocument {
		err = fmt.Errorf("it is longer than %d MiB", maxDocument>>20)
	}
	return data, err
}
