#include "admission_review.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "json/reader.h"

namespace tessera::bench {
namespace {

constexpr std::string_view kUidStart = "705ab4f5-6393-11e8-b7cc-";

/// What kubectl and the controllers leave in the object; nobody reads it, everybody parses it.
constexpr std::string_view kManagedFields =
    R"([{"manager":"kube-controller-manager","operation":"Update","apiVersion":"v1","time":"2026-11-03T09:12:44Z","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{".":{},"f:prometheus.io/scrape":{},"f:prometheus.io/port":{}},"f:generateName":{},"f:labels":{".":{},"f:app":{},"f:pod-template-hash":{},"f:team":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"5f0a1c52-8be3-4be7-9d67-0b8d25a1f0aa\"}":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"server\"}":{".":{},"f:args":{},"f:command":{},"f:env":{".":{},"k:{\"name\":\"MODEL\"}":{".":{},"f:name":{},"f:value":{}},"k:{\"name\":\"POD_IP\"}":{".":{},"f:name":{},"f:valueFrom":{".":{},"f:fieldRef":{}}}},"f:image":{},"f:imagePullPolicy":{},"f:livenessProbe":{".":{},"f:failureThreshold":{},"f:httpGet":{".":{},"f:path":{},"f:port":{},"f:scheme":{}},"f:periodSeconds":{},"f:successThreshold":{},"f:timeoutSeconds":{}},"f:name":{},"f:ports":{".":{},"k:{\"containerPort\":8080,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:name":{},"f:protocol":{}}},"f:resources":{".":{},"f:limits":{},"f:requests":{}},"f:terminationMessagePath":{},"f:terminationMessagePolicy":{},"f:volumeMounts":{".":{},"k:{\"mountPath\":\"/models\"}":{".":{},"f:mountPath":{},"f:name":{}}}}},"f:dnsPolicy":{},"f:enableServiceLinks":{},"f:restartPolicy":{},"f:schedulerName":{},"f:securityContext":{},"f:terminationGracePeriodSeconds":{},"f:volumes":{".":{},"k:{\"name\":\"models\"}":{".":{},"f:name":{},"f:persistentVolumeClaim":{".":{},"f:claimName":{}}}}}}}])";
constexpr std::string_view kMetadata =
    R"("generateName":"inference-7c9d8f6b54-","namespace":"default","creationTimestamp":null,"labels":{"app":"inference","pod-template-hash":"7c9d8f6b54","team":"search"},"annotations":{"prometheus.io/scrape":"true","prometheus.io/port":"8080"},"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"inference-7c9d8f6b54","uid":"5f0a1c52-8be3-4be7-9d67-0b8d25a1f0aa","controller":true,"blockOwnerDeletion":true}])";
constexpr std::string_view kContainerHead =
    R"("name":"server","image":"registry.example.com/search/inference:v1.42.0","command":["/usr/bin/server"],"args":["--listen=:8080","--model=/models/current"],"ports":[{"name":"http","containerPort":8080,"protocol":"TCP"}],"env":[{"name":"MODEL","value":"current"},{"name":"POD_IP","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"status.podIP"}}}])";
constexpr std::string_view kContainerTail =
    R"("volumeMounts":[{"name":"models","mountPath":"/models"},{"name":"kube-api-access-x7k2p","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}],"livenessProbe":{"httpGet":{"path":"/healthz","port":8080,"scheme":"HTTP"},"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent")";
constexpr std::string_view kSpecTail =
    R"("restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"default","serviceAccount":"default","securityContext":{},"schedulerName":"default-scheduler","tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300},{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority")";
constexpr std::string_view kVolumes =
    R"([{"name":"models","persistentVolumeClaim":{"claimName":"models"}},{"name":"kube-api-access-x7k2p","projected":{"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},{"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}},{"downwardAPI":{"items":[{"path":"namespace","fieldRef":{"apiVersion":"v1","fieldPath":"metadata.namespace"}}]}}],"defaultMode":420}}])";
constexpr std::string_view kUser =
    R"({"username":"system:serviceaccount:kube-system:replicaset-controller","uid":"a6d0b7d1-4f77-4a1d-a7c2-9f0b9f7c3d21","groups":["system:serviceaccounts","system:serviceaccounts:kube-system","system:authenticated"],"extra":{"authentication.kubernetes.io/credential-id":["JTI=0c3a7b56-7a2e-4a52-9d0e-6a1d7f1d8f10"]}})";
constexpr std::string_view kKinds =
    R"("kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},"requestKind":{"group":"","version":"v1","kind":"Pod"},"requestResource":{"group":"","version":"v1","resource":"pods"})";

