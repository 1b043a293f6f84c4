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
	MCP        bool          `yaml:"mcp"`
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
		c.Bearers = &Bearers{
			Audience: b.Audience, Default: token.Role(b.Default), MCP: b.MCP, MaxAge: b.MaxAge, Algorithms: b.Algorithms,
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
