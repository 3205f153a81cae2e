#include "vendors/config.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <utility>

#include "base/text.h"

namespace tessera::vendors {
namespace {

constexpr std::size_t kMaxBytes = 1u << 20;
/// Aliases can make a small file look like a huge tree; no honest file comes near this.
constexpr int kMaxNodes = 20'000;
constexpr std::size_t kMaxFaults = 100;
constexpr std::int64_t kInt32Max = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();

bool is_plain_scalar(const YAML::Node& node) { return node.IsScalar() && node.Tag() != "!"; }

bool is_null(const YAML::Node& node) {
  if (node.IsNull()) return true;
  if (!is_plain_scalar(node)) return false;
  const std::string& s = node.Scalar();
  return s.empty() || s == "~" || s == "null" || s == "Null" || s == "NULL";
}

std::string shown(const YAML::Node& node) {
  if (node.IsScalar()) return node.Scalar().substr(0, 80);
  if (node.IsMap()) return "a mapping";
  if (node.IsSequence()) return "a list";
  return "null";
}

std::optional<bool> yaml_bool(const std::string& s) {
  static constexpr std::string_view kTrue[] = {"true", "True", "TRUE", "yes", "Yes",
                                               "YES",  "on",   "On",   "ON"};
  static constexpr std::string_view kFalse[] = {"false", "False", "FALSE", "no", "No",
                                                "NO",    "off",   "Off",   "OFF"};
  if (std::find(std::begin(kTrue), std::end(kTrue), s) != std::end(kTrue)) return true;
  if (std::find(std::begin(kFalse), std::end(kFalse), s) != std::end(kFalse)) return false;
  return std::nullopt;
}

std::optional<double> yaml_float(const std::string& s) {
  if (s.empty() || s.find_first_not_of("+-.0123456789eE") != std::string::npos) return {};
  const char* begin = s.data() + (s.front() == '+' ? 1 : 0);
  double value = 0;
  const auto [end, error] = std::from_chars(begin, s.data() + s.size(), value);
  if (error != std::errc() || end != s.data() + s.size()) return {};
  return value;
}

/// YAML 1.1 integers: sign, digit groups with '_', 0x, 0o, 0b and leading-zero octal.
std::optional<std::int64_t> yaml_integer(std::string s) {
  std::erase(s, '_');
  bool negative = false;
  std::string_view digits = s;
  if (!digits.empty() && (digits.front() == '-' || digits.front() == '+')) {
    negative = digits.front() == '-';
    digits.remove_prefix(1);
  }
  int base = 10;
  const auto starts = [&](std::string_view p) { return digits.substr(0, p.size()) == p; };
  if (starts("0x") || starts("0X")) base = 16;
  if (starts("0o")) base = 8;
  if (starts("0b")) base = 2;
  if (base != 10) {
    digits.remove_prefix(2);
  } else if (digits.size() > 1 && digits.front() == '0') {
    base = 8;
  }
  std::uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) return {};
  if (value > static_cast<std::uint64_t>(kInt64Max)) return {};
  return negative ? -static_cast<std::int64_t>(value) : static_cast<std::int64_t>(value);
}

class Reader {
 public:
  explicit Reader(ConfigResult& result) : result_(result) {}

  void fault(const YAML::Node& at, std::string key, std::string what) {
    if (result_.faults.size() >= kMaxFaults) return;
    result_.faults.push_back({at.Mark().line + 1, std::move(key), shown(at), std::move(what)});
  }
  void note(const YAML::Node& at, std::string key, std::string what) {
    if (result_.notes.size() >= kMaxFaults) return;
    result_.notes.push_back({at.Mark().line + 1, std::move(key), shown(at), std::move(what)});
  }

  /// False when the file is too big once its aliases are followed; says so once.
  bool visit(const YAML::Node& at) {
    if (++visited_ < kMaxNodes) return true;
    if (visited_ == kMaxNodes) {
      fault(at, "", fmt::format("more than {} values, aliases followed", kMaxNodes));
    }
    return false;
  }

  void string(const YAML::Node& node, const std::string& key, std::string& out) {
    if (is_null(node)) {
      out.clear();
    } else if (!node.IsScalar()) {
      fault(node, key, "a text is expected");
    } else {
      out = node.Scalar();
    }
  }

  void boolean(const YAML::Node& node, const std::string& key, bool& out) {
    out = false;
    if (is_null(node)) return;
    const auto value = is_plain_scalar(node) ? yaml_bool(node.Scalar()) : std::nullopt;
    if (!value) return fault(node, key, "true or false is expected, without quotes");
    out = *value;
  }

