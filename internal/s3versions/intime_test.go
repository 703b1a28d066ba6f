package s3versions_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"syscall"
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

// deaf is a connection whose writes fail once it is told so, as one that the server closed while it was idle.
type deaf struct {
	net.Conn
	closed *atomic.Bool
}

func (c deaf) Write(b []byte) (int, error) {
	if c.closed.Load() {
		return 0, syscall.EPIPE
	}
	return c.Conn.Write(b)
}

// net/http sends a request without a body again, on a connection of its own, when the one it had was closed. What takes too long
// to come up there must not carry the delete out either.
func TestADeleteThatNeedsAnotherConnectionIsCutOffInTimeToo(t *testing.T) {
	t.Parallel()
	var deletes, dials atomic.Int32
	var closed atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			deletes.Add(1)
		}
	}))
	t.Cleanup(server.Close)
	client := awshttp.NewBuildableClient().WithTransportOptions(func(tr *http.Transport) {
		dial := tr.DialContext
		tr.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			if dials.Add(1) > 1 {
				<-ctx.Done() // until somebody gives up, and then all the same
			}
			conn, err := dial(context.WithoutCancel(ctx), network, address)
			return deaf{conn, &closed}, err
		}
	})
	sdk := s3.New(s3.Options{
		Region: "us-east-1", BaseEndpoint: &server.URL, UsePathStyle: true, HTTPClient: client,
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
	c := s3versions.New(sdk, "", time.Now)
	vs := []retention.Version{{Key: "p/\x01", ID: "v1"}}
	if _, err := c.Delete(t.Context(), bucket, vs, later()); err != nil || deletes.Load() != 1 {
		t.Fatalf("%d deletes, error %v", deletes.Load(), err)
	}
	closed.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // the bound of a single request is 30 s
	defer cancel()
	_, err := c.Delete(ctx, bucket, vs, time.Now().Add(50*time.Millisecond))
	if !errors.Is(err, s3versions.ErrHoldsTooOld) || deletes.Load() != 1 {
		t.Errorf("%d deletes arrived, error %v, want it to be cut off", deletes.Load(), err)
	}
	if dials.Load() < 2 {
		t.Error("no second connection was asked for, so nothing was tried")
	}
}
