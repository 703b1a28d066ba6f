"""Deletes every version below a prefix as boto3's own guide does: the collection asks for pages of 1,000, which is the most
that S3 gives, and sends one DeleteObjects for each. Usage: boto3_delete.py BUCKET PREFIX"""

import sys

import boto3

bucket, prefix = sys.argv[1:]
answers = boto3.resource("s3").Bucket(bucket).object_versions.filter(Prefix=prefix).delete()
refused = [e for answer in answers for e in answer.get("Errors", [])]
if refused:
    sys.exit(f"{len(refused)} versions were refused, the first with {refused[0]['Code']}")
