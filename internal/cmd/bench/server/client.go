package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"custody/internal/localaws/steady"
)

// Region and credentials of everything local; the engines take any.
const (
	Region    = "us-east-1"
	AccessKey = "local"
	SecretKey = "local"
)

// Server is a server as the harness sees it.
type Server struct {
	Endpoints
	stop func()
}

// Start starts the program that calls Serve, and waits for its endpoints.
func Start(ctx context.Context, program string, args ...string) (*Server, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	s := &Server{stop: func() {
		in.Close()
		_ = cmd.Wait() // how it ended after it was told to end is of no interest
	}}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &s.Endpoints)
	}
	if err != nil {
		s.stop()
		return nil, fmt.Errorf("read the server's endpoints: %w", err)
	}
	return s, nil
}

// Stop ends the server and waits until it is gone.
func (s *Server) Stop() {
	if s.stop != nil {
		s.stop()
	}
}

// At is a server that runs already.
func At(e Endpoints) *Server { return &Server{Endpoints: e} }

// SetLimits sets the limits for what comes now, with a whole burst for each prefix.
func (s *Server) SetLimits(ctx context.Context, l Limits) error {
	return s.post(ctx, "/limits", l, nil)
}

// TakeCounts reads how many requests of each operation came since it was last asked.
func (s *Server) TakeCounts(ctx context.Context) (map[string]int64, error) {
	var n map[string]int64
	return n, s.post(ctx, "/counts", nil, &n)
}

// Fill makes the bucket anew.
func (s *Server) Fill(ctx context.Context, stock Stock) (*Stocked, error) {
	if err := s.post(ctx, "/stock", stock, nil); err != nil {
		return nil, err
	}
	filled := &Stocked{Stock: stock, client: s.objects()}
	for _, prefix := range stock.bystanders() {
		names, err := filled.list(ctx, prefix)
		if err != nil {
			return nil, err
		}
		filled.stays = append(filled.stays, names...)
	}
	slices.Sort(filled.stays)
	return filled, nil
}

func (s *Server) post(ctx context.Context, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("ask the server for %s: %w", path, err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.Admin+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("ask the server for %s: %w", path, err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return fmt.Errorf("ask the server for %s: %w", path, err)
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", answer.StatusCode, bytes.TrimSpace(said))
	}
	if err == nil && out != nil {
		err = json.Unmarshal(said, out)
	}
	if err != nil {
		return fmt.Errorf("ask the server for %s: %w", path, err)
	}
	return nil
}

func (s *Server) config() aws.Config {
	return aws.Config{Region: Region, HTTPClient: steady.Client{}, Credentials: credentials.NewStaticCredentialsProvider(AccessKey, SecretKey, "")}
}

func (s *Server) objects() *s3.Client {
	return s3.NewFromConfig(s.config(), func(o *s3.Options) { o.BaseEndpoint, o.UsePathStyle = &s.DirectS3, true })
}

// Items is a client of DynamoDB for the harness itself.
func (s *Server) Items() *dynamodb.Client {
	return dynamodb.NewFromConfig(s.config(), func(o *dynamodb.Options) { o.BaseEndpoint = &s.DirectDynamoDB })
}

// CountedItems is a client of DynamoDB as a contender has it: behind the latency, and counted.
func (s *Server) CountedItems() *dynamodb.Client {
	return dynamodb.NewFromConfig(s.config(), func(o *dynamodb.Options) { o.BaseEndpoint = &s.DynamoDB })
}

// Stocked is a bucket that was filled, and what must be left of it.
type Stocked struct {
	Stock
	client *s3.Client
	stays  []string // key and version id of each bystander, sorted
}

// Total is how many versions are to be deleted.
func (s *Stocked) Total() int { return s.Versions * len(s.Prefixes) }

// The ways in which a contender did not do the work.
var (
	ErrLeft = errors.New("not everything was deleted")
	ErrGone = errors.New("more was deleted than asked for")
	ErrNew  = errors.New("something was written")
)

// Verify looks whether exactly what was to be deleted is gone. A contender that was fast because it did less has no figure.
func (s *Stocked) Verify(ctx context.Context) error {
	left, err := s.list(ctx, "")
	if err != nil {
		return err
	}
	var below, strange int
	for _, name := range left {
		switch _, stays := slices.BinarySearch(s.stays, name); {
		case stays:
		case s.isBelow(name):
			below++
		default:
			strange++
		}
	}
	var problems []error
	if below > 0 {
		problems = append(problems, fmt.Errorf("%w: %d of %d versions are left", ErrLeft, below, s.Total()))
	}
	if gone := len(s.stays) - (len(left) - below - strange); gone > 0 {
		problems = append(problems, fmt.Errorf("%w: %d of %d other versions are gone", ErrGone, gone, len(s.stays)))
	}
	if strange > 0 {
		problems = append(problems, fmt.Errorf("%w: %d versions that were not there", ErrNew, strange))
	}
	return errors.Join(problems...)
}

func (s *Stocked) isBelow(name string) bool {
	return slices.ContainsFunc(s.Prefixes, func(p string) bool { return len(name) > len(p) && name[:len(p)] == p })
}

// list has key and version id of every version and delete marker below a prefix.
func (s *Stocked) list(ctx context.Context, prefix string) ([]string, error) {
	var names []string
	pages := s3.NewListObjectVersionsPaginator(s.client, &s3.ListObjectVersionsInput{Bucket: &s.Bucket, Prefix: &prefix})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("list what bucket %s holds: %w", s.Bucket, err)
		}
		for _, v := range page.Versions {
			names = append(names, aws.ToString(v.Key)+" "+aws.ToString(v.VersionId))
		}
		for _, m := range page.DeleteMarkers {
			names = append(names, aws.ToString(m.Key)+" "+aws.ToString(m.VersionId))
		}
	}
	return names, nil
}
