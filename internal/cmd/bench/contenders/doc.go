// Package contenders owns those who are measured: each deletes what a job names, as a process of its own, and says how long that
// took from the start of the process. Custody is its built function behind the Runtime API, and its store's items; the others
// are programs. It may import adapters and domain to make Custody's items, the local Lambda, and the server's client.
package contenders
