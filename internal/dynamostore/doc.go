// Package dynamostore keeps the inbox and the holds in DynamoDB, and moves the application's reservations: item keys,
// conditional writes, and DynamoDB's errors turned into the inbox's. It renders the moves of package inbox into update expressions and adds no rule of its own.
// It may import the pure domain and the AWS SDK.
package dynamostore
