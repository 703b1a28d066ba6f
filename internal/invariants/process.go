package invariants

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"custody/internal/cleanup"
)

// process is one instance of a function, with its own clients and its own clock. It works on one event at a time.
type process struct {
	world    *World
	function string
	name     string
	skew     time.Duration
	dead     chan struct{}
	die      sync.Once
	task     task // guarded by World.mu, as all below
	db       *dynamodb.Client
	bucket   *s3.Client
	worker   *cleanup.Worker // of the cleanup function: it is made once, as main does
	jitters  int

	calls map[string]int // of each operation, and what it is about
	known map[string]int // invocation of the SDK to the call's number

	tokens map[string]string      // the lease it holds or held, by run item: Observer
	reads  map[string][]holdsRead // Observer
	began  map[string]time.Time   // its last scan of a run: Observer
	marks  marksBook              // what it was told of versions: Observer
	wrote  []*reportObject        // selection objects of it that are stored: Observer
	leases map[string]string      // run item by each lease that it ever took: Observer
}

// task is what a process works on.
type task struct {
	run    string // key of the run's item
	record string // identity of the stream record
	wake   string
}

func (w *World) newProcess(function string) *process {
	w.started[function]++
	p := &process{
		world: w, function: function, name: fmt.Sprintf("%s-%d", function, w.started[function]),
		dead: make(chan struct{}), calls: map[string]int{}, known: map[string]int{},
		tokens: map[string]string{}, reads: map[string][]holdsRead{}, marks: marksBook{}, leases: map[string]string{},
	}
	if w.options.Skew != nil {
		p.skew = w.options.Skew(p.name)
	}
	p.db, p.bucket = p.tables(), p.objects()
	return p
}

// now is the process's own clock.
func (p *process) now() time.Time { return time.Now().Add(p.skew) }

func (p *process) beginScan(run string) {
	if p.began == nil {
		p.began = map[string]time.Time{}
	}
	p.began[run] = time.Now()
}

// kill ends the process as kill -9 does: what it sent is on its way, and nothing more leaves it.
func (p *process) kill() { p.die.Do(func() { close(p.dead) }) }

func (p *process) isDead() bool {
	select {
	case <-p.dead:
		return true
	default:
		return false
	}
}

var nobody = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "test", SecretAccessKey: "test"}, nil
})

// backoff keeps the SDK's growing pauses and drops their jitter, so that a history can be repeated.
func backoff() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.Backoff = retry.BackoffDelayerFunc(func(attempt int, _ error) (time.Duration, error) {
			return time.Duration(attempt+1) * 100 * time.Millisecond, nil
		})
	})
}

func (p *process) tables() *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: aws.String("http://dynamodb.local"), Credentials: nobody,
		HTTPClient: transport{p, ServiceDynamoDB}, Retryer: backoff(),
	})
}

func (p *process) objects() *s3.Client {
	return s3.New(s3.Options{
		Region: "us-east-1", BaseEndpoint: aws.String("http://s3.local"), UsePathStyle: true, Credentials: nobody,
		HTTPClient: transport{p, ServiceS3}, Retryer: backoff(),
	})
}

// transport carries the requests of one process to one engine, without a socket.
type transport struct {
	process *process
	service string
}

// Do is one attempt of one call.
func (t transport) Do(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	p := t.process
	if p.isDead() {
		return nil, deadError{}
	}
	x := p.world.depart(p, t.service, r, body)
	if x.fault.Kind == FaultDeathBefore {
		p.kill()
		return nil, deadError{}
	}
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil && trace.WroteRequest != nil {
		trace.WroteRequest(httptrace.WroteRequestInfo{}) // as net/http tells when a request is on its way
	}
	arrived := make(chan *answer, 1)
	p.world.flights.Go(func() { x.fly(arrived) })
	select {
	case <-p.dead:
		return nil, deadError{}
	case <-r.Context().Done():
		// A timeout of whole seconds ends with other clocks' ticks. What comes first must not be chance, or no history would
		// repeat itself.
		time.Sleep(p.world.latency(x.call))
		return nil, r.Context().Err()
	case a := <-arrived:
		switch {
		case p.isDead():
			return nil, deadError{}
		case a == nil:
			return nil, errConnection
		}
		return a.response(r), nil
	}
}

// exchange is one request on its way.
type exchange struct {
	process *process // nil for those outside of the product
	task    task
	lease   string // of the process on the task's run, when it sent this
	call    Call
	fault   Fault
	sent    time.Time
	came    time.Time // when it was seen for the first time: not before it was sent, and before it was served
	request *http.Request
	body    []byte
}

func (w *World) depart(p *process, service string, r *http.Request, body []byte) exchange {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := p.identify(service, r)
	w.calls = append(w.calls, c)
	x := exchange{process: p, task: p.task, lease: p.tokens[p.task.run], call: c, sent: time.Now(), came: time.Now(), request: r, body: body}
	if w.options.Fault != nil {
		x.fault = w.options.Fault(c)
	}
	w.trace("%s leaves (%s), fault: %s %s", c, x.task.run, x.fault.Kind, x.fault.Stall)
	return x
}

// identify counts the call. The SDK's repetitions carry the id of the first attempt.
func (p *process) identify(service string, r *http.Request) Call {
	c := Call{Process: p.name, Service: service, Operation: operationOf(service, r), Attempt: sdkAttempt(r)}
	c.About = p.world.observer.about(c.Operation, r)
	id := r.Header.Get("Amz-Sdk-Invocation-Id")
	n, known := p.known[id]
	if !known {
		p.calls[service+c.Operation+c.About]++
		n = p.calls[service+c.Operation+c.About]
		p.known[id] = n
	}
	c.N = n
	return c
}

// awaited says whether the sender still waits for the answer.
func (x exchange) awaited() bool { return x.request.Context().Err() == nil && !x.process.isDead() }

// fly takes the request to the engine and the answer back; nil is a connection that failed.
func (x exchange) fly(arrived chan<- *answer) {
	latency := x.process.world.latency(x.call)
	time.Sleep(latency + x.fault.Stall)
	if x.fault.Kind == FaultNoConnection {
		arrived <- nil
		return
	}
	a := x.fault.before(x.call)
	if a == nil {
		a = x.process.world.handle(x)
	}
	switch x.fault.Kind {
	case FaultDeath:
		x.process.kill()
	case FaultLostAnswer:
		a = nil
	case FaultNone, FaultNoConnection, FaultServerError, FaultThrottled, FaultDenied, FaultNoBucket, FaultConflict, FaultDeathBefore:
	}
	time.Sleep(latency)
	arrived <- a
}
