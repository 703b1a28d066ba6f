#!/bin/sh
# Deletes every version below a prefix with the AWS CLI, 1,000 at a time, which is the most that both calls take. Each page is
# the first one, since those before it are gone. Usage: awscli_delete.sh AWS BUCKET PREFIX
set -eu
aws=$1 bucket=$2 prefix=$3
page=$(mktemp)
trap 'rm -f "$page"' EXIT
while :; do
  "$aws" s3api list-object-versions --bucket "$bucket" --prefix "$prefix" --max-keys 1000 --no-paginate --output json --query \
    '{Objects: [not_null(Versions, `[]`), not_null(DeleteMarkers, `[]`)][].{Key: Key, VersionId: VersionId}, Quiet: `true`}' >"$page"
  if ! grep -q '"VersionId"' "$page"; then
    exit 0
  fi
  refused=$("$aws" s3api delete-objects --bucket "$bucket" --delete "file://$page" --output text --query 'Errors[0].Code')
  case $refused in
    '' | None) ;;
    *) echo "refused: $refused" >&2; exit 1 ;;
  esac
done