  /// Integers, or floats cut towards zero.
  void integer(const YAML::Node& node, const std::string& key, std::int64_t max,
               std::int64_t& out) {
    out = 0;
    if (is_null(node)) return;
    if (!is_plain_scalar(node)) return fault(node, key, "an integer is expected, without quotes");
    auto value = yaml_integer(node.Scalar());
    if (!value) {
      const auto real = yaml_float(node.Scalar());
      if (!real) return fault(node, key, "not an integer");
      if (!(std::abs(*real) < 9.0e18)) return fault(node, key, "out of range");
      value = static_cast<std::int64_t>(*real);
    }
    if (*value < 0) return fault(node, key, "must not be negative");
    if (*value > max) return fault(node, key, fmt::format("out of range, at most {}", max));
    out = *value;
  }

  void real(const YAML::Node& node, const std::string& key) {
    if (is_null(node)) return;
    if (is_plain_scalar(node) && (yaml_integer(node.Scalar()) || yaml_float(node.Scalar()))) return;
    fault(node, key, "a number is expected, without quotes");
  }

  /// Calls f(key text, key node, value node) for each member, the last of equal keys only.
  template <class F>
  void members(const YAML::Node& map, const std::string& path, F&& f) {
    std::vector<std::pair<YAML::Node, YAML::Node>> kept;
    for (const auto& member : map) {
      if (!visit(member.second)) return;
      if (!member.first.IsScalar()) {
        note(member.first, path, "a key that is no text is ignored");
        continue;
      }
      const auto same = std::find_if(kept.begin(), kept.end(), [&](const auto& k) {
        return k.first.Scalar() == member.first.Scalar();
      });
      if (same != kept.end()) {
        note(member.first, join(path, member.first.Scalar()), "given twice, the last one counts");
        kept.erase(same);
      }
      kept.emplace_back(member.first, member.second);
    }
    for (const auto& [key, value] : kept) f(key.Scalar(), key, value);
  }

  void strings(const YAML::Node& node, const std::string& key, std::vector<std::string>& out) {
    if (is_null(node)) return;
    if (!node.IsSequence()) return fault(node, key, "a list is expected");
    std::size_t i = 0;
    for (const YAML::Node& element : node) {
      if (!visit(element)) return;
      std::string text;
      string(element, fmt::format("{}[{}]", key, i++), text);
      out.push_back(std::move(text));
    }
  }

  static std::string join(const std::string& path, const std::string& key) {
    return path.empty() ? key : path + "." + key;
  }

