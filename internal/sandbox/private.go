package sandbox

import "path/filepath"

// privateNames are what a home folder keeps for its user alone: keys,
// credentials, histories, and the settings of programs that hold some.
var privateNames = []string{
	".ssh", ".aws", ".azure", ".gnupg", ".config", ".kube", ".docker", ".password-store", ".mozilla", ".thunderbird",
	".local/share/keyrings", ".local/share/kwalletd", ".local/state/callgate",
	// Browsers from packages of their own, on macOS and on Windows.
	".librewolf", ".pki", "snap/firefox", "snap/chromium", "snap/brave", ".var/app",
	"Library/Keychains", "Library/Cookies", "Library/Safari", "Library/Application Support/Google/Chrome",
	"Library/Application Support/Firefox", "Library/Application Support/BraveSoftware",
	"Library/Application Support/Microsoft Edge", "AppData/Local/Google/Chrome/User Data",
	"AppData/Local/Microsoft/Edge/User Data", "AppData/Roaming/Mozilla", "AppData/Roaming/gcloud",
	".boto", ".s3cfg", ".oci", ".aliyun", ".bluemix", ".databrickscfg", ".vault-token",
	".terraform.d/credentials.tfrc.json", ".gem/credentials", ".composer/auth.json",
	".claude/.credentials.json", ".codex/auth.json", ".gemini/oauth_creds.json", ".local/share/opencode/auth.json",
	".Xauthority", ".ICEauthority", ".screen",
	".netrc", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".git-credentials",
	".cargo/credentials", ".cargo/credentials.toml",
	".bash_history", ".zsh_history", ".python_history", ".psql_history",
	".mysql_history", ".sqlite_history", ".node_repl_history", ".rediscli_history", ".local/share/fish/fish_history",
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
