package oidclogin

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"

	"callgate/internal/token"
	"callgate/tool"
)

// file is a configuration as a person writes it.
type file struct {
	Issuer           string `yaml:"issuer"`
	ClientID         string `yaml:"client_id"`
	ClientSecretFile string `yaml:"client_secret_file"` // relative to the file
	Redirect         string `yaml:"redirect"`
	User             string `yaml:"user"`
	Teams            string `yaml:"teams"`
	People           []struct {
		Claim string `yaml:"claim"`
		Value string `yaml:"value"`
		Role  string `yaml:"role"`
	} `yaml:"people"`
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
