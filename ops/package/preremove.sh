#!/bin/sh
# Stops the service when the package is removed; an upgrade restarts it later.
set -e
case "$1" in
upgrade | 1) ;;
*)
    if [ -d /run/systemd/system ]; then
        systemctl disable --now grense.service grense.socket || true
    fi
    ;;
esac
