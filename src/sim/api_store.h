/// What the embedded API server keeps: immutable objects by kind, namespace and name, one counter
/// of resource versions, and a ring of past changes from which watches resume. Thread rule: the
/// owner serialises every call (ApiServer's mutex); objects are freely shared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/api_catalogue.h"
#include "sim/api_value.h"

namespace tessera::sim::api {

/// `value` has no kind and apiVersion: they are added when it is shown. `json` is the value's text,
/// made once.
struct StoredObject {
  const Resource* resource = nullptr;  ///< as home_of() gives it
  std::string space, name;
  std::uint64_t version = 0;
  Value value;
  std::string json;
};
using ObjectPtr = std::shared_ptr<const StoredObject>;

enum class ChangeKind : std::uint8_t { kAdded, kModified, kDeleted };

struct Change {
  ChangeKind kind = ChangeKind::kAdded;
  ObjectPtr object;  ///< for kDeleted the last state, with the version of the deletion
  ObjectPtr before;  ///< null for kAdded
};

class Store {
 public:
  Store(std::size_t history, std::function<void(const Change&)> on_change);

  std::uint64_t version() const { return version_; }
  ObjectPtr find(const Resource& resource, std::string_view space, std::string_view name) const;
  /// In the order of namespace and name; an empty `space` means all.
  std::vector<ObjectPtr> list(const Resource& resource, std::string_view space) const;
  /// Creates or replaces, and stamps metadata.resourceVersion. A value equal to the stored one
  /// changes nothing.
  ObjectPtr put(const Resource& resource, std::string_view space, std::string_view name,
                Value value);
  /// The object must exist; returns its last state.
  ObjectPtr remove(const StoredObject& object);
  /// Everything in a namespace, of all kinds.
  std::vector<ObjectPtr> contents(std::string_view space) const;

  /// False when changes after `since` are no longer known.
  bool remembers(std::uint64_t since) const { return since >= forgotten_; }
  void each_change_since(std::uint64_t since, const std::function<void(const Change&)>& f) const;
  void forget_history();

 private:
  using Shelf =
      std::map<std::string, ObjectPtr, std::less<>>;  // by "namespace/name", as etcd orders
  const Shelf* shelf(const Resource& resource) const;
  void record(Change change);

  const std::size_t history_limit_;
  const std::function<void(const Change&)> on_change_;
  std::uint64_t version_ = 0;
  std::uint64_t forgotten_ = 0;  // the newest version whose change is no longer in history_
  std::map<const Resource*, Shelf> shelves_;
  std::deque<Change> history_;
};

}  // namespace tessera::sim::api
