// Package network is the part of the git module that leaves the machine: clone,
// fetch, pull and push.
//
// Whether a call may leave the machine is for the policy to decide: the tools
// are of high risk and have effects outside, so the gate lets a call through
// that a rule of the app grants, or that a human approved. The constraint
// network: false of the app file forbids all of them.
//
// Git reaches nothing but a proxy of the call's own, on the loopback, where a
// guard checks every connection. It speaks https and http, follows no redirect,
// and has a credential for the remote's own host alone.
package network

import (
	"cmp"
	"context"
	"encoding/base64"
	"net"
	"net/url"
	"slices"
	"strings"

	"callgate/internal/module"
	"callgate/internal/module/git/gittool"
	"callgate/internal/module/git/repo"
	"callgate/internal/netguard"
	"callgate/tool"
)

// Tools are the tools of this package.
func Tools(g *repo.Runner) []module.Definition {
	return []module.Definition{cloneTool(g), fetchTool(g), pullTool(g), pushTool(g)}
}

// call is one call of a tool of this package.
type call struct{ *gittool.Call }

// remote is the other side of a call that leaves the machine.
type remote struct {
	name  string // "": none, it is being cloned
	url   *url.URL
	proxy *netguard.Proxy
	route repo.Network
}

// networked is handler for a tool that leaves the machine.
func networked[In interface{ Folder() string }](g *repo.Runner, name string, run func(context.Context, *call, In) (*tool.Result, error)) tool.Handler {
	return gittool.HandlerWithoutRepo(name, func(ctx context.Context, shared *gittool.Call, in In) (*tool.Result, error) {
		c := &call{shared}
		ctx, cancel := gittool.WithTimeout(ctx, c.Settings.NetworkTimeout)
		defer cancel()
		if err := c.checkNetwork(); err != nil {
			return nil, err
		}
		var err error
		if c.Repository, err = g.Open(c.Op, c.Grant, in.Folder()); err != nil {
			return nil, err
		}
		return run(ctx, c, in)
	})
}

// checkNetwork refuses the call if the app file forbids the network.
func (c *call) checkNetwork() error {
	if c.Settings.Network {
		return nil
	}
	return tool.Errorf(c.Op, tool.Denied, "the app file forbids git to use the network").
		WithHint("work with what is local, or ask the user to remove tools.modules.git.constraints.network: false")
}

// remote finds a remote by its name in the repository's settings; push takes
// the address that is for pushing, where there is one.
func (c *call) remote(name string, push bool) (*remote, error) {
	known := c.Remotes()
	if !slices.Contains(known, name) {
		e := tool.Errorf(c.Op, tool.NotFound, "there is no remote %q", tool.Truncate(name))
		e.Similar = known
		if len(known) == 0 {
			return nil, e.WithHint("the repository has no remotes")
		}
		return nil, e.WithHint("its remotes are %s", strings.Join(known, ", "))
	}
	address := c.Setting("remote." + name + ".url")
	if own := c.Setting("remote." + name + ".pushurl"); push && own != "" {
		address = own
	}
	return c.openRemote(name, address)
}

