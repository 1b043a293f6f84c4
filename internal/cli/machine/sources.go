package machine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"callgate/internal/amount"
	"callgate/internal/cli/command"
	"callgate/internal/cli/doctor"
	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/tool"
)

// openAPI is the protocol of a source that is an OpenAPI document.
const openAPI = "OpenAPI"

// documentTimeout bounds how long a document of the network is waited for.
const documentTimeout = 20 * time.Second

// sources says how the MCP servers and the OpenAPI documents of the app in force are; nothing where there are none,
// or where the app file cannot be read, which the check of the app says.
func (d *diagnose) sources(ctx context.Context, k *command.Kernel) (checks []doctor.Check) {
	workspace, err := d.WorkspaceDir()
	if err != nil {
		return nil
	}
	file, err := d.AppPath()
	if err != nil {
		return nil
	}
	s, err := k.OpenSession(ctx, protocol.OpenSession{Workspace: workspace, AppFile: file, Where: true})
	if err != nil {
		return []doctor.Check{{Group: doctor.GroupCallgate, Name: "app's tools", State: doctor.Warning, Found: err.Error()}}
	}
	defer k.CloseSession(ctx, s.Close)
	known, err := s.Servers(ctx)
	if err != nil {
		return []doctor.Check{{Group: doctor.GroupCallgate, Name: "app's tools", State: doctor.Warning, Found: err.Error()}}
	}
	for _, one := range known {
		if one.Protocol == openAPI {
			checks = append(checks, document(ctx, s, one))
		} else {
			checks = append(checks, serverCheck(one))
		}
	}
	return append(checks, leftOut(s, known)...)
}

// serverCheck says how an MCP server is, without starting it.
func serverCheck(one protocol.Server) doctor.Check {
	c := doctor.Check{Group: doctor.GroupCallgate, Name: "server " + one.Name, State: doctor.OK}
	c.Found = fmt.Sprintf("%s, %s", one.State, amount.Of(one.Tools, "tool"))
	switch {
	case !one.Accepted:
		c.State, c.Found, c.Fix = doctor.Warning, "not accepted, so it is not started", "callgate mcp trust "+one.Name
	case len(one.Held) > 0:
		c.State, c.Fix = doctor.Warning, held(one)
	case one.LastError != "":
		c.State, c.Fix = doctor.Warning, one.LastError
	}
	return c
}

// document says how the document of an API is. One of the network is asked for.
func document(ctx context.Context, s *client.Session, one protocol.Server) doctor.Check {
	ctx, cancel := context.WithTimeout(ctx, documentTimeout)
	defer cancel()
	c := doctor.Check{Group: doctor.GroupCallgate, Name: "API " + one.Name, State: doctor.OK}
	status, err := s.Refresh(ctx, one.Name)
	if err == nil {
		one.Tools = status.Tools
		if all, listErr := s.Servers(ctx); listErr == nil { // what it holds may be new
			for _, now := range all {
				if now.Name == one.Name && now.Protocol == openAPI {
					one = now
				}
			}
		}
	}
	c.Found = fmt.Sprintf("%s, accepted: %s", amount.Of(one.Tools, "operation"), one.Launch)
	switch {
	case err != nil && one.Tools > 0:
		c.State, c.Fix = doctor.Warning, "its document cannot be had now, so the copy counts: "+message(err)
	case err != nil:
		c.State, c.Found, c.Fix = doctor.Warning, "accepted, but there are no operations of it", message(err)
	case len(one.Held) > 0:
		c.State, c.Fix = doctor.Warning, held(one)
	case len(one.Problems) > 0:
		c.State, c.Fix = doctor.Warning, strings.Join(one.Problems, "; ")
	}
	return c
}

func held(one protocol.Server) string {
	return fmt.Sprintf("%d held until you accept them: callgate mcp trust %s", len(one.Held), one.Name)
}

func message(err error) string {
	var e *tool.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}

// leftOut names the APIs of the app files that are not there, and why.
func leftOut(s *client.Session, known []protocol.Server) (checks []doctor.Check) {
	if s.Where == nil {
		return nil
	}
	for _, f := range s.Where.Files {
		for _, name := range f.APIs {
			if slices.ContainsFunc(known, func(k protocol.Server) bool { return k.Name == name && k.Protocol == openAPI }) {
				continue
			}
			c := doctor.Check{Group: doctor.GroupCallgate, Name: "API " + name, State: doctor.Warning,
				Found: "not accepted, so its operations are no tools", Fix: "callgate app trust"}
			for _, w := range s.Warnings {
				if strings.HasPrefix(w, "the API "+name+" is left out") {
					c.Found, c.Fix = w, ""
				}
			}
			checks = append(checks, c)
		}
	}
	return checks
}
