// SPDX-License-Identifier: Apache-2.0

// Names the programs that scripts/build-cluster-part builds, so that go.mod and go.sum lock them. Nothing is built of this file itself.

//go:build programs

package programs

import (
	_ "gvisor.dev/gvisor/runsc"
	_ "gvisor.dev/gvisor/shim"
)
