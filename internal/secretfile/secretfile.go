// Package secretfile knows the names of files that usually hold credentials: keys, tokens
// and the settings of programs that keep passwords. A name is a hint and no proof; who may
// read such a file is the rules' to say.
package secretfile

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Is reports whether a file is named as files with credentials are.
func Is(file string) bool {
	name := strings.ToLower(path.Base(filepath.ToSlash(file)))
	ext := path.Ext(name)
	stem := strings.TrimSuffix(name, ext)
	switch {
	case slices.Contains(secretNames, name):
		return true
	case name == ".env" || strings.HasPrefix(name, ".env."):
		return !slices.Contains(exampleEnds, ext)
	case slices.Contains(keyEnds, ext) && stem != "":
		return true
	case strings.HasPrefix(name, "id_") && (ext == "" || ext == ".bak" || ext == ".old"):
		return true // of SSH; its public half ends in .pub
	case !slices.Contains(dataEnds, ext):
		return false // the code of a program that handles credentials is none
	}
	return slices.Contains(secretStems, strings.Trim(stem, "._-"))
}

var (
	secretNames = []string{
		".netrc", "_netrc", ".npmrc", ".yarnrc.yml", ".pypirc", ".pgpass", ".my.cnf", ".mylogin.cnf", ".htpasswd",
		".git-credentials", ".dockercfg", ".vault-token", ".terraformrc", "terraform.tfstate",
		".s3cfg", ".boto", "kubeconfig", ".pgpass.conf", "wp-config.php", ".secret", ".token",
	}
	// exampleEnds are those of an .env that is a template without values.
	exampleEnds = []string{".example", ".sample", ".template", ".dist", ".defaults"}
	keyEnds     = []string{
		".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".tfvars", ".ovpn", ".kubeconfig", ".age",
	}
	dataEnds = []string{
		"", ".json", ".yml", ".yaml", ".toml", ".ini", ".txt", ".csv", ".xml", ".env", ".properties", ".cfg", ".conf", ".plist",
		".enc", ".db",
	}
	secretStems = []string{
		"credentials", "credential", "secrets", "secret", "tokens", "token", "passwords", "password", "passwd", "apikey",
		"apikeys", "api_key", "api_keys", "api-key", "api-keys", "access_token", "access-token", "auth", "service-account",
		"service_account", "serviceaccount", "client_secret", "client_secrets", "client-secret", "private_key", "private-key",
	}
)
