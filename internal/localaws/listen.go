package localaws

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// listeners are the five ports of a stack.
type listeners struct {
	host                            string // to be reached by; differs from where they listen for an address such as 0.0.0.0
	url, dynamodb, s3, lambda, logs net.Listener
}

// endpoints are the same as URLs without a slash at the end.
type endpoints struct{ url, dynamodb, s3, lambda, logs string }

// lastPort leaves room for the four ports behind the function URL's.
const lastPort = 65535 - 4

// openListeners leaves out the parts that run elsewhere; their numbers behind the port stay free.
func openListeners(ctx context.Context, address string, port int, elsewhere endpoints) (listeners, error) {
	if address == "" {
		address = "127.0.0.1"
	}
	if port < 0 || port > lastPort {
		return listeners{}, &InvalidOptionsError{fmt.Errorf("port is %d, must be 1 to %d, or 0 for free ports", port, lastPort)}
	}
	l := listeners{host: reachable(address)}
	var err error
	for i, part := range []struct {
		name, elsewhere string
		into            *net.Listener
	}{{"the function URL", "", &l.url}, {"DynamoDB", elsewhere.dynamodb, &l.dynamodb}, {"S3", elsewhere.s3, &l.s3},
		{"Lambda", elsewhere.lambda, &l.lambda}, {"CloudWatch Logs", "", &l.logs}} {
		if part.elsewhere != "" {
			continue
		}
		at := port
		if port != 0 {
			at += i
		}
		if *part.into, err = open(ctx, part.name, address, at); err != nil {
			l.close()
			return listeners{}, err
		}
	}
	return l, nil
}

func open(ctx context.Context, name, address string, port int) (net.Listener, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort(address, strconv.Itoa(port)))
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("port %d of %s, for %s, is in use by another program: %w", port, address, name, syscall.EADDRINUSE)
	}
	if err != nil {
		return nil, fmt.Errorf("listen for %s: %w", name, err)
	}
	return listener, nil
}

// reachable is an address to connect to where the other means every address of this machine.
func reachable(address string) string {
	ip := net.ParseIP(address)
	switch {
	case ip == nil || !ip.IsUnspecified():
		return address
	case ip.To4() != nil:
		return "127.0.0.1"
	}
	return "::1"
}

func (l listeners) close() {
	for _, listener := range []net.Listener{l.url, l.dynamodb, l.s3, l.lambda, l.logs} {
		if listener != nil {
			listener.Close()
		}
	}
}

// endpoints are the parts' own, or those that run elsewhere.
func (l listeners) endpoints(elsewhere endpoints) endpoints {
	at := func(listener net.Listener, elsewhere string) string {
		if listener == nil {
			return elsewhere
		}
		_, port, _ := net.SplitHostPort(listener.Addr().String()) // a listener's own address always splits
		return "http://" + net.JoinHostPort(l.host, port)
	}
	return endpoints{url: at(l.url, ""), dynamodb: at(l.dynamodb, elsewhere.dynamodb), s3: at(l.s3, elsewhere.s3),
		lambda: at(l.lambda, elsewhere.lambda), logs: at(l.logs, "")}
}

// env are the SDKs' own variables for the endpoints of single services.
func (e endpoints) env() []string {
	return []string{
		"AWS_ENDPOINT_URL_DYNAMODB=" + e.dynamodb,
		"AWS_ENDPOINT_URL_DYNAMODB_STREAMS=" + e.dynamodb,
		"AWS_ENDPOINT_URL_S3=" + e.s3,
	}
}

// toolEnv is for people's tools: none of the functions calls another, or writes the operator log.
func (e endpoints) toolEnv() []string {
	return []string{"AWS_ENDPOINT_URL_LAMBDA=" + e.lambda, "AWS_ENDPOINT_URL_CLOUDWATCH_LOGS=" + e.logs}
}

// checkEndpoint takes the URL of an engine that runs elsewhere, without a path.
func checkEndpoint(part, endpoint string) error {
	u, err := url.Parse(endpoint)
	if endpoint == "" || err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && strings.Trim(u.Path, "/") == "" &&
		u.RawQuery == "" && u.Fragment == "" && u.User == nil {
		return nil
	}
	return &InvalidOptionsError{fmt.Errorf("the endpoint of %s is %q, must be a URL without a path, such as http://127.0.0.1:8000", part, endpoint)}
}

// serve answers on a listener until the stack is closed. Requests in work are cut off then: what sent them ends too.
func (s *Stack) serve(listener net.Listener, handler http.Handler) {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener) // ends with ErrServerClosed
	}()
	s.onClose(func() {
		server.Close()
		<-done
	})
}
