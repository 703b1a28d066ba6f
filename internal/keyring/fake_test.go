package keyring_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// fake is as much of Secrets Manager as the keyring uses: GetSecretValue in JSON 1.1 over HTTP
// (https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_GetSecretValue.html). What a test would do with other
// calls it does to the fake itself.
type fake struct {
	mu      sync.Mutex
	secrets map[string]*fakeSecret
	fault   func(http.ResponseWriter) // answers in its place; nil for none
}

type fakeSecret struct {
	text    *string
	binary  []byte
	version string
	deleted bool
}

const fakeARN = "arn:aws:secretsmanager:eu-central-1:000000000000:secret:"

// newFake serves it until the test ends.
func newFake(t *testing.T) (*fake, string) {
	t.Helper()
	f := &fake{secrets: map[string]*fakeSecret{}}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return f, server.URL
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	switch {
	case f.fault != nil:
		f.fault(w)
		return
	case r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/x-amz-json-1.1":
		refuse(w, "SerializationException", "")
		return
	case r.Header.Get("X-Amz-Target") != "secretsmanager.GetSecretValue":
		refuse(w, "UnknownOperationException", "")
		return
	}
	var in struct{ SecretId string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		refuse(w, "SerializationException", "")
		return
	}
	f.answer(w, in.SecretId)
}

func (f *fake) answer(w http.ResponseWriter, name string) {
	name = trimARN(name)
	s := f.secrets[name]
	switch {
	case s == nil:
		refuse(w, "ResourceNotFoundException", "Secrets Manager can't find the specified secret.")
	case s.deleted:
		refuse(w, "InvalidRequestException", "You can't perform this operation on the secret because it was marked for deletion.")
	case s.text == nil && s.binary == nil:
		refuse(w, "ResourceNotFoundException", "Secrets Manager can't find the specified secret value for staging label: AWSCURRENT")
	default:
		_ = json.NewEncoder(w).Encode(map[string]any{
			"ARN": fakeARN + name, "Name": name, "VersionId": s.version, "VersionStages": []string{"AWSCURRENT"},
			"SecretString": s.text, "SecretBinary": s.binary, "CreatedDate": float64(time.Now().UnixMilli()) / 1000,
		})
	}
}

func refuse(w http.ResponseWriter, code, message string) {
	w.WriteHeader(http.StatusBadRequest)
	_ = json.NewEncoder(w).Encode(map[string]string{"__type": code, "Message": message})
}

func trimARN(name string) string {
	if len(name) > len(fakeARN) && name[:len(fakeARN)] == fakeARN {
		return name[len(fakeARN):]
	}
	return name
}

// change does something to the secret of a name, which is made where there is none.
func (f *fake) change(name string, change func(*fakeSecret)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.secrets[name] == nil {
		f.secrets[name] = &fakeSecret{}
	}
	change(f.secrets[name])
}

// fail makes the fake answer otherwise from now on; nil ends that.
func (f *fake) fail(fault func(http.ResponseWriter)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
}
