#!/usr/bin/env bash
# build.sh DIR: builds etcd, kube-apiserver, kube-scheduler and kubectl from the Go modules pinned here. What is there already stays.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
version=$(awk '$1 == "k8s.io/kubernetes" { print $2; exit }' "$here/go.mod")
minor=$(echo "$version" | cut -d. -f2)
package=k8s.io/component-base/version
flags="-s -w -X $package.gitVersion=$version -X $package.gitMajor=1 -X $package.gitMinor=$minor"
cd "$here"
export CGO_ENABLED=0 GOFLAGS=-mod=readonly GOTOOLCHAIN=local
build() {  # NAME PACKAGE: into a temporary name first, so that a build cut short leaves nothing that looks finished
  [ -x "$out/$1" ] && return
  go build -tags tools -trimpath -ldflags "$flags" -o "$out/.$1" "$2"
  mv "$out/.$1" "$out/$1"
}
build kubectl k8s.io/kubernetes/cmd/kubectl
build kube-scheduler k8s.io/kubernetes/cmd/kube-scheduler
build kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver
build etcd go.etcd.io/etcd/server/v3
