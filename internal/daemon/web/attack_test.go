package web_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"callgate/internal/daemon/web"
	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/token"
)

// with is the same kernel for a test within another.
func (f *face) with(t *testing.T) *face {
	of := *f
	of.TB = t
	return &of
}

// notes are what is on record beside calls.
func (f *face) notes() string {
	f.Helper()
	kerneltest.OK(f, f.kernel.Journal.Flush(f.Context()))
	records, err := f.kernel.Journal.Read(f.Context(), journal.Query{Kind: journal.Noted})
	kerneltest.OK(f, err)
	var all strings.Builder
	for _, r := range records {
		fmt.Fprintf(&all, "%q\n", r.Note)
	}
	return all.String()
}

// dial opens a plain connection to the server. It is closed with the test, and no test waits longer for it than that.
func (f *face) dial() net.Conn {
	f.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(f.server.URL(), "http://"))
	kerneltest.OK(f, err)
	f.Cleanup(func() { _ = conn.Close() })
	kerneltest.OK(f, conn.SetDeadline(time.Now().Add(30*time.Second)))
	return conn
}

// send writes bytes as they are and returns the answer with its body. HOST in it is the server's address.
func (f *face) send(text string) (*http.Response, string) {
	f.Helper()
	conn := f.dial()
	_, err := io.WriteString(conn, strings.ReplaceAll(text, "HOST", conn.RemoteAddr().String()))
	kerneltest.OK(f, err)
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	kerneltest.OK(f, err)
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body)
	return answer, string(body)
}

// login is a browser that followed a link, with the CSRF token of its pages.
func (f *face) login(t *testing.T) (browser *http.Client, own, csrf string) {
	t.Helper()
	code, err := f.kernel.Tokens.OfferLogin(kerneltest.Human(t, f.kernel))
	kerneltest.OK(t, err)
	browser = browserOf(t)
	answer, err := browser.Get(f.server.LoginURL(code))
	kerneltest.OK(t, err)
	_ = answer.Body.Close()
	cookie := answer.Cookies()[0]
	inner := browser.Transport
	browser.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		r.AddCookie(cookie)
		return inner.RoundTrip(r)
	})
	own, _, _ = strings.Cut(f.server.LoginURL(""), "/login")
	answer, err = browser.Get(own + "/")
	kerneltest.OK(t, err)
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	kerneltest.OK(t, err)
	_, csrf, _ = strings.Cut(string(page), `data-csrf="`)
	csrf, _, _ = strings.Cut(csrf, `"`)
	return browser, own, csrf
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A name that leads a browser here, but is not the server's, is refused with a token that counts, and on record.
func TestRebinding(t *testing.T) {
	t.Parallel()
	f := serve(t)
	admin := f.token(token.Admin)
	for _, host := range []string{
		"evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "127.0.0.1@evil.example", "[::1].evil.example", "",
	} {
		answer, body := f.send("GET /v1/status HTTP/1.1\r\nHost: " + host + "\r\nAuthorization: Bearer " + admin +
			"\r\nConnection: close\r\n\r\n")
		if answer.StatusCode != http.StatusForbidden && answer.StatusCode != http.StatusBadRequest {
			t.Errorf("%q: %d %s", host, answer.StatusCode, body)
		}
	}
	if !strings.Contains(f.notes(), "not known by the name in the Host header") {
		t.Errorf("on record is %s", f.notes())
	}
}

// A page of another site has nothing done with the login of a browser, nor does a form without the page's own token.
func TestCrossSiteRequests(t *testing.T) {
	t.Parallel()
	f := serve(t)
	browser, own, csrf := f.login(t)
	post := func(change func(*http.Request)) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), "POST", own+"/v1/sessions", strings.NewReader("{}"))
		kerneltest.OK(t, err)
		r.Header.Set(web.CSRFHeader, csrf)
		change(r)
		answer, err := browser.Do(r)
		kerneltest.OK(t, err)
		_ = answer.Body.Close()
		return answer.StatusCode
	}
	if status := post(func(*http.Request) {}); status != http.StatusOK {
		t.Fatalf("its own page: %d", status)
	}
	for name, change := range map[string]func(*http.Request){
		"another origin": header("Origin", "https://evil.example"), "another site": header("Sec-Fetch-Site", "cross-site"),
		"a page of another port": header("Origin", own+"1"), "no CSRF token": header(web.CSRFHeader, ""),
		"the CSRF token of another": header(web.CSRFHeader, strings.ToLower(csrf)+"A"),
	} {
		if status := post(change); status != http.StatusForbidden {
			t.Errorf("%s: %d", name, status)
		}
	}
	for _, want := range []string{"pages of other origins", "does not carry the CSRF token"} {
		if !strings.Contains(f.notes(), want) {
			t.Errorf("%q is not on record: %s", want, f.notes())
		}
	}
}

