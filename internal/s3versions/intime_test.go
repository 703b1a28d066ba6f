package s3versions_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"custody/internal/inbox"
	"custody/internal/retention"
	"custody/internal/s3versions"
)

// A connection that does not come up must not carry a delete out when the holds are old at last.
func TestADeleteThatIsNotOnItsWayInTimeIsCutOff(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]string{"together with others": "p/a", "alone": "p/\x01"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var arrived atomic.Bool
			server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived.Store(true) }))
			t.Cleanup(server.Close)
			client := awshttp.NewBuildableClient().WithTransportOptions(func(tr *http.Transport) {
				dial := tr.DialContext
				tr.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
					<-ctx.Done() // until somebody gives up, and then all the same
					return dial(context.WithoutCancel(ctx), network, address)
				}
			})
			sdk := s3.New(s3.Options{
				Region: "us-east-1", BaseEndpoint: &server.URL, UsePathStyle: true, HTTPClient: client,
				Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
			})
			by := time.Now().Add(50 * time.Millisecond)
			_, err := s3versions.New(sdk, "", time.Now).Delete(t.Context(), bucket, []retention.Version{{Key: key, ID: "v1"}}, by)
			if !errors.Is(err, s3versions.ErrHoldsTooOld) || inbox.CategoryOf(err) != inbox.CategoryUnavailable || arrived.Load() {
				t.Errorf("arrived: %v, error %v, want it to be cut off as unavailable", arrived.Load(), err)
			}
		})
	}
}
