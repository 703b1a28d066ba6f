# Custody's commands. `make` lists them.
#
# Nothing here depends on what the caller's shell or go env file says about building: a function that was linked
# dynamically or for another system starts on the developer's machine and dies on Lambda.

GO        ?= go
# Not empty, because an empty value falls back to the caller's `go env -w GOFLAGS`.
export GOFLAGS := -mod=readonly
# A go.work of a folder above would choose other versions of the dependencies.
export GOWORK := off
unexport GOOS GOARCH GOAMD64 GOARM64 GOEXPERIMENT

FUNCTIONS := webhook cleanup sweeper
# What makes a program that runs anywhere and is the same wherever it is built: no C library, no paths, no symbols. The
# time stamps of a version control checkout stay out, since SAM builds in a copy that is none.
STATIC    := CGO_ENABLED=0
STRIPPED  := -trimpath -buildvcs=false -ldflags "-s -w"
# lambda.norpc leaves out the protocol of the retired go1.x runtime.
NORPC     := -tags lambda.norpc

# Of a package, with the time that everything in it takes on two slow cores many times over.
TIMEOUT   ?= 20m
FUZZTIME  ?= 30s

# The linter and the vulnerability check are built from source at these versions, outside of go.mod and of the checkout.
GOLANGCI_LINT_VERSION := v2.15.0
GOVULNCHECK_VERSION   := v1.9.0
TOOLS := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/custody/tools
GOLANGCI_LINT := $(TOOLS)/golangci-lint-$(GOLANGCI_LINT_VERSION)
GOVULNCHECK   := $(TOOLS)/govulncheck-$(GOVULNCHECK_VERSION)

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-zA-Z0-9_-]+:.*## / { printf "%-17s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# ---- build ----

.PHONY: build
build: $(FUNCTIONS:%=bin/%/bootstrap) bin/custody ## Build the functions and the tool for this machine, into bin/

# Whether anything changed is for the go command to find out, which does it better than make.
.PHONY: bin/custody $(FUNCTIONS:%=bin/%/bootstrap)
$(FUNCTIONS:%=bin/%/bootstrap): bin/%/bootstrap:
	$(STATIC) $(GO) build $(STRIPPED) $(NORPC) -o $@ ./functions/$*
bin/custody:
	$(STATIC) $(GO) build $(STRIPPED) -o $@ ./internal/cmd/custody

# SAM calls build-<LogicalId> in a copy of this folder and does not say for which architecture, so it is read where SAM
# reads it: from the template. ARCH from the environment goes before that, for `ARCH=x86_64 sam build`.
ARCH ?= $(shell sed -n '/^  Architecture:/,/^    Default:/s/^    Default: *\([a-z0-9_]*\).*/\1/p' template.yaml)
LAMBDA_GOARCH = $(if $(filter x86_64,$(ARCH)),amd64,$(if $(filter arm64,$(ARCH)),arm64,$(error ARCH is "$(ARCH)", but Lambda has only arm64 and x86_64)))

# The lowest instruction set of each architecture: every processor behind Lambda has it.
LAMBDA_BUILD = $(STATIC) GOOS=linux GOARCH=$(LAMBDA_GOARCH) GOAMD64=v1 GOARM64=v8.0 $(GO) build $(STRIPPED) $(NORPC)

.PHONY: build-WebhookFunction build-CleanupFunction build-SweeperFunction
build-WebhookFunction:
	$(LAMBDA_BUILD) -o "$(ARTIFACTS_DIR)/bootstrap" ./functions/webhook
build-CleanupFunction:
	$(LAMBDA_BUILD) -o "$(ARTIFACTS_DIR)/bootstrap" ./functions/cleanup
build-SweeperFunction:
	$(LAMBDA_BUILD) -o "$(ARTIFACTS_DIR)/bootstrap" ./functions/sweeper

.PHONY: architecture
architecture: ## Set the functions' architecture in template and profiles: make architecture ARCH=x86_64
	@: $(LAMBDA_GOARCH)
	@sed '/^  Architecture:/,/^    Default:/s/^\(    Default: *\)[a-z0-9_]*/\1$(ARCH)/' template.yaml >template.yaml.new && cat template.yaml.new >template.yaml
	@sed 's/"Architecture=[a-z0-9_]*"/"Architecture=$(ARCH)"/' samconfig.toml >samconfig.toml.new && cat samconfig.toml.new >samconfig.toml
	@rm -f template.yaml.new samconfig.toml.new
	@echo "The functions are built and deployed for $(ARCH). Stacks that exist change with their next deployment."

# ---- try ----

