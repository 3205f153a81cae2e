#include "client/binding.h"

#include <fmt/format.h>

#include <utility>

namespace tessera::client {

std::string pod_path(const std::string& ns, const std::string& pod) {
  return fmt::format("/api/v1/namespaces/{}/pods/{}", ns, pod);
}

std::string binding_path(const std::string& ns, const std::string& pod) {
  return pod_path(ns, pod) + "/binding";
}

std::string binding_body(const BindingTarget& target,
                         const std::function<void(json::Writer& metadata)>& more) {
  json::Writer w;
  w.begin_object().key("apiVersion").string("v1").key("kind").string("Binding");
  w.key("metadata").begin_object();
  w.key("name").string(target.pod).key("namespace").string(target.ns);
  if (!target.uid.empty()) w.key("uid").string(target.uid);
  if (more) more(w);
  w.end_object().key("target").begin_object();
  w.key("apiVersion").string("v1").key("kind").string("Node").key("name").string(target.node);
  w.end_object().end_object();
  return std::move(w).take();
}

BindingAnswer judge_binding(const ApiResponse& response) {
  if (response.ok()) return BindingAnswer::kBound;
  const bool says_no = response.status >= 400 && response.status < 500 && response.status != 409;
  return says_no ? BindingAnswer::kRefused : BindingAnswer::kAsk;
}

}  // namespace tessera::client
