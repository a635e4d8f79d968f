#!/bin/sh
# The password of the database may lie in a file: both of its clients read PGPASSWORD where an address names none.
set -eu
if [ -n "${PGPASSWORD_FILE:-}" ]; then
    PGPASSWORD=$(cat "$PGPASSWORD_FILE")
    export PGPASSWORD
fi
exec "$@"
