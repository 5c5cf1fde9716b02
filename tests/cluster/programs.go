// SPDX-License-Identifier: Apache-2.0

// Names the programs of a cluster for tests, so that go.mod and go.sum lock what scripts/build-cluster builds. Nothing is built of
// this file itself. go.mod names each module that Kubernetes replaces by a folder of its own tree: a replacement counts in that tree only.

//go:build programs

package cluster

import (
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
	_ "k8s.io/kubernetes/cmd/kube-scheduler"
	_ "k8s.io/kubernetes/cmd/kubectl"
	_ "k8s.io/kubernetes/cmd/kubelet"
)