 private:
  ConfigResult& result_;
  int visited_ = 0;
};

bool valid_profile(const std::string& profile) {
  const std::size_t dot = profile.find('.');
  return dot != std::string::npos && dot >= 2 && profile[dot - 1] == 'g';
}

void read_allowlist_entry(Reader& in, const YAML::Node& node, const std::string& path,
                          std::vector<MigAllowlistEntry>& out) {
  MigAllowlistEntry entry;
  if (!is_null(node) && !node.IsMap()) return in.fault(node, path, "a mapping is expected");
  if (node.IsMap()) {
    in.members(node, path, [&](const std::string& key, const YAML::Node& at, const YAML::Node& v) {
      const std::string here = Reader::join(path, key);
      if (key == "models") {
        in.strings(v, here, entry.models);
      } else if (key == "profiles") {
        in.strings(v, here, entry.profiles);
        for (const std::string& p : entry.profiles) {
          if (!valid_profile(p)) {
            in.fault(v, here, fmt::format("invalid MIG profile {}", text::quote(p)));
          }
        }
      } else {
        in.note(at, here, "unknown key, ignored");
      }
    });
  }
  if (entry.models.empty() || entry.profiles.empty()) {
    return in.fault(node, path, "MIG profile allowlist must define models and profiles");
  }
  out.push_back(std::move(entry));
}

void read_allowlist(Reader& in, const YAML::Node& node, const std::string& path,
                    std::vector<MigAllowlistEntry>& out) {
  if (is_null(node)) return;
  if (!node.IsSequence()) return in.fault(node, path, "a list is expected");
  std::size_t i = 0;
  for (const YAML::Node& entry : node) {
    if (!in.visit(entry)) return;
    read_allowlist_entry(in, entry, fmt::format("{}[{}]", path, i++), out);
  }
}

/// Which member of NvidiaConfig a key fills. Keys without one belong to the node agent: only their
/// type is checked.
struct StringKey {
  std::string_view key;
  std::string NvidiaConfig::*member;
};
struct IntegerKey {
  std::string_view key;
  std::int64_t max;
  std::int64_t NvidiaConfig::*member;
};

constexpr StringKey kStrings[] = {
    {"resourceCountName", &NvidiaConfig::count_name},
    {"resourceMemoryName", &NvidiaConfig::memory_name},
    {"resourceMemoryPercentageName", &NvidiaConfig::memory_percent_name},
    {"resourceCoreName", &NvidiaConfig::core_name},
    {"resourcePriorityName", &NvidiaConfig::priority_name},
    {"gpuCorePolicy", &NvidiaConfig::core_policy},
    {"runtimeClassName", &NvidiaConfig::runtime_class},
    {"libCudaLogLevel", nullptr},
};
constexpr IntegerKey kIntegers[] = {
    {"defaultMemory", kInt32Max, &NvidiaConfig::default_memory},
    {"defaultCores", kInt32Max, &NvidiaConfig::default_cores},
    {"defaultGPUNum", kInt32Max, &NvidiaConfig::default_count},
    {"memoryFactor", kInt32Max, &NvidiaConfig::memory_factor},
    {"deviceSplitCount", kInt64Max, nullptr},
    {"preConfiguredDeviceMemory", kInt64Max, nullptr},
};
constexpr std::string_view kReals[] = {"deviceMemoryScaling", "deviceCoreScaling"};
constexpr std::string_view kBooleans[] = {"disableCoreLimit", "enableNumaTopology"};

bool read_nvidia_scalar(Reader& in, const std::string& key, const YAML::Node& value,
                        const std::string& path, NvidiaConfig& out) {
  for (const StringKey& k : kStrings) {
    if (k.key != key) continue;
    std::string unused;
    in.string(value, path, k.member == nullptr ? unused : out.*k.member);
    return true;
  }
  for (const IntegerKey& k : kIntegers) {
    if (k.key != key) continue;
    std::int64_t unused = 0;
    in.integer(value, path, k.max, k.member == nullptr ? unused : out.*k.member);
    return true;
  }
  if (std::find(std::begin(kReals), std::end(kReals), key) != std::end(kReals)) {
    in.real(value, path);
    return true;
  }
  bool unused = false;
  if (std::find(std::begin(kBooleans), std::end(kBooleans), key) != std::end(kBooleans)) {
    in.boolean(value, path, unused);
    return true;
  }
  return false;
}

void note_odd_values(Reader& in, const YAML::Node& section, const NvidiaConfig& c) {
  if (c.count_name.empty()) {
    in.note(section, "nvidia.resourceCountName", "not set: no container can ask for a card");
  }
  static constexpr std::string_view kPolicies[] = {"", "default", "force", "disable"};
  if (std::find(std::begin(kPolicies), std::end(kPolicies), c.core_policy) == std::end(kPolicies)) {
    in.note(section["gpuCorePolicy"], "nvidia.gpuCorePolicy",
            "known values are default, force, disable");
  }
  if (c.default_cores > 100) {
    in.note(section["defaultCores"], "nvidia.defaultCores", "above 100 counts as 100");
  }
}

NvidiaConfig read_nvidia(Reader& in, const YAML::Node& section) {
  NvidiaConfig out;
  in.members(section, "nvidia",
             [&](const std::string& key, const YAML::Node& at, const YAML::Node& value) {
               const std::string path = "nvidia." + key;
               if (read_nvidia_scalar(in, key, value, path, out)) return;
               if (key == "overwriteEnv") {
                 in.boolean(value, path, out.overwrite_env);
               } else if (key == "migProfileAllowlist") {
                 read_allowlist(in, value, path, out.mig_allowlist);
               } else if (key == "knownMigGeometries") {
                 in.note(at, path,
                         "retired, ignored: profiles come from the nodes, see migProfileAllowlist");
               } else {
                 in.note(at, path, "unknown key, ignored");
               }
             });
  out.memory_factor = std::max<std::int64_t>(out.memory_factor, 1);
  note_odd_values(in, section, out);
  return out;
}

constexpr std::string_view kOtherMaps[] = {"cambricon", "hygon",  "enflame",   "mthreads",
                                           "metax",     "kunlun", "awsneuron", "amd",
                                           "vastai",    "biren",  "vnpus"};

/// Does the value say anything, i.e. is it other than the zero value of its type?
bool says_something(const YAML::Node& value) {
  if (is_null(value)) return false;
  if (value.IsScalar()) {
    const std::string& s = value.Scalar();
    return !s.empty() && s != "0" && yaml_bool(s) != false;
  }
  return value.size() > 0;
}

/// A section of a vendor that this build does not serve yet: only its shape is checked.
void read_other(Reader& in, const std::string& name, const YAML::Node& section,
                DeviceConfig& config) {
  if (is_null(section)) return;
  const bool list = name == "iluvatars";
  if (list ? !section.IsSequence() : !section.IsMap()) {
    return in.fault(section, name, list ? "a list is expected" : "a mapping is expected");
  }
  bool filled = list && section.size() > 0;
  if (!list) {
    in.members(section, name, [&](const std::string& key, const YAML::Node&, const YAML::Node& v) {
      if (name != "vnpus") filled = filled || says_something(v);
      if (name == "vnpus" && key == "configs") {
        filled = v.IsSequence() && v.size() > 0;
        if (!is_null(v) && !v.IsSequence()) in.fault(v, "vnpus.configs", "a list is expected");
      }
    });
  }
  if (filled) config.other_sections.push_back(name);
}

bool differs_from_empty(const NvidiaConfig& c) {
  const auto texts = {&c.count_name,    &c.memory_name, &c.memory_percent_name, &c.core_name,
                      &c.priority_name, &c.core_policy, &c.runtime_class};
  return c.overwrite_env || c.default_memory != 0 || c.default_cores != 0 || c.default_count != 0 ||
         c.memory_factor != 1 || !c.mig_allowlist.empty() ||
         std::any_of(texts.begin(), texts.end(), [](const std::string* t) { return !t->empty(); });
}

void read_document(Reader& in, const YAML::Node& root, ConfigResult& result) {
  DeviceConfig& config = result.config;
  if (!is_null(root) && !root.IsMap()) return in.fault(root, "", "a mapping is expected");
  if (root.IsMap()) {
    in.members(root, "", [&](const std::string& name, const YAML::Node& at, const YAML::Node& v) {
      if (name == "nvidia") {
        if (is_null(v)) return;
        if (!v.IsMap()) return in.fault(v, name, "a mapping is expected");
        config.nvidia = read_nvidia(in, v);
      } else if (name == "iluvatars" || std::find(std::begin(kOtherMaps), std::end(kOtherMaps),
                                                  name) != std::end(kOtherMaps)) {
        read_other(in, name, v, config);
      } else {
        in.note(at, name, "unknown section, ignored");
      }
    });
  }
  if (!result.faults.empty()) return;
  if (config.nvidia && !differs_from_empty(*config.nvidia)) config.nvidia.reset();
  if (!config.nvidia && config.other_sections.empty()) {
    result.faults.push_back({0, "", "", "all configurations are empty"});
  }
}

}  // namespace

