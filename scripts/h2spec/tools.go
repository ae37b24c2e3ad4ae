//go:build tools

package conformance

import _ "github.com/summerwind/h2spec/cmd/h2spec"
