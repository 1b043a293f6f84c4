package browser_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/tool"
)

// files serves files of several kinds, and a page that links to them.
func files(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/":
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<a href=/big download>Big</a> <a href=/endless download>Endless</a>
			<a href=/.hidden download>Hidden</a> <a href="data:text/plain,hello" download="made.txt">Made</a>`)
	case "/big":
		w.Header().Set("Content-Length", "5000000")
		_, _ = w.Write(make([]byte, 5_000_000))
	case "/endless":
		for {
			if _, err := w.Write(make([]byte, 100_000)); err != nil {
				return
			}
		}
	case "/zip":
		w.Header().Set("Content-Type", "application/zip")
		fmt.Fprint(w, "PK")
	default:
		w.Header().Set("Content-Type", "application/octet-stream")
		fmt.Fprint(w, "small")
	}
}

// download is one download as a result reports it.
type download struct {
	Path, Name, URL, State, Why string
	Bytes                       int64
}

// download clicks a link and returns the download that it causes. The result of the click
// reports it, or that of a later call if it did not begin or end in time.
func (s *session) download(link string) download {
	s.t.Helper()
	r := s.call("click", args{"text": link})
	var got download
	eventually(s.t, "a download of "+link, func() bool {
		if all := data[stateData](s.t, r).Downloads; len(all) == 1 && all[0].State != "arriving" {
			got = all[0]
			return true
		}
		r = s.call("wait", args{"until": "download"})
		return false
	})
	return got
}

func TestDownloads(t *testing.T) {
	t.Parallel()
	web := serve(t, files)
	s := sharedModule(t).session("", nil, local().with("max_download_bytes", 1_000_000))
	s.call("navigate", args{"url": web.URL})
	for _, name := range []string{"Big", "Endless"} {
		if d := s.download(name); d.State != "failed" || !strings.Contains(d.Why, "max_download_bytes") {
			t.Errorf("%s: %+v", name, d)
		}
	}
	r := s.call("navigate", args{"url": web.URL + "/zip"})
	contains(t, r.Summary, "a file, not a page", "downloads/")
	if d := s.download("Made"); d.Path != "downloads/made.txt" {
		t.Errorf("a file that the page made: %+v", d)
	}
	contains(t, s.file("downloads/made.txt"), "hello")
	s.download("Hidden")
	entries, err := os.ReadDir(filepath.Join(s.dir, "downloads"))
	check(t, err)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			t.Errorf("%s is hidden", e.Name())
		}
	}
	all := data[struct{ Downloads []download }](t, s.call("tabs", args{})).Downloads
	if len(all) != 5 {
		t.Errorf("the list of downloads: %+v", all)
	}
}

func TestDownloadsThatCannotBeSaved(t *testing.T) {
	t.Parallel()
	web := serve(t, files)
	f := sharedModule(t)
	off := f.session("off", nil, local().with("max_download_bytes", 0))
	off.call("navigate", args{"url": web.URL})
	if d := off.download("Hidden"); d.State != "failed" {
		t.Errorf("with downloads off: %+v", d)
	}
	bare := f.session("bare", nil, local())
	bare.grant.Root = nil
	bare.call("navigate", args{"url": web.URL})
	if d := bare.download("Made"); d.State != "failed" {
		t.Errorf("without a workspace: %+v", d)
	}
}

func TestUpload(t *testing.T) {
	t.Parallel()
	s, web := newSession(t), shop(t)
	check(t, os.WriteFile(filepath.Join(s.dir, "letter.txt"), []byte("Dear all"), 0o600))
	check(t, os.Symlink("/etc/hostname", filepath.Join(s.dir, "leads-out")))
	s.call("navigate", args{"url": web.URL + "/upload"})
	field := args{"selector": "input[type=file]"}
	with := func(files ...string) args { return args{"selector": field["selector"], "files": files} }
	s.refused(tool.Denied, "type", with("../x"), "outside")
	s.refused(tool.Denied, "type", with("leads-out"), "outside")
	s.refused(tool.NotFound, "type", with("none.txt"), "none.txt")
	s.refused(tool.Invalid, "type", args{"selector": "input[type=file]", "text": "letter.txt"}, "files")
	s.refused(tool.Invalid, "type", args{"selector": "button", "files": []string{"letter.txt"}}, "does not take files")
	contains(t, s.call("click", field).Summary, "asks for a file")
	s.call("type", with("letter.txt"))
	s.call("click", args{"text": "Send"})
	contains(t, s.text(args{}), "Got letter.txt: Dear all")
}

// A download is known to the session that caused it, and to no other of the browser.
func TestDownloadsOfOthers(t *testing.T) {
	t.Parallel()
	web := serve(t, files)
	f := sharedModule(t)
	one, other := f.session("one", nil, local()), f.session("other", nil, local())
	for _, s := range []*session{one, other} {
		s.call("navigate", args{"url": web.URL})
	}
	for range 5 {
		one.download("Hidden")
		one.download("Made")
	}
	list := func(s *session) []download {
		return data[struct{ Downloads []download }](t, s.call("tabs", args{})).Downloads
	}
	if mine, others := list(one), list(other); len(mine) != 10 || len(others) != 0 {
		t.Errorf("one session has %d downloads, the other %+v", len(mine), others)
	}
}
