#!/bin/sh
# Signs a delivery and sends it until it is answered. It needs openssl, curl, od and awk.
#
#   send.sh DELIVERY_ID BODY_FILE
#
# CUSTODY_URL and CUSTODY_SIGNING_KEY say where to and by which key. CUSTODY_SIGNATURE_SCHEME is timestamped unless it says
# standard-webhooks or body, CUSTODY_SIGNING_KEY_ID may name the key. Exit status: 0 acknowledged, 1 refused, 2 usage,
# 75 nobody knows: run it again with the same arguments. docs/wire-contract.md says why it is done like this.
set -eu

[ $# = 2 ] && [ -r "$2" ] || { echo "usage: send.sh DELIVERY_ID BODY_FILE" >&2; exit 2; }
id=$1 body=$2
url=${CUSTODY_URL:?is missing} scheme=${CUSTODY_SIGNATURE_SCHEME:-timestamped}
: "${CUSTODY_SIGNING_KEY:?is missing}"

hex() { od -An -v -tx1 | tr -d ' \n'; }

# key_bytes goes by the printf of the shell itself: the arguments of other programs can be read by everybody on the machine,
# and openssl takes the key of an HMAC in no other way.
case $scheme in
  standard-webhooks) key_bytes() { printf '%s' "${CUSTODY_SIGNING_KEY#whsec_}" | openssl base64 -d -A; } ;;
  timestamped | body) key_bytes() { printf '%s' "$CUSTODY_SIGNING_KEY"; } ;;
  *) echo "send.sh: no scheme $scheme" >&2; exit 2 ;;
esac

# pad BYTE: the key, filled up to 64 bytes, each of them xor BYTE, in octal for printf
pad() {
  rest=$key octal=
  while [ -n "$rest" ]; do
    byte=$((0x${rest%"${rest#??}"} ^ $1)) rest=${rest#??}
    octal=$octal\\$((byte / 64))$((byte / 8 % 8))$((byte % 8))
  done
  printf '%s' "$octal"
}

key=$(key_bytes | hex)
# openssl takes for base64 what is none
[ "$scheme" != standard-webhooks ] || [ "$(key_bytes | openssl base64 -A)" = "${CUSTODY_SIGNING_KEY#whsec_}" ] || key=
[ -n "$key" ] || { echo "send.sh: CUSTODY_SIGNING_KEY is no key for $scheme" >&2; exit 2; }
[ ${#key} -le 128 ] || key=$(key_bytes | openssl dgst -sha256 -binary | hex)
while [ ${#key} -lt 128 ]; do key=${key}00; done
inner=$(pad 0x36) outer=$(pad 0x5c)

# mac is HMAC-SHA-256 of stdin, in binary, as RFC 2104 defines it.
# shellcheck disable=SC2059 # the pads are escapes for printf and nothing else
mac() {
  { printf "$outer"; { printf "$inner"; cat; } | openssl dgst -sha256 -binary; } | openssl dgst -sha256 -binary
}

# send prints the status and the headers of the answer, and nothing when there is none. Each try is signed anew.
send() {
  now=$(date +%s)
  case $scheme in
    timestamped)
      mac=$({ printf '%s.' "$now"; cat "$body"; } | mac | hex)
      set -- -H "X-Delivery-ID: $id" -H "X-Delivery-Timestamp: $now" -H "X-Delivery-Signature: sha256=$mac" ;;
    standard-webhooks)
      mac=$({ printf '%s.%s.' "$id" "$now"; cat "$body"; } | mac | openssl base64 -A)
      set -- -H "webhook-id: $id" -H "webhook-timestamp: $now" -H "webhook-signature: v1,$mac" ;;
    body)
      set -- -H "X-Delivery-ID: $id" -H "X-App-Signature: $(mac <"$body" | hex)" ;;
  esac
  if [ -n "${CUSTODY_SIGNING_KEY_ID:-}" ] && [ "$scheme" != standard-webhooks ]; then
    set -- "$@" -H "X-Delivery-Key-ID: $CUSTODY_SIGNING_KEY_ID"
  fi
  curl -sS --max-time 10 -o /dev/null -D - -H 'Content-Type: application/json' "$@" --data-binary "@$body" "$url" | tr -d '\r'
}

# header NAME, in small letters: its value in the answer
header() { printf '%s\n' "$answer" | awk -F ': *' -v name="$1" 'tolower($1) == name { print $2; exit }'; }

try=1 pause=1
while :; do
  answer=$(send) || answer=
  status=$(printf '%s\n' "$answer" | awk '/^HTTP\// { status = $2 } END { print status }')
  outcome=$(header custody-outcome)
  echo "${status:-no answer} $outcome"
  case $status in
    204) [ -n "$outcome" ] && exit 0 || exit 1 ;; # without the outcome something else has answered
    429 | 5?? | '') ;;
    *) exit 1 ;;
  esac
  [ $try -lt 8 ] || exit 75
  wait=$(header retry-after)
  case $wait in '' | *[!0-9]*) wait=$pause ;; esac
  sleep $((wait + $(od -An -N2 -tu2 /dev/urandom) % (1 + wait / 4))) # not all senders at the same moment
  try=$((try + 1)) pause=$((pause < 150 ? pause * 2 : 300))
done