std::string resources_of(ReviewedPod pod) {
  const std::string_view device =
      pod == ReviewedPod::kDevice
          ? R"(,"nvidia.com/gpu":"1","nvidia.com/gpumem":"2000","nvidia.com/gpucores":"10")"
          : "";
  return fmt::format(
      R"({{"limits":{{"cpu":"4","memory":"16Gi"{0}}},"requests":{{"cpu":"2","memory":"8Gi"{0}}}}})",
      device);
}

std::string pod_json(ReviewedPod pod) {
  return fmt::format(
      R"({{"kind":"Pod","apiVersion":"v1","metadata":{{{},"managedFields":{}}},"spec":{{"volumes":{},"containers":[{{{},"resources":{},{}}}],{}}},"status":{{}}}})",
      kMetadata, kManagedFields, kVolumes, kContainerHead, resources_of(pod), kContainerTail,
      kSpecTail);
}

Status amiss(std::string_view what, std::string_view body) {
  return fail(Code::kInternal, fmt::format("webhook: {}: {}", what, body.substr(0, 600)));
}

/// The patch gives the pod to our scheduler.
Status check_device_patch(json::Value response, std::string_view body) {
  const auto patch = text::base64_decode(response["patch"].string_or(""));
  if (!patch || response["patchType"].string_or("") != "JSONPatch")
    return amiss("no JSON patch", body);
  json::Parser parser;
  const auto operations = parser.parse(*patch);
  if (!operations) return amiss("the patch is no JSON", *patch);
  int given = 0;
  bool other = false;
  operations->for_each_element([&](json::Value o) {
    const std::string_view path = o["path"].string_or(""), op = o["op"].string_or("");
    const bool scheduler = path == "/spec/schedulerName" &&
                           o["value"].string_or("") == "hami-scheduler" &&
                           (op == "add" || op == "replace");
    given += scheduler ? 1 : 0;
    other = other || (path.starts_with("/spec/schedulerName") && !scheduler) || op == "remove";
  });
  return given == 1 && !other ? Status{} : amiss("the patch", *patch);
}

}  // namespace

std::string review_uid(int serial) { return fmt::format("{}{:012d}", kUidStart, serial); }

std::string review_request(ReviewedPod pod, int serial) {
  const std::string body = fmt::format(
      R"({{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{{"uid":"{}",{},"name":"inference-7c9d8f6b54-q{:05d}","namespace":"default","operation":"CREATE","userInfo":{},"object":{},"oldObject":null,"dryRun":false,"options":{{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1"}}}}}})",
      review_uid(serial), kKinds, serial, kUser, pod_json(pod));
  return fmt::format(
      "POST /webhook?timeout=10s HTTP/1.1\r\nHost: hami-scheduler.kube-system.svc:443\r\n"
      "User-Agent: kube-apiserver-admission\r\nContent-Length: {}\r\nAccept: application/json, "
      "*/*\r\nContent-Type: application/json\r\nAccept-Encoding: gzip\r\n\r\n{}",
      body.size(), body);
}

Status AnswerCheck::operator()(std::string_view body) {
  if (before_.empty()) return first(body);
  const std::size_t uid_size = review_uid(0).size();
  if (body.size() != before_.size() + uid_size + after_.size() || !body.starts_with(before_) ||
      !body.ends_with(after_))
    return amiss("not what the first review got", body);
  const std::string_view uid = body.substr(before_.size(), uid_size);
  const auto serial = uid.starts_with(kUidStart) ? text::parse_int(uid.substr(kUidStart.size()), 32)
                                                 : Result<std::int64_t>(-1);
  return serial && *serial >= 0 && *serial < reviews_ ? Status{} : amiss("an unknown uid", body);
}

Status AnswerCheck::first(std::string_view body) {
  json::Parser parser;
  const auto read = parser.parse(body);
  if (!read) return amiss("no JSON", body);
  const json::Value response = (*read)["response"];
  const std::string uid(response["uid"].string_or(""));
  if ((*read)["kind"].string_or("") != "AdmissionReview" ||
      (*read)["apiVersion"].string_or("") != "admission.k8s.io/v1" ||
      !response["allowed"].boolean().value_or(false))
    return amiss("not allowed", body);
  if (pod_ == ReviewedPod::kPlain && !response["patch"].missing())
    return amiss("a patch of a plain pod", body);
  if (pod_ == ReviewedPod::kDevice)
    if (Status status = check_device_patch(response, body); !status) return status;
  const auto at = body.find(uid);
  if (uid.size() != review_uid(0).size() || at == std::string_view::npos)
    return amiss("no uid of ours", body);
  before_ = body.substr(0, at);
  after_ = body.substr(at + uid.size());
  return (*this)(body);
}

}  // namespace tessera::bench
