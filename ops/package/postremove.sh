#!/bin/sh
# Keys and jobs in /var/lib/grense stay, also after a purge, unless GRENSE_PURGE=keys asks for their removal.
set -e
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload || true
fi
if [ "$1" = purge ]; then
    if [ "${GRENSE_PURGE:-}" = keys ]; then
        rm -rf /var/lib/grense
    elif [ -d /var/lib/grense ]; then
        echo "grense: /var/lib/grense with its keys was kept; remove it by hand, or purge with GRENSE_PURGE=keys"
    fi
fi
