package sandbox

import (
	"path/filepath"
	"slices"
	"strings"
)

// credential is where one program keeps keys, tokens, passwords or histories in a
// home folder: files, and folders with all that is in them.
type credential struct {
	program string
	names   []string
	source  string // the documentation that says so
}

// settingsFolder is private as a whole: so many programs keep tokens among their
// settings there that the list of them is never complete.
const settingsFolder = ".config"

// credentials is the one table of private places. docs/RATIONALE.md repeats it, and a
// test compares the two.
var credentials = []credential{
	// Keys, and programs that keep other programs' secrets.
	{"OpenSSH", []string{".ssh"}, "ssh(1), FILES"},
	{"GnuPG", []string{".gnupg"}, "gpg(1), FILES"},
	{"pass, gopass", []string{".password-store", ".local/share/gopass", ".config/gopass"}, "pass(1); gopass: Configuration"},
	{"GNOME keyring, KWallet", []string{".local/share/keyrings", ".local/share/kwalletd"}, "GNOME Keyring: Files; KWallet Handbook"},
	{"1Password, Bitwarden, LastPass, KeePassXC", []string{
		".op", ".config/op", ".config/1Password", ".config/Bitwarden CLI", ".lpass", ".local/share/lpass", ".config/lpass",
		".cache/keepassxc", ".config/keepassxc",
	}, "the command line guides of each"},
	{"HashiCorp Vault", []string{".vault-token", ".vault"}, "Vault: Token helpers"},
	{"Doppler, Infisical", []string{".doppler", ".infisical"}, "Doppler CLI: Configuration; Infisical CLI: FAQ"},
	{"age, SOPS, minisign, Sigstore", []string{
		".age", ".config/age", ".config/sops", ".minisign", ".signify", ".sigstore",
	}, "SOPS: Encrypting using age; minisign(1); cosign: Keys"},
	{"Kerberos, Samba, davfs2, s3fs, VNC", []string{
		".k5identity", ".smbcredentials", ".davfs2", ".passwd-s3fs", ".vnc",
	}, "kerberos(7); mount.cifs(8); davfs2.conf(5); s3fs(1); vncpasswd(1)"},
	{"X, screen", []string{".Xauthority", ".ICEauthority", ".screen"}, "xauth(1); iceauth(1); screen(1)"},
	{"Apple keychains, Safari", []string{"Library/Keychains", "Library/Cookies", "Library/Safari"}, "security(1)"},

	// Version control.
	{"Git", []string{
		".git-credentials", ".config/git/credentials", ".git-credential-cache", ".cache/git/credential",
	}, "git-credential-store(1), git-credential-cache(1)"},
	{"Git Credential Manager", []string{".gcm"}, "Git Credential Manager: Credential stores"},
	{"GitHub CLI, hub, gist", []string{".config/gh", ".config/hub", ".gist"}, "gh auth login; hub(1); gist: Login"},
	{"GitLab CLI", []string{".config/glab-cli"}, "glab: Configuration"},
	{"Subversion, Mercurial, CVS, Perforce", []string{
		".subversion/auth", ".hgrc", ".config/hg", ".cvspass", ".p4tickets", ".p4enviro", ".p4trust",
	}, "SVN Book: Runtime configuration area; hgrc(5); cvs(1); P4TICKETS"},

	// Network clients.
	{"curl, Wget, FTP", []string{".netrc", "_netrc", ".curlrc", ".wgetrc", ".lftp", ".local/share/lftp", ".ncftp"},
		"curl: netrc; Wget manual: Startup file; lftp(1)"},
	{"rclone, s3cmd, FileZilla, Borg", []string{
		".rclone.conf", ".config/rclone", ".s3cfg", ".filezilla", ".config/filezilla", ".config/borg",
	}, "rclone config; s3cmd: Configuration; FileZilla: Config files; borg: Environment"},
	{"mail clients", []string{
		".thunderbird", ".muttrc", ".mutt", ".msmtprc", ".mbsyncrc", ".offlineimaprc", ".fetchmailrc", ".getmail", ".mailrc",
		".authinfo", ".authinfo.gpg",
	}, "msmtp(1); mbsync(1); fetchmail(1); mutt(1); Emacs: auth-source"},
	{"ngrok, cloudflared", []string{".ngrok2", ".config/ngrok", ".cloudflared"},
		"ngrok: Agent configuration file; cloudflared: Tunnel credentials"},

	// Packages.
	{"npm", []string{".npmrc"}, "npmrc(5)"},
	{"Yarn", []string{".yarnrc", ".yarnrc.yml"}, "Yarn: yarnrc"},
	{"pnpm", []string{".config/pnpm", "Library/Preferences/pnpm"}, "pnpm: Configuring"},
	{"Bun", []string{".bunfig.toml"}, "Bun: bunfig.toml"},
	{"Deno", []string{".deno/credentials.json"}, "deployctl: Authentication"},
	{"pip, Twine", []string{".pypirc", ".pip", ".config/pip"}, "pip: Configuration; The .pypirc file"},
	{"uv", []string{".local/share/uv/credentials", ".config/uv"}, "uv: Authentication"},
	{"Poetry, Hatch", []string{
		".config/pypoetry", "Library/Application Support/pypoetry", ".cache/hatch", ".config/hatch",
	}, "Poetry: Configuration; hatch publish"},
	{"conda, Anaconda", []string{
		".condarc", ".conda/.condarc", ".conda/condarc", "anaconda3/.condarc", "miniconda3/.condarc", "mambaforge/.condarc",
		"miniforge3/.condarc", ".continuum", ".anaconda", ".mambarc",
	}, "conda: Using the .condarc configuration file; anaconda-client"},
	{"Cargo", []string{".cargo/credentials", ".cargo/credentials.toml"}, "The Cargo Book: Configuration"},
	{"RubyGems, Bundler", []string{".gem/credentials", ".local/share/gem/credentials", ".bundle/config"},
		"RubyGems: API key; bundle config"},
	{"Composer", []string{".composer/auth.json", ".config/composer/auth.json"}, "Composer: Authentication"},
	{"Maven", []string{".m2/settings.xml", ".m2/settings-security.xml"}, "Maven: Settings, Password encryption"},
	{"Gradle", []string{".gradle/gradle.properties"}, "Gradle: Build environment"},
	{"sbt, Ivy, Leiningen", []string{".sbt/.credentials", ".ivy2/.credentials", ".lein/credentials.clj.gpg", ".lein/profiles.clj"},
		"sbt: Publishing; Leiningen: Deploying"},
	{"NuGet, .NET", []string{
		".nuget/NuGet", ".config/NuGet", ".microsoft/usersecrets", ".dotnet/corefx", ".aspnet",
	}, "NuGet: Configuration; ASP.NET Core: Safe storage of app secrets, Data protection"},
	{"Hex, Pub, Cabal, Stack, Conan", []string{
		".hex/hex.config", ".config/hex", ".config/dart", ".pub-cache/credentials.json", ".cabal/config", ".config/cabal", ".stack/upload",
		".conan/.conan.db", ".conan2/credentials.json", ".conan2/.conan.db",
	}, "mix hex.user; dart pub token; Cabal: Configuration; stack upload; conan remote login"},
	{"JFrog CLI", []string{".jfrog"}, "JFrog CLI: Configuration"},

	// Containers, clusters, infrastructure.
	{"Docker", []string{".docker"}, "docker login: Credential stores"},
	{"Podman, Buildah, Skopeo", []string{".config/containers"}, "containers-auth.json(5)"},
	{"Kubernetes, Helm, minikube, k3d, Rancher", []string{
		".kube", ".config/helm", ".minikube", ".config/k3d", ".rancher",
	}, "kubeconfig; Helm: Registries; minikube: Certificates"},
	{"Terraform, OpenTofu", []string{".terraform.d/credentials.tfrc.json", ".terraformrc", ".tofurc"},
		"Terraform: CLI configuration"},
	{"Pulumi", []string{".pulumi/credentials.json"}, "pulumi login"},
	{"Ansible, Chef, Vagrant", []string{
		".ansible/galaxy_token", ".ansible/cp", ".vault_pass", ".vault_pass.txt", ".chef", ".vagrant.d/data",
		".vagrant.d/insecure_private_key", ".vagrant.d/insecure_private_keys",
	}, "ansible-galaxy; Chef: credentials; Vagrant: Machine settings"},

	// Clouds and hosts.
	{"AWS", []string{".aws", ".awsvault", ".saml2aws", ".elasticbeanstalk", ".boto"}, "AWS CLI: Configuration and credential files; boto"},
	{"Azure", []string{".azure", ".azd/auth"}, "Azure CLI: Configuration; azd auth login"},
	{"Google Cloud, Firebase, clasp", []string{
		".config/gcloud", "AppData/Roaming/gcloud", ".gsutil", ".clasprc.json", ".config/configstore",
	}, "gcloud topic configurations; gsutil: Credential types; clasp login"},
	{"Oracle, IBM, Alibaba, Tencent, OVH", []string{".oci", ".bluemix", ".aliyun", ".tccli", ".ovh.conf"},
		"OCI: SDK and CLI configuration file; the command line guides of the others"},
	{"DigitalOcean, Hetzner, Linode, Scaleway, Vultr, OpenStack", []string{
		".config/doctl", ".config/hcloud", ".config/linode-cli", ".linode-cli", ".config/scw", ".vultr-cli.yaml", ".config/openstack",
	}, "the command line guides of each"},
	{"Fly", []string{".fly/config.yml"}, "flyctl: Configuration"},
	{"Supabase", []string{".supabase/access-token"}, "supabase login"},
	{"Vercel, Turborepo", []string{
		".local/share/com.vercel.cli", ".vercel", ".now", ".turbo/config.json", ".config/turborepo",
	}, "Vercel CLI: Global options; turbo login"},
	{"Netlify, Cloudflare", []string{
		".netlify/config.json", ".config/netlify", ".wrangler/config", ".config/.wrangler",
	}, "Netlify CLI; wrangler login"},
	{"Heroku, Railway, Render", []string{
		".heroku", ".local/share/heroku", ".config/heroku", ".railway/config.json", ".config/railway", ".render/cli.yaml",
	}, "Heroku CLI: Authentication; railway login; render login"},
	{"Neon, PlanetScale, Turso, Convex, Appwrite, Expo", []string{
		".config/neonctl", ".config/planetscale", ".config/turso", ".convex/config.json", ".appwrite", ".expo/state.json",
	}, "the command line guides of each"},
	{"Stripe, Twilio, Shopify, Slack, Salesforce", []string{
		".config/stripe", ".twilio-cli", ".config/shopify", ".slack/credentials.json", ".sfdx", ".sf",
	}, "stripe login; Twilio CLI: Profiles; shopify auth; slack auth; sf org login"},
	{"Sentry, Datadog, New Relic, WakaTime", []string{
		".sentryclirc", ".dogrc", ".datadog", ".newrelic", ".wakatime.cfg",
	}, "Sentry CLI: Configuration; Dogshell; newrelic profile; WakaTime: Config file"},
	{"Okta, Auth0, Tailscale, Keybase", []string{".okta", ".config/auth0", ".local/share/tailscale", ".local/share/keybase", ".config/keybase"},
		"okta.yaml; auth0 login; keybase: Files"},
	{"CircleCI, Travis, Serverless, Snyk, Postman", []string{
		".circleci/cli.yml", ".travis", ".serverlessrc", ".config/snyk", ".config/Postman", ".actrc", ".secrets",
	}, "circleci setup; travis login; snyk config; act: Secrets"},

	// Data and machine learning.
	{"PostgreSQL", []string{".pgpass", ".pg_service.conf", ".pgadmin"}, "libpq: The password file"},
	{"MySQL, MariaDB", []string{".my.cnf", ".mylogin.cnf"}, "MySQL: Using option files, mysql_config_editor"},
	{"MongoDB, Redis, Cassandra, ClickHouse, InfluxDB, DuckDB", []string{
		".mongorc.js", ".mongoshrc.js", ".mongodb", ".redisclirc", ".cassandra", ".clickhouse-client", ".influxdbv2",
		".duckdb/stored_secrets", ".dbshell",
	}, "mongosh; redis-cli; cqlsh; clickhouse-client; influx config; DuckDB: Secrets manager"},
	{"DBeaver, CockroachDB", []string{".local/share/DBeaverData", ".cockroach-certs"}, "DBeaver: Security; cockroach cert"},
	{"Databricks, Snowflake, BigQuery, dbt", []string{
		".databrickscfg", ".databricks", ".snowflake", ".snowsql", ".bigqueryrc", ".dbt/profiles.yml",
	}, "Databricks: Authentication; SnowSQL: Configuring; dbt: profiles.yml"},
	{"Hugging Face", []string{
		".cache/huggingface/token", ".cache/huggingface/stored_tokens", ".huggingface",
	}, "huggingface_hub: Environment variables"},
	{"Kaggle, Modal, Comet, RunPod, MLflow, Lightning", []string{
		".kaggle", ".config/kaggle", ".modal.toml", ".comet.config", ".runpod", ".mlflow/credentials", ".lightning",
	}, "kaggle-api; modal token; Comet: Configure; MLflow: Authentication"},
	{"Jupyter, IPython, R", []string{
		".jupyter", ".local/share/jupyter/runtime", ".ipython/profile_default/history.sqlite", ".Renviron", ".Rhistory",
	}, "Jupyter: Security; IPython: History; R: Startup"},

	// Coding agents and editors.
	{"Claude Code", []string{
		".claude.json", ".claude.json.backup", ".claude/.credentials.json", ".claude/history.jsonl", ".claude/projects",
	}, "Claude Code: Settings, Credential management"},
	{"Codex", []string{".codex/auth.json", ".codex/history.jsonl", ".codex/sessions"}, "Codex: Authentication"},
	{"Gemini CLI, Qwen Code", []string{
		".gemini/oauth_creds.json", ".gemini/google_accounts.json", ".gemini/mcp-oauth-tokens.json", ".gemini/.env",
		".qwen/oauth_creds.json", ".qwen/.env",
	}, "Gemini CLI: Authentication; Qwen Code: Authentication"},
	{"opencode, Crush, Goose, Amazon Q", []string{
		".local/share/opencode/auth.json", ".local/share/opencode/mcp-auth.json", ".local/share/opencode/storage",
		".local/share/crush", ".local/share/goose", ".config/goose", ".local/share/amazon-q",
	}, "opencode auth; the configuration guides of the others"},
	{"Copilot, Cursor, Windsurf, Continue, Cline, aider, Kiro, Factory", []string{
		".copilot/config.json", ".copilot/mcp-config.json", ".config/github-copilot", ".cursor/mcp.json", ".codeium/config.json",
		".codeium/windsurf/mcp_config.json", ".continue/config.yaml", ".continue/config.json", ".continue/.env", ".cline",
		".aider.conf.yml", ".kiro/settings", ".factory/auth.json", ".factory/auth.encrypted", ".factory/mcp.json",
	}, "the configuration guides of each"},
	{"mcp-remote", []string{".mcp-auth"}, "mcp-remote: OAuth"},
	{"Visual Studio Code, JetBrains", []string{
		".config/Code", ".vscode-server/data", ".local/share/code-server", ".config/JetBrains",
	}, "VS Code: Settings; JetBrains: Directories used by the IDE"},

	// Browsers.
	{"browsers", []string{
		".mozilla", ".librewolf", ".pki", "snap/firefox", "snap/chromium", "snap/brave", ".var/app", ".config/google-chrome",
		".config/chromium", ".config/BraveSoftware", ".config/microsoft-edge",
		"Library/Application Support/Google/Chrome", "Library/Application Support/Firefox",
		"Library/Application Support/BraveSoftware", "Library/Application Support/Microsoft Edge",
		"AppData/Local/Google/Chrome/User Data", "AppData/Local/Microsoft/Edge/User Data", "AppData/Roaming/Mozilla",
	}, "Chromium: User data directory; Firefox: Profiles"},

	// Wallets.
	{"Bitcoin, Litecoin, Dogecoin, Zcash, Monero, Electrum", []string{
		".bitcoin", ".litecoin", ".dogecoin", ".zcash", ".bitmonero", "Monero", ".electrum", ".electrum-ltc", ".walletwasabi",
	}, "Bitcoin Core: Files; Electrum: Wallet files; Monero: Wallet"},
	{"Ethereum, Foundry, Brownie, Solana, Near, Sui, Aptos, Starknet", []string{
		".ethereum", ".foundry/keystores", ".brownie/accounts", ".config/solana", ".near-credentials", ".near", ".sui/sui_config", ".aptos",
		".starknet_accounts", ".starkli-wallets",
	}, "geth: Account management; cast wallet; solana-keygen; near-cli"},
	{"Android", []string{".android/adbkey", ".android/debug.keystore"}, "adb: Keys; Sign your app"},

	// What was typed.
	{"histories", []string{
		".bash_history", ".zsh_history", ".zhistory", ".history", ".sh_history", ".ash_history", ".local/share/fish/fish_history",
		".local/share/atuin", ".python_history", ".psql_history", ".mysql_history", ".mariadb_history", ".sqlite_history",
		".duckdb_history", ".node_repl_history", ".rediscli_history", ".irb_history", ".pry_history", ".php_history",
		".scala_history", ".lesshst", ".viminfo", ".local/state/nvim/shada",
	}, "the manual of each"},

	{"Callgate", []string{".local/state/callgate"}, "sandbox.md"},
	{"settings of other programs", []string{settingsFolder}, "XDG Base Directory Specification"},
}

// privateNames are the names of the table, without those inside another one.
var privateNames = outermost(credentialNames())

func credentialNames() (names []string) {
	for _, c := range credentials {
		names = append(names, c.names...)
	}
	return names
}

// outermost leaves out the names that lie inside another one.
func outermost(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(name, n+"/") })
	})
}

// PrivatePaths returns the places of a home folder that hold keys, credentials or
// histories: no tool reaches them, also where the home folder lies in a workspace. They
// need not exist. Git's settings are among them while credentials stand in them.
func PrivatePaths(home string) []string {
	if !filepath.IsAbs(home) {
		return nil
	}
	paths := make([]string, 0, len(privateNames)+1)
	for _, name := range privateNames {
		paths = append(paths, filepath.Join(home, filepath.FromSlash(name)))
	}
	for _, name := range gitSettings {
		if path := filepath.Join(home, filepath.FromSlash(name)); !slices.Contains(paths, path) && holdsCredentials(path) {
			paths = append(paths, path)
		}
	}
	return paths
}
