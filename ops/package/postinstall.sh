#!/bin/sh
# Creates the user grense and tells the service manager of the unit.
set -e
if ! getent passwd grense >/dev/null; then
    useradd --system --user-group --home-dir /var/lib/grense --no-create-home --shell /usr/sbin/nologin grense
fi
install -d -o grense -g grense -m 0700 /var/lib/grense
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload || true
    systemctl try-restart grense.service || true
fi
