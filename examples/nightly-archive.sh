#!/bin/sh
# Pages as PDFs in an S3 bucket, every night:  0 3 * * *  nightly-archive.sh https://example.com https://example.com/prices
# Needs curl 7.87 or newer, which signs requests to S3. A 202 means that the capture goes on: the same key asks for it again.
set -eu
for name in STILLFRAME_URL STILLFRAME_KEY S3_ENDPOINT S3_BUCKET AWS_REGION AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY; do
  eval "value=\${$name:-}"
  if [ $# = 0 ] || [ -z "$value" ]; then
    echo "Usage: nightly-archive.sh URL…, with STILLFRAME_URL, STILLFRAME_KEY, S3_ENDPOINT, S3_BUCKET, AWS_REGION, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY set" >&2
    exit 2
  fi
done
for url in "$@"; do
  file=$(mktemp)
  while status=$(curl -sS "$STILLFRAME_URL/v1/screenshot" -o "$file" -w '%{http_code}' --retry 4 -H "Authorization: Bearer $STILLFRAME_KEY" \
    -H "Idempotency-Key: ${file##*/}" -H 'Content-Type: application/json' -H 'Accept: application/pdf' \
    -d "{\"url\":\"$url\",\"format\":\"pdf\",\"full_page\":true,\"full_page_algorithm\":\"native\",\"cache_ttl\":0}") && [ "$status" = 202 ]; do :; done
  [ "$status" = 200 ] || { cat "$file" >&2; exit 1; }
  name=$(printf %s "${url#*://}" | tr -c 'A-Za-z0-9.-' _)
  curl -fsS -T "$file" "$S3_ENDPOINT/$S3_BUCKET/$(date -u +%F)/$name.pdf" -H 'Content-Type: application/pdf' \
    -H 'x-amz-content-sha256: UNSIGNED-PAYLOAD' --aws-sigv4 "aws:amz:$AWS_REGION:s3" --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY"
  rm "$file"
done
