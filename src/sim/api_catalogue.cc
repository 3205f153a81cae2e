#include "sim/api_catalogue.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"

namespace tessera::sim::api {
namespace {

constexpr bool kCluster = false;
constexpr bool kNamespaced = true;

constexpr auto kResources = std::to_array<Resource>({
    {"", "v1", "bindings", "Binding", "binding", kNamespaced},
    {"", "v1", "configmaps", "ConfigMap", "configmap", kNamespaced, "cm"},
    {"", "v1", "events", "Event", "event", kNamespaced, "ev"},
    {"", "v1", "limitranges", "LimitRange", "limitrange", kNamespaced, "limits"},
    {"", "v1", "namespaces", "Namespace", "namespace", kCluster, "ns", "status"},
    {"", "v1", "nodes", "Node", "node", kCluster, "no", "status"},
    {"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", "persistentvolumeclaim",
     kNamespaced, "pvc", "status"},
    {"", "v1", "persistentvolumes", "PersistentVolume", "persistentvolume", kCluster, "pv",
     "status"},
    {"", "v1", "pods", "Pod", "pod", kNamespaced, "po", "status,binding,eviction"},
    {"", "v1", "replicationcontrollers", "ReplicationController", "replicationcontroller",
     kNamespaced, "rc", "status"},
    {"", "v1", "resourcequotas", "ResourceQuota", "resourcequota", kNamespaced, "quota", "status"},
    {"", "v1", "secrets", "Secret", "secret"},
    {"", "v1", "serviceaccounts", "ServiceAccount", "serviceaccount", kNamespaced, "sa"},
    {"", "v1", "services", "Service", "service", kNamespaced, "svc", "status"},
    {"admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations",
     "MutatingWebhookConfiguration", "mutatingwebhookconfiguration", kCluster},
    {"apps", "v1", "daemonsets", "DaemonSet", "daemonset", kNamespaced, "ds", "status"},
    {"apps", "v1", "deployments", "Deployment", "deployment", kNamespaced, "deploy", "status"},
    {"apps", "v1", "replicasets", "ReplicaSet", "replicaset", kNamespaced, "rs", "status"},
    {"apps", "v1", "statefulsets", "StatefulSet", "statefulset", kNamespaced, "sts", "status"},
    {"batch", "v1", "jobs", "Job", "job", kNamespaced, "", "status"},
    {"coordination.k8s.io", "v1", "leases", "Lease", "lease"},
    {"events.k8s.io", "v1", "events", "Event", "event", kNamespaced, "ev", "", "", true},
    {"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", "poddisruptionbudget",
     kNamespaced, "pdb", "status"},
    {"scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", "priorityclass", kCluster,
     "pc"},
    {"storage.k8s.io", "v1", "csinodes", "CSINode", "csinode", kCluster},
    {"storage.k8s.io", "v1", "storageclasses", "StorageClass", "storageclass", kCluster, "sc"},
});

/// What `kubectl get all` shows.
constexpr std::string_view kInAll =
    "pods,replicationcontrollers,services,daemonsets,deployments,replicasets,statefulsets,jobs";

bool listed(std::string_view comma_separated, std::string_view word) {
  const auto words = text::split(comma_separated, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

Value strings(std::string_view comma_separated) {
  Value list = Value::array();
  for (const std::string_view word : text::split(comma_separated, ','))
    if (!word.empty()) list.items().emplace_back(word);
  return list;
}

Value resource_entry(const Resource& resource) {
  const bool binding = resource.name == "bindings";
  Value entry = Value::object({{"name", resource.name},
                               {"singularName", resource.singular},
                               {"namespaced", resource.namespaced},
                               {"kind", resource.kind}});
  entry.make("verbs") =
      strings(binding ? "create" : "create,delete,deletecollection,get,list,patch,update,watch");
  if (listed(kInAll, resource.name)) entry.make("categories") = strings("all");
  if (!resource.short_names.empty()) entry.make("shortNames") = strings(resource.short_names);
  return entry;
}

Value subresource_entry(const Resource& resource, std::string_view subresource) {
  Value entry =
      Value::object({{"name", std::string(resource.name) + "/" + std::string(subresource)},
                     {"singularName", ""},
                     {"namespaced", resource.namespaced}});
  if (subresource == "status") {
    entry.make("kind") = resource.kind;
    entry.make("verbs") = strings("get,patch,update");
    return entry;
  }
  if (subresource == "eviction") {
    entry.make("group") = "policy";
    entry.make("version") = "v1";
  }
  entry.make("kind") = subresource == "binding" ? "Binding" : "Eviction";
  entry.make("verbs") = strings("create");
  return entry;
}

Value resource_list(std::string_view group, std::string_view version) {
  Value list = Value::object({{"kind", "APIResourceList"}});
  Value& entries = list.make("resources");
  std::string group_version;
  for (const Resource& resource : kResources) {
    if (resource.group != group || resource.version != version) continue;
    group_version = resource.api_version();
    entries.items().push_back(resource_entry(resource));
    for (const std::string_view subresource : text::split(resource.subresources, ','))
      if (!subresource.empty()) entries.items().push_back(subresource_entry(resource, subresource));
  }
  if (group_version.empty()) return {};
  if (!group.empty()) list.make("apiVersion") = "v1";
  list.make("groupVersion") = group_version;
  return list;
}

std::vector<std::string_view> groups() {
  std::vector<std::string_view> names;
  for (const Resource& resource : kResources)
    if (!resource.group.empty() &&
        std::find(names.begin(), names.end(), resource.group) == names.end())
      names.push_back(resource.group);
  return names;
}

/// Every group here has the one version v1.
Value group_entry(std::string_view group) {
  const Value version =
      Value::object({{"groupVersion", std::string(group) + "/v1"}, {"version", "v1"}});
  return Value::object(
      {{"name", group}, {"versions", Value::array({version})}, {"preferredVersion", version}});
}

Value group_list() {
  Value list = Value::object({{"kind", "APIGroupList"}, {"apiVersion", "v1"}});
  for (const std::string_view group : groups())
    list.make("groups").items().push_back(group_entry(group));
  return list;
}

Value versions(std::string_view own_address) {
  const Value address =
      Value::object({{"clientCIDR", "0.0.0.0/0"}, {"serverAddress", own_address}});
  return Value::object({{"kind", "APIVersions"},
                        {"versions", Value::array({"v1"})},
                        {"serverAddressByClientCIDRs", Value::array({address})}});
}

Value server_version() {
  return Value::object({{"major", "1"},
                        {"minor", "36"},
                        {"gitVersion", "v1.36.0-tessera-embedded"},
                        {"gitCommit", ""},
                        {"gitTreeState", "clean"},
                        {"buildDate", "1970-01-01T00:00:00Z"},
                        {"goVersion", "none"},
                        {"compiler", "g++"},
                        {"platform", "linux/amd64"}});
}

}  // namespace

std::string Resource::api_version() const {
  return group.empty() ? std::string(version) : std::string(group) + "/" + std::string(version);
}

std::string Resource::qualified_name() const {
  return group.empty() ? std::string(name) : std::string(name) + "." + std::string(group);
}

bool Resource::has_subresource(std::string_view subresource) const {
  return !subresource.empty() && listed(subresources, subresource);
}

std::span<const Resource> catalogue() { return kResources; }

const Resource* find_resource(std::string_view group, std::string_view version,
                              std::string_view name) {
  for (const Resource& resource : kResources)
    if (resource.group == group && resource.version == version && resource.name == name)
      return &resource;
  return nullptr;
}

const Resource& core_resource(std::string_view name) { return *find_resource("", "v1", name); }

const Resource& home_of(const Resource& resource) {
  if (!resource.shares_storage) return resource;
  return *find_resource(resource.storage_group, resource.version, resource.name);
}

Value discovery_document(std::string_view path, std::string_view own_address) {
  if (path.ends_with('/')) path.remove_suffix(1);
  if (path == "/version") return server_version();
  if (path == "/api") return versions(own_address);
  if (path == "/api/v1") return resource_list("", "v1");
  if (path == "/apis") return group_list();
  const auto parts = text::split(path, '/');
  if (parts.size() < 3 || parts.size() > 4 || parts[1] != "apis") return {};
  if (parts.size() == 4) return resource_list(parts[2], parts[3]);
  const auto known = groups();
  if (std::find(known.begin(), known.end(), parts[2]) == known.end()) return {};
  Value group = group_entry(parts[2]);
  group.make("kind") = "APIGroup";
  group.make("apiVersion") = "v1";
  return group;
}

}  // namespace tessera::sim::api
