package localaws

import (
	"slices"

	"custody/internal/localaws/lambda"
	"custody/internal/localaws/steady"
	"custody/internal/signature"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// The credentials of everything local. The engines take any; they must never be those of a real account.
const (
	accessKeyID     = "local"
	secretAccessKey = "local"
)

// URL is where deliveries go: the function URL, with the slash at its end that AWS's have, or with the path that is set.
func (s *Stack) URL() string {
	if path := s.Setting("CUSTODY_PATH"); path != "" {
		return s.endpoints.url + path
	}
	return s.endpoints.url + "/"
}

// DynamoDBURL is the endpoint of the local DynamoDB and of its streams.
func (s *Stack) DynamoDBURL() string { return s.endpoints.dynamodb }

// S3URL is the endpoint of the local S3.
func (s *Stack) S3URL() string { return s.endpoints.s3 }

// LambdaURL is the endpoint of Lambda's Invoke API, by which the functions are called under their logical ids.
func (s *Stack) LambdaURL() string { return s.endpoints.lambda }

// LogsURL is the endpoint of the local CloudWatch Logs, which has the operator log alone: the functions' lines are handed on.
func (s *Stack) LogsURL() string { return s.endpoints.logs }

// OperatorLog is the log group of what operators do, named as in the template.
func (s *Stack) OperatorLog() string { return "/custody/" + s.Setting("CUSTODY_STACK") + "/operator" }

// Setting is the value of a setting in this stack, empty where the functions' own default holds.
func (s *Stack) Setting(name string) string { return s.settings.values[name] }

// scheme is how a delivery to this stack is signed.
func (s *Stack) scheme() string {
	if given := s.Setting("CUSTODY_SIGNATURE_SCHEME"); given != "" {
		return given
	}
	return signature.SchemeTimestamped
}

// SigningKey is a key that the webhook takes and its id.
func (s *Stack) SigningKey() (id, key string) { return s.settings.key.id, s.settings.key.key }

// Function is one of webhook, cleanup and sweeper; it is nil for any other name, and where the functions run elsewhere.
func (s *Stack) Function(name string) *lambda.Function { return s.functions[name] }

// Schedule is that of the sweeper.
func (s *Stack) Schedule() *lambda.Schedule { return s.schedule }

// FunctionNames lists the functions.
func FunctionNames() []string {
	var names []string
	for _, spec := range Functions() {
		names = append(names, spec.Name)
	}
	return names
}

// DeadLetters lists the stream's records that were given up, the oldest first.
func (s *Stack) DeadLetters() []lambda.DeadLetter { return s.mapping.DeadLetters() }

// Mapping is the way from the inbox's stream to the cleanup function.
func (s *Stack) Mapping() *lambda.Mapping { return s.mapping }

// Config is what an AWS client needs but for its endpoint.
func (s *Stack) Config() aws.Config {
	return aws.Config{Region: lambda.Region, HTTPClient: steady.Client{}, Credentials: credentials.NewStaticCredentialsProvider(accessKeyID, secretAccessKey, "")}
}

// DynamoDB is a client of the local DynamoDB.
func (s *Stack) DynamoDB() *dynamodb.Client {
	return dynamodb.NewFromConfig(s.Config(), func(o *dynamodb.Options) { o.BaseEndpoint = &s.endpoints.dynamodb })
}

// Streams is a client of the local DynamoDB Streams.
func (s *Stack) Streams() *dynamodbstreams.Client {
	return dynamodbstreams.NewFromConfig(s.Config(), func(o *dynamodbstreams.Options) { o.BaseEndpoint = &s.endpoints.dynamodb })
}

// S3 is a client of the local S3.
func (s *Stack) S3() *s3.Client {
	return s3.NewFromConfig(s.Config(), func(o *s3.Options) {
		o.BaseEndpoint, o.UsePathStyle = &s.endpoints.s3, true
	})
}

// Env lists NAME=value of the variables by which the AWS CLI, an SDK and the tool reach this stack.
func (s *Stack) Env() []string {
	keyID, key := s.SigningKey()
	return slices.Concat([]string{
		"CUSTODY_URL=" + s.URL(),
		"CUSTODY_TABLE=" + s.Setting("CUSTODY_TABLE"),
		"CUSTODY_HOLDS_TABLE=" + s.Setting("CUSTODY_HOLDS_TABLE"),
		"CUSTODY_RESERVATIONS_TABLE=" + s.Setting("CUSTODY_RESERVATIONS_TABLE"),
		"CUSTODY_BUCKET=" + s.Setting("CUSTODY_BUCKET"),
		"CUSTODY_REPORT_BUCKET=" + s.Setting("CUSTODY_REPORT_BUCKET"),
		"CUSTODY_OPERATOR_LOG=" + s.OperatorLog(),
		"CUSTODY_SIGNING_KEY=" + key,
		"CUSTODY_SIGNING_KEY_ID=" + keyID,
		"CUSTODY_SIGNATURE_SCHEME=" + s.scheme(),
	}, s.endpoints.env(), s.endpoints.toolEnv(), credentialsEnv())
}

// credentialsEnv names the region twice: version 1 of the AWS CLI and boto3 know it as AWS_DEFAULT_REGION only.
func credentialsEnv() []string {
	return []string{"AWS_REGION=" + lambda.Region, "AWS_DEFAULT_REGION=" + lambda.Region, "AWS_ACCESS_KEY_ID=" + accessKeyID, "AWS_SECRET_ACCESS_KEY=" + secretAccessKey}
}