// openRemote judges an address, and opens the way there. Whoever is given a remote
// closes it.
func (c *call) openRemote(name, address string) (*remote, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || strings.ContainsAny(address, "\x00\n\r") {
		return nil, tool.Errorf(c.Op, tool.Denied, "the address of the remote is not one that is reached: %q", tool.Truncate(shownAddress(address))).
			WithHint("only https and http are; keys for ssh, and folders of this machine, are out of reach here")
	}
	user := u.User
	u.User, u.Fragment = nil, ""
	guard, err := c.Settings.Guard()
	if err == nil {
		err = guard.Check(u)
	}
	if err != nil {
		return nil, err
	}
	login, err := c.login(u, user)
	if err != nil {
		return nil, err
	}
	proxy, err := guard.Proxy(nil)
	if err != nil {
		return nil, err
	}
	r := &remote{name: name, url: u, proxy: proxy}
	key, password := proxy.Credential()
	through := url.URL{Scheme: "http", User: url.UserPassword(key, password), Host: proxy.Addr()}
	r.route.Settings = [][2]string{
		{"http.proxy", through.String()}, {"http.proxyAuthMethod", "basic"}, {"http.followRedirects", "false"}, {"http.sslVerify", "true"},
		{"http.lowSpeedLimit", "1"}, {"http.lowSpeedTime", "60"},
	}
	if name != "" {
		r.route.Settings = append(r.route.Settings, [2]string{"remote." + name + ".url", u.String()})
	}
	if login != "" {
		r.route.Settings = append(r.route.Settings, [2]string{"http." + u.Scheme + "://" + u.Host + "/.extraHeader", "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(login))})
	}
	return r, nil
}

func (r *remote) close() { _ = r.proxy.Close() }

// login is the user name and the password: the app file's credential, a token
// or user:password, or what stands in the address.
func (c *call) login(u *url.URL, user *url.Userinfo) (string, error) {
	login := c.Grant.Credential
	switch {
	case login != "" && !strings.Contains(login, ":"):
		login = "x-access-token:" + login
	case login == "" && user != nil:
		password, _ := user.Password()
		login = user.Username() + ":" + password
	}
	if login != "" && u.Scheme != "https" && !isLoopback(u.Hostname()) {
		return "", tool.Errorf(c.Op, tool.Denied, "the credential would be sent to %s unencrypted", u.Host).WithHint("give the remote an https address")
	}
	return login, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// shownAddress is an address without what may be secret in it.
func shownAddress(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Redacted()
	}
	_, after, found := strings.Cut(address, "@")
	if found {
		return after
	}
	return address
}

// runRemote runs Git on the way to a remote.
func (c *call) runRemote(ctx context.Context, r *remote, reach repo.WriteScope, args ...string) (*repo.Output, error) {
	out, err := c.Run(ctx, repo.Command{Args: args, Reach: reach, Children: true, Network: &r.route})
	if err == nil {
		return out, nil
	}
	return out, r.failure(c.Op, out, err)
}

// failure says what is special about the failures of the network.
func (r *remote) failure(op string, out *repo.Output, err error) error {
	if refused := r.proxy.Refused(r.url); refused != nil {
		return refused
	}
	if out == nil {
		return err
	}
	e := repo.Failure(op, out)
	said := out.Log + out.Text
	host := r.url.Host
	for _, f := range []struct {
		says, message string
		kind          tool.Kind
		hint          string
	}{
		{"could not read Username", host + " asks who is there", tool.Denied, "the user can name a secret with a token in the app file: tools.modules.git.credential"},
		{"Authentication failed", host + " does not accept the credential", tool.Denied, "the user can change the secret that tools.modules.git.credential names"},
		{"returned error: 401", host + " does not accept the credential", tool.Denied, "the user can change the secret that tools.modules.git.credential names"},
		{"returned error: 403", host + " does not permit this", tool.Denied, "the credential may lack the right to do this"},
		{"returned error: 404", "there is no such repository on " + host, tool.NotFound, "check the address of the remote; some hosts say this when the credential is missing"},
		{"not found in upstream", "the remote has no such branch", tool.NotFound, "clone without branch"},
		{"' not found", "there is no such repository on " + host, tool.NotFound, "check the address of the remote; some hosts say this when the credential is missing"},
		{"returned error: 30", host + " says that the repository has moved", tool.Failed, "ask the user to give the remote its new address: redirects are not followed"},
		{"returned error: 50", host + " could not be reached, or failed", tool.Unavailable, "check the address of the remote, and try again later"},
		{"couldn't find remote ref", "the remote has no such branch", tool.NotFound, "git.fetch without branch brings all of them"},
		{"[rejected]", "the remote has commits that are not here", tool.Conflict, "bring them with git.pull, or git.fetch and look, and push again"},
		{"[remote rejected]", "the remote refused the push: " + rejection(said), tool.Denied, "the branch may be protected there"},
		{"stale info", "the remote branch is not where it was when it was last fetched", tool.Conflict, "fetch and look at what is new before you push with force"},
	} {
		if strings.Contains(said, f.says) {
			return &tool.Error{Op: op, Kind: f.kind, Message: f.message, Hint: f.hint}
		}
	}
	return e
}

// rejection is what the other side says of a push.
func rejection(said string) string {
	for line := range strings.Lines(said) {
		if strings.Contains(line, "[remote rejected]") {
			return tool.Truncate(strings.TrimSpace(line[strings.Index(line, "[remote rejected]")+len("[remote rejected]"):]))
		}
	}
	return ""
}

// upstream says which remote and which branch there a local branch belongs to,
// where the call does not.
func (c *call) upstream(branch, remoteName string) (name, there string) {
	name = cmp.Or(remoteName, c.Setting("branch."+branch+".remote"), "origin")
	there, _ = strings.CutPrefix(c.Setting("branch."+branch+".merge"), "refs/heads/")
	if remoteName != "" && remoteName != c.Setting("branch."+branch+".remote") {
		there = ""
	}
	return name, cmp.Or(there, branch)
}
