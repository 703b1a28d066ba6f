package architecture_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"encoding/xml"

	"custody/internal/localaws/lambda"
)

// ask is what IAM is asked about one request: may this action be done to this resource?
type ask struct{ Action, Resource string }

// touch is the same request as the code sees it: an operation on a thing, where every object of a bucket is BUCKET/*.
type touch struct{ Operation, Target string }

// request is what a request to an AWS service means.
type request struct {
	touches []touch
	asks    []ask
}

func (r *request) needs(operation, action, target, resource string) {
	r.touches = append(r.touches, touch{operation, target})
	r.asks = append(r.asks, ask{action, resource})
}

// errNoAction is a request of a kind that nobody has looked up.
var errNoAction = errors.New("no IAM action is known for it here: look it up in the Service Authorization Reference and add it")

// readRequest reads what the SDKs send. Services of the JSON protocols name their operation in a header, S3 has its own routes.
func readRequest(r *http.Request, body []byte) (request, error) {
	service, operation, named := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	switch {
	case !named:
		return readS3(r, body)
	case service == "DynamoDB_20120810":
		return readDynamoDB(operation, body)
	case service == "secretsmanager" && operation == "GetSecretValue":
		return readSecret(operation, body)
	}
	return request{}, fmt.Errorf("%s.%s: %w", service, operation, errNoAction)
}

// dynamoDBActions are those of the operations, and of the parts of a transaction, which has no action of its own. Sources: Service
// Authorization Reference, "Amazon DynamoDB"; Amazon DynamoDB Developer Guide, "Using IAM with DynamoDB transactions".
func dynamoDBActions() map[string]string {
	return map[string]string{
		"GetItem": "dynamodb:GetItem", "PutItem": "dynamodb:PutItem", "UpdateItem": "dynamodb:UpdateItem", "DeleteItem": "dynamodb:DeleteItem",
		"Query": "dynamodb:Query", "Scan": "dynamodb:Scan",
		"Put": "dynamodb:PutItem", "Update": "dynamodb:UpdateItem", "Delete": "dynamodb:DeleteItem", "ConditionCheck": "dynamodb:ConditionCheckItem",
	}
}

func readDynamoDB(operation string, body []byte) (request, error) {
	var in struct {
		TableName, IndexName string
		TransactItems        []map[string]struct{ TableName string }
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return request{}, fmt.Errorf("%s: %w", operation, err)
	}
	var out request
	on := func(part, target string) error {
		action, known := dynamoDBActions()[part]
		if !known || target == "" {
			return fmt.Errorf("%s of %s: %w", part, operation, errNoAction)
		}
		out.needs(operation, action, target, "arn:aws:dynamodb:"+lambda.Region+":"+lambda.Account+":table/"+target)
		return nil
	}
	if operation == "TransactWriteItems" {
		for _, item := range in.TransactItems {
			for part, of := range item {
				if err := on(part, of.TableName); err != nil {
					return request{}, err
				}
			}
		}
		return out, nil
	}
	if in.IndexName != "" { // a query on an index is a query on the index's own resource, and on no other
		in.TableName += "/index/" + in.IndexName
	}
	return out, on(operation, in.TableName)
}

func readSecret(operation string, body []byte) (request, error) {
	var in struct{ SecretId string }
	if err := json.Unmarshal(body, &in); err != nil {
		return request{}, fmt.Errorf("%s: %w", operation, err)
	}
	var out request
	out.needs(operation, "secretsmanager:GetSecretValue", "secret", in.SecretId)
	return out, nil
}

// route tells one of S3's operations from the others, and says what it takes. Sources: Service Authorization Reference, "Amazon
// S3"; Amazon S3 User Guide, "Required permissions for Amazon S3 API operations".
type route struct {
	operation, method string
	object            bool   // it names an object, not the bucket alone
	selector          string // the query parameter that picks it
	action, versioned string // without a version id, and with one
}