# The flags of the function builds, so that the demo finds the packages compiled that it builds the functions from.
.PHONY: demo
demo: ## Walk a signed delivery to an empty scan on the local stack
	@$(STATIC) $(GO) run -trimpath -buildvcs=false ./internal/cmd/demo

# Not by `go run`, which does not hand signals on.
.PHONY: local
local: bin/custody ## Run the local stack until Ctrl-C: make local ARGS='--port 8080 --env-file local.env'
	@exec bin/custody local $(ARGS)

.PHONY: verify-deployment
verify-deployment: bin/custody ## Try a deployed stack: make verify-deployment STACK=custody, with AWS credentials
	@test -n "$(STACK)" || { echo "verify-deployment: STACK is missing, for example STACK=custody" >&2; exit 2; }
	@exec bin/custody check --stack "$(STACK)" $(ARGS)

# ---- test ----

.PHONY: test
test: ## Run every test that needs only Go
	@cc=$$($(GO) env CC); if command -v "$${cc%% *}" >/dev/null 2>&1; then \
	  echo "test: with the race detector, compiled by $$cc"; \
	  CGO_ENABLED=1 $(GO) test -race -shuffle=on -timeout=$(TIMEOUT) ./...; \
	else \
	  echo "test: WITHOUT the race detector, which needs a C compiler ($$cc is not here)"; \
	  CGO_ENABLED=0 $(GO) test -shuffle=on -timeout=$(TIMEOUT) ./...; \
	fi

.PHONY: soak
soak: ## Play random histories of the whole product, HISTORIES of them (10000): a few minutes
	$(GO) test -count=1 -timeout=60m -v -run '^TestRandomHistories' ./internal/invariants -rapid.checks=$(or $(HISTORIES),10000)

# Without the race detector, so that the whole bound is explored; make test explores a smaller one with it.
.PHONY: explore
explore: ## Explore every interleaving of the moves, to its whole bound: a minute or two
	CGO_ENABLED=0 $(GO) test -count=1 -v -timeout=30m ./internal/inbox/explore

.PHONY: test-dynamodb
test-dynamodb: ## Run the DynamoDB suite against another engine: make test-dynamodb ENDPOINT=http://… ENGINE=name
	@test -n "$(ENDPOINT)" || { echo "test-dynamodb: ENDPOINT is missing, for example http://127.0.0.1:8000" >&2; exit 2; }
	CUSTODY_TEST_DYNAMODB_ENDPOINT="$(ENDPOINT)" CUSTODY_TEST_DYNAMODB_ENGINE="$(ENGINE)" \
	  $(GO) test -count=1 -timeout=$(TIMEOUT) ./internal/localaws/dynamodb/ ./internal/dynamostore/

.PHONY: test-s3
test-s3: ## Run the S3 suite against another engine: make test-s3 ENDPOINT=http://… ENGINE=name
	@test -n "$(ENDPOINT)" || { echo "test-s3: ENDPOINT is missing, for example http://127.0.0.1:5000" >&2; exit 2; }
	CUSTODY_TEST_S3_ENDPOINT="$(ENDPOINT)" CUSTODY_TEST_S3_ENGINE="$(ENGINE)" \
	  $(GO) test -count=1 -timeout=$(TIMEOUT) ./internal/localaws/s3/

# The sample senders of docs/senders and custody itself, each against a local stack of each scheme.
.PHONY: test-interop
test-interop: ## Run senders in other languages: needs openssl, curl, python3, node; WITHOUT='node' leaves one out
	CUSTODY_TEST_INTEROP=yes CUSTODY_TEST_INTEROP_WITHOUT="$(WITHOUT)" \
	  $(GO) test -count=1 -v -timeout=$(TIMEOUT) -run '^TestInterop' ./internal/cmd/custody

# The shell blocks of docs/operations.md and docs/local-testing.md, the operator's moves by hand among them.
.PHONY: test-runbook
test-runbook: ## Type the docs' commands as printed: needs the AWS CLI and jq; WITHOUT='jq' leaves out what needs it
	CUSTODY_TEST_RUNBOOK=yes CUSTODY_TEST_RUNBOOK_WITHOUT="$(WITHOUT)" \
	  $(GO) test -count=1 -v -timeout=$(TIMEOUT) -run '^TestRunbook' ./internal/runbook

.PHONY: test-sam
test-sam: ## Walk a delivery through sam local, which needs Docker and sam: make test-sam [DYNAMODB=http://…]
	@.ci/test-sam "$(DYNAMODB)"

# A few minutes on two slow cores. It ends what it has started on Ctrl-C too.
.PHONY: torture
torture: ## Kill the functions' processes at random on the local stack: make torture KILLS=200 SEED=…
	@CUSTODY_TEST_KILLS=$(or $(KILLS),200) CUSTODY_TEST_SEED=$(SEED) $(GO) test -count=1 -v -timeout=30m ./internal/invariants/torture

