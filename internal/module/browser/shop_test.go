package browser_test

import (
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"callgate/tool"
)

// shop is an application of several pages: a login, a table, windows, lists
// that grow, files, questions, frames.
func shop(t testing.TB) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	page := func(w http.ResponseWriter, title, body string) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<!doctype html><html lang=en><head><title>%s</title><style>.gone{display:none}</style></head>"+
			"<body>%s</body></html>", title, body)
	}
	user := func(r *http.Request) string {
		if c, err := r.Cookie("user"); err == nil {
			name, _ := url.QueryUnescape(c.Value)
			return name
		}
		return ""
	}
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		who := "nobody"
		if u := user(r); u != "" {
			who = html.EscapeString(u)
		}
		page(w, "Shop", `<h1>Welcome to the shop</h1><p>You are `+who+`.</p>
			<p class=gone>never seen</p><script>var hidden = "in a script"</script>
			<nav><a href="/login">Sign in</a> <a href="/orders">Orders</a></nav>`)
	})
	mux.HandleFunc("GET /login", func(w http.ResponseWriter, r *http.Request) {
		page(w, "Sign in", `<h1>Sign in</h1><form method=post action=/login>
			<label>Name <input name=name></label>
			<label>Password <input type=password name=password></label>
			<label>Country <select name=country><option value=de>Germany</option><option value=fr>France</option>
			<option disabled>Atlantis</option></select></label>
			<label><input type=checkbox name=terms> I agree</label>
			<button disabled id=go>Enter the shop</button></form>
			<script>document.querySelector('[name=terms]').onchange = e => {
				document.querySelector('#go').disabled = !e.target.checked }</script>`)
	})
	mux.HandleFunc("POST /login", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("password") != "open sesame" || r.FormValue("country") != "fr" {
			w.WriteHeader(http.StatusForbidden)
			page(w, "No", "<p>Wrong password.</p>")
			return
		}
		http.SetCookie(w, &http.Cookie{Name: "user", Value: url.QueryEscape(r.FormValue("name")), HttpOnly: true})
		http.Redirect(w, r, "/orders", http.StatusSeeOther)
	})
	mux.HandleFunc("GET /orders", func(w http.ResponseWriter, r *http.Request) {
		if user(r) == "" {
			http.Redirect(w, r, "/login", http.StatusSeeOther)
			return
		}
		page(w, "Orders", `<h1>Orders of `+html.EscapeString(user(r))+`</h1>
			<table><thead><tr><th>Item<th>Price</thead><tbody><tr><td>Lamp<td>20 €<tr><td>Chair<td>45 €</tbody></table>
			<a href="/report.csv" download>Report</a>
			<button onclick="window.open('/help')">Help</button>
			<button onclick="said.textContent = confirm('Delete everything?') ? 'deleted' : 'kept'">Delete</button>
			<output id=said></output>
			<a href="/feed">Feed</a>
			<iframe src="/frame" title="The till"></iframe>`)
	})
	mux.HandleFunc("GET /help", func(w http.ResponseWriter, r *http.Request) {
		page(w, "Help", `<h1>Help</h1><p>Ask the keeper.</p><button onclick="window.close()">Thank you</button>`)
	})
	mux.HandleFunc("GET /report.csv", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Disposition", `attachment; filename="report of May.csv"`)
		fmt.Fprint(w, "item,price\nlamp,20\nchair,45\n")
	})
	mux.HandleFunc("GET /frame", func(w http.ResponseWriter, r *http.Request) {
		page(w, "Till", `<p>In the till: 65 €</p><button onclick="this.textContent = 'Paid'">Pay</button>`)
	})
	mux.HandleFunc("GET /feed", func(w http.ResponseWriter, r *http.Request) {
		page(w, "Feed", `<h1>Feed</h1><ol id=list></ol><script>
			let n = 0;
			function more() { for (let i = 0; i < 20; i++) { const li = document.createElement('li');
				li.style.height = '80px'; li.textContent = 'Entry ' + (++n); list.append(li); } }
			more();
			addEventListener('scroll', () => {
				if (n < 100 && innerHeight + scrollY > document.body.scrollHeight - 50) setTimeout(more, 20); });
		</script>`)
	})
	mux.HandleFunc("POST /upload", func(w http.ResponseWriter, r *http.Request) {
		f, h, err := r.FormFile("file")
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		defer f.Close()
		var b strings.Builder
		buf := make([]byte, 1000)
		n, _ := f.Read(buf)
		b.Write(buf[:n])
		page(w, "Thanks", `<p>Got `+html.EscapeString(h.Filename)+`: `+html.EscapeString(b.String())+`</p>`)
	})
	mux.HandleFunc("GET /upload", func(w http.ResponseWriter, r *http.Request) {
		page(w, "Upload", `<form method=post enctype=multipart/form-data><input type=file name=file>
			<button>Send</button></form>`)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

// A person's way through an application, by tool calls alone.
func TestShop(t *testing.T) {
	t.Parallel()
	s, web := newSession(t), shop(t)
	r := s.call("navigate", args{"url": web.URL})
	if d := data[stateData](t, r); d.Status != 200 || d.Title != "Shop" || !strings.HasPrefix(d.Tab, "t_") {
		t.Fatalf("%+v", d)
	}
	text := s.text(args{})
	contains(t, text, "# Welcome to the shop", "You are nobody.", "[Sign in]("+web.URL+"/login)")
	lacks(t, text, "never seen", "in a script")

	s.call("click", args{"text": "Sign in"})
	tree := s.tree()
	contains(t, tree, `heading "Sign in" level=1`, `textbox "Name"`, "disabled")
	s.call("type", args{"ref": ref(t, tree, "textbox", "Name"), "text": "Ada Ünlü 漢"})
	s.call("type", args{"label": "Password", "text": "open sesame"})
	r = s.call("select", args{"label": "Country", "values": []string{"france"}})
	contains(t, string(r.Data), `"chosen":["France"]`)
	s.refused("not_found", "select", args{"label": "Country", "values": []string{"Spain"}}, "Germany")
	s.call("click", args{"text": "I agree"})
	r = s.call("click", args{"ref": ref(t, tree, "Enter the shop")})
	if d := data[stateData](t, r); !d.Navigated || d.URL != web.URL+"/orders" {
		t.Fatalf("after the login: %s %s", r.Summary, r.Data)
	}

	text = s.text(args{})
	contains(t, text, "Orders of Ada Ünlü 漢", "| Lamp", "45 €", "In the till: 65 €")
	r = s.call("click", args{"text": "Help"})
	popup := data[stateData](t, r).Popups
	if len(popup) != 1 {
		t.Fatalf("the help opened %s", r.Data)
	}
	contains(t, s.text(args{"tab": popup[0].Tab}), "Ask the keeper.")
	contains(t, s.call("tabs", args{}).Content[0].Text, `"Help"`, `* t_`)
	s.call("click", args{"tab": popup[0].Tab, "text": "Thank you"})
	_, err := s.try("wait", args{"tab": popup[0].Tab, "text": "never"})
	if err == nil || tool.KindOf(err) == tool.Timeout {
		t.Errorf("the tab that closed itself could be used: %v", err)
	}

	r = s.call("click", args{"text": "Delete"})
	asked := data[stateData](t, r).Dialogs
	if len(asked) != 1 || asked[0].Message != "Delete everything?" || asked[0].Answer != "dismissed" {
		t.Errorf("the question: %s", r.Data)
	}
	contains(t, s.text(args{}), "kept")
	s.call("click", args{"text": "Delete", "dialog": "accept"})
	contains(t, s.text(args{}), "deleted")

	for _, want := range []string{"downloads/report of May.csv", "downloads/report of May (2).csv"} {
		if d := s.download("Report"); d.Path != want || d.State != "saved" {
			t.Errorf("downloaded %+v, want %s", d, want)
		}
		contains(t, s.file(want), "lamp,20")
	}

	tree = s.tree()
	s.call("click", args{"ref": ref(t, tree, `button "Pay"`)})
	contains(t, s.tree(), `button "Paid"`)

	s.call("click", args{"text": "Feed"})
	lacks(t, s.text(args{}), "Entry 21")
	s.call("type", args{"keys": []string{"End"}})
	s.call("wait", args{"text": "Entry 40"})
	s.call("back", args{})
	contains(t, s.text(args{}), "Orders of Ada")
}
