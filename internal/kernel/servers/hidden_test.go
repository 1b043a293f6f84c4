package servers_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/servers"
	"callgate/internal/kernel/session"
)

// What people and models are told of a server has no values of the environment.
func TestServersTellNoValues(t *testing.T) {
	const value = "s3cr3t-of-the-environment"
	t.Setenv("TEST_OF_SERVERS", value)
	for name, server := range map[string]string{
		"a program that is not there": "{command: '/none/{{env.TEST_OF_SERVERS}}'}",
		"arguments and variables":     "{command: /none, args: ['{{env.TEST_OF_SERVERS}}'], env: {A: '{{env.TEST_OF_SERVERS}}'}}",
		"a folder that is not there":  "{command: sh, dir: '/{{env.TEST_OF_SERVERS}}'}",
		"places":                      "{command: /none, readable: ['/{{env.TEST_OF_SERVERS}}']}",
		"an address":                  "{url: 'http://127.0.0.1:1/{{env.TEST_OF_SERVERS}}', headers: {X: '{{env.TEST_OF_SERVERS}}'}}",
		"an address that is none":     "{url: 'http://[{{env.TEST_OF_SERVERS}}'}",
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			kerneltest.Write(t, filepath.Join(folder, "callgate.yaml"),
				"tools:\n  modules: {mcp: {config: {servers: {x: "+server+"}}}}\n")
			k := kerneltest.Open(t, kerneltest.StateDir(t))
			s, err := k.OpenSession(t.Context(), session.Spec{Workspace: folder})
			if err != nil {
				if strings.Contains(err.Error(), value) {
					t.Error(err)
				}
				return
			}
			told := fmt.Sprintf("%+v", kerneltest.ServersByName(t, k, s))
			accept(t, k, s, "x")
			one, err := kerneltest.ServersOf(k, s).Get("x")
			kerneltest.OK(t, err)
			told += fmt.Sprint(one.Refresh(t.Context()))
			told += fmt.Sprintf("%+v", kerneltest.ServersByName(t, k, s)) + strings.Join(s.Warnings(), "\n")
			if strings.Contains(told, value) || !strings.Contains(told, "{{env.TEST_OF_SERVERS}}") {
				t.Error(told)
			}
		})
	}
}

// The same address in another folder is asked about there, and a login's secret is
// part of what a human sees.
func TestAddressIsAcceptedInItsFolder(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	const text = "tools:\n  modules: {mcp: {config: {servers: {hub: {url: 'http://127.0.0.1:1/', " +
		"oauth: {client_id: us, client_secret: '{{secret.github}}'}}}}}}\n"
	for i, folder := range []string{t.TempDir(), t.TempDir()} {
		kerneltest.Write(t, filepath.Join(folder, "callgate.yaml"), text)
		s := kerneltest.OpenSession(t, k, folder)
		hub := kerneltest.ServersByName(t, k, s)["hub"]
		if hub.Accepted || !strings.Contains(hub.Launch, "{{secret.github}}") {
			t.Errorf("folder %d: accepted %v: %s", i, hub.Accepted, hub.Launch)
		}
		accept(t, k, s, "hub")
	}
}

// accept lets a server run, and does not wait for it.
func accept(t *testing.T, k *kernel.Kernel, s *session.Session, name string) {
	t.Helper()
	launch := kerneltest.ServersByName(t, k, s)[name].Launch
	kerneltest.OK(t, k.AcceptServer(kerneltest.Human(t, k), s, name, servers.Word{Launch: launch}))
}
