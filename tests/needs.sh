#!/usr/bin/env bash
# What the integration tests want from the system: OpenSSH's server. Installed where we may, else
# the tests that need it say that they were left out.
set -euo pipefail
[ -x /usr/sbin/sshd ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "· openssh-server, for the tests of the ssh provider"
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends openssh-server >/dev/null
else
  echo "· no sshd here: the ssh tests are left out (apt-get install openssh-server brings it)"
fi
