// Package server owns the other side of a benchmark: the local S3 and DynamoDB as a process of their own, so that no contender
// shares a heap or a scheduler with them, with delays, a rate limit and counts in front; and the client by which the harness
// stocks a bucket and looks at what a contender left. It may import the local engines and the AWS SDK.
package server
