// Package deployed reads and tries a stack that CloudFormation has made: its outputs and parameters, the states of its alarms,
// whether its sweeper publishes, and what its cleanup function does with a canary. It writes its operator log. It is for people's
// tools; no function imports it. Its errors name the permission that the caller's credentials lack.
// It may import the pure domain and the AWS SDK.
package deployed
