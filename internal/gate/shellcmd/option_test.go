package shellcmd_test

import (
	"os"
	"strings"
	"testing"

	"callgate/internal/gate/shellcmd"
)

// A wildcard covers the options that are known to be safe, in whichever form they are
// written, and no other.
func TestOptions(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/options.txt")
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		verdict, rest, _ := strings.Cut(line, " ")
		pattern, command, ok := strings.Cut(rest, " | ")
		if !ok || verdict != "runs" && verdict != "asks" {
			t.Fatalf("%q", line)
		}
		count[verdict]++
		p, err := shellcmd.CompilePattern(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := shellcmd.Parse(command).Allowed(p.Allows); got != (verdict == "runs") {
			t.Errorf("%s under %s: allowed %v", command, pattern, got)
		}
		// The very words of a pattern are covered, whatever they are.
		if exact, err := shellcmd.CompilePattern(command); err == nil && !strings.Contains(command, "*") &&
			!strings.Contains(command, "Deno") && !shellcmd.Parse(command).Allowed(exact.Allows) {
			t.Errorf("%s does not cover itself", command)
		}
	}
	t.Logf("%d lines that ask, %d that run", count["asks"], count["runs"])
	if count["asks"] < 150 || count["runs"] < 60 {
		t.Errorf("the table has %v", count)
	}
}

// What is offered for a lasting yes is no wider than the subcommand, and is not offered for
// what destroys, sends, or runs what its words say.
func TestSuggestNoWiderThanTheSubcommand(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"git log -3":                           "git log *",
		"git status":                           "git status *",
		"git commit -m x":                      "git commit *",
		"git stash list":                       "git stash list *",
		"git --no-pager log":                   "",
		"git push":                             "",
		"git push origin main":                 "",
		"git reset --soft HEAD~1":              "",
		"git clean -n":                         "",
		"git checkout -- x":                    "",
		"git checkout -b x":                    "",
		"git restore x":                        "",
		"git stash drop":                       "",
		"git worktree add x":                   "",
		"go test ./...":                        "go test *",
		"go mod tidy":                          "go mod tidy *",
		"go run ./cmd/x":                       "",
		"go get x":                             "",
		"go generate ./...":                    "",
		"npm test":                             "npm test *",
		"npm run build":                        "npm run build *",
		"npm install x":                        "",
		"npm exec x":                           "",
		"npx x":                                "",
		"pnpm dlx x":                           "",
		"cargo test -p x":                      "cargo test *",
		"cargo install x":                      "",
		"make test":                            "make test *",
		"make clean":                           "",
		"make":                                 "",
		"make -j4":                             "",
		"ls -l":                                "ls *",
		"grep -rn x .":                         "grep *",
		"rg x":                                 "rg *",
		"pytest -q":                            "pytest *",
		"aws s3 ls":                            "aws s3 ls *",
		"aws s3 ls s3://b/c":                   "aws s3 ls *",
		"aws s3 rm s3://b/c":                   "",
		"aws s3 sync a b":                      "",
		"aws ec2 describe-instances --x":       "aws ec2 describe-instances *",
		"aws ec2 terminate-instances --x":      "",
		"aws s3api delete-object --key x":      "",
		"aws --profile x s3 ls":                "",
		"gcloud compute instances list":        "gcloud compute instances list *",
		"gcloud compute instances delete x":    "",
		"az vm list":                           "az vm list *",
		"heroku pg:reset":                      "",
		"heroku logs --tail":                   "heroku logs *",
		"kubectl get pods":                     "kubectl get *",
		"kubectl delete pod x":                 "",
		"kubectl exec x -- sh":                 "",
		"kubectl apply":                        "",
		"helm list":                            "helm list *",
		"helm uninstall x":                     "",
		"terraform validate":                   "terraform validate *",
		"terraform apply":                      "",
		"terraform destroy":                    "",
		"docker ps":                            "docker ps *",
		"docker run x":                         "",
		"docker run -it x sh":                  "",
		"docker exec x sh":                     "",
		"docker rm x":                          "",
		"docker compose ps":                    "docker compose ps *",
		"docker compose run x":                 "",
		"podman run x":                         "",
		"gh pr list":                           "gh pr list *",
		"gh repo delete x":                     "",
		"gh api /x":                            "",
		"rm -rf build":                         "",
		"rm $x":                                "",
		"rmdir x":                              "",
		"mv a b":                               "",
		"cp a b":                               "",
		"chmod +x a":                           "",
		"chown a b":                            "",
		"kill 1":                               "",
		"pkill x":                              "",
		"dd if=a":                              "",
		"curl https://example.com":             "",
		"wget https://example.com":             "",
		"tee x":                                "",
		"ssh host ls":                          "",
		"scp a b:c":                            "",
		"tar tf a.tar":                         "",
		"sed -n 1p x":                          "",
		"awk '{print $1}' x":                   "",
		"python3 x.py":                         "",
		"python3 -m pytest":                    "",
		"python3 -c x":                         "",
		"node x.js":                            "",
		"deno run x.ts":                        "",
		"deno eval x":                          "",
		"bun x.ts":                             "",
		"bash x.sh":                            "",
		"sh build.sh":                          "",
		"./run.sh a":                           "",
		"sudo ls":                              "",
		"mytool ./x":                           "",
		"mytool check ./x":                     "mytool check *",
		"mytool delete x":                      "",
		"CI=1 npm test":                        "npm test *",
		"PATH=x npm test":                      "",
		"npm test > out":                       "",
		"bash -lc 'git log -3'":                "git log *",
		"cd src && go test ./...":              "go test *",
		"timeout 5 go vet ./...":               "go vet *",
		"go test ./... && rm -rf x":            "",
		"find . -name x | xargs rm":            "",
		"git log | head -5":                    "git log *",
		"redis-cli get x":                      "",
		"psql -c x":                            "",
		"brew install x":                       "",
		"apt install x":                        "",
		"systemctl status x":                   "systemctl status *",
		"systemctl stop x":                     "",
		"crontab -l":                           "",
		"pip list":                             "pip list *",
		"pip install x":                        "",
		"uv run x":                             "",
		"uv pip list":                          "uv pip list *",
		"poetry run x":                         "",
		"poetry show":                          "poetry show *",
		"eval git log":                         "git log *",
		"flyctl deploy":                        "",
		"vercel":                               "",
		"mytool db:drop":                       "",
		"mytool one two three four":            "mytool one two three *",
		"mytool one two delete":                "",
		"docker inspect x":                     "docker inspect *",
		"kubectl rollout status x":             "kubectl rollout status *",
		"kubectl config view":                  "kubectl config view *",
		"kubectl config set-context x":         "",
		"npm run":                              "",
		"git remote -v":                        "",
		"git":                                  "",
		"yarn build":                           "yarn build *",
		"yarn add x":                           "",
		"gradle build":                         "gradle *",
		"terraform output -json":               "terraform output *",
		"xargs rm":                             "",
		"git log --format=%H | xargs git show": "",
	} {
		got := ""
		for _, list := range shellcmd.Suggest(shellcmd.Parse(line)) {
			if text := strings.Join(list, ","); strings.Contains(text, "*") {
				got = text
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
