//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"callgate/scripts/cluster/effects"
	"callgate/scripts/cluster/world"
)

// cluster is a database, some nodes, and what their calls change.
type cluster struct {
	folder  string
	network *world.Network
	server  *world.Host
	db      *world.Postgres
	nodes   []*world.Node
	ledger  *effects.Ledger
	certs   *world.Certificates
	token   string
	http    *http.Server
}

// newCluster makes a cluster of n nodes that run a program, and waits until they serve.
func newCluster(ctx context.Context, n int, program string, extra ...string) (c *cluster, err error) {
	c = &cluster{ledger: effects.NewLedger()}
	if c.folder, err = os.MkdirTemp("", "cluster"); err != nil {
		return nil, err
	}
	if err := os.Chmod(c.folder, 0o755); err != nil { // the database's user goes through it
		return nil, err
	}
	for _, step := range []func() error{
		func() error { return c.connect(n) },
		func() (err error) {
			c.db, err = world.StartPostgres(ctx, c.server, filepath.Join(c.folder, "postgres"))
			return err
		},
		func() error { return c.serveEffects() },
		func() error { return c.startNodes(ctx, program, extra) },
	} {
		if err := step(); err != nil {
			return nil, errors.Join(err, c.close(true))
		}
	}
	return c, nil
}

func (c *cluster) connect(n int) (err error) {
	if c.network, err = world.NewNetwork(); err != nil {
		return err
	}
	if c.server, err = c.network.Add("postgres"); err != nil {
		return err
	}
	var hosts []*world.Host
	for i := range n {
		h, err := c.network.Add(fmt.Sprintf("node%d", i+1))
		if err != nil {
			return err
		}
		hosts = append(hosts, h)
		c.nodes = append(c.nodes, &world.Node{Host: h})
	}
	c.certs, err = world.NewCertificates(c.folder, hosts...)
	return err
}

func (c *cluster) serveEffects() error {
	l, err := net.Listen("tcp", net.JoinHostPort(c.network.Outside(), "8099"))
	if err != nil {
		return err
	}
	c.http = &http.Server{Handler: c.ledger}
	go func() { _ = c.http.Serve(l) }()
	return nil
}

func (c *cluster) startNodes(ctx context.Context, program string, extra []string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for i, n := range c.nodes {
		folder := filepath.Join(c.folder, n.Name)
		if c.nodes[i], err = world.NewNode(n.Host, program, c.db.URL(), folder, c.certs); err != nil {
			return err
		}
		c.nodes[i].Extra = append(extra, effects.ServerVariable+"=http://"+net.JoinHostPort(c.network.Outside(), "8099"))
		if err := c.nodes[i].Start(); err != nil {
			return err
		}
	}
	for _, n := range c.nodes {
		if err := n.WaitReady(ctx, c.certs.Client(time.Second)); err != nil {
			return err
		}
	}
	c.token, err = c.newToken(c.nodes[0])
	return err
}

// newToken makes a token at a node, as a person does.
func (c *cluster) newToken(n *world.Node) (string, error) {
	person := filepath.Join(c.folder, "person")
	if out, err := exec.Command("go", "build", "-o", person, "./scripts/person").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building scripts/person: %w: %s", err, out)
	}
	create := exec.Command(person, n.Program, "token", "create", "--role", "operator", "--name", "clients")
	create.Dir, create.Env = n.Workspace(), n.Env()
	made, err := create.Output()
	if err != nil {
		return "", fmt.Errorf("token create: %w: %s", err, made)
	}
	return strings.TrimSpace(string(made)), nil
}

// close ends everything. The folder is kept if it may be of use.
func (c *cluster) close(keep bool) error {
	for _, n := range c.nodes {
		n.Kill()
	}
	if c.db != nil {
		c.db.Kill()
	}
	if c.http != nil {
		_ = c.http.Close()
	}
	var all error
	if c.network != nil {
		all = c.network.Close()
	}
	if keep {
		fmt.Fprintln(os.Stderr, "kept:", c.folder)
		return all
	}
	return errors.Join(all, os.RemoveAll(c.folder))
}
