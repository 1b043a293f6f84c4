package sandbox

import "path/filepath"

// privateNames are what a home folder keeps for its user alone: keys,
// credentials, histories, and the settings of programs that hold some.
var privateNames = []string{
	".ssh", ".aws", ".azure", ".gnupg", ".config", ".kube", ".docker", ".password-store", ".mozilla", ".thunderbird",
	".local/share/keyrings", ".local/share/kwalletd", ".local/state/callgate",
	".netrc", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".git-credentials",
	".cargo/credentials", ".cargo/credentials.toml",
	".bash_history", ".zsh_history", ".python_history", ".psql_history",
}

// PrivatePaths returns what no tool reaches of a home folder that lies in a
// workspace. They need not exist.
func PrivatePaths(home string) []string {
	if !filepath.IsAbs(home) {
		return nil
	}
	paths := make([]string, len(privateNames))
	for i, name := range privateNames {
		paths[i] = filepath.Join(home, filepath.FromSlash(name))
	}
	return paths
}
