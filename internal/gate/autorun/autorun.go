// Package autorun knows the files that programs load or run by convention: settings in
// dot files, build files, hooks, installed packages, and the instructions that agents read.
// A change of such a file takes effect the next time that somebody runs make, opens an
// editor or starts an agent, perhaps before a person has looked at it.
//
// The files are described by shape rather than listed one by one: every name that begins
// with a dot, every name of a convention with any suffix (Dockerfile.prod, vite.config.ts),
// and everything in a folder that a program loads as a whole (node_modules). The case of a
// name does not count, because on some file systems it does not.
package autorun

import (
	"path"
	"strings"
)

// The reasons, in words that follow "it is".
const (
	dotFile      = "a dot file or lies in a dot folder, which programs read as their settings"
	instructions = "a file of instructions for agents"
	convention   = "a file that programs load or run by convention"
)

// Reason says what a file is that programs load or run by themselves, in words that follow
// "it is". It returns "" for any other file. The path is relative to the workspace, with
// slashes.
func Reason(file string) string {
	parts := strings.Split(strings.ToLower(path.Clean(file)), "/")
	name := parts[len(parts)-1]
	for _, part := range parts {
		if part != "." && part != ".." && strings.HasPrefix(part, ".") {
			return dotFile
		}
	}
	switch {
	case instructionFiles.matches(name):
		return instructions
	case conventionFiles.matches(name):
		return convention
	}
	for _, part := range parts {
		if conventionFolders.matches(part) {
			return convention
		}
	}
	return ""
}

// names are names of files, in lower case.
type names struct {
	whole map[string]bool
	globs []string
}

// named reads names that are separated by white space. One with a star is a glob.
func named(lists ...string) names {
	n := names{whole: map[string]bool{}}
	for _, list := range lists {
		for _, name := range strings.Fields(list) {
			if strings.Contains(name, "*") {
				n.globs = append(n.globs, name)
			} else {
				n.whole[name] = true
			}
		}
	}
	return n
}

func (n names) matches(name string) bool {
	if n.whole[name] {
		return true
	}
	for _, glob := range n.globs {
		if ok, _ := path.Match(glob, name); ok {
			return true
		}
	}
	return false
}

var instructionFiles = named(`
	agents*.md agent.md claude*.md gemini*.md skill.md qwen.md warp.md crush.md crush.local.md opencode*.md jules.md codex.md
	conventions.md copilot-instructions.md goosehints cursorrules windsurfrules clinerules
	*.instructions.md *.prompt.md *.agent.md *.chatmode.md *.mdc`)

// conventionFolders are loaded as a whole.
var conventionFolders = named(`
	node_modules bower_components jspm_packages site-packages dist-packages venv virtualenv __pypackages__ pods
	carthage vendor buildsrc autostart githooks git-hooks *.xcodeproj *.egg-info *.dist-info`)

// conventionFiles are by kind: build tools, packages and interpreters, tests, containers
// and deployment, continuous integration, editors and desktops, Git.
var conventionFiles = named(`
	makefile makefile.* gnumakefile bsdmakefile *.mk justfile *.just taskfile.* taskfile rakefile *.rake guardfile vagrantfile
	fastfile podfile* cartfile* brewfile* dangerfile* earthfile tiltfile* mkfile sconstruct sconscript wscript
	cmakelists.txt *.cmake cmakepresets.json cmakeuserpresets.json meson.build meson_options.txt meson.options
	build.ninja configure configure.ac configure.in autogen.sh build build.bazel workspace workspace.bazel
	module.bazel *.bzl buck dune dune-project build.xml build.sbt *.sbt build.sc build.zig build.zig.zon build.cake
	build.xmake xmake.lua premake*.lua build.rs build.py build.pl makefile.pl build.gradle* settings.gradle* *.gradle
	*.gradle.kts gradle.properties gradlew gradlew.bat gradle-wrapper.* pom.xml mvnw mvnw.cmd`, `

	package.json package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml pnpm-workspace.yaml bun.lock bun.lockb
	bunfig.toml deno.json deno.jsonc deno.lock import_map.json lerna.json nx.json project.json turbo.json rush.json
	bower.json composer.json composer.lock tsconfig*.json jsconfig*.json *.config.js *.config.cjs *.config.mjs
	*.config.ts *.config.cts *.config.mts *.conf.js *.conf.ts *.workspace.ts *.workspace.js gulpfile.* gruntfile.*
	cakefile biome.json biome.jsonc tslint.json setup.py setup.cfg pyproject.toml pipfile pipfile.lock poetry.toml
	poetry.lock uv.toml uv.lock pdm.lock requirements*.txt requirements*.in constraints*.txt environment.yml
	environment.yaml *.pth sitecustomize.py usercustomize.py pyvenv.cfg fabfile.py tasks.py dodo.py pavement.py
	manage.py pylintrc mypy.ini ruff.toml cargo.toml cargo.lock rust-toolchain rust-toolchain.toml go.mod go.sum
	go.work go.work.sum gemfile* gems.rb *.gemspec config.ru mix.exs rebar.config rebar.config.script shard.yml
	project.clj deps.edn bb.edn shadow-cljs.edn stack.yaml *.cabal cabal.project* setup.hs dub.json dub.sdl *.nimble
	nim.cfg config.nims *.csproj *.fsproj *.vbproj *.vcxproj *.proj *.sln *.slnx *.props *.targets nuget.config
	global.json packages.config package.swift package.resolved *.podspec flake.nix flake.lock default.nix shell.nix
	devenv.nix devenv.yaml devbox.json mise.toml mise.*.toml cpanfile latexmkrc artisan rector.php castor.php php.ini
	*.neon pkgbuild apkbuild *.ebuild *.spec`, `

	conftest.py pytest.ini tox.ini noxfile.py phpunit.xml* psalm.xml* phpcs.xml*`, `

	dockerfile dockerfile.* dockerfile-* *.dockerfile containerfile containerfile.* docker-compose* compose.yml compose.yaml compose.*.yml compose.*.yaml
	docker-bake.* procfile* *.tf *.tf.json *.tofu terragrunt.hcl serverless.yml serverless.yaml ansible.cfg
	skaffold.yaml chart.yaml helmfile.yaml kustomization.yaml kustomization.yml netlify.toml vercel.json firebase.json
	fly.toml render.yaml wrangler.toml wrangler.json wrangler.jsonc heroku.yml cloudbuild.yaml pulumi*.yaml
	devspace.yaml okteto.yml garden.yml werf.yaml`, `

	jenkinsfile* azure-pipelines* bitbucket-pipelines.yml appveyor.yml codemagic.yaml lefthook.yml lefthook.yaml
	lefthook-local.yml renovate.json`, `

	mcp.json mcp_config.json opencode.json opencode.jsonc crush.json claude_desktop_config.json tasks.json launch.json
	*.code-workspace *.sublime-project *.pbxproj *.xcscheme config.fish *profile.ps1 *.desktop *.service *.timer
	crontab *.cron desktop.ini autorun.inf *.lnk *.scf _vimrc _gvimrc startup.jl jupyter_*_config.py`, `

	head gitconfig gitmodules applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit
	prepare-commit-msg commit-msg post-commit pre-rebase post-checkout post-merge pre-push pre-receive update
	proc-receive post-receive post-update reference-transaction push-to-checkout pre-auto-gc post-rewrite
	sendemail-validate fsmonitor-watchman`)