std::string ConfigFault::text() const {
  std::string out;
  if (line > 0) out += fmt::format("line {}: ", line);
  if (!key.empty()) out += key + ": ";
  if (!value.empty()) out += text::quote(value) + ": ";
  return out + what;
}

ConfigResult parse_device_config(std::string_view yaml) {
  ConfigResult result;
  if (yaml.size() > kMaxBytes) {
    result.faults.push_back({0, "", "", fmt::format("larger than {} bytes", kMaxBytes)});
    return result;
  }
  try {
    // The library reports bad input by exceptions; they end here.
    const YAML::Node root = YAML::Load(std::string(yaml));
    Reader in(result);
    read_document(in, root, result);
  } catch (const YAML::Exception& e) {
    result.faults.push_back({std::max(e.mark.line + 1, 0), "", "", e.msg});
  } catch (const std::exception& e) {
    result.faults.push_back({0, "", "", fmt::format("not readable as YAML: {}", e.what())});
  }
  return result;
}

Result<DeviceConfig> load_device_config(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  if (!file || !(content << file.rdbuf())) {
    return fail(Code::kNotFound, fmt::format("device config file {}: cannot be read", path));
  }
  ConfigResult result = parse_device_config(content.str());
  if (result.faults.empty()) return std::move(result.config);
  std::vector<std::string> texts;
  for (const ConfigFault& f : result.faults) texts.push_back(f.text());
  return fail(Code::kInvalid,
              fmt::format("device config file {}: {}", path, text::join(texts, "; ")));
}

}  // namespace tessera::vendors
