package localaws

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/url"
)

// containerHost is this machine as a container sees it. Docker Desktop knows the name; on Linux it is given with
// `--add-host host.docker.internal:host-gateway`.
const containerHost = "host.docker.internal"

// writeSAMEnv writes the functions' settings and endpoints in the form of `sam local … --env-vars`: a JSON object from logical
// id to variables. SAM hands on only variables that the template names, so there they all are.
func (s *Stack) writeSAMEnv(path string) (*ReadyFile, error) {
	all := map[string]map[string]string{}
	for _, spec := range Functions() {
		env := map[string]string{
			"AWS_ENDPOINT_URL_DYNAMODB": fromContainer(s.endpoints.dynamodb), "AWS_ENDPOINT_URL_S3": fromContainer(s.endpoints.s3),
		}
		maps.Copy(env, s.settings.of(spec.Name))
		if spec.Name == webhookFunction {
			env["CUSTODY_SIGNING_SECRET"] = "" // the template names a secret, and the keys stand here
		}
		all[spec.LogicalID] = env
	}
	content, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("sam env file: %w", err)
	}
	f, err := writeReadyFile(path, append(content, '\n'))
	if err != nil {
		return nil, fmt.Errorf("sam env file: %w", err)
	}
	return f, nil
}

// fromContainer is how a container of this machine reaches the same endpoint.
func fromContainer(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return endpoint // checked before: it cannot happen
	}
	ip := net.ParseIP(u.Hostname())
	if u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return endpoint
	}
	port := u.Port()
	u.Host = containerHost
	if port != "" {
		u.Host = net.JoinHostPort(containerHost, port)
	}
	return u.String()
}
