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

// remote is the repository elsewhere that a call reaches.
type remote struct {
	name  string // "": it is being cloned, and has no name yet
	url   *url.URL
	proxy *netguard.Proxy
	route repo.Network // the settings that lead Git through the proxy
}

// handlerFunc serves a call with decoded arguments.
type handlerFunc[In gittool.Args] func(context.Context, *call, In) (*tool.Result, error)

// handler makes a handler that checks that the network may be used, and opens
// the repository.
func handler[In gittool.Args](g *repo.Runner, name string, run handlerFunc[In]) tool.Handler {
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

// remote opens a remote that the repository's settings name. With push it uses
// the address for pushing, if there is one.
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

// openRemote checks an address and opens a proxy to it. The caller closes the
// remote.
func (c *call) openRemote(name, address string) (*remote, error) {
	u, err := url.Parse(address)
	isHTTP := err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
	if !isHTTP || strings.ContainsAny(address, "\x00\n\r") {
		return nil, tool.Errorf(c.Op, tool.Denied, "the address of the remote cannot be used: %q",
			tool.Truncate(redactAddress(address))).
			WithHint("only https and http can be; keys for ssh, and folders of this machine, are out of reach here")
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
	proxyURL := url.URL{Scheme: "http", User: url.UserPassword(key, password), Host: proxy.Addr()}
	r.route.Settings = [][2]string{
		{"http.proxy", proxyURL.String()}, {"http.proxyAuthMethod", "basic"},
		{"http.followRedirects", "false"}, {"http.sslVerify", "true"},
		{"http.lowSpeedLimit", "1"}, {"http.lowSpeedTime", "60"},
	}
	if name != "" {
		r.route.Settings = append(r.route.Settings, [2]string{"remote." + name + ".url", u.String()})
	}
	if login != "" {
		header := "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(login))
		key := "http." + u.Scheme + "://" + u.Host + "/.extraHeader"
		r.route.Settings = append(r.route.Settings, [2]string{key, header})
	}
	return r, nil
}

func (r *remote) close() { _ = r.proxy.Close() }

// login returns the user name and the password: the app file's credential, which
// is a token or user:password, or else those in the address.
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
		return "", tool.Errorf(c.Op, tool.Denied, "the credential would be sent to %s unencrypted", u.Host).
			WithHint("give the remote an https address")
	}
	return login, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// redactAddress removes what may be secret from an address.
func redactAddress(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Redacted()
	}
	_, after, found := strings.Cut(address, "@")
	if found {
		return after
	}
	return address
}

// runRemote runs Git with a remote. It may change references.
func (c *call) runRemote(ctx context.Context, r *remote, args ...string) error {
	out, err := c.Run(ctx, repo.Command{Args: args, Scope: repo.WriteRefs, Children: true, Network: &r.route})
	if err == nil {
		return nil
	}
	return r.failure(c.Op, out, err)
}

// upstream returns the remote that the call names or a branch follows, and the
// branch there that the branch follows or that has the same name.
func (c *call) upstream(branch, named string) (remote, remoteBranch string) {
	followed := c.Setting("branch." + branch + ".remote")
	if named == "" || named == followed {
		remoteBranch, _ = strings.CutPrefix(c.Setting("branch."+branch+".merge"), "refs/heads/")
	}
	return cmp.Or(named, followed, "origin"), cmp.Or(remoteBranch, branch)
}
