package localaws

import (
	"context"
	"errors"
	"fmt"
	"time"

	"custody/internal/config"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// Tables names the tables of a stack; one without a name is not made.
type Tables struct{ Inbox, Holds, Reservations string }

// Make makes the tables that are missing, as the template makes them: keys, index, stream, time to live. It waits until
// they are ready, so that an engine that has them already, or that takes its time, will do as well.
func (t Tables) Make(ctx context.Context, db *dynamodb.Client) error {
	for _, table := range t.All() {
		if *table.Input.TableName == "" {
			continue
		}
		if err := makeTable(ctx, db, table); err != nil {
			return fmt.Errorf("make table %s: %w", *table.Input.TableName, err)
		}
	}
	return nil
}

// Table is a table to make, and its attribute for the time to live, empty where it has none.
type Table struct {
	Input *dynamodb.CreateTableInput
	TTL   string
}

// All lists the tables. They are the template's; a test compares them.
func (t Tables) All() []Table {
	return []Table{{inboxTable(t.Inbox), "ttl"}, {holdsTable(t.Holds), "expires_at"}, {reservationsTable(t.Reservations), ""}}
}

func inboxTable(name string) *dynamodb.CreateTableInput {
	return &dynamodb.CreateTableInput{
		TableName:            &name,
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{text("pk"), text("open"), number("open_since")},
		KeySchema:            key("pk"),
		StreamSpecification:  &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName: aws.String("open"),
			KeySchema: key("open", "open_since"),
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: []string{
				"state", "attempts", "lease_expires_at", "wake", "wake_at", "wake_count", "next_attempt_at", "scope", "received_at"}},
		}},
	}
}

func holdsTable(name string) *dynamodb.CreateTableInput {
	return &dynamodb.CreateTableInput{
		TableName:            &name,
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{text("scope"), text("hold_id")},
		KeySchema:            key("scope", "hold_id"),
	}
}

func reservationsTable(name string) *dynamodb.CreateTableInput {
	return &dynamodb.CreateTableInput{
		TableName:            &name,
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{text("reservation_id"), text("status"), number("expires_at")},
		KeySchema:            key("reservation_id"),
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName:  aws.String("status-expires_at"),
			KeySchema:  key("status", "expires_at"),
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
		}},
	}
}

func text(name string) types.AttributeDefinition {
	return types.AttributeDefinition{AttributeName: &name, AttributeType: types.ScalarAttributeTypeS}
}

func number(name string) types.AttributeDefinition {
	return types.AttributeDefinition{AttributeName: &name, AttributeType: types.ScalarAttributeTypeN}
}

// key is a partition key and, where there are two names, a sort key.
func key(names ...string) []types.KeySchemaElement {
	kinds := []types.KeyType{types.KeyTypeHash, types.KeyTypeRange}
	var schema []types.KeySchemaElement
	for i := range names {
		schema = append(schema, types.KeySchemaElement{AttributeName: &names[i], KeyType: kinds[i]})
	}
	return schema
}

// makeResources makes the tables and buckets that are missing.
func (s *Stack) makeResources(ctx context.Context) error {
	names := Tables{s.Setting("CUSTODY_TABLE"), s.Setting("CUSTODY_HOLDS_TABLE"), s.Setting("CUSTODY_RESERVATIONS_TABLE")}
	if err := names.Make(ctx, s.DynamoDB()); err != nil {
		return err
	}
	for _, bucket := range s.buckets() {
		if err := MakeBucket(ctx, s.S3(), bucket); err != nil {
			return fmt.Errorf("make bucket %s: %w", bucket, err)
		}
	}
	return nil
}

func makeTable(ctx context.Context, db *dynamodb.Client, t Table) error {
	_, err := db.CreateTable(ctx, t.Input)
	if _, exists := errors.AsType[*types.ResourceInUseException](err); exists {
		return nil
	}
	if err != nil {
		return err
	}
	waiter := dynamodb.NewTableExistsWaiter(db, func(o *dynamodb.TableExistsWaiterOptions) { o.MinDelay = 50 * time.Millisecond })
	if err := waiter.Wait(ctx, &dynamodb.DescribeTableInput{TableName: t.Input.TableName}, time.Minute); err != nil {
		return err
	}
	if t.TTL == "" {
		return nil
	}
	_, err = db.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{TableName: t.Input.TableName,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &t.TTL, Enabled: aws.Bool(true)}})
	return err
}

func (s *Stack) buckets() []string {
	names := []string{s.Setting("CUSTODY_BUCKET")}
	if report := s.Setting("CUSTODY_REPORT_BUCKET"); report != config.NoReport {
		names = append(names, report)
	}
	return names
}

// MakeBucket makes a bucket with versioning where there is none.
func MakeBucket(ctx context.Context, client *s3.Client, name string) error {
	_, err := client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &name})
	if _, exists := errors.AsType[*s3types.BucketAlreadyOwnedByYou](err); err != nil && !exists {
		return err
	}
	_, err = client.PutBucketVersioning(ctx, &s3.PutBucketVersioningInput{Bucket: &name,
		VersioningConfiguration: &s3types.VersioningConfiguration{Status: s3types.BucketVersioningStatusEnabled}})
	return err
}

// LockBucket gives a bucket with versioning Object Lock, for good: its versions may be put under legal hold or retention. It is not
// for every local bucket, since the functions then ask for the locks of every version, and S3 lets nobody suspend its versioning.
func LockBucket(ctx context.Context, client *s3.Client, name string) error {
	_, err := client.PutObjectLockConfiguration(ctx, &s3.PutObjectLockConfigurationInput{Bucket: &name,
		ObjectLockConfiguration: &s3types.ObjectLockConfiguration{ObjectLockEnabled: s3types.ObjectLockEnabledEnabled}})
	return err
}

// inboxStream finds the stream of the inbox table.
func (s *Stack) inboxStream(ctx context.Context) (string, error) {
	name := s.Setting("CUSTODY_TABLE")
	out, err := s.DynamoDB().DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
	if err != nil {
		return "", fmt.Errorf("find the stream of table %s: %w", name, err)
	}
	if out.Table.LatestStreamArn == nil {
		return "", fmt.Errorf("table %s has no stream", name)
	}
	return *out.Table.LatestStreamArn, nil
}
