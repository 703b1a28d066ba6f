package architecture_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What IAM is asked about requests that the functions make, and about those that they must never make.
func TestRequestsAreAuthorisedAsReferred(t *testing.T) {
	t.Parallel()
	const table = "arn:aws:dynamodb:us-east-1:000000000000:table/"
	for name, test := range map[string]struct {
		method, url, body string
		headers           map[string]string
		want              []ask // nil: a request that is not known
	}{
		"a transaction is its parts": {"POST", "/", `{"TransactItems":[{"Put":{"TableName":"a"}},{"Update":{"TableName":"b"}},{"ConditionCheck":{"TableName":"c"}},{"Delete":{"TableName":"d"}}]}`,
			map[string]string{"X-Amz-Target": "DynamoDB_20120810.TransactWriteItems"},
			[]ask{{"dynamodb:PutItem", table + "a"}, {"dynamodb:UpdateItem", table + "b"}, {"dynamodb:ConditionCheckItem", table + "c"}, {"dynamodb:DeleteItem", table + "d"}}},
		"a query on an index": {"POST", "/", `{"TableName":"a","IndexName":"i"}`, map[string]string{"X-Amz-Target": "DynamoDB_20120810.Query"},
			[]ask{{"dynamodb:Query", table + "a/index/i"}}},
		"a query on a table":            {"POST", "/", `{"TableName":"a"}`, map[string]string{"X-Amz-Target": "DynamoDB_20120810.Query"}, []ask{{"dynamodb:Query", table + "a"}}},
		"an unknown operation":          {"POST", "/", `{"TableName":"a"}`, map[string]string{"X-Amz-Target": "DynamoDB_20120810.UpdateTable"}, nil},
		"an operation without a table":  {"POST", "/", `{}`, map[string]string{"X-Amz-Target": "DynamoDB_20120810.Query"}, nil},
		"a secret":                      {"POST", "/", `{"SecretId":"arn:s"}`, map[string]string{"X-Amz-Target": "secretsmanager.GetSecretValue"}, []ask{{"secretsmanager:GetSecretValue", "arn:s"}}},
		"another request about secrets": {"POST", "/", `{"SecretId":"arn:s"}`, map[string]string{"X-Amz-Target": "secretsmanager.PutSecretValue"}, nil},
		"a delete of a version":         {"DELETE", "/b/k/l?versionId=v&x-id=DeleteObject", "", nil, []ask{{"s3:DeleteObjectVersion", "arn:aws:s3:::b/k/l"}}},
		"a delete of an object":         {"DELETE", "/b/k?x-id=DeleteObject", "", nil, []ask{{"s3:DeleteObject", "arn:aws:s3:::b/k"}}},
		"deletes with and without a version id": {"POST", "/b?delete=", "<Delete><Object><Key>k</Key><VersionId>v</VersionId></Object><Object><Key>l</Key></Object></Delete>", nil,
			[]ask{{"s3:DeleteObjectVersion", "arn:aws:s3:::b/k"}, {"s3:DeleteObject", "arn:aws:s3:::b/l"}}},
		"a delete round Object Lock": {"DELETE", "/b/k?versionId=v", "", map[string]string{"X-Amz-Bypass-Governance-Retention": "true"},
			[]ask{{"s3:DeleteObjectVersion", "arn:aws:s3:::b/k"}, {"s3:BypassGovernanceRetention", "arn:aws:s3:::b/k"}}},
		"the tags of a version":     {"GET", "/b/k?tagging=&versionId=v", "", nil, []ask{{"s3:GetObjectVersionTagging", "arn:aws:s3:::b/k"}}},
		"the tags of an object":     {"GET", "/b/k?tagging=", "", nil, []ask{{"s3:GetObjectTagging", "arn:aws:s3:::b/k"}}},
		"versions":                  {"GET", "/b?versions=&prefix=p", "", nil, []ask{{"s3:ListBucketVersions", "arn:aws:s3:::b"}}},
		"objects":                   {"GET", "/b?list-type=2", "", nil, []ask{{"s3:ListBucket", "arn:aws:s3:::b"}}},
		"the lock configuration":    {"GET", "/b?object-lock=", "", nil, []ask{{"s3:GetBucketObjectLockConfiguration", "arn:aws:s3:::b"}}},
		"an object":                 {"PUT", "/b/k?x-id=PutObject", "", map[string]string{"If-None-Match": "*"}, []ask{{"s3:PutObject", "arn:aws:s3:::b/k"}}},
		"an object with tags":       {"PUT", "/b/k?x-id=PutObject", "", map[string]string{"X-Amz-Tagging": "a=b"}, []ask{{"s3:PutObject", "arn:aws:s3:::b/k"}, {"s3:PutObjectTagging", "arn:aws:s3:::b/k"}}},
		"an object's access list":   {"PUT", "/b/k?acl=", "", nil, nil},
		"a bucket's versioning set": {"PUT", "/b?versioning=", "", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequestWithContext(t.Context(), test.method, test.url, strings.NewReader(test.body))
			for header, value := range test.headers {
				r.Header.Set(header, value)
			}
			got, err := readRequest(r, []byte(test.body))
			if test.want == nil {
				if !errors.Is(err, errNoAction) {
					t.Errorf("asks %v, %v; want one that is not known", got.asks, err)
				}
				return
			}
			if diff := cmp.Diff(test.want, got.asks); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestAnswersThatOnlyAListerIsGiven(t *testing.T) {
	t.Parallel()
	bucket := []ask{{"s3:ListBucket", "arn:aws:s3:::b"}}
	for name, test := range map[string]struct {
		url    string
		status int
		code   string
		want   []ask
	}{
		"a version that is gone": {"/b/k?tagging=&versionId=v", http.StatusNotFound, "NoSuchVersion", bucket},
		"an object that is gone": {"/b/k?tagging=", http.StatusNotFound, "NoSuchKey", bucket},
		"no lock on a version":   {"/b/k?legal-hold=&versionId=v", http.StatusNotFound, "NoSuchObjectLockConfiguration", nil},
		"no lock on a bucket":    {"/b?object-lock=", http.StatusNotFound, "ObjectLockConfigurationNotFoundError", nil},
		"a bucket that is gone":  {"/b/k", http.StatusNotFound, "NoSuchBucket", nil},
		"a refusal":              {"/b/k", http.StatusForbidden, "AccessDenied", nil},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, test.url, nil)
		got := answered(r, test.status, []byte("<Error><Code>"+test.code+"</Code></Error>"))
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
