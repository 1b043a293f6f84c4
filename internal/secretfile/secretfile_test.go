package secretfile_test

import (
	"strings"
	"testing"

	"callgate/internal/secretfile"
)

func TestIs(t *testing.T) {
	t.Parallel()
	const secret = `.env .ENV a/.env .env.local .env.production .netrc _netrc .npmrc .pypirc .pgpass .my.cnf .htpasswd
		.git-credentials .vault-token .s3cfg kubeconfig id_rsa id_ed25519 id_ecdsa_sk id_rsa.bak server.pem tls.KEY
		cert.p12 a.pfx release.jks app.keystore vault.kdbx aws.ppk prod.tfvars terraform.tfstate credentials credentials.json
		.credentials.json secrets.yml secret.toml token token.json tokens.txt passwords.csv api_keys.json auth.json
		service-account.json client_secret.json private-key.txt .token apikey.txt`
	const plain = `main.go environment.go .env.example .env.sample env .environment id_generator.py id_rsa.pub tokens.go
		token.ts credentials.go secret_test.go secrets.md README.md config.json package.json .gitignore key.go keys.html
		monkey.txt tokenizer.json authors.txt passport.json auth/handler.js .pem-notes.md tokenlist.csv`
	for _, name := range strings.Fields(secret) {
		if !secretfile.Is(name) {
			t.Errorf("%s is no secret", name)
		}
	}
	for _, name := range strings.Fields(plain) {
		if secretfile.Is(name) {
			t.Errorf("%s is a secret", name)
		}
	}
}