// A token that is wrong, of another kernel, changed, expired or revoked lets nobody in, and is on record.
func TestWrongAndExpiredTokens(t *testing.T) {
	t.Parallel()
	f, other := serve(t), serve(t)
	admin := f.token(token.Admin)
	revoked := f.token(token.Admin, func(t *token.Token) { t.Name = "gone" })
	_, err := f.kernel.Tokens.Revoke(t.Context(), kerneltest.Human(t, f.kernel), "gone")
	kerneltest.OK(t, err)
	expired := f.token(token.Viewer, func(t *token.Token) { t.Expires = time.Now().Add(50 * time.Millisecond) })
	for name, value := range map[string]string{
		"another kernel's": other.token(token.Admin), "shortened": admin[:len(admin)-2], "longer": admin + "A",
		"revoked": revoked, "of nothing": "cgt__", "a guess": "cgt_aaaaaaaa_" + strings.Repeat("b", 40),
	} {
		if status, body := f.ask(value, "GET", "/v1/status", ""); status != http.StatusForbidden {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	kerneltest.Eventually(t, func() bool {
		status, _ := f.ask(expired, "GET", "/v1/status", "")
		return status == http.StatusForbidden
	})
	if got := f.notes(); !strings.Contains(got, "expired") {
		t.Errorf("on record is %s", got)
	}
}

// askFirst has a call made that waits for a human, and returns what it waits for.
func (f *face) askFirst() (approvalID string, ended <-chan int) {
	f.Helper()
	done, operator := make(chan int, 1), f.token(token.Operator)
	go func() {
		status, _ := f.ask(operator, "POST", "/v1/tools/shell.bash/call", `{"args":{"command":"touch made && echo said"}}`)
		done <- status
	}()
	kerneltest.Eventually(f, func() bool {
		waiting, err := f.kernel.Approvals.List(f.Context(), approval.Pending, 10)
		kerneltest.OK(f, err)
		if len(waiting) == 1 {
			approvalID = waiting[0].ID
		}
		return approvalID != ""
	})
	return approvalID, done
}

// Who may look may not say yes, by no way that leads to it, and the attempt is on record, also beside strangers who
// guess at the same time.
func TestViewerCannotApprove(t *testing.T) {
	t.Parallel()
	f := serve(t)
	viewer := f.token(token.Viewer, func(t *token.Token) { t.Name = "screen" })
	id, ended := f.askFirst()
	f.ask("cgt_a_b", "GET", "/v1/status", "") // the first that is refused
	for path, body := range map[string]string{
		"/v1/approvals/" + id + "/answer": `{"approve":true,"by":"the owner"}`, "/v1/approvals/" + id + "/challenge": "",
		"/approvals/" + id: "action=approve", "/v1/grants": `{"approval":"` + id + `","choice":1}`,
	} {
		status, answer := f.ask(viewer, "POST", path, body, header("Content-Type", "application/x-www-form-urlencoded"))
		// The page of a form comes again, with why.
		if isPage := status == 200 && strings.Contains(answer, "this needs approver"); !isPage && (status < 400 || status >= 500) {
			t.Errorf("POST %s: %d %s", path, status, answer)
		}
	}
	asked, err := f.kernel.Approvals.List(t.Context(), approval.Pending, 10)
	kerneltest.OK(t, err)
	if len(asked) != 1 {
		t.Errorf("it waits no longer: %+v", asked)
	}
	if got := f.notes(); !strings.Contains(got, "the token screen has the role viewer, and this needs approver") {
		t.Errorf("on record is %s", got)
	}
	kerneltest.Settle(t, f.kernel, id, approval.Answer{})
	<-ended
}

// An ID is one part of a path, whatever is in it, and leads to nothing else.
func TestPathTricks(t *testing.T) {
	t.Parallel()
	f := serve(t)
	admin, viewer := f.token(token.Admin), f.token(token.Viewer)
	for _, id := range []string{
		"..%2f..%2ftokens", "..%5c..%5ctokens", "%2e%2e/tokens", "%2e%2e%2ftokens", "../tokens", "x%00", "x%0d%0aSet-Cookie:%20a=b",
		"%252e%252e%252ftokens", strings.Repeat("a", 4000), "%ff%fe", "x;y=z", ".", "%2e",
	} {
		for _, path := range []string{"/v1/approvals/", "/v1/artifacts/", "/v1/conversations/", "/v1/tasks/", "/approvals/"} {
			for who, value := range map[string]string{"admin": admin, "viewer": viewer} {
				answer, body := f.send("GET " + path + id + " HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer " + value +
					"\r\nConnection: close\r\n\r\n")
				// A path with dots is answered with where it leads, and asked for again it is judged there.
				if answer.StatusCode < 300 && !strings.HasSuffix(id, ".") && id != "%2e" || answer.StatusCode >= 500 ||
					len(answer.Header["Set-Cookie"]) > 0 || strings.Contains(body, `"role"`) {
					t.Errorf("%s%s as %s: %d %v %s", path, id, who, answer.StatusCode, answer.Header, body)
				}
			}
		}
	}
}

// What is too large is refused before it takes memory: of strangers nothing is read at all.
func TestHugeRequests(t *testing.T) {
	t.Parallel()
	f := serve(t)
	operator := f.token(token.Operator)
	head := func(value, more string) string {
		return "POST /v1/tools/filesystem.read/call HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer " + value + "\r\n" + more + "\r\n"
	}
	const terabyte = "Content-Length: 1099511627776\r\n"
	for name, c := range map[string]struct {
		text string
		want int
	}{
		"a stranger's terabyte": {head("cgt_a_b", terabyte), http.StatusForbidden},
		"large headers":         {head(operator, "X-Large: "+strings.Repeat("a", 64<<10)+"\r\n"), http.StatusRequestHeaderFieldsTooLarge},
		"many headers":          {head(operator, strings.Repeat("X-A: b\r\n", 10_000)), http.StatusRequestHeaderFieldsTooLarge},
		"a large path":          {"GET /" + strings.Repeat("a", 64<<10) + " HTTP/1.1\r\nHost: HOST\r\n\r\n", http.StatusRequestHeaderFieldsTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if answer, body := f.with(t).send(c.text); answer.StatusCode != c.want {
				t.Errorf("%d %s", answer.StatusCode, body)
			}
		})
	}
}

// A request whose head breaks the rules of HTTP is refused, and nothing that a client sends comes back as a header.
func TestHeaderInjection(t *testing.T) {
	t.Parallel()
	f := serve(t)
	admin := f.token(token.Admin)
	for name, line := range map[string]string{
		"a lone carriage return": "X-A: b\rSet-Cookie: a=b\r\n", "a zero byte": "X-A: b\x00c\r\n", "a blank name": "X A: b\r\n",
		"two lengths": "Content-Length: 1\r\nContent-Length: 2\r\n", "a folded line": "X-A: b\r\n c\r\nX-B\r\n",
		"an encoding of its own": "Transfer-Encoding: chunked, identity\r\n", "another host": "Host: evil.example\r\n",
	} {
		answer, body := f.send("GET /v1/status HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer " + admin + "\r\n" + line +
			"Connection: close\r\n\r\n")
		if answer.StatusCode < 400 || answer.StatusCode >= 600 || len(answer.Header["Set-Cookie"]) > 0 {
			t.Errorf("%s: %d %v %s", name, answer.StatusCode, answer.Header, body)
		}
	}

	// What comes back in Location is made of IDs and of what a form says.
	const broken = "x\r\nSet-Cookie: stolen=1\r\n\r\n<b>"
	browser, own, csrf := f.login(t)
	id, ended := f.askFirst()
	form := url.Values{"csrf": {csrf}, "action": {"deny"}, "next": {"/conversations/" + broken}}
	answer, err := browser.PostForm(own+"/approvals/"+id, form)
	kerneltest.OK(t, err)
	defer answer.Body.Close()
	if at := answer.Header.Get("Location"); answer.StatusCode != http.StatusSeeOther || strings.ContainsAny(at, "\r\n") ||
		!strings.HasPrefix(at, "/conversations/") || len(answer.Header["Set-Cookie"]) > 0 {
		t.Errorf("the form is answered %d %v", answer.StatusCode, answer.Header)
	}
	<-ended
	f.ask("cgt_a_b", "GET", "/v1/"+url.PathEscape(broken), "")
	if got := f.notes(); strings.Contains(got, `\r\n`) || !strings.Contains(got, "%0D%0ASet-Cookie") {
		t.Errorf("on record is %s", got)
	}
}
