package oidclogin

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"callgate/internal/token"
	"callgate/tool"
)

// file is a configuration as a person writes it.
type file struct {
	Issuer           string       `yaml:"issuer"`
	ClientID         string       `yaml:"client_id"`
	ClientSecretFile string       `yaml:"client_secret_file"` // relative to the file
	Redirect         string       `yaml:"redirect"`
	User             string       `yaml:"user"`
	Teams            string       `yaml:"teams"`
	People           []ruleOfFile `yaml:"people"`
	Bearer           *bearerFile  `yaml:"bearer"`
}

// bearerFile is what a configuration says of programs that come with what the provider signed.
type bearerFile struct {
	Audience   []string      `yaml:"audience"`
	Roles      []ruleOfFile  `yaml:"roles"`
	Default    string        `yaml:"default"`
	MCP        any           `yaml:"mcp"` // the audiences of MCP clients; false: none
	MaxAge     time.Duration `yaml:"max_age"`
	Algorithms []string      `yaml:"algorithms"`
}

type ruleOfFile struct {
	Claim string `yaml:"claim"`
	Value string `yaml:"value"`
	Role  string `yaml:"role"`
}

const maxFile = 1 << 20

// Read makes the provider that a file describes.
func Read(name string) (*Provider, error) {
	data, err := readSmall(name)
	if err != nil {
		return nil, unusable(name, err)
	}
	var f file
	if err := yaml.NewDecoder(bytes.NewReader(data), yaml.DisallowUnknownField()).Decode(&f); err != nil {
		return nil, unusable(name, errors.New(yaml.FormatError(err, false, false)))
	}
	c := Config{Issuer: f.Issuer, ClientID: f.ClientID, Redirect: f.Redirect, User: f.User, Teams: f.Teams}
	if f.ClientSecretFile != "" {
		at := f.ClientSecretFile
		if !filepath.IsAbs(at) {
			at = filepath.Join(filepath.Dir(name), at)
		}
		secret, err := readSmall(at)
		if err != nil {
			return nil, unusable(name, err)
		}
		c.ClientSecret = strings.TrimSpace(string(secret))
	}
	for _, p := range f.People {
		c.People = append(c.People, Rule{p.Claim, p.Value, token.Role(p.Role)})
	}
	if b := f.Bearer; b != nil {
		clients, err := audiencesOf(b.MCP)
		if err != nil {
			return nil, unusable(name, err)
		}
		c.Bearers = &Bearers{
			Audience: b.Audience, Default: token.Role(b.Default), MCP: clients, MaxAge: b.MaxAge, Algorithms: b.Algorithms,
		}
		for _, r := range b.Roles {
			c.Bearers.Roles = append(c.Bearers.Roles, Rule{r.Claim, r.Value, token.Role(r.Role)})
		}
	}
	p, err := New(c)
	if err != nil {
		return nil, unusable(name, err)
	}
	return p, nil
}

// audiencesOf reads the audiences of MCP clients. Earlier versions took true, and then the audience of the API counted
// for MCP clients.
func audiencesOf(value any) (all []string, err error) {
	refused := func(what string) error {
		return tool.Errorf("oidclogin.Read", tool.Invalid, "bearer: mcp %s", what).WithHint("%s", mcpLine)
	}
	switch v := value.(type) {
	case nil:
		return nil, nil
	case bool:
		if !v {
			return nil, nil
		}
		return nil, refused("is true, and MCP clients need an audience of their own: with that of the API, an agent that " +
			"holds the token of its MCP client could approve its own calls")
	case string:
		return []string{v}, nil
	case []any:
		for _, one := range v {
			text, ok := one.(string)
			if !ok {
				return nil, refused("is no list of audiences")
			}
			all = append(all, text)
		}
		return all, nil
	}
	return nil, refused("is no list of audiences")
}

func readSmall(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFile {
		return nil, errors.New(name + " is too large")
	}
	return os.ReadFile(name)
}

func unusable(name string, err error) error {
	e := &tool.Error{Op: "oidclogin.Read", Kind: tool.Invalid, Err: err,
		Message: "the configuration of logins " + name + " cannot be used", Hint: "callgate help http-api shows one"}
	var cause *tool.Error
	if errors.As(err, &cause) {
		e.Hint = cause.Hint
	}
	return e
}
