#include "service/webhook_patch.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "json/writer.h"

namespace tessera::service {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

std::string amounts_object(const Pairs& amounts) {
  json::Writer w;
  w.begin_object();
  for (const auto& [resource, quantity] : amounts) w.key(resource).string(quantity);
  w.end_object();
  return std::move(w).take();
}

std::string env_entry(std::string_view name, std::string_view value) {
  json::Writer w;
  w.begin_object().key("name").string(name).key("value").string(value).end_object();
  return std::move(w).take();
}

/// One of the maps limits and requests, where the resources object exists.
void patch_amounts(json::PatchBuilder& patch, json::Value resources, const std::string& pointer,
                   std::string_view map, const Pairs& amounts) {
  if (amounts.empty()) return;
  const json::Value here = resources[map];
  if (here.kind() != json::Kind::kObject) {
    patch.add(fmt::format("{}/resources/{}", pointer, map), amounts_object(amounts));
    return;
  }
  for (const auto& [resource, quantity] : amounts) {
    if (here[resource].string() == quantity) continue;
    const std::string target =
        fmt::format("{}/resources/{}/{}", pointer, map, json::escape_pointer(resource));
    if (here[resource].missing()) {
      patch.add(target, json::quoted(quantity));
    } else {
      patch.replace(target, json::quoted(quantity));
    }
  }
}

void patch_resources(json::PatchBuilder& patch, json::Value container, const std::string& pointer,
                     const vendors::ContainerMutation& wanted) {
  if (wanted.set_limits.empty() && wanted.set_requests.empty()) return;
  const json::Value resources = container["resources"];
  if (resources.kind() != json::Kind::kObject) {
    patch.add(pointer + "/resources", "{}");  // the maps are added into it
  }
  patch_amounts(patch, resources, pointer, "limits", wanted.set_limits);
  patch_amounts(patch, resources, pointer, "requests", wanted.set_requests);
}

/// Of several entries with one name the last counts.
bool env_is_set(json::Value env, std::string_view name, std::string_view value) {
  std::optional<bool> same;
  env.for_each_element([&](json::Value entry) {
    if (entry["name"].string() == name) same = entry["value"].string() == value;
  });
  return same.value_or(false);
}

void patch_env(json::PatchBuilder& patch, json::Value container, const std::string& pointer,
               const Pairs& wanted) {
  const json::Value env = container["env"];
  bool exists = env.kind() == json::Kind::kArray;
  for (const auto& [name, value] : wanted) {
    // A webhook may be called again for the same pod.
    if (exists && env_is_set(env, name, value)) continue;
    if (exists) {
      patch.add(pointer + "/env/-", env_entry(name, value));
    } else {
      patch.add(pointer + "/env", "[" + env_entry(name, value) + "]");
      exists = true;
    }
  }
}

void remove_keys(json::PatchBuilder& patch, json::Value map, std::string_view pointer,
                 const vendors::Vendors& vendors, std::vector<std::string>& removed) {
  std::vector<std::string> here;
  map.for_each_member([&](std::string_view key, json::Value) {
    if (!vendors.is_scheduler_key(key)) return;
    for (const std::string& known : here) {
      if (known == key) return;  // a key written twice is one member for the patch
    }
    here.emplace_back(key);
    patch.remove(fmt::format("{}/{}", pointer, json::escape_pointer(key)));
  });
  removed.insert(removed.end(), here.begin(), here.end());
}

}  // namespace

void patch_spec_text(json::PatchBuilder& patch, json::Value pod, std::string_view field,
                     std::string_view value) {
  const std::string pointer = fmt::format("/spec/{}", field);
  if (pod["spec"][field].missing()) {
    patch.add(pointer, json::quoted(value));
  } else {
    patch.replace(pointer, json::quoted(value));
  }
}

void patch_containers(json::PatchBuilder& patch, json::Value pod, const k8s::Pod& decoded,
                      const vendors::Vendors::Mutation& mutation) {
  std::size_t position = 0;
  const auto walk = [&](std::string_view list) {
    std::size_t index = 0;
    pod["spec"][list].for_each_element([&](json::Value container) {
      if (position >= decoded.containers.size()) return;
      const std::string pointer = fmt::format("/spec/{}/{}", list, index++);
      const vendors::ContainerMutation& wanted = mutation.containers[position++];
      patch_resources(patch, container, pointer, wanted);
      patch_env(patch, container, pointer, wanted.append_env);
    });
  };
  walk("initContainers");
  walk("containers");
}

std::vector<std::string> patch_out_scheduler_keys(json::PatchBuilder& patch, json::Value pod,
                                                  const vendors::Vendors& vendors) {
  std::vector<std::string> removed;
  const json::Value metadata = pod["metadata"];
  remove_keys(patch, metadata["annotations"], "/metadata/annotations", vendors, removed);
  remove_keys(patch, metadata["labels"], "/metadata/labels", vendors, removed);
  return removed;
}

}  // namespace tessera::service
