package autorun_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/gate/autorun"
)

// files that agents may not change unseen: what programs, or other agents, pick up by themselves.
const picked = `
	.bashrc .zshrc .profile .envrc .npmrc .yarnrc.yml .gdbinit .lldbinit .tmux.conf .vimrc .exrc .nvim.lua .dir-locals.el
	.gitattributes .gitmodules .gitconfig .pre-commit-config.yaml .editorconfig .eslintrc.js .prettierrc .babelrc
	.cargo/config.toml .github/workflows/ci.yml .gitlab-ci.yml .circleci/config.yml .vscode/tasks.json
	.vscode/settings.json .idea/runConfigurations/a.xml .devcontainer/devcontainer.json .husky/pre-commit
	.claude/settings.json .codex/config.toml .cursor/mcp.json .cursorrules .windsurf/mcp_config.json .roo/mcp.json
	.zed/tasks.json .gemini/settings.json .mcp.json .mvn/extensions.xml .yarn/releases/yarn.cjs .venv/bin/activate
	.direnv/x .config/fish/config.fish .rspec .rubocop.yml .Rprofile sub/.envrc deep/er/.x/y .env
	AGENTS.md agents.md sub/AGENTS.md AGENTS.override.md CLAUDE.md CLAUDE.local.md GEMINI.md SKILL.md skills/x/SKILL.md
	QWEN.md WARP.md CONVENTIONS.md docs/copilot-instructions.md go.instructions.md rules/style.mdc release.prompt.md
	Makefile makefile GNUmakefile Makefile.am rules.mk justfile Taskfile.yml Rakefile lib/tasks/db.rake Vagrantfile
	Fastfile Podfile SConstruct wscript CMakeLists.txt cmake/Find.cmake meson.build build.ninja configure configure.ac
	BUILD.bazel WORKSPACE defs.bzl dune build.xml build.sbt build.zig build.rs sub/build.rs build.gradle
	build.gradle.kts settings.gradle init.gradle gradlew gradle/wrapper/gradle-wrapper.jar buildSrc/src/main/a.kt pom.xml
	mvnw package.json web/package.json package-lock.json yarn.lock pnpm-lock.yaml bunfig.toml deno.json deno.jsonc
	turbo.json nx.json composer.json tsconfig.json vite.config.ts webpack.config.js jest.config.cjs tailwind.config.mjs
	karma.conf.js vitest.workspace.ts gulpfile.js Gruntfile.coffee setup.py setup.cfg pyproject.toml Pipfile uv.toml
	requirements.txt requirements-dev.txt sitecustomize.py a.pth fabfile.py tasks.py manage.py pylintrc mypy.ini
	Cargo.toml crates/a/Cargo.toml rust-toolchain.toml go.mod go.work Gemfile a.gemspec config.ru mix.exs stack.yaml
	x.cabal Setup.hs app.csproj app.sln Directory.Build.props nuget.config Package.swift flake.nix shell.nix mise.toml
	devbox.json conftest.py tests/conftest.py pytest.ini tox.ini noxfile.py phpunit.xml.dist Dockerfile Dockerfile.prod
	api.Dockerfile Containerfile docker-compose.yml compose.yaml docker-bake.hcl Procfile main.tf terragrunt.hcl
	serverless.yml skaffold.yaml Chart.yaml kustomization.yaml netlify.toml vercel.json fly.toml Jenkinsfile
	azure-pipelines.yml bitbucket-pipelines.yml appveyor.yml lefthook.yml mcp.json opencode.json tasks.json
	app.code-workspace a.xcodeproj/project.pbxproj config.fish Microsoft.PowerShell_profile.ps1 app.desktop a.service
	crontab node_modules/left-pad/index.js web/node_modules/a/b.js vendor/github.com/a/b.go venv/bin/python
	lib/python3/site-packages/a.py autostart/x githooks/x hooks/pre-commit x/post-checkout src/b/HEAD`

// files that are source, text or data.
const plain = `
	main.go src/main.go a/b/c_test.go README.md docs/guide.md CHANGELOG.md LICENSE src/index.ts src/App.tsx app/models/user.rb
	lib/util.py tests/test_a.py src/lib.rs src/main.rs tests/build_test.rs pkg/config.go src/config/index.js
	src/hooks/useThing.ts hooks/index.ts cmd/tool/main.go internal/x/update.go data/a.json schema.sql queries/a.sql
	style.css index.html templates/base.html images/a.svg a.csv notes.txt report.md makefiles.md
	package.go src/package.ts src/tasks.ts build/out.txt buildings.py src/build/rules.ts dockerfiles.md src/agent.go
	src/agents.ts claude.go src/skill.ts header.h src/head.tsx src/header.tsx config.yaml conf/app.yaml values.yaml
	proto/a.proto a.graphql src/setup.ts src/jest.ts src/vendors.ts node.js src/modules/a.ts environment.ts
	translations/de.json migrations/001_init.sql scripts/report.py bin/tool src/main/java/A.java A.kt a.swift a.c a.cpp
	src/service.ts src/timer.go a.spec.ts component.test.tsx golden/a.txt testdata/x.golden src/spec.go`

func TestReason(t *testing.T) {
	t.Parallel()
	n := 0
	for _, file := range strings.Fields(picked) {
		for _, name := range []string{file, strings.ToUpper(file)} {
			if n++; autorun.Reason(name) == "" {
				t.Errorf("%s is taken for an ordinary file", name)
			}
		}
	}
	m := 0
	for _, file := range strings.Fields(plain) {
		if m++; autorun.Reason(file) != "" {
			t.Errorf("%s: %s", file, autorun.Reason(file))
		}
	}
	t.Logf("%d names that ask, %d that do not", n/2, m)
	if n/2 < 150 || m < 50 {
		t.Errorf("the table has %d and %d names", n/2, m)
	}
}

func TestLook(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		files string
		want  autorun.Folder
	}{
		"source":            {"a.go b/c.go README.md AGENTS.md .gitignore", autorun.Folder{}},
		"a repository":      {".git/config", autorun.Folder{Repository: true, Project: true}},
		"a worktree":        {".git", autorun.Folder{Repository: true, Project: true}},
		"a bare repository": {"HEAD objects/x refs/x config", autorun.Folder{Repository: true, Project: true}},
		"half of one":       {"objects/x refs/x config", autorun.Folder{}},
		"a Go module":       {"go.mod a.go", autorun.Folder{Module: true, Project: true}},
		"a Node package":    {"package.json index.js", autorun.Folder{Project: true}},
		"settings":          {".npmrc", autorun.Folder{Project: true}},
		"installed":         {"node_modules/a.js", autorun.Folder{Project: true}},
		"a Makefile":        {"makefile", autorun.Folder{Project: true}},
	} {
		dir := t.TempDir()
		for _, file := range strings.Fields(test.files) {
			file = filepath.Join(dir, file)
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := autorun.Look(dir); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
	if !autorun.Look(filepath.Join(t.TempDir(), "nothing")).Missing {
		t.Error("a folder that is not there is not missing")
	}
}
