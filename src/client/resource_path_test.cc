#include "client/resource_path.h"

#include <gtest/gtest.h>

namespace tessera::client {
namespace {

TEST(ResourcePath, NamesTheResourceAndNeverAnObject) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"/api/v1/pods?limit=500&watch=1", "pods"},
      {"/api/v1/nodes", "nodes"},
      {"/api/v1/nodes/n1", "nodes"},
      {"/api/v1/namespaces/team/pods/p", "pods"},
      {"/api/v1/namespaces/team/pods/p/binding", "pods/binding"},
      {"/api/v1/namespaces/team/pods/p/status?x=/y", "pods/status"},
      {"/api/v1/namespaces", "namespaces"},
      {"/api/v1/namespaces/team", "namespaces"},
      {"/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/l", "leases"},
      {"/apis/coordination.k8s.io/v1/leases", "leases"},
      {"/version", "other"},
      {"/api/v1", "other"},
      {"", "other"},
      {"//", "other"},
  };
  for (const auto& [path, resource] : cases) EXPECT_EQ(resource_of(path), resource) << path;
}

}  // namespace
}  // namespace tessera::client
