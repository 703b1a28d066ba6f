#!/usr/bin/env python3
"""Signs a delivery and sends it until it is answered. It needs Python 3.9 and nothing else.

    send.py DELIVERY_ID BODY_FILE

CUSTODY_URL and CUSTODY_SIGNING_KEY say where to and by which key. CUSTODY_SIGNATURE_SCHEME is timestamped unless it
says standard-webhooks or body, CUSTODY_SIGNING_KEY_ID may name the key. Exit status: 0 acknowledged, 1 refused, 2 usage,
75 nobody knows: run it again with the same arguments. docs/wire-contract.md says why it is done like this.
"""

import base64
import hashlib
import hmac
import http.client
import os
import random
import sys
import time
import urllib.parse


def sign(scheme, key, key_id, delivery_id, timestamp, body):
    """The headers of one try. key is the text of the signing key, timestamp whole Unix seconds, body the bytes sent."""

    def mac(secret, *parts):
        return hmac.new(secret, b"".join(parts), hashlib.sha256)

    now = str(timestamp)
    if scheme == "standard-webhooks":
        try:
            secret = base64.b64decode(key.removeprefix("whsec_"), validate=True)
        except ValueError:
            secret = b""
        if not secret:  # HMAC would take it, and everybody knows it
            raise ValueError(f"CUSTODY_SIGNING_KEY is no key for {scheme}")
        digest = mac(secret, f"{delivery_id}.{now}.".encode(), body).digest()
        return {
            "webhook-id": delivery_id,
            "webhook-timestamp": now,
            "webhook-signature": "v1," + base64.b64encode(digest).decode(),
        }
    headers = {"X-Delivery-ID": delivery_id}
    if scheme == "timestamped":
        headers["X-Delivery-Timestamp"] = now
        headers["X-Delivery-Signature"] = "sha256=" + mac(os.fsencode(key), now.encode(), b".", body).hexdigest()
    elif scheme == "body":
        headers["X-App-Signature"] = mac(os.fsencode(key), body).hexdigest()
    else:
        raise ValueError(f"no scheme {scheme}")
    if key_id:
        headers["X-Delivery-Key-ID"] = key_id
    return headers


def post(url, headers, body):
    """Status, outcome and Retry-After of one request. http.client follows no redirect."""
    parts = urllib.parse.urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.netloc, timeout=10)
    try:
        path = (parts.path or "/") + ("?" + parts.query if parts.query else "")
        connection.request("POST", path, body, {**headers, "Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        return answer.status, answer.getheader("Custody-Outcome"), answer.getheader("Retry-After") or ""
    finally:
        connection.close()


def main(delivery_id, file):
    with open(file, "rb") as f:
        body = f.read()
    scheme = os.environ.get("CUSTODY_SIGNATURE_SCHEME", "timestamped")
    key, key_id = os.environ["CUSTODY_SIGNING_KEY"], os.environ.get("CUSTODY_SIGNING_KEY_ID")
    for attempt in range(8):
        if attempt > 0:
            pause = int(retry_after) if retry_after.isdecimal() else min(2 ** (attempt - 1), 300)
            time.sleep(pause + random.uniform(0, pause / 4))  # not all senders at the same moment
        try:
            headers = sign(scheme, key, key_id, delivery_id, int(time.time()), body)  # anew for each try
        except ValueError as e:
            print("send.py:", e, file=sys.stderr)
            return 2
        try:
            status, outcome, retry_after = post(os.environ["CUSTODY_URL"], headers, body)
        except (OSError, http.client.HTTPException) as e:
            print("no answer", e, flush=True)
            retry_after = ""
            continue
        print(status, outcome or "", flush=True)
        if status == 204 and outcome:  # without the outcome something else has answered
            return 0
        if status != 429 and status < 500:
            return 1
    return 75


if __name__ == "__main__":
    if len(sys.argv) != 3 or not os.environ.get("CUSTODY_URL") or not os.environ.get("CUSTODY_SIGNING_KEY"):
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    sys.exit(main(*sys.argv[1:]))
