#!/usr/bin/env bash
# Publishes a notification to device tokens with kcat, and prints the request's id.
#
#   BELFRY_KAFKA_BROKERS=HOST:PORT [SPREAD=N] [LANE=NAME] publish.sh BUNDLE PAYLOAD TOKEN…
#
# PAYLOAD is JSON with an `aps` object, TOKEN hexadecimal. SPREAD (1) is the bundle's, as all publishers have it.
# LANE (normal) is urgent, normal or bulk.
set -euo pipefail

if (($# < 3)); then
    echo 'usage: publish.sh BUNDLE PAYLOAD TOKEN…' >&2
    exit 64
fi
bundle=$1 payload=$2
shift 2
spread=${SPREAD:-1}
declare -A lanes=([urgent]=push.requests.urgent [normal]=push.requests [bulk]=push.requests.bulk)
topic=${lanes[${LANE:-normal}]:?LANE is none}
request=$(cat /proc/sys/kernel/random/uuid)

# The CRC-32 of a token's bytes, in decimal: gzip ends with that of what it packed, and with the length.
checksum() {
    local digits=$1
    while [[ -n $digits ]]; do
        printf '%b' "\\x${digits:0:2}"
        digits=${digits:2}
    done | gzip | tail -c 8 | od -An -N4 -tu4 --endian=little
}

# The key of the record that carries a token.
key_of() {
    if ((spread == 1)); then
        echo "$bundle"
    else
        echo "$bundle#$(($(checksum "$1") % spread))"
    fi
}

# A record holds the tokens of its own key only.
declare -A tokens
for token in "$@"; do
    key=$(key_of "$token")
    tokens[$key]+=",{\"hex\":\"$token\"}"
done

# In base64, as Protobuf's JSON has bytes, the payload needs no escapes.
encoded=$(printf '%s' "$payload" | base64 --wrap=0)
for key in "${!tokens[@]}"; do
    printf '%s\t{"requestId":"%s","payload":"%s","tokens":[%s]}\n' \
        "$key" "$request" "$encoded" "${tokens[$key]:1}"
done |
    kcat -P -b "${BELFRY_KAFKA_BROKERS:?}" -t "$topic" -K '\t' -H content-type=application/json \
        -X partitioner=murmur2_random -X enable.idempotence=true
echo "$request"