func routes() []route {
	const get, put, post, del = http.MethodGet, http.MethodPut, http.MethodPost, http.MethodDelete
	return []route{
		{"GetBucketVersioning", get, false, "versioning", "s3:GetBucketVersioning", ""},
		{"GetObjectLockConfiguration", get, false, "object-lock", "s3:GetBucketObjectLockConfiguration", ""},
		{"ListObjectVersions", get, false, "versions", "s3:ListBucketVersions", ""},
		{"ListObjectsV2", get, false, "list-type", "s3:ListBucket", ""},
		{"GetObjectTagging", get, true, "tagging", "s3:GetObjectTagging", "s3:GetObjectVersionTagging"},
		{"GetObjectLegalHold", get, true, "legal-hold", "s3:GetObjectLegalHold", "s3:GetObjectLegalHold"},
		{"GetObjectRetention", get, true, "retention", "s3:GetObjectRetention", "s3:GetObjectRetention"},
		{"GetObject", get, true, "", "s3:GetObject", "s3:GetObjectVersion"},
		{"PutObject", put, true, "", "s3:PutObject", ""},
		// With a version id s3:DeleteObjectVersion alone decides, without one s3:DeleteObject alone. The API reference of both
		// operations can be read as if the second were always needed; the deployment check deletes a canary version by the
		// worker's own role, which settles it in each account.
		{"DeleteObject", del, true, "", "s3:DeleteObject", "s3:DeleteObjectVersion"},
		{"DeleteObjects", post, false, "delete", "s3:DeleteObject", "s3:DeleteObjectVersion"}, // asked for each entry
	}
}

// byHeader are the actions that a request takes besides, for what its headers ask for.
func byHeader() map[string]string {
	return map[string]string{
		"X-Amz-Bypass-Governance-Retention": "s3:BypassGovernanceRetention", "X-Amz-Tagging": "s3:PutObjectTagging", "X-Amz-Acl": "s3:PutObjectAcl",
		"X-Amz-Object-Lock-Mode": "s3:PutObjectRetention", "X-Amz-Object-Lock-Legal-Hold": "s3:PutObjectLegalHold", "If-Match": "s3:GetObject",
	}
}

func readS3(r *http.Request, body []byte) (request, error) {
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	found, err := routeOf(r, key != "")
	if err != nil {
		return request{}, err
	}
	var out request
	action := func(versionID string) string {
		if versionID != "" && found.versioned != "" {
			return found.versioned
		}
		return found.action
	}
	const arn = "arn:aws:s3:::"
	switch {
	case found.operation == "DeleteObjects":
		objects, err := deleted(body)
		if err != nil {
			return request{}, err
		}
		for _, o := range objects {
			out.needs(found.operation, action(o.VersionID), bucket, arn+bucket+"/"+o.Key)
		}
	case found.object:
		out.needs(found.operation, action(r.URL.Query().Get("versionId")), bucket+"/*", arn+bucket+"/"+key)
	default:
		out.needs(found.operation, found.action, bucket, arn+bucket)
	}
	for header, more := range byHeader() {
		if r.Header.Get(header) != "" {
			out.asks = append(out.asks, ask{more, arn + bucket + "/" + key})
		}
	}
	return out, nil
}

func routeOf(r *http.Request, object bool) (route, error) {
	query := r.URL.Query()
	// The plain operation of a method has none of these: what picks another one would otherwise be taken for it.
	rest := slices.DeleteFunc(slices.Sorted(maps.Keys(query)), func(name string) bool { return name == "versionId" || name == "x-id" })
	for _, candidate := range routes() {
		if candidate.method == r.Method && candidate.object == object && (candidate.selector == "" && len(rest) == 0 || query.Has(candidate.selector)) {
			return candidate, nil
		}
	}
	return route{}, fmt.Errorf("S3 %s %s: %w", r.Method, r.URL, errNoAction)
}

type deletedObject struct {
	Key       string
	VersionID string `xml:"VersionId"`
}

func deleted(body []byte) ([]deletedObject, error) {
	var in struct{ Object []deletedObject }
	if err := xml.Unmarshal(body, &in); err != nil {
		return nil, fmt.Errorf("DeleteObjects: %w", err)
	}
	return in.Object, nil
}

// answered is what an answer of S3 takes besides: one that says that an object or a version is missing is only given to who may
// list the bucket, and is a 403 to everybody else (API reference of GetObject, "Permissions").
func answered(r *http.Request, status int, body []byte) []ask {
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	var failure struct{ Code string }
	if status != http.StatusNotFound || key == "" || xml.Unmarshal(body, &failure) != nil {
		return nil
	}
	if failure.Code == "NoSuchKey" || failure.Code == "NoSuchVersion" {
		return []ask{{"s3:ListBucket", "arn:aws:s3:::" + bucket}}
	}
	return nil
}