# Counts, which say the same on every machine, and no times. Without the race detector, which allocates by itself and would make the
# runs of 100,000 versions slow; make test runs the same at a smaller size.
.PHONY: bench-check
bench-check: ## Check that requests, round trips, allocations, memory and sizes stay within their targets
	CGO_ENABLED=0 $(GO) test -count=1 -timeout=$(TIMEOUT) ./internal/cmd/bench/check

# Ten to fifteen minutes on two slow cores, and some more the first time, which builds rclone. The programs have the flags of the
# functions, so that none is faster for how it was built. bench.out is not for git; README.md beside the program explains the table.
BENCH := $(STATIC) $(GO) build $(STRIPPED) $(NORPC) -o bin/bench/
.PHONY: bench
bench: $(FUNCTIONS:%=bin/%/bootstrap) ## Measure beside s5cmd, rclone, boto3, AWS CLI: make bench VERSIONS=20000 ROUNDS=5 ONLY=speed,start
	@mkdir -p bin/bench && $(BENCH) ./internal/cmd/bench ./internal/cmd/bench/bareloop ./internal/cmd/bench/barelambda
	@GO=$(GO) exec bin/bench/bench $(if $(VERSIONS),-versions $(VERSIONS)) $(if $(ROUNDS),-rounds $(ROUNDS)) \
	  $(if $(MEMORY),-memory $(MEMORY)) $(if $(ONLY),-only $(ONLY)) $(if $(OUT),-out $(OUT))

# The go command fuzzes one target at a time. Targets are found, not listed; a package that cannot be built ends the run, since
# it would otherwise have none. Inputs that only reach new code are cut down by so many tries at most: that alone would use
# up the time of a target, a minute each.
.PHONY: fuzz
fuzz: ## Fuzz every decoder and verifier, FUZZTIME each (30s)
	@set -e; packages=$$($(GO) list ./...); count=0; for package in $$packages; do \
	  listed=$$($(GO) test -list '^Fuzz' "$$package") || { echo "$$listed" >&2; exit 1; }; \
	  for target in $$(echo "$$listed" | grep '^Fuzz' || true); do \
	    count=$$((count + 1)); echo "fuzz: $$package $$target"; \
	    $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1000x "$$package"; \
	  done; \
	done; echo "fuzz: $$count targets"; test "$$count" -gt 0

# ---- docs ----

.PHONY: docs
docs: ## Write docs/custody.md, which is the tool's own help, and record docs/nights anew where they differ
	CUSTODY_TEST_WRITE_MANUAL=yes $(GO) test -count=1 -run '^TestTheManualIsTheHelp$$' ./internal/cmd/custody
	CUSTODY_TEST_WRITE_NIGHTS=yes $(GO) test -count=1 -run '^TestNights$$' ./internal/nights

# ---- check ----

.PHONY: check
check: fmt vet lint imports vuln ## Check format, vet, lint, imports and known vulnerabilities

.PHONY: fmt
fmt: ## Name the files that gofmt would change
	@out=$$(gofmt -l .); test -z "$$out" || { echo "fmt: gofmt -w these:" >&2; echo "$$out" >&2; exit 1; }
	@echo "fmt: every file is formatted"

.PHONY: vet
vet: ## Run go vet
	$(GO) vet ./...

.PHONY: lint
lint: $(GOLANGCI_LINT) ## Run the linter; .golangci.yml says why each rule is on
	$(GOLANGCI_LINT) run ./...

.PHONY: imports
imports: ## Check who imports whom
	$(GO) test -count=1 -run '^TestImports' ./internal/architecture

.PHONY: vuln
vuln: $(GOVULNCHECK) ## Look for known vulnerabilities that the code can reach
	@.ci/vuln $(GOVULNCHECK)

.PHONY: template
template: ## Lint and build the template, where cfn-lint and sam are installed
	@ARCH=$(ARCH) GO=$(GO) .ci/template

$(GOLANGCI_LINT):
	@echo "building golangci-lint $(GOLANGCI_LINT_VERSION), once: a minute or three"
	@mkdir -p $(TOOLS)/new && GOBIN=$(TOOLS)/new $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
	@mv $(TOOLS)/new/golangci-lint $@

$(GOVULNCHECK):
	@echo "building govulncheck $(GOVULNCHECK_VERSION), once"
	@mkdir -p $(TOOLS)/new && GOBIN=$(TOOLS)/new $(GO) install golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION)
	@mv $(TOOLS)/new/govulncheck $@

.PHONY: clean
clean: ## Remove what was built here
	rm -rf bin .aws-sam
