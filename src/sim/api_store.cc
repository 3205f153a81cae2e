#include "sim/api_store.h"

#include <algorithm>
#include <utility>

namespace tessera::sim::api {
namespace {

std::string key_of(std::string_view space, std::string_view name) {
  std::string key(space);
  key += '/';
  key += name;
  return key;
}

ObjectPtr stamp(const Resource& resource, std::string_view space, std::string_view name,
                std::uint64_t version, Value value) {
  auto object = std::make_shared<StoredObject>();
  object->resource = &home_of(resource);
  object->space = space;
  object->name = name;
  object->version = version;
  value.make("metadata").make("resourceVersion") = std::to_string(version);
  object->json = value.dump();
  object->value = std::move(value);
  return object;
}

}  // namespace

Store::Store(std::size_t history, std::function<void(const Change&)> on_change)
    : history_limit_(history), on_change_(std::move(on_change)) {}

const Store::Shelf* Store::shelf(const Resource& resource) const {
  const auto found = shelves_.find(&home_of(resource));
  return found == shelves_.end() ? nullptr : &found->second;
}

ObjectPtr Store::find(const Resource& resource, std::string_view space,
                      std::string_view name) const {
  const Shelf* objects = shelf(resource);
  if (objects == nullptr) return nullptr;
  const auto found = objects->find(key_of(space, name));
  return found == objects->end() ? nullptr : found->second;
}

std::vector<ObjectPtr> Store::list(const Resource& resource, std::string_view space) const {
  std::vector<ObjectPtr> found;
  const Shelf* objects = shelf(resource);
  if (objects == nullptr) return found;
  const std::string prefix = space.empty() ? std::string() : key_of(space, "");
  for (auto at = objects->lower_bound(prefix); at != objects->end(); ++at) {
    if (!at->first.starts_with(prefix)) break;
    found.push_back(at->second);
  }
  return found;
}

ObjectPtr Store::put(const Resource& resource, std::string_view space, std::string_view name,
                     Value value) {
  ObjectPtr& slot = shelves_[&home_of(resource)][key_of(space, name)];
  ObjectPtr before = slot;
  if (before != nullptr) {
    value.make("metadata").make("resourceVersion") = std::to_string(before->version);
    if (value == before->value) return before;
  }
  slot = stamp(resource, space, name, ++version_, std::move(value));
  ObjectPtr after = slot;
  record({before == nullptr ? ChangeKind::kAdded : ChangeKind::kModified, after, before});
  return after;
}

ObjectPtr Store::remove(const StoredObject& object) {
  Shelf& objects = shelves_[object.resource];
  const auto found = objects.find(key_of(object.space, object.name));
  const ObjectPtr before = found->second;
  objects.erase(found);
  ObjectPtr last = stamp(*before->resource, before->space, before->name, ++version_, before->value);
  record({ChangeKind::kDeleted, last, before});
  return last;
}

std::vector<ObjectPtr> Store::contents(std::string_view space) const {
  std::vector<ObjectPtr> found;
  const std::string prefix = key_of(space, "");
  for (const auto& [kind, objects] : shelves_)
    for (auto at = objects.lower_bound(prefix); at != objects.end(); ++at) {
      if (!at->first.starts_with(prefix)) break;
      found.push_back(at->second);
    }
  return found;
}

void Store::each_change_since(std::uint64_t since,
                              const std::function<void(const Change&)>& f) const {
  const auto first =
      std::partition_point(history_.begin(), history_.end(),
                           [&](const Change& change) { return change.object->version <= since; });
  std::for_each(first, history_.end(), f);
}

void Store::forget_history() {
  history_.clear();
  forgotten_ = version_;
}

void Store::record(Change change) {
  history_.push_back(change);
  while (history_.size() > history_limit_) {
    forgotten_ = history_.front().object->version;
    history_.pop_front();
  }
  on_change_(change);
}

}  // namespace tessera::sim::api
