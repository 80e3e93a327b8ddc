//go:build tools

// Package tools names the programs that the tests run, so that go.mod and go.sum pin all they are built from.
package tools

import _ "github.com/nats-io/natscli/nats"
