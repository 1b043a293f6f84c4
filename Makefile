# Everything a newcomer needs is `make run` and `make test`.
SHELL := /bin/bash
export CGO_ENABLED ?= 0
GO ?= go
# What was compiled in one clone counts in the next, wherever that lies.
export GOFLAGS := $(filter-out -trimpath,$(shell $(GO) env GOFLAGS 2>/dev/null)) -trimpath
export PREFIX ?= /usr/local
export DESTDIR ?=
BIN := bin/callgate

.PHONY: run test race e2e soak build install uninstall packages image image-debian lint house bench weight cross windows deps clean

## run: start a kernel on a scratch workspace and say what to try.
run: build
	@scripts/run.sh $(BIN)

## test: everything CI runs, in stages; scripts/check says which packages have the race detector on.
test:
	@scripts/test.sh test

## race: every Go test with the race detector, and nothing left out.
race:
	@scripts/test.sh race

## e2e: other people's clients, browsers and databases against the real binary.
e2e: deps build cross
	@scripts/e2e.sh full
	@scripts/servers.sh
	@scripts/conformance.sh
	@scripts/clients.sh
	@scripts/apiclient.sh
	@scripts/killed.sh
	@scripts/users.sh full

## soak: long fuzz, kill and race runs. `scripts/soak.sh kills --kills 2000 --seed N` is the
## harness alone, which kills real processes and judges what is left: docs/TESTING.md.
soak: deps
	@scripts/soak.sh full

build:
	$(GO) build -trimpath -ldflags '-s -w' -o $(BIN) ./cmd/callgate

## install: the program, completions for bash, zsh and fish, manual pages; PREFIX, DESTDIR.
install: build
	@GO=$(GO) scripts/install.sh install $(BIN)

uninstall:
	@scripts/install.sh uninstall

## packages: .deb, .rpm and .tar.gz in dist/, with SHA256SUMS and what each is made of.
packages:
	$(GO) run ./scripts/packages $(if $(TARGETS),-targets $(TARGETS))

## image: a container image of the program alone, in dist/, for podman, docker and Kubernetes.
IMAGE_TARGETS := linux/amd64,linux/arm64
image:
	$(GO) run ./scripts/packages -targets $(or $(TARGETS),$(IMAGE_TARGETS))
	cd scripts/image && $(GO) run . -from ../../dist

## image-debian: the same on a small Debian with git and ripgrep, for this architecture; PACKAGES adds to it.
image-debian:
	$(GO) run ./scripts/packages -targets linux/$$($(GO) env GOARCH)
	scripts/imagebase.sh dist/base.tar
	cd scripts/image && $(GO) run . -from ../../dist -base ../../dist/base.tar -name debian
	rm dist/base.tar

lint:
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); echo 'gofmt would change these files'; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

## house: a report on the source tree: sizes, growth, warnings, coupling, vague words. No finding fails it.
house:
	@$(GO) run ./scripts/house

## cross: the systems we say we build for do build.
cross: windows
	GOOS=darwin GOARCH=arm64 $(GO) build -o /dev/null ./cmd/callgate

windows:
	GOOS=windows GOARCH=amd64 $(GO) build -o /dev/null ./cmd/callgate

## bench: the numbers of docs/PERFORMANCE.md.
bench:
	@scripts/bench.sh

## weight: the size of the program, what is dead weight in it, and its memory.
weight:
	@scripts/weight.sh

deps:
	@scripts/deps.sh

clean:
	rm -rf bin dist .scratch
