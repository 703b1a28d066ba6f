#!/usr/bin/env node
// Signs a delivery and sends it until it is answered. It needs Node 18 and nothing else.
//
//   send.mjs DELIVERY_ID BODY_FILE
//
// CUSTODY_URL and CUSTODY_SIGNING_KEY say where to and by which key. CUSTODY_SIGNATURE_SCHEME is timestamped unless it says
// standard-webhooks or body, CUSTODY_SIGNING_KEY_ID may name the key. Exit status: 0 acknowledged, 1 refused, 2 usage,
// 75 nobody knows: run it again with the same arguments. docs/wire-contract.md says why it is done like this.

import { createHmac } from 'node:crypto';
import { readFileSync, realpathSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

// sign makes the headers of one try. key is the text of the signing key, timestamp whole Unix seconds, body the bytes sent.
export function sign(scheme, key, keyID, deliveryID, timestamp, body) {
  const mac = (secret, encoding, ...parts) =>
    parts.reduce((hmac, part) => hmac.update(part), createHmac('sha256', secret)).digest(encoding);
  const now = String(timestamp);
  if (scheme === 'standard-webhooks') {
    const text = key.replace(/^whsec_/, '');
    const secret = Buffer.from(text, 'base64'); // which passes over what is no base64
    if (secret.length === 0 || secret.toString('base64') !== text) {
      throw new Error(`CUSTODY_SIGNING_KEY is no key for ${scheme}`);
    }
    return {
      'webhook-id': deliveryID,
      'webhook-timestamp': now,
      'webhook-signature': 'v1,' + mac(secret, 'base64', `${deliveryID}.${now}.`, body),
    };
  }
  const headers = { 'X-Delivery-ID': deliveryID };
  if (scheme === 'timestamped') {
    headers['X-Delivery-Timestamp'] = now;
    headers['X-Delivery-Signature'] = 'sha256=' + mac(key, 'hex', now, '.', body);
  } else if (scheme === 'body') {
    headers['X-App-Signature'] = mac(key, 'hex', body);
  } else {
    throw new Error(`no scheme ${scheme}`);
  }
  if (keyID) headers['X-Delivery-Key-ID'] = keyID;
  return headers;
}

// post gives the answer to one request; it follows no redirect.
function post(url, headers, body) {
  return fetch(url, {
    method: 'POST',
    headers: { ...headers, 'Content-Type': 'application/json' },
    body,
    redirect: 'manual',
    signal: AbortSignal.timeout(10_000),
  });
}

async function main(deliveryID, file) {
  const body = readFileSync(file);
  const { CUSTODY_URL: url, CUSTODY_SIGNING_KEY: key, CUSTODY_SIGNING_KEY_ID: keyID } = process.env;
  const scheme = process.env.CUSTODY_SIGNATURE_SCHEME || 'timestamped';
  let retryAfter = '';
  for (let attempt = 0; attempt < 8; attempt++) {
    if (attempt > 0) {
      const pause = /^\d+$/.test(retryAfter) ? Number(retryAfter) : Math.min(2 ** (attempt - 1), 300);
      await sleep(1000 * pause * (1 + Math.random() / 4)); // not all senders at the same moment
    }
    let headers, answer;
    try {
      headers = sign(scheme, key, keyID, deliveryID, Math.floor(Date.now() / 1000), body); // anew for each try
    } catch (e) {
      console.error('send.mjs:', e.message);
      return 2;
    }
    try {
      answer = await post(url, headers, body);
      await answer.arrayBuffer();
    } catch (e) {
      console.log('no answer', e.cause?.message ?? e.message);
      retryAfter = '';
      continue;
    }
    const outcome = answer.headers.get('Custody-Outcome');
    console.log(answer.status, outcome ?? '');
    if (answer.status === 204 && outcome) return 0; // without the outcome something else has answered
    if (answer.status !== 429 && answer.status < 500) return 1;
    retryAfter = answer.headers.get('Retry-After') ?? '';
  }
  return 75;
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const [deliveryID, file] = process.argv.slice(2);
  if (process.argv.length !== 4 || !process.env.CUSTODY_URL || !process.env.CUSTODY_SIGNING_KEY) {
    console.error('usage: send.mjs DELIVERY_ID BODY_FILE, with CUSTODY_URL and CUSTODY_SIGNING_KEY');
    process.exit(2);
  }
  process.exitCode = await main(deliveryID, file);
}
